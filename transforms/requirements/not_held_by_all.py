"""No sensitive value is held by all respondents of a class (MOSAICrOWN D5.1, 2.2)."""

from typing import ClassVar

import numpy as np

from smalti.transforms.base import NOT_HELD_BY_ALL
from smalti.transforms.partitions.held import ColumnSides, Held, HeldOnSides, OneClass, OneColumn, Sampled
from smalti.transforms.partitions.incidence import Diversity, Holdings
from smalti.transforms.partitions.layout import Line, Numbers, changes, order_by, ranges, ranks
from smalti.transforms.problem import Flags, Integers
from smalti.transforms.requirements.judge import ClassJudge

_FEW_VALUES = 64


class NotHeldByAll(ClassJudge):
    """For each sensitive column by itself, no value is certain for all of a class.

    Where each row is another respondent there are two different values then, or more. Otherwise two classes
    in which no value is held by all may have one together: in one, some hold it, and in the other the rest.
    """

    __slots__ = ()

    name: ClassVar[str] = NOT_HELD_BY_ALL
    strength: ClassVar[int] = 0
    limits: ClassVar[tuple[str, ...]] = (
        "inferring a sensitive value that most, but not all, of a class share",
    )

    def statement(self, counted: str) -> str:
        return "no sensitive value is held by all of them"

    def addition(self, counted: str) -> str:
        return ", and none that all of them hold"

    @property
    def rule(self) -> str:
        return "no sensitive value that all respondents of a class hold"

    def is_kept_by_merging(self, *, has_respondents: bool, sensitive: int) -> bool:
        return not has_respondents or not sensitive

    def is_kept_by_adding(self, *, has_respondents: bool, sensitive: int) -> bool:
        return not has_respondents or not sensitive

    def is_decided_by_counts(self, *, has_respondents: bool) -> bool:
        return True

    def meets(self, held: OneClass) -> bool:
        return not any(_is_shared(column, held.respondents) for column in held.columns)

    def may_meet(self, held: Held) -> Flags:
        allowed = held.everywhere
        for diversity in held.columns:
            allowed &= _differs(diversity, held.people)
        return allowed

    def may_meet_on_both_sides(self, held: HeldOnSides) -> Flags:
        allowed = held.everywhere
        for column in held.columns:
            allowed &= _differs_on_both_sides(column, held.people, held.fewest)
        return allowed

    def surely_may_meet(self, sampled: Sampled) -> Flags:
        surely = np.ones(sampled.size, np.bool_)
        for column in sampled.columns:
            surely &= np.bincount(column.of_values, minlength=sampled.size) > 1
            surely &= _surely_differs(column.holdings, sampled.of_people, sampled.people, sampled.size)
        return surely


def _is_shared(column: OneColumn, respondents: int) -> bool:
    if column.respondents is None:
        return len(column.values) < 2
    _, holders = np.unique(column.values, return_counts=True)
    return bool((holders == respondents).any())


def _differs(diversity: Diversity, people: Integers) -> Flags:
    """By partition: whether none of its values is held by all of its respondents.

    Args:
        diversity: what partitions hold of one sensitive column.
        people: by partition its respondents.
    """
    if diversity.values is None:
        return np.bincount(diversity.members.node, minlength=len(people)) > 1
    most = np.zeros(len(people), np.int64)
    holders = np.diff(diversity.values, append=len(diversity.members.node))
    np.maximum.at(most, diversity.members.node[diversity.values], holders)
    return most < people


def _differs_on_both_sides(column: ColumnSides, people: tuple[Integers, Integers], fewest: int) -> Flags:
    """By group: whether neither up to it nor after it all respondents hold one value."""
    if column.diversity.values is None:
        left, right = column.values
        return (left > 1) & (right > 1)
    line, (first, last) = column.line, column.extent
    holders = np.diff(column.diversity.values, append=len(first))
    value = np.repeat(np.arange(len(holders)), holders)
    often = np.flatnonzero((holders >= fewest)[value])
    shared = _shared_up_to(value[often], first[often], people[0], line)
    shared |= _shared_after(value[often], last[often], people, line)
    return ~shared


def _shared_up_to(value: Integers, first: Integers, people: Integers, line: Line) -> Flags:
    """By group: whether all respondents up to it hold one of these values.

    That is so if it was so where the value's latest holder came, and no respondent came since.

    Args:
        value: by (value, respondent) pair a number of its (partition, value).
        first: by pair the first group in which it occurs.
        people: by group the respondents up to it.
        line: the batch, laid out.
    """
    order, _ = order_by(value, first)
    holders = ranks(changes(value[order])) + 1  # of pairs in the same group the last counts all
    met = first[order]
    met = met[holders == people[met]]
    if not len(met):
        return np.zeros(len(people), np.bool_)
    latest = np.full(len(people), -1)
    latest[met] = met
    np.maximum.accumulate(latest, out=latest)
    shared: Flags = (latest >= line.first[line.node]) & (people[latest] == people)
    return shared


def _shared_after(value: Integers, last: Integers, people: tuple[Integers, Integers], line: Line) -> Flags:
    """By group: whether all respondents after it hold one of these values; as `_shared_up_to`, mirrored."""
    upto, after = people
    onward = np.concatenate((after[:1], after[:-1]))
    """By group: the respondents in it and after it."""
    onward[line.first[:-1]] = upto[line.last]
    order, _ = order_by(value, last)
    new = changes(value[order])
    lengths = np.diff(np.flatnonzero(new), append=len(new))
    holders = np.repeat(lengths, lengths) - ranks(new)
    met = last[order]
    met = met[holders == onward[met]]
    if not len(met):
        return np.zeros(len(after), np.bool_)
    nearest = np.full(len(after), len(after))
    nearest[met] = met
    nearest = np.append(np.minimum.accumulate(nearest[::-1])[::-1][1:], len(after))
    shared: Flags = nearest <= line.last[line.node]
    shared &= onward[np.minimum(nearest, len(after) - 1)] == after
    return shared


def _surely_differs(holdings: Holdings, node: Integers, people: Numbers, count: int) -> Flags:
    """By partition: whether some of its respondents, anywhere in the table, have no value in common.

    What a respondent holds in a partition is part of what it holds in the table. Respondents with
    many values are passed over, for they are slow and show little.
    """
    held = holdings.by_respondent
    if held is None:
        return np.ones(count, np.bool_)
    wanted = people.astype(held.respondents.dtype)  # or all respondents would be converted
    starts = np.searchsorted(held.respondents, wanted)
    counts = np.searchsorted(held.respondents, wanted, "right") - starts
    ordinary = np.flatnonzero(counts <= _FEW_VALUES)
    node, starts, counts = node[ordinary], starts[ordinary], counts[ordinary]
    holder = np.repeat(node, counts)
    order, new = order_by(holder, held.values[ranges(starts, counts)])
    most = np.zeros(count, np.int64)
    begins = np.flatnonzero(new)
    np.maximum.at(most, holder[order[begins]], np.diff(begins, append=len(order)))
    return np.asarray(most < np.bincount(node, minlength=count), np.bool_)
