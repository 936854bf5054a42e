"""A frequency table cut at medians into a given number of partitions, as the kernel would cut it."""

from dataclasses import dataclass, replace

import numpy as np

from smalti.transforms.mondrian.cuts import Table
from smalti.transforms.mondrian.kernel import Search
from smalti.transforms.partitions.layout import Batch
from smalti.transforms.problem import Integers, Problem


@dataclass(frozen=True, slots=True)
class MedianCut:
    """A cut of one partition; its left side keeps the number."""

    node: int
    attribute: int
    left: Integers
    """The codes on the left, ascending, each once."""
    new: int
    """The number of the right side."""


def median_cuts(problem: Problem, partitions: int, least: int) -> tuple[MedianCut, ...]:
    """Cut a table into at most so many partitions, level by level, the largest of a level first.

    Args:
        problem: its threshold is passed over: each cut is at the median.
        partitions: the most of them.
        least: tuples that a partition has at least, to be cut.

    Returns:
        The cuts, each after that of the partition that it cuts. The first partition is 0, and new ones
        are numbered in the order of the cuts.
    """
    search = Search(Table.of(replace(problem, cut_threshold=0)))
    leaves: dict[int, Integers] = {0: np.arange(len(problem.weights))}
    closed: set[int] = set()
    cuts: list[MedianCut] = []
    while room := partitions - len(leaves):
        waiting = [node for node, tuples in leaves.items() if len(tuples) >= least and node not in closed]
        waiting.sort(key=lambda node: (-len(leaves[node]), node))
        if not waiting:
            break
        closed.update(waiting[:room])
        for cut, left, right in _cut(search, {node: leaves[node] for node in waiting[:room]}, len(leaves)):
            closed.discard(cut.node)
            leaves[cut.node], leaves[cut.new] = left, right
            cuts.append(cut)
    return tuple(cuts)


def _cut(
    search: Search, partitions: dict[int, Integers], count: int
) -> list[tuple[MedianCut, Integers, Integers]]:
    """The cuts of those that have one, each with the tuples of both sides."""
    sizes = [len(tuples) for tuples in partitions.values()]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    batch = Batch(np.concatenate(list(partitions.values())), starts)
    cuts = search.cuts(batch)
    divided: list[tuple[MedianCut, Integers, Integers]] = []
    for i, node in enumerate(partitions):
        attribute = int(cuts.attribute[i])
        if attribute >= 0:
            goes_left = cuts.left[starts[i] : starts[i + 1]]
            left, right = partitions[node][goes_left], partitions[node][~goes_left]
            codes = np.unique(search.problem.codes[left, attribute])
            divided.append((MedianCut(node, attribute, codes, count + len(divided)), left, right))
    return divided
