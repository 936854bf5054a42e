"""The lattice of generalisations as a grid: which nodes meet a condition that coarser nodes keep.

A node has a level for each attribute. Where a node meets the condition, so does each node that is nowhere
lower; where it does not, no node that is nowhere higher does. So each answer decides a corner of the grid
(Samarati 2001; LeFevre, DeWitt, Ramakrishnan, "Incognito", SIGMOD 2005), and chains are searched by halves
(Kohlmayer et al., "Flash", PASSAT 2012).
"""

from collections.abc import Callable
from operator import lt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.problem import Flags

Node = tuple[int, ...]
"""By attribute its level."""

_UNKNOWN: Final = 0
_MEETS: Final = 1
_MISSES: Final = -1


def nodes_that_meet(heights: Node, meets: Callable[[Node], bool], within: Flags | None = None) -> Flags:
    """Which nodes meet a condition that coarser nodes keep; few are looked at.

    Args:
        heights: by attribute how many levels it has.
        meets: whether one node does.
        within: nodes outside are known to miss it; with a node, it holds all coarser ones.
    """
    state: NDArray[np.int8] = np.full(heights, _UNKNOWN, np.int8)
    if within is not None:
        state[~within] = _MISSES
    for first in _from_below(state == _UNKNOWN):
        if state[first] == _UNKNOWN:
            _search_chain(_chain(state, first), state, meets)
    return np.asarray(state == _MEETS, np.bool_)


def minimal(flags: Flags) -> list[Node]:
    """The nodes that have the flag while no finer node has; ascending."""
    has_finer = np.zeros_like(flags)
    for axis in range(flags.ndim):
        below, above = [slice(None)] * flags.ndim, [slice(None)] * flags.ndim
        below[axis], above[axis] = slice(None, -1), slice(1, None)
        reached = flags | has_finer
        for level in range(1, flags.shape[axis]):
            above[axis], below[axis] = slice(level, level + 1), slice(level - 1, level)
            has_finer[tuple(above)] |= reached[tuple(below)]
            reached[tuple(above)] |= has_finer[tuple(above)]
    return nodes_of(flags & ~has_finer)


def nodes_of(flags: Flags) -> list[Node]:
    """The nodes that have the flag, ascending."""
    return [tuple(row) for row in np.argwhere(flags).tolist()]


def _from_below(flags: Flags) -> list[Node]:
    """The nodes with the flag, the lowest first; of equal height in ascending order."""
    places = np.argwhere(flags)
    return [tuple(row) for row in places[np.argsort(places.sum(axis=1), kind="stable")].tolist()]


def _chain(state: NDArray[np.int8], first: Node) -> list[Node]:
    """Undecided nodes from one upwards, each one step above the one before."""
    chain = [first]
    while True:
        steps = (_step_up(chain[-1], axis) for axis in range(state.ndim))
        inside = (node for node in steps if all(map(lt, node, state.shape)))
        undecided = next((node for node in inside if state[node] == _UNKNOWN), None)
        if undecided is None:
            return chain
        chain.append(undecided)


def _step_up(node: Node, axis: int) -> Node:
    return (*node[:axis], node[axis] + 1, *node[axis + 1 :])


def _search_chain(chain: list[Node], state: NDArray[np.int8], meets: Callable[[Node], bool]) -> None:
    low, high = 0, len(chain)
    while low < high:
        middle = (low + high) // 2
        node = chain[middle]
        if meets(node):
            state[tuple(slice(level, None) for level in node)] = _MEETS
            high = middle
        else:
            state[tuple(slice(level + 1) for level in node)] = _MISSES
            low = middle + 1
