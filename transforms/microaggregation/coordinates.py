"""Values of columns as whole numbers on one grid, so that every machine finds the same distances.

# INVARIANT: everything that decides a distance is an integer. Sums of floats differ between machines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.errors import InternalError
from smalti.transforms.base import Standardization
from smalti.transforms.microaggregation.places import Places, Tree
from smalti.transforms.problem import (
    MISSING,
    Attribute,
    CategoricalAttribute,
    FigureAttribute,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    UnorderedAttribute,
)

GRID_BITS: Final = 20
"""The widest column has at most 2 ** 20 steps."""
_SPARE_BITS: Final = 41
_MOST_BITS: Final = 40
"""Of an extent, so that its product with a factor of `_SPARE_BITS` more than the grid fits 64 bits."""
_ROOT_BITS: Final = 64
"""Of a standard deviation, behind the point, twice."""
_HALF_BITS: Final = 31
"""Sums of less, of as many rows, fit 63 bits."""

Numbers = Integers | NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class _Line:
    """One column, from its least value on."""

    numbers: Numbers
    """By code, from 1: how far the value is above the least one that occurs, in units of the column."""
    extent: int
    """Of the greatest one that occurs; at least 1."""
    has_missing: bool
    unit: Fraction
    """What all columns are measured in, in units of the column; they are divided by it."""

    @property
    def width(self) -> Fraction:
        """In units of all columns. A missing value lies as far below the least as the greatest above it."""
        return Fraction(self.extent * (1 + self.has_missing)) / self.unit

    def on_grid(self, codes: Integers, steps: Fraction) -> Integers:
        """Each value in whole steps above the least one, where one unit of all columns has `steps`."""
        bits = _SPARE_BITS + max(0, self.extent.bit_length() - _MOST_BITS)
        factor = int(steps / self.unit * (1 << bits))
        half = 1 << (bits - 1)
        wide = self.extent.bit_length() > _MOST_BITS
        numbers = self.numbers.astype(object) if wide else self.numbers.astype(np.int64)
        places = np.zeros(len(numbers) + 1, np.int64)
        places[1:] = (numbers * factor + half) >> bits
        places[MISSING] = -((self.extent * factor + half) >> bits)
        return places[codes]


@dataclass(frozen=True, slots=True)
class _Branches:
    """One column of categories: 1 is the distance of two values of which only the root has both."""

    nodes: Integers
    """Shape (levels, tuples): without the root."""
    unit: Fraction
    """As of lines."""

    @property
    def width(self) -> Fraction:
        """In units of all columns; a missing value is as far from all others as any."""
        return 1 / self.unit

    def on_grid(self, steps: Fraction) -> Tree:
        """The same in whole squared steps: their sums are the squares of distances."""
        height = len(self.nodes)
        squared = (steps / self.unit / height) ** 2
        # The first i + 1 odd numbers add up to the square of i + 1.
        return Tree(self.nodes, tuple(int(squared * (2 * level + 1)) for level in range(height)))


def is_on_a_line(attribute: Attribute) -> bool:
    """Whether values are as far apart as numbers: their own, or their places in a list."""
    if isinstance(attribute, CategoricalAttribute):
        return attribute.places is not None
    return isinstance(attribute, FigureAttribute | OrderedAttribute)


def coordinates(
    attributes: Sequence[Attribute], codes: Integers, rows: Integers, standardization: Standardization
) -> Places:
    """The place of each tuple, in whole steps of one grid for all columns.

    Numbers are divided by what the standardisation says, then by one step, and rounded. The widest column
    has 2 ** 20 steps, or fewer where rows times columns exceed some millions; without standardisation a
    step is a unit of the columns, or a power of two is, wherever that gives no more. A standard deviation
    is by rows. A missing value lies as far below the least value as the greatest lies above it.

    Categories are at most 1 apart, and are divided by their standard deviation alone: its square is half
    of the mean squared distance of two rows, which for numbers is the same. A missing one is 1 from others.

    Args:
        attributes: of the columns.
        codes: shape (tuples, attributes).
        rows: of each tuple.
        standardization: of all columns.

    Returns:
        Lines are around 0. All rows times the square of a distance is less than 2 ** 63.
    """
    finest = max((a.places for a in attributes if isinstance(a, FigureAttribute)), default=0)
    columns = [*zip(attributes, codes.T, strict=True)]
    lines = [
        (_line(attribute, column, rows, standardization, finest), column)
        for attribute, column in columns
        if is_on_a_line(attribute)
    ]
    branches = [
        _branches(attribute, column, rows, standardization, finest)
        for attribute, column in columns
        if not is_on_a_line(attribute)
    ]
    widest = max(*(line.width for line, _ in lines), *(each.width for each in branches), Fraction(0))
    steps = Fraction(1 << _grid_bits(int(rows.sum()), len(columns)))
    if standardization is not Standardization.NONE or widest > steps:
        steps /= widest
    else:
        # Squares of parts of a unit have to be whole steps, too.
        steps = Fraction(1 << (int(steps / widest).bit_length() - 1)) if branches else Fraction(1)
    places = np.zeros((len(lines), len(codes)), np.int64)
    for number, (line, column) in enumerate(lines):
        places[number] = line.on_grid(column, steps)
    middle = (places.min(axis=1) + places.max(axis=1)) // 2
    return Places(places - middle[:, np.newaxis], tuple(each.on_grid(steps) for each in branches))


def exact_numbers(attribute: Attribute, codes: Integers) -> list[int]:
    """The value of each tuple in whole units above the least one; missing ones are below 0."""
    numbers, low, high = _occurring(attribute, codes)
    by_code = [-max(high - low, 1), *((numbers - low).tolist())]
    return [by_code[code] for code in codes.tolist()]


def _occurring(attribute: Attribute, codes: Integers) -> tuple[Numbers, int, int]:
    """By code, from 1, the value; and the least and the greatest that occur."""
    numbers = _numbers(attribute)
    present = codes[codes != MISSING]
    if not len(present):
        return numbers, 0, 0
    held = numbers[present - 1]
    return numbers, int(held.min()), int(held.max())


def _numbers(attribute: Attribute) -> Numbers:
    if isinstance(attribute, FigureAttribute):
        return attribute.numbers
    if isinstance(attribute, CategoricalAttribute) and attribute.places is not None:
        return attribute.places
    if isinstance(attribute, OrderedAttribute):
        return attribute.positions[1:]
    raise InternalError("numbers were asked for of a column that has none")


def _line(
    attribute: Attribute, codes: Integers, rows: Integers, standardization: Standardization, finest: int
) -> _Line:
    numbers, low, high = _occurring(attribute, codes)
    numbers, extent = numbers - low, max(high - low, 1)
    match standardization:
        case Standardization.RANGE:
            unit = Fraction(extent)
        case Standardization.STANDARD_DEVIATION:
            unit = _deviation(numbers, codes, rows)
        case Standardization.NONE:
            places = attribute.places if isinstance(attribute, FigureAttribute) else 0
            unit = Fraction(1, 10 ** (finest - places))
    return _Line(numbers, extent, bool((codes == MISSING).any()), unit)


def _branches(
    attribute: Attribute, codes: Integers, rows: Integers, standardization: Standardization, finest: int
) -> _Branches:
    if isinstance(attribute, HierarchicalAttribute):
        nodes = np.stack([attribute.nodes[level][codes] for level in range(len(attribute.nodes) - 1)])
    elif isinstance(attribute, UnorderedAttribute):
        nodes = codes[np.newaxis]
    else:
        raise InternalError("categories were asked for of a column that has none")
    match standardization:
        case Standardization.RANGE:
            unit = Fraction(1)
        case Standardization.STANDARD_DEVIATION:
            present = codes != MISSING
            unit = _deviation_of_nodes(nodes[:, present], rows[present])
        case Standardization.NONE:
            unit = Fraction(1, 10**finest)
    return _Branches(nodes, unit)


def _deviation_of_nodes(nodes: Integers, rows: Integers) -> Fraction:
    """The root of half the mean squared distance of two rows; 1 where all are equal."""
    count, spread = int(rows.sum()), 0
    for level, numbers in enumerate(nodes):
        of_node = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
        np.add.at(of_node, numbers, rows)
        spread += (2 * level + 1) * (count**2 - sum(n * n for n in of_node[of_node > 0].tolist()))
    if spread <= 0:
        return Fraction(1)
    return Fraction(isqrt(spread << (_ROOT_BITS - 1)), len(nodes) * count << (_ROOT_BITS // 2))


def _deviation(numbers: Numbers, codes: Integers, rows: Integers) -> Fraction:
    """The standard deviation of the values that are present, by rows; 1 where all are equal."""
    if max(int(numbers.max(initial=0)), int(rows.sum())).bit_length() > _HALF_BITS:
        numbers = numbers.astype(object)
    by_code = np.zeros(len(numbers) + 1, np.int64)
    np.add.at(by_code, codes, rows)
    occurs = np.flatnonzero(by_code[1:])
    counts, held = by_code[1:][occurs], numbers[occurs]
    count = int(counts.sum())
    spread = count * _sum(held * held, counts) - _sum(held, counts) ** 2
    if spread <= 0:
        return Fraction(1)
    return Fraction(isqrt(spread << _ROOT_BITS), count << (_ROOT_BITS // 2))


def _sum(numbers: Numbers, counts: Integers) -> int:
    """The sum of numbers that are not negative, each so often."""
    if numbers.dtype == object:
        return sum(n * number for n, number in zip(counts.tolist(), numbers.tolist(), strict=True))
    upper, lower = numbers >> _HALF_BITS, numbers & ((1 << _HALF_BITS) - 1)
    return (int((upper * counts).sum()) << _HALF_BITS) + int((lower * counts).sum())


def _grid_bits(rows: int, columns: int) -> int:
    """As many as let rows times squared distances fit 63 bits."""
    return max(1, min(GRID_BITS, (63 - (rows * columns).bit_length()) // 2))
