"""The best groups of values on a line: those with the least sum of squared errors of all.

Hansen, Mukherjee, "A polynomial algorithm for optimal univariate microaggregation", IEEE TKDE 15(4), 2003:
a shortest path, since groups of a best partition are side by side and hold from k to 2k - 1.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import lcm

from smalti.transforms.problem import Incidence


def earliest_ends(count: int, k: int) -> list[int]:
    """For rows of one respondent each what `best_groups` asks for."""
    return [end - k if end >= k else -1 for end in range(count + 1)]


def latest_begins(people: Incidence, count: int, k: int) -> list[int]:
    """What `best_groups` asks for: by end where the shortest run of places with k respondents begins.

    -1 if there is none. Each place has a respondent once.
    """
    of_place: list[list[int]] = [[] for _ in range(count)]
    for place, person in zip(people.tuples.tolist(), people.items.tolist(), strict=True):
        of_place[place].append(person)
    held: dict[int, int] = {}
    latest, begin = [-1], 0
    for place in range(count):
        for person in of_place[place]:
            held[person] = held.get(person, 0) + 1
        while len(held) - sum(held[person] == 1 for person in of_place[begin]) >= k:
            for person in of_place[begin]:
                held[person] -= 1
                if not held[person]:
                    del held[person]
            begin += 1
        latest.append(begin if len(held) >= k else -1)
    return latest


def best_groups(values: Sequence[int], weights: Sequence[int], latest: Sequence[int]) -> list[int]:
    """Where the groups of the best partition begin, and the end of the last one.

    Of equal errors, later groups are smaller. Sums are exact.

    Args:
        values: in ascending order.
        weights: of each, at least 1.
        latest: by end, from 0: where the shortest group that may end before it begins; -1 if none may.
            No longer group may not end there, and this never falls.
    """
    sums = [0, *accumulate(v * w for v, w in zip(values, weights, strict=True))]
    sizes = [0, *accumulate(weights)]
    whole = lcm(*{
        sizes[end] - sizes[begin] for end in range(1, len(sizes)) for begin in _begins(end, latest)
    })  # fmt: skip
    shares: dict[int, int] = {}
    # The sum of squared errors is the least where that of squared sums by size is the largest.
    most, begin_of = [0] * len(sizes), [-1] * len(sizes)
    for end in range(1, len(sizes)):
        best = -1
        for begin in _begins(end, latest):
            if begin and begin_of[begin] < 0:
                continue
            size, total = sizes[end] - sizes[begin], sums[end] - sums[begin]
            share = shares.get(size) or shares.setdefault(size, whole // size)
            gained = most[begin] + total * total * share
            if gained > best:
                best, begin_of[end] = gained, begin
        most[end] = best
    ends = [len(values)]
    while ends[-1]:
        ends.append(begin_of[ends[-1]])
    return ends[::-1]


def _begins(end: int, latest: Sequence[int]) -> Iterator[int]:
    """Where a group that ends there may begin, from the last one; longer ones could be cut in two."""
    last = latest[end]
    return iter(range(last, latest[last] if last >= 0 else last, -1))
