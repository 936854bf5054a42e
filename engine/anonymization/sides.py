"""One partition along one attribute: which cuts are allowed, and which of them is nearest to the median.

Counts decide everything: of rows at each place, and of respondents and values that begin or end
there. Something is left of a cut if it begins there, and right of it if it ends there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from smalti.transforms.partitions.weights import ValueScale
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
class Extents:
    """Where things begin, and where they end."""

    first: Counts
    last: Counts


@dataclass(frozen=True, slots=True)
class SideWeights:
    """How much each value of one sensitive column weighs up to each place, and after it."""

    scale: ValueScale
    upto: Integers
    """By place and value."""
    after: Integers

    @classmethod
    def of(cls, scale: ValueScale, columns: "Columns", line: int, places: Integers) -> "SideWeights":
        """Add up the rows at each place of a line.

        Args:
            scale: of the sensitive column.
            columns: `line`, place `p`, value `v`, total `t` and rows `n`, ordered by line.
            line: which one.
            places: all of its places.
        """
        mine = slice(*np.searchsorted(columns["line"], [line, line + 1]))
        keys = np.searchsorted(places, columns["p"][mine])
        units = scale.units(columns["n"][mine], columns["t"][mine])
        sums = scale.summed(keys, scale.places(columns["v"][mine]), units, len(places))
        upto = np.cumsum(sums, axis=0)
        return cls(scale, upto, upto[-1] - upto)


@dataclass(frozen=True, slots=True)
class LineCounts:
    """How much is left and right of a cut after each place: each pair is of both sides, by place."""

    places: Integers
    people: tuple[Integers, Integers]
    """Respondents; rows, where each row is another."""
    values: tuple[tuple[Integers, Integers], ...]
    """Different values of each sensitive column."""
    holders: Sequence[Extents]
    """Of each value of each sensitive column, at least where it has `fewest` of them; none where each
    row is another respondent."""
    fewest: int
    """A side with fewer respondents is refused anyway, and may be judged either way."""
    weights: Sequence["SideWeights"] = ()
    """Of each sensitive column, where a requirement weighs values."""

    @classmethod
    def of(
        cls,
        rows: Counts,
        respondents: Extents | None,
        values: Sequence[Extents],
        holders: Sequence[Extents],
        fewest: int,
        weights: Sequence["SideWeights"] = (),
    ) -> "LineCounts":
        """Add up what begins and ends at each place.

        Args:
            rows: at each place, of which there are some at each.
            respondents: None where each row is another.
            values: of each sensitive column.
            holders: as the field.
            fewest: as the field.
            weights: as the field.
        """
        upto = np.cumsum(rows.numbers)
        people = (upto, upto[-1] - upto)
        if respondents is not None:
            people = _sides(rows.places, respondents)
        sides = tuple(_sides(rows.places, extents) for extents in values)
        return cls(rows.places, people, sides, holders, fewest, weights)

    @property
    def everywhere(self) -> Flags:
        """After each place: yes."""
        return np.ones(len(self.places), np.bool_)


@dataclass(slots=True)
class Sides:
    """What is left and right of a cut after each place."""

    places: Integers
    upto: Integers
    """Rows up to each place."""
    allowed: Flags
    """As counts tell."""
    window: Window
    holders: Sequence[Extents]
    """Of each value of each sensitive column, at least where there are as many as an allowed side has."""
    struck: set[int] = field(default_factory=set)
    """Places after which no cut is allowed, for another reason."""

    def nearest(self) -> int | None:
        """The place of the allowed cut nearest to the median; None where there is none in the window."""
        places = np.flatnonzero(self.allowed & ~np.isin(self.places, list(self.struck)))
        if not len(places):
            return None
        return int(self.places[places[np.argmin(self._unevenness[places])]])

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


def _sides(places: Integers, extents: Extents) -> tuple[Integers, Integers]:
    begun, ended = (np.cumsum(_at(places, counts)) for counts in (extents.first, extents.last))
    return begun, ended[-1] - ended


def _at(places: Integers, counts: Counts) -> Integers:
    totals = np.zeros(len(places), np.int64)
    np.add.at(totals, np.searchsorted(places, counts.places), counts.numbers)
    return totals


Columns = Mapping[str, Integers]
"""Columns of whole numbers, by name."""


def counts_of(columns: Columns, kind: int, line: int) -> Counts:
    """The counts of one kind of one line, of rows that are ordered by kind, line and place."""
    begin, end = np.searchsorted(columns["kind"], [kind, kind + 1])
    within = slice(begin, end)
    first, last = np.searchsorted(columns["line"][within], [line, line + 1])
    mine = slice(begin + first, begin + last)
    return Counts(columns["p"][mine], columns["n"][mine], columns["v"][mine])
