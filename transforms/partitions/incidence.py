"""The respondents and values of tuples, and how many of them lie on each side of a cut."""

from dataclasses import dataclass

import numpy as np

from smalti.transforms.partitions.layout import Batch, Line, Numbers, changes, narrow, order_by, since
from smalti.transforms.problem import Integers, SensitiveIncidence


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs of (tuple, item), in the order of tuples, to be taken for any subset of tuples."""

    starts: Numbers
    """By tuple, and once more at the end: its first pair."""
    items: Numbers

    @classmethod
    def of(cls, tuples: Integers, items: Integers, count: int) -> "Links":
        order, _ = order_by(tuples)
        starts = np.concatenate(([0], np.cumsum(np.bincount(tuples, minlength=count))))
        return cls(narrow(starts), narrow(items)[order])

    def take(self, tuples: Integers) -> tuple[Integers, Numbers]:
        """The slots (indexes into `tuples`) and items of all pairs of these tuples."""
        counts = self.counts(tuples)
        slots = np.repeat(np.arange(len(tuples)), counts)
        before = np.cumsum(counts, dtype=np.int64) - counts
        return slots, self.items[np.arange(len(slots)) + (self.starts[tuples] - before)[slots]]

    def counts(self, tuples: Integers) -> Numbers:
        """The number of pairs of each of these tuples."""
        return self.starts[tuples + 1] - self.starts[tuples]

    def any_of(self, tuples: Integers) -> tuple[Integers, Numbers]:
        """The slots of those of these tuples that have pairs, and the item of one of them."""
        slots = np.flatnonzero(self.counts(tuples))
        return slots, self.items[self.starts[tuples[slots]]]

    def subset(self, tuples: Integers) -> "Links":
        slots, items = self.take(tuples)
        return Links(np.concatenate(([0], np.cumsum(np.bincount(slots, minlength=len(tuples))))), items)


@dataclass(frozen=True, slots=True)
class Pairs:
    """(Value, respondent) pairs, each once."""

    values: Numbers
    respondents: Numbers

    def by_respondent(self) -> "Pairs":
        """The same, in the order of respondents."""
        order, _ = order_by(self.respondents)
        return Pairs(self.values[order], self.respondents[order])


@dataclass(frozen=True, slots=True)
class Holdings:
    """Which tuples hold which values of one sensitive column, and whose they are."""

    links: Links
    """Tuples with numbers of pairs, or with values where each row is another respondent."""
    pairs: Pairs | None
    """By value, then by respondent; None where each row is another respondent."""
    by_respondent: Pairs | None
    """The same pairs by respondent."""

    @classmethod
    def of(cls, column: SensitiveIncidence, count: int) -> "Holdings":
        if column.respondents is None:
            return cls(Links.of(column.tuples, column.values, count), None, None)
        order, new = order_by(column.values, column.respondents)
        number = np.empty(len(order), np.int64)
        number[order] = np.cumsum(new) - 1
        first = order[new]
        pairs = Pairs(narrow(column.values[first]), narrow(column.respondents[first]))
        return cls(Links.of(column.tuples, number, count), pairs, pairs.by_respondent())

    def subset(self, tuples: Integers) -> "Holdings":
        return Holdings(self.links.subset(tuples), self.pairs, self.by_respondent)


@dataclass(frozen=True, slots=True)
class Members:
    """Things that occur in partitions (respondents, values), each with the slots that hold it."""

    slots: Integers
    """Sorted by (partition, thing)."""
    starts: Integers
    """By thing: where its slots begin."""
    node: Integers
    """By thing: its partition."""
    items: Numbers
    """By thing: its number in the whole table."""

    @classmethod
    def of(cls, batch: Batch, links: Links) -> "Members":
        slots, items = links.take(batch.tuples)
        order, new = order_by(batch.node[slots], items)
        slots, starts = slots[order], np.flatnonzero(new)
        return cls(slots, starts, batch.node[slots[starts]], items[order[starts]])

    @classmethod
    def of_groups(cls, line: Line) -> "Members":
        """The value groups of a line."""
        return cls(line.order, line.begins, line.node, np.arange(len(line.node)))

    def extent(self, line: Line) -> tuple[Integers, Integers]:
        """By thing: the first and the last group of a line in which it occurs."""
        group = line.group[self.slots]
        return np.minimum.reduceat(group, self.starts), np.maximum.reduceat(group, self.starts)

    def sides(self, line: Line) -> tuple[Integers, Integers]:
        """By group: how many things occur up to it, and how many after it."""
        return sides(*self.extent(line), line)


def sides(first: Integers, last: Integers, line: Line) -> tuple[Integers, Integers]:
    """By group: how many things occur up to it, and how many after it.

    A thing is left of a cut if its first group is, and right of it if its last group is.
    """
    groups = len(line.ends)
    begun = since(np.cumsum(np.bincount(first, minlength=groups)), line)
    ended = since(np.cumsum(np.bincount(last, minlength=groups)), line)
    return begun, begun[line.last][line.node] - ended


@dataclass(frozen=True, slots=True)
class Diversity:
    """What the partitions of a batch hold of one sensitive column."""

    members: Members
    """Values, or (value, respondent) pairs."""
    values: Integers | None
    """By value of a partition: its first pair; None where the members are values."""

    @classmethod
    def of(cls, batch: Batch, holdings: Holdings) -> "Diversity":
        members = Members.of(batch, holdings.links)
        if holdings.pairs is None:
            return cls(members, None)
        value = holdings.pairs.values[members.items]
        return cls(members, np.flatnonzero(changes(value) | changes(members.node)))

    @property
    def node_of_values(self) -> Integers:
        """By value of a partition: the partition."""
        return self.members.node if self.values is None else self.members.node[self.values]
