"""Strict multidimensional Mondrian on a frequency table.

LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006; the choice among
allowable cuts follows MOSAICrOWN D5.1, 2.2 (evaluate all available generalisations, take the one
with the least loss).

The kernel sees tuples, not rows: one tuple for each distinct combination of quasi-identifier codes,
with the number of its rows. Partitions are split level by level, many at a time; a cut depends on
nothing but its own partition, so how partitions are grouped or ordered never changes the result.

# INVARIANT: everything that decides a cut is an integer. Sums of floats differ between machines.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from smalti.transforms.base import STRICT_MONDRIAN, CutScore
from smalti.transforms.mondrian.algorithm import Algorithm, Generalised, Portions
from smalti.transforms.mondrian.cuts import Candidate, Choice, Cuts, Scene, Table, least_penalty, median
from smalti.transforms.mondrian.cuts_around import CutsAround
from smalti.transforms.partitions.layout import Batch, order_by
from smalti.transforms.problem import Flags, Integers, Problem
from smalti.transforms.requirements.judge import ClassJudge

_WORTH_A_COPY = 2
"""How many times larger than a batch its table is, at least, before the batch gets a table of its own."""


class StrictMondrian(Algorithm):
    """Mondrian that keeps rows with equal quasi-identifiers together."""

    __slots__ = ()

    name: ClassVar[str] = STRICT_MONDRIAN
    takes_first_cuts: ClassVar[bool] = True

    def generalised(self, problem: Problem) -> Generalised | None:
        around = CutsAround(problem)
        classes = partition(problem, around)
        if classes is None:
            return None
        portions = Portions(np.arange(len(classes)), classes, problem.weights)
        generalised = Generalised.by_class(portions, len(problem.attributes))
        return replace(generalised, cuts_around=around.by_attribute)


def partition(problem: Problem, around: CutsAround | None = None) -> Integers | None:
    """The class of each tuple, numbered from 0; None if even the whole table misses a requirement.

    Contract:
        Each class meets the problem's requirements, by respondents. No further allowable cut exists in any
        class.
        The result depends on the set of tuples only, not on their order or on respondents' numbers.

    Args:
        problem: of the whole table.
        around: is told of the cuts around each class.
    """
    around = around or CutsAround(problem)
    if not len(problem.weights):
        return None
    table = Table.of(problem)
    if not Search(table).whole_table_is_allowed():
        return None
    classes = np.empty(len(problem.weights), np.int64)
    done = 0
    stack = [(table, Batch.whole(len(problem.weights)), around.of_whole_table())]
    while stack:
        whole, batch, beside = stack.pop()
        search, batch = _search_in(whole, batch)
        cuts = search.cuts(batch)
        is_final = cuts.attribute < 0
        final = np.flatnonzero(is_final[batch.node])
        numbers = np.cumsum(is_final) - 1 + done
        classes[search.table.origin[batch.tuples[final]]] = numbers[batch.node[final]]
        done += int(np.count_nonzero(is_final))
        around.keep(beside[is_final])
        children = batch.children(~is_final, cuts.left)
        beside = around.of_children(beside, search.table, cuts, ~is_final, children)
        first = 0
        for piece in children.pieces():
            stack.append((search.table, piece, beside[first : first + piece.size]))
            first += piece.size
    return classes


def meets_requirements(problem: Problem, portions: Portions) -> Flags:
    """By class: whether it meets all of a problem's requirements; for algorithms that put classes together.

    Args:
        problem: whose requirements these are.
        portions: its rows in classes, each of which occurs.
    """
    whole = Table.of(problem)
    order, new = order_by(portions.classes)
    table = replace(whole.subset(portions.atoms[order]), weights=portions.rows[order])
    return Search(table).allowed(Batch(np.arange(len(order)), np.append(np.flatnonzero(new), len(order))))


def tuples_that_meet(problem: Problem) -> Flags:
    """By tuple: whether it meets all of a problem's requirements as a class of its own."""
    count = len(problem.weights)
    return Search(Table.of(problem)).allowed(Batch(np.arange(count), np.arange(count + 1)))


class Search:
    """The choice of cuts whose sides meet all requirements, in partitions of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.problem = table.problem

    def whole_table_is_allowed(self) -> bool:
        return bool(self.allowed(Batch.whole(len(self.table.weights))).all())

    def allowed(self, batch: Batch) -> Flags:
        """By partition: whether it meets all requirements."""
        allowed = Scene(self.table, batch).allowed
        nodes = np.flatnonzero(allowed)
        if len(nodes) and not self.counts_decide:
            part, _ = batch.subset(nodes)
            allowed[nodes] = self.met(part)
        return allowed

    def sizes(self, batch: Batch) -> Integers:
        """By partition its distinct tuples of codes, which the threshold is about."""
        return np.diff(batch.starts)

    def cuts(self, batch: Batch) -> Cuts:
        """The best allowable cut of each partition."""
        chosen = Cuts.none(batch)
        scene = Scene(self.table, batch)
        may_be_cut = scene.may_be_cut()
        by_penalty = self.problem.cut_score is CutScore.CERTAINTY_PENALTY
        small = (self.sizes(batch) <= self.problem.cut_threshold) & by_penalty
        for wanted, choose in ((small, least_penalty), (~small, median)):
            nodes = np.flatnonzero(wanted & may_be_cut)
            if len(nodes):
                part, slots = scene.part(nodes)
                chosen.put(nodes, slots, self._met_cuts(part, choose))
        return chosen

    @property
    def counts_decide(self) -> bool:
        """Whether what counts allow meets all requirements."""
        return not self.table.undecided

    def _met_cuts(self, scene: Scene, choose: Choice) -> Cuts:
        """As `cuts`, with candidates struck out until both children also meet what counts do not decide."""
        cuts = choose(scene)
        if self.counts_decide:
            return cuts
        struck: set[Candidate] = set()
        unchecked = cuts.attribute >= 0
        while unchecked.any():
            failed = self.failing(scene.batch, cuts, unchecked)
            if not len(failed):
                break
            struck.update(
                (node, int(cuts.attribute[node]), int(cuts.index[node])) for node in failed.tolist()
            )
            part, slots = Scene(self.table, scene.batch, frozenset(struck)).part(failed)
            cuts.put(failed, slots, choose(part))
            unchecked[:] = False
            unchecked[failed] = cuts.attribute[failed] >= 0
        return cuts

    def failing(self, batch: Batch, cuts: Cuts, unchecked: Flags) -> Integers:
        """The partitions, of those unchecked, whose cut has a child that misses a requirement.

        Args:
            batch: the partitions.
            cuts: of these, allowed by counts.
            unchecked: by partition; it has a cut.
        """
        met = self.met(batch.children(unchecked, cuts.left))
        return np.flatnonzero(unchecked)[~met.reshape(-1, 2).all(axis=1)]

    def met(self, batch: Batch) -> Flags:
        """By partition that counts allow: whether it meets the requirements that these do not decide."""
        met = np.ones(batch.size, np.bool_)
        for judge in self.table.undecided:
            met &= self._met_by(judge, batch)
        return met

    def _met_by(self, judge: ClassJudge, batch: Batch) -> Flags:
        met = judge.surely_meets(batch, self.table.sensitive, self.table.of_values)
        for node in np.flatnonzero(~met).tolist():
            met[node] = judge.meets(self.table.held(batch, node))
        return met


def _search_in(table: Table, batch: Batch) -> tuple[Search, Batch]:
    """A batch that fits a processor's cache is searched in a table of its own."""
    if batch.fits_a_cache and len(table.origin) > _WORTH_A_COPY * len(batch.tuples):
        table, batch = table.subset(batch.tuples), Batch(np.arange(len(batch.tuples)), batch.starts)
    return Search(table), batch
