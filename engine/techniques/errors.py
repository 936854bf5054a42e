"""What single techniques cost columns of numbers and dates: the share of squared error; for their owner.

It is by all rows that take part, before any is left out. Of microaggregation it is the share within groups,
before their means or medians are rounded; of top- and bottom-coding that of the published numbers. What
noise costs follows from its scale: what was drawn is recorded nowhere. What is published in another form
(intervals, levels, categories, pseudonyms) has no squared error.
"""

from fractions import Fraction

import numpy as np
import pyarrow as pa

from smalti.engine.plan.plan import Column
from smalti.transforms.base import Datatype
from smalti.transforms.measures.squared_error import error_of, error_within
from smalti.transforms.problem import FigureAttribute, Integers
from smalti.transforms.values.texts import keys, unit_places

_NUMBERS = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE, Datatype.DATE)


def error_of_recoded(column: Column, texts: pa.Array, shown: pa.Array, rows: Integers) -> Fraction | None:
    """Of texts in the place of each of which another one of the same datatype is published.

    Args:
        column: as the plan reads it.
        texts: present ones.
        shown: by text.
        rows: by text.
    """
    if column.datatype not in _NUMBERS:
        return None
    places = max(unit_places(each, column.datatype) for each in (texts, shown))
    before, after = (keys(each, column.datatype, column.time_zone, places) for each in (texts, shown))
    return error_of(before, after, rows)


def error_of_groups(
    attribute: object, codes: Integers, rows: Integers, labels: pa.Array
) -> Fraction | None:
    """Of values of which those with the same label are one group.

    Args:
        attribute: of the column.
        codes: from 1; `MISSING` where there is no value.
        rows: by entry of `codes`.
        labels: by code, from 1.
    """
    if not isinstance(attribute, FigureAttribute) or not len(labels):
        return None
    groups = labels.dictionary_encode().indices.to_numpy().astype(np.int64)
    return error_within(attribute, codes, rows, groups[np.maximum(codes, 1) - 1])
