"""Where tuples lie, in whole steps of one grid: on lines, and below the nodes of trees.

The square of a distance is the sum of the squared differences on all lines and, for each level of a tree
on which two tuples are below different nodes, of that level's squared steps. That is the distance of points
in a space with an axis for each node, on which the tuples below it lie apart from all others; the axes are
never laid out, so that columns with many values take no more memory than others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np

from smalti.transforms.problem import Integers


@dataclass(frozen=True, slots=True)
class Tree:
    """Tuples below nodes; without levels above the values, each value is a node by itself."""

    nodes: Integers
    """Shape (levels, tuples), from 0: the first level is of values, in the order of the tree."""
    squared_steps: tuple[int, ...]
    """By level."""

    def width(self, tuples: Integers) -> int:
        """How far apart some tuples are, in whole steps."""
        held = self.nodes[:, tuples]
        first, last = held[:, held[0].argmin()], held[:, held[0].argmax()]
        return isqrt(sum(n for n, apart in zip(self.squared_steps, first != last, strict=True) if apart))


@dataclass(frozen=True, slots=True)
class Places:
    """Of tuples, in their canonical order."""

    lines: Integers
    """Shape (lines, tuples): whole steps."""
    trees: tuple[Tree, ...]

    @property
    def count(self) -> int:
        """Of tuples."""
        return int(self.lines.shape[1])

    @property
    def levels(self) -> Integers:
        """Shape (levels of all trees, tuples): the node of each tuple."""
        empty = np.zeros((0, self.count), np.int64)
        return np.concatenate((empty, *(tree.nodes for tree in self.trees)))

    @property
    def squared_steps(self) -> tuple[int, ...]:
        """By level of all trees."""
        return tuple(steps for tree in self.trees for steps in tree.squared_steps)

    def widths(self, tuples: Integers) -> Iterator[int]:
        """How far apart some tuples are, by line and by tree."""
        held = self.lines[:, tuples]
        yield from (held.max(axis=1) - held.min(axis=1)).tolist()
        yield from (tree.width(tuples) for tree in self.trees)

    def along(self, number: int, tuples: Integers) -> Integers:
        """The order of some tuples along a line or a tree, by its place in `widths`; equal ones are one."""
        if number < len(self.lines):
            on_line: Integers = self.lines[number, tuples]
            return on_line
        in_tree: Integers = self.trees[number - len(self.lines)].nodes[0, tuples]
        return in_tree


def modes(groups: Integers, numbers: Integers, rows: Integers, count: int) -> Integers:
    """The most frequent number of each group; of several the least.

    Args:
        groups: by entry, from 0; each below `count` occurs.
        numbers: by entry, from 0.
        rows: of each entry.
        count: of groups.
    """
    pairs, entry_of = np.unique(groups * (int(numbers.max(initial=0)) + 1) + numbers, return_inverse=True)
    held = np.zeros(len(pairs), np.int64)
    np.add.at(held, entry_of.reshape(-1), rows)
    owners, values = np.divmod(pairs, int(numbers.max(initial=0)) + 1)
    order = np.lexsort((values, -held, owners))
    most: Integers = values[order[np.searchsorted(owners[order], np.arange(count))]]
    return most
