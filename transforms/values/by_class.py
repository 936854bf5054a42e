"""The values of one column in each class: the extremes, or each distinct value once."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from smalti.transforms.problem import MISSING, Flags, Integers
from smalti.transforms.values.ranking import rises


def extremes(values: Integers, classes: Integers, count: int) -> tuple[Integers, Integers]:
    """The least and the greatest value of each class.

    Args:
        values: by tuple.
        classes: by tuple: its class, from 0; each class below `count` occurs.
        count: how many classes there are.
    """
    low, high = (np.full(count, end, np.int64) for end in (values.max(), values.min()))
    np.minimum.at(low, classes, values)
    np.maximum.at(high, classes, values)
    return low, high


@dataclass(frozen=True, slots=True)
class ClassEnds:
    """The extremes of the present values of each class, and whether it holds missing ones."""

    low: Integers
    """By class: a code; of a class of missing values that of these."""
    high: Integers
    with_missing: Flags
    low_texts: pa.Array
    """Of these codes; null where no value is present."""
    high_texts: pa.Array


def class_ends(codes: Integers, classes: Integers, texts: pa.Array) -> ClassEnds:
    """The extremes of each class.

    Args:
        codes: by tuple.
        classes: the class of each tuple, numbered from 0 without gaps.
        texts: by code, from 1.
    """
    count = int(classes.max()) + 1
    low, high = extremes(codes, classes, count)
    with_missing, none_present = low == MISSING, high == MISSING
    if np.any(with_missing):
        low, _ = extremes(np.where(codes == MISSING, len(texts) + 1, codes), classes, count)
        low = np.where(none_present, MISSING, low)
    ends = (texts.take(pa.array(each - 1, mask=none_present)) for each in (low, high))
    return ClassEnds(low, high, with_missing, *ends)


def distinct_codes(codes: Integers, classes: Integers) -> tuple[Integers, Integers]:
    """The distinct (class, code) pairs, as two columns, in ascending order.

    Args:
        codes: by tuple; not negative.
        classes: by tuple; the product of the numbers of codes and classes is below 2 ** 63.
    """
    size = int(codes.max()) + 1
    pairs = np.sort(classes * size + codes)
    distinct = pairs[rises(pairs)]
    return distinct // size, distinct % size
