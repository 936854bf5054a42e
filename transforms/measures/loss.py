"""The loss of a generalisation by measures of the literature; all are exact.

A *part* of a column is what has one label in it: a class, or several; see `Generalised.parts`. The
certainty penalty is in `smalti.transforms.values.metrics`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smalti.transforms.measures.covered import CoveredCodes, covered_codes
from smalti.transforms.measures.logarithms import logarithms
from smalti.transforms.measures.squared_error import error_within
from smalti.transforms.problem import (
    MISSING,
    Attribute,
    CategoricalAttribute,
    FigureAttribute,
    Flags,
    HierarchicalAttribute,
    Integers,
    NominalAttribute,
    RegionAttribute,
)
from smalti.transforms.values.by_class import distinct_codes


def discernibility(sizes: Sequence[int], left_out: int) -> int:
    """A row is charged the rows of its class, or those of the table if it is left out.

    Bayardo, Agrawal, "Data Privacy through Optimal k-Anonymization", ICDE 2005, section 2.2 (DM).

    Args:
        sizes: rows of each class that is published.
        left_out: rows that are not.
    """
    return sum(size * size for size in sizes) + left_out * (sum(sizes) + left_out)


def average_class(published: int, classes: int) -> Fraction:
    """Rows for each class (LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 5, not divided by k).

    Args:
        published: rows.
        classes: at least one.
    """
    return Fraction(published, classes)


def open_bits(covered: Integers, parts: Integers, of_value: Integers) -> int:
    """The non-uniform entropy of one column, in units of 2^-40 (Gionis, Tassa, TKDE 2009, Definition 4.3).

    A row is charged the binary logarithm of rows that its label may stand for over rows of its value.

    Args:
        covered: by part, the rows of the table whose value the label may stand for.
        parts: by part, its rows.
        of_value: by value, its rows in the table.
    """
    labels: list[tuple[int, int]] = list(zip(parts.tolist(), covered.tolist(), strict=True))
    values: list[int] = of_value.tolist()
    bits = logarithms({*(c for _, c in labels), *values})
    return sum(n * bits[c] for n, c in labels) - sum(n * bits[n] for n in values)


@dataclass(frozen=True, slots=True)
class LabelledColumn:
    """One generalised column: what stands in the table, and what has one label."""

    attribute: Attribute
    codes: Integers
    """By tuple."""
    rows: Integers
    """By tuple, at least one of them above 0."""
    parts: Integers
    """By tuple: its part, from 0 without gaps; of tuples that are left out, any."""
    kept: Flags
    """By tuple: whether it is published."""
    level: int | None = None
    """That of the hierarchy's nodes that labels say; None: they say what each part holds."""
    last_is_root: bool = False
    """Whether the last part has the label of the root in place of its level's."""

    @property
    def size(self) -> int:
        """One past the largest code that a label may stand for."""
        largest = int(self.codes.max()) + 1
        if isinstance(self.attribute, HierarchicalAttribute):
            return max(largest, int(self.attribute.nodes.shape[1]))
        return largest

    @property
    def _of_value(self) -> Integers:
        counts = np.zeros(self.size, np.int64)
        np.add.at(counts, self.codes, self.rows)
        return counts

    @property
    def _of_part(self) -> Integers:
        counts = np.zeros(int(self.parts.max()) + 1, np.int64)
        np.add.at(counts, self.parts[self.kept], self.rows[self.kept])
        return counts

    @property
    def entropy_loss(self) -> Fraction:
        """The share of the column's entropy in the table that labels leave open, from 0 to 1.

        Non-uniform entropy, divided by what it is where every row has the label of the whole column; rows
        that are left out are charged as if they had. 0 where all values are equal.
        """
        of_value, of_part = self._of_value, self._of_part
        total, left_out = int(of_value.sum()), int(self.rows[~self.kept].sum())
        covered = np.append(self.covered.sums(of_value), total)
        lost = open_bits(covered, np.append(of_part, left_out), of_value)
        whole = open_bits(np.array([total]), np.array([total]), of_value)
        return Fraction(lost, whole) if whole else Fraction(0)

    @property
    def squared_error(self) -> Fraction | None:
        """The share that lies within parts, of a column that is published as figures; None of others."""
        if not isinstance(self.attribute, FigureAttribute):
            return None
        return error_within(self.attribute, self.codes, self.rows, self.parts, self.kept)

    @property
    def exact_rows(self) -> int:
        """Published rows whose label says one value; a missing one, a figure or a region is none."""
        figures = FigureAttribute | NominalAttribute | CategoricalAttribute
        if self.level or isinstance(self.attribute, figures | RegionAttribute):
            return 0
        owners, codes = distinct_codes(self.codes[self.kept], self.parts[self.kept])
        count = len(self._of_part)
        single = np.bincount(owners, minlength=count) == 1
        single[owners[codes == MISSING]] = False
        if self.last_is_root:
            single[-1] = False
        return int(self._of_part[single].sum())

    @property
    def covered(self) -> CoveredCodes:
        """What its labels may stand for; that of a part of which nothing is published covers nothing."""
        codes, parts = self.codes[self.kept], self.parts[self.kept]
        count = int(self.parts.max()) + 1
        present, dense = np.unique(parts, return_inverse=True)
        ranges = covered_codes(self.attribute, codes, dense.reshape(-1), self.level)
        owners, first, last = present[ranges.owners], ranges.first, ranges.last
        if self.last_is_root:
            others = owners != count - 1
            owners = np.append(owners[others], count - 1)
            first = np.append(first[others], 0)
            last = np.append(last[others], self.size)
        return CoveredCodes(count, owners, first, last)
