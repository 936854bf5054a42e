"""Generalisation of a column to a level, and recoding to disjoint intervals of one width."""

from fractions import Fraction

import pyarrow as pa

from smalti.transforms.values.hierarchy import Ladders
from smalti.transforms.values.hierarchy_rules import interval_ladders
from smalti.transforms.values.labels import single_labels
from smalti.transforms.values.texts import Codebook


def at_level(book: Codebook, ladders: Ladders, level: int) -> pa.Array:
    """The label of each text at a level of a hierarchy, as `docs/labels.md` writes nodes.

    Args:
        book: of the column's distinct present texts.
        ladders: by level from 0, by code from 1: the label of a value.
        level: at least 1, and one of the hierarchy.
    """
    return single_labels(ladders[level].cast(pa.large_string())).take(pa.array(book.codes - 1))


def intervals(book: Codebook, width: Fraction, start: Fraction) -> pa.Array:
    """The interval that each text is in: `20..24` for whole numbers, `20..<25` for others.

    Args:
        book: of the column's distinct present texts: numbers or dates.
        width: above 0; whole for integers, and for dates, which it counts in days.
        start: an end of an interval; of dates in days since 1970-01-01.
    """
    ladders = interval_ladders(book.texts.to_pylist(), book.datatype, width, start, ())
    return at_level(book, ladders, 1)


def equal_width(lower: Fraction, upper: Fraction, count: int) -> Fraction | None:
    """The width of so many intervals of whole numbers, or of days, from one bound to the other.

    Both bounds are values, so that the intervals hold one number more than their difference.

    >>> equal_width(Fraction(0), Fraction(99), 10), equal_width(Fraction(0), Fraction(100), 10)
    (Fraction(10, 1), None)

    Returns:
        None where it is no whole number.
    """
    width = (upper - lower + 1) / count
    return width if width.denominator == 1 else None
