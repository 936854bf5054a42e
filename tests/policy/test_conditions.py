"""Conditions in three values: typed comparisons, several values, logical constraints, rows."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
import worlds
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import COUNT, NOW, ROLE, WORLD, Row, row_satisfies

from smalti.policy.decide.comparing import compare
from smalti.policy.decide.conditions import evaluate, holds
from smalti.policy.decide.decision import Fact, Finding, Request
from smalti.policy.decide.facts import DATE_TIME, Facts
from smalti.policy.decide.outcomes import Residual, rows_of
from smalti.policy.model.model import (
    ColumnComparison,
    Comparison,
    Condition,
    Day,
    Instant,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Text,
    Truth,
    Value,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI, ODRL_PURPOSE, READ

YES, NO, UNKNOWN = Finding.SATISFIED, Finding.UNSATISFIED, Finding.UNKNOWN
REQUEST = Request(party=worlds.ANN, action=READ, targets=(worlds.SHOP,))
EQ, NEQ, LT, LTEQ, GT, GTEQ = (
    Operator.EQ, Operator.NEQ, Operator.LT, Operator.LTEQ, Operator.GT, Operator.GTEQ
)  # fmt: skip


def number(value: str) -> Number:
    return Number(Decimal(value))


def instant(text: str) -> Instant:
    return Instant(datetime.fromisoformat(text))


def day(text: str) -> Day:
    return Day(date.fromisoformat(text))


@pytest.mark.parametrize(
    ("value", "operator", "reference", "expected"),
    [
        (number("0.1"), EQ, number("0.10"), YES),
        (number("10"), LT, number("9"), NO),
        (number("9"), GTEQ, number("9"), YES),
        (number("NaN"), LT, number("9"), UNKNOWN),
        (Text("a"), EQ, Text("a"), YES),
        (Text("a"), NEQ, Text("b"), YES),
        (Text("e\u0301"), EQ, Text("\u00e9"), NO),
        (Text("a"), LT, Text("b"), UNKNOWN),
        (Text("1"), EQ, number("1"), UNKNOWN),
        (Text("1"), NEQ, number("1"), UNKNOWN),
        (Text("http://example.com/a"), EQ, Named(IRI("http://example.com/a")), UNKNOWN),
        (Truth(True), EQ, Truth(True), YES),
        (Truth(True), GT, Truth(False), UNKNOWN),
        (Named(worlds.ANN), EQ, Named(worlds.BOB), NO),
        (Named(worlds.ANN), Operator.IS_A, Named(worlds.BOB), UNKNOWN),
        (Named(worlds.ANN), LT, Named(worlds.BOB), UNKNOWN),
        # Points in time with zones are exact.
        (instant("2026-05-01T12:00:00+02:00"), EQ, instant("2026-05-01T10:00:00Z"), YES),
        (instant("2026-05-01T12:00:00+02:00"), LT, instant("2026-05-01T10:00:00Z"), NO),
        # Without a zone: 14 hours either way.
        (instant("2026-05-01T12:00:00"), EQ, instant("2026-05-01T12:00:00"), UNKNOWN),
        (instant("2026-05-01T12:00:00"), LT, instant("2026-05-02T02:00:00Z"), UNKNOWN),
        (instant("2026-05-01T12:00:00"), LT, instant("2026-05-02T02:00:01Z"), YES),
        (instant("2026-05-01T12:00:00"), GTEQ, instant("2026-04-30T22:00:00Z"), YES),
        (instant("2026-05-01T12:00:00"), GT, instant("2026-04-30T22:00:00Z"), UNKNOWN),
        # A day has begun everywhere 14 hours after it began in UTC, and ends as much earlier somewhere.
        (instant("2026-05-01T09:59:59Z"), LTEQ, day("2026-05-01"), YES),
        (instant("2026-05-01T10:00:00Z"), LTEQ, day("2026-05-01"), UNKNOWN),
        (instant("2026-05-02T13:59:59Z"), LTEQ, day("2026-05-01"), UNKNOWN),
        (instant("2026-05-02T14:00:00Z"), LTEQ, day("2026-05-01"), NO),
        (instant("2026-04-30T09:59:59Z"), LT, day("2026-05-01"), YES),
        (instant("2026-04-30T10:00:00Z"), LT, day("2026-05-01"), UNKNOWN),
        (instant("2026-05-01T14:00:00Z"), LT, day("2026-05-01"), NO),
        (instant("2026-05-01T14:00:00Z"), GTEQ, day("2026-05-01"), YES),
        (instant("2026-05-02T14:00:00Z"), GT, day("2026-05-01"), YES),
        (instant("2026-05-01T12:00:00Z"), EQ, day("2026-05-01"), UNKNOWN),
        (instant("2026-05-03T12:00:00Z"), EQ, day("2026-05-01"), NO),
        (instant("2026-05-03T12:00:00Z"), NEQ, day("2026-05-01"), YES),
        (day("2026-05-01"), LT, instant("2026-05-02T13:59:59Z"), UNKNOWN),
        (day("2026-05-01"), LT, instant("2026-05-02T14:00:00Z"), YES),
        (day("2026-05-01"), LT, instant("2026-04-30T10:00:00Z"), NO),
        (day("2026-05-01"), LT, day("2026-05-02"), YES),
        (day("2026-05-01"), LTEQ, day("2026-05-01"), YES),
        (day("2026-05-01"), EQ, day("2026-05-01"), YES),
        (day("9999-12-31"), LT, instant("9999-12-31T23:59:59-12:00"), UNKNOWN),
        (day("0001-01-01"), EQ, instant("0001-01-01T00:00:00+14:00"), UNKNOWN),
        (day("2026-05-01"), EQ, Text("2026-05-01"), UNKNOWN),
    ],
)
def test_typed_values(value: Value, operator: Operator, reference: Value, expected: Finding) -> None:
    assert compare(operator, value, reference, None) is expected


def test_concepts_compare_by_their_hierarchy() -> None:
    direct, marketing = Named(worlds.DIRECT), Named(worlds.MARKETING)
    purposes = WORLD.purposes
    assert compare(EQ, direct, marketing, purposes) is YES
    assert compare(NEQ, direct, marketing, purposes) is NO
    assert compare(EQ, marketing, direct, purposes) is UNKNOWN
    assert compare(NEQ, marketing, direct, purposes) is UNKNOWN
    assert compare(Operator.HAS_PART, marketing, direct, purposes) is YES
    assert compare(Operator.IS_PART_OF, marketing, direct, purposes) is UNKNOWN
    assert compare(GT, marketing, direct, purposes) is UNKNOWN


A, B, C = Text("a"), Text("b"), Text("c")


@pytest.mark.parametrize(
    ("operator", "known", "listed", "of_world", "of_request"),
    [
        (EQ, (A,), (A,), YES, YES),
        (EQ, (A, B), (A,), YES, UNKNOWN),
        (EQ, (B, C), (A,), NO, NO),
        (NEQ, (A, B), (A,), NO, UNKNOWN),
        (NEQ, (B, C), (A,), YES, YES),
        (Operator.IS_ANY_OF, (A,), (A, B), YES, YES),
        (Operator.IS_ANY_OF, (A, C), (A, B), YES, UNKNOWN),
        (Operator.IS_ANY_OF, (C,), (A, B), NO, NO),
        (Operator.IS_NONE_OF, (A, C), (A, B), NO, UNKNOWN),
        (Operator.IS_NONE_OF, (C,), (A, B), YES, YES),
        (Operator.IS_ALL_OF, (A, B), (B, A), YES, YES),
        (Operator.IS_ALL_OF, (A,), (A, B), NO, NO),
        (Operator.IS_ALL_OF, (A, B, C), (A, B), NO, NO),
        (Operator.IS_ALL_OF, (), (A,), NO, NO),
        (EQ, (), (A,), NO, NO),
        (Operator.IS_NONE_OF, (), (A,), YES, YES),
        (LT, (number("1"), number("2")), (number("3"),), YES, YES),
        (LT, (number("1"), number("4")), (number("3"),), UNKNOWN, UNKNOWN),
        (LT, (number("3"), number("4")), (number("3"),), NO, NO),
        (EQ, (A, number("1")), (A,), YES, UNKNOWN),
        (Operator.IS_NONE_OF, (A, number("1")), (B,), UNKNOWN, UNKNOWN),
    ],
)
def test_several_values(
    operator: Operator,
    known: tuple[Value, ...],
    listed: tuple[Value, ...],
    of_world: Finding,
    of_request: Finding,
) -> None:
    comparison = Comparison(ROLE, operator, listed)
    assert holds(comparison, known, None, is_one=False) is of_world
    assert holds(comparison, known, None, is_one=True) is of_request


@pytest.mark.parametrize("operator", list(Operator))
def test_nothing_known_is_unknown(operator: Operator) -> None:
    for operand in (ODRL_PURPOSE, DATE_TIME, COUNT, worlds.RECIPIENT):
        condition = Comparison(operand, operator, (Named(worlds.MARKETING),))
        assert evaluate(condition, Facts(REQUEST, WORLD)) is UNKNOWN


def test_a_unit_is_unknown() -> None:
    known = Facts(replace(REQUEST, facts=(Fact(COUNT, (number("5"),)),)), WORLD)
    condition = Comparison(COUNT, EQ, (number("5"),))
    assert evaluate(condition, known) is YES
    assert evaluate(replace(condition, unit=IRI("http://example.com/EUR")), known) is UNKNOWN


def test_purpose_time_and_recipient() -> None:
    asked = replace(
        REQUEST, purpose=worlds.DIRECT, time=NOW, facts=(Fact(worlds.RECIPIENT, (Named(worlds.ANN),)),)
    )
    known = Facts(asked, WORLD)
    assert evaluate(Comparison(ODRL_PURPOSE, EQ, (Named(terms.MARKETING),)), known) is YES
    assert evaluate(Comparison(DATE_TIME, GT, (Instant(NOW - timedelta(days=1)),)), known) is YES
    assert evaluate(Comparison(worlds.RECIPIENT, EQ, (Named(worlds.STAFF),)), known) is YES
    # A request for several purposes is for each of them.
    both = replace(asked, facts=(Fact(ODRL_PURPOSE, (Named(terms.STATISTICAL),)),))
    found = evaluate(Comparison(ODRL_PURPOSE, EQ, (Named(terms.MARKETING),)), Facts(both, WORLD))
    assert found is UNKNOWN


# --- Logical constraints

_KNOWN = Facts(replace(REQUEST, facts=(Fact(ROLE, (Text("a"),)),)), WORLD)
TRUE, FALSE = Comparison(ROLE, EQ, (Text("a"),)), Comparison(ROLE, EQ, (Text("b"),))
MAYBE = Comparison(COUNT, EQ, (number("1"),))


@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        (LogicalOperator.AND, (TRUE, TRUE), YES),
        (LogicalOperator.AND, (TRUE, MAYBE), UNKNOWN),
        (LogicalOperator.AND_SEQUENCE, (FALSE, MAYBE), NO),
        (LogicalOperator.OR, (FALSE, FALSE), NO),
        (LogicalOperator.OR, (FALSE, MAYBE), UNKNOWN),
        (LogicalOperator.OR, (TRUE, MAYBE), YES),
        (LogicalOperator.XONE, (TRUE, FALSE), YES),
        (LogicalOperator.XONE, (TRUE, TRUE, MAYBE), NO),
        (LogicalOperator.XONE, (TRUE, MAYBE), UNKNOWN),
        (LogicalOperator.XONE, (FALSE, MAYBE), UNKNOWN),
        (LogicalOperator.XONE, (FALSE, FALSE), NO),
    ],
)
def test_logical_constraints(
    operator: LogicalOperator, operands: tuple[Condition, ...], expected: Finding
) -> None:
    assert evaluate(Logical(operator, operands), _KNOWN) is expected


_EVERYTHING = tuple(
    Fact(operand, (value,))
    for operand, value in (
        (COUNT, number("3")),
        (worlds.RECIPIENT, Named(worlds.BOB)),
        (ROLE, Text("a")),
        (ODRL_PURPOSE, Named(worlds.DIRECT)),
        (DATE_TIME, Instant(NOW)),
    )
)


@given(worlds.conditions, st.sets(st.integers(0, 4)), st.lists(worlds.rows, min_size=1, max_size=4))
@settings(max_examples=examples(100, full=3000))
def test_knowing_more_never_overturns_what_is_known(
    condition: Condition, positions: set[int], rows: list[Row]
) -> None:
    """Of conditions on facts and on rows alike: what a row gets from less, it gets from more."""
    some = Facts(replace(REQUEST, facts=tuple(_EVERYTHING[position] for position in positions)), WORLD)
    less, more = (
        evaluate(condition, some),
        evaluate(condition, Facts(replace(REQUEST, facts=_EVERYTHING), WORLD)),
    )
    if isinstance(less, Finding) and less is not UNKNOWN:
        assert more is less
    for row in rows:
        assert not _passes(less, row) or _passes(more, row)


def _passes(outcome: Finding | Residual, row: Row) -> bool:
    if isinstance(outcome, Residual):
        return all(row_satisfies(row, condition) for condition in rows_of(outcome))
    return outcome is YES


def _holds_of(condition: Condition, known: Facts, row: Row) -> bool | None:
    """Kleene's logic, once more and by another way: None is unknown. A row without a value is unknown."""
    if isinstance(condition, Comparison):
        return {YES: True, NO: False, UNKNOWN: None}[evaluate(condition, known)]  # type: ignore[index]
    if isinstance(condition, ColumnComparison):
        return None if row[condition.column.iri] is None else row_satisfies(row, condition)
    found = [_holds_of(operand, known, row) for operand in condition.operands]
    return _of_all_guesses(condition.operator, found)


def _of_all_guesses(operator: LogicalOperator, found: Sequence[bool | None]) -> bool | None:
    guesses: list[list[bool]] = [[]]
    for one in found:
        guesses = [
            [*guess, value] for guess in guesses for value in ((one,) if one is not None else (True, False))
        ]
    counts = {sum(guess) for guess in guesses}
    size = len(found)
    accepted = {
        LogicalOperator.AND: {size},
        LogicalOperator.AND_SEQUENCE: {size},
        LogicalOperator.OR: set(range(1, size + 1)),
        LogicalOperator.XONE: {1},
    }[operator]
    if counts <= accepted:
        return True
    return None if counts & accepted else False


@given(worlds.conditions, worlds.facts, worlds.whole_rows)
@settings(max_examples=examples(30, full=3000))
def test_what_is_left_to_the_rows_is_what_the_condition_says_of_them(
    condition: Condition, facts: tuple[Fact, ...], row: Row
) -> None:
    stated = Facts(replace(REQUEST, facts=facts), WORLD)
    outcome = evaluate(condition, stated)
    expected = _holds_of(condition, stated, row)
    assert not _passes(outcome, row) or expected is True
    if isinstance(outcome, Finding) and outcome is not UNKNOWN:
        assert expected is (outcome is YES)


def test_residuals_are_simplified() -> None:
    adult = ColumnComparison(worlds.ColumnReference(worlds.AGE), GTEQ, (number("18"),))
    city = ColumnComparison(worlds.ColumnReference(worlds.CITY), EQ, (number("3"),))

    def left(operator: LogicalOperator, *operands: Condition) -> tuple[Condition, ...] | Finding:
        outcome = evaluate(Logical(operator, operands), _KNOWN)
        return rows_of(outcome) if isinstance(outcome, Residual) else outcome

    both = Logical(LogicalOperator.AND, (adult, city))
    assert left(LogicalOperator.AND, TRUE, adult, both) == (adult, city)
    assert left(LogicalOperator.AND, FALSE, adult) is NO
    assert left(LogicalOperator.AND, MAYBE, adult) is UNKNOWN
    assert left(LogicalOperator.OR, FALSE, adult) == (adult,)
    assert left(LogicalOperator.OR, MAYBE, adult) == (adult,)
    assert left(LogicalOperator.OR, TRUE, adult) is YES
    assert left(LogicalOperator.XONE, FALSE, adult) == (adult,)
    assert left(LogicalOperator.XONE, MAYBE, adult) is UNKNOWN
    assert left(LogicalOperator.XONE, TRUE, adult) == (replace(adult, operator=LT),)
    # A row that is no adult's does not make this false: it stays unknown whether exactly one holds.
    unsure = Logical(LogicalOperator.OR, (MAYBE, adult))
    assert left(LogicalOperator.XONE, TRUE, unsure) is UNKNOWN
    assert left(LogicalOperator.XONE, FALSE, unsure, city) is UNKNOWN
    assert left(LogicalOperator.XONE, TRUE, Logical(LogicalOperator.AND, (city, unsure))) is UNKNOWN
    assert left(LogicalOperator.XONE, FALSE, unsure) == (adult,)
    either = Logical(LogicalOperator.OR, (adult, city))
    expected = (replace(adult, operator=LT), replace(city, operator=NEQ))
    assert left(LogicalOperator.XONE, TRUE, either) == expected
    assert left(LogicalOperator.XONE, TRUE, Logical(LogicalOperator.XONE, (adult, city))) is UNKNOWN


def test_zones_do_not_matter_where_they_are_stated() -> None:
    far = timezone(timedelta(hours=14))
    assert compare(EQ, Instant(NOW), Instant(NOW.astimezone(far)), None) is YES


PERIOD = IRI(terms.ODRL + "delayPeriod")


@pytest.mark.parametrize(
    ("known", "listed"),
    [
        ("P1D", "PT24H"),
        ("P1D", "P01D"),
        ("P1M", "P30D"),
        ("P1W", "P7D"),
        ("PT1,5H", "PT90M"),
        ("PT0.5S", "PT0.50S"),
        ("+P1D", "P1D"),
        ("-P1D", "-PT24H"),
        (" P1D", "P1D"),
        ("P" + "0" * 100 + "1D", "P1D"),
    ],
)
def test_durations_that_are_written_differently_are_not_known_to_be_unequal(
    known: str, listed: str
) -> None:
    fact = replace(REQUEST, facts=(Fact(PERIOD, (Text(known),)),))
    others = {
        EQ: (listed,), NEQ: (listed,), Operator.IS_ANY_OF: (listed, "P9Y"),
        Operator.IS_NONE_OF: (listed, "P9Y"), Operator.IS_ALL_OF: (listed,),
    }  # fmt: skip
    for operator, texts in others.items():
        condition = Comparison(PERIOD, operator, tuple(map(Text, texts)))
        assert evaluate(condition, Facts(fact, WORLD)) is UNKNOWN


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("PT24H", "PT24H", YES), ("P1D", "soon", NO), ("P1D", "", NO), ("P1", "P2", NO), ("P1DT", "P1D", NO),
     ("Paris", "Pisa", NO), ("P", "PT", NO)],
)  # fmt: skip
def test_other_texts_are_compared_exactly(one: str, other: str, expected: Finding) -> None:
    assert compare(EQ, Text(one), Text(other), None) is expected
