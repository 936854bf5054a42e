"""Groups put together until each meets all requirements."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from smalti.transforms.microaggregation.places import modes
from smalti.transforms.problem import Flags, Integers


@dataclass(frozen=True, slots=True)
class Held:
    """What groups hold of trees, by entry: some rows of one group that are below the same nodes."""

    nodes: Integers
    """Shape (levels of all trees, entries)."""
    squared_steps: tuple[int, ...]
    """By level."""
    rows: Integers
    groups: Integers
    """Ascending."""

    def renamed(self, numbers: Integers) -> "Held":
        """The same of groups with these numbers."""
        groups = numbers[self.groups]
        order = np.argsort(groups, kind="stable")
        return replace(self, nodes=self.nodes[:, order], rows=self.rows[order], groups=groups[order])

    def of_group(self, group: int) -> Integers:
        """Its entries."""
        return np.arange(*np.searchsorted(self.groups, (group, group + 1)))

    def centres(self, entries: Integers, groups: Integers, count: int) -> Integers:
        """By level and group the node with the most rows."""
        centres = np.zeros((len(self.nodes), count), np.int64)
        for centre, nodes in zip(centres, self.nodes, strict=True):
            centre[:] = modes(groups, nodes[entries], self.rows[entries], count)
        return centres


_NO_TREES: Final = Held(np.zeros((0, 0), np.int64), (), np.zeros(0, np.int64), np.zeros(0, np.int64))


def joined(
    totals: Integers,
    counts: Integers,
    blocks: Integers,
    meets: Callable[[Integers], Flags],
    held: Held = _NO_TREES,
) -> Integers:
    """The class of each group, numbered from 0.

    In turns: each group that misses a requirement joins the one in its block whose centre is nearest to
    its own, in whole steps of the grid; of equal distances the first. Which was joined waits for its turn.
    On each level of a tree the centre is the node with the most rows.

    Args:
        totals: shape (lines, groups): the sum of the points of a group's rows.
        counts: of rows, by group.
        blocks: by group, ascending.
        meets: says of the classes of groups which meet all requirements. A whole block does.
        held: of trees.
    """
    classes = np.arange(len(counts))
    while True:
        met = meets(classes)
        into = _turn(totals, counts, blocks, np.flatnonzero(~met), held)
        if np.array_equal(into, np.arange(len(into))):
            return classes
        names, numbers = np.unique(into, return_inverse=True)
        numbers = numbers.reshape(-1).astype(np.int64)
        totals, counts = (added(each, numbers, len(names)) for each in (totals, counts))
        blocks, classes, held = blocks[names], numbers[classes], held.renamed(numbers)


def _turn(totals: Integers, counts: Integers, blocks: Integers, failing: Integers, held: Held) -> Integers:
    """By group the one that it is in then."""
    totals, counts = totals.copy(), counts.copy()
    centres = totals // counts
    nodes = held.centres(np.arange(len(held.rows)), held.groups, len(counts))
    entries: dict[int, Integers] = {}
    into, waits = np.arange(len(counts)), np.zeros(len(counts), np.bool_)
    for group in failing.tolist():
        first, end = np.searchsorted(blocks, blocks[group]), np.searchsorted(blocks, blocks[group], "right")
        others = first + np.flatnonzero(into[first:end] == np.arange(first, end))
        others = others[others != group]
        if waits[group] or not len(others):
            continue
        apart = centres[:, others] - centres[:, group, np.newaxis]
        squared = (apart * apart).sum(axis=0)
        for steps, numbers in zip(held.squared_steps, nodes, strict=True):
            squared += steps * (numbers[others] != numbers[group])
        nearest = int(others[np.argmin(squared)])
        into[group], waits[nearest] = nearest, True
        totals[:, nearest] += totals[:, group]
        counts[nearest] += counts[group]
        centres[:, nearest] = totals[:, nearest] // counts[nearest]
        if len(nodes):
            of_group, of_nearest = (
                entries[each] if each in entries else held.of_group(each) for each in (group, nearest)
            )
            entries[nearest] = np.concatenate((of_nearest, of_group))
            alone = np.zeros(len(entries[nearest]), np.int64)
            nodes[:, [nearest]] = held.centres(entries[nearest], alone, 1)
    return into


def added(numbers: Integers, places: Integers, count: int) -> Integers:
    """The sums of what has one place, along the last axis.

    Args:
        numbers: shape (..., entries).
        places: by entry, below `count`.
        count: of places.
    """
    sums = np.zeros((count, *numbers.shape[:-1]), np.int64)
    np.add.at(sums, places, numbers.T)
    return sums.T
