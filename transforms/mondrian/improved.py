"""Classes of strict Mondrian, improved where others lose less; no strict partition any more.

The table is cut by strict Mondrian (`kernel`) into blocks of few distinct tuples. In each block by itself
there are three beginnings: the classes that Mondrian would make, and groups that grow in two ways from
tuples which are far from each other (`improving.clusters`). Each is changed as long as that loses less
(`improving.search`), then cut again where a cut is allowed, and whichever loses least is kept.

A block depends on nothing but its own tuples, and no block is larger than what may be cut in SQL first:
so the result is the same for each number of fragments.
"""

from collections.abc import Sequence
from os.path import commonprefix
from typing import ClassVar, Final

import numpy as np

from smalti.transforms.base import IMPROVED_MONDRIAN
from smalti.transforms.improving.block import Block, Groups
from smalti.transforms.improving.charges import Charges
from smalti.transforms.improving.clusters import clusters
from smalti.transforms.improving.search import improved
from smalti.transforms.mondrian.algorithm import Algorithm, Generalised, Portions
from smalti.transforms.mondrian.cuts import Table
from smalti.transforms.mondrian.kernel import Search, partition
from smalti.transforms.partitions.layout import Batch, order_by
from smalti.transforms.problem import (
    MISSING,
    Attribute,
    Flags,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    PrefixedAttribute,
    Problem,
)

LARGEST_BLOCK: Final = 256
"""Distinct tuples of a block, at most, unless no cut of it is allowed; the effort grows with its square."""
_TURNS: Final = 3
"""Of search and cuts, at most."""


class ImprovedMondrian(Algorithm):
    """Strict Mondrian, and then changes of its classes that lose less."""

    __slots__ = ()

    name: ClassVar[str] = IMPROVED_MONDRIAN
    takes_first_cuts: ClassVar[bool] = True

    def generalised(self, problem: Problem) -> Generalised | None:
        classes = partition_improved(problem)
        if classes is None:
            return None
        portions = Portions(np.arange(len(classes)), classes, problem.weights)
        return Generalised.by_class(portions, len(problem.attributes))


def partition_improved(problem: Problem) -> Integers | None:
    """The class of each tuple, numbered from 0; None if even the whole table misses a requirement.

    Contract:
        Each class meets the problem's requirements, by respondents. Classes together lose (rows times
        penalty, over all attributes) no more than those of `kernel.partition`. Two classes differ in what
        they publish; what they publish may overlap, and it is not promised that no better classes exist.
        The result depends on the set of tuples only, not on their order or on respondents' numbers.
    """
    beginning = partition(problem)
    if beginning is None:
        return None
    classes = np.empty(len(beginning), np.int64)
    done = 0
    table = Table.of(problem)
    for tuples in _blocks(table, min(problem.cut_threshold, LARGEST_BLOCK)):
        for group in _improved_block(table, tuples, beginning[tuples]):
            classes[tuples[group]] = done
            done += 1
    return classes


def _blocks(table: Table, largest: int) -> list[Integers]:
    """Tuples of partitions that strict Mondrian goes through, in their canonical order.

    These have at most so many tuples, or no allowed cut.
    """
    blocks: list[Integers] = []
    stack = [Batch.whole(len(table.weights))]
    while stack:
        batch = stack.pop()
        is_final = np.diff(batch.starts) <= largest
        large, slots = batch.subset(np.flatnonzero(~is_final))
        cuts = Search(table).cuts(large)
        is_final[~is_final] = cuts.attribute < 0
        left = np.zeros(len(batch.tuples), np.bool_)
        left[slots] = cuts.left
        blocks += [batch.tuples[batch.starts[i] : batch.starts[i + 1]] for i in np.flatnonzero(is_final)]
        stack.extend(batch.children(~is_final, left).pieces())
    columns = table.problem.codes
    return [tuples[order_by(*columns[tuples].T)[0]] for tuples in blocks]


def _improved_block(whole: Table, tuples: Integers, classes: Integers) -> Groups:
    """The groups of a block that lose least."""
    table = whole.subset(tuples)
    search = Search(table)
    codes, attributes = whole.problem.codes[tuples], whole.problem.attributes

    def meets(groups: Sequence[Integers]) -> Flags:
        return search.allowed(_batch(groups))

    block = Block(Charges(codes, attributes), table.weights, table.fewest_respondents, meets)
    beginning = _by_class(classes)
    if len(tuples) == 1 or len(tuples) > LARGEST_BLOCK:
        return beginning
    best, least = beginning, block.loss(beginning)
    for start in (beginning, clusters(block, by_rows=True), clusters(block, by_rows=False)):
        if start is None or not bool(np.all(meets(start))):
            continue
        groups = _changed(block, search, start)
        groups = _told_apart(codes, attributes, groups)
        loss = block.loss(groups)
        if loss < least and bool(np.all(meets(groups))):
            best, least = groups, loss
    return best


def _changed(block: Block, search: Search, groups: Groups) -> Groups:
    """The groups after changes and cuts, in turns."""
    for _ in range(_TURNS):
        groups = improved(block, groups)
        cut = _cut(search, groups)
        if len(cut) == len(groups):
            break
        groups = cut
    return groups


def _cut(search: Search, groups: Groups) -> Groups:
    """The groups, cut until no cut is allowed."""
    final: Groups = []
    batch = _batch(groups)
    while batch.size:
        cuts = search.cuts(batch)
        is_cut = cuts.attribute >= 0
        final += [batch.tuples[batch.starts[i] : batch.starts[i + 1]] for i in np.flatnonzero(~is_cut)]
        batch = batch.children(is_cut, cuts.left)
    return final


def _batch(groups: Sequence[Integers]) -> Batch:
    starts = np.cumsum([0, *map(len, groups)])
    return Batch(np.concatenate(groups) if groups else np.empty(0, np.int64), starts)


def _by_class(classes: Integers) -> Groups:
    """The tuples of each class, in the order of the first."""
    order, new = order_by(classes)
    groups = np.split(order, np.flatnonzero(new)[1:])
    return sorted(groups, key=lambda group: int(group[0]))


# --- What is published


def _told_apart(codes: Integers, attributes: tuple[Attribute, ...], groups: Groups) -> Groups:
    """The groups, those together that would be published alike: who reads them takes them for one class."""
    alike: dict[tuple[object, ...], list[Integers]] = {}
    for group in groups:
        shown = tuple(_shown(attribute, codes[group, i]) for i, attribute in enumerate(attributes))
        alike.setdefault(shown, []).append(group)
    return [np.concatenate(parts) for parts in alike.values()]


def _shown(attribute: Attribute, codes: Integers) -> object:
    """What a label says of these values: equal where the labels are."""
    if isinstance(attribute, PrefixedAttribute):
        present = codes[codes != MISSING]
        if not len(present):
            return None
        first, last = (attribute.texts[int(end) - 1].as_py() for end in (present.min(), present.max()))
        return len(present) < len(codes), first == last, commonprefix((first, last))  # noqa: RUF071 (characters)
    if isinstance(attribute, OrderedAttribute):
        present = codes[codes != MISSING]
        ends = (int(present.min()), int(present.max())) if len(present) else None
        return len(present) < len(codes), ends
    if isinstance(attribute, HierarchicalAttribute):
        below = int(attribute.below(codes.min(keepdims=True), codes.max(keepdims=True))[0])
        return below, frozenset(attribute.nodes[below, codes].tolist())
    return frozenset(codes.tolist())
