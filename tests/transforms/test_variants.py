"""Mondrian by other words than the default ones: each against a plain version of its rule."""

import math
from dataclasses import replace

import numpy as np
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mondrian_oracle import Oracle, Row, classes_of, make_problem, renamed, tables

from smalti.transforms.base import CutScore, class_requirements
from smalti.transforms.partitions.entropy import binary_logarithm, concentration
from smalti.transforms.problem import Problem

Tables = tuple[list[Row], bool, Problem]


@st.composite
def variants(draw: st.DrawFn) -> Tables:
    """Tables whose cuts are judged otherwise, or of which a first attribute is known."""
    rows, one_row_each, problem = draw(tables())
    return rows, one_row_each, replace(
        problem,
        cut_score=draw(st.sampled_from(CutScore)),
        first_attribute=draw(st.sampled_from([None, *range(len(problem.attributes))])),
    )  # fmt: skip


@settings(max_examples=examples(130, full=4000))
@given(variants())
def test_cuts_are_those_of_the_plain_rule(table: Tables) -> None:
    rows, one_row_each, problem = table
    assert classes_of(problem) == Oracle(rows, problem, one_row_each).answer()


@settings(max_examples=examples(50, full=1000))
@given(variants(), st.randoms())
def test_order_of_tuples_and_names_of_respondents_do_not_matter(
    table: Tables, random: "st.DataObject"
) -> None:
    problem = table[2]
    order = list(range(len(problem.weights)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert classes_of(renamed(problem, order)) == classes_of(problem)


def skewed() -> list[Row]:
    """A wide attribute with nearly all rows in one value, and a narrow one with rows spread evenly."""
    rows: list[Row] = [((1, 1 + i % 2), i, ()) for i in range(8)]
    return [*rows, ((6, 1), 8, ()), ((6, 2), 9, ())]


def left_codes(problem: Problem, attribute: int) -> set[frozenset[int]]:
    found = classes_of(problem)
    assert found is not None
    return {frozenset(codes[attribute] for codes in part) for part in found}


def test_each_score_and_the_first_attribute_cut_elsewhere() -> None:
    """At k = 5 there is one cut, since along the wide attribute two rows are too few; at k = 2 several."""
    problem = make_problem(skewed(), True, k=5, l=1, cut_threshold=0)
    wide, even = {frozenset({1, 6})}, {frozenset({1}), frozenset({2})}
    for score in CutScore:
        judged = replace(problem, cut_score=score)
        assert (left_codes(judged, 0), left_codes(judged, 1)) == (wide, even)
    problem = replace(problem, requirements=class_requirements(2))
    spans = classes_of(replace(problem, cut_score=CutScore.NORMALIZED_SPAN))
    entropy = classes_of(replace(problem, cut_score=CutScore.ENTROPY))
    assert spans is not None
    assert entropy is not None
    assert {frozenset({(6, 1), (6, 2)})} <= spans
    assert not {frozenset({(6, 1), (6, 2)})} & entropy


def test_the_first_attribute_counts_above_the_threshold_only() -> None:
    rows: list[Row] = [((a, 1 + b), 0, ()) for a in (1, 6) for b in range(2) for _ in range(2)]
    problem = replace(make_problem(rows, True, k=4, l=1, cut_threshold=3), first_attribute=1)
    assert left_codes(problem, 1) == {frozenset({1}), frozenset({2})}
    assert left_codes(replace(problem, first_attribute=None), 1) == {frozenset({1, 2})}
    assert left_codes(replace(problem, cut_threshold=4, cut_score=CutScore.ENTROPY), 0) == {
        frozenset({1}), frozenset({6}),
    }  # fmt: skip


@given(st.integers(1, 1 << 45), st.integers(1, 100))
def test_logarithms_are_exact_to_the_last_bit_but_one_and_never_fall(number: int, step: int) -> None:
    this, that = binary_logarithm(np.array([number, number + step])).tolist()
    scaled = math.log2(number) * 65536
    assert scaled - 2 < this <= scaled + 1e-6
    assert this <= that


def test_the_sum_of_a_large_table_fits() -> None:
    assert concentration(np.array([1 << 40])).tolist() == [40 << 56]
