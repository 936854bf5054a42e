"""What means and masks cost numbers: the share of a column's squared error, SSE/SST; exact.

Domingo-Ferrer, Mateo-Sanz, "Practical Data-Oriented Microaggregation for Statistical Disclosure Control",
IEEE TKDE 14(1), 2002, section 2: SSE is the sum of squared distances from values to what stands for them,
SST that to the mean of the column. A column that is divided by its standard deviation has an SST of 1 for
each value, so that the measure of several such columns, each with a value in every row, is the mean of
theirs. All is by rows; missing values have no part in it.
"""

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.problem import MISSING, FigureAttribute, Flags, Integers

_MOST_BITS: Final = 62
_NOTHING: Final = Fraction(0)

Numbers = Integers | NDArray[np.object_]


def error_within(
    attribute: FigureAttribute, codes: Integers, rows: Integers, parts: Integers, kept: Flags | None = None
) -> Fraction:
    """The share that lies within parts, from 0 to 1; 0 where all values are equal.

    The mean of a part, before it is rounded, stands for its values, so a published median or a rounded mean
    costs more. The mean of the column stands for values that are left out.

    Args:
        attribute: of the column.
        codes: by tuple.
        rows: by tuple.
        parts: by tuple: its part, from 0.
        kept: by tuple: whether it is published; None: all are.
    """
    present = (codes != MISSING) & (rows > 0)
    numbers = attribute.numbers[codes[present] - 1]
    rows, parts = rows[present], parts[present]
    count, total, spread = _moments(numbers, rows)
    if not spread:
        return _NOTHING
    if kept is not None:
        published = kept[present]
        numbers, rows, parts = numbers[published], rows[published], parts[published]
    # With n and s the rows and the sum of a part, its mean is s/n - total/count from that of the column.
    by_size: dict[int, int] = {}
    sizes, sums = _added(rows, parts), _added(_wide(numbers, rows) * rows, parts)
    for size, part in zip(sizes.tolist(), sums.tolist(), strict=True):
        if size:
            by_size[size] = by_size.get(size, 0) + (part * count - size * total) ** 2
    between = sum((Fraction(squares, size) for size, squares in by_size.items()), _NOTHING)
    return 1 - between / (spread * count)


def error_of(numbers: Numbers, shown: Numbers, rows: Integers) -> Fraction:
    """The same of values in the place of each of which another number is published; it may exceed 1.

    Args:
        numbers: values, in whole units.
        shown: what is published of each, in the same units.
        rows: how many rows have both.
    """
    count, _, spread = _moments(numbers, rows)
    if not spread:
        return _NOTHING
    apart = numbers.astype(object) - shown.astype(object)
    return Fraction(int((apart * apart * rows).sum()) * count, spread)


def _moments(numbers: Numbers, rows: Integers) -> tuple[int, int, int]:
    """How many values there are, their sum, and the number of them times their SST."""
    values, places = np.unique(numbers, return_inverse=True)
    counts = _added(rows, places.reshape(-1)).tolist()
    count = sum(counts)
    total = square = 0
    for value, times in zip(values.tolist(), counts, strict=True):
        total += value * times
        square += value * value * times
    return count, total, count * square - total**2


def _wide(numbers: Numbers, rows: Integers) -> Numbers:
    """Numbers whose sum over all rows cannot overflow."""
    largest = int(np.abs(numbers).max(initial=0)) * max(int(rows.sum()), 1)
    return numbers if largest.bit_length() <= _MOST_BITS else numbers.astype(object)


def _added(numbers: Numbers, parts: Integers) -> Numbers:
    size = int(parts.max(initial=-1)) + 1
    sums: Numbers = np.zeros(size, object) if numbers.dtype == object else np.zeros(size, np.int64)
    np.add.at(sums, parts, numbers)
    return sums
