"""Decisions about training: a permission to train, its duty to audit, and prohibitions of it."""

from dataclasses import replace
from decimal import Decimal

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Decision, Effect, Fact, Request
from smalti.policy.decide.hierarchies import STANDARD
from smalti.policy.decide.index import PolicyIndex
from smalti.policy.model.model import (
    Asset,
    Audit,
    Bound,
    ColumnReference,
    Comparison,
    DecimalBound,
    Duty,
    Number,
    Operator,
    Permission,
    Policy,
    Prohibition,
    Text,
    Training,
    Value,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI

DATA, MODEL = IRI("http://example.com/data"), IRI("http://example.com/model")
PRIVATE = Training(
    recipe="mlp-128",
    label_column=ColumnReference(IRI(f"{DATA}/label")),
    noise_multiplier=DecimalBound(Operator.GTEQ, Decimal("1.1")),
    clipping_norm=DecimalBound(Operator.LTEQ, Decimal(1)),
    sampling_rate=DecimalBound(Operator.LTEQ, Decimal("0.01")),
    epochs=Bound(Operator.LTEQ, 20),
    delta=DecimalBound(Operator.LTEQ, Decimal("1e-6")),
)
BOUNDED = replace(
    PRIVATE, noise_multiplier=None, epochs=None, epsilon=DecimalBound(Operator.LTEQ, Decimal(2))
)
AUDITED = Duty(
    uid=IRI("urn:x:audit"), action=terms.AUDIT, targets=(Asset(MODEL),),
    audit=Audit(attacks=("loss",), attack_advantage=Decimal("0.1")),
)  # fmt: skip
TRAIN = Request(party=IRI("urn:x:acme"), action=terms.TRAIN, targets=(DATA,))


def may(training: Training | None = PRIVATE, action: IRI = terms.TRAIN, *duties: Duty) -> Permission:
    output = None if training is None else MODEL
    return Permission(
        uid=IRI("urn:x:p"), action=action, targets=(Asset(DATA),), training=training, output=output,
        duties=duties,
    )  # fmt: skip


def may_not(operand: IRI, operator: Operator, value: Value) -> Prohibition:
    refinements = (Comparison(operand, operator, (value,)),)
    return Prohibition(
        uid=IRI("urn:x:n"), action=terms.TRAIN, targets=(Asset(DATA),), refinements=refinements
    )


def policy(*rules: Permission | Prohibition, uid: str = "urn:x:1") -> Policy:
    return Policy(
        uid=IRI(uid), document_digest="",
        permissions=tuple(rule for rule in rules if isinstance(rule, Permission)),
        prohibitions=tuple(rule for rule in rules if isinstance(rule, Prohibition)),
    )  # fmt: skip


def decided(request: Request, *policies: Policy) -> Decision:
    """The decision, which an index gives, too."""
    found = authorize(request, policies)
    assert PolicyIndex(STANDARD, policies).authorize(request) == found
    return found


def asking(operand: IRI, value: str | int) -> Request:
    stated: Value = Text(value) if operand in {terms.RECIPE, terms.NEIGHBORS} else Number(Decimal(value))
    return replace(TRAIN, parameters=(Fact(operand, (stated,)),))


@pytest.mark.parametrize(
    ("operand", "value", "is_permitted"),
    [
        (terms.NOISE_MULTIPLIER, "1.1", True),
        (terms.NOISE_MULTIPLIER, 2, True),
        (terms.NOISE_MULTIPLIER, 1, False),
        (terms.EPOCHS, 20, True),
        (terms.EPOCHS, 5, True),
        (terms.EPOCHS, 21, False),
        (terms.SAMPLING_RATE, "0.005", True),
        (terms.SAMPLING_RATE, "0.02", False),
        (terms.CLIPPING_NORM, 2, False),
        (terms.DELTA, "1e-7", True),
        (terms.DELTA, "1e-5", False),
        (terms.RECIPE, "mlp-128", True),
        (terms.RECIPE, "other", False),
        (terms.EPSILON, 1, False),
        (terms.NEIGHBORS, "change-one", False),
    ],
)
def test_a_request_is_at_least_as_strong_as_the_permission(
    operand: IRI, value: str | int, is_permitted: bool
) -> None:
    assert decided(asking(operand, value), policy(may())).is_permitted is is_permitted


@given(
    st.sampled_from((PRIVATE, BOUNDED)),
    st.sampled_from((terms.NOISE_MULTIPLIER, terms.EPSILON, terms.EPOCHS, terms.DELTA)),
    st.integers(1, 400).map(lambda n: Decimal(n) / 100),
    st.integers(1, 400).map(lambda n: Decimal(n) / 100),
)
@settings(max_examples=examples(40, full=400))
def test_who_may_ask_for_less_noise_may_ask_for_more(
    how: Training, operand: IRI, one: Decimal, other: Decimal
) -> None:
    """And for a smaller loss, fewer epochs, a smaller delta: what is permitted has no gaps above it."""
    weaker, stronger = sorted((one, other), reverse=operand != terms.NOISE_MULTIPLIER)
    rules = policy(may(how))
    if authorize(asking(operand, str(weaker)), [rules]).is_permitted:
        assert authorize(asking(operand, str(stronger)), [rules]).is_permitted


def test_the_grant_has_the_training_and_the_audit() -> None:
    (grant,) = decided(TRAIN, policy(may(PRIVATE, terms.TRAIN, AUDITED))).grants
    assert (grant.permission.training, grant.permission.output) == (PRIVATE, MODEL)
    assert grant.obligations == (AUDITED,)
    assert not decided(TRAIN, policy(may(PRIVATE, terms.TRAIN, AUDITED))).is_unconditional


def test_no_claim_fulfils_the_audit_of_a_model_that_is_not_there() -> None:
    claimed = replace(TRAIN, fulfilled=frozenset({AUDITED.uid}))
    (grant,) = decided(claimed, policy(may(PRIVATE, terms.TRAIN, AUDITED))).grants
    assert grant.obligations == (AUDITED,)
    (broad,) = decided(claimed, policy(may(None, terms.USE, AUDITED))).grants
    assert broad.obligations == (AUDITED,)
    using = replace(claimed, action=terms.USE)
    (used,) = decided(using, policy(may(None, terms.USE, AUDITED))).grants
    assert used.obligations == ()


def test_to_derive_includes_training_and_does_not_say_how() -> None:
    (grant,) = decided(TRAIN, policy(may(None, IRI(terms.ODRL + "derive")))).grants
    assert (grant.permission.training, grant.permission.output) == (None, None)
    assert decided(replace(TRAIN, action=terms.READ), policy(may())).effect is Effect.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("how", "forbidden", "is_permitted"),
    [
        (PRIVATE, may_not(terms.NOISE_MULTIPLIER, Operator.LT, Number(Decimal(1))), True),
        (PRIVATE, may_not(terms.NOISE_MULTIPLIER, Operator.LT, Number(Decimal(2))), False),
        (BOUNDED, may_not(terms.EPSILON, Operator.GT, Number(Decimal(3))), True),
        (BOUNDED, may_not(terms.EPSILON, Operator.GT, Number(Decimal(1))), False),
        # What follows from a bound, or is the recipe's choice, is not known here.
        (BOUNDED, may_not(terms.NOISE_MULTIPLIER, Operator.LT, Number(Decimal("0.1"))), False),
        (BOUNDED, may_not(terms.EPOCHS, Operator.GT, Number(Decimal(1000))), False),
        (PRIVATE, may_not(terms.RECIPE, Operator.EQ, Text("other")), True),
    ],
)
def test_a_prohibition_is_judged_by_what_the_planner_would_choose(
    how: Training, forbidden: Prohibition, is_permitted: bool
) -> None:
    found = decided(TRAIN, policy(may(how)), policy(forbidden, uid="urn:x:2"))
    assert found.is_permitted is is_permitted
    assert (decided(TRAIN, policy(may(how), forbidden)).effect is Effect.VOID) is not is_permitted


def test_a_stronger_request_escapes_a_prohibition_of_less() -> None:
    no = policy(may_not(terms.NOISE_MULTIPLIER, Operator.LT, Number(Decimal(2))), uid="urn:x:2")
    assert decided(asking(terms.NOISE_MULTIPLIER, 2), policy(may()), no).is_permitted
