"""How duties are read: fulfilled before, or not violated, which leaves them owed (`Request.duties`)."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from random_policies import HIERARCHIES, Draw

from smalti.errors import UsageError
from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Acceptance, Decision, DutyReading, Effect, Finding, Part, Request
from smalti.policy.decide.facts import DATE_TIME
from smalti.policy.decide.index import PolicyIndex
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    Day,
    Duty,
    Instant,
    Logical,
    LogicalOperator,
    Number,
    Operator,
    Permission,
    Policy,
    Prohibition,
    Text,
)
from smalti.vocab import terms
from smalti.vocab.markets import IN_FORCE_DATE
from smalti.vocab.terms import CATENAX, IRI, ODRL

LAB, SHOP = IRI("http://example.com/lab"), IRI("http://example.com/shop")
INFORM, UID = IRI(ODRL + "inform"), IRI("urn:x:duty")
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
LATER, BEFORE = datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
STRICT = Request(party=LAB, action=terms.READ, targets=(SHOP,), time=NOW)
OPEN = replace(STRICT, duties=DutyReading.NOT_VIOLATED)


WAY = Anonymization(
    method="k-anonymity", algorithm=None, k=Bound(Operator.GTEQ, 5), l=None, identifiers=(),
    quasi_identifiers=(ColumnReference(IRI(f"{SHOP}/age")),), sensitive=(), released=(), respondent=None,
    one_row_each=True,
)  # fmt: skip


def inform(*constraints: Condition, **parts: object) -> Duty:
    base = Duty(uid=UID, action=INFORM, targets=(), constraints=constraints)
    return replace(base, **parts)  # type: ignore[arg-type]


def allowing(*duties: Duty, action: IRI = terms.READ) -> Policy:
    rule = Permission(uid=IRI("urn:x:read"), action=action, targets=(Asset(SHOP),), duties=duties)
    return Policy(uid=IRI("urn:x:1"), document_digest="sha256:0", permissions=(rule,))


def decided(request: Request, *duties: Duty) -> Decision:
    return authorize(request, [allowing(*duties)], explain=True)


def at(operator: Operator, moment: datetime, operand: IRI = DATE_TIME) -> Comparison:
    return Comparison(operand, operator, (Instant(moment),))


def test_a_duty_that_is_not_fulfilled_yet_is_owed_where_the_request_reads_duties_so() -> None:
    assert decided(STRICT, inform()).effect is Effect.DENY
    decision = decided(OPEN, inform())
    assert decision.effect is Effect.LIMITED
    assert [duty.uid for duty in decision.grants[0].obligations] == [UID]
    assert not decision.is_permitted
    assert decided(replace(OPEN, understands_limits=True), inform()).is_permitted


def test_a_fulfilled_duty_is_not_owed() -> None:
    decision = decided(replace(OPEN, fulfilled=frozenset({UID})), inform(at(Operator.LTEQ, BEFORE)))
    assert decision.effect is Effect.PERMIT
    assert decision.grants[0].obligations == ()


def test_the_default_is_as_before() -> None:
    assert STRICT.duties is DutyReading.FULFILLED
    assert decided(STRICT, inform()) == decided(replace(STRICT, duties=DutyReading.FULFILLED), inform())


CASES: dict[str, tuple[tuple[Condition, ...], Finding]] = {
    "before its deadline": ((at(Operator.LTEQ, LATER),), Finding.SATISFIED),
    "after its deadline": ((at(Operator.LTEQ, BEFORE),), Finding.UNSATISFIED),
    "after its last day": (
        (Comparison(DATE_TIME, Operator.LTEQ, (Day(BEFORE.date()),)),),
        Finding.UNSATISFIED,
    ),
    "on its last day, which has not begun or ended everywhere": (
        (Comparison(DATE_TIME, Operator.LT, (Day(NOW.date()),)),),
        Finding.UNKNOWN,
    ),
    "not before a date": ((at(Operator.GTEQ, LATER),), Finding.SATISFIED),
    "on another day": ((at(Operator.EQ, LATER),), Finding.UNKNOWN),
    "one of two deadlines has passed": (
        (Logical(LogicalOperator.OR, (at(Operator.LT, BEFORE), at(Operator.LT, LATER))),),
        Finding.UNSATISFIED,
    ),
    "within a time from a moment that nobody states": (
        (Comparison(IRI(ODRL + "elapsedTime"), Operator.LTEQ, (Text("P30D"),)),),
        Finding.UNKNOWN,
    ),
    "before an event": (
        (Comparison(IRI(ODRL + "event"), Operator.LT, (Text("policyUsage"),)),),
        Finding.UNKNOWN,
    ),
    "a word that nobody declares": (
        (Comparison(IRI("urn:x:due"), Operator.LTEQ, (Number(Decimal(1)),)),),
        Finding.UNKNOWN,
    ),
    "a column": (
        (ColumnComparison(ColumnReference(IRI(f"{SHOP}/age")), Operator.GT, (Number(Decimal(1)),)),),
        Finding.UNKNOWN,
    ),
    "what the duty itself is like": (
        (Comparison(IRI(ODRL + "payAmount"), Operator.EQ, (Number(Decimal(5)),)),),
        Finding.SATISFIED,
    ),
    "a clock that has run out": ((at(Operator.LTEQ, BEFORE, IN_FORCE_DATE),), Finding.UNSATISFIED),
    "a clause that is not accepted": (
        (Comparison(IRI(CATENAX + "Liability"), Operator.EQ, (Text("cx.core.liability:1"),)),),
        Finding.UNKNOWN,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("is_refined", [False, True])
def test_a_duty_is_violated_once_a_deadline_has_passed(name: str, is_refined: bool) -> None:
    """A deadline may be a refinement of the duty's action, too; what is not understood denies."""
    conditions, finding = CASES[name]
    duty = inform(refinements=conditions) if is_refined else inform(*conditions)
    decision = decided(OPEN, duty)
    assert bool(decision.grants) is (finding is Finding.SATISFIED)
    (report,) = decision.considered
    (part,) = (part for part in report.parts if part.part is Part.DUTY)
    assert part.finding is finding
    text = {
        Finding.SATISFIED: "is not violated",
        Finding.UNSATISFIED: "was not fulfilled in time",
        Finding.UNKNOWN: "is not known to be fulfilled, nor that it can still be",
    }[finding]
    assert part.text == f"its duty to `inform` {text} [{UID}]"


def test_a_deadline_at_an_unknown_time_is_unknown() -> None:
    assert decided(replace(OPEN, time=None), inform(at(Operator.LTEQ, LATER))).effect is Effect.DENY
    assert decided(replace(OPEN, time=None), inform()).effect is Effect.LIMITED


def test_an_accepted_clause_of_a_duty_lets_it_be_owed() -> None:
    clause = IRI(CATENAX + "Liability")
    duty = inform(Comparison(clause, Operator.EQ, (Text("cx.core.liability:1"),)))
    accepting = replace(OPEN, accepted=(Acceptance(clause),), on_behalf_of=LAB)
    assert decided(accepting, duty).effect is Effect.LIMITED


def test_what_smalti_itself_must_plan_stays_owed_under_either_reading() -> None:
    duty = Duty(uid=UID, action=terms.ANONYMIZE, targets=(), anonymization=WAY, output=IRI("urn:x:out"))
    for request in (STRICT, OPEN, replace(OPEN, fulfilled=frozenset({UID}))):
        (grant,) = decided(request, duty).grants
        assert grant.obligations == (duty,)
    both = decided(OPEN, duty, inform(uid=IRI("urn:x:inform")))
    assert [owed.uid for owed in both.grants[0].obligations] == [UID, IRI("urn:x:inform")]


def test_the_reading_is_about_duties_of_permissions_and_not_about_remedies() -> None:
    """A remedy follows what has happened already: the other remedies must be fulfilled."""
    remedy = Duty(uid=UID, action=terms.ANONYMIZE, targets=(), anonymization=WAY, output=IRI("urn:x:out"))
    tell = inform(uid=IRI("urn:x:inform"))
    rule = Prohibition(
        uid=IRI("urn:x:no"), action=terms.ANONYMIZE, targets=(Asset(SHOP),), remedies=(remedy, tell)
    )
    policy = Policy(uid=IRI("urn:x:1"), document_digest="sha256:0", prohibitions=(rule,))
    asked = replace(OPEN, action=terms.ANONYMIZE, rule=UID)
    assert not authorize(asked, [policy], owners=frozenset({LAB})).grants
    kept = replace(asked, fulfilled=frozenset({tell.uid}))
    assert authorize(kept, [policy], owners=frozenset({LAB})).grants


def test_a_prohibition_denies_under_either_reading() -> None:
    no = Prohibition(uid=IRI("urn:x:no"), action=terms.USE, targets=(Asset(SHOP),))
    forbidding = Policy(uid=IRI("urn:x:2"), document_digest="sha256:1", prohibitions=(no,))
    assert authorize(OPEN, [allowing(inform()), forbidding]).effect is Effect.DENY


def granted(decision: Decision) -> set[tuple[IRI, IRI]]:
    return {(grant.policy.uid, grant.permission.uid) for grant in decision.grants}


def test_the_other_reading_grants_no_less_and_nothing_that_is_left_out_grants_more() -> None:
    more = 0
    for seed in range(1026, 1034):
        draw = Draw(seed)
        policies = draw.policies()
        index = PolicyIndex(HIERARCHIES, policies)
        for _ in range(8):
            request = replace(draw.request(policies), duties=DutyReading.NOT_VIOLATED)
            unclaimed = replace(request, fulfilled=frozenset())
            strict = replace(unclaimed, duties=DutyReading.FULFILLED)
            least, after = granted(index.authorize(strict)), granted(index.authorize(unclaimed))
            more += least < after
            assert least <= after <= granted(index.authorize(request))
            purposes = tuple(fact for fact in request.facts if fact.operand == terms.ODRL_PURPOSE)
            for fewer in (replace(unclaimed, time=None), replace(unclaimed, facts=purposes)):
                assert granted(index.authorize(fewer)) <= after
    assert more


def test_a_reading_is_one_of_two() -> None:
    assert replace(STRICT, duties="not-violated").duties is DutyReading.NOT_VIOLATED  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"`later` is no reading of duties"):
        replace(STRICT, duties="later")  # type: ignore[arg-type]
