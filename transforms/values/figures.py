"""A mean or a median of each class, exact until it is rounded, and its label.

====================  =======================================================================
``[~37.5]``           numbers, dates: the figure of the class; no value of it needs to be this one
``[~37.5|]``          the same, of the values that are present; others are missing
====================  =======================================================================
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import accumulate, pairwise
from math import lcm
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.transforms.base import Figure
from smalti.transforms.problem import MISSING, FigureAttribute, Integers, RowWeights
from smalti.transforms.values.decimal_digits import with_places
from smalti.transforms.values.ranking import rises

_FIRST_ORDINAL: Final = date(1970, 1, 1).toordinal()


def figure_labels(
    attribute: FigureAttribute, codes: Integers, classes: Integers, weights: RowWeights
) -> pa.Array:
    """The label of each class; null where all its values are missing.

    Missing values weigh nothing in a figure. It is rounded to the decimals of the attribute, half to even.

    Args:
        attribute: of the column.
        codes: by tuple.
        classes: the class of each tuple, numbered from 0 without gaps.
        weights: of the rows of tuples.
    """
    owners, held = classes[weights.tuples], codes[weights.tuples]
    labels: list[str | None] = [None] * (int(classes.max()) + 1)
    with_missing = set(np.unique(owners[held == MISSING]).tolist())
    present = held != MISSING
    entries = (column[present] for column in (owners, held, weights.totals, weights.rows))
    for owner, numbers, shares in _by_class(attribute, *entries):
        end = "|]" if owner in with_missing else "]"
        labels[owner] = f"[~{_text(attribute, _figure(attribute.figure, numbers, shares))}{end}"
    return pa.array(labels, pa.large_string())


def _by_class(
    attribute: FigureAttribute, owners: Integers, codes: Integers, totals: Integers, rows: Integers
) -> Iterator[tuple[int, list[int], list[int]]]:
    """Each class with a value: its values in their order, and their weights, as whole numbers."""
    order = np.lexsort((totals, codes, owners))
    owners, codes, totals, rows = (column[order] for column in (owners, codes, totals, rows))
    starts = np.flatnonzero(rises(owners)).tolist()
    numbers = attribute.numbers[codes - 1].tolist()
    everyone, counts = totals.tolist(), rows.tolist()
    for first, last in pairwise([*starts, len(owners)]):
        whole = lcm(*set(everyone[first:last]))
        shares = [
            count * (whole // total)
            for count, total in zip(counts[first:last], everyone[first:last], strict=True)
        ]
        yield int(owners[first]), numbers[first:last], shares


def _figure(figure: Figure, numbers: Sequence[int], shares: Sequence[int]) -> Fraction:
    """Of numbers in ascending order."""
    total = sum(shares)
    if figure is Figure.MEAN:
        return Fraction(sum(number * share for number, share in zip(numbers, shares, strict=True)), total)
    upto = list(accumulate(2 * share for share in shares))
    place = bisect_left(upto, total)
    # Where exactly one half lies there or below, the middle between it and the next one.
    return Fraction(numbers[place] + numbers[place + (upto[place] == total)], 2)


def _text(attribute: FigureAttribute, figure: Fraction) -> str:
    shift = attribute.decimals - attribute.places
    rounded = round(figure * Fraction(10) ** shift if shift else figure)
    if attribute.are_days:
        return date.fromordinal(_FIRST_ORDINAL + rounded).isoformat()
    return with_places(rounded, attribute.decimals)
