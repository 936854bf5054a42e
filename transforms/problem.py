"""The input of the kernel: a frequency table, its attributes, and the requirements of each class."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.transforms.base import (
    FINEST,
    WHOLE,
    CutScore,
    Figure,
    GroupingTerms,
    LatticeTerms,
    Requirement,
)

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

SCALE = 1 << 20
"""A penalty of this much is the whole domain of an attribute."""
MISSING = 0
"""The code of a missing value, in every attribute."""


@dataclass(frozen=True, slots=True)
class OrderedAttribute:
    """Values lie on a line; a partition is charged for the distance between its extremes."""

    positions: Integers
    """By code: the value's place in the domain, from 0 to SCALE, and no less than that of any smaller
    code; a missing value lies at -SCALE, so that a partition which mixes it with others is charged
    the whole domain."""


@dataclass(frozen=True, slots=True)
class UnorderedAttribute:
    """Values have no order; a partition is charged for how many of them it holds (Xu et al., KDD 2006)."""

    size: int
    """Distinct values in the whole table, missing among them."""

    def penalty(self, counts: Integers) -> Integers:
        """What holding so many distinct values costs, from 0 to SCALE; one value costs nothing."""
        return (counts * SCALE // self.size) * (counts > 1)


@dataclass(frozen=True, slots=True)
class PrefixedAttribute(OrderedAttribute):
    """Texts that are published as the prefix that a class shares.

    Texts with a common prefix stand side by side in bytewise order, so cuts are those of a line on which
    the values have equal distances; the loss of a label counts all values that begin with it.
    """

    texts: pa.Array
    """By code, from 1: distinct, in bytewise order."""

    @classmethod
    def of(cls, texts: pa.Array) -> "PrefixedAttribute":
        """The attribute of some texts.

        Args:
            texts: distinct, in bytewise order.
        """
        places = np.arange(len(texts), dtype=np.int64) * SCALE // max(len(texts) - 1, 1)
        return cls(np.concatenate((np.array([-SCALE], np.int64), places)), texts)


@dataclass(frozen=True, slots=True)
class FigureAttribute(OrderedAttribute):
    """Numbers or days of which each class is published as a figure; cuts and losses are those of ranges."""

    figure: Figure
    numbers: Integers | NDArray[np.object_]
    """By code, from 1: the value in whole units."""
    places: int
    """A unit is 10 ** -places; of days, 0."""
    decimals: int
    """To which a figure is rounded; of days, 0."""
    are_days: bool
    """Whether units are days since 1970-01-01."""


@dataclass(frozen=True, slots=True)
class RegionAttribute(OrderedAttribute):
    """Numbers of which each class is published as the region between cuts; cuts are those of ranges."""

    numbers: Integers | NDArray[np.object_]
    """By code, from 1: the value in units of 10 ** -decimals."""
    low: int
    """The public bound below all values, in the same units."""
    high: int
    decimals: int


@dataclass(frozen=True)
class HierarchicalAttribute:
    """Values are leaves of a tree, and codes stand in its order: those of a node side by side.

    A partition is cut between children of the lowest node that holds its values, in their order, and is
    charged for the share of the values from its first such child to its last.
    """

    nodes: Integers
    """Shape (levels, codes): the number of the node of each code; ascending by code. The first level has
    each code by itself, the last one root, and each divides none of the level below. A missing value is a
    node of its own below the root."""
    size: int
    """As of unordered values: those that are charged for together are the whole domain."""

    @cached_property
    def _starts(self) -> Integers:
        """By level and code: the first code of its node."""
        first = np.zeros_like(self.nodes)
        for level, numbers in enumerate(self.nodes):
            first[level] = np.searchsorted(numbers, numbers, "left")
        return first

    @cached_property
    def _ends(self) -> Integers:
        """By level and code: one past the last code of its node."""
        ends = np.zeros_like(self.nodes)
        for level, numbers in enumerate(self.nodes):
            ends[level] = np.searchsorted(numbers, numbers, "right")
        return ends

    def below(self, low: Integers, high: Integers) -> Integers:
        """The level below the lowest node that holds all codes from `low` to `high`; 0 for one code."""
        apart = np.count_nonzero(self.nodes[:, low] != self.nodes[:, high], axis=0)
        below: Integers = np.maximum(apart - 1, 0)
        return below

    def first(self, level: Integers, code: Integers) -> Integers:
        """The first code of the node of a code at a level."""
        codes: Integers = self._starts[level, code]
        return codes

    def last(self, level: Integers, code: Integers) -> Integers:
        """The last code of the node of a code at a level."""
        codes: Integers = self._ends[level, code] - 1
        return codes

    def widths(self, level: Integers, low: Integers, high: Integers) -> Integers:
        """The codes from the first of the node of `low` at a level to the last of that of `high`."""
        widths: Integers = self._ends[level, high] - self._starts[level, low]
        return widths

    def node_sizes(self, level: Integers, node: Integers) -> Integers:
        """How many codes nodes have, each at its level."""
        most = int(self.nodes.max()) + 1
        sizes = np.stack([np.bincount(numbers, minlength=most) for numbers in self.nodes])
        counts: Integers = sizes[level, node]
        return counts

    def penalty(self, low: Integers, high: Integers) -> Integers:
        """What holding codes from `low` to `high` costs, from 0 to SCALE; one value costs nothing."""
        widths = self.widths(self.below(low, high), low, high)
        charged: Integers = (widths * SCALE // self.size) * (low != high)
        return charged


@dataclass(frozen=True, slots=True)
class NominalAttribute(UnorderedAttribute):
    """Values of which each class is published as its mode; any two are as far apart as any others."""

    order: Integers
    """By code, from 1: of values with the same weight the least one stands for the class."""


@dataclass(frozen=True)
class CategoricalAttribute(HierarchicalAttribute):
    """Values of a hierarchy of which each class is published as one.

    They are as far apart as the lowest node that has both is high; or as their places, if they have some.
    """

    figure: Figure
    """The mode or the medoid."""
    order: Integers
    """As of nominal attributes: of values that are as good as each other."""
    places: Integers | None
    """By code, from 1: the value's place in the list that declares their order."""


Attribute = OrderedAttribute | UnorderedAttribute | HierarchicalAttribute


@dataclass(frozen=True, slots=True)
class Incidence:
    """Which tuples hold which respondents, each pair once; respondents are numbered from 0."""

    tuples: Integers
    items: Integers


@dataclass(frozen=True, slots=True)
class SensitiveIncidence:
    """Which values of one sensitive column occur with which tuples; values are numbered from 0."""

    tuples: Integers
    values: Integers
    respondents: Integers | None
    """The respondent of each (tuple, value) pair; None where each row is another respondent."""
    rows: Integers | None = None
    """How many rows say so; None where no requirement weighs values."""
    totals: Integers | None = None
    """All rows of the respondent in the whole table; None where each has one, or nothing is weighed."""


@dataclass(frozen=True, slots=True)
class RowWeights:
    """How much rows weigh in a figure: a respondent weighs 1, spread evenly over all its rows in the table.

    Over those in the table, not over those in a class: only then do classes with equal figures have that
    figure together, too, as readers of the output see them.
    """

    tuples: Integers
    rows: Integers
    """How many rows of the tuple."""
    totals: Integers
    """How many rows the respondent of these rows has in the table."""

    @classmethod
    def one_each(cls, rows: Integers) -> "RowWeights":
        """Each row is about another person.

        Args:
            rows: by tuple.
        """
        return cls(np.arange(len(rows)), rows, np.ones_like(rows))

    @classmethod
    def by_respondent(cls, tuples: Integers, respondents: Integers, rows: Integers) -> "RowWeights":
        """Rows of respondents.

        Args:
            tuples: of each group of rows.
            respondents: numbered from 0; the groups of each are all its rows.
            rows: how many they are.
        """
        of_person = np.zeros(int(respondents.max(initial=-1)) + 1, np.int64)
        np.add.at(of_person, respondents, rows)
        return cls(tuples, rows, of_person[respondents])

    def of_merged(self, tuple_of: Integers) -> "RowWeights":
        """The same of tuples that stand for several; `tuple_of` says by tuple which does for it."""
        return RowWeights(tuple_of[self.tuples], self.rows, self.totals)


@dataclass(frozen=True, slots=True)
class Reference:
    """How often each value of one sensitive column occurs in the whole table, before any suppression."""

    values: Integers
    totals: Integers
    """How many rows the respondents of these rows have in the table."""
    rows: Integers
    """By different (value, total), ascending."""
    tree: Integers | None = None
    """Shape (levels, values): the number of each value's node, as `HierarchicalAttribute.nodes` has it;
    None where no distance goes along a hierarchy."""

    @classmethod
    def of(
        cls, values: Integers, totals: Integers | None, rows: Integers, tree: Integers | None = None
    ) -> "Reference":
        """Add up rows that may be of the same value and total.

        Args:
            values: of each group of rows.
            totals: of its respondents; None where each has one row.
            rows: how many they are.
            tree: the nodes of the values.
        """
        if totals is None:
            totals = np.ones_like(values)
        order = np.lexsort((totals, values))
        values, totals = values[order], totals[order]
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = (np.diff(values) != 0) | (np.diff(totals) != 0)
        starts = np.flatnonzero(is_new)
        return cls(values[starts], totals[starts], np.add.reduceat(rows[order], starts), tree)


@dataclass(frozen=True, slots=True)
class Problem:
    """A frequency table, and what each class of it must meet."""

    codes: Integers
    """Shape (tuples, attributes); each row once. Codes are from 0 and less than 2^31."""
    weights: Integers
    """Rows of each tuple."""
    attributes: tuple[Attribute, ...]
    """In the order that breaks ties."""
    respondents: Incidence | None
    """None: each row is another respondent."""
    sensitive: tuple[SensitiveIncidence, ...]
    requirements: tuple[Requirement, ...]
    """What each class must meet."""
    cut_threshold: int
    cut_score: CutScore = CutScore.CERTAINTY_PENALTY
    first_attribute: int | None = None
    """If the whole table has more tuples than the threshold, its cut is tried on this attribute first."""
    references: tuple[Reference, ...] = ()
    """Of each sensitive column, where a requirement weighs values: of the whole table, also in a part."""
    lattice_terms: LatticeTerms = FINEST
    grouping_terms: GroupingTerms = WHOLE
