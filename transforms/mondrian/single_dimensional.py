"""Mondrian in one dimension: the domain of each attribute is divided, and equal values are treated alike.

LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006, 2.1: single-dimensional
global recoding by intervals of ordered values and sets of unordered ones, found greedily.

# INVARIANT: everything that decides a cut is an integer. Sums of floats differ between machines.
"""

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smalti.transforms.base import SINGLE_DIMENSIONAL_MONDRIAN
from smalti.transforms.mondrian.algorithm import Algorithm, Generalised, Portions
from smalti.transforms.mondrian.cuts import Cuts, Laid, Scene, Table
from smalti.transforms.mondrian.kernel import Search
from smalti.transforms.partitions.layout import Batch, lay_out, order_by, running
from smalti.transforms.problem import (
    SCALE,
    Flags,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    Problem,
    UnorderedAttribute,
)


@dataclass(frozen=True, slots=True)
class Cells:
    """Each attribute's domain in parts, and the classes that these make together."""

    classes: Integers
    """By tuple, numbered from 0: tuples that are in the same part of each attribute."""
    parts: Integers
    """By tuple and attribute: the part of the attribute's domain, numbered from 0."""


class SingleDimensionalMondrian(Algorithm):
    """Mondrian that cuts the domain of an attribute, through all classes."""

    __slots__ = ()

    name: ClassVar[str] = SINGLE_DIMENSIONAL_MONDRIAN

    def generalised(self, problem: Problem) -> Generalised | None:
        cells = divide_domains(problem)
        if cells is None:
            return None
        portions = Portions(np.arange(len(cells.classes)), cells.classes, problem.weights)
        return Generalised(portions, tuple(cells.parts.T))


def divide_domains(problem: Problem) -> Cells | None:
    """Divide each attribute's domain as far as the promise allows; None if the whole table misses it.

    Of all parts of all attributes the one with the largest charge is cut (its penalty times its rows, ties
    by attribute, then by position), at the allowed cut nearest to its median, ties by position; unordered
    values stand by falling weight in the part, then by code. A cut is allowed if both sides of each class
    that it divides meet what `kernel.partition` promises. The threshold, the score and
    the first attribute of a problem have no meaning here.

    Contract:
        Classes as those of `partition`, and no allowed cut of any part exists.
        The result depends on the set of tuples only, not on their order or on respondents' numbers.
    """
    if not len(problem.weights):
        return None
    table = Table.of(problem)
    search = Search(table)
    if not search.whole_table_is_allowed():
        return None
    recoding = _Recoding(search)
    recoding.run()
    _, classes = np.unique(recoding.cell, return_inverse=True)
    return Cells(classes, recoding.parts)


_Part = tuple[int, int, tuple[int, ...], Integers]
"""Minus its charge, its attribute, the turns that lead to it (0 left, 1 right), and its tuples."""


class _Recoding:
    """The state of the search: a cell is what will be a class."""

    def __init__(self, search: Search) -> None:
        self.search, self.table = search, search.table
        count, attributes = search.problem.codes.shape
        self.cell = np.zeros(count, np.int64)
        self.parts = np.zeros((count, attributes), np.int64)
        self._cells, self._numbers = 1, [1] * attributes
        self._waiting: list[_Part] = []
        self._closed: list[_Part] = []
        for attribute in range(attributes):
            self._put(attribute, (), np.arange(count))

    def run(self) -> None:
        """Cut until no part can be cut.

        A part without an allowed cut is closed for ever, if what is promised is kept by merging. Proof: a
        forbidden cut divides a cell C, and one side S of it misses a requirement. Later cells divide C and
        meet all of them. Those that lie in S meet it, and were the same cut allowed later, the shares that
        it leaves on this side of the others would meet it, too. S is put together from these, so it would
        meet the requirement itself.

        Where merging does not keep it, closed parts are tried again after others were cut.
        """
        may_reopen = not self.table.is_kept_by_merging
        while self._waiting:
            was_cut = False
            while self._waiting:
                part = heapq.heappop(self._waiting)
                if self._cut(part):
                    was_cut = True
                else:
                    self._closed.append(part)
            if was_cut and may_reopen:
                self._waiting, self._closed = self._closed, []
                heapq.heapify(self._waiting)

    def _put(self, attribute: int, turns: tuple[int, ...], tuples: Integers) -> None:
        """Let a part wait for its cut, unless it has one value only."""
        codes, kind = self.table.codes[attribute][tuples], self.search.problem.attributes[attribute]
        low, high = int(codes.min()), int(codes.max())
        if low == high:
            return
        if isinstance(kind, OrderedAttribute):
            penalty = min(int(kind.positions[high] - kind.positions[low]), SCALE)
        elif isinstance(kind, HierarchicalAttribute):
            penalty = int(kind.penalty(np.array(low), np.array(high)))
        else:
            penalty = int(kind.penalty(np.array(len(np.unique(codes)))))
        charge = penalty * int(self.table.weights[tuples].sum())
        heapq.heappush(self._waiting, (-charge, attribute, turns, tuples))

    def _cut(self, part: _Part) -> bool:
        """Cut a part where that is allowed; says whether it is anywhere."""
        _, attribute, turns, tuples = part
        right = _Cutter(self.search, attribute, tuples, self.cell[tuples]).right
        if right is None:
            return False
        moved = tuples[right]
        held, number = np.unique(self.cell[moved], return_inverse=True)
        self.cell[moved] = self._cells + number
        self._cells += len(held)
        self.parts[moved, attribute] = self._numbers[attribute]
        self._numbers[attribute] += 1
        self._put(attribute, (*turns, 0), tuples[~right])
        self._put(attribute, (*turns, 1), moved)
        return True


class _Cutter:
    """One part of an attribute's domain, with the cells that it has a share of side by side."""

    def __init__(self, search: Search, attribute: int, tuples: Integers, cell: Integers) -> None:
        self.search, self.attribute = search, attribute
        self.place = self._places(tuples)
        self.order, new = order_by(cell)
        self.batch = Batch(tuples[self.order], np.append(np.flatnonzero(new), len(tuples)))
        self.weight = np.zeros(int(self.place.max()) + 1, np.int64)
        np.add.at(self.weight, self.place, search.table.weights[tuples])

    def _places(self, tuples: Integers) -> Integers:
        """By tuple: where its value stands among those of the part, from 0."""
        table = self.search.table
        kind = self.search.problem.attributes[self.attribute]
        codes: Integers = table.codes[self.attribute][tuples].astype(np.int64)
        if isinstance(kind, HierarchicalAttribute):
            codes = kind.nodes[kind.below(codes.min(), codes.max()), codes]
        values, place = np.unique(codes, return_inverse=True)
        if not isinstance(kind, UnorderedAttribute):
            return place
        weight = np.zeros(len(values), np.int64)
        np.add.at(weight, place, table.weights[tuples])
        rank = np.empty(len(values), np.int64)
        rank[np.lexsort((values, -weight))] = np.arange(len(values))
        return rank[place]

    @property
    def right(self) -> Flags | None:
        """By tuple: whether it is right of the cut; None if no cut is allowed."""
        upto = np.cumsum(self.weight)
        allowed = np.flatnonzero(self._allowed)
        unevenness = np.abs(2 * upto - upto[-1])[allowed]
        for at in allowed[np.argsort(unevenness, kind="stable")].tolist():
            right: Flags = self.place > at
            if self._meets(right[self.order]):
                return right
        return None

    @property
    def _allowed(self) -> Flags:
        """By place: whether a cut after it leaves no cell with a side that misses its numbers."""
        scene, place = Scene(self.search.table, self.batch), self.place[self.order]
        line = lay_out(self.batch, place)
        laid = Laid(scene, self.attribute, line, running(scene.weights[line.order], line))
        forbidden = ~laid.allowed
        forbidden[line.last] = False
        groups = np.flatnonzero(forbidden)
        at = place[line.order[line.begins]]
        # A cell that may not be cut after a group may not be cut before the next one either.
        change = np.zeros(len(self.weight), np.int64)
        np.add.at(change, at[groups], 1)
        np.add.at(change, at[groups + 1], -1)
        allowed: Flags = np.cumsum(change) == 0
        allowed[-1] = False
        return allowed

    def _meets(self, right: Flags) -> bool:
        """Whether both sides of each cell that is divided also meet what counts do not decide."""
        if self.search.counts_decide:
            return True
        rights = np.add.reduceat(right, self.batch.starts[:-1], dtype=np.int64)
        divided = (rights > 0) & (rights < np.diff(self.batch.starts))
        if not divided.any():
            return True
        cuts = Cuts.none(self.batch)
        cuts.left[:] = ~right
        return not len(self.search.failing(self.batch, cuts, divided))
