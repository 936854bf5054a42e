"""One column of categories by MDAV: against a checker in plain Python, and tampered with."""

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from masking_world import (
    CITIES,
    HEADER,
    Masked,
    Row,
    mask_rows,
    partitions,
    people,
    plan_of,
    tampered,
)  # fmt: skip

from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.masks import Averaged, Mask
from smalti.errors import GuaranteeError, PlanError

LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
NODES = (
    Averaged("city", 2, "mode", distance="equal"),
    Averaged("city", 2, "medoid", distance="ordered"),
    Averaged("born", 2, "medoid", distance="hierarchical"),
    Averaged("age", 2, "mode", distance="equal"),
)


def apart(node: Averaged, value: str, other: str) -> int:
    """How far two values are apart, for a medoid."""
    if node.distance == "equal":
        return int(value != other)
    if node.distance == "ordered":
        return abs(CITIES.index(value) - CITIES.index(other))
    return next(height for height, end in ((0, 10), (1, 4), (2, 3), (3, 0)) if value[:end] == other[:end])


def first_of(node: Averaged, value: str) -> object:
    if node.distance == "ordered":
        return CITIES.index(value)
    return int(value) if node.column == "age" else value.encode()


def weights(rows: Sequence[Row], *, one_row_each: bool) -> list[Fraction]:
    """Of rows: a respondent weighs 1, spread evenly over all of them."""
    held = defaultdict(int)
    for row in rows:
        held[row[0]] += 1
    return [Fraction(1) if one_row_each else Fraction(1, held[row[0]]) for row in rows]


def checked(masked: Masked, node: Averaged, rows: Sequence[Row], *, one_row_each: bool) -> None:
    place, of_row = HEADER.index(node.column), weights(rows, one_row_each=one_row_each)
    groups, label_of = defaultdict(list), {}
    for (label,), origin in zip(masked.rows, masked.origins, strict=True):
        value = rows[origin][place]
        assert bool(label) is bool(value), "missing values stay missing"
        if value:
            assert label_of.setdefault(value, label) == label, "equal values have one label"
            groups[label].append(origin)
    for label, origins in groups.items():
        assert len({origin if one_row_each else rows[origin][0] for origin in origins}) >= node.k
        weight: dict[str, Fraction] = defaultdict(Fraction)
        for origin in origins:
            weight[rows[origin][place]] += of_row[origin]
        best = min(
            weight,
            key=lambda value: (
                sum(share * apart(node, value, other) for other, share in weight.items()),
                first_of(node, value),
            ),
        )
        assert label == f"[~{best}]"
    if node.distance == "ordered":
        assert_best(node, [[rows[each][place] for each in origins] for origins in groups.values()], rows)


def assert_best(node: Averaged, groups: list[list[str]], rows: Sequence[Row]) -> None:
    def error(group: list[int]) -> Fraction:
        mean = Fraction(sum(group), len(group))
        return sum((place - mean) ** 2 for place in group)

    held, places = defaultdict(set), defaultdict(int)
    for number, row in enumerate(rows):
        if row[4]:
            held[CITIES.index(row[4])].add(number)
            places[CITIES.index(row[4])] += 1
    ways = partitions(sorted(held), held, node.k)  # type: ignore[arg-type]
    least = min(
        sum(error([place for place in group for _ in range(places[place])]) for group in way)  # type: ignore[index]
        for way in ways
    )
    assert sum(error([CITIES.index(value) for value in group]) for group in groups) == least


@settings(max_examples=examples(20, full=600), suppress_health_check=SLOW, deadline=None)
@given(people(6), st.sampled_from(NODES), st.booleans())
def test_one_column_shows_what_stands_for_each_group(
    rows: list[Row], node: Averaged, one_row_each: bool
) -> None:
    one_row_each = one_row_each or node.distance == "ordered"
    plan = plan_of(Mask((node,)), one_row_each=one_row_each)
    place = HEADER.index(node.column)
    holders = {number if one_row_each else row[0] for number, row in enumerate(rows) if row[place]}
    with tempfile.TemporaryDirectory() as name:
        if 0 < len(holders) < node.k:
            with pytest.raises(PlanError, match="fewer respondents than k"):
                mask_rows(LOCAL, rows, plan, Path(name) / "run")
            return
        masked = mask_rows(LOCAL, rows, plan, Path(name) / "run")
        masked.verified()
    checked(masked, node, rows, one_row_each=one_row_each)


ROWS: list[Row] = [
    (f"p{n}", "1", "1", f"19{born}", city)
    for n, (city, born) in enumerate(
        (city, born)
        for city, born, times in (
            ("Bern", "50-01-01", 3), ("ä", "51-01-01", 2), ("Rome", "61-01-01", 4), ("Oslo", "62-01-01", 2)
        )
        for _ in range(times)
    )
]  # fmt: skip


def test_rare_values_are_put_together_and_frequent_ones_stay(tmp_path: Path) -> None:
    rows = [(f"p{n}", "1", "1", "1950-01-01", city) for n, city in enumerate(["a", *"bbbbb", "z"])]
    plan = plan_of(Mask((Averaged("city", 2, "mode", distance="equal"),)))
    masked = mask_rows(LOCAL, rows, plan, tmp_path / "run")
    assert [label for (label,) in masked.rows] == ["[~a]"] * 2 + ["[~b]"] * 5


@pytest.mark.parametrize(
    ("node", "labels", "problem"),
    [
        (NODES[0], {"ä": "[~Bern]", "Bern": "[~ä]"}, "is not the mode of its class"),
        (NODES[0], {"Bern": ""}, "is not the mode of its class"),
        (NODES[1], {"Oslo": "[~Rome]"}, "least squared error"),
        (NODES[1], {"ä": "[~Oslo]"}, "is not the medoid of its class"),
        (NODES[2], {"1962-01-01": "[~1961-01-02]"}, "is not the medoid of its class"),
    ],
)
def test_tampered_categories_are_refused(
    tmp_path: Path, node: Averaged, labels: dict[str, str], problem: str
) -> None:
    place = HEADER.index(node.column)
    masked = mask_rows(LOCAL, ROWS, plan_of(Mask((node,))), tmp_path / "run")

    def change(rows: list[Row], origins: list[int]) -> None:
        for number, origin in enumerate(origins):
            rows[number] = (labels.get(ROWS[origin][place], rows[number][0]),)

    with pytest.raises(GuaranteeError, match=problem):
        tampered(masked, change).verified()


def test_a_value_with_two_labels_and_a_group_that_is_too_small_are_refused(tmp_path: Path) -> None:
    masked = mask_rows(LOCAL, ROWS, plan_of(Mask((NODES[0],))), tmp_path / "run")

    def divided(rows: list[Row], origins: list[int]) -> None:
        rows[origins.index(0)] = ("[~Rome]",)

    with pytest.raises(GuaranteeError, match="equal values have two figures"):
        tampered(masked, divided).verified()
    small = mask_rows(
        LOCAL, ROWS, plan_of(Mask((Averaged("city", 3, "mode", distance="equal"),))), tmp_path / "small"
    )

    def alone(rows: list[Row], origins: list[int]) -> None:
        for number, origin in enumerate(origins):
            rows[number] = (f"[~{ROWS[origin][4]}]",)

    with pytest.raises(GuaranteeError, match="fewer respondents than k"):
        tampered(small, alone).verified()
