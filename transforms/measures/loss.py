"""The loss of a generalisation by measures of the literature; all are exact.

A *part* of a column is what has one label in it: a class, or several; see `Generalised.parts`. The
certainty penalty is in `smalti.transforms.values.metrics`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from smalti.transforms.measures.logarithms import logarithms
from smalti.transforms.problem import (
    MISSING,
    Attribute,
    FigureAttribute,
    Flags,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    PrefixedAttribute,
    RegionAttribute,
)
from smalti.transforms.values.by_class import class_ends, distinct_codes, extremes
from smalti.transforms.values.prefixes import common_prefixes, places_below


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
    def _of_value(self) -> Integers:
        counts = np.zeros(int(self.codes.max()) + 1, np.int64)
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
        covered = np.append(self._covered(of_value), total)
        lost = open_bits(covered, np.append(of_part, left_out), of_value)
        whole = open_bits(np.array([total]), np.array([total]), of_value)
        return Fraction(lost, whole) if whole else Fraction(0)

    @property
    def exact_rows(self) -> int:
        """Published rows whose label says one value; a missing one, a figure or a region is none."""
        if self.level or isinstance(self.attribute, FigureAttribute | RegionAttribute):
            return 0
        owners, codes = distinct_codes(self.codes[self.kept], self.parts[self.kept])
        count = len(self._of_part)
        single = np.bincount(owners, minlength=count) == 1
        single[owners[codes == MISSING]] = False
        if self.last_is_root:
            single[-1] = False
        return int(self._of_part[single].sum())

    def _covered(self, of_value: Integers) -> Integers:
        """By part, the rows of the table whose value its label may stand for."""
        codes, parts = self.codes[self.kept], self.parts[self.kept]
        count = int(self.parts.max()) + 1
        if len(np.unique(parts)) < count:  # what is left out may have parts of its own
            present, parts = np.unique(parts, return_inverse=True)
            covered = np.zeros(count, np.int64)
            covered[present] = _covered(self.attribute, codes, parts.reshape(-1), of_value, self.level)
        else:
            covered = _covered(self.attribute, codes, parts, of_value, self.level)
        if self.last_is_root:
            covered[-1] = of_value.sum()
        return covered


def _covered(
    attribute: Attribute, codes: Integers, parts: Integers, of_value: Integers, level: int | None
) -> Integers:
    count = int(parts.max()) + 1
    covered = np.zeros(count, np.int64)
    if isinstance(attribute, OrderedAttribute):
        below = np.concatenate(([0], np.cumsum(of_value)))
        first, last = _between(attribute, codes, parts)
        covered += below[last] - below[first]
        missing = extremes(codes, parts, count)[0] == MISSING
        covered += missing * of_value[MISSING]
        return covered
    if isinstance(attribute, HierarchicalAttribute):
        low, high = extremes(codes, parts, count)
        levels = np.full(count, level, np.int64) if level else attribute.below(low, high)
        owners, nodes = distinct_codes(attribute.nodes[levels[parts], codes], parts)
        np.add.at(covered, owners, _rows_of_nodes(attribute, of_value)[levels[owners], nodes])
        if level:
            return covered
        # Values of all children of the root are labelled as the root, which stands for missing ones, too.
        is_below_root = (levels == len(attribute.nodes) - 2) & (low != high)
        lacking = of_value.sum() - covered - (low != MISSING) * of_value[MISSING]
        covered[is_below_root & (lacking == 0)] = of_value.sum()
        return covered
    owners, held = distinct_codes(codes, parts)
    np.add.at(covered, owners, of_value[held])
    return covered


def _between(attribute: OrderedAttribute, codes: Integers, parts: Integers) -> tuple[Integers, Integers]:
    """By part, the present codes from the first that its label covers to one past the last."""
    if isinstance(attribute, PrefixedAttribute):
        ends = class_ends(codes, parts, attribute.texts)
        first, last = places_below(attribute.texts, common_prefixes(ends.low_texts, ends.high_texts))
        single = ends.low == ends.high
        return np.where(single, ends.low, first + 1), np.where(single, ends.low + 1, last + 1)
    ends = class_ends(codes, parts, pa.nulls(int(codes.max()), pa.string()))
    nothing = ends.high == MISSING
    return np.where(nothing, 1, ends.low), np.where(nothing, 1, ends.high + 1)


def _rows_of_nodes(attribute: HierarchicalAttribute, of_value: Integers) -> Integers:
    """Shape (levels, nodes): the rows of the values below each node."""
    most = int(attribute.nodes.max()) + 1
    padded = np.zeros(attribute.nodes.shape[1], np.int64)
    padded[: len(of_value)] = of_value
    rows = np.zeros((len(attribute.nodes), most), np.int64)
    for level, numbers in enumerate(attribute.nodes):
        np.add.at(rows[level], numbers, padded)
    return rows
