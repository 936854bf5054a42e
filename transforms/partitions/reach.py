"""The ranges of ordered attributes on both sides of each cut.

Running maxima are taken in blocks: places of a block on one axis, blocks side by side on the next. One
step along the first axis is one vector operation on all blocks of all partitions, where a running
maximum along a flat array is one scalar operation for each element.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.partitions.layout import ranges
from smalti.transforms.problem import SCALE, Integers

Positions = NDArray[np.int32]

_BLOCK = 16
_LEAST = np.int32(np.iinfo(np.int32).min)


class Blocks:
    """Partitions cut into blocks of equal length, the last of each filled up with its last row."""

    def __init__(self, starts: Integers) -> None:
        """Cut up partitions that begin at these rows; once more the end."""
        sizes = np.diff(starts)
        length = min(_BLOCK, int(sizes.max()))
        counts = -(-sizes // length)
        self.count = int(counts.sum())
        first = ranges(np.zeros_like(counts), counts) * length + np.repeat(starts[:-1], counts)
        last = np.repeat(starts[1:] - 1, counts)
        self.rows = np.minimum(np.arange(length)[:, None] + first, last)
        """Shape (length, blocks): the row at each place of each block."""
        starts_of_blocks = np.concatenate(([0], np.cumsum(counts)))
        place = ranges(starts_of_blocks[:-1] * length, sizes)
        self.places = place % length * self.count + place // length
        """By row: where it stands, in `rows` made flat."""
        self.outer = Blocks(starts_of_blocks) if self.count > len(sizes) else None
        """The blocks themselves, cut into blocks; None where each partition is one block."""
        self.goes_on = np.ones(max(self.count - 1, 0), np.bool_)
        """By block but the last: whether the next one is of the same partition."""
        self.goes_on[starts_of_blocks[1:-1] - 1] = False


def side_reaches(
    positions: Sequence[Positions], order: Integers, blocks: Blocks
) -> tuple[Positions, Positions]:
    """Add up what the attributes reach, up to each place of a line and from it on, in its partition.

    Args:
        positions: for each attribute the position of each slot.
        order: slots by (partition, place along the line).
        blocks: the places of the partitions.

    Returns:
        The sum over attributes of the distance between the extremes of the partition's places up to
        a place, at most SCALE for each; and the same from it on. Both stand as `blocks.places` says.
    """
    laid = order[blocks.rows]
    # Almost always 32 bits, which is twice as fast as 64.
    whole = np.min_scalar_type(-SCALE * max(len(positions), 1))
    upto, onward = np.zeros(laid.shape, whole), np.zeros(laid.shape, whole)
    signed, back = np.empty((2, 2, *laid.shape), np.int32)
    for position in positions:
        np.take(position, laid, out=signed[0], mode="clip")
        np.negative(signed[0], out=signed[1])
        has_missing = position.min() < 0
        for total, maxima in zip((upto, onward), _running_maxima(signed, back, blocks), strict=True):
            reach = np.add(maxima[0], maxima[1], out=maxima[0])
            if has_missing:
                np.minimum(reach, SCALE, out=reach)
            np.add(total, reach, out=total)
    return upto.ravel(), onward.ravel()


def _running_maxima(laid: Positions, back: Positions, blocks: Blocks) -> tuple[Positions, Positions]:
    """Maxima of each partition up to each place and from it on; shapes are (2, length, blocks).

    The first overwrites `laid`, the second goes into `back`.
    """
    upto, onward, length = laid, back, laid.shape[1]
    beside = None if blocks.outer is None else _beside(laid, blocks, blocks.outer)
    onward[:, -1] = laid[:, -1]
    if beside is not None:
        np.maximum(onward[:, -1, :-1], beside[1], out=onward[:, -1, :-1])
    for i in range(length - 2, -1, -1):
        np.maximum(laid[:, i], onward[:, i + 1], out=onward[:, i])
    if beside is not None:
        np.maximum(upto[:, 0, 1:], beside[0], out=upto[:, 0, 1:])
    for i in range(1, length):
        np.maximum(upto[:, i], upto[:, i - 1], out=upto[:, i])
    return upto, onward


def _beside(laid: Positions, blocks: Blocks, outer: Blocks) -> tuple[Positions, Positions]:
    """What partitions reach before each block but the first, and after each but the last; blocks last."""
    whole = laid.max(axis=1).take(outer.rows, axis=1)
    before, after = _running_maxima(whole, np.empty_like(whole), outer)
    upto = before.reshape(2, -1).take(outer.places[:-1], axis=1)
    onward = after.reshape(2, -1).take(outer.places[1:], axis=1)
    for reached in (upto, onward):
        np.copyto(reached, _LEAST, where=~blocks.goes_on)
    return upto, onward
