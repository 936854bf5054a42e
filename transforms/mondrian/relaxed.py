"""Relaxed Mondrian: rows with equal quasi-identifiers may be in different classes.

LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006, 3.2 (relaxed
multidimensional partitioning) and 4 (values at the median are divided evenly between both sides).

Here the tuples of a problem are *atoms*: rows that agree in all retained columns. The rows of an atom are
alike, so which of them goes where cannot be seen.

# INVARIANT: everything that decides a cut is an integer. Sums of floats differ between machines.
"""

from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from smalti.transforms.base import RELAXED_MONDRIAN, CutScore
from smalti.transforms.mondrian.algorithm import Algorithm, Generalised, Portions
from smalti.transforms.mondrian.cuts import Scene, Table
from smalti.transforms.mondrian.kernel import Search
from smalti.transforms.partitions.layout import Batch, order_by, sums
from smalti.transforms.problem import Flags, Integers, Problem

_IMPOSSIBLE = np.iinfo(np.int64).max


class RelaxedMondrian(Algorithm):
    """Mondrian that may divide rows with equal quasi-identifiers."""

    __slots__ = ()

    name: ClassVar[str] = RELAXED_MONDRIAN
    takes_first_cuts: ClassVar[bool] = True
    divides_tuples: ClassVar[bool] = True

    def generalised(self, problem: Problem) -> Generalised | None:
        portions = partition_relaxed(problem)
        return None if portions is None else Generalised.by_class(portions, len(problem.attributes))


def partition_relaxed(problem: Problem) -> Portions | None:
    """Classes that share atoms where that loses less; None if even the whole table misses a requirement.

    Beside the cuts of `kernel.partition` there is one even cut along each attribute that
    has several values in the partition. Its rows are put in order along the attribute (unordered values by
    falling weight), then by atom, and half of them, rounded down, go to the left. With one row each an
    atom is divided there; with respondents the cut is the one between two atoms that divides the rows
    most evenly, ties by position, since respondents would have to be told apart by their names.

    At or below the threshold of distinct tuples the cut with the least penalty is taken, of equal ones the
    strict one, then by attribute; above it, or by another score, an even cut is tried only where no
    attribute has a strict one, by the same ranking of attributes.

    Args:
        problem: its tuples are atoms, in their canonical order; several may have the same codes.

    Contract:
        Classes meet what those of `partition` meet, and no allowed cut of any class exists.
        The result does not depend on respondents' numbers. Of an atom only the numbers of rows count.
    """
    if not len(problem.weights):
        return None
    order, new = order_by(*problem.codes.T)
    tuples = np.empty(len(order), np.int64)
    tuples[order] = np.cumsum(new)
    if int(tuples.max()) <= problem.cut_threshold:
        problem = replace(problem, first_attribute=None)
    table = Table.of(problem)
    if not Search(table).whole_table_is_allowed():
        return None
    final: list[tuple[Integers, Integers, Integers]] = []
    done = 0
    stack = [(table, Batch.whole(len(problem.weights)))]
    while stack:
        table, batch = stack.pop()
        search = _RelaxedSearch(table, tuples)
        cut, left_rows = search.divisions(batch)
        numbers = np.cumsum(~cut) - 1 + done
        slots = np.flatnonzero(~cut[batch.node])
        entries = batch.tuples[slots]
        final.append(
            (table.origin[entries].astype(np.int64), numbers[batch.node[slots]], table.weights[entries])
        )
        done += int(np.count_nonzero(~cut))
        stack += search.children(batch, cut, left_rows).pieces()
    atoms, classes, rows = map(np.concatenate, zip(*final, strict=True))
    order, _ = order_by(atoms, classes)
    return Portions(atoms[order], classes[order], rows[order])


class _Children(NamedTuple):
    """Both sides of cuts, side by side, in a table of their own."""

    table: Table
    batch: Batch

    def pieces(self) -> list[tuple[Table, Batch]]:
        """The same in batches that fit a processor's cache, with a table for each."""
        return [
            (self.table.subset(piece.tuples), Batch(np.arange(len(piece.tuples)), piece.starts))
            for piece in self.batch.pieces()
        ]


class _RelaxedSearch(Search):
    """The choice of cuts where atoms may be divided; entries of the table are parts of atoms."""

    def __init__(self, table: Table, tuples: Integers) -> None:
        """Look at entries of a table; `tuples` tells by atom which of them have the same codes."""
        super().__init__(table)
        self._tuples = tuples

    def sizes(self, batch: Batch) -> Integers:
        _, new = order_by(batch.node, self._tuples[self.table.origin[batch.tuples]])
        return sums(new, batch.starts)

    def children(self, batch: Batch, cut: Flags, left_rows: Integers) -> _Children:
        """Both sides of the partitions that are cut.

        Args:
            batch: the partitions.
            cut: by partition.
            left_rows: by slot: how many of its rows go to the left.
        """
        weights = self.table.weights[batch.tuples]
        is_cut = cut[batch.node]
        left, right = (
            np.flatnonzero(is_cut & (left_rows > 0)),
            np.flatnonzero(is_cut & (left_rows < weights)),
        )
        slots = np.concatenate((left, right))
        rows = np.concatenate((left_rows[left], (weights - left_rows)[right]))
        child = 2 * batch.node[slots] + (np.arange(len(slots)) >= len(left))
        order, new = order_by(child)
        table = self.table.subset(batch.tuples[slots[order]])
        of_values = table.of_values
        if table.respondents is None:
            of_values = tuple(column.of_portions(rows[order]) for column in of_values)
        table = replace(
            table,
            problem=replace(self.problem, first_attribute=None),
            weights=rows[order],
            of_values=of_values,
        )
        return _Children(table, Batch(np.arange(len(order)), np.append(np.flatnonzero(new), len(order))))

    def divisions(self, batch: Batch) -> tuple[Flags, Integers]:
        """By partition whether it is cut, and by slot how many of its rows go to the left then."""
        strict = self.cuts(batch)
        cut = strict.attribute >= 0
        left_rows = np.where(strict.left, self.table.weights[batch.tuples], 0)
        scene = Scene(self.table, batch)
        by_penalty = self.problem.cut_score is CutScore.CERTAINTY_PENALTY
        small = (self.sizes(batch) <= self.problem.cut_threshold) & by_penalty
        best = np.full(batch.size, _IMPOSSIBLE)
        if (small & cut).any():
            best[small & cut] = _penalties(self.children(batch, small & cut, left_rows))
        possible = scene.may_be_cut()
        for attribute in range(len(self.problem.attributes)):
            nodes = np.flatnonzero(small & possible)
            self._take_better(batch, nodes, attribute, (cut, left_rows, best))
        for turn in scene.ranking if (~small & possible & ~cut).any() else ():
            waiting = ~small & possible & ~cut
            for attribute in np.unique(turn[waiting]).tolist():
                nodes = np.flatnonzero(waiting & (turn == attribute))
                self._take_better(batch, nodes, attribute, (cut, left_rows, best))
        return cut, left_rows

    def _take_better(
        self,
        batch: Batch,
        nodes: Integers,
        attribute: int,
        chosen: tuple[Flags, Integers, Integers],
    ) -> None:
        """Take even cuts of some partitions along an attribute where they are allowed and charged less."""
        if not len(nodes):
            return
        cut, left_rows, best = chosen
        part, slots = batch.subset(nodes)
        several, rows = self._even(part, attribute)
        if not several.any():
            return
        children = self.children(part, several, rows)
        allowed, penalty = np.zeros(part.size, np.bool_), np.full(part.size, _IMPOSSIBLE)
        allowed[several], penalty[several] = self._allowed(children), _penalties(children)
        better = allowed & (penalty < best[nodes])
        cut[nodes[better]] = True
        best[nodes] = np.where(better, penalty, best[nodes])
        taken = better[part.node]
        left_rows[slots[taken]] = rows[taken]

    def _even(self, batch: Batch, attribute: int) -> tuple[Flags, Integers]:
        """By partition whether the attribute has several values; by slot the rows left of the even cut."""
        scene = Scene(self.table, batch)
        line = scene.line(attribute)
        order, _ = order_by(line.group, self.table.origin[batch.tuples])
        weights = scene.weights[order]
        before = np.cumsum(weights) - weights
        before -= before[batch.starts[:-1]][batch.node]
        total = scene.totals[batch.node]
        if self.table.respondents is None:
            rows = np.clip(total // 2 - before, 0, weights)
        else:
            rows = np.where(_nearest_end(before + weights, total, batch), weights, 0)
        left_rows = np.empty(len(order), np.int64)
        left_rows[order] = rows
        return np.diff(line.first) > 1, left_rows

    def _allowed(self, children: _Children) -> Flags:
        """By pair of children: whether both meet what is promised."""
        allowed = Search(children.table).allowed(children.batch)
        return np.asarray(allowed.reshape(-1, 2).all(axis=1), np.bool_)


def _nearest_end(upto: Integers, total: Integers, batch: Batch) -> Flags:
    """By place: whether it is left of the cut between two entries that divides the rows most evenly.

    Args:
        upto: by place the rows of its partition up to it.
        total: by place the rows of its partition.
        batch: the partitions, each with one entry at least.
    """
    unevenness = np.abs(2 * upto - total)
    unevenness[batch.starts[1:] - 1] = _IMPOSSIBLE  # nothing would be on the right
    least = np.minimum.reduceat(unevenness, batch.starts[:-1])
    nearest = np.flatnonzero(unevenness == least[batch.node])[::-1]
    at = np.empty(batch.size, np.int64)
    at[batch.node[nearest]] = nearest  # of several the one written last, the first
    left: Flags = np.arange(len(upto)) <= at[batch.node]
    return left


def _penalties(children: _Children) -> Integers:
    """By pair of children: rows times penalty of both, added up."""
    scene = Scene(*children)
    attributes = range(len(scene.problem.attributes))
    charged = scene.totals * np.sum([scene.spans(attribute) for attribute in attributes], axis=0)
    penalties: Integers = charged.reshape(-1, 2).sum(axis=1)
    return penalties
