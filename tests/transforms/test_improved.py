"""Improved Mondrian: what it never does worse than the classes it begins with, and where it does better."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mondrian_oracle import Oracle, Row, make_problem, tables

from smalti.transforms.base import CLOSENESS, Requirement, class_requirements
from smalti.transforms.improving.block import Block
from smalti.transforms.improving.charges import Charges
from smalti.transforms.improving.search import improved
from smalti.transforms.mondrian import improved as algorithm
from smalti.transforms.mondrian.improved import partition_improved
from smalti.transforms.mondrian.kernel import partition
from smalti.transforms.problem import (
    SCALE,
    Attribute,
    Flags,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    Problem,
    UnorderedAttribute,
)
from smalti.transforms.values.metrics import class_penalties

LINE = OrderedAttribute(np.array([-SCALE, 0, 10, 1000, SCALE // 2, SCALE // 2 + 1, SCALE]))
TREE = HierarchicalAttribute(
    np.array([range(7), [0, 1, 1, 1, 2, 3, 3], [0, 1, 1, 1, 1, 2, 2], [0] * 7], np.int64), 7
)


def on_a_line(places: Sequence[int], rows: Sequence[int], **others: int) -> Problem:
    """One row each at places from 0 to 100, so many at each."""
    positions = np.array([-SCALE, *(place * SCALE // 100 for place in places)])
    return Problem(
        np.arange(1, len(places) + 1).reshape(-1, 1),
        np.array(rows),
        (OrderedAttribute(positions),),
        None,
        (),
        class_requirements(others.get("k", 2)),
        others.get("threshold", 256),
    )


def loss(problem: Problem, classes: Integers) -> int:
    rows = np.bincount(classes, problem.weights).astype(np.int64)
    return sum(int((rows * charged).sum()) for charged in class_penalties(problem, classes))


def grouped(classes: Integers) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(classes == number).tolist()) for number in np.unique(classes)}


# --- What holds for each table


def test_nothing_is_worse_and_classes_keep_their_promise_and_differ() -> None:
    better: list[bool] = []

    @settings(max_examples=examples(300, full=4000))
    @given(tables())
    def law(table: tuple[list[Row], bool, Problem]) -> None:
        rows, one_row_each, problem = table
        strict, classes = partition(problem), partition_improved(problem)
        if strict is None:
            assert classes is None
            return
        assert classes is not None
        assert set(classes.tolist()) == set(range(int(classes.max()) + 1))
        assert loss(problem, classes) <= loss(problem, strict)
        better.append(loss(problem, classes) < loss(problem, strict))
        oracle = Oracle(rows, problem, one_row_each)
        class_of = {tuple(code): int(c) for code, c in zip(problem.codes.tolist(), classes, strict=True)}
        shown: list[tuple[object, ...]] = []
        for number in range(int(classes.max()) + 1):
            held = [row for row in rows if class_of[row[0]] == number]
            assert oracle.allowed(held)
            shown.append(
                tuple(label(problem, [row[0][a] for row in held], a) for a in range(len(held[0][0])))
            )
        assert len(set(shown)) == len(shown), "readers take equal labels for one class"

    law()
    assert any(better)


def label(problem: Problem, codes: list[int], attribute: int) -> object:
    """What is published of a class: a set of values, or the ends of a range and whether one is missing."""
    if isinstance(problem.attributes[attribute], UnorderedAttribute):
        return frozenset(codes)
    present = [code for code in codes if code]
    return (min(present), max(present), 0 in codes) if present else None


@given(
    st.sampled_from([LINE, TREE, UnorderedAttribute(7)]),
    st.lists(st.integers(0, 6), min_size=2, max_size=9),
    st.integers(1, 9),
)
def test_charges_are_those_of_classes(attribute: Attribute, codes: list[int], size: int) -> None:
    column = np.array(codes).reshape(-1, 1)
    charges = Charges(column, (attribute,))
    group = np.arange(min(size, len(codes)))

    def charged(tuples: list[int]) -> int:
        part = Problem(column[tuples], np.ones(len(tuples), np.int64), (attribute,), None, (), (), 256)
        return int(class_penalties(part, np.zeros(len(tuples), np.int64))[0][0]) if tuples else 0

    members = group.tolist()
    assert charges.of(group) == charged(members)
    assert charges.with_each(group).tolist() == [charged([*members, i]) for i in range(len(codes))]
    assert charges.without_each(group).tolist() == [
        charged([j for j in members if j != i]) for i in members
    ]


# --- Each change, by hand


def test_a_combination_of_many_rows_is_a_class_by_itself() -> None:
    """Strictly, a cut beside the heavy one would leave one row alone."""
    problem = on_a_line([0, 10, 20], [1, 9, 1])
    strict, classes = partition(problem), partition_improved(problem)
    assert strict is not None
    assert classes is not None
    assert grouped(strict) == {frozenset({0, 1, 2})}
    assert grouped(classes) == {frozenset({1}), frozenset({0, 2})}, "whose ranges overlap"


def line_block(places: list[int], rows: list[int], k: int) -> Block:
    positions = OrderedAttribute(np.array(places) * (SCALE // 100))
    weights = np.array(rows)

    def meets(groups: Sequence[Integers]) -> Flags:
        return np.array([weights[group].sum() >= k for group in groups])

    return Block(Charges(np.arange(len(places)).reshape(-1, 1), (positions,)), weights, k, meets)


@pytest.mark.parametrize(
    ("places", "rows", "before", "after"),
    [
        pytest.param([0, 1, 2, 9, 10], [1] * 5, [[0, 1], [2, 3, 4]], [[0, 1, 2], [3, 4]], id="move"),
        pytest.param([0, 1, 2, 9], [1, 1, 2, 2], [[0, 1], [2, 3]], [[0, 1], [2], [3]], id="alone"),
        pytest.param([0, 1, 9, 10], [1] * 4, [[0, 2], [1, 3]], [[0, 1], [2, 3]], id="swap"),
        pytest.param([0, 1, 2, 8, 9, 10, 4], [3, 3, 1, 1, 3, 3, 2], [[0, 1], [2, 3], [4, 5], [6]],
                     [[0], [1, 2], [3, 4], [5], [6]], id="give up"),
    ],
)  # fmt: skip
def test_a_change_is_made_where_it_loses_less(
    places: list[int], rows: list[int], before: list[list[int]], after: list[list[int]]
) -> None:
    block = line_block(places, rows, 2)
    groups = improved(block, [np.array(group) for group in before])
    assert sorted(sorted(group.tolist()) for group in groups) == after


def test_what_is_refused_is_not_made_and_others_are_tried() -> None:
    """The best move is refused by whoever says what groups must meet; the next one is made."""
    block = line_block([0, 1, 2, 9, 10], [1] * 5, 2)

    def meets(groups: Sequence[Integers]) -> Flags:
        return np.array([len(group) >= 2 and set(group.tolist()) != {3, 4} for group in groups])

    groups = improved(replace(block, meets=meets), [np.array([0, 1]), np.array([2, 3, 4])])
    assert sorted(sorted(group.tolist()) for group in groups) == [[0, 1], [2, 3, 4]]


# --- Its limits


def test_blocks_are_no_larger_than_what_is_cut_in_sql_first() -> None:
    """With a threshold below the size of a block, a block is what the threshold says."""
    draw = np.random.default_rng(3)
    places = np.sort(draw.choice(1000, 200, replace=False)) / 10
    problem = on_a_line(places.tolist(), draw.integers(1, 4, 200).tolist(), k=5, threshold=20)
    blocks = algorithm._blocks(algorithm.Table.of(problem), 20)
    whole = partition_improved(problem)
    assert whole is not None
    assert max(map(len, blocks)) <= 20
    for block in blocks:
        part = replace(problem, codes=problem.codes[block], weights=problem.weights[block])
        alone = partition_improved(part)
        assert alone is not None
        assert grouped(alone) == {
            frozenset(np.flatnonzero(whole[block] == number).tolist()) for number in np.unique(whole[block])
        }


def test_a_distribution_is_kept_close_by_each_change() -> None:
    draw = np.random.default_rng(5)
    rows: list[Row] = [
        (tuple(draw.integers(1, (6, 4, 7)).tolist()), i, (int(draw.integers(0, 3)),)) for i in range(160)
    ]
    problem = make_problem(rows, True, k=4, l=1, cut_threshold=256)
    requirements = (*problem.requirements, Requirement(CLOSENESS, (Fraction(1, 4), "equal")))
    problem = replace(problem, requirements=requirements)
    strict, classes = partition(problem), partition_improved(problem)
    assert strict is not None
    assert classes is not None
    assert loss(problem, classes) < loss(problem, strict)
    class_of = {tuple(code): int(c) for code, c in zip(problem.codes.tolist(), classes, strict=True)}
    table = np.bincount([row[2][0] for row in rows], minlength=3) / len(rows)
    for number in range(int(classes.max()) + 1):
        values = [row[2][0] for row in rows if class_of[row[0]] == number]
        shares = np.bincount(values, minlength=3) / len(values)
        assert np.abs(shares - table).sum() / 2 <= 0.25 + 1e-9


@pytest.mark.parametrize(
    ("attribute", "columns"),
    [
        (LINE, [1, 4, 1, 4, 2]),  # ranges from 1 to 4 both times
        (LINE, [0, 3, 0, 3, 2]),  # 3, or missing
        (UnorderedAttribute(7), [1, 4, 1, 4, 2]),
        (TREE, [1, 4, 2, 4, 5]),  # the nodes over 1 and 2, and over 4
    ],
)
def test_classes_that_would_be_published_alike_are_one(attribute: Attribute, columns: list[int]) -> None:
    codes = np.column_stack((columns, [1, 4, 4, 1, 2]))
    groups = [np.array([0, 1]), np.array([2, 3]), np.array([4])]
    apart = algorithm._told_apart(codes, (attribute, LINE), groups)
    assert sorted(sorted(group.tolist()) for group in apart) == [[0, 1, 2, 3], [4]]
