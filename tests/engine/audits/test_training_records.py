"""What a model is trained on: one row of each respondent, between public bounds, whatever the texts say."""

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from model_worlds import AUDIT, permission, recorded, training
from perturbed_worlds import CITIES, DESCRIPTION, HEADER, ONE_ROW_EACH, Row, column, row
from release_plans import NUMBERS

from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.spark import SparkBackend
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.tables.description import Description
from smalti.engine.tables.withdrawn import Withdrawn, keyed_with, stored_digests
from smalti.engine.training.records import TrainingRecords
from smalti.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = permission(training(), AUDIT)
ROWS_ASKED = permission(training(identifiers=(column("who"), column("note"))), AUDIT)
KEYED = keyed_with(b"a secret of thirty-two characters")
Seen = list[tuple[float, ...]]
"""What the model sees of each record, with its class last; sorted."""

texts = st.fixed_dictionaries(
    {
        "who": st.sampled_from(["1", "2", "3", "4.0", "4", ""]),
        "sex": st.sampled_from(["f", "m", "", "F", "wombat"]),
        "city": st.sampled_from([*CITIES, "", "rome", "Rome "]),
        "age": st.sampled_from(["0", "7", "100", "101", "-3", "", "x", "1e1", "7.5", "9" * 30]),
        "spend": st.sampled_from(["-1", "2.5", "0.25", "99", "", "nan", "1e999", "0.1"]),
        "note": st.sampled_from(["", "wombat"]),
    }
)


def seen(records: TrainingRecords) -> Seen:
    found = np.column_stack([records.features, records.labels])
    return sorted(tuple(round(float(number), 5) for number in line) for line in found)


def local(rows: Sequence[Row], description: Description = DESCRIPTION) -> Seen:
    asked = ROWS_ASKED if description.one_row_each else ASKED
    return seen(recorded(LocalBackend(), rows, asked, description)[1])


def number_of(text: str) -> Decimal | None:
    """A decimal as people write one, or nothing."""
    digits = text.removeprefix("-")
    if not digits or not all(part.isdigit() for part in digits.split(".", 1)):
        return None
    return Decimal(text)


def by_hand(texts: dict[str, str]) -> tuple[float, ...]:
    """What the model sees of a row; the numbers of the two columns that are compared lie on their grids."""
    city = (CITIES.index(texts["city"]) + 1) if texts["city"] in CITIES else 0
    age, spend = number_of(texts["age"]), number_of(texts["spend"])
    shown = [0.5, 17 / 35]
    if age is not None:
        shown[0] = float(min(max(age, Decimal(0)), Decimal(100)) / 100)
    if spend is not None:
        shown[1] = float((min(max(spend, Decimal(-1)), Decimal("2.5")) + 1) / Decimal("3.5"))
    place = [float(number == city) for number in range(6)]
    return (*place, *(round(one, 5) for one in shown), float(texts["sex"] == "m"))


plain = texts.filter(
    # What lies between two units is `readings`' to round, and tested there.
    lambda one: one["age"] not in {"1e1", "7.5"} and one["spend"] not in {"0.25", "1e999"}
)


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(plain, max_size=8))
def test_the_model_sees_one_category_or_a_share_of_the_bounds(rows: list[dict[str, str]]) -> None:
    expected = sorted(by_hand(one) for one in rows)
    found = local([row(**one) for one in rows], ONE_ROW_EACH)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-4)


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(texts, max_size=8))
def test_whatever_is_written_becomes_a_number_from_0_to_1(rows: list[dict[str, str]]) -> None:
    for line in local([row(**one) for one in rows], ONE_ROW_EACH):
        assert all(0 <= number <= 1 for number in line[:-1])
        assert sum(line[:6]) == 1, "one category"
        assert line[-1] in {0, 1}


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(texts, max_size=8))
def test_the_first_row_of_each_respondent_takes_part(rows: list[dict[str, str]]) -> None:
    first: dict[Decimal, dict[str, str]] = {}
    for one in rows:
        if one["who"]:
            first.setdefault(Decimal(one["who"]), one)
    alone = [{**one, "who": str(place)} for place, one in enumerate(first.values())]
    assert local([row(**one) for one in rows]) == local([row(**one) for one in alone])


@settings(max_examples=examples(10), deadline=None)
@given(st.lists(texts, min_size=1, max_size=8), st.data())
def test_a_respondent_changes_one_record_and_no_other(
    rows: list[dict[str, str]], data: st.DataObject
) -> None:
    rows = [{**one, "who": str(place)} for place, one in enumerate(rows)]
    place = data.draw(st.integers(0, len(rows) - 1))
    without = local([row(**one) for one in rows if one is not rows[place]])
    own = local([row(**rows[place])])
    assert sorted([*without, *own]) == local([row(**one) for one in rows])


def test_the_order_of_rows_is_gone() -> None:
    rows = [row(who=str(n), sex="fm"[n % 2], city=CITIES[n % 5], age=str(n), spend="0") for n in range(30)]
    orders = (rows, rows[::-1])
    one, other = (recorded(LocalBackend(), order, ASKED)[1] for order in orders)
    assert np.array_equal(one.features, other.features)
    assert np.array_equal(one.labels, other.labels)


def test_those_who_withdrew_are_left_out() -> None:
    rows = [row(who=who, sex="f", city="Rome", age="20", spend="0") for who in ("1", "2", "3")]
    withdrawn = Withdrawn(stored_digests(["2.0"], KEYED), frozenset({"who"}), KEYED, 1)
    found = recorded(LocalBackend(), rows, ASKED, DESCRIPTION, Circumstances(withdrawn=withdrawn))[1]
    assert len(found) == 2


def test_a_structure_that_is_broken_is_told_without_a_value() -> None:
    with pytest.raises(DataError) as caught:
        recorded(LocalBackend(), [(*row(who="1"), "wombat")], ASKED)
    assert "wombat" not in str(caught.value)


@pytest.mark.parametrize(
    "description",
    [pytest.param(DESCRIPTION, id="people"), pytest.param(ONE_ROW_EACH, id="rows", marks=pytest.mark.slow)],
)
def test_spark_sees_the_same(spark: "SparkSession", description: Description) -> None:
    rows = [
        row(
            who=("1", "1.0", "2", "", "x", "-0", "0", "3.50")[place % 8] if place < 30 else str(place),
            sex=("f", "m", "", "wombat")[place % 4],
            city=(*CITIES, "", "rome")[place % 7],
            age=NUMBERS[place % len(NUMBERS)],
            spend=NUMBERS[(7 * place + 3) % len(NUMBERS)],
        )
        for place in range(80)
    ]
    assert len(rows[0]) == len(HEADER)
    asked = ROWS_ASKED if description.one_row_each else ASKED
    here = recorded(LocalBackend(), rows, asked, description)
    there = recorded(SparkBackend(spark), rows, asked, description)
    assert there[0] == here[0]
    assert np.array_equal(there[1].features, here[1].features)
    assert np.array_equal(there[1].labels, here[1].labels)
