"""How much each value of a sensitive column weighs in partitions, and on both sides of their cuts.

A respondent weighs 1, spread evenly over all its rows in the whole table. So a row weighs one divided by that
number, and a partition's weights are sums of such fractions: rounded to whole units for many partitions at once,
so that sums and differences are exact, and in a common unit without any error for one partition.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.partitions.layout import Batch, Line, Numbers, narrow, ranges
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


@dataclass(frozen=True)
class ColumnWeights:
    """What each tuple holds of the values of one sensitive column, and what the table holds of them."""

    starts: Numbers
    """By tuple, and once more at the end: its first entry."""
    places: Numbers
    """By entry: the place of its value among all that occur in the table, in ascending order."""
    rows: Numbers
    totals: Numbers
    reference: Reference

    @classmethod
    def of(cls, column: SensitiveIncidence, reference: Reference, count: int) -> "ColumnWeights":
        """Those of a column whose rows are counted.

        Args:
            column: which tuples hold which values.
            reference: what the table holds of them.
            count: how many tuples there are.
        """
        if column.rows is None:
            raise ValueError("rows are counted where values are weighed")
        order = np.argsort(column.tuples, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(column.tuples, minlength=count))))
        totals = np.ones(len(order), np.int64) if column.totals is None else column.totals[order]
        places = np.searchsorted(np.unique(reference.values), column.values[order])
        return cls(narrow(starts), narrow(places), narrow(column.rows[order]), narrow(totals), reference)

    def subset(self, tuples: Integers) -> "ColumnWeights":
        """Those of some tuples, close together in memory."""
        slots, entries = self.entries(tuples)
        starts = np.concatenate(([0], np.cumsum(np.bincount(slots, minlength=len(tuples)))))
        return ColumnWeights(
            narrow(starts), self.places[entries], self.rows[entries], self.totals[entries], self.reference
        )

    def entries(self, tuples: Integers) -> tuple[Integers, Integers]:
        """The slots (indexes into `tuples`) of all entries of these tuples, and the entries."""
        starts = self.starts[tuples].astype(np.int64)
        counts = self.starts[tuples + 1] - starts
        return np.repeat(np.arange(len(tuples)), counts), ranges(starts, counts)

    @cached_property
    def values(self) -> int:
        """How many values occur in the table."""
        return len(np.unique(self.reference.values))

    @cached_property
    def shares_of_table(self) -> Floats:
        """By value its share in the table."""
        reference = self.reference
        places = np.searchsorted(np.unique(reference.values), reference.values)
        weights = np.bincount(places, reference.rows / reference.totals, self.values)
        shares: Floats = weights / weights.sum()
        return shares

    def of_tuples(self, tuples: Integers) -> Distribution:
        """The distribution of a class of these tuples, exactly."""
        _, entries = self.entries(tuples)
        mine = _exact(self.places[entries], self.totals[entries], self.rows[entries], self.values)
        reference = self.reference
        places = np.searchsorted(np.unique(reference.values), reference.values)
        return Distribution(mine, _exact(places, reference.totals, reference.rows, self.values))

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

    def _units(self, entries: Integers) -> Integers:
        rows, totals = self.rows[entries].astype(np.int64), self.totals[entries].astype(np.int64)
        units: Integers = ((rows << self._shift) + totals // 2) // totals
        return units

    def _summed(self, keys: Integers, entries: Integers, count: int) -> Integers:
        """By key and value the weight in units."""
        sums = np.zeros(count * self.values, np.int64)
        np.add.at(sums, keys * self.values + self.places[entries], self._units(entries))
        return sums.reshape(count, self.values)

    def of_nodes(self, batch: Batch) -> Iterator[tuple[slice, Integers]]:
        """The weights of partitions in units, some partitions at a time.

        Yields:
            The partitions, and by partition and value the weight.
        """
        for first, last in self._blocks(batch.size):
            yield slice(first, last), self._of_nodes(batch, first, last)

    def _of_nodes(self, batch: Batch, first: int, last: int) -> Integers:
        within = slice(batch.starts[first], batch.starts[last])
        slots, entries = self.entries(batch.tuples[within])
        return self._summed(batch.node[within][slots] - first, entries, last - first)

    def of_sides(self, batch: Batch, line: Line) -> Iterator[tuple[slice, Integers, Integers]]:
        """The weights on both sides of the cuts along a line in units, some groups at a time.

        Yields:
            The groups, and by group and value the weight up to it, and after it.
        """
        slots, entries = self.entries(batch.tuples)
        group = line.group[slots]
        order = np.argsort(group, kind="stable")
        group, entries = group[order], entries[order]
        before = np.zeros(self.values, np.int64)
        for first, last in self._blocks(len(line.node)):
            here = slice(*np.searchsorted(group, [first, last]))
            running = np.cumsum(self._summed(group[here] - first, entries[here], last - first), axis=0)
            # From the start of each partition: what was before it here, or before this block.
            node = line.node[first:last]
            starts = line.first[node]
            begun = np.where(starts > first, starts - first - 1, 0)
            upto = running - np.where((starts > first)[:, None], running[begun], 0)
            upto += np.where((starts < first)[:, None], before, 0)
            after = self._of_nodes(batch, int(node[0]), int(node[-1]) + 1)[node - node[0]] - upto
            before = upto[-1]
            yield slice(first, last), upto, after

    def _blocks(self, count: int) -> Iterator[tuple[int, int]]:
        step = max(_CELLS // self.values, 1)
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
