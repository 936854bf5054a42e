"""Groups put together until each meets all requirements."""

from collections.abc import Callable

import numpy as np

from smalti.transforms.problem import Flags, Integers


def joined(
    totals: Integers, counts: Integers, blocks: Integers, meets: Callable[[Integers], Flags]
) -> Integers:
    """The class of each group, numbered from 0.

    In turns: each group that misses a requirement joins the one in its block whose centre is nearest to
    its own, in whole steps of the grid; of equal distances the first. Which was joined waits for its turn.

    Args:
        totals: shape (columns, groups): the sum of the points of a group's rows.
        counts: of rows, by group.
        blocks: by group, ascending.
        meets: says of the classes of groups which meet all requirements. A whole block does.
    """
    classes = np.arange(len(counts))
    while True:
        met = meets(classes)
        into = _turn(totals, counts, blocks, np.flatnonzero(~met))
        if np.array_equal(into, np.arange(len(into))):
            return classes
        names, numbers = np.unique(into, return_inverse=True)
        numbers = numbers.reshape(-1).astype(np.int64)
        totals, counts = (added(each, numbers, len(names)) for each in (totals, counts))
        blocks, classes = blocks[names], numbers[classes]


def _turn(totals: Integers, counts: Integers, blocks: Integers, failing: Integers) -> Integers:
    """By group the one that it is in then."""
    totals, counts = totals.copy(), counts.copy()
    centres = totals // counts
    into, waits = np.arange(len(counts)), np.zeros(len(counts), np.bool_)
    for group in failing.tolist():
        first, end = np.searchsorted(blocks, blocks[group]), np.searchsorted(blocks, blocks[group], "right")
        others = first + np.flatnonzero(into[first:end] == np.arange(first, end))
        others = others[others != group]
        if waits[group] or not len(others):
            continue
        apart = centres[:, others] - centres[:, group, np.newaxis]
        nearest = int(others[np.argmin((apart * apart).sum(axis=0))])
        into[group], waits[nearest] = nearest, True
        totals[:, nearest] += totals[:, group]
        counts[nearest] += counts[group]
        centres[:, nearest] = totals[:, nearest] // counts[nearest]
    return into


def added(numbers: Integers, places: Integers, count: int) -> Integers:
    """The sums of what has one place, along the last axis.

    Args:
        numbers: shape (..., entries).
        places: by entry, below `count`.
        count: of places.
    """
    sums = np.zeros((count, *numbers.shape[:-1]), np.int64)
    np.add.at(sums, places, numbers.T)
    return sums.T
