"""Categories are grouped as if each had an axis of its own, and the nearest one stands for a class."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.base import Figure, GroupingTerms, Standardization, class_requirements
from smalti.transforms.microaggregation.algorithm import microaggregated
from smalti.transforms.microaggregation.blocks import block_of_each
from smalti.transforms.microaggregation.coordinates import GRID_BITS, coordinates
from smalti.transforms.microaggregation.distant import distant_groups
from smalti.transforms.microaggregation.joining import Held, joined
from smalti.transforms.microaggregation.places import Places, Tree
from smalti.transforms.problem import (
    MISSING,
    CategoricalAttribute,
    FigureAttribute,
    Incidence,
    Integers,
    NominalAttribute,
    Problem,
    RowWeights,
)
from smalti.transforms.values.label_reading import read_categories
from smalti.transforms.values.representatives import representative_labels

NONE, RANGE, DEVIATION = Standardization
TREE = np.array([[0, 1, 2, 3, 4, 5, 6], [0, 1, 1, 2, 2, 3, 3], [0, 1, 1, 1, 1, 2, 2], [0] * 7])
"""Six values below nodes of two levels, and the missing one; at last the root."""


def nominal(count: int) -> NominalAttribute:
    return NominalAttribute(count + 1, np.arange(count))


def in_tree(figure: Figure = Figure.MEDOID, places: Integers | None = None) -> CategoricalAttribute:
    return CategoricalAttribute(TREE, 7, figure, np.arange(6) if places is None else places, places)


def numbers(count: int) -> FigureAttribute:
    return FigureAttribute(
        np.zeros(count + 1, np.int64), Figure.MEAN, np.arange(count, dtype=np.int64), 0, 0, False
    )


# --- Groups


def laid_out(places: Places, halves: Sequence[int]) -> Places:
    """The same with an axis for each node; tuples below it lie apart from all others by one half."""
    axes = [
        np.where(nodes == node, half, 0)
        for nodes, half in zip(places.levels, halves, strict=True)
        for node in np.unique(nodes)
    ]
    return Places(np.concatenate((places.lines, np.array(axes, np.int64).reshape(-1, places.count))), ())


ROW = st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 6), st.integers(0, 5))


@settings(max_examples=examples(60, full=3000), deadline=None)
@given(
    st.lists(ROW, min_size=1, max_size=30), st.integers(1, 4), st.integers(1, 3), st.booleans(),
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
)  # fmt: skip
def test_groups_are_those_of_a_space_with_an_axis_for_each_category(
    rows: list[tuple[int, ...]], k: int, cut: int, has_people: bool, halves: tuple[int, ...]
) -> None:
    tuples = sorted({row[:3] for row in rows})
    line, flat, leaf = np.array(tuples).T
    steps = tuple(2 * half * half for half in halves)
    places = Places(line[np.newaxis], (Tree(flat[np.newaxis], steps[:1]), Tree(TREE[:3, leaf], steps[1:])))
    weights = np.array([sum(row[:3] == each for row in rows) for each in tuples])
    people = None
    if has_people:
        pairs = sorted({(tuples.index(row[:3]), row[3]) for row in rows})
        people = Incidence(*(np.array(column) for column in zip(*pairs, strict=True)))
    blocks = np.array_split(np.arange(len(tuples)), min(cut, len(tuples)))
    found = distant_groups(places, weights, blocks, people, k)
    expected = distant_groups(laid_out(places, halves), weights, blocks, people, k)
    for name in ("items", "groups", "rows", "blocks"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()


def test_a_column_of_categories_alone_is_grouped_by_value() -> None:
    problem = Problem(
        np.array([[1], [2], [3]]), np.array([6, 3, 3]), (nominal(3),), None, (), class_requirements(3), 256,
        grouping_terms=GroupingTerms(DEVIATION),
    )  # fmt: skip
    portions = microaggregated(problem)
    assert portions is not None
    assert sorted(zip(portions.atoms.tolist(), portions.rows.tolist(), strict=True)) == [
        (0, 3), (0, 3), (1, 3), (2, 3),
    ]  # fmt: skip
    assert len(set(portions.classes.tolist())) == 4


def test_who_is_left_joins_the_group_whose_most_rows_are_alike() -> None:
    """On a line the third group is as near to either; below nodes it is nearer to the second."""
    held = Held(np.array([[0, 0, 1, 1, 1]]), (10,), np.array([2, 1, 1, 2, 1]), np.array([0, 0, 0, 1, 2]))
    classes = joined(
        np.array([[0, 20, 5]]), np.array([4, 2, 1]), np.zeros(3, np.int64),
        lambda classes: np.bincount(classes, [4, 2, 1]) >= 2, held,
    )  # fmt: skip
    assert classes.tolist() == [0, 1, 1]


def test_blocks_keep_values_of_a_tree_together() -> None:
    places = Places(np.zeros((0, 6), np.int64), (Tree(TREE[:3, 1:], (1, 3, 5)),))
    blocks = block_of_each(places, 3, lambda blocks: np.ones(int(blocks.max()) + 1, bool))
    assert blocks.tolist() == [0, 0, 1, 1, 2, 2]


# --- Distances


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(0, 6)), min_size=2, max_size=12),
    st.sampled_from(Standardization),
)
def test_categories_are_one_apart_and_are_divided_by_their_standard_deviation(
    rows: list[tuple[int, ...]], standardization: Standardization
) -> None:
    codes = np.array(rows)
    found = coordinates(
        [numbers(4), nominal(4), in_tree()], codes, np.ones(len(rows), np.int64), standardization
    )

    def flat(one: int, other: int) -> Fraction:
        return Fraction(one != other)

    def along_tree(one: int, other: int) -> Fraction:
        return Fraction(int((TREE[:, one] != TREE[:, other]).sum()), 3) ** 2

    def line(one: int, other: int) -> Fraction:
        return Fraction((one - other) ** 2)

    def unit(column: list[int], squared) -> Fraction:  # type: ignore[no-untyped-def]
        """Squared."""
        present = [code for code in column if code != MISSING]
        if standardization is DEVIATION:
            total = sum((squared(a, b) for a in present for b in present), Fraction(0))
            return total / (2 * len(present) ** 2) if total else Fraction(1)
        is_range = standardization is RANGE and squared is line
        return Fraction(max((max(present) - min(present)) ** 2, 1)) if is_range else Fraction(1)

    columns = [*zip(*rows, strict=True)]
    kinds = [line, flat, along_tree]
    units = [unit(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
    exact = {
        (a, b): [kind(c[a], c[b]) / each for kind, c, each in zip(kinds, columns, units, strict=True)]
        for a, b in combinations(range(len(rows)), 2)
    }
    widest = max(
        Fraction(max((max(columns[0]) - min(columns[0])) ** 2, 1)) / units[0], 1 / units[1], 1 / units[2]
    )
    grid = Fraction(1 << 2 * GRID_BITS)
    steps = None
    for (a, b), parts in exact.items():
        ours = [
            int((found.lines[0, a] - found.lines[0, b]) ** 2),
            int(
                (found.trees[0].nodes[0, a] != found.trees[0].nodes[0, b]) * found.trees[0].squared_steps[0]
            ),
            sum(
                n * int(nodes[a] != nodes[b])
                for n, nodes in zip(found.trees[1].squared_steps, found.trees[1].nodes, strict=True)
            ),
        ]
        for mine, part in zip(ours, parts, strict=True):
            if not part:
                assert abs(mine) <= 4
                continue
            steps = steps or mine / part
            assert abs(float(mine / (part * steps)) - 1) < 1e-4
    assert steps is None or (grid / widest / 5 <= steps <= grid / widest * Fraction(101, 100))


def test_places_in_a_list_are_numbers() -> None:
    places = np.array([0, 1, 2, 7, 8, 9])
    found = coordinates(
        [in_tree(places=places), numbers(3)], np.array([[1, 1], [4, 2], [6, 3]]), np.ones(3, np.int64), NONE
    )
    assert np.diff(found.lines).tolist() == [[7, 2], [1, 1]]


def test_categories_are_one_unit_apart_whatever_the_decimals_of_numbers() -> None:
    tenths = replace(numbers(2), numbers=np.array([0, 10]), places=1)
    found = coordinates([tenths, nominal(2)], np.array([[1, 1], [2, 2]]), np.ones(2, np.int64), NONE)
    assert int(found.lines[0, 1] - found.lines[0, 0]) ** 2 == found.trees[0].squared_steps[0]


# --- What stands for a class


ENTRY = st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(1, 3), st.integers(1, 4))


def chosen(
    attribute: NominalAttribute | CategoricalAttribute, rows: Sequence[tuple[int, ...]]
) -> list[str | None]:
    owners = np.array([owner for owner, *_ in rows])
    _, classes = np.unique(owners, return_inverse=True)
    weights = RowWeights(
        np.arange(len(rows)), np.array([n for *_, n, _ in rows]), np.array([t for *_, t in rows])
    )
    texts = pa.array(["a|", "b]", "c", "[d", "e\\", "f"], pa.large_string())
    codes = np.array([code for _, code, *_ in rows])
    labels = representative_labels(attribute, texts, codes, classes.reshape(-1), weights)
    found: list[str | None] = labels.to_pylist()
    return found


@settings(max_examples=examples(100, full=3000), deadline=None)
@given(st.lists(ENTRY, min_size=1, max_size=14), st.permutations(range(6)), st.integers(0, 2))
def test_no_value_of_a_class_is_nearer_to_all_others(
    rows: list[tuple[int, ...]], order: list[int], kind: int
) -> None:
    """Each value is a node, or has nodes above it, or is at a place in a list."""
    places = np.array(order)
    attribute = [
        NominalAttribute(7, places),
        CategoricalAttribute(TREE, 7, Figure.MEDOID, places, None),
        CategoricalAttribute(TREE, 7, Figure.MEDOID, places, places),
    ][kind]

    def apart(one: int, other: int) -> int:
        if kind == 2:
            return abs(order[one - 1] - order[other - 1])
        return int((TREE[: (1, 3)[kind], one] != TREE[: (1, 3)[kind], other]).sum())

    expected: list[tuple[str, bool] | None] = []
    for owner in sorted({owner for owner, *_ in rows}):
        held = [(code, Fraction(n, t)) for other, code, n, t in rows if other == owner]
        present = [(code, share) for code, share in held if code != MISSING]
        best = min(
            ((sum(s * apart(code, c) for c, s in present), order[code - 1], code) for code, _ in present),
            default=None,
        )
        texts = ["a|", "b]", "c", "[d", "e\\", "f"]
        expected.append(None if best is None else (texts[best[2] - 1], len(present) < len(held)))
    labels = chosen(attribute, rows)
    read = read_categories(pa.array([each for each in labels if each], pa.large_string()))
    said = iter(zip(read.texts.to_pylist(), read.or_missing.to_pylist(), strict=True))
    assert [next(said) if label else None for label in labels] == expected


def test_large_weights_are_exact() -> None:
    """One row each of people with many rows: the shares have a whole beyond 64 bits."""
    totals = [61, 59, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17, 13, 11, 7]
    rows = [(0, 1, 1, total) for total in totals] + [(0, 2, 1, total) for total in totals[:-1]]
    assert chosen(nominal(6), rows) == ["[~a\\|]"]
    assert chosen(nominal(6), [*rows, (0, 2, 1, 6)]) == ["[~b\\]]"]


@pytest.mark.parametrize("figure", [Figure.MODE, Figure.MEDOID])
def test_a_mode_and_a_medoid_may_differ(figure: Figure) -> None:
    rows = [(0, 6, 3, 1), (0, 1, 2, 1), (0, 2, 2, 1), (0, 3, 1, 1)]
    assert chosen(in_tree(figure), rows) == ["[~f]" if figure is Figure.MODE else "[~a\\|]"]
