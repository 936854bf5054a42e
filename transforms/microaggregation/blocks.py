"""A table cut into blocks of near tuples, each of which is grouped by itself."""

from collections.abc import Callable

import numpy as np

from smalti.transforms.microaggregation.places import Places
from smalti.transforms.problem import Flags, Integers


def block_of_each(places: Places, count: int, meets: Callable[[Integers], Flags]) -> Integers:
    """The block of each tuple, numbered from 0.

    Blocks are cut in two along the column in which their tuples lie farthest apart, so that each side has
    its share of the tuples, until there are as many as asked for. What has a side that misses a requirement
    is not cut after all. Categories stand in the order of their tree; of equal widths lines count first.

    Args:
        places: of the tuples.
        count: of blocks, at most.
        meets: says of the numbers of blocks, by tuple, which blocks meet all requirements. That of all
            tuples does.
    """
    nodes = np.ones(places.count, np.int64)  # each has its sides at twice its number, and one more
    stack = [(np.arange(places.count), count)]
    while stack:
        tuples, parts = stack.pop()
        if parts < 2 or len(tuples) < 2:
            continue
        widths = [*places.widths(tuples)]
        held = places.along(widths.index(max(widths)), tuples)
        keys = held * len(tuples) + np.arange(len(tuples))  # of equal places the first is less
        middle = max(1, len(tuples) * (parts // 2) // parts)
        is_right = keys >= np.partition(keys, middle)[middle]
        nodes[tuples] = 2 * nodes[tuples] + is_right
        stack += [(tuples[~is_right], parts // 2), (tuples[is_right], parts - parts // 2)]
    while True:
        names, blocks = np.unique(nodes, return_inverse=True)
        blocks = blocks.reshape(-1).astype(np.int64)
        met = meets(blocks)
        if met.all() or len(names) == 1:
            return blocks
        whole = names[~met] // 2
        below = nodes
        for height in range(int(names.max()).bit_length()):
            above = below >> height
            nodes = np.where(np.isin(above, whole), above, nodes)
