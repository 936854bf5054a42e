"""Full-domain generalisation with suppression: the lattice is searched on frequency tables.

LeFevre, DeWitt, Ramakrishnan, "Incognito: Efficient Full-Domain K-Anonymity", SIGMOD 2005; with a limit of
suppression as in Samarati, "Protecting Respondents' Identities in Microdata Release", TKDE 2001.

Classes that miss a requirement are suppressed as a whole. A node meets the requirements if no more than the
permitted share of respondents has a suppressed row. What may be pruned:

- without suppression, what two classes keep when they are merged: a coarser node's classes are such unions;
- with a limit, only what a class keeps when any rows are added, as k and distinct l. Otherwise a suppressed
  class may join a published one in a class that must be suppressed, so that a coarser node suppresses more.

Everything else is judged at each node that is left. Where suppressed records are kept, they are one class
with the label of the root in each column, which meets the requirements itself: that is judged at each node,
too, since it is kept by no merging.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import getitem

import numpy as np

from smalti.transforms.base import RESPONDENTS, Requirement
from smalti.transforms.lattice.grid import Node, minimal, nodes_of, nodes_that_meet
from smalti.transforms.lattice.measures import Costs, Measure, open_bits
from smalti.transforms.lattice.rolled_up import RolledUp, Tables
from smalti.transforms.mondrian.algorithm import LEFT_OUT
from smalti.transforms.mondrian.kernel import tuples_that_meet
from smalti.transforms.partitions.merging import merged
from smalti.transforms.problem import Flags, Integers, Problem
from smalti.transforms.requirements.judge import ClassJudge
from smalti.transforms.requirements.registry import judges_of
from smalti.transforms.values.levels import Levels

SUPPRESSED = LEFT_OUT
"""The class of a tuple that is not published."""


@dataclass(frozen=True, slots=True)
class FullDomain:
    """The generalisation that is preferred, and all that could not be finer."""

    node: Node
    minimal: tuple[Node, ...]
    """For the owner: nodes that meet the requirements, while no finer node does; ascending."""
    classes: Integers
    """By tuple its class, from 0 without gaps, or `SUPPRESSED`."""
    has_rest: bool
    """Whether the last class is that of suppressed records, which are kept."""
    suppressed: int
    """Respondents with a row that is not published; for the owner."""


def full_domain(
    problem: Problem,
    levels: tuple[Levels, ...],
    limit: Fraction,
    measure: Measure,
    *,
    keeps_suppressed: bool = False,
    sole: Node = (),
) -> FullDomain | None:
    """The node that a measure prefers among those that meet a problem's requirements.

    Ties are decided by the levels: the node that comes first, attribute by attribute.

    Args:
        problem: a frequency table and its requirements.
        levels: of each attribute, for all its codes.
        limit: the share of respondents that may have a suppressed row, from 0 and below 1.
        measure: the smaller, the better.
        keeps_suppressed: whether such rows are a class of their own; otherwise they are left out.
        sole: the node that may be taken; empty: any.

    Returns:
        None if no node meets the requirements.

    Contract:
        Each class meets all requirements, by respondents. The result depends on the set of tuples and what
        they hold, not on their order or on how respondents and values are numbered.
    """
    if not len(problem.weights):
        return None
    search = _Search(problem, levels, limit, keeps_suppressed=keeps_suppressed)
    meeting = search.meeting_at(sole) if sole else search.meeting()
    if not meeting.any():
        return None
    finest = minimal(meeting)
    node = search.preferred(finest if measure.is_kept_by_refining else nodes_of(meeting), measure)
    table, kept = search.published(node)
    has_rest = keeps_suppressed and not kept.all()
    rest = int(np.count_nonzero(kept)) if has_rest else SUPPRESSED
    numbers = np.where(kept, np.cumsum(kept) - 1, rest)
    classes = numbers[search.tables.classes(node)]
    return FullDomain(node, tuple(finest), classes, has_rest, table.people_outside(kept))


class _Search:
    """The nodes of one lattice, and their frequency tables."""

    def __init__(
        self, problem: Problem, levels: tuple[Levels, ...], limit: Fraction, *, keeps_suppressed: bool
    ) -> None:
        self.tables = Tables.of_problem(problem, levels)
        self._problem = problem
        self._levels = levels
        self._keeps_suppressed = keeps_suppressed
        people = _respondents(problem)
        self._most_suppressed = limit.numerator * people // limit.denominator

    def meeting(self) -> Flags:
        """Which nodes meet all requirements."""
        judges = judges_of(self._problem.requirements)
        meeting = self._by_number_of_respondents(judges)
        others = [judge for judge in judges if judge.name != RESPONDENTS]
        if any(map(self._is_prunable, others)):
            prunable = [j for j in judges if j.name == RESPONDENTS or self._is_prunable(j)]
            requirements = tuple(judge.requirement for judge in prunable)
            meeting = nodes_that_meet(
                meeting.shape, lambda node: self._meets(node, requirements), within=meeting
            )
        if self._keeps_suppressed or not all(map(self._is_prunable, others)):
            for node in nodes_of(meeting):
                meeting[node] = self._meets(node, self._problem.requirements) and self._rest_meets(node)
        return meeting

    def meeting_at(self, node: Node) -> Flags:
        """The same of one node; no other is looked at."""
        meeting = np.zeros(tuple(attribute.height for attribute in self._levels), np.bool_)
        if all(level < height for level, height in zip(node, meeting.shape, strict=True)):
            meeting[node] = self._meets(node, self._problem.requirements) and self._rest_meets(node)
        return meeting

    def _rest_meets(self, node: Node) -> bool:
        """Whether a node's suppressed records, where they are kept, meet all requirements as one class."""
        if not self._keeps_suppressed:
            return True
        classes, kept = self.published(node)
        if kept.all():
            return True
        tuple_of = np.where(kept, np.cumsum(kept) - 1, np.count_nonzero(kept))
        codes = np.zeros((int(tuple_of.max()) + 1, len(classes.codes)), np.int64)  # which are not looked at
        together = merged(classes.within(self._problem), codes, tuple_of)
        return bool(tuples_that_meet(together)[-1])

    def _by_number_of_respondents(self, judges: Iterable[ClassJudge]) -> Flags:
        """Which nodes have no more than the allowed number of respondents in classes that are too small."""
        fewest = max((judge.fewest_respondents for judge in judges), default=1)
        tables = self.tables
        if self._problem.sensitive:
            tables = Tables.of_problem(replace(self._problem, sensitive=()), self._levels)

        def meets(node: Node) -> bool:
            classes = tables.of(node)
            return classes.people_outside(classes.people >= fewest) <= self._most_suppressed

        return nodes_that_meet(tuple(attribute.height for attribute in self._levels), meets)

    def _is_prunable(self, judge: ClassJudge) -> bool:
        has_respondents = self._problem.respondents is not None
        sensitive = len(self._problem.sensitive)
        if self._most_suppressed:
            return judge.is_kept_by_adding(has_respondents=has_respondents, sensitive=sensitive)
        return judge.is_kept_by_merging(has_respondents=has_respondents, sensitive=sensitive)

    def _meets(self, node: Node, requirements: tuple[Requirement, ...]) -> bool:
        classes = self.tables.of(node)
        kept = self._kept(classes, requirements)
        return classes.people_outside(kept) <= self._most_suppressed and bool(kept.any())

    def _kept(self, classes: RolledUp, requirements: tuple[Requirement, ...]) -> Flags:
        return tuples_that_meet(replace(classes.within(self._problem), requirements=requirements))

    def published(self, node: Node) -> tuple[RolledUp, Flags]:
        """The classes of a node, and which of them meet all requirements."""
        classes = self.tables.of(node)
        return classes, self._kept(classes, self._problem.requirements)

    def preferred(self, nodes: Iterable[Node], measure: Measure) -> Node:
        """The cheapest of some nodes that meet the requirements; of equal ones the first."""
        if measure is Measure.NON_UNIFORM_ENTROPY:
            bits = open_bits(self._problem, self._levels)
            return min((sum(map(getitem, bits, node)), node) for node in nodes)[1]
        costs = Costs(measure, self._problem, self._levels)
        return min((costs.of(*self.published(node)), node) for node in nodes)[1]


def _respondents(problem: Problem) -> int:
    people = problem.respondents
    return int(problem.weights.sum()) if people is None else len(np.unique(people.items))
