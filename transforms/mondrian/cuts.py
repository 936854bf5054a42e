"""The choice of a partition's cut: the best of all allowable cuts, or the median.

# INVARIANT: everything that decides a cut is an integer. Sums of floats differ between machines.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.base import CutScore
from smalti.transforms.mondrian.sampling import surely_allowed
from smalti.transforms.partitions.entropy import concentration
from smalti.transforms.partitions.held import ColumnSides, Held, HeldOnSides, OneClass, one_class, people_of
from smalti.transforms.partitions.incidence import Diversity, Holdings, Links, Members
from smalti.transforms.partitions.layout import (
    Batch,
    Line,
    Numbers,
    by_weight,
    lay_out,
    narrow,
    ranges,
    running,
    sums,
)
from smalti.transforms.partitions.reach import Blocks, Positions, side_reaches
from smalti.transforms.partitions.weights import ColumnWeights
from smalti.transforms.problem import (
    SCALE,
    Flags,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    Problem,
    UnorderedAttribute,
)
from smalti.transforms.requirements.judge import ClassJudge
from smalti.transforms.requirements.registry import judges_of, weighs_values

Codes = NDArray[np.int32]

_IMPOSSIBLE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Table:
    """Tuples of a problem, prepared for taking any subset of them."""

    problem: Problem
    """Its parameters; tuples are not looked up in it."""
    origin: Numbers
    """By tuple: its number in the problem."""
    codes: tuple[Codes, ...]
    """For each attribute the code of each tuple."""
    domains: tuple[Positions | None, ...]
    """For each ordered attribute the position of each code."""
    weights: Integers
    respondents: Links | None
    sensitive: tuple[Holdings, ...]
    judges: tuple[ClassJudge, ...]
    """Of what each class must meet."""
    of_values: tuple[ColumnWeights, ...] = ()
    """The weights of the sensitive columns' values, where a requirement asks for them."""

    @cached_property
    def fewest_respondents(self) -> int:
        """No class with fewer respondents is allowed."""
        return max((judge.fewest_respondents for judge in self.judges), default=1)

    @cached_property
    def undecided(self) -> tuple[ClassJudge, ...]:
        """The judges that counts may not decide for."""
        has_respondents = self.respondents is not None
        return tuple(
            judge
            for judge in self.judges
            if not judge.is_decided_by_counts(has_respondents=has_respondents)
        )

    @property
    def is_kept_by_merging(self) -> bool:
        """Whether classes that meet all requirements meet them together, too."""
        has_respondents, sensitive = self.respondents is not None, len(self.sensitive)
        return all(
            judge.is_kept_by_merging(has_respondents=has_respondents, sensitive=sensitive)
            for judge in self.judges
        )

    def held(self, batch: Batch, node: int) -> OneClass:
        """What one partition of a batch holds."""
        people = None
        if self.respondents is not None:
            _, people = self.respondents.take(batch.tuples[batch.starts[node] : batch.starts[node + 1]])
        return one_class(batch, node, self.weights, people, self.sensitive, self.of_values)

    @cached_property
    def positions(self) -> dict[int, Positions]:
        """By ordered attribute the position of each tuple."""
        pairs = enumerate(zip(self.domains, self.codes, strict=True))
        return {attribute: domain[codes] for attribute, (domain, codes) in pairs if domain is not None}

    @classmethod
    def of(cls, problem: Problem) -> "Table":
        """Prepare all tuples of a problem."""
        count, people = len(problem.weights), problem.respondents
        return cls(
            problem,
            narrow(np.arange(count)),
            tuple(column.astype(np.int32) for column in problem.codes.T),
            tuple(
                kind.positions.astype(np.int32) if isinstance(kind, OrderedAttribute) else None
                for kind in problem.attributes
            ),
            problem.weights,
            Links.of(people.tuples, people.items, count) if people else None,
            tuple(Holdings.of(column, count) for column in problem.sensitive),
            judges_of(problem.requirements),
            tuple(
                ColumnWeights.of(column, reference, count)
                for column, reference in zip(problem.sensitive, problem.references, strict=True)
            )
            if weighs_values(problem.requirements)
            else (),
        )

    def subset(self, tuples: Integers) -> "Table":
        """A table of some tuples, close together in memory."""
        return Table(
            self.problem,
            self.origin[tuples],
            tuple(codes[tuples] for codes in self.codes),
            self.domains,
            self.weights[tuples],
            self.respondents and self.respondents.subset(tuples),
            tuple(holdings.subset(tuples) for holdings in self.sensitive),
            self.judges,
            tuple(column.subset(tuples) for column in self.of_values),
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

    @classmethod
    def none(cls, batch: Batch) -> "Cuts":
        return cls(
            np.full(batch.size, -1), np.zeros(batch.size, np.int64), np.zeros(len(batch.tuples), np.bool_)
        )

    def put(self, nodes: Integers, slots: Integers, part: "Cuts") -> None:
        """Take over the cuts of a part of the batch."""
        self.attribute[nodes], self.index[nodes], self.left[slots] = part.attribute, part.index, part.left


Candidate = tuple[int, int, int]
"""A cut: its partition, its attribute, and how many value groups go to the left."""


class Scene:
    """A batch with everything about it that more than one attribute's cuts need."""

    def __init__(self, table: Table, batch: Batch, struck: frozenset[Candidate] = frozenset()) -> None:
        self.table = table
        self.problem = table.problem
        self.batch = batch
        self.struck = struck
        self.weights = table.weights[batch.tuples]
        self.totals = sums(self.weights, batch.starts)
        self._lines: dict[int, Line] = {}

    @cached_property
    def blocks(self) -> Blocks:
        """The places of a line, in every attribute's the same."""
        return Blocks(self.batch.starts)

    def part(self, nodes: Integers) -> tuple["Scene", Integers]:
        """The scene of some of its partitions, and the slots that they have here."""
        if len(nodes) == self.batch.size:
            return self, np.arange(len(self.batch.tuples))
        number = {node: i for i, node in enumerate(nodes.tolist())}
        struck = frozenset((number[n], a, i) for n, a, i in self.struck if n in number)
        batch, slots = self.batch.subset(nodes)
        return Scene(self.table, batch, struck), slots

    @cached_property
    def people(self) -> Members | None:
        """The respondents of each partition; None where each row is another."""
        links = self.table.respondents
        return None if links is None else Members.of(self.batch, links)

    @cached_property
    def diversities(self) -> tuple[Diversity, ...]:
        return tuple(Diversity.of(self.batch, holdings) for holdings in self.table.sensitive)

    @cached_property
    def positions(self) -> dict[int, Positions]:
        """By ordered attribute the position of each slot."""
        return {
            attribute: position[self.batch.tuples] for attribute, position in self.table.positions.items()
        }

    def may_be_cut(self) -> Flags:
        """By partition: no if it has too few respondents for two sides, however it is cut."""
        holders = self.totals
        if self.table.respondents is not None:
            # A respondent with several tuples may be on both sides.
            holders = sums(self.table.respondents.counts(self.batch.tuples), self.batch.starts)
        return (np.diff(self.batch.starts) > 1) & (holders >= 2 * self.table.fewest_respondents)

    def codes(self, attribute: int) -> Codes:
        """By slot."""
        return self.table.codes[attribute][self.batch.tuples]

    def by_code(self, attribute: int) -> Line:
        """Lay the batch out by the codes of an attribute, once."""
        if attribute not in self._lines:
            self._lines[attribute] = lay_out(self.batch, self.codes(attribute))
        return self._lines[attribute]

    def line(self, attribute: int) -> Line:
        """Lay the batch out along an attribute.

        Values without an order stand by falling weight in their partition, then by code; those of one child
        of the lowest node that holds a partition's values are one group.
        """
        kind = self.problem.attributes[attribute]
        if isinstance(kind, OrderedAttribute):
            return self.by_code(attribute)
        if isinstance(kind, HierarchicalAttribute):
            below = kind.below(*self._extremes(attribute))[self.batch.node]
            return lay_out(self.batch, kind.nodes[below, self.codes(attribute)])
        return by_weight(self.batch, self.by_code(attribute), self.weights)

    @property
    def allowed(self) -> Flags:
        """By partition: whether it may meet what is promised, as counts tell."""
        people = people_of(self.people, self.totals)
        held = Held(people, self.diversities, self.batch, self.table.of_values)
        allowed = held.everywhere
        for judge in self.table.judges:
            allowed &= judge.may_meet(held)
        return allowed

    @property
    def ranking(self) -> Integers:
        """By turn and partition: the attributes, in the order in which their medians are tried."""
        problem = self.problem
        count = len(problem.attributes)
        if problem.cut_score is CutScore.ENTROPY:
            charged = np.stack([self._concentration(attribute) for attribute in range(count)])
        else:
            charged = -np.stack([self.spans(attribute) for attribute in range(count)])
        tuples = len(self.batch.tuples)
        is_whole = self.batch.size == 1 and tuples == len(problem.weights)
        if problem.first_attribute is not None and is_whole and tuples > problem.cut_threshold:
            charged[problem.first_attribute] = -_IMPOSSIBLE
        return np.argsort(charged, axis=0, kind="stable")

    def _concentration(self, attribute: int) -> Integers:
        """By partition: the smaller, the larger is the entropy of the attribute's values."""
        line = self.by_code(attribute)
        weights = np.add.reduceat(self.weights[line.order], line.begins)
        total: Integers = np.add.reduceat(concentration(weights), line.first[:-1])
        return total

    def spans(self, attribute: int) -> Integers:
        """By partition: the penalty of the attribute, from 0 to SCALE."""
        kind, codes = self.problem.attributes[attribute], self.codes(attribute)
        if isinstance(kind, HierarchicalAttribute):
            return kind.penalty(*self._extremes(attribute))
        if isinstance(kind, OrderedAttribute):
            least, largest = self._extremes(attribute)
            reach: Integers = kind.positions[largest] - kind.positions[least]
            return np.minimum(reach, SCALE)
        width = int(codes.max()) + 1
        if self.batch.size * width > len(codes):
            return kind.penalty(np.diff(self.by_code(attribute).first))
        # Marking what is there takes less than sorting where few different codes can be.
        is_there = np.zeros((self.batch.size, width), np.bool_)
        is_there.ravel()[self.batch.node * width + codes] = True
        return kind.penalty(np.count_nonzero(is_there, axis=1))

    def _extremes(self, attribute: int) -> tuple[Integers, Integers]:
        """By partition the least and the largest code of an attribute."""
        starts, codes = self.batch.starts[:-1], self.codes(attribute)
        least, largest = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        return least.astype(np.int64), largest.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Laid:
    """A scene laid out along one attribute, and what decides its cuts there.

    A cut comes after a value group; all figures are by group.
    """

    scene: Scene
    attribute: int
    line: Line
    weight: Integers
    """The rows up to each group."""

    @classmethod
    def of(cls, scene: Scene, attribute: int) -> "Laid":
        line = scene.line(attribute)
        return cls(scene, attribute, line, running(scene.weights[line.order], line))

    @property
    def allowed(self) -> Flags:
        """Whether both sides of the cut may meet what is promised, as counts tell; not if struck out."""
        scene, line = self.scene, self.line
        people = (self.weight, scene.totals[line.node] - self.weight)
        if scene.people is not None:
            people = scene.people.sides(line)
        columns = tuple(ColumnSides(diversity, line) for diversity in scene.diversities)
        fewest = scene.table.fewest_respondents
        held = HeldOnSides(line, people, columns, fewest, scene.batch, scene.table.of_values)
        allowed = held.everywhere
        for judge in scene.table.judges:
            allowed &= judge.may_meet_on_both_sides(held)
        allowed[line.last] = False
        for node, attribute, index in scene.struck:
            if attribute == self.attribute:
                allowed[line.first[node] + index - 1] = False
        return allowed

    def penalties(self, groups: Integers) -> Integers:
        """Rows times penalty of both sides of the cuts after these groups, added up."""
        scene, line = self.scene, self.line
        node, ends = line.node[groups], line.ends[groups]
        left, right = self._own_reaches(node, ends)
        others = [position for other, position in scene.positions.items() if other != self.attribute]
        if others:
            upto, onward = side_reaches(others, line.order, scene.blocks)
            left += upto[scene.blocks.places[ends - 1]]
            right += onward[scene.blocks.places[ends]]
        for attribute, kind in enumerate(scene.problem.attributes):
            if isinstance(kind, UnorderedAttribute):
                values = self._values(attribute, node, groups)
                left += kind.penalty(values[0])
                right += kind.penalty(values[1])
            elif isinstance(kind, HierarchicalAttribute):
                before, after = self._code_extremes(attribute)
                left += kind.penalty(*before[:, ends - 1])
                right += kind.penalty(*after[:, ends])
        weight = self.weight[groups]
        penalties: Integers = weight * left + (scene.totals[node] - weight) * right
        return penalties

    def _values(self, attribute: int, node: Integers, groups: Integers) -> tuple[Integers, Integers]:
        """How many values of an attribute there are on both sides of the cuts after these groups."""
        line = self.line
        if attribute == self.attribute:
            return groups - line.first[node] + 1, line.last[node] - groups
        left, right = Members.of_groups(self.scene.by_code(attribute)).sides(line)
        return left[groups], right[groups]

    def _code_extremes(self, attribute: int) -> tuple[Integers, Integers]:
        """The least and the largest code of an attribute up to each place of the line, and from it on."""
        codes = self.scene.codes(attribute)[self.line.order].astype(np.int64)
        # The codes of each partition are shifted beyond those of the one before, on the side that resets.
        shift = self.scene.batch.node * (int(codes.max()) + 1)
        upto = (
            np.minimum.accumulate(codes - shift) + shift,
            np.maximum.accumulate(codes + shift) - shift,
        )
        onward = (
            np.minimum.accumulate((codes + shift)[::-1])[::-1] - shift,
            np.maximum.accumulate((codes - shift)[::-1])[::-1] + shift,
        )
        return np.stack(upto), np.stack(onward)

    def _own_reaches(self, node: Integers, ends: Integers) -> tuple[Integers, Integers]:
        """How far the attribute itself reaches, if ordered, on both sides of cuts.

        Args:
            node: by cut its partition.
            ends: by cut the first place on its right.
        """
        scene, position = self.scene, self.scene.positions.get(self.attribute)
        if position is None:
            return np.zeros_like(ends), np.zeros_like(ends)
        # Slots are in its order: the extremes of a side are its first and its last.
        laid, starts = position[self.line.order], scene.batch.starts
        left = laid[ends - 1] - laid[starts[:-1]][node]
        right = laid[starts[1:] - 1][node] - laid[ends]
        return np.minimum(left, SCALE).astype(np.int64), np.minimum(right, SCALE).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Found:
    """The best allowed cut of each partition along one attribute."""

    line: Line
    score: Integers
    """By partition; `_IMPOSSIBLE` where no cut is allowed."""
    at: Integers
    """By partition: the last group on the left."""


def _best(score: Integers, groups: Integers, line: Line) -> _Found:
    """By partition: the least score of an allowed cut, at the first group that has it.

    Args:
        score: by allowed cut.
        groups: by allowed cut the last group on the left; ascending.
        line: the batch, laid out.
    """
    size = len(line.first) - 1
    least, at = np.full(size, _IMPOSSIBLE), np.zeros(size, np.int64)
    node = line.node[groups]
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    if len(starts):
        least[node[starts]] = np.minimum.reduceat(score, starts)
        first = np.flatnonzero(score == least[node])[::-1]
        at[node[first]] = groups[first]  # of several the one written last, the first
    return _Found(line, least, at)


Choice = Callable[["Scene"], Cuts]


def least_penalty(scene: Scene) -> Cuts:
    """Of all allowed cuts the one whose children are charged least; ties by attribute, then position."""
    best = np.full(scene.batch.size, _IMPOSSIBLE)
    cuts = Cuts.none(scene.batch)
    for attribute in range(len(scene.problem.attributes)):
        laid = Laid.of(scene, attribute)
        groups = np.flatnonzero(laid.allowed)
        if not len(groups):
            continue
        choice = _best(laid.penalties(groups), groups, laid.line)
        better = choice.score < best
        best = np.where(better, choice.score, best)
        _take(cuts, scene.batch, np.flatnonzero(better), attribute, choice)
    return cuts


def median(scene: Scene) -> Cuts:
    """On the attribute with the largest penalty, or entropy, the allowed cut nearest to the median.

    Attributes are tried by falling score, ties in the plan's order, until one has an allowed cut;
    nearest is the cut that divides the rows most evenly, ties by position.
    """
    cuts = Cuts.none(scene.batch)
    for turn in scene.ranking:
        waiting = cuts.attribute < 0
        for attribute in np.unique(turn[waiting]).tolist():
            nodes = np.flatnonzero(waiting & (turn == attribute))
            part, slots = scene.part(nodes)
            cuts.put(nodes, slots, _median_along(part, attribute))
    return cuts


def _median_along(scene: Scene, attribute: int) -> Cuts:
    """The allowed cut nearest to the median."""
    laid = Laid.of(scene, attribute)
    table, links = scene.table, scene.table.respondents
    if links is None or scene.struck:
        return _most_even(laid, laid.allowed)
    # Counting respondents costs more than all else; the nearest cut of all is mostly allowed.
    inner = np.ones(len(laid.weight), np.bool_)
    inner[laid.line.last] = False
    cuts = _most_even(laid, inner)
    is_cut = cuts.attribute >= 0
    children = scene.batch.children(is_cut, cuts.left)
    surely = surely_allowed(children, links, table.sensitive, table.judges, table.fewest_respondents)
    both = np.logical_and(surely[::2], surely[1::2])
    if not both.all():
        doubtful = np.flatnonzero(is_cut)[~both]
        part, slots = scene.part(doubtful)
        again = Laid.of(part, attribute)
        cuts.put(doubtful, slots, _most_even(again, again.allowed))
    return cuts


def _most_even(laid: Laid, allowed: Flags) -> Cuts:
    """Of these cuts the one that divides the rows of its partition most evenly."""
    groups = np.flatnonzero(allowed)
    unevenness = np.abs(2 * laid.weight - laid.scene.totals[laid.line.node])[groups]
    choice = _best(unevenness, groups, laid.line)
    cuts = Cuts.none(laid.scene.batch)
    _take(cuts, laid.scene.batch, np.flatnonzero(choice.score < _IMPOSSIBLE), laid.attribute, choice)
    return cuts


def _take(cuts: Cuts, batch: Batch, nodes: Integers, attribute: int, choice: _Found) -> None:
    line, at = choice.line, choice.at[nodes]
    cuts.attribute[nodes] = attribute
    cuts.index[nodes] = at - line.first[nodes] + 1
    starts = batch.starts[nodes]
    cuts.left[line.order[ranges(starts, batch.starts[nodes + 1] - starts)]] = False
    cuts.left[line.order[ranges(starts, line.ends[at] - starts)]] = True
