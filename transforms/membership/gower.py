"""Gower's distance of records with numbers and categories, and the nearest of many records that pass once.

Gower, "A General Coefficient of Similarity and Some of Its Properties", Biometrics 27, 1971: the mean over
columns of how far two values are apart, as a share of a range where a column is ordered, and 0 or 1
elsewhere. Ranges are public, or those of records that the attacker has: never those of the records that are
attacked. A missing value is a value of its own here, 1 from all others; Gower leaves such columns out.

Distances are whole numbers, of units that are a share of the range: so equal ones are equal on every
machine, whatever the order of sums, and 32 bits are enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.problem import Flags, Integers

_BITS: Final = 30
"""Of the greatest sum of distances."""
_CELLS: Final = 1 << 16
"""Distances that are held at once: as many as fit into a cache, however many records there are."""
_MISSING: Final = -1

Units = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class MixedColumns:
    """What distances are measured by; public."""

    lowest: Doubles
    """float[columns]: the lower end of the range, of columns that are ordered."""
    ranges: Doubles
    """float[columns]: its length, at least 0; values outside of a range count as its ends."""
    ordered: Flags
    """bool[columns]: whether they are numbers; at least one column, at most 2^15."""

    @property
    def unit(self) -> int:
        """How many units of a distance the whole range of one column is."""
        return 1 << (_BITS - len(self.ordered).bit_length())

    def encoded(self, records: NDArray[np.generic]) -> Units:
        """Records in units, column by column.

        Args:
            records: shape (records, columns): numbers, which are finite or NaN where one is missing, or
                numbers of categories from 0, at most 2^24.

        Returns:
            Shape (columns, records).
        """
        units = np.empty((len(self.ordered), len(records)), np.int32)
        for place, is_ordered in enumerate(self.ordered.tolist()):
            values = records[:, place]
            if not is_ordered:
                units[place] = values
                continue
            shares = (values - self.lowest[place]) / (self.ranges[place] or 1.0)
            scaled = np.rint(np.clip(shares, 0, 1 if self.ranges[place] else 0) * self.unit)
            units[place] = np.where(np.isnan(scaled), _MISSING, scaled)
        return units

    def nearest(self, records: NDArray[np.generic], synthetic: NDArray[np.generic]) -> Doubles:
        """The distance of each record to the nearest of some others.

        Args:
            records: as of `encoded`.
            synthetic: likewise, at least one.

        Returns:
            float[records], from 0 to 1.
        """
        if not len(synthetic):
            raise ValueError("there is no synthetic record")
        search = Nearest(self, records, np.ones((1, len(self.ordered)), np.bool_))
        search.add(np.unique(synthetic, axis=0))
        distances: Doubles = search.distances[0]
        return distances

    def distances(self, records: NDArray[np.generic], others: NDArray[np.generic]) -> Doubles:
        """All distances of some records to others.

        Args:
            records: as of `encoded`.
            others: likewise.

        Returns:
            Shape (records, others), from 0 to 1.
        """
        own, other = self.encoded(records), self.encoded(others)
        distances = np.empty((len(records), len(others)))
        at_once = max(1, _CELLS // max(1, len(others)))
        for start in range(0, len(records), at_once):
            part = slice(start, start + at_once)
            distances[part] = self.parts(own[:, part], other).sum(axis=0)
        distances /= self.unit * len(self.ordered)
        return distances

    def parts(self, records: Units, others: Units) -> Units:
        """By column, the distances of some records to others.

        Args:
            records: encoded, shape (columns, records).
            others: encoded, shape (columns, others).

        Returns:
            Shape (columns, records, others), from 0 to `unit`.
        """
        parts = np.empty((len(records), records.shape[1], others.shape[1]), np.int32)
        for place, is_ordered in enumerate(self.ordered.tolist()):
            own, other, part = records[place, :, None], others[place], parts[place]
            if is_ordered:
                np.abs(np.subtract(own, other, out=part), out=part)
                if min(own.min(initial=0), other.min(initial=0)) == _MISSING:
                    part[(own == _MISSING) != (other == _MISSING)] = self.unit
            else:
                np.multiply(own != other, np.int32(self.unit), out=part)
        return parts


class Nearest:
    """The nearest of many records to each of some, by several sets of columns; the many pass once.

    Of equally near ones the first that passed is taken, so whoever passes them shuffles them before.
    Memory does not grow with their number.
    """

    def __init__(self, columns: MixedColumns, records: NDArray[np.generic], views: Flags) -> None:
        """Nothing has passed.

        Args:
            columns: what distances are measured by.
            records: shape (records, columns), as of `MixedColumns.encoded`.
            views: bool[views, columns]: which columns count; at least one in each view.
        """
        self._columns, self._records, self._views = columns, columns.encoded(records), views
        shape = len(views), len(records)
        self._units = np.full(shape, np.iinfo(np.int32).max, np.int32)
        self.places: Integers = np.full(shape, -1, np.int64)
        """By view and record: the nearest, counted from the first that passed; -1 before any has."""
        self.values: Doubles = np.zeros((*shape, len(columns.ordered)))
        """By view and record: its values."""
        self._passed = 0

    @property
    def distances(self) -> Doubles:
        """By view and record: Gower's distance to the nearest, from 0 to 1, by the columns of the view."""
        widths = self._views.sum(axis=1)[:, None] * self._columns.unit
        distances: Doubles = self._units / widths
        return distances

    def add(self, others: NDArray[np.generic]) -> None:
        """Let some pass.

        Args:
            others: shape (others, columns).
        """
        for start in range(0, len(others), _CELLS):
            self._block(others[start : start + _CELLS])

    def _block(self, others: NDArray[np.generic]) -> None:
        encoded, count = self._columns.encoded(others), self._records.shape[1]
        at_once = max(1, _CELLS // max(1, len(others)))
        for start in range(0, count, at_once):
            part = slice(start, min(start + at_once, count))
            self._compare(part, encoded, others)
        self._passed += len(others)

    def _compare(self, part: slice, encoded: Units, others: NDArray[np.generic]) -> None:
        parts = self._columns.parts(self._records[:, part], encoded)
        total = _summed(parts, range(len(parts)))
        for view, is_in in enumerate(self._views):
            inside, outside = np.flatnonzero(is_in).tolist(), np.flatnonzero(~is_in).tolist()
            if len(inside) <= len(outside):
                units = _summed(parts, inside)
            else:  # whole numbers: the rest is exact
                units = total - _summed(parts, outside) if outside else total
            places = units.argmin(axis=1)
            least = units[np.arange(len(units)), places]
            nearer = np.flatnonzero(least < self._units[view, part])
            rows = nearer + part.start
            self._units[view, rows] = least[nearer]
            self.places[view, rows] = self._passed + places[nearer]
            self.values[view, rows] = others[places[nearer]]


def _summed(parts: Units, places: Sequence[int]) -> Units:
    """The sum of the parts of some columns, at least one."""
    total: Units = parts[places[0]].copy()
    for place in places[1:]:
        total += parts[place]
    return total
