"""Which cut a partition gets: all allowable ones are weighed, or the median is taken.

# INVARIANT: everything that decides a cut is an integer. Sums of floats differ between machines.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smalti.errors import InternalError
from smalti.transforms._layout import (
    Batch,
    Holdings,
    Line,
    Links,
    Members,
    lay_out,
    running,
    side_reaches,
    sums,
)
from smalti.transforms.problem import SCALE, Flags, Integers, OrderedAttribute, Problem, UnorderedAttribute

_IMPOSSIBLE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Table:
    """A problem, prepared for taking any subset of its tuples."""

    problem: Problem
    positions: tuple[Integers | None, ...]
    """For each ordered attribute the position of each tuple."""
    respondents: Links | None
    sensitive: tuple[Links, ...]

    @classmethod
    def of(cls, problem: Problem) -> "Table":
        """Prepare a problem."""
        count, people = len(problem.weights), problem.respondents
        return cls(
            problem,
            tuple(
                a.positions[problem.codes[:, i]] if isinstance(a, OrderedAttribute) else None
                for i, a in enumerate(problem.attributes)
            ),
            Links.of(people.tuples, (people.items,), count) if people else None,
            tuple(
                Links.of(
                    s.tuples, (s.values,) if s.respondents is None else (s.values, s.respondents), count
                )
                for s in problem.sensitive
            ),
        )


@dataclass(slots=True)
class Cuts:
    """The cut chosen for each partition of a batch."""

    attribute: Integers
    """-1: no allowable cut."""
    index: Integers
    """How many of the attribute's value groups go to the left."""
    left: Flags
    """By slot."""


Candidate = tuple[int, int, int]
"""A cut: its partition, its attribute, and how many value groups go to the left."""


class Scene:
    """A batch with everything about it that more than one attribute's cuts need."""

    def __init__(self, table: Table, batch: Batch, struck: frozenset[Candidate]) -> None:
        self.problem = table.problem
        self.batch = batch
        self.codes = self.problem.codes[batch.tuples]
        self.weights = self.problem.weights[batch.tuples]
        self.positions = [w if w is None else w[batch.tuples] for w in table.positions]
        self.totals = sums(self.weights, batch.starts)
        self.struck = struck
        self._values: dict[int, tuple[Integers, Integers]] = {}
        self._link(table)

    def _link(self, table: Table) -> None:
        node = self.batch.node
        self.people = None
        if table.respondents is not None:
            slots, (items,) = table.respondents.take(self.batch.tuples)
            self.people = Members.of(slots, node[slots], items)
        self.kinds: list[Members] = []
        self.holdings: list[Holdings | None] = []
        for links in table.sensitive:
            slots, columns = links.take(self.batch.tuples)
            self.kinds.append(Members.of(slots, node[slots], columns[0]))
            held = None if len(columns) == 1 else Holdings.of(slots, node[slots], columns[0], columns[1])
            self.holdings.append(held)

    def values(self, attribute: int) -> tuple[Integers, Integers]:
        """Dense numbers of the (partition, code) pairs: by slot, and the first slot of each number."""
        if attribute not in self._values:
            codes = self.codes[:, attribute]
            key = self.batch.node * (int(codes.max(initial=0)) + 1) + codes
            _, first, number = np.unique(key, return_index=True, return_inverse=True)
            self._values[attribute] = number, first
        return self._values[attribute]

    def line(self, attribute: int) -> Line:
        """Lay the batch out along an attribute.

        Values without an order stand by falling weight in their partition, then by code.
        """
        place = self.codes[:, attribute]
        if isinstance(self.problem.attributes[attribute], UnorderedAttribute):
            number, first = self.values(attribute)
            weight = np.zeros(len(first), np.int64)
            np.add.at(weight, number, self.weights)
            by_weight = np.lexsort((self.codes[first, attribute], -weight, self.batch.node[first]))
            rank = np.empty(len(first), np.int64)
            rank[by_weight] = np.arange(len(first))
            place = rank[number]
        return lay_out(self.batch, place)

    def allowed(self, attribute: int, line: Line) -> Flags:
        """By group: whether cutting after it leaves both sides with k respondents and their diversity."""
        problem = self.problem
        left, right = self._people_sides(line)
        allowed = (left >= problem.k) & (right >= problem.k)
        allowed[line.first[1:] - 1] = False
        for kinds, holdings in zip(self.kinds, self.holdings, strict=True):
            wanted = max(problem.l, 2)
            kinds_left, kinds_right = kinds.sides(line)
            allowed &= (kinds_left >= wanted) & (kinds_right >= wanted)
            if holdings is not None:
                held_left, held_right = holdings.most(line)
                allowed &= (held_left < left) & (held_right < right)
        for node, struck_attribute, index in self.struck:
            if struck_attribute == attribute:
                allowed[line.first[node] + index - 1] = False
        return allowed

    def _people_sides(self, line: Line) -> tuple[Integers, Integers]:
        if self.people is not None:
            return self.people.sides(line)
        left = running(self.weights[line.order], line)
        return left, self.totals[line.node] - left

    def whole_is_allowed(self) -> bool:
        """Whether the only partition of this batch meets k and diversity, the matching apart."""
        people = self.totals if self.people is None else self.people.totals(self.batch.size)
        wanted = max(self.problem.l, 2)
        line = lay_out(self.batch, np.zeros(len(self.batch.tuples), np.int64))
        diverse = all(kinds.totals(self.batch.size)[0] >= wanted for kinds in self.kinds)
        shared = any(h is not None and h.most(line)[0][0] >= people[0] for h in self.holdings)
        return bool(people[0] >= self.problem.k and diverse and not shared)

    def spans(self, attribute: int) -> Integers:
        """By partition: the penalty of the attribute, from 0 to SCALE."""
        starts = self.batch.starts[:-1]
        position = self.positions[attribute]
        if position is not None:
            reach = np.maximum.reduceat(position, starts) - np.minimum.reduceat(position, starts)
            return np.asarray(np.minimum(reach, SCALE), np.int64)
        _, first = self.values(attribute)
        counts = np.bincount(self.batch.node[first], minlength=self.batch.size)
        return self._set_penalty(attribute, counts)

    def penalties(self, line: Line) -> Integers:
        """By group: weight times penalty of the two sides of a cut after it, added up."""
        left = np.zeros(len(line.ends), np.int64)
        right = np.zeros(len(line.ends), np.int64)
        for attribute in range(len(self.problem.attributes)):
            a, b = self._side_spans(attribute, line)
            left += a
            right += b
        weight = running(self.weights[line.order], line)
        return weight * left + (self.totals[line.node] - weight) * right

    def _side_spans(self, attribute: int, line: Line) -> tuple[Integers, Integers]:
        position = self.positions[attribute]
        if position is not None:
            return side_reaches(position[line.order], self.batch.node, line)
        number, first = self.values(attribute)
        counts = Members.of_numbers(number, self.batch.node[first], len(first)).sides(line)
        return self._set_penalty(attribute, counts[0]), self._set_penalty(attribute, counts[1])

    def _set_penalty(self, attribute: int, counts: Integers) -> Integers:
        unordered = self.problem.attributes[attribute]
        if not isinstance(unordered, UnorderedAttribute):
            raise InternalError("a set penalty was asked of an ordered attribute")
        return (counts * SCALE // unordered.size) * (counts > 1)


@dataclass(frozen=True, slots=True)
class _Found:
    """The best allowed cut of each partition along one attribute."""

    line: Line
    score: Integers
    """By partition; `_IMPOSSIBLE` where no cut is allowed."""
    at: Integers
    """By partition: the last group on the left."""


def _best(score: Integers, allowed: Flags, line: Line) -> _Found:
    """By partition: the least score of an allowed cut, at the first group that has it."""
    score = np.where(allowed, score, _IMPOSSIBLE)
    starts = line.first[:-1]
    least = np.minimum.reduceat(score, starts)
    groups = np.arange(len(score))
    at = np.minimum.reduceat(np.where(score == least[line.node], groups, _IMPOSSIBLE), starts)
    return _Found(line, least, at)


Choice = Callable[["Scene"], Cuts]


def least_penalty(scene: Scene) -> Cuts:
    """Of all allowed cuts the one whose children are charged least; ties by attribute, then position."""
    best = np.full(scene.batch.size, _IMPOSSIBLE)
    cuts = _no_cuts(scene.batch)
    for attribute in range(len(scene.problem.attributes)):
        line = scene.line(attribute)
        allowed = scene.allowed(attribute, line)
        if not allowed.any():
            continue
        found = _best(scene.penalties(line), allowed, line)
        better = found.score < best
        best = np.where(better, found.score, best)
        _take(cuts, scene.batch, np.flatnonzero(better), attribute, found)
    return cuts


def median(scene: Scene) -> Cuts:
    """On the attribute with the largest penalty, the allowed cut nearest to the median.

    Attributes are tried by falling penalty, ties in the plan's order, until one has an allowed cut;
    nearest is the cut that divides the rows most evenly, ties by position.
    """
    count = len(scene.problem.attributes)
    spans = np.stack([scene.spans(attribute) for attribute in range(count)])
    ranking = np.argsort(-spans, axis=0, kind="stable")
    cuts = _no_cuts(scene.batch)
    waiting = np.ones(scene.batch.size, np.bool_)
    tried: dict[int, _Found] = {}
    for turn in range(count):
        for attribute in np.unique(ranking[turn][waiting]).tolist():
            if attribute not in tried:
                tried[attribute] = _most_even(scene, attribute)
            found = tried[attribute]
            nodes = np.flatnonzero(waiting & (ranking[turn] == attribute) & (found.score < _IMPOSSIBLE))
            _take(cuts, scene.batch, nodes, attribute, found)
            waiting[nodes] = False
        if not waiting.any():
            break
    return cuts


def _most_even(scene: Scene, attribute: int) -> _Found:
    line = scene.line(attribute)
    left = running(scene.weights[line.order], line)
    unevenness = np.abs(2 * left - scene.totals[line.node])
    return _best(unevenness, scene.allowed(attribute, line), line)


def _no_cuts(batch: Batch) -> Cuts:
    return Cuts(
        np.full(batch.size, -1), np.zeros(batch.size, np.int64), np.zeros(len(batch.tuples), np.bool_)
    )


def _take(cuts: Cuts, batch: Batch, nodes: Integers, attribute: int, found: _Found) -> None:
    line, at = found.line, found.at
    cuts.attribute[nodes] = attribute
    cuts.index[nodes] = line.index[at[nodes]]
    chosen = np.zeros(batch.size, np.bool_)
    chosen[nodes] = True
    slots = np.flatnonzero(chosen[batch.node])
    cuts.left[slots] = line.group[slots] <= at[batch.node[slots]]
