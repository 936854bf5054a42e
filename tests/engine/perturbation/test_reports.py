"""What respondents report before noise: as by brute force, one row each, and their own affair alone."""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pytest
from effort import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from perturbed_worlds import (
    CITIES,
    DESCRIPTION,
    HEADER,
    ONE_ROW_EACH,
    Row,
    permission,
    records,
    reported,
    row,
)
from release_plans import NUMBERS

from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.losses import coded_reports
from smalti.engine.plan.reads import BoundContributions
from smalti.engine.tables.description import Description
from smalti.engine.tables.withdrawn import Withdrawn, stored_digests
from smalti.errors import InternalError
from smalti.transforms.base import Datatype
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.transforms.values.texts import LEXICAL_FORMS

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
ALL = ("sex", "city", "age", "spend")
Record = tuple[int, ...]

VALUES = {
    "who": ("", "1", "1.0", "2", "x", "3", "-0", "0", "3.50", "3.5"),
    "sex": ("", "f", "m", "F", "wombat"),
    "city": ("", *CITIES, "rome", "Rome ", "wombat"),
    "age": NUMBERS,
    "spend": NUMBERS,
    "note": ("", "wombat"),
}
row_of = st.tuples(*(st.sampled_from(VALUES[name]) for name in HEADER))
tables = st.lists(row_of, max_size=25)


def taken(
    rows: Sequence[Row], description: Description = DESCRIPTION, columns: Sequence[str] = ALL, **others: Any
) -> list[Record]:
    return records(reported(LocalBackend(), rows, permission(*columns), description, **others)[1])


# --- By brute force


def is_number(text: str, datatype: Datatype) -> bool:
    return re.fullmatch(LEXICAL_FORMS[datatype], text, re.ASCII) is not None


def units(text: str, datatype: Datatype, lower: str, upper: str, unit: str) -> int:
    most = int((Fraction(upper) - Fraction(lower)) / Fraction(unit))
    if not is_number(text, datatype):
        return most // 2
    number = min(max(Fraction(Decimal(text)), Fraction(lower)), Fraction(upper))
    return round((number - Fraction(lower)) / Fraction(unit))  # ties to even


def record(one: Row) -> Record:
    said = dict(zip(HEADER, one, strict=True))
    return (
        1 if said["sex"] == "m" else 0,
        CITIES.index(said["city"]) + 1 if said["city"] in CITIES else 0,
        units(said["age"], Datatype.INTEGER, "0", "100", "1"),
        units(said["spend"], Datatype.DECIMAL, "-1", "2.5", "0.1"),
    )


def person(text: str) -> object:
    return Fraction(Decimal(text)) if is_number(text, Datatype.DECIMAL) else text


def by_brute_force(rows: Sequence[Row], *, one_row_each: bool) -> list[Record]:
    if one_row_each:
        return sorted(map(record, rows))
    first: dict[object, Record] = {}
    for one in rows:
        if one[0]:
            first.setdefault(person(one[0]), record(one))
    return sorted(first.values())


@settings(max_examples=examples(20), deadline=None, suppress_health_check=SLOW)
@given(tables, st.booleans())
@example([], False)
@example([], True)
@example([row(who="1", sex="m"), row(who="1.0", sex="f"), row(who="", sex="m")], False)
def test_reports_are_those_of_brute_force(rows: list[Row], one_row_each: bool) -> None:
    found = taken(rows, ONE_ROW_EACH if one_row_each else DESCRIPTION)
    assert found == by_brute_force(rows, one_row_each=one_row_each)


@settings(max_examples=examples(8), deadline=None, suppress_health_check=SLOW)
@given(tables)
def test_columns_that_are_staged_as_texts_report_the_same(rows: list[Row]) -> None:
    with patch("smalti.engine.backends.numbering.MOST_TEXTS", 0):
        assert taken(rows) == by_brute_force(rows, one_row_each=False)


# --- One respondent, one row


def moved(before: list[Record], after: list[Record]) -> int:
    """How many records stand in one list and not in the other; each counts."""
    old, new = Counter(before), Counter(after)
    assert len(before) == len(after), "the number of respondents is public, and changed"
    return sum((new - old).values())


def of_others(rows: Sequence[Row]) -> list[Row]:
    return [one for one in rows if one[0] != "9"]


own = st.lists(row_of.map(lambda one: ("9", *one[1:])), min_size=1, max_size=4)


def mixed(rows: Sequence[Row], own_rows: Sequence[Row], places: Sequence[int]) -> list[Row]:
    found = list(rows)
    for one, place in zip(own_rows, places, strict=False):
        found.insert(place % (len(found) + 1), one)
    return found


CHANGES = (tables, own, own, st.lists(st.integers(0, 99), min_size=4, max_size=4))


def most_moved(rows: list[Row], before: list[Row], after: list[Row], places: list[int]) -> int:
    others = of_others(rows)
    return moved(taken(mixed(others, before, places)), taken(mixed(others, after, places)))


@settings(max_examples=examples(10), deadline=None, suppress_health_check=SLOW)
@given(*CHANGES)
def test_a_respondent_changes_one_record_at_most(
    rows: list[Row], before: list[Row], after: list[Row], places: list[int]
) -> None:
    assert most_moved(rows, before, after, places) <= 1


PAIR = (
    [row(who="1", sex="f")],
    [row(who="9", sex="f"), row(who="9", sex="f")],
    [row(who="9", sex="m"), row(who="9", sex="m")],
    [0, 0, 0, 0],
)
SECOND_ROW = BoundContributions(NeighboringRelation.CHANGE_ONE, 2, 1)


def test_a_second_row_of_a_respondent_is_caught() -> None:
    assert most_moved(*PAIR) == 1
    with patch.object(coded_reports, "_ONE_ROW", SECOND_ROW):
        assert most_moved(*PAIR) == 2


def test_a_row_that_is_lost_with_its_value_is_caught() -> None:
    """The number of rows is public, so it may not depend on what anybody's row says."""
    said = {"who": "9", "sex": "f", "age": "1", "spend": "1"}
    known, unknown = [row(city="Rome", **said)], [row(city="wombat", **said)]
    assert most_moved([], known, unknown, [0]) == 1
    inner = coded_reports._Reading._code

    def broken(self: Any, one: Any, name: str) -> str:
        code = inner(self, one, name)
        self._joins[-1] = self._joins[-1].removeprefix("LEFT ")
        return code

    with (
        patch.object(coded_reports._Reading, "_code", broken),
        pytest.raises(AssertionError, match="public"),
    ):
        most_moved([], known, unknown, [0])


def test_a_domain_with_a_value_twice_is_a_fault_of_ours() -> None:
    twice = DESCRIPTION.columns[2]
    description = Description(
        (DESCRIPTION.columns[0], type(twice)("city", None, None, None, values=("Rome", "Rome"))), "who"
    )
    with pytest.raises(InternalError):
        taken([row(who="1", city="Rome")], description, ("city",))


# --- Who takes part


def test_rows_without_a_respondent_are_left_out() -> None:
    assert len(taken([row(who=""), row(who="1"), row(who="")])) == 1
    assert len(taken([row(who=""), row(who="1"), row(who="")], ONE_ROW_EACH)) == 3


def test_those_who_withdrew_are_left_out_in_every_spelling() -> None:
    def keyed(form: str) -> str:
        return form

    withdrawn = Withdrawn(stored_digests(["1"], keyed), frozenset({"who"}), keyed)
    rows = [row(who="1.0", sex="m"), row(who="1", sex="m"), row(who="x"), row(who="2", sex="m")]
    assert taken(rows, circumstances=Circumstances(withdrawn=withdrawn)) == taken(rows[2:])


# --- The order of rows, and what else is in the file


@settings(max_examples=examples(8), deadline=None, suppress_health_check=SLOW)
@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_dropped_columns_leave_no_trace(rows: list[Row], random: Any) -> None:
    one_each = list({person(one[0]): one for one in rows if one[0]}.values())
    shuffled = [(f"{place}000", *one[1:5], "rewritten") for place, one in enumerate(one_each, 1)]
    random.shuffle(shuffled)
    found = reported(LocalBackend(), shuffled, permission(*ALL))[1]
    known = reported(LocalBackend(), one_each, permission(*ALL))[1]
    assert [column.tolist() for column in found.codes] == [column.tolist() for column in known.codes]
    assert found.respondents.tolist() == known.respondents.tolist()
