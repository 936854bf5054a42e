"""The search of the lattice equals trying every node, for each requirement and each measure."""

import csv
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from hospital import HOSPITAL
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mondrian_oracle import Row, can_match, make_problem, renamed
from toys import EVEN, toys

from smalti.transforms.base import (
    DISTINCT_VALUES,
    RESPONDENTS,
    Requirement,
    class_requirements,
)
from smalti.transforms.lattice import full_domain as searching
from smalti.transforms.lattice.full_domain import SUPPRESSED, FullDomain, full_domain
from smalti.transforms.lattice.grid import Node, minimal, nodes_that_meet
from smalti.transforms.lattice.measures import Measure
from smalti.transforms.problem import Problem, UnorderedAttribute
from smalti.transforms.values.levels import Levels, UnevenLevelsError

__all__ = ["toys"]
pytestmark = pytest.mark.usefixtures("toys")

LEVELS = (
    Levels(
        (np.arange(7), np.array([0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 1, 1, 1, 1]), np.zeros(7, int))
    ),
    Levels((np.arange(7), np.array([0, 0, 1, 1, 1, 2, 2]), np.zeros(7, int))),
    Levels.all_or_nothing(7),
)
"""Of up to three attributes with codes from 0 to 6; missing values have levels like others."""
PROMISES = {
    "k": (Requirement(RESPONDENTS, (2,)),),
    "k and shared": class_requirements(2),
    "l": class_requirements(2, 2),
    "even": (*class_requirements(2), Requirement(EVEN)),
}


# --- Every node, by sets of rows


def generalised(codes: tuple[int, ...], node: Node) -> tuple[int, ...]:
    return tuple(int(LEVELS[a].values[level][codes[a]]) for a, level in enumerate(node))


def is_allowed(rows: list[tuple[int, Row]], requirements: Iterable[Requirement]) -> bool:
    """Whether rows, each with its respondent, meet requirements; from their definitions."""
    people = {who for who, _ in rows}
    columns: list[dict[int, set[int]]] = [defaultdict(set) for _ in rows[0][1][2]]
    for who, (_, _, values) in rows:
        for holders, value in zip(columns, values, strict=True):
            holders[value].add(who)
    for requirement in requirements:
        match requirement.name:
            case "respondents":
                met = len(people) >= int(requirement.parameters[0])
            case "not held by all":
                met = not any(people in holders.values() for holders in columns)
            case "distinct values":
                met = all(can_match(holders, int(requirement.parameters[0])) for holders in columns)
            case _:
                met = all(len(holders) % 2 == 0 for holders in columns)
        if not met:
            return False
    return True


class Every:
    """Every node of a table's lattice: its classes, and what is suppressed."""

    def __init__(
        self, rows: list[Row], problem: Problem, one_row_each: bool, limit: Fraction, keeps: bool = False
    ) -> None:
        self.keeps = keeps
        self.rows = [(i if one_row_each else row[1], row) for i, row in enumerate(rows)]
        self.people = len({who for who, _ in self.rows})
        self.problem, self.limit = problem, limit
        heights = [range(LEVELS[a].height) for a in range(problem.codes.shape[1])]
        self.classes = {node: self.of_node(node) for node in itertools.product(*heights)}
        self.meeting = {node for node in self.classes if self.is_met(node)}

    def of_node(self, node: Node) -> list[tuple[list[tuple[int, Row]], bool]]:
        found: dict[tuple[int, ...], list[tuple[int, Row]]] = defaultdict(list)
        for who, row in self.rows:
            found[generalised(row[0], node)].append((who, row))
        return [(rows, is_allowed(rows, self.problem.requirements)) for rows in found.values()]

    def suppressed(self, node: Node) -> int:
        return len({who for rows, kept in self.classes[node] if not kept for who, _ in rows})

    def is_met(self, node: Node) -> bool:
        some = any(kept for _, kept in self.classes[node])
        rest = [row for rows, kept in self.classes[node] if not kept for row in rows]
        if self.keeps and rest and not is_allowed(rest, self.problem.requirements):
            return False
        return some and self.suppressed(node) <= self.limit * self.people

    def minimal(self) -> list[Node]:
        def is_finer(one: Node, other: Node) -> bool:
            return one != other and all(map(int.__le__, one, other))

        return sorted(n for n in self.meeting if not any(is_finer(other, n) for other in self.meeting))

    def cost(self, node: Node, measure: Measure) -> float:
        sizes = [(len(rows), kept) for rows, kept in self.classes[node]]
        lost = sum(size for size, kept in sizes if not kept)
        match measure:
            case Measure.DISCERNIBILITY:
                return sum(size * size for size, kept in sizes if kept) + lost * len(self.rows)
            case Measure.AVERAGE_CLASS:
                return (len(self.rows) - lost) / sum(kept for _, kept in sizes)
            case Measure.CERTAINTY_PENALTY:
                return sum(self.charged(node, a) for a in range(len(node)))
            case Measure.NON_UNIFORM_ENTROPY:
                return sum(self.bits(node, a) for a in range(len(node)))

    def charged(self, node: Node, attribute: int) -> float:
        values = LEVELS[attribute].values[node[attribute]]
        occurring = {row[0][attribute] for _, row in self.rows}
        leaves = Counter(int(values[code]) for code in occurring)
        total = 0.0
        for rows, kept in self.classes[node]:
            held = leaves[int(values[rows[0][1][0][attribute]])]
            total += len(rows) * (1 if not kept else held / len(occurring) if held > 1 else 0)
        return total / len(self.rows) / len(node)

    def bits(self, node: Node, attribute: int) -> float:
        values = LEVELS[attribute].values[node[attribute]]
        fine = Counter(row[0][attribute] for _, row in self.rows)
        coarse = Counter(int(values[row[0][attribute]]) for _, row in self.rows)
        return sum(n * math.log2(coarse[int(values[code])] / n) for code, n in fine.items())


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Row], bool, Problem]:
    attributes, sensitive = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    row = st.tuples(
        st.tuples(*[st.integers(0, 6)] * attributes),
        st.integers(0, 4),
        st.tuples(*[st.integers(0, 2)] * sensitive),
    )
    rows, one_row_each = draw(st.lists(row, min_size=1, max_size=8)), draw(st.booleans())
    return rows, one_row_each, make_problem(rows, one_row_each, k=2, l=1, cut_threshold=0)


@pytest.mark.parametrize("promise", PROMISES)
def test_the_search_equals_trying_every_node(promise: str) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=examples(150, full=3000), suppress_health_check=list(HealthCheck), deadline=None)
    @given(tables(), st.sampled_from([0, 1, 2, 3]), st.sampled_from(list(Measure)), st.booleans())
    def law(table: tuple[list[Row], bool, Problem], quarters: int, measure: Measure, keeps: bool) -> None:
        rows, one_row_each, problem = table
        problem = replace(problem, requirements=PROMISES[promise])
        levels, limit = LEVELS[: problem.codes.shape[1]], Fraction(quarters, 4)
        every = Every(rows, problem, one_row_each, limit, keeps)
        found = full_domain(problem, levels, limit, measure, keeps_suppressed=keeps)
        seen["found" if found else "none"] += 1
        assert (found is None) == (not every.meeting)
        if found is None:
            return
        seen["suppressed"] += found.suppressed > 0
        seen["kept"] += found.has_rest
        assert found.has_rest == (keeps and found.suppressed > 0)
        assert list(found.minimal) == every.minimal()
        assert found.node in every.meeting
        assert found.suppressed == every.suppressed(found.node)
        least = min(every.cost(node, measure) for node in every.meeting)
        assert every.cost(found.node, measure) == pytest.approx(least, abs=1e-5)
        check_classes(found, problem, every)

    law()
    assert seen["found"]
    assert seen["none"]
    assert seen["suppressed"]
    assert seen["kept"]


def check_classes(found: FullDomain, problem: Problem, every: Every) -> None:
    """Each tuple is in the class of its values, and the tuples of refused classes are in none."""
    expected = {generalised(rows[0][1][0], found.node): kept for rows, kept in every.classes[found.node]}
    numbers: dict[tuple[int, ...], int] = {}
    for codes, number in zip(problem.codes.tolist(), found.classes.tolist(), strict=True):
        value = generalised(tuple(codes), found.node)
        rest = sum(expected.values()) if found.has_rest else SUPPRESSED
        assert (number != rest) == expected[value]
        if number != rest:
            assert numbers.setdefault(value, number) == number
    assert sorted(numbers.values()) == list(range(sum(expected.values())))


def test_the_order_of_tuples_and_the_names_of_respondents_do_not_matter() -> None:
    @settings(max_examples=examples(30), suppress_health_check=list(HealthCheck), deadline=None)
    @given(tables(), st.sampled_from(list(PROMISES)), st.randoms())
    def law(table: tuple[list[Row], bool, Problem], promise: str, random: "st.DataObject") -> None:
        problem = replace(table[2], requirements=PROMISES[promise])
        levels, limit = LEVELS[: problem.codes.shape[1]], Fraction(1, 2)
        order = list(range(len(problem.weights)))
        random.shuffle(order)  # type: ignore[attr-defined]
        one, other = (
            full_domain(each, levels, limit, Measure.DISCERNIBILITY)
            for each in (problem, renamed(problem, order))
        )
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert (one.node, one.minimal, one.suppressed) == (other.node, other.minimal, other.suppressed)
            assert one.classes[order].tolist() == other.classes.tolist()

    law()


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_right_tuples_are_suppressed_at_the_lowest_node(order: list[int]) -> None:
    """Naive: classes are numbered in ascending order of values, tuples stand in the engine's order."""
    problem = make_problem([((0,), 0, ()), ((0,), 1, ()), ((1,), 0, ())], False, k=2, l=1, cut_threshold=0)
    shuffled = renamed(problem, order)
    found = full_domain(shuffled, (Levels.all_or_nothing(2),), Fraction(1, 2), Measure.NON_UNIFORM_ENTROPY)
    assert found is not None
    assert found.node == (0,)
    published = {
        int(code): int(number) for code, number in zip(shuffled.codes[:, 0], found.classes, strict=True)
    }
    assert published == {0: 0, 1: SUPPRESSED}


# --- Where pruning both ways fails


def people_of(*rows: tuple[int, int, int]) -> list[Row]:
    """Rows of (code, respondent, value)."""
    return [((code,), who, (value,)) for code, who, value in rows]


HELD_IN_A_AND_B_BUT_NOT_TOGETHER = people_of(
    (1, 0, 0), (1, 1, 1), (1, 1, 2),  # value 0 is held by one of two
    (2, 2, 0), (2, 3, 2), (2, 3, 1),
    (1, 1, 1), (2, 0, 1), (1, 2, 2), (2, 1, 0), (1, 3, 0), (2, 3, 0),
)  # fmt: skip
"""Each code's class has no value that all hold; merged, all four hold value 0."""


def test_a_value_may_be_held_by_all_of_two_classes_together_only() -> None:
    problem = make_problem(HELD_IN_A_AND_B_BUT_NOT_TOGETHER, False, k=2, l=1, cut_threshold=0)
    limit = Fraction(0)
    found = full_domain(problem, LEVELS[:1], limit, Measure.NON_UNIFORM_ENTROPY)
    every = Every(HELD_IN_A_AND_B_BUT_NOT_TOGETHER, problem, False, limit)
    assert found is not None
    assert list(found.minimal) == every.minimal() == [(0,)]
    assert (2,) not in every.meeting, "a coarser node must fail, or this is no trap"


def test_with_a_limit_a_suppressed_class_may_spoil_the_one_that_it_joins() -> None:
    """Even numbers of values: merging keeps nothing of them, and so a finer node may be the only one."""
    rows = people_of((1, 0, 0), (1, 1, 1), (1, 2, 0), (2, 3, 2), (3, 4, 0), (3, 5, 1), (4, 6, 0), (4, 7, 1))
    problem = replace(make_problem(rows, True, k=2, l=1, cut_threshold=0), requirements=PROMISES["even"])
    every = Every(rows, problem, True, Fraction(1, 8))
    found = full_domain(problem, LEVELS[:1], Fraction(1, 8), Measure.DISCERNIBILITY)
    assert found is not None
    assert (0,) in every.meeting
    assert (1,) not in every.meeting, "a coarser node must fail, or this is no trap"
    assert list(found.minimal) == every.minimal()


def test_pruning_by_what_merging_keeps_would_fail_with_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The traps are traps: a search that prunes both ways by every requirement misses nodes."""
    rows = people_of((1, 0, 0), (1, 1, 1), (1, 2, 0), (2, 3, 2), (3, 4, 0), (3, 5, 1), (4, 6, 0), (4, 7, 1))
    problem = replace(make_problem(rows, True, k=2, l=1, cut_threshold=0), requirements=PROMISES["even"])
    monkeypatch.setattr(searching._Search, "_is_prunable", lambda self, judge: True)
    every = Every(rows, problem, True, Fraction(1, 8))
    found = full_domain(problem, LEVELS[:1], Fraction(1, 8), Measure.DISCERNIBILITY)
    assert found is None or list(found.minimal) != every.minimal()


# --- The grid


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_the_grid_finds_every_set_that_coarser_nodes_keep(heights: list[int], data: st.DataObject) -> None:
    nodes = list(itertools.product(*map(range, heights)))
    roots = data.draw(st.lists(st.sampled_from(nodes), max_size=4))
    wanted = {node for node in nodes if any(all(map(int.__le__, root, node)) for root in roots)}
    flags = nodes_that_meet(tuple(heights), lambda node: node in wanted)
    assert {node for node in nodes if flags[node]} == wanted
    finest = {
        node for node in set(roots) if not any(r != node and all(map(int.__le__, r, node)) for r in roots)
    }
    assert set(minimal(flags)) == finest


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_minimal_nodes_of_any_set(heights: list[int], data: st.DataObject) -> None:
    nodes = list(itertools.product(*map(range, heights)))
    some = set(data.draw(st.lists(st.sampled_from(nodes))))
    flags = np.zeros(heights, np.bool_)
    for node in some:
        flags[node] = True
    finest = sorted(n for n in some if not any(m != n and all(map(int.__le__, m, n)) for m in some))
    assert minimal(flags) == finest


@pytest.mark.parametrize(
    "values",
    [
        (np.array([0, 0]),),
        (np.arange(3), np.array([0, 1, 1]), np.array([0, 1, 0])),
        (np.arange(2), np.array([0, 2])),
        (np.arange(2), np.array([0])),
        (),
    ],
)
def test_levels_that_do_not_build_on_each_other_are_refused(values: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(UnevenLevelsError):
        Levels(values)


# --- The hospital of MOSAICrOWN D5.2


def levels_of(values: list[str], kinds: list[list[str]]) -> Levels:
    numbers = [{label: i for i, label in enumerate(dict.fromkeys(labels))} for labels in kinds]
    return Levels((
        np.arange(len(values)),
        *(np.array([n[label] for label in labels]) for n, labels in zip(numbers, kinds, strict=True)),
    ))  # fmt: skip


def hospital(requirements: tuple[Requirement, ...]) -> tuple[Problem, tuple[Levels, ...]]:
    rows = list(csv.reader(HOSPITAL.splitlines()))
    births, sexes, codes, diseases = (sorted(set(column)) for column in zip(*rows, strict=True))
    coded: list[Row] = [
        ((births.index(b), sexes.index(s), codes.index(z)), i, (diseases.index(d),))
        for i, (b, s, z, d) in enumerate(rows)
    ]
    tuples = sorted({row[0] for row in coded})
    place = {codes: i for i, codes in enumerate(tuples)}
    problem = make_problem(
        [((place[c],), who, values) for c, who, values in coded], True, k=2, l=1, cut_threshold=0
    )
    attributes = tuple(UnorderedAttribute(len(each)) for each in (births, sexes, codes))
    levels = (
        levels_of(births, [[b[:7] for b in births], [b[:4] for b in births], ["*"] * len(births)]),
        levels_of(sexes, [["*"] * 2]),
        levels_of(codes, [[z[: 5 - n] for z in codes] for n in range(1, 6)]),
    )
    return replace(
        problem, codes=np.array(tuples), attributes=attributes, requirements=requirements
    ), levels


K_4, L_3 = Requirement(RESPONDENTS, (4,)), Requirement(DISTINCT_VALUES, (3,))


@pytest.mark.parametrize(
    ("requirements", "limit", "nodes"),
    [
        ((K_4,), 1, [(1, 1, 2), (2, 0, 2), (2, 1, 1), (3, 0, 1)]),
        ((K_4, L_3), 1, [(2, 0, 2), (2, 1, 1), (3, 0, 1)]),
        ((K_4,), 0, [(3, 0, 3)]),
        ((K_4, L_3), 0, [(3, 0, 3)]),
    ],
)
def test_the_minimal_generalisations_of_the_hospital(
    requirements: tuple[Requirement, ...], limit: int, nodes: list[Node]
) -> None:
    """MOSAICrOWN D5.2, Figures 3.1 and 3.3; levels of date (day, month, year, all), sex, digits masked."""
    problem, levels = hospital(requirements)
    found = full_domain(problem, levels, Fraction(limit, 17), Measure.NON_UNIFORM_ENTROPY)
    assert found is not None
    assert list(found.minimal) == nodes
    assert found.suppressed == limit
