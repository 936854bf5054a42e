"""Microaggregation equals MDAV and the best partition as the papers write them, row by row in fractions."""

import itertools
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.base import Figure, GroupingTerms, Standardization, class_requirements
from smalti.transforms.microaggregation.algorithm import microaggregated
from smalti.transforms.microaggregation.blocks import block_of_each
from smalti.transforms.microaggregation.coordinates import GRID_BITS, coordinates
from smalti.transforms.microaggregation.distant import Groups, distant_groups
from smalti.transforms.microaggregation.joining import joined
from smalti.transforms.microaggregation.places import Places
from smalti.transforms.problem import MISSING, FigureAttribute, Incidence, Integers, Problem

NONE, RANGE, DEVIATION = Standardization
Point = tuple[int, ...]
Unit = tuple[Point, frozenset[int]]
"""Rows that stay together: where they are, and whom they are about; one row where each is about another."""


def on_lines(points: Integers) -> Places:
    return Places(points, ())


# --- MDAV as the paper has it


def apart(one: Sequence[Fraction | int], other: Sequence[Fraction | int]) -> Fraction:
    return sum((Fraction(a - b) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))


def people_of(units: Sequence[tuple[Unit, int]]) -> set[int]:
    return {person for (_, people), _ in units for person in people}


def mdav(units: Sequence[tuple[Unit, int]], k: int) -> Iterator[list[tuple[Unit, int]]]:
    """Groups of units, each with its number of rows, in canonical order."""
    left = list(units)

    def farthest(from_: Sequence[Fraction | int]) -> Point:
        return max(left, key=lambda unit: apart(unit[0][0], from_))[0][0]

    def centre() -> list[Fraction]:
        rows = sum(count for _, count in left)
        return [
            Fraction(sum(unit[0][axis] * count for unit, count in left), rows)
            for axis in range(len(left[0][0][0]))
        ]

    def take(point: Point) -> list[tuple[Unit, int]]:
        group: list[tuple[Unit, int]] = []
        for unit in sorted(left, key=lambda unit: apart(unit[0][0], point)):
            group.append(unit)
            left.remove(unit)
            if len(people_of(group)) >= k:
                break
        return group

    while len(people_of(left)) >= 3 * k:
        point = farthest(centre())
        yield take(point)
        if len(people_of(left)) >= k:
            yield take(farthest(point))
    if len(people_of(left)) >= 2 * k:
        yield take(farthest(centre()))
    if left:
        yield left


POINT = st.tuples(st.integers(0, 12), st.integers(0, 9))


def read(found: Groups, points: Sequence[Point]) -> list[list[Point]]:
    """By group, the point of each row."""
    groups: list[list[Point]] = [[] for _ in found.blocks]
    for item, group, rows in zip(found.items, found.groups, found.rows, strict=True):
        groups[group] += [points[item]] * int(rows)
    return [sorted(group) for group in groups]


@settings(max_examples=examples(150, full=5000), deadline=None)
@given(st.lists(POINT, min_size=1, max_size=30), st.integers(1, 4), st.integers(1, 3))
def test_groups_of_rows_are_those_of_the_paper_in_each_block(rows: list[Point], k: int, cut: int) -> None:
    points = sorted(set(rows))
    weights = np.array([rows.count(point) for point in points])
    blocks = np.array_split(np.arange(len(points)), min(cut, len(points)))
    found = distant_groups(on_lines(np.array(points).T), weights, blocks, None, k)
    expected = []
    for number, block in enumerate(blocks):
        units = [
            ((points[item], frozenset([1000 * item + turn])), 1)
            for item in block.tolist()
            for turn in range(weights[item])
        ]
        groups = [sorted(unit[0] for unit, _ in group) for group in mdav(units, k)]
        expected += [(number, group) for group in groups]
    assert list(zip(found.blocks.tolist(), read(found, points), strict=True)) == expected


@settings(max_examples=examples(150, full=5000), deadline=None)
@given(
    st.lists(st.tuples(POINT, st.integers(0, 7)), min_size=1, max_size=30),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_groups_of_respondents_are_those_of_the_paper_with_whole_tuples(
    rows: list[tuple[Point, int]], k: int, cut: int
) -> None:
    points = sorted({point for point, _ in rows})
    weights = np.array([sum(at == point for at, _ in rows) for point in points])
    pairs = sorted({(points.index(point), person) for point, person in rows})
    people = Incidence(*(np.array(column) for column in zip(*pairs, strict=True)))
    blocks = np.array_split(np.arange(len(points)), min(cut, len(points)))
    found = distant_groups(on_lines(np.array(points).T), weights, blocks, people, k)
    expected = []
    for number, block in enumerate(blocks):
        units = [
            ((points[item], frozenset(person for at, person in pairs if at == item)), int(weights[item]))
            for item in block.tolist()
        ]
        for group in mdav(units, k):
            expected.append((number, sorted(p for unit, n in group for p in [unit[0]] * n)))
    assert list(zip(found.blocks.tolist(), read(found, points), strict=True)) == expected


@pytest.mark.parametrize("columns", [2, 3])
def test_respondents_who_are_all_alike_are_one_group(columns: int) -> None:
    people = Incidence(np.zeros(9, np.int64), np.arange(9))
    points = np.zeros((columns, 1), np.int64)
    found = distant_groups(on_lines(points), np.array([12]), [np.array([0])], people, 3)
    assert (found.groups.tolist(), found.rows.tolist(), found.blocks.tolist()) == ([0], [12], [0])


# --- From a problem to classes


def problem_of(
    rows: Sequence[tuple[int | None, ...]],
    k: int,
    terms: GroupingTerms = GroupingTerms(NONE),  # noqa: B008 (frozen)
    people: Sequence[int] | None = None,
) -> Problem:
    columns = list(zip(*rows, strict=True))
    values = [sorted({value for value in column if value is not None}) for column in columns]
    coded = [
        tuple(
            MISSING if value is None else held.index(value) + 1
            for held, value in zip(values, row, strict=True)
        )
        for row in rows
    ]
    tuples = sorted(set(coded))
    attributes = tuple(
        FigureAttribute(
            np.zeros(len(held) + 1, np.int64), Figure.MEAN, np.array(held, np.int64), 0, 0, False
        )
        for held in values
    )
    who = None
    if people is not None:
        pairs = sorted({(tuples.index(code), person) for code, person in zip(coded, people, strict=True)})
        who = Incidence(*(np.array(column) for column in zip(*pairs, strict=True)))
    return Problem(
        np.array(tuples), np.array([coded.count(code) for code in tuples]), attributes, who, (),
        class_requirements(k), 256, grouping_terms=terms,
    )  # fmt: skip


def classes_of(problem: Problem) -> list[list[tuple[int | None, ...]]] | None:
    """The rows of each class."""
    portions = microaggregated(problem)
    if portions is None:
        return None
    classes: dict[int, list[tuple[int | None, ...]]] = {}
    for atom, number, rows in zip(portions.atoms, portions.classes, portions.rows, strict=True):
        row = tuple(
            None if code == MISSING else int(attribute.numbers[code - 1])
            for code, attribute in zip(problem.codes[atom], problem.attributes, strict=True)
            if isinstance(attribute, FigureAttribute)
        )
        classes.setdefault(int(number), []).extend([row] * int(rows))
    return sorted((sorted(held, key=str) for held in classes.values()), key=str)


def test_figure_3_2() -> None:
    facts = json.loads('{"k": 3, "input": [20, 25, 30, 35, 40, 45], "output": [25, 25, 25, 40, 40, 40]}')
    found = classes_of(problem_of([(value,) for value in facts["input"]], facts["k"]))
    assert found is not None
    means = [Fraction(sum(value or 0 for (value,) in held), len(held)) for held in found for _ in held]
    assert means == facts["output"]


def error(values: Sequence[int]) -> Fraction:
    mean = Fraction(sum(values), len(values))
    return sum(((value - mean) ** 2 for value in values), Fraction(0))


def partitions(rows: Sequence[int]) -> Iterator[list[list[int]]]:
    """All partitions of the places of rows, also of rows that are not side by side."""
    if not rows:
        yield []
        return
    first, *others = rows
    for size in range(len(others) + 1):
        for beside in itertools.combinations(others, size):
            rest = [row for row in others if row not in beside]
            yield from ([[first, *beside], *more] for more in partitions(rest))


@settings(max_examples=examples(40, full=2000), deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=7), st.integers(1, 3))
def test_no_partition_of_a_column_has_a_smaller_error(values: list[int], k: int) -> None:
    found = classes_of(problem_of([(value,) for value in values], k))
    possible = [
        sum((error([values[place] for place in group]) for group in groups), Fraction(0))
        for groups in partitions(range(len(values)))
        if min(map(len, groups)) >= k
    ]
    if found is None:
        assert not possible
        return
    held = [[value for (value,) in group if value is not None] for group in found]
    assert all(k <= len(group) <= 2 * k - 1 for group in held) or len(values) < 2 * k
    assert sum(map(error, held), Fraction(0)) == min(possible)


@settings(max_examples=examples(300, full=2000), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5)), min_size=1, max_size=20), st.integers(1, 4)
)
def test_no_runs_of_respondents_on_a_line_have_a_smaller_error(rows: list[tuple[int, int]], k: int) -> None:
    found = classes_of(problem_of([(value,) for value, _ in rows], k, people=[who for _, who in rows]))
    values = sorted({value for value, _ in rows})
    errors = []
    for count in range(len(values)):
        for cuts in itertools.combinations(range(1, len(values)), count):
            runs = [values[a:b] for a, b in itertools.pairwise([0, *cuts, len(values)])]
            if all(len({who for value, who in rows if value in run}) >= k for run in runs):
                held = [[value for value, _ in rows if value in run] for run in runs]
                errors.append(sum(map(error, held), Fraction(0)))
    if found is None:
        assert not errors
        return
    held = [[value for (value,) in group if value is not None] for group in found]
    assert sum(map(error, held), Fraction(0)) == min(errors)


def test_rows_that_are_alike_may_be_divided_and_missing_ones_go_together() -> None:
    rows: list[tuple[int | None, ...]] = [(1, 1)] * 5 + [(9, None)] * 2 + [(9, 9)] * 2
    found = classes_of(problem_of(rows, 2))
    assert found == [[(1, 1)] * 3, [(1, 1)] * 2, [(9, 9)] * 2, [(9, None)] * 2]


def test_who_is_left_joins_the_nearest_group() -> None:
    """Two groups have enough respondents; the third has one alone, who is nearer to the second."""
    classes = joined(
        np.array([[0, 30, 10]]), np.array([3, 3, 1]), np.zeros(3, np.int64),
        lambda classes: np.bincount(classes, [3, 3, 1]) >= 3,
    )  # fmt: skip
    assert classes.tolist() == [0, 1, 1]


def test_groups_join_within_their_block_alone() -> None:
    classes = joined(
        np.array([[0, 8, 10, 90]]), np.array([1, 1, 1, 1]), np.array([0, 0, 1, 1]),
        lambda classes: np.bincount(classes) >= 2,
    )  # fmt: skip
    assert classes.tolist() == [0, 0, 1, 1]


# --- Coordinates


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-(10**6), 10**6), st.one_of(st.none(), st.integers(0, 10**30))),
        min_size=2,
        max_size=12,
    ),
    st.sampled_from(Standardization),
)
def test_coordinates_are_those_of_standardised_values(
    rows: list[tuple[int, int | None]], standardization: Standardization
) -> None:
    columns = [[row[0] for row in rows], [row[1] for row in rows]]
    codes, attributes, exact, widths = [], [], [], []
    for column in columns:
        present = [value for value in column if value is not None]
        held = sorted(set(present))
        codes.append([MISSING if value is None else held.index(value) + 1 for value in column])
        attributes.append(
            FigureAttribute(
                np.zeros(len(held) + 1, np.int64), Figure.MEAN, np.array(held, object), 0, 0, False
            )
        )
        extent = max(max(held) - min(held), 1) if held else 1
        mean = Fraction(sum(present), max(len(present), 1))
        variance = sum(((value - mean) ** 2 for value in present), Fraction(0)) / max(len(present), 1)
        unit = {
            NONE: Fraction(1),
            RANGE: Fraction(extent),
            DEVIATION: Fraction(Decimal(variance.numerator).sqrt() / Decimal(variance.denominator).sqrt())
            if variance
            else Fraction(1),
        }[standardization]
        low = min(held, default=0)
        widths.append(Fraction(extent * (1 + (None in column))) / unit)
        exact.append([Fraction(-extent if value is None else value - low) / unit for value in column])
    ones = np.ones(len(rows), np.int64)
    found = coordinates(attributes, np.array(codes).T, ones, standardization).lines
    widest, grid = max(widths), Fraction(1 << GRID_BITS)
    steps = Fraction(1) if standardization is NONE and widest <= grid else grid / widest
    for ours, column in zip(found.tolist(), exact, strict=True):
        for (a, x), (b, y) in itertools.combinations(zip(ours, column, strict=True), 2):
            assert abs((a - b) - (x - y) * steps) <= 2


def test_values_without_standardisation_are_taken_as_they_are() -> None:
    problem = problem_of([(3, 100), (5, None), (10, 300)], 1)
    found = coordinates(problem.attributes, problem.codes, problem.weights, NONE).lines
    assert np.diff(found[0]).tolist() == [2, 5]
    assert np.diff(found[1]).tolist() == [-200, 400]


def test_decimals_count_alike_in_all_columns() -> None:
    tenths = FigureAttribute(np.zeros(3, np.int64), Figure.MEAN, np.array([10, 25]), 1, 1, False)
    units = FigureAttribute(np.zeros(3, np.int64), Figure.MEAN, np.array([1, 3]), 0, 0, False)
    found = coordinates([tenths, units], np.array([[1, 1], [2, 2]]), np.ones(2, np.int64), NONE).lines
    assert np.diff(found).tolist() == [[15], [20]]


@pytest.mark.parametrize("standardization", [RANGE, DEVIATION])
def test_standardised_columns_of_one_shape_are_alike(standardization: Standardization) -> None:
    rows = [(1, 1000), (2, 2000), (4, 4000), (9, 9000)]
    problem = problem_of(rows, 1)
    found = coordinates(problem.attributes, problem.codes, problem.weights, standardization)
    first, second = found.lines
    assert np.abs(first - second).max() <= 1
    assert int(first[-1] - first[0]) in range((1 << GRID_BITS) - 1, (1 << GRID_BITS) + 1)
    share = (first - first[0]) / (1 << GRID_BITS)
    assert share.tolist() == pytest.approx([0, 1 / 8, 3 / 8, 1], abs=1e-5)


def test_products_of_rows_and_squares_fit_for_many_rows() -> None:
    attribute = FigureAttribute(np.zeros(3, np.int64), Figure.MEAN, np.array([0, 10**18]), 0, 0, False)
    rows = np.array([1 << 34, 1 << 34])
    found = coordinates([attribute] * 8, np.array([[1] * 8, [2] * 8]), rows, DEVIATION).lines
    widest = int(np.ptp(found[0]))
    assert widest > 1
    assert int(rows.sum()) * 8 * widest * widest < 1 << 63


# --- Blocks


def test_blocks_have_equal_shares_along_the_widest_column() -> None:
    points = np.array([[0, 1, 2, 3, 100, 101, 102, 103], [0, 9, 0, 9, 0, 9, 0, 9]])
    blocks = block_of_each(on_lines(points), 4, lambda blocks: np.ones(int(blocks.max()) + 1, bool))
    assert blocks.tolist() == [0, 1, 0, 1, 2, 3, 2, 3]
    blocks = block_of_each(on_lines(points), 3, lambda blocks: np.ones(int(blocks.max()) + 1, bool))
    assert np.bincount(blocks).tolist() == [2, 3, 3]


def test_what_has_a_side_that_misses_a_requirement_is_not_cut() -> None:
    points = np.arange(8)[np.newaxis]

    def meets(blocks: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.bincount(blocks) >= 3

    assert block_of_each(on_lines(points), 4, meets).tolist() == [0] * 4 + [1] * 4
    assert block_of_each(on_lines(points), 100, meets).tolist() == [0] * 4 + [1] * 4
    assert block_of_each(on_lines(points[:, :5]), 2, meets).tolist() == [0] * 5


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(POINT, min_size=1, max_size=40), st.integers(1, 3), st.integers(2, 9))
def test_each_class_of_blocks_has_enough_rows(rows: list[Point], k: int, blocks: int) -> None:
    for terms in (GroupingTerms(RANGE, blocks), GroupingTerms(DEVIATION, blocks)):
        found = classes_of(problem_of(rows, k, terms))
        if found is None:
            assert len(rows) < k
            continue
        assert min(map(len, found)) >= k
        assert sorted(row for held in found for row in held) == sorted(rows)


def test_groups_of_normal_numbers_keep_nearly_all_of_their_variance() -> None:
    random = np.random.default_rng(1)
    rows = [tuple(map(int, row)) for row in random.normal(0, 1000, (2000, 2))]
    found = classes_of(problem_of(rows, 10, GroupingTerms(DEVIATION)))
    assert found is not None
    data = np.array(rows, float) / np.array(rows).std(axis=0)
    within = sum(
        float(((np.array(held, float) - np.mean(held, axis=0)) ** 2 / np.array(rows).var(axis=0)).sum())
        for held in found
    )
    assert within / float(((data - data.mean(axis=0)) ** 2).sum()) < 0.02
