"""How much each value of a sensitive column weighs in partitions, and on both sides of their cuts.

A respondent weighs 1, spread evenly over all its rows in the whole table. So a row weighs one divided by
that number, and a partition's weights are sums of such fractions. For many partitions at once they are
rounded to whole units, so that sums and differences are exact; for one, they are whole numbers in a common
unit.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.errors import InternalError
from smalti.transforms.partitions.layout import Batch, Line, Numbers, narrow, order_by, ranges
from smalti.transforms.problem import Integers, Reference, SensitiveIncidence

Floats = NDArray[np.float64]

_BITS: Final = 62
_CELLS: Final = 1 << 21
"""How many weights of (group, value) are held at a time."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The weights of the values of one class, all in one unit; and of the table, in a unit of its own."""

    weights: tuple[int, ...]
    """By value that occurs in the table."""
    reference: tuple[int, ...]
    tree: Integers | None = None
    """Shape (levels, values): the number of each value's node, ascending, where there is a hierarchy."""


@dataclass(frozen=True)
class ValueScale:
    """The values of one sensitive column that occur in the table, and the units of their weights."""

    reference: Reference

    @cached_property
    def _occurring(self) -> Integers:
        values: Integers = np.unique(self.reference.values)
        return values

    @property
    def size(self) -> int:
        """How many values occur in the table."""
        return len(self._occurring)

    @cached_property
    def tree(self) -> Integers | None:
        """Shape (levels, size): by level and place the number of the value's node, ascending."""
        tree = self.reference.tree
        return None if tree is None else tree[:, self._occurring]

    def places(self, values: Integers) -> Integers:
        """The place of each value among all that occur in the table, in ascending order."""
        return np.searchsorted(self._occurring, values)

    @cached_property
    def shares_of_table(self) -> Floats:
        """By place the value's share in the table."""
        reference = self.reference
        weights = np.bincount(self.places(reference.values), reference.rows / reference.totals, self.size)
        shares: Floats = weights / weights.sum()
        return shares

    @cached_property
    def _shift(self) -> int:
        """A row of somebody who has one weighs 2 to the power of this; the whole table is below 2^62."""
        if (self.reference.totals == 1).all():
            return 0
        return max(_BITS - int(self.reference.rows.sum()).bit_length(), 0)

    @property
    def error(self) -> float:
        """How large the relative error of a weight in units is, at most.

        Each entry is rounded by half a unit, and has at least one row of somebody with the most rows.
        """
        if not self._shift:
            return 0.0
        return float(self.reference.totals.max()) * 2.0 ** -(self._shift + 1)

    def units(self, rows: Numbers, totals: Numbers) -> Integers:
        """What rows of respondents with so many rows in the table weigh."""
        if not self._shift:
            return rows.astype(np.int64)
        wide = totals.astype(np.int64)
        units: Integers = ((rows.astype(np.int64) << self._shift) + wide // 2) // wide
        return units

    def summed(self, keys: Integers, places: Numbers, units: Integers, count: int) -> Integers:
        """By key and place the weight in units.

        Args:
            keys: from 0, by entry.
            places: of its value.
            units: what it weighs.
            count: how many keys there are.
        """
        cells = keys * self.size + places
        if not self._shift:
            # Sums of rows are exact in floats, and much faster.
            sums = np.bincount(cells, units, count * self.size).astype(np.int64)
        else:
            sums = np.zeros(count * self.size, np.int64)
            np.add.at(sums, cells, units)
        return sums.reshape(count, self.size)

    def exact(self, places: Numbers, totals: Numbers, rows: Numbers) -> Distribution:
        """The distribution of one class, and of the table."""
        return Distribution(_exact(places, totals, rows, self.size), self._exact_reference, self.tree)

    @cached_property
    def _exact_reference(self) -> tuple[int, ...]:
        reference = self.reference
        return _exact(self.places(reference.values), reference.totals, reference.rows, self.size)


@dataclass(frozen=True)
class ColumnWeights:
    """What each tuple holds of the values of one sensitive column."""

    starts: Numbers
    """By tuple, and once more at the end: its first entry."""
    places: Numbers
    """By entry: the place of its value on the scale."""
    rows: Numbers
    totals: Numbers
    scale: ValueScale

    @classmethod
    def of(cls, column: SensitiveIncidence, reference: Reference, count: int) -> "ColumnWeights":
        """Those of a column whose rows are counted.

        Args:
            column: which tuples hold which values.
            reference: what the table holds of them.
            count: how many tuples there are.
        """
        if column.rows is None:
            raise InternalError("rows are counted where values are weighed")
        order = np.argsort(column.tuples, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(column.tuples, minlength=count))))
        totals = np.ones(len(order), np.int64) if column.totals is None else column.totals[order]
        scale = ValueScale(reference)
        places = scale.places(column.values[order])
        return cls(narrow(starts), narrow(places), narrow(column.rows[order]), narrow(totals), scale)

    def subset(self, tuples: Integers) -> "ColumnWeights":
        """Those of some tuples, close together in memory."""
        slots, entries = self._entries(tuples)
        starts = np.concatenate(([0], np.cumsum(np.bincount(slots, minlength=len(tuples)))))
        return ColumnWeights(
            narrow(starts), self.places[entries], self.rows[entries], self.totals[entries], self.scale
        )

    def of_portions(self, rows: Integers) -> "ColumnWeights":
        """Those of parts of tuples, each of which has one entry: its rows are alike.

        Args:
            rows: of each tuple that belong to the part.
        """
        if len(self.rows) != len(rows):
            raise InternalError("rows that differ in a weighed value are divided")
        return replace(self, rows=narrow(rows))

    def _entries(self, tuples: Integers) -> tuple[Integers, Integers]:
        """The slots (indexes into `tuples`) of all entries of these tuples, and the entries."""
        starts = self.starts[tuples].astype(np.int64)
        counts = self.starts[tuples + 1] - starts
        return np.repeat(np.arange(len(tuples)), counts), ranges(starts, counts)

    def of_tuples(self, tuples: Integers) -> Distribution:
        """The distribution of a class of these tuples, exactly."""
        _, entries = self._entries(tuples)
        return self.scale.exact(self.places[entries], self.totals[entries], self.rows[entries])

    def _summed(self, keys: Integers, entries: Integers, count: int) -> Integers:
        units = self.scale.units(self.rows[entries], self.totals[entries])
        return self.scale.summed(keys, self.places[entries], units, count)

    def of_nodes(self, batch: Batch) -> Iterator[tuple[slice, Integers]]:
        """The weights of partitions in units, some partitions at a time.

        Yields:
            The partitions, and by partition and value the weight.
        """
        for first, last in self._blocks(batch.size):
            yield slice(first, last), self._of_nodes(batch, first, last)

    def _of_nodes(self, batch: Batch, first: int, last: int) -> Integers:
        within = slice(batch.starts[first], batch.starts[last])
        slots, entries = self._entries(batch.tuples[within])
        return self._summed(batch.node[within][slots] - first, entries, last - first)

    def of_sides(self, batch: Batch, line: Line) -> Iterator[tuple[slice, Integers, Integers]]:
        """The weights on both sides of the cuts along a line in units, some groups at a time.

        Yields:
            The groups, and by group and value the weight up to it, and after it.
        """
        slots, entries = self._entries(batch.tuples)
        order, _ = order_by(line.group[slots])
        group, entries = line.group[slots][order], entries[order]
        before = np.zeros(self.scale.size, np.int64)
        for first, last in self._blocks(len(line.node)):
            here = slice(*np.searchsorted(group, [first, last]))
            running = np.cumsum(self._summed(group[here] - first, entries[here], last - first), axis=0)
            # From the start of each partition on: less what is before it here, or more what is before the
            # block.
            node = line.node[first:last]
            starts = line.first[node]
            upto = running.copy()
            later = np.flatnonzero(starts > first)
            upto[later] -= running[starts[later] - first - 1]
            upto[starts < first] += before
            after = self._of_nodes(batch, int(node[0]), int(node[-1]) + 1)[node - node[0]] - upto
            before = upto[-1]
            yield slice(first, last), upto, after

    def _blocks(self, count: int) -> Iterator[tuple[int, int]]:
        step = max(_CELLS // self.scale.size, 1)
        return ((first, min(first + step, count)) for first in range(0, count, step))


def _exact(places: Numbers, totals: Numbers, rows: Numbers, count: int) -> tuple[int, ...]:
    """By place the weight, as whole numbers in the largest common unit."""
    by_total: dict[int, Integers] = {}
    for total in np.unique(totals).tolist():
        here = totals == total
        sums = np.zeros(count, np.int64)
        np.add.at(sums, places[here], rows[here])
        by_total[total] = sums
    unit = math.lcm(*by_total)
    weights = [0] * count
    for total, sums in by_total.items():
        for place in np.flatnonzero(sums).tolist():
            weights[place] += int(sums[place]) * (unit // total)
    return tuple(weights)
