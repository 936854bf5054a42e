"""Cycles in directed graphs."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TypeVar

_T = TypeVar("_T", bound=Hashable)


def on_circles(leads_to: Mapping[_T, Collection[_T]]) -> frozenset[_T]:
    """The nodes on a cycle, or on a path from one cycle to another; in linear time.

    >>> sorted(on_circles({"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": []}))
    ['b', 'c']
    """
    forward = {
        thing: [other for other in set(others) if other in leads_to] for thing, others in leads_to.items()
    }
    backward: dict[_T, list[_T]] = {thing: [] for thing in forward}
    for thing, others in forward.items():
        for other in others:
            backward[other].append(thing)
    beside = _peeled(forward, backward) | _peeled(backward, forward)
    return frozenset(forward.keys() - beside)


def _peeled(forward: Mapping[_T, Iterable[_T]], backward: Mapping[_T, Collection[_T]]) -> set[_T]:
    """The nodes without a predecessor, after such nodes are removed again and again."""
    left = Counter({thing: len(others) for thing, others in backward.items()})
    ready = [thing for thing in forward if not left[thing]]
    for thing in ready:  # grows while it is walked
        for other in forward[thing]:
            left[other] -= 1
            if not left[other]:
                ready.append(other)
    return set(ready)
