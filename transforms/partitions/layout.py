"""Partitions side by side, and laid out along an attribute: the bookkeeping of vectorised cuts.

Many partitions are handled at once. A *slot* is a place in a batch, a *group* a run of slots with the same
value of one attribute; groups are numbered through all partitions of a batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.problem import Flags, Integers

Numbers = Integers | NDArray[np.int32]

_BATCH = 1 << 16
_KEY_BITS = 63


def narrow(numbers: Integers) -> Numbers:
    """The same numbers, from 0, in half the memory where they fit."""
    return numbers.astype(np.int32) if numbers.max(initial=0) < 1 << 31 else numbers


def order_by(*keys: Numbers) -> tuple[Integers, Flags]:
    """Sort rows by whole numbers from 0: the first key counts most, ties stay as they are.

    Returns:
        The rows in order, and by place whether a run of equal keys begins there.
    """
    count = len(keys[0])
    widths = [int(key.max(initial=0)).bit_length() for key in keys]
    places = max(count - 1, 0).bit_length()
    new = np.ones(count, np.bool_)
    if sum(widths) + places > _KEY_BITS:
        order = np.lexsort(keys[::-1])
        new[1:] = np.logical_or.reduce([key[order[1:]] != key[order[:-1]] for key in keys])
        return order, new
    # Sorting one packed number is several times faster than sorting indexes by several keys.
    packed = keys[0].astype(np.int64)
    for key, width in zip(keys[1:], widths[1:], strict=True):
        packed <<= width
        packed |= key
    packed <<= places
    packed |= np.arange(count)
    packed.sort()
    order = packed & ((1 << places) - 1)
    packed >>= places
    np.not_equal(packed[1:], packed[:-1], out=new[1:])
    return order, new


def ranges(starts: Integers, lengths: Integers) -> Integers:
    """Whole numbers from each start on, as many as its length, one range after the other."""
    ends = np.cumsum(lengths)
    numbers: Integers = np.arange(ends[-1] if len(ends) else 0)
    numbers += np.repeat(starts - (ends - lengths), lengths)
    return numbers


def ranks(new: Flags) -> Integers:
    """By place: how many places of its run come before it."""
    starts = np.flatnonzero(new)
    return np.arange(len(new)) - np.repeat(starts, np.diff(starts, append=len(new)))


def changes(amounts: Numbers) -> Flags:
    """By place: whether the number differs from the one before; true at the first."""
    new = np.ones(len(amounts), np.bool_)
    np.not_equal(amounts[1:], amounts[:-1], out=new[1:])
    return new


@dataclass(slots=True)
class Batch:
    """Some partitions side by side: `tuples[starts[i]:starts[i+1]]` are those of partition i."""

    tuples: Integers
    starts: Integers
    node: Integers = field(init=False)
    """The partition of each slot."""

    def __post_init__(self) -> None:
        self.node = np.repeat(np.arange(self.size), np.diff(self.starts))

    @classmethod
    def whole(cls, count: int) -> "Batch":
        """One partition of all tuples."""
        return cls(np.arange(count), np.array([0, count]))

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    @property
    def fits_a_cache(self) -> bool:
        return len(self.tuples) <= _BATCH

    def subset(self, nodes: Integers) -> tuple["Batch", Integers]:
        """Some of the partitions, and the slots that they have here."""
        lengths = np.diff(self.starts)[nodes]
        slots = ranges(self.starts[nodes], lengths)
        return Batch(self.tuples[slots], np.concatenate(([0], np.cumsum(lengths)))), slots

    def children(self, cut: Flags, left: Flags) -> "Batch":
        """Both sides of the partitions that are cut, side by side.

        Args:
            cut: by partition.
            left: by slot.
        """
        slots = np.flatnonzero(cut[self.node])
        child = 2 * self.node[slots] + ~left[slots]
        order, _ = order_by(child)
        sizes = np.bincount(child, minlength=2 * self.size).reshape(-1, 2)[cut].ravel()
        return Batch(self.tuples[slots[order]], np.concatenate(([0], np.cumsum(sizes))))

    def pieces(self) -> Iterator["Batch"]:
        """The same partitions, in batches that fit a processor's cache."""
        first = 0
        while first < self.size:
            last = int(np.searchsorted(self.starts, self.starts[first] + _BATCH, "right")) - 1
            last = max(last, first + 1)
            low, high = self.starts[first], self.starts[last]
            yield Batch(self.tuples[low:high], self.starts[first : last + 1] - low)
            first = last


@dataclass
class Line:
    """The partitions of a batch laid out along one attribute."""

    order: Integers
    """Slots by (partition, place along the attribute)."""
    begins: Integers
    """By group: its first place in `order`."""
    ends: Integers
    """By group: one past its last place in `order`."""
    node: Integers
    """By group: its partition."""
    first: Integers
    """By partition, and once more at the end: its first group."""

    @classmethod
    def of(cls, batch: Batch, order: Integers, begins: Integers) -> "Line":
        ends = np.append(begins[1:], len(order))
        return cls(order, begins, ends, batch.node[begins], np.searchsorted(begins, batch.starts))

    @cached_property
    def group(self) -> Integers:
        """By slot: its value group."""
        group = np.empty(len(self.order), np.int64)
        group[self.order] = np.repeat(np.arange(len(self.ends)), self.ends - self.begins)
        return group

    @property
    def last(self) -> Integers:
        """By partition: its last group."""
        return self.first[1:] - 1


def lay_out(batch: Batch, place: Numbers) -> Line:
    """The partitions along an attribute: tuples of equal place are one group."""
    order, new = order_by(batch.node, place)
    return Line.of(batch, order, np.flatnonzero(new))


def by_weight(batch: Batch, line: Line, weights: Integers) -> Line:
    """The same groups, the heaviest of each partition first, ties as they stood."""
    weight = np.add.reduceat(weights[line.order], line.begins)
    ranking, _ = order_by(line.node, weight.max() - weight)
    lengths = (line.ends - line.begins)[ranking]
    order = line.order[ranges(line.begins[ranking], lengths)]
    return Line.of(batch, order, np.cumsum(lengths) - lengths)


def since(running: Integers, line: Line) -> Integers:
    """A running total by group, counted from the start of each partition."""
    before = np.concatenate(([0], running))[line.first[:-1]]
    return running - before[line.node]


def running(amounts: Integers, line: Line) -> Integers:
    """By group: the sum of amounts (given in the line's order) up to its end, in its partition."""
    return since(np.cumsum(amounts)[line.ends - 1], line)


def sums(amounts: Numbers | Flags, starts: Integers) -> Integers:
    """The sum of each stretch of amounts; `starts` has where they begin, and the end of the last."""
    return np.diff(np.concatenate(([0], np.cumsum(amounts)))[starts])
