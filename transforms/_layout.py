"""Partitions side by side, and laid out along an attribute: the bookkeeping of vectorised cuts.

Many partitions are handled at once. A *slot* is a place in a batch, a *group* a run of slots with the same
value of one attribute; groups are numbered through all partitions of a batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from smalti.transforms.problem import SCALE, Integers

_SPREAD = 8 * SCALE
_BATCH = 1 << 15


@dataclass(slots=True)
class Links:
    """Pairs of (tuple, item), in the order of tuples, to be taken for any subset of tuples."""

    starts: Integers
    columns: tuple[Integers, ...]

    @classmethod
    def of(cls, tuples: Integers, columns: tuple[Integers, ...], count: int) -> "Links":
        order = np.argsort(tuples, kind="stable")
        starts = np.searchsorted(tuples[order], np.arange(count + 1))
        return cls(starts, tuple(column[order] for column in columns))

    def take(self, tuples: Integers) -> tuple[Integers, tuple[Integers, ...]]:
        """The slots (indexes into `tuples`) and columns of all pairs of these tuples."""
        counts = self.starts[tuples + 1] - self.starts[tuples]
        slots = np.repeat(np.arange(len(tuples)), counts)
        ends = np.cumsum(counts)
        within = np.arange(len(slots)) - np.repeat(ends - counts, counts)
        pairs = self.starts[tuples][slots] + within
        return slots, tuple(column[pairs] for column in self.columns)


@dataclass(slots=True)
class Batch:
    """Some partitions side by side: `tuples[starts[i]:starts[i+1]]` are those of partition i."""

    tuples: Integers
    starts: Integers
    node: Integers = field(init=False)
    """The partition of each slot."""

    def __post_init__(self) -> None:
        self.node = np.repeat(np.arange(self.size), np.diff(self.starts))

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    def subset(self, nodes: Integers) -> "Batch":
        lengths = np.diff(self.starts)[nodes]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        slots = np.arange(starts[-1]) + np.repeat(self.starts[nodes] - starts[:-1], lengths)
        return Batch(self.tuples[slots], starts)

    def pieces(self) -> Iterator["Batch"]:
        """The same partitions, in batches that fit a processor's cache."""
        first = 0
        while first < self.size:
            last = int(np.searchsorted(self.starts, self.starts[first] + _BATCH, "right")) - 1
            last = max(last, first + 1)
            low, high = self.starts[first], self.starts[last]
            yield Batch(self.tuples[low:high], self.starts[first : last + 1] - low)
            first = last


@dataclass(slots=True)
class Line:
    """The partitions of a batch laid out along one attribute."""

    order: Integers
    """Slots by (partition, place along the attribute)."""
    group: Integers
    """By slot: its value group; groups are numbered through all partitions."""
    ends: Integers
    """By group: one past its last place in `order`."""
    node: Integers
    """By group: its partition."""
    first: Integers
    """By partition: its first group."""

    @property
    def index(self) -> Integers:
        """By group: the number of groups of its partition up to and with it."""
        return np.arange(len(self.node)) - self.first[self.node] + 1


@dataclass(slots=True)
class Members:
    """Things that occur in partitions (respondents, values), each with the slots that hold it."""

    slots: Integers
    """Sorted by thing."""
    starts: Integers
    """By thing: where its slots begin."""
    node: Integers
    """By thing: its partition."""

    @classmethod
    def of(cls, slots: Integers, node: Integers, items: Integers) -> "Members":
        order = np.lexsort((items, node))
        slots, node, items = slots[order], node[order], items[order]
        new = np.ones(len(slots), np.bool_)
        new[1:] = (node[1:] != node[:-1]) | (items[1:] != items[:-1])
        starts = np.flatnonzero(new)
        return cls(slots, starts, node[starts])

    @classmethod
    def of_numbers(cls, number: Integers, node: Integers, count: int) -> "Members":
        """The same, from things already numbered densely by slot."""
        order = np.argsort(number, kind="stable")
        return cls(order, np.searchsorted(number[order], np.arange(count)), node)

    def sides(self, line: Line) -> tuple[Integers, Integers]:
        """By group: how many things occur up to it, and how many after it.

        A thing is left of a cut if its first group is, and right of it if its last group is.
        """
        group = line.group[self.slots]
        first = np.minimum.reduceat(group, self.starts)
        last = np.maximum.reduceat(group, self.starts)
        groups = len(line.ends)
        begun = since(np.cumsum(np.bincount(first, minlength=groups)), line)
        ended = since(np.cumsum(np.bincount(last, minlength=groups)), line)
        return begun, begun[line.first[1:] - 1][line.node] - ended

    def totals(self, size: int) -> Integers:
        return np.bincount(self.node, minlength=size)


@dataclass(slots=True)
class Holdings:
    """Which respondents hold which values, for the rule that no value is held by all."""

    members: Members
    """The (value, respondent) pairs."""
    value: Integers
    """By pair: a number of its (partition, value); ascending."""

    @classmethod
    def of(cls, slots: Integers, node: Integers, values: Integers, respondents: Integers) -> "Holdings":
        order = np.lexsort((respondents, values, node))
        slots, node, values, respondents = slots[order], node[order], values[order], respondents[order]
        new_value = np.ones(len(slots), np.bool_)
        new_value[1:] = (node[1:] != node[:-1]) | (values[1:] != values[:-1])
        new = new_value.copy()
        new[1:] |= respondents[1:] != respondents[:-1]
        starts = np.flatnonzero(new)
        return cls(Members(slots, starts, node[starts]), np.cumsum(new_value, dtype=np.int64)[starts])

    def most(self, line: Line) -> tuple[Integers, Integers]:
        """By group: the respondents of the value that most respondents hold, up to it and after it.

        The holders of a value only grow along the line, so the running maximum over all values of
        their counts is the count of the most held value.
        """
        group = line.group[self.members.slots]
        first = np.minimum.reduceat(group, self.members.starts)
        last = np.maximum.reduceat(group, self.members.starts)
        groups = len(line.ends)
        begun = peaks(first, self.value, groups, line.node)
        after = peaks(groups - 1 - last, self.value, groups, (line.node[-1] - line.node)[::-1])[::-1]
        # `after` counts holders in this group and later; after a cut they are those of the next group.
        right = np.zeros(groups, np.int64)
        right[:-1] = np.where(line.node[1:] == line.node[:-1], after[1:], 0)
        return begun, right


def peaks(event: Integers, value: Integers, groups: int, node: Integers) -> Integers:
    """By group: the largest count of one value's events up to it, within its partition."""
    order = np.lexsort((event, value))
    event, value = event[order], value[order]
    new = np.ones(len(value), np.bool_)
    new[1:] = value[1:] != value[:-1]
    starts = np.flatnonzero(new)
    count = np.arange(len(value)) - np.repeat(starts, np.diff(np.append(starts, len(value)))) + 1
    peak = np.zeros(groups, np.int64)
    np.maximum.at(peak, event, count)
    spread = node * (len(value) + 1)
    return np.maximum.accumulate(peak + spread) - spread


def lay_out(batch: Batch, place: Integers) -> Line:
    key = batch.node * (int(place.max(initial=0)) + 1) + place
    order = np.argsort(key, kind="stable")
    key = key[order]
    new = np.ones(len(key), np.bool_)
    new[1:] = key[1:] != key[:-1]
    number = np.cumsum(new) - 1
    group = np.empty(len(key), np.int64)
    group[order] = number
    begins = np.flatnonzero(new)
    node = batch.node[order][begins]
    first = np.searchsorted(node, np.arange(batch.size + 1))
    return Line(order, group, np.append(begins[1:], len(key)), node, first)


def since(running: Integers, line: Line) -> Integers:
    """A running total by group, counted from the start of each partition."""
    before = np.concatenate(([0], running))[line.first[:-1]]
    return running - before[line.node]


def running(amounts: Integers, line: Line) -> Integers:
    """By group: the sum of amounts (given in the line's order) up to its end, in its partition."""
    return since(np.cumsum(amounts)[line.ends - 1], line)


def sums(amounts: Integers, starts: Integers) -> Integers:
    return np.diff(np.concatenate(([0], np.cumsum(amounts)))[starts])


def side_reaches(position: Integers, node: Integers, line: Line) -> tuple[Integers, Integers]:
    """By group: the reach of an ordered attribute up to it, and after it.

    Partitions are set `_SPREAD` apart, so that one running maximum serves them all.
    """
    apart = node * _SPREAD
    at = line.ends - 1
    high = np.maximum.accumulate(position + apart)[at] - apart[at]
    low = np.minimum.accumulate(position - apart)[at] + apart[at]
    back = slice(None, None, -1)
    high_after = np.maximum.accumulate((position - apart)[back])[back] + apart
    low_after = np.minimum.accumulate((position + apart)[back])[back] - apart
    next_at = np.minimum(line.ends, len(position) - 1)  # of no use after a partition's last group
    right = np.minimum(high_after[next_at] - low_after[next_at], SCALE)
    return np.minimum(high - low, SCALE), right
