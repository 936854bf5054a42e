"""Hierarchies: what is refused, what rules make, and labels that say which values they stand for."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.base import Datatype
from smalti.transforms.problem import SCALE, HierarchicalAttribute
from smalti.transforms.values.hierarchical_codes import with_hierarchy
from smalti.transforms.values.hierarchy import (
    HierarchyError,
    Ladders,
    bind_hierarchy,
    check_ladders,
    label_sets,
    ladders_of,
)
from smalti.transforms.values.hierarchy_rules import (
    NoPlaceError,
    calendar_ladders,
    interval_ladders,
    masking_ladders,
    ordered_ladders,
    prefix_ladders,
)
from smalti.transforms.values.labels import class_labels
from smalti.transforms.values.texts import make_codebook

WHOLE, EXACT = Datatype.INTEGER, Datatype.DECIMAL
AMBIGUOUS = "1 labels stand for several different sets of values"


def by_value(ladders: Ladders) -> dict[str, list[str]]:
    value, *labels = (column.to_pylist() for column in ladders)
    return {value[place]: [column[place] for column in labels] for place in range(len(value))}


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "it states no value"),
        ([("a", "x"), ("b", "y")], "its last level has 2 labels"),
        ([("a",), ("b",)], "it has no level above its values"),
        ([("a", "x", "*"), ("a", "x", "*")], "1 values are repeated"),
        ([("a", "x", "y", "*"), ("b", "x", "z", "*")], "1 labels of level 1 belong to several"),
        ([("a", "x", "*"), ("b", "a", "*")], AMBIGUOUS),
        ([("a", "x", "x", "*"), ("b", "y", "x", "*")], AMBIGUOUS),
        ([("a", "", "*")], "1 values or labels are empty"),
    ],
)  # fmt: skip
def test_what_is_no_hierarchy_is_refused_by_what_is_wrong(
    rows: list[tuple[str, ...]], problem: str
) -> None:
    with pytest.raises(HierarchyError) as refused:
        check_ladders(ladders_of(rows))
    assert problem in "; ".join(fault.problem for fault in refused.value.problems)


def test_all_problems_are_said_at_once() -> None:
    with pytest.raises(HierarchyError) as refused:
        check_ladders(ladders_of([("a", "x", "1"), ("a", "x", "2"), ("", "y", "2")]))
    assert len(refused.value.problems) == 4


def test_a_label_may_stand_for_one_set_at_several_levels() -> None:
    check_ladders(ladders_of([("a", "a", "x", "*"), ("b", "y", "y", "*"), ("c", "y", "y", "*")]))


@pytest.mark.parametrize(
    ("ladders", "expected"),
    [
        (masking_ladders(["10041"], 5, from_right=True), ["1004*", "100**", "10***", "1****", "*"]),
        (masking_ladders(["10041"], 5, from_right=False), ["*0041", "**041", "***41", "****1", "*"]),
        (prefix_ladders(["1960/05/02"], [7, 4]), ["1960/05", "1960", "*"]),
        (
            calendar_ladders(["1960-05-02"], ["month", "quarter", "year", "decade"]),
            ["1960-05", "1960-Q2", "1960", "1960s", "*"],
        ),
        (interval_ladders(["-1"], WHOLE, Fraction(5), Fraction(0), [4]), ["-5..-1", "-20..-1", "*"]),
        (interval_ladders(["0.3"], EXACT, Fraction(1, 4), Fraction(0), []), ["0.25..<0.5", "*"]),
        (
            interval_ladders(["1970-01-09"], Datatype.DATE, Fraction(7), Fraction(0), []),
            ["1970-01-08..1970-01-14", "*"],
        ),
    ],
)  # fmt: skip
def test_rules(ladders: Ladders, expected: list[str]) -> None:
    assert list(by_value(ladders).values()) == [expected]


def test_neighbours_of_an_ordered_list_become_one() -> None:
    found = by_value(ordered_ladders(["low", "mid", "high"], [2]))
    assert found == {"low": ["low..mid", "*"], "mid": ["low..mid", "*"], "high": ["high", "*"]}


def test_longer_codes_have_no_place() -> None:
    with pytest.raises(NoPlaceError):
        masking_ladders(["123"], 2, from_right=True)


def test_the_mask_of_one_character_is_the_label_of_all_codes() -> None:
    with pytest.raises(HierarchyError) as refused:
        masking_ladders(["7", "23"], 2, from_right=True)
    assert refused.value.problems[0].problem.startswith("1 codes have one character")
    assert by_value(masking_ladders(["7", "8"], 1, from_right=True)) == {"7": ["*"], "8": ["*"]}


@st.composite
def trees(draw: st.DrawFn) -> Ladders:
    """Random hierarchies of up to 9 values and 4 levels."""
    count = draw(st.integers(1, 9))
    nodes = list(range(count))
    columns = [[f"v{value}" for value in range(count)]]
    for level in range(draw(st.integers(0, 3))):
        merged = draw(st.lists(st.integers(0, 3), min_size=9, max_size=9))
        nodes = [merged[node] for node in nodes]
        columns.append([f"n{level}-{node}" for node in nodes])
    return tuple(pa.array(column, pa.large_string()) for column in (*columns, ["*"] * count))


@settings(max_examples=examples(100, full=2000))
@given(trees())
def test_values_of_a_node_stand_side_by_side(ladders: Ladders) -> None:
    check_ladders(ladders)
    hierarchy = bind_hierarchy(ladders).hierarchy
    sets = label_sets(ladders)
    for numbers, labels in zip(hierarchy.nodes, hierarchy.labels, strict=True):
        assert (np.diff(numbers) >= 0).all()
        for code, number in enumerate(numbers.tolist()[1:], 1):
            assert hierarchy.labels[0][code].as_py() in sets[labels[number].as_py()]
    assert (hierarchy.nodes[:-1, 0] == 0).all()
    assert (hierarchy.nodes[:-1, 1:] > 0).all()


@settings(max_examples=examples(150, full=3000))
@given(trees(), st.data())
def test_labels_cover_their_values_and_classes_of_disjoint_children_have_their_own(
    ladders: Ladders, data: st.DataObject
) -> None:
    book = with_hierarchy(
        make_codebook(ladders[0], Datatype.STRING, None, has_missing=True), ladders, has_missing=True
    )
    attribute = book.attribute
    assert isinstance(attribute, HierarchicalAttribute)
    count = len(book.texts)
    codes = np.array(sorted(data.draw(st.sets(st.integers(0, count), min_size=1))))
    label = class_labels(book, codes, np.zeros(len(codes), np.int64))[0].as_py()
    sets = label_sets(ladders)
    items = [] if label is None else label.strip("{}").split("|")
    covered = set[str]().union(*(sets[item] for item in items if item))
    held = {book.texts[code - 1].as_py() for code in codes.tolist() if code}
    assert held <= covered
    assert (0 not in codes) or label is None or "*" in items or items[-1] == ""
    low, high = codes[:1], codes[-1:]
    penalty = int(attribute.penalty(low, high)[0])
    assert (penalty > 0) == (len(codes) > 1)
    assert len(covered) <= penalty * (count + 1) / SCALE + 1


def test_children_stand_in_the_order_of_their_least_value_whatever_their_labels() -> None:
    ladders = interval_ladders(["5", "12", "101"], Datatype.INTEGER, Fraction(10), Fraction(0), [10])
    assert bind_hierarchy(ladders).hierarchy.labels[1].to_pylist() == ["*", "0..9", "10..19", "100..109"]
