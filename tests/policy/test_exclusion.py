"""Proofs that two conditions exclude each other, held against what the conditions are evaluated to."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
import worlds
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from worlds import COUNT, NOW, ROLE, WORLD

from smalti.policy.decide.comparing import SATISFIED, UNSATISFIED, compare
from smalti.policy.decide.conditions import evaluate, evaluate_parameter
from smalti.policy.decide.decision import Fact, Finding, Request
from smalti.policy.decide.exclusion import Prover
from smalti.policy.decide.facts import DATE_TIME, Facts
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.model.model import (
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
    Value,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI, ODRL_PURPOSE, READ

REQUEST = Request(party=worlds.ANN, action=READ, targets=(worlds.SHOP,))
KINDS = {
    ODRL_PURPOSE: worlds.on_purposes,
    DATE_TIME: worlds.on_times,
    COUNT: worlds.on_counts,
    worlds.RECIPIENT: worlds.on_recipients,
    ROLE: worlds.on_roles,
}


def excludes(held: Condition, other: Condition, *, of_action: bool = False) -> bool:
    return Prover(WORLD, 10_000).exclude((held,), (other,), of_action=of_action)


@given(st.sampled_from(sorted(KINDS)), st.booleans(), st.data())
@settings(max_examples=examples(200, full=4000))
def test_what_is_proved_is_so(operand: IRI, of_action: bool, data: st.DataObject) -> None:
    leaves = KINDS[operand]
    either = leaves | st.builds(
        Logical, st.sampled_from(LogicalOperator), st.lists(leaves, min_size=1, max_size=3).map(tuple)
    )
    held, other = data.draw(either), data.draw(either)
    proved = excludes(held, other, of_action=of_action)
    event(f"proved: {proved}")
    if not proved:
        return
    kinds = worlds.fact_values[operand]
    for _ in range(6):
        values = tuple(data.draw(st.lists(kinds, min_size=1, max_size=2)))
        if of_action:
            parameters = {operand: values}
            both = evaluate_parameter(held, parameters), evaluate_parameter(other, parameters)
        else:
            known = Facts(replace(REQUEST, facts=(Fact(operand, values),)), WORLD)
            both = evaluate(held, known), evaluate(other, known)  # type: ignore[assignment]
        assert both[0] is not SATISFIED or both[1] is UNSATISFIED


def count(operator: Operator, *values: int) -> Comparison:
    return Comparison(COUNT, operator, tuple(Number(Decimal(value)) for value in values))


def purpose(operator: Operator, *iris: IRI) -> Comparison:
    return Comparison(ODRL_PURPOSE, operator, tuple(map(Named, iris)))


def recipient(iri: IRI) -> Comparison:
    return Comparison(worlds.RECIPIENT, Operator.EQ, (Named(iri),))


def time(operator: Operator, value: Value) -> Comparison:
    return Comparison(DATE_TIME, operator, (value,))


EQ, NEQ, LT, LTEQ, GT, GTEQ, ANY, NONE, ALL = (
    Operator.EQ, Operator.NEQ, Operator.LT, Operator.LTEQ, Operator.GT, Operator.GTEQ,
    Operator.IS_ANY_OF, Operator.IS_NONE_OF, Operator.IS_ALL_OF,
)  # fmt: skip
TODAY, TOMORROW = Day(NOW.date()), Day((NOW + timedelta(days=1)).date())


@pytest.mark.parametrize(
    ("held", "other", "expected"),
    [
        (count(LT, 3), count(GTEQ, 3), True),
        (count(LTEQ, 3), count(GTEQ, 3), False),
        (count(GT, 3), count(LTEQ, 3), True),
        (count(GTEQ, 3), count(EQ, 2), True),
        (count(GTEQ, 3), count(ANY, 2, 3), False),
        (count(LT, 3), count(LT, 2), False),
        (count(EQ, 3), count(NEQ, 3), True),
        (count(NONE, 3, 4), count(EQ, 4), True),
        # Several facts may be true: of 3 and 10, 3 is `eq 3`, and whether they are above 5 is unknown.
        (count(EQ, 3), count(GT, 5), False),
        (count(EQ, 3), count(EQ, 4), False),
        (recipient(worlds.ANN), recipient(worlds.ZOE), False),
        (count(LT, 3), Comparison(ROLE, GT, (Number(Decimal(5)),)), False),
        (count(LT, 3), Comparison(COUNT, GT, (Text("5"),)), False),
        (purpose(EQ, terms.STATISTICAL), purpose(EQ, terms.MARKETING), True),
        (purpose(ANY, terms.STATISTICAL, worlds.DIRECT), purpose(EQ, terms.MARKETING), False),
        (purpose(EQ, terms.MARKETING), purpose(EQ, worlds.DIRECT), False),
        (purpose(EQ, worlds.OTHER_PURPOSE), purpose(EQ, terms.MARKETING), False),
        (purpose(EQ, worlds.DIRECT), purpose(NEQ, terms.MARKETING), True),
        (purpose(EQ, terms.MARKETING), purpose(NEQ, worlds.DIRECT), False),
        (purpose(NONE, terms.MARKETING), purpose(EQ, worlds.DIRECT), True),
        (purpose(NONE, worlds.DIRECT), purpose(EQ, terms.MARKETING), False),
        (time(LT, Instant(NOW)), time(GTEQ, Instant(NOW)), True),
        (time(LTEQ, TODAY), time(GTEQ, TOMORROW), True),
        (time(LTEQ, TODAY), time(GTEQ, TODAY), False),
        (time(LT, TODAY), time(EQ, TODAY), True),
        (time(LTEQ, TODAY), time(GT, Instant(NOW + timedelta(days=1))), False),
        (time(LT, Instant(NOW.replace(tzinfo=None))), time(GT, Instant(NOW + timedelta(days=3))), False),
    ],
)
def test_some_proofs(held: Condition, other: Condition, expected: bool) -> None:
    assert excludes(held, other) is expected


@pytest.mark.parametrize(
    ("held", "other", "expected"),
    [
        (purpose(NEQ, terms.MARKETING), purpose(Operator.IS_A, terms.MARKETING), False),
        (count(EQ, 3), count(GT, 5), True),
        (count(ANY, 3, 4), count(GT, 3), False),
        (count(ANY, 3, 4), count(EQ, 5), True),
        (count(ANY, 3, 4), count(ALL, 3, 4), False),
        (count(ALL, 3, 4), count(ALL, 3), True),
        (count(ALL, 3, 4), count(NONE, 3), False),
        (count(ALL, 3, 4), count(NONE, 3, 4), True),
    ],
)
def test_some_proofs_about_parameters(held: Condition, other: Condition, expected: bool) -> None:
    assert excludes(held, other, of_action=True) is expected


@pytest.mark.parametrize("operator", [Operator.IS_A, Operator.IS_PART_OF, Operator.HAS_PART])
@pytest.mark.parametrize("negative", [NEQ, NONE])
def test_nothing_is_proved_about_parts_where_no_hierarchy_tells_of_them(
    operator: Operator, negative: Operator
) -> None:
    """What is no part of it by name may be one all the same, and the other way round."""
    within, without = (Comparison(ROLE, one, (Named(worlds.STAFF),)) for one in (operator, negative))
    for held, other in ((within, without), (without, within)):
        assert not excludes(held, other)
        assert not excludes(held, other, of_action=True)
    for held, other in ((within, of_role(EQ)), (of_role(EQ), within)):
        assert not excludes(held, other, of_action=True)


def of_role(operator: Operator) -> Comparison:
    return Comparison(ROLE, operator, (Named(worlds.ZOE),))


def test_logical_constraints_are_looked_into() -> None:
    low, high, middle = count(LT, 2), count(GT, 8), count(EQ, 5)
    either = Logical(LogicalOperator.OR, (low, high))
    assert excludes(either, middle)
    assert not excludes(Logical(LogicalOperator.OR, (low, count(LT, 9))), middle)
    assert excludes(Logical(LogicalOperator.AND, (count(LT, 9), low)), middle)
    assert excludes(low, Logical(LogicalOperator.XONE, (middle, high)))
    crossed = Logical(LogicalOperator.AND, (count(LT, 5), Comparison(ROLE, EQ, (Text("a"),))))
    other = Logical(LogicalOperator.OR, (count(GT, 6), Comparison(ROLE, NEQ, (Text("a"),))))
    assert excludes(crossed, other)


def test_a_proof_that_takes_too_long_is_none() -> None:
    prover = Prover(WORLD, 1)
    assert not prover.exclude((count(LT, 2),), (count(GT, 3),))
    assert prover.is_exhausted


def recipients(operator: Operator, first: int, last: int) -> Comparison:
    return Comparison(
        worlds.RECIPIENT, operator, tuple(Named(IRI(f"http://e.com/{at}")) for at in range(first, last))
    )


def test_durations_that_are_written_differently_may_be_equal() -> None:
    day, hours, soon = Text("P1D"), Text("PT24H"), Text("soon")
    for of_action in (True, False):
        one, other = Comparison(ROLE, EQ, (day,)), Comparison(ROLE, EQ, (hours,))
        assert not excludes(one, other, of_action=of_action)
        assert not excludes(Comparison(ROLE, ALL, (day,)), other, of_action=of_action)
        assert not excludes(one, Comparison(ROLE, NEQ, (hours,)), of_action=of_action)
        assert excludes(one, Comparison(ROLE, NEQ, (day,)), of_action=of_action)
    assert excludes(Comparison(ROLE, EQ, (day,)), Comparison(ROLE, EQ, (soon,)), of_action=True)


def test_lists_are_compared_as_sets_before_their_pairs_are() -> None:
    def proved(held: Comparison, other: Comparison, *, of_action: bool = False) -> bool:
        return Prover(WORLD, 10_000).exclude((held,), (other,), of_action=of_action)

    assert proved(recipients(ANY, 0, 3000), recipients(NONE, 0, 3001))
    assert proved(recipients(NONE, 0, 3001), recipients(ANY, 0, 3000))
    assert proved(recipients(ANY, 0, 3000), recipients(ANY, 3000, 6000), of_action=True)
    assert not proved(recipients(ANY, 0, 20), recipients(ANY, 20, 40))
    assert not proved(recipients(ANY, 0, 20), recipients(ANY, 19, 40), of_action=True)
    assert not proved(recipients(ANY, 0, 20), recipients(NONE, 0, 19))


def test_nothing_is_compared_that_the_steps_do_not_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Value] = []

    def counted(operator: Operator, value: Value, reference: Value, hierarchy: Hierarchy | None) -> Finding:
        compared.append(value)
        return compare(operator, value, reference, hierarchy)

    monkeypatch.setattr("smalti.policy.decide.exclusion.compare", counted)
    prover = Prover(WORLD, 1000)
    assert not prover.exclude((recipients(ANY, 0, 300),), (recipients(NONE, 1, 300),))
    assert prover.is_exhausted
    assert not compared


def test_conditions_are_not_looked_at_once_the_steps_are_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    prover = Prover(WORLD, 50)
    taken: list[None] = []
    step = Prover.step
    monkeypatch.setattr(Prover, "step", lambda self: (taken.append(None), step(self)))
    assert not prover.exclude([count(LT, 2)] * 100, [count(LT, 3)] * 100)
    assert len(taken) <= 50
