"""The values of one column in each class: the extremes, or each distinct value once."""

import numpy as np

from smalti.transforms.problem import Integers
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
