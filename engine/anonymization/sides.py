"""One partition along one attribute: which cuts are allowed, and which of them is nearest to the median.

Everything is told by counts: of rows at each place, and of respondents and values that begin or end
there. Something is left of a cut if it begins there, and right of it if it ends there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from smalti.transforms.problem import Flags, Integers

_WIDENING: Final = 16


@dataclass(frozen=True, slots=True)
class Window:
    """The places of a partition that are told apart; those before it count as one, and those after it."""

    low: int
    high: int

    def widened(self) -> "Window":
        """A window of many more places around the same ones."""
        more = (self.high - self.low + 1) * _WIDENING
        return Window(self.low - more, self.high + more)

    def narrowed(self, places: Integers, rows: Integers, step: int) -> "Window":
        """A window of three steps around the median.

        Args:
            places: where steps begin.
            rows: of each step.
            step: places of a step.
        """
        upto = np.cumsum(rows)
        middle = int(places[np.searchsorted(2 * upto, upto[-1])])
        return Window(max(self.low, middle - step), min(self.high, middle + 2 * step - 1))


@dataclass(frozen=True, slots=True)
class Counts:
    """How many there are at some places, in their order; where they are holders, of which value."""

    places: Integers
    numbers: Integers
    values: Integers


@dataclass(frozen=True, slots=True)
class Bounds:
    """What both sides of an allowed cut have."""

    k: int
    l: int  # noqa: E741 (the literature's name)


@dataclass(frozen=True, slots=True)
class Extents:
    """Where things begin, and where they end."""

    first: Counts
    last: Counts


@dataclass(slots=True)
class Sides:
    """What is left and right of a cut after each place."""

    places: Integers
    upto: Integers
    """Rows up to each place."""
    allowed: Flags
    window: Window
    holders: Sequence[Extents]
    """Of each value of each sensitive column that k hold."""
    struck: set[int] = field(default_factory=set)
    """Places after which no cut is allowed, for another reason."""

    @classmethod
    def of(
        cls,
        window: Window,
        rows: Counts,
        respondents: Extents | None,
        values: Sequence[Extents],
        holders: Sequence[Extents],
        bounds: Bounds,
    ) -> "Sides":
        """Judge all cuts in a window.

        Args:
            window: the places that are told apart.
            rows: at each place, of which there are some at each.
            respondents: None where each row is another.
            values: of each sensitive column.
            holders: of each value of each sensitive column, at least where it has k of them; none
                where each row is another respondent.
            bounds: what both sides must have.
        """
        places, upto = rows.places, np.cumsum(rows.numbers)
        left, right = upto, upto[-1] - upto
        if respondents is not None:
            left, right = _sides(places, respondents)
        allowed = (left >= bounds.k) & (right >= bounds.k)
        allowed[-1] = False
        for extents in values:
            kinds_left, kinds_right = _sides(places, extents)
            wanted = max(bounds.l, 2)
            allowed &= (kinds_left >= wanted) & (kinds_right >= wanted)
        for extents in holders:
            # A value that fewer than k hold is never that of all on an allowed side.
            allowed &= _most_held(places, extents.first) < left
            onward = _most_held(-places[::-1], _mirrored(extents.last))[::-1]
            allowed[:-1] &= onward[1:] < right[:-1]
        return cls(places, upto, allowed, window, holders)

    def nearest(self) -> int | None:
        """The place of the allowed cut nearest to the median; None where there is none in the window."""
        found = np.flatnonzero(self.allowed & ~np.isin(self.places, list(self.struck)))
        if not len(found):
            return None
        return int(self.places[found[np.argmin(self._unevenness[found])]])

    def surely_match(self, place: int, wanted: int) -> bool:
        """Whether a cut leaves so many values of each sensitive column with so many holders on both sides.

        Then so many values can be matched to so many holders, one after the other (Hall's condition).
        Where it does not, they may match all the same.
        """
        return all(
            _held_by(counts, upto, wanted) >= wanted
            for extents in self.holders
            for counts, upto in ((extents.first, place), (_mirrored(extents.last), -place - 1))
        )

    def is_decided(self, place: int | None) -> bool:
        """Whether no cut outside of the window can be nearer than the one found.

        The median is in the window, and each place holds a row: cuts before the window are less even
        than the one at its beginning, and those after it less even than the last one inside.
        """
        is_open_left = bool(self.places[0] < self.window.low)
        is_open_right = bool(self.places[-1] > self.window.high)
        if place is None:
            return not is_open_left and not is_open_right
        reached = self._unevenness[np.searchsorted(self.places, place)]
        left = not is_open_left or reached <= self._unevenness[0]
        right = not is_open_right or reached <= self._unevenness[-2]
        return bool(left and right)

    @property
    def _unevenness(self) -> Integers:
        unevenness: Integers = np.abs(2 * self.upto - self.upto[-1])
        return unevenness


def _mirrored(counts: Counts) -> Counts:
    return Counts(-counts.places, counts.numbers, counts.values)


def _held_by(first: Counts, place: int, holders: int) -> int:
    """How many values have at least so many holders up to a place."""
    here = first.places <= place
    _, values = np.unique(first.values[here], return_inverse=True)
    return int(np.sum(np.bincount(values, first.numbers[here]) >= holders))


def _sides(places: Integers, extents: Extents) -> tuple[Integers, Integers]:
    begun, ended = (np.cumsum(_at(places, counts)) for counts in (extents.first, extents.last))
    return begun, ended[-1] - ended


def _at(places: Integers, counts: Counts) -> Integers:
    found = np.zeros(len(places), np.int64)
    np.add.at(found, np.searchsorted(places, counts.places), counts.numbers)
    return found


def _most_held(places: Integers, first: Counts) -> Integers:
    """Up to each place, how many hold the value that most hold.

    Holders of a value only become more along the line, so the running maximum of all values' counts is
    the count of the most held one.
    """
    order = np.lexsort((first.places, first.values))
    value, place, number = first.values[order], first.places[order], first.numbers[order]
    total = np.cumsum(number)
    is_new = np.ones(len(value), np.bool_)
    is_new[1:] = value[1:] != value[:-1]
    begins = np.flatnonzero(is_new)
    before = np.repeat(total[begins] - number[begins], np.diff(np.append(begins, len(value))))
    most = np.zeros(len(places), np.int64)
    np.maximum.at(most, np.searchsorted(places, place), total - before)
    return np.maximum.accumulate(most)


Columns = Mapping[str, Integers]
"""Columns of whole numbers, by name."""


def counts_of(found: Columns, kind: int, line: int) -> Counts:
    """The counts of one kind of one line, of rows that are ordered by kind, line and place."""
    begin, end = np.searchsorted(found["kind"], [kind, kind + 1])
    within = slice(begin, end)
    first, last = np.searchsorted(found["line"][within], [line, line + 1])
    mine = slice(begin + first, begin + last)
    return Counts(found["p"][mine], found["n"][mine], found["v"][mine])
