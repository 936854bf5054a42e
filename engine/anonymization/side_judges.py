"""Requirements of classes as cuts in SQL keep them, by the names that guarantees have for them."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import numpy as np

from smalti.engine.anonymization import cut_queries as queries
from smalti.engine.anonymization.side_judge import Cuts, SideJudge, columns_of
from smalti.engine.anonymization.sides import Counts, Extents, LineCounts
from smalti.engine.backends.relations import Relations
from smalti.errors import InternalError
from smalti.transforms.base import (
    ALPHA,
    CLOSENESS,
    DISTINCT_VALUES,
    ENTROPY_DIVERSITY,
    NOT_HELD_BY_ALL,
    RECURSIVE_DIVERSITY,
    RESPONDENTS,
    Requirement,
)
from smalti.transforms.partitions.matching import can_match
from smalti.transforms.partitions.weights import ValueScale
from smalti.transforms.problem import Flags, Integers
from smalti.transforms.requirements.distribution_judge import DistributionJudge
from smalti.transforms.requirements.registry import judges_of


class RespondentsOnSides(SideJudge):
    """At least k respondents."""

    __slots__ = ()

    name: ClassVar[str] = RESPONDENTS

    def allowed(self, counts: LineCounts) -> Flags:
        left, right = counts.people
        k = self.judge.fewest_respondents
        return (left >= k) & (right >= k)


class NotHeldByAllOnSides(SideJudge):
    """No value that all respondents hold."""

    __slots__ = ()

    name: ClassVar[str] = NOT_HELD_BY_ALL

    def allowed(self, counts: LineCounts) -> Flags:
        allowed = counts.everywhere
        for left, right in counts.values:
            allowed &= (left > 1) & (right > 1)
        left, right = counts.people
        for extents in counts.holders:
            # A value that fewer than `fewest` hold is never that of all on an allowed side.
            allowed &= _most_held(counts.places, extents.first) < left
            onward = _most_held(-counts.places[::-1], _mirrored(extents.last))[::-1]
            allowed[:-1] &= onward[1:] < right[:-1]
        return allowed

    def whole_meets(self, relations: Relations, *, has_respondents: bool, sensitive: int) -> bool:
        if not has_respondents:
            return True
        tables = [relations.take(queries.most_held(f"v{i}")) for i in range(sensitive)]
        return all(table.column("held")[0].as_py() != table.column("people")[0].as_py() for table in tables)


class DistinctValuesOnSides(SideJudge):
    """In each sensitive column, l values that can be matched to l respondents."""

    __slots__ = ()

    name: ClassVar[str] = DISTINCT_VALUES

    @property
    def _wanted(self) -> int:
        return int(self.judge.requirement.parameters[0])

    def allowed(self, counts: LineCounts) -> Flags:
        allowed = counts.everywhere
        for values in counts.values:
            for number in (*values, *counts.people):
                allowed &= number >= self._wanted
        return allowed

    def surely_met(self, holders: Sequence[Extents], place: int) -> bool:
        """Whether so many values of each sensitive column have so many holders on both sides.

        Then so many values can be matched to so many holders, one after the other (Hall's condition).
        Where it does not, they may match all the same.
        """
        return all(
            _held_by(counts, upto, self._wanted) >= self._wanted
            for extents in holders
            for counts, upto in ((extents.first, place), (_mirrored(extents.last), -place - 1))
        )

    def failing(self, cuts: Cuts) -> set[int]:
        return set().union(*(self._without_match(cuts, v) for v in cuts.values))

    def _without_match(self, cuts: Cuts, v: str) -> set[int]:
        pairs = columns_of(cuts.relations, cuts.layout.pairs(cuts.places, v, self._wanted))
        return {
            line
            for line in cuts.places
            for side in (0, 1)
            for mine in [(pairs["line"] == line) & (pairs["side"] == side)]
            if not can_match(pairs["v"][mine], pairs["u"][mine], self._wanted)
        }


class DistributionOnSides(SideJudge):
    """A model of distributions: margins at each place, and exact weights on both sides of a chosen cut."""

    __slots__ = ()

    @property
    def _judge(self) -> DistributionJudge:
        if not isinstance(self.judge, DistributionJudge):
            raise InternalError("a judge of another requirement weighs values")
        return self.judge

    def allowed(self, counts: LineCounts) -> Flags:
        allowed = counts.everywhere
        for place, column in enumerate(counts.weights):
            if not self._judge.is_about(place):
                continue
            for weights in (column.upto, column.after):
                margins, bound = self._judge.margins(column.scale, weights)
                allowed &= margins > -bound
        return allowed

    def failing(self, cuts: Cuts) -> set[int]:
        columns = enumerate(zip(cuts.values, cuts.scales, strict=True))
        return set().union(
            *(self._missing(cuts, v, scale) for place, (v, scale) in columns if self._judge.is_about(place))
        )

    def _missing(self, cuts: Cuts, v: str, scale: ValueScale) -> set[int]:
        rows = columns_of(cuts.relations, cuts.layout.weights_of_sides(cuts.places, v))
        missing = set()
        for line in cuts.places:
            for side in (0, 1):
                mine = (rows["line"] == line) & (rows["side"] == side)
                held = scale.exact(scale.places(rows["v"][mine]), rows["t"][mine], rows["n"][mine])
                if not self._judge.holds(held):
                    missing.add(line)
        return missing


class EntropyOnSides(DistributionOnSides):
    """Entropy l-diversity."""

    __slots__ = ()

    name: ClassVar[str] = ENTROPY_DIVERSITY


class RecursiveOnSides(DistributionOnSides):
    """Recursive (c, l)-diversity."""

    __slots__ = ()

    name: ClassVar[str] = RECURSIVE_DIVERSITY


class ShareOnSides(DistributionOnSides):
    """No value with a larger share than alpha."""

    __slots__ = ()

    name: ClassVar[str] = ALPHA


class ClosenessOnSides(DistributionOnSides):
    """t-closeness."""

    __slots__ = ()

    name: ClassVar[str] = CLOSENESS


SIDE_JUDGES: Final[tuple[type[SideJudge], ...]] = (
    RespondentsOnSides,
    NotHeldByAllOnSides,
    DistinctValuesOnSides,
    EntropyOnSides,
    RecursiveOnSides,
    ShareOnSides,
    ClosenessOnSides,
)
"""A table is cut in SQL if all that is promised is here; otherwise one kernel takes it whole."""


def side_judges_of(requirements: Iterable[Requirement]) -> tuple[SideJudge, ...] | None:
    """The judges of both sides of cuts by these requirements; None if one of them has no judge."""
    kinds = {kind.name: kind for kind in SIDE_JUDGES}
    judges = judges_of(requirements)
    if any(judge.name not in kinds for judge in judges):
        return None
    return tuple(kinds[judge.name](judge) for judge in judges)


def _mirrored(counts: Counts) -> Counts:
    return Counts(-counts.places, counts.numbers, counts.values)


def _held_by(first: Counts, place: int, holders: int) -> int:
    """How many values have at least so many holders up to a place."""
    here = first.places <= place
    _, values = np.unique(first.values[here], return_inverse=True)
    return int(np.sum(np.bincount(values, first.numbers[here]) >= holders))


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
