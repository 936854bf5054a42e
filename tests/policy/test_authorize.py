"""Decisions: closed world, denying by default, with reasons."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from time import perf_counter

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.errors import UsageError
from smalti.policy.decide.authorize import authorize, prepare
from smalti.policy.decide.decision import Decision, Effect, Fact, Finding, Grant, Part, Request, effect_of
from smalti.policy.decide.facts import DATE_TIME, RECIPIENT
from smalti.policy.decide.hierarchies import STANDARD, Vocabulary
from smalti.policy.decide.hierarchy import Relations
from smalti.policy.decide.index import PolicyIndex, Standing
from smalti.policy.decide.reasons import NEAR_MISSES
from smalti.policy.model.column_iris import is_column_of
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    ConflictStrategy,
    Duty,
    Instant,
    Interval,
    Logical,
    LogicalOperator,
    Membership,
    Named,
    Number,
    Operator,
    Party,
    Permission,
    Policy,
    PolicyType,
    Prohibition,
    Text,
    Where,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI

HERE = Where("p.jsonld", 1, 1)
ACME, ZOO = IRI("http://example.com/acme"), IRI("http://example.com/zoo")
SHOP, BANK = IRI("http://example.com/shop"), IRI("http://example.com/bank")
REQUEST = Request(party=ACME, action=terms.READ, targets=(SHOP,), purpose=terms.MARKETING)


def _said(changes: dict[str, object]) -> dict[str, object]:
    """Shorthands: one target, one assignee, a set of purposes; None means without."""
    said = dict(changes)
    if "target" in said:
        said["targets"] = (Asset(said.pop("target")),)  # type: ignore[arg-type]
    if "assignee" in said:
        party = said.pop("assignee")
        said["assignees"] = () if party is None else (Party(party),)  # type: ignore[arg-type]
    if "purposes" in said:
        said["constraints"] = limit(said.pop("purposes"))  # type: ignore[arg-type]
    return said


def limit(purposes: frozenset[IRI] | None) -> tuple[Comparison, ...]:
    if purposes is None:
        return ()
    listed = tuple(Named(iri) for iri in sorted(purposes))
    return (Comparison(terms.ODRL_PURPOSE, Operator.IS_ANY_OF, listed),)


def permission(uid: str = "urn:x:p", **changes: object) -> Permission:
    base = Permission(
        uid=IRI(uid), action=terms.READ, targets=(Asset(SHOP),), assignees=(Party(ACME),),
        constraints=limit(frozenset({terms.MARKETING})), where=HERE,
    )  # fmt: skip
    return replace(base, **_said(changes))  # type: ignore[arg-type]


def prohibition(uid: str = "urn:x:n", **changes: object) -> Prohibition:
    base = Prohibition(uid=IRI(uid), action=terms.READ, targets=(Asset(SHOP),), where=HERE)
    return replace(base, **_said(changes))  # type: ignore[arg-type]


def policy(
    *rules: Permission | Prohibition,
    conflict: ConflictStrategy = ConflictStrategy.INVALID,
    uid: str = "urn:x:1",
) -> Policy:
    granted = tuple(rule for rule in rules if isinstance(rule, Permission))
    forbidden = tuple(rule for rule in rules if isinstance(rule, Prohibition))
    return Policy(
        uid=IRI(uid), document_digest="sha256:0", conflict=conflict, permissions=granted,
        prohibitions=forbidden, where=HERE,
    )  # fmt: skip


def decide(
    *rules: Permission | Prohibition, conflict: ConflictStrategy = ConflictStrategy.INVALID
) -> Decision:
    return authorize(REQUEST, [policy(*rules, conflict=conflict)])


def test_a_matching_permission_permits() -> None:
    decision = decide(permission())
    assert decision.is_permitted
    assert decision.permissions == (permission(),)
    assert decision.policies == (policy(permission()),)
    assert decision.reasons[0].rule == "urn:x:p"
    assert "action `read`" in decision.reasons[0].text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"assignee": ZOO}, "the party `http://example.com/zoo`"),
        ({"purposes": frozenset({terms.STATISTICAL})}, "limited to the purpose `statistical`"),
        ({"action": terms.ANONYMIZE}, "about the action `anonymize`"),
        ({"action": IRI(terms.ODRL + "derive")}, "about the action `derive`"),
    ],
)
def test_what_does_not_match_denies(changes: dict[str, object], words: str) -> None:
    decision = decide(permission(**changes))
    assert not decision.is_permitted
    assert decision.permissions == ()
    assert any(words in reason.text for reason in decision.reasons)


def test_nothing_about_the_target_is_not_applicable() -> None:
    assert decide(permission(target=BANK)).effect is Effect.NOT_APPLICABLE
    assert authorize(REQUEST, []).effect is Effect.NOT_APPLICABLE
    assert decide(permission(assignee=ZOO)).effect is Effect.DENY


def test_a_missing_purpose_satisfies_no_limit() -> None:
    request = replace(REQUEST, purpose=None)
    assert authorize(request, [policy(permission())]).effect is Effect.DENY
    assert authorize(request, [policy(permission(purposes=None))]).is_permitted


@pytest.mark.parametrize("targets", [(), "http://example.com/C"])
def test_a_request_names_its_targets(targets: object) -> None:
    """All targets of a request about none are covered by any rule."""
    with pytest.raises(UsageError, match="target"):
        Request(party=IRI("urn:x:party"), action=terms.READ, targets=targets)  # type: ignore[arg-type]


def test_anybody_and_any_purpose() -> None:
    assert decide(permission(assignee=None, purposes=None)).is_permitted


@pytest.mark.parametrize(
    ("strategy", "effect"),
    [
        (ConflictStrategy.PERMIT, Effect.PERMIT),
        (ConflictStrategy.PROHIBIT, Effect.DENY),
        (ConflictStrategy.INVALID, Effect.VOID),
    ],
)
def test_conflict_strategies(strategy: ConflictStrategy, effect: Effect) -> None:
    assert decide(permission(), prohibition(), conflict=strategy).effect is effect


def test_a_conflict_voids_the_whole_policy() -> None:
    elsewhere = permission("urn:x:bank", target=BANK)
    decision = authorize(
        replace(REQUEST, targets=(BANK,)), [policy(permission(), elsewhere, prohibition())]
    )
    assert decision.effect is Effect.VOID
    assert "contradict each other" in decision.reasons[0].text


def test_a_rule_that_never_applies_is_no_conflict() -> None:
    """It grants nothing; and as a prohibition it denies only where its facts are unknown."""
    few, many = (
        Comparison(IRI(terms.ODRL + "count"), operator, (Number(Decimal(value)),))
        for operator, value in ((Operator.LT, 5), (Operator.GT, 6))
    )
    never, always = replace(permission("urn:x:never"), constraints=(few, many)), permission()
    assert decide(always, prohibition(target=BANK), never).is_permitted
    stated = replace(REQUEST, facts=(Fact(IRI(terms.ODRL + "count"), (Number(Decimal(7)),)),))
    forbidding = replace(prohibition(), constraints=(few, many))
    assert authorize(stated, [policy(always, forbidding)]).is_permitted
    assert authorize(REQUEST, [policy(always, forbidding)]).effect is Effect.DENY
    for request in (REQUEST, stated):
        assert authorize(request, [policy(never, prohibition())]).effect is Effect.DENY
        assert authorize(request, [policy(never)]).effect is Effect.DENY


def test_rules_that_never_meet_are_no_conflict() -> None:
    assert decide(permission(), prohibition(assignee=ZOO)).is_permitted
    assert decide(permission(), prohibition(target=BANK)).is_permitted
    assert decide(permission(), prohibition(action=terms.ANONYMIZE)).is_permitted
    assert decide(permission(), prohibition(purposes=frozenset({terms.STATISTICAL}))).is_permitted


def test_a_prohibition_of_another_policy_denies() -> None:
    decision = authorize(REQUEST, [policy(permission()), policy(prohibition(), uid="urn:x:2")])
    assert decision.effect is Effect.DENY
    assert (decision.reasons[0].policy, decision.reasons[0].rule) == ("urn:x:2", "urn:x:n")


def test_a_prohibition_of_use_is_about_every_action() -> None:
    forbidden = policy(prohibition(action=terms.USE), uid="urn:x:2")
    assert authorize(REQUEST, [policy(permission()), forbidden]).effect is Effect.DENY


def test_a_prohibition_for_a_purpose_holds_when_none_is_stated() -> None:
    rules = (
        policy(permission(purposes=None)),
        policy(prohibition(purposes=frozenset({terms.STATISTICAL})), uid="urn:x:2"),
    )
    assert authorize(REQUEST, rules).is_permitted
    assert not authorize(replace(REQUEST, purpose=None), rules).is_permitted
    assert not authorize(replace(REQUEST, purpose=terms.STATISTICAL), rules).is_permitted


def test_several_permissions_are_all_named_and_one_can_be_picked() -> None:
    both = [policy(permission("urn:x:a"), permission("urn:x:b", assignee=None))]
    assert [found.uid for found in authorize(REQUEST, both).permissions] == ["urn:x:a", "urn:x:b"]
    picked = authorize(replace(REQUEST, rule=IRI("urn:x:b")), both)
    assert [found.uid for found in picked.permissions] == ["urn:x:b"]
    assert picked.reasons[0].rule == "urn:x:b"
    unknown = authorize(replace(REQUEST, rule=IRI("urn:x:c")), both)
    assert unknown.effect is Effect.DENY
    assert "urn:x:c" in unknown.reasons[0].text


def test_a_policy_that_is_given_twice_counts_once() -> None:
    assert len(authorize(REQUEST, [policy(permission()), policy(permission())]).permissions) == 1


# --- Several targets, groups and collections

STAFF, ALL_SHOPS = IRI("http://example.com/staff"), IRI("http://example.com/shops")
MARKET = STANDARD.with_(
    Vocabulary(
        parties=Relations(((ACME, STAFF),)), assets=Relations(((SHOP, ALL_SHOPS), (BANK, ALL_SHOPS)))
    )
)
JOINT = replace(REQUEST, targets=(SHOP, BANK))


def on(*targets: IRI) -> dict[str, object]:
    return {"targets": tuple(map(Asset, targets))}


def test_targets_are_seen_jointly_by_one_rule_only() -> None:
    joint = policy(permission(**on(SHOP, BANK)))
    apart = policy(permission("urn:x:a", **on(SHOP)), permission("urn:x:b", **on(BANK)))
    assert authorize(JOINT, [joint]).is_permitted
    assert not authorize(JOINT, [apart]).is_permitted
    assert authorize(REQUEST, [joint]).is_permitted
    assert authorize(replace(JOINT, targets=(BANK,)), [joint]).is_permitted


def test_a_prohibition_applies_when_any_target_is_touched() -> None:
    granted = policy(permission(**on(ALL_SHOPS)))
    for forbidden in (SHOP, BANK, ALL_SHOPS):
        no = policy(prohibition(target=forbidden), uid="urn:x:2")
        assert authorize(JOINT, [granted], MARKET).is_permitted
        assert authorize(JOINT, [granted, no], MARKET).effect is Effect.DENY
        whole = replace(REQUEST, targets=(ALL_SHOPS,))
        assert authorize(whole, [granted], MARKET).is_permitted
        assert authorize(whole, [granted, no], MARKET).effect is Effect.DENY
    elsewhere = policy(prohibition(target=BANK), uid="urn:x:2")
    assert authorize(REQUEST, [granted, elsewhere], MARKET).is_permitted


def test_a_group_has_its_members_and_a_collection_too() -> None:
    given = [policy(permission(assignee=STAFF, target=ALL_SHOPS))]
    assert authorize(REQUEST, given, MARKET).is_permitted
    assert not authorize(REQUEST, given).is_permitted
    assert not authorize(replace(REQUEST, party=ZOO), given, MARKET).is_permitted
    whole = [policy(permission(target=SHOP))]
    assert not authorize(replace(REQUEST, targets=(ALL_SHOPS,)), whole, MARKET).is_permitted


def test_members_that_a_policy_names_count_in_it_only() -> None:
    said = replace(policy(permission(target=BANK)), memberships=(Membership(SHOP, BANK),))
    other = policy(permission("urn:x:other", target=BANK), uid="urn:x:2")
    assert [rule.uid for rule in authorize(REQUEST, [said, other]).permissions] == ["urn:x:p"]


def test_an_action_covers_those_included_in_it_and_no_siblings() -> None:
    use = [policy(permission(action=terms.USE))]
    for action in (terms.READ, terms.ANONYMIZE, terms.USE):
        assert authorize(replace(REQUEST, action=action), use).is_permitted
    assert not authorize(replace(REQUEST, action=IRI(terms.ODRL + "sell")), use).is_permitted
    assert not authorize(replace(REQUEST, action=terms.USE), [policy(permission())]).is_permitted


def test_a_prohibition_of_an_action_forbids_what_includes_it() -> None:
    granted, no = policy(permission(action=terms.USE)), policy(prohibition(), uid="urn:x:2")
    assert authorize(replace(REQUEST, action=terms.USE), [granted, no]).effect is Effect.DENY
    assert authorize(replace(REQUEST, action=terms.ANONYMIZE), [granted, no]).is_permitted


def test_an_action_that_no_vocabulary_defines_may_be_any() -> None:
    strange = IRI("http://example.com/peek")
    granted, no = policy(permission(action=strange)), policy(prohibition(), uid="urn:x:2")
    asked = replace(REQUEST, action=strange)
    assert authorize(asked, [granted]).is_permitted
    assert authorize(asked, [granted, no]).effect is Effect.DENY


def test_a_purpose_covers_narrower_ones() -> None:
    direct = IRI(terms.DPV + "DirectMarketing")
    assert authorize(replace(REQUEST, purpose=direct), [policy(permission())]).is_permitted
    narrow = [policy(permission(purposes=frozenset({direct})))]
    assert not authorize(REQUEST, narrow).is_permitted
    no = policy(prohibition(purposes=frozenset({direct})), uid="urn:x:2")
    assert authorize(REQUEST, [policy(permission()), no]).effect is Effect.DENY


@pytest.mark.parametrize("operator", [Operator.NEQ, Operator.IS_NONE_OF])
def test_a_missing_purpose_is_in_no_way_another_one(operator: Operator) -> None:
    other = (Comparison(terms.ODRL_PURPOSE, operator, (Named(terms.STATISTICAL),)),)
    granted, no = policy(permission(constraints=other)), policy(prohibition(constraints=other))
    silent = replace(REQUEST, purpose=None)
    assert authorize(REQUEST, [granted]).is_permitted
    assert not authorize(silent, [granted]).is_permitted
    everything = policy(permission(purposes=None), uid="urn:x:2")
    assert authorize(silent, [everything, no]).effect is Effect.DENY
    assert authorize(replace(silent, purpose=terms.STATISTICAL), [everything, no]).is_permitted


# --- Policies as a whole


def test_an_offer_grants_and_forbids_nothing() -> None:
    offer = replace(policy(permission(), prohibition()), type=PolicyType.OFFER)
    refused = authorize(REQUEST, [offer])
    assert refused.effect is Effect.DENY
    assert any("an Offer" in reason.text for reason in refused.reasons)
    assert authorize(REQUEST, [offer, policy(permission(), uid="urn:x:2")]).is_permitted


NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "grants", "forbids"),
    [
        (NOW, True, True),
        (NOW - timedelta(microseconds=1), False, False),
        (NOW + timedelta(days=1), False, False),
        (None, False, True),
        (NOW.replace(tzinfo=None), False, True),
        (NOW.replace(tzinfo=None) - timedelta(hours=15), False, False),
    ],
)
def test_outside_of_its_interval_a_policy_is_not_in_force(
    time: datetime | None, grants: bool, forbids: bool
) -> None:
    limit = Interval(NOW, NOW + timedelta(days=1))
    asked = replace(REQUEST, time=time)
    granted = replace(policy(permission()), valid=limit)
    assert authorize(asked, [granted]).is_permitted is grants
    no = replace(policy(prohibition(), uid="urn:x:2"), valid=limit)
    assert authorize(asked, [policy(permission()), no]).is_permitted is not forbids


def test_a_void_policy_still_forbids() -> None:
    void = policy(permission(), prohibition())
    granted = policy(permission("urn:x:q"), uid="urn:x:2")
    assert authorize(REQUEST, [void, granted]).effect is Effect.VOID


def test_conditions_that_exclude_each_other_are_no_conflict() -> None:
    early = Comparison(DATE_TIME, Operator.LT, (Instant(NOW),))
    late = Comparison(DATE_TIME, Operator.GTEQ, (Instant(NOW),))
    asked = replace(REQUEST, time=NOW - timedelta(days=1))
    apart = policy(permission(constraints=(early,)), prohibition(constraints=(late,)))
    assert authorize(asked, [apart]).is_permitted
    touching = policy(permission(constraints=(replace(early, operator=Operator.LTEQ),)),
                      prohibition(constraints=(late,)))  # fmt: skip
    assert authorize(asked, [touching]).effect is Effect.VOID


def test_many_rules_are_checked_for_conflicts_in_bounded_time() -> None:
    """All pairs of these rules would be nine million."""
    many = [
        permission(f"urn:x:p{number}", assignee=IRI(f"http://example.com/{number}"), purposes=None)
        for number in range(3000)
    ]
    none = [
        prohibition(f"urn:x:n{number}", purposes=frozenset({terms.STATISTICAL})) for number in range(3000)
    ]
    start = perf_counter()
    assert prepare(policy(*many, *none), STANDARD).conflict is not None
    limits = tuple(Comparison(COUNT, Operator.LTEQ, (Number(Decimal(number)),)) for number in range(1000))
    excluded = tuple(
        Comparison(COUNT, Operator.GT, (Number(Decimal(2000 + number)),)) for number in range(1000)
    )
    any_of = Logical(LogicalOperator.OR, limits), Logical(LogicalOperator.OR, excluded)
    entangled = policy(permission(constraints=any_of[:1]), prohibition(constraints=any_of[1:]))
    assert prepare(entangled, STANDARD).conflict is not None
    assert perf_counter() - start < 60


# --- Duties, obligations and remedies


def how(k: int = 10, operator: Operator = Operator.GTEQ, sensitive: bool = False) -> Anonymization:
    return Anonymization(
        method="l-diversity" if sensitive else "k-anonymity",
        algorithm=None,
        k=Bound(operator, k),
        l=Bound(Operator.GTEQ, 3) if sensitive else None,
        identifiers=(),
        quasi_identifiers=(ColumnReference(IRI(SHOP + "/zip")),),
        sensitive=(ColumnReference(IRI(SHOP + "/illness")),) if sensitive else (),
        released=(),
        respondent=None,
        one_row_each=False,
    )


OUT = IRI("http://example.com/out")
ANONYMIZE = replace(REQUEST, action=terms.ANONYMIZE)


def duty(action: IRI, uid: str = "urn:x:d", **parts: object) -> Duty:
    if action == terms.ANONYMIZE:
        parts = {"output": OUT, "anonymization": how(), **parts}
    return Duty(uid=IRI(uid), action=action, **{"targets": (), **parts})  # type: ignore[arg-type]


INFORM, AUDIT, COUNT = IRI(terms.ODRL + "inform"), IRI(terms.SMALTI + "audit"), IRI(terms.ODRL + "count")


def test_a_duty_that_no_plan_contains_must_be_fulfilled() -> None:
    given = [policy(permission(duties=(duty(INFORM),)))]
    refused = authorize(REQUEST, given)
    assert refused.effect is Effect.DENY
    assert any("urn:x:d" in reason.text for reason in refused.reasons)
    kept = replace(REQUEST, fulfilled=frozenset({IRI("urn:x:d")}))
    assert authorize(kept, given).grants == (Grant(given[0], given[0].permissions[0]),)


def test_no_claim_about_a_duty_stands_against_what_is_known() -> None:
    """One whose constraint does not hold; one on time may have held when the duty was done."""
    over = Comparison(DATE_TIME, Operator.LT, (Instant(datetime(2020, 1, 1, tzinfo=UTC)),))
    other = limit(frozenset({terms.STATISTICAL}))
    same = limit(frozenset({terms.MARKETING}))
    for constraints, is_permitted in (
        ((over,), True),
        (other, False),
        ((over, *other), False),
        (same, True),
    ):
        given = [policy(permission(duties=(duty(INFORM, constraints=constraints),)))]
        claimed = replace(REQUEST, fulfilled=frozenset({IRI("urn:x:d")}), time=datetime.now(UTC))
        assert authorize(claimed, given).is_permitted is is_permitted


def test_a_claim_about_a_duty_counts_only_where_its_constraints_are_known_to_hold() -> None:
    """A deadline may have been kept; nothing else that does not hold now, or is not known, counts."""

    def at(operator: Operator, year: int) -> Comparison:
        return Comparison(DATE_TIME, operator, (Instant(datetime(year, 1, 1, tzinfo=UTC)),))

    (purpose,), (other,) = limit(frozenset({terms.MARKETING})), limit(frozenset({terms.STATISTICAL}))
    past, future = at(Operator.LTEQ, 2020), at(Operator.GTEQ, 2090)
    assert is_claimed(purpose)
    assert is_claimed(past, purpose)
    assert not is_claimed(purpose, purposes=None)
    assert not is_claimed(future)
    assert not is_claimed(at(Operator.EQ, 2020))
    assert not is_claimed(Logical(LogicalOperator.AND, (past, other)))
    assert not is_claimed(Logical(LogicalOperator.OR, (future, other)))
    assert not is_claimed(
        ColumnComparison(ColumnReference(IRI(f"{SHOP}/age")), Operator.GT, (Number(Decimal(1)),))
    )


def is_claimed(*constraints: Condition, purposes: IRI | None = terms.MARKETING) -> bool:
    given = [policy(permission(constraints=(), duties=(duty(INFORM, constraints=constraints),)))]
    claimed = replace(
        REQUEST, fulfilled=frozenset({IRI("urn:x:d")}), time=datetime.now(UTC), purpose=purposes
    )
    return authorize(claimed, given).is_permitted


def test_the_requester_claims_nothing_about_other_parties_of_a_duty() -> None:
    wanted = limit(frozenset({terms.MARKETING}))
    for parts, is_permitted in (
        ({"assignees": (Party(ACME, refinements=wanted),)}, True),
        ({"assignees": (Party(IRI("urn:x:another")),)}, True),
        ({"assignees": (Party(IRI("urn:x:another"), refinements=wanted),)}, False),
        ({"assigners": (Party(ACME, refinements=wanted),)}, False),
    ):
        given = [policy(permission(duties=(duty(INFORM, **parts),)))]
        claimed = replace(REQUEST, fulfilled=frozenset({IRI("urn:x:d")}))
        assert authorize(claimed, given).is_permitted is is_permitted


def test_what_a_policy_says_of_parties_counts_for_its_duties() -> None:
    """Who is in which group decides whether a model that is used was audited as it must be."""
    outside = Comparison(RECIPIENT, Operator.IS_NONE_OF, (Named(ZOO),))
    audit = duty(AUDIT, "urn:x:e", constraints=(outside,))
    given = policy(permission(duties=(audit,)))
    given = replace(given, memberships=(Membership(ACME, ZOO, of_parties=True),))
    fact = Fact(RECIPIENT, (Named(ACME),))
    (grant,) = authorize(replace(REQUEST, facts=(fact,), fulfilled=frozenset({audit.uid})), [given]).grants
    assert grant.obligations == (audit,)


def test_an_audit_that_needs_something_unknown_stays_owed() -> None:
    unknown = Comparison(IRI("http://x.example/membership"), Operator.EQ, (Text("active"),))
    for constraints, owed in (((), 0), ((unknown,), 1)):
        audit = duty(AUDIT, "urn:x:e", constraints=constraints)
        claimed = replace(REQUEST, fulfilled=frozenset({audit.uid}))
        (grant,) = authorize(claimed, [policy(permission(duties=(audit,)))]).grants
        assert len(grant.obligations) == owed


def test_to_read_what_is_anonymized_so() -> None:
    must = duty(terms.ANONYMIZE)
    given = [policy(permission(duties=(must,)))]
    assert authorize(REQUEST, given).grants[0].obligations == (must,)
    (grant,) = authorize(ANONYMIZE, given).grants
    assert grant.permission.uid == "urn:x:p"
    assert (grant.permission.anonymization, grant.permission.output) == (how(), OUT)
    assert grant.permission.constraints == given[0].permissions[0].constraints
    assert grant.obligations == ()
    assert not authorize(replace(ANONYMIZE, purpose=terms.STATISTICAL), given).is_permitted
    assert authorize(replace(ANONYMIZE, rule=must.uid), given).is_permitted


def test_a_duty_to_anonymize_does_not_lead_around_how_the_target_may_be_read() -> None:
    """Who may read a tenth of it, if anonymized, may not anonymize all of it."""
    tenth = Comparison(IRI(terms.ODRL + "percentage"), Operator.LTEQ, (Number(Decimal(10)),))
    for action in (terms.READ, terms.USE):
        refined = permission(action=action, refinements=(tenth,), duties=(duty(terms.ANONYMIZE),))
        assert authorize(ANONYMIZE, [policy(refined)]).effect is Effect.DENY
        stated = replace(ANONYMIZE, parameters=(Fact(tenth.operand, (Number(Decimal(10)),)),))
        assert authorize(stated, [policy(refined)]).effect is Effect.DENY
        assert authorize(replace(stated, action=action), [policy(refined)]).effect is Effect.LIMITED
    strong = policy(permission(refinements=(k(Operator.GTEQ, 20),), duties=(duty(terms.ANONYMIZE),)))
    assert authorize(asking(k=20), [strong]).effect is Effect.PERMIT
    assert authorize(asking(k=19), [strong]).effect is Effect.DENY


def test_a_claim_never_fulfils_a_duty_to_anonymize() -> None:
    must, audit = duty(terms.ANONYMIZE), duty(AUDIT, "urn:x:e")
    unsaid = duty(terms.ANONYMIZE, "urn:x:f", output=None, anonymization=None)
    given = [policy(permission(duties=(must, audit, unsaid)))]
    claimed = authorize(replace(REQUEST, fulfilled=frozenset({must.uid, audit.uid, unsaid.uid})), given)
    assert claimed.grants[0].obligations == (must, unsaid)
    assert not claimed.is_unconditional


def test_a_duty_to_anonymize_is_about_anonymizing() -> None:
    given = [policy(permission(duties=(duty(terms.ANONYMIZE, anonymization=how(5)),)))]
    refused, plain = (authorize(asking(k=3), stored) for stored in (given, [policy(anonymizing(how(5)))]))
    assert refused.effect is plain.effect is Effect.DENY
    assert PolicyIndex(STANDARD, given).authorize(asking(k=3)) == refused
    assert authorize(ANONYMIZE, [policy(permission())]).effect is Effect.NOT_APPLICABLE
    permitted = authorize(ANONYMIZE, given, explain=True)
    assert "its duty to `anonymize` [urn:x:d] for the action `read`" in permitted.reasons[0].text
    action = permitted.considered[0].parts[2]
    assert (action.part, action.finding) == (Part.ACTION, Finding.SATISFIED)
    assert "its duty to `anonymize`" in action.text
    assert "duty" not in authorize(REQUEST, given).reasons[0].text


def test_a_duty_to_anonymize_is_its_assignees() -> None:
    given = [policy(permission(duties=(duty(terms.ANONYMIZE, assignees=(Party(ZOO),)),)))]
    assert not authorize(ANONYMIZE, given).is_permitted
    given = [policy(permission(duties=(duty(terms.ANONYMIZE, targets=(Asset(BANK),)),)))]
    assert not authorize(ANONYMIZE, given).is_permitted


def test_a_duty_to_anonymize_is_within_its_own_constraints() -> None:
    must = duty(terms.ANONYMIZE, constraints=limit(frozenset({terms.STATISTICAL})))
    assert not authorize(ANONYMIZE, [policy(permission(duties=(must,)))]).is_permitted
    given = [policy(permission(duties=(must,), purposes=None))]
    assert authorize(replace(ANONYMIZE, purpose=terms.STATISTICAL), given).is_permitted


def test_a_duty_to_anonymize_contradicts_a_prohibition_of_it() -> None:
    given = policy(permission(duties=(duty(terms.ANONYMIZE),)), prohibition(action=terms.ANONYMIZE))
    assert authorize(ANONYMIZE, [given]).effect is Effect.VOID
    assert authorize(REQUEST, [given]).effect is Effect.VOID


def test_a_permission_beside_the_duty_does_not_lead_around_it() -> None:
    """`use` includes `anonymize`: the duty still says how."""
    given = [policy(permission(action=terms.USE, duties=(duty(terms.ANONYMIZE), duty(AUDIT, "urn:x:e"))))]
    (grant,) = authorize(ANONYMIZE, given).grants
    assert grant.permission.anonymization == how()
    assert [owed.uid for owed in grant.obligations] == ["urn:x:e"]
    (grant,) = authorize(replace(REQUEST, action=terms.USE), given).grants
    assert [owed.uid for owed in grant.obligations] == ["urn:x:d", "urn:x:e"]


def test_an_obligation_to_anonymize_permits_its_assignee_to() -> None:
    must = duty(terms.ANONYMIZE, "urn:x:o", targets=(Asset(SHOP),), assignees=(Party(ACME),))
    given = [replace(policy(), obligations=(must,))]
    (grant,) = authorize(ANONYMIZE, given).grants
    assert (grant.permission.uid, grant.permission.anonymization) == (must.uid, how())
    assert not authorize(replace(ANONYMIZE, party=ZOO), given).is_permitted
    assert not authorize(REQUEST, given).is_permitted
    nobody = [replace(policy(), obligations=(replace(must, assignees=()),))]
    assert authorize(ANONYMIZE, nobody).effect is Effect.DENY
    against = replace(given[0], prohibitions=(prohibition(action=terms.ANONYMIZE),))
    assert authorize(ANONYMIZE, [against]).effect is Effect.VOID


# --- Remedies


REMEDY = IRI("urn:x:r")
ASKED = replace(ANONYMIZE, rule=REMEDY)


def remedied(
    *more: Permission | Prohibition, of: dict[str, object] | None = None, **said: object
) -> Policy:
    """Nobody may use the shop; whoever at acme did all the same must anonymize it."""
    remedy = duty(terms.ANONYMIZE, REMEDY, **{"assignees": (Party(ACME),), **said})
    no = prohibition(**{"action": terms.USE, "remedies": (remedy,), **(of or {})})
    return policy(no, *more, conflict=ConflictStrategy.PROHIBIT, uid="urn:x:2")


def test_remedies_are_reported_and_grant_nothing_unless_named() -> None:
    remedy = duty(terms.ANONYMIZE, "urn:x:r")
    no = policy(prohibition(remedies=(remedy,)), uid="urn:x:2")
    denied = authorize(REQUEST, [policy(permission()), no])
    assert (denied.effect, denied.remedies) == (Effect.DENY, (remedy,))
    assert not authorize(ANONYMIZE, [no]).is_permitted
    assert authorize(ANONYMIZE, [no]).remedies == ()
    assert not authorize(replace(ANONYMIZE, rule=IRI("urn:x:n")), [no]).is_permitted  # its prohibition
    assert not authorize(replace(REQUEST, rule=REMEDY), [no]).is_permitted  # not to anonymize


def test_a_remedy_that_is_named_permits_its_own_transformation() -> None:
    """Against its own prohibition of every use, of which to anonymize is one."""
    decision = authorize(ASKED, [remedied()], explain=True)
    (grant,) = decision.grants
    assert (grant.permission.uid, grant.permission.anonymization) == (REMEDY, how())
    assert (grant.permission.output, grant.permission.targets) == (OUT, (Asset(SHOP),))
    assert [one.rule for one in decision.determining] == [REMEDY]
    assert (decision.remedies, grant.obligations, grant.rows) == ((), (), ())
    assert decision.reasons[0].rule == REMEDY
    assert "this remedy permits it" in decision.reasons[0].text
    forbidding, remedy = decision.considered
    assert (forbidding.kind, forbidding.applies) == ("prohibition", False)
    assert "the remedy `urn:x:r` of its own policy overrides it" in forbidding.parts[0].text
    assert (remedy.kind, remedy.applies) == ("remedy", True)
    asked = replace(asking(k=20), rule=REMEDY)
    assert authorize(asked, [remedied()]).is_permitted
    assert not authorize(replace(asking(k=5), rule=REMEDY), [remedied()]).is_permitted


ELSEWHERE = limit(frozenset({terms.STATISTICAL}))
LATER = Interval(NOW + timedelta(days=1), None)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (remedied(anonymization=None, output=None), "no permission with the uid"),
        (remedied(output=None), "no permission with the uid"),
        (remedied(targets=(Asset(BANK),)), "it is about the target"),
        (remedied(targets=(Asset(SHOP),), of={"target": BANK}), "about other targets"),
        (remedied(assignees=(Party(ZOO),)), "it is about the party"),
        (remedied(assignees=(), of={"assignee": ZOO}), "it is about the party"),
        (remedied(assignees=()), "it names no party"),
        (remedied(constraints=ELSEWHERE), "limited to the purpose"),
        (remedied(of={"constraints": ELSEWHERE}), "limited to the purpose"),
        (remedied(prohibition("urn:x:m", action=terms.ANONYMIZE)), "this prohibition forbids it"),
        (replace(remedied(), type=PolicyType.OFFER), "an Offer, which grants and forbids nothing"),
        (replace(remedied(), valid=LATER), "not in force at the time"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_keeps_a_remedy_from_permitting(given: Policy, why: str) -> None:
    asked = replace(ASKED, time=NOW)
    assert authorize(asked, [remedied()]).is_permitted
    refused = authorize(asked, [given])
    assert not refused.is_permitted
    assert any(why in reason.text for reason in refused.reasons), refused.reasons
    assert PolicyIndex(STANDARD, [given]).authorize(asked) == refused


def test_no_strategy_spares_a_remedy_another_prohibition() -> None:
    other = prohibition("urn:x:m", action=terms.ANONYMIZE)
    for strategy in ConflictStrategy:
        own = replace(remedied(other, permission()), conflict=strategy)
        assert not authorize(ASKED, [own]).is_permitted
        apart = [replace(remedied(), conflict=strategy), policy(other)]
        assert not authorize(ASKED, apart).is_permitted
    assert not authorize(ASKED, [remedied(), remedied(anonymization=how(5))]).is_permitted


def beside(*others: Duty, **said: object) -> Policy:
    """As `remedied`, with further remedies of the same prohibition."""
    remedy = duty(terms.ANONYMIZE, REMEDY, assignees=(Party(ACME),), **said)
    no = prohibition(action=terms.USE, remedies=(remedy, *others))
    return policy(no, conflict=ConflictStrategy.PROHIBIT, uid="urn:x:2")


def test_a_remedy_needs_what_else_its_prohibition_demands() -> None:
    given = beside(duty(INFORM, "urn:x:told"))
    refused = authorize(ASKED, [given])
    assert refused.effect is Effect.DENY
    text = "its prohibition's other remedy to `inform` is not known to be fulfilled [urn:x:told]"
    assert any(text in reason.text for reason in refused.reasons)
    told = replace(ASKED, fulfilled=frozenset({IRI("urn:x:told")}))
    assert authorize(told, [given]).is_permitted
    assert not authorize(told, [beside(duty(INFORM, "urn:x:told"), duty(COUNT, "urn:x:c"))]).is_permitted
    again = beside(duty(terms.ANONYMIZE, "urn:x:again", assignees=(Party(ACME),), anonymization=how(20)))
    assert authorize(ASKED, [again]).is_permitted  # each by itself


def test_facts_about_the_requester_say_nothing_of_whom_a_remedys_prohibition_is_for() -> None:
    refinements = limit(frozenset({terms.MARKETING}))
    for forbidden, is_permitted in ((ACME, True), (IRI("urn:x:another"), False)):
        remedy = duty(terms.ANONYMIZE, REMEDY, assignees=(Party(ACME),))
        no = prohibition(
            action=terms.USE, remedies=(remedy,), assignees=(Party(forbidden, refinements=refinements),)
        )
        given = policy(no, conflict=ConflictStrategy.PROHIBIT, uid="urn:x:2")
        decision = authorize(ASKED, [given], explain=True)
        assert decision.is_permitted is is_permitted


def test_a_refined_assigner_is_told_as_a_party() -> None:
    assigner = Party(ZOO, refinements=limit(frozenset({terms.MARKETING})))
    decision = authorize(REQUEST, [policy(permission(assigners=(assigner,)))], explain=True)
    assert decision.effect is Effect.DENY
    (told,) = (part for part in decision.considered[0].parts if part.finding is Finding.UNKNOWN)
    assert told.part is Part.PARTY
    assert "names a party for which" in told.text


def test_the_other_actions_of_a_remedy_do_not_vanish() -> None:
    """What a document writes as one remedy with several actions has one uid."""
    given = beside(duty(IRI(terms.ODRL + "delete"), REMEDY))
    refused = authorize(ASKED, [given])
    assert refused.effect is Effect.DENY
    assert any(
        "its prohibition's other remedy to `delete` is not known" in one.text for one in refused.reasons
    )
    assert authorize(replace(ASKED, fulfilled=frozenset({REMEDY})), [given]).is_permitted


def test_what_a_plan_contains_beside_a_remedy_comes_back_as_an_obligation() -> None:
    audit = duty(AUDIT, "urn:x:audit")
    (grant,) = authorize(ASKED, [beside(audit)]).grants
    assert grant.obligations == (audit,)


def test_a_prohibition_is_overridden_by_the_remedy_that_is_named() -> None:
    """And not by a permission that the request does not rely on, whatever the strategy."""
    anonymizing = permission(action=terms.ANONYMIZE, anonymization=how(), output=OUT)
    other = prohibition("urn:x:m", action=terms.ANONYMIZE)
    given = replace(remedied(anonymizing, other), conflict=ConflictStrategy.PERMIT)
    decision = authorize(ASKED, [given])
    assert decision.effect is Effect.DENY
    (reason,) = [one for one in decision.reasons if "of its own policy overrides it" in one.text]
    assert (reason.rule, "the remedy `urn:x:r`" in reason.text) == ("urn:x:n", True)


def test_a_remedy_of_a_void_policy_permits_nothing() -> None:
    void = replace(remedied(permission()), conflict=ConflictStrategy.INVALID)
    assert authorize(ASKED, [void]).effect is Effect.VOID
    alone = replace(remedied(), conflict=ConflictStrategy.INVALID)
    assert authorize(ASKED, [alone]).is_permitted  # a remedy is no contradiction of its prohibition


def test_a_remedy_that_names_nobody_is_its_prohibitions_or_an_owners() -> None:
    at_acme = remedied(assignees=(), of={"assignee": ACME})
    assert authorize(ASKED, [at_acme]).is_permitted
    nobody = remedied(assignees=())
    for decide_by in (
        lambda owners: authorize(ASKED, [nobody], owners=owners),
        lambda owners: PolicyIndex(STANDARD, [nobody]).authorize(ASKED, owners=owners),
    ):
        assert not decide_by(frozenset({ZOO})).is_permitted
        assert decide_by(frozenset({ACME})).is_permitted
    assert not authorize(ASKED, [remedied(assignees=(Party(ZOO),))], owners=frozenset({ACME})).is_permitted


def test_who_must_remedy_may_be_another_one_than_who_is_forbidden() -> None:
    steward = remedied(assignees=(Party(ZOO),), of={"assignee": ACME})
    asked = replace(ASKED, party=ZOO)
    assert authorize(asked, [steward]).is_permitted
    index = PolicyIndex(STANDARD, [steward])
    assert index.authorize(asked).is_permitted
    index.remove(steward)
    assert index.size == 0


def test_a_remedy_of_a_policy_that_may_prohibit_only_permits_nothing() -> None:
    index = PolicyIndex(STANDARD, [remedied()])
    assert index.authorize(ASKED).is_permitted
    refused = index.authorize(ASKED, standing=lambda _: Standing.PROHIBITS, explain=True)
    assert refused.effect is Effect.DENY
    assert any(
        "its policy may prohibit only, and so permits nothing" in one.text for one in refused.reasons
    )


def test_a_remedy_keeps_to_the_rows_that_its_prohibition_is_about() -> None:
    rows = ColumnComparison(ColumnReference(IRI(SHOP + "/zip")), Operator.EQ, (Text("20100"),))
    (grant,) = authorize(ASKED, [remedied(of={"constraints": (rows,)})]).grants
    assert grant.rows == (rows,)


def test_a_remedy_of_a_prohibition_of_several_actions_is_one() -> None:
    given = remedied()
    (no,) = given.prohibitions
    both = replace(given, prohibitions=(no, replace(no, action=terms.ANONYMIZE)))
    assert len(authorize(ASKED, [both]).grants) == 1


# --- Requested transformations


def asking(**values: int) -> Request:
    asked = tuple(
        Fact(IRI(terms.MOSAICROWN + name), (Number(Decimal(value)),)) for name, value in values.items()
    )
    return replace(ANONYMIZE, parameters=asked)


def anonymizing(found: Anonymization | None = None) -> Permission:
    return permission(action=terms.ANONYMIZE, output=OUT, anonymization=found or how())


@pytest.mark.parametrize(
    ("found", "asked", "permitted"),
    [
        (how(), {}, True),
        (how(), {"k": 20}, True),
        (how(), {"k": 9}, False),
        (how(operator=Operator.EQ), {"k": 20}, False),
        (how(operator=Operator.EQ), {"k": 10}, True),
        (how(), {"l": 3}, False),  # the permission is no l-diversity
        (how(sensitive=True), {"l": 4, "k": 30}, True),
        (how(sensitive=True), {"l": 2}, False),
    ],
)
def test_a_given_parameter_must_satisfy_the_bound(
    found: Anonymization, asked: dict[str, int], permitted: bool
) -> None:
    assert authorize(asking(**asked), [policy(anonymizing(found))]).is_permitted is permitted


def test_a_parameter_that_the_permission_does_not_offer_is_refused() -> None:
    suppressing = Fact(IRI(terms.SMALTI + "suppressionLimit"), (Number(Decimal("0.5")),))
    refused = authorize(replace(ANONYMIZE, parameters=(suppressing,)), [policy(anonymizing())])
    assert refused.effect is Effect.DENY
    assert any("does not mention `suppressionLimit`" in reason.text for reason in refused.reasons)
    named = Fact(terms.SENSITIVE, (Named(IRI(SHOP + "/illness")),))
    assert not authorize(replace(ANONYMIZE, parameters=(named,)), [policy(anonymizing())]).is_permitted


def k(operator: Operator, value: int) -> Comparison:
    return Comparison(terms.K, operator, (Number(Decimal(value)),))


ILLNESS = Comparison(terms.SENSITIVE, Operator.IS_ALL_OF, (Named(IRI(SHOP + "/illness")),))


@pytest.mark.parametrize(
    ("found", "refinement", "asked", "denied"),
    [
        (how(), k(Operator.LT, 10), {}, False),
        (how(), k(Operator.LTEQ, 10), {}, True),  # the witness is the bound
        (how(), k(Operator.LTEQ, 10), {"k": 11}, False),
        (how(2, sensitive=True), k(Operator.LT, 3), {}, False),  # k is raised to l
        (how(), Comparison(terms.METHOD, Operator.EQ, (Text("k-anonymity"),)), {}, True),
        (how(), Comparison(terms.METHOD, Operator.NEQ, (Text("k-anonymity"),)), {}, False),
        (how(), Comparison(terms.ALGORITHM, Operator.EQ, (Text("mdav"),)), {}, False),
        (how(), Comparison(IRI(terms.SMALTI + "t"), Operator.GT, (Number(Decimal("0.5")),)), {}, True),
        (how(), ILLNESS, {}, False),
        (how(sensitive=True), ILLNESS, {}, True),
    ],
)  # fmt: skip
def test_refined_prohibitions_are_judged_by_the_witness(
    found: Anonymization, refinement: Comparison, asked: dict[str, int], denied: bool
) -> None:
    no = policy(prohibition(action=terms.ANONYMIZE, refinements=(refinement,)), uid="urn:x:2")
    decision = authorize(asking(**asked), [policy(anonymizing(found)), no])
    assert decision.effect is (Effect.DENY if denied else Effect.PERMIT)


@pytest.mark.parametrize(
    ("found", "refinement", "is_void"),
    [
        (how(), k(Operator.LT, 10), False),
        (how(), k(Operator.LT, 11), True),
        (how(), k(Operator.GT, 50), True),  # somebody may ask for k = 60
        (how(operator=Operator.EQ), k(Operator.GT, 50), False),
        (how(), ILLNESS, False),  # it keeps no sensitive column
        (how(sensitive=True), ILLNESS, True),
    ],
)
def test_refinements_that_exclude_each_other_are_no_conflict(
    found: Anonymization, refinement: Comparison, is_void: bool
) -> None:
    no = prohibition(action=terms.ANONYMIZE, refinements=(refinement,))
    conflict = prepare(policy(anonymizing(found), no), STANDARD).conflict
    assert (conflict is not None) is is_void


def test_a_refined_prohibition_hits_some_permissions_only() -> None:
    weak, strong = anonymizing(how(2)), replace(anonymizing(how(20)), uid=IRI("urn:x:strong"))
    no = policy(prohibition(action=terms.ANONYMIZE, refinements=(k(Operator.LT, 5),)), uid="urn:x:2")
    decision = authorize(ANONYMIZE, [policy(weak, strong), no])
    assert [rule.uid for rule in decision.permissions] == ["urn:x:strong"]
    assert authorize(replace(ANONYMIZE, rule=weak.uid), [policy(weak, strong), no]).effect is Effect.DENY


@pytest.mark.parametrize("rule", [None, "urn:x:weak"])
def test_a_permission_spares_only_its_own_policy_what_it_grants(rule: str | None) -> None:
    """Another policy's weaker permission is not what `perm` prefers to the prohibition."""
    lenient = policy(
        anonymizing(how(10)), prohibition(action=terms.ANONYMIZE), conflict=ConflictStrategy.PERMIT
    )
    weak = policy(replace(anonymizing(how(2)), uid=IRI("urn:x:weak")), uid="urn:x:2")
    asked = replace(ANONYMIZE, rule=None if rule is None else IRI(rule))
    for both in ([lenient, weak], [weak, lenient]):
        decision = authorize(asked, both, explain=True)
        assert PolicyIndex(STANDARD, both).authorize(asked, explain=True) == decision
        assert decision.permissions == (lenient.permissions if rule is None else ())
        assert decision.effect is (Effect.PERMIT if rule is None else Effect.DENY)


RAISED = replace(how(3, sensitive=True), l=Bound(Operator.GTEQ, 10))


@pytest.mark.parametrize("asked", [{}, {"k": 5}, {"k": 10}, {"l": 10}, {"k": 5, "l": 12}])
def test_an_asked_k_is_raised_as_in_a_run_before_prohibitions_are_judged(asked: dict[str, int]) -> None:
    no = prohibition(action=terms.ANONYMIZE, refinements=(k(Operator.GTEQ, 10),))
    one = policy(anonymizing(RAISED), no, conflict=ConflictStrategy.PROHIBIT)
    assert authorize(asking(**asked), [one]).effect is Effect.DENY
    fewer = replace(no, refinements=(k(Operator.LT, 10),))
    assert authorize(asking(**asked), [replace(one, prohibitions=(fewer,))]).is_permitted


def test_an_asked_l_beyond_an_exact_k_is_refused() -> None:
    exact = policy(anonymizing(how(10, Operator.EQ, sensitive=True)))
    assert authorize(asking(l=10), [exact]).is_permitted
    assert not authorize(asking(l=11), [exact]).is_permitted
    assert not authorize(asking(k=10, l=11), [exact]).is_permitted


def test_refinements_of_other_actions_need_the_parameter() -> None:
    small = Comparison(COUNT, Operator.LTEQ, (Number(Decimal(5)),))
    given = [policy(permission(refinements=(small,)))]
    assert not authorize(REQUEST, given).is_permitted
    asked = replace(REQUEST, parameters=(Fact(COUNT, (Number(Decimal(5)),)),))
    assert authorize(asked, given).is_permitted
    assert not authorize(replace(REQUEST, facts=asked.parameters), given).is_permitted


# --- Rows and facts

ADULTS = ColumnComparison(ColumnReference(IRI(SHOP + "/age")), Operator.GTEQ, (Number(Decimal(18)),))
CITY = ColumnComparison(ColumnReference(IRI(SHOP + "/city")), Operator.EQ, (Text("Bergamo"),))


def test_limits_to_rows_come_back_as_a_filter() -> None:
    found = permission(
        constraints=(ADULTS,), targets=(Asset(SHOP, (Logical(LogicalOperator.AND, (CITY, ADULTS)),)),)
    )
    assert authorize(REQUEST, [policy(found)]).grants[0].rows == (CITY, ADULTS)


def test_a_prohibition_for_some_rows_denies() -> None:
    no = policy(prohibition(constraints=(ADULTS,)), uid="urn:x:2")
    assert authorize(REQUEST, [policy(permission()), no]).effect is Effect.DENY


def test_what_is_true_of_the_party_and_of_the_collection() -> None:
    role = IRI("http://example.com/role")
    doctors = Party(ACME, (Comparison(role, Operator.EQ, (Text("doctor"),)),))
    given = [policy(permission(assignees=(doctors,)))]
    assert not authorize(REQUEST, given).is_permitted
    said = replace(REQUEST, facts=(Fact(role, (Text("nurse"), Text("doctor"))),))
    assert authorize(said, given).effect is Effect.DENY  # nobody declares it
    with_roles = STANDARD.with_(Vocabulary(operands=frozenset({role})))
    assert not authorize(REQUEST, given, with_roles).is_permitted
    assert authorize(said, given, with_roles).is_permitted
    no = policy(prohibition(assignees=(doctors,)), uid="urn:x:2")
    everybody = policy(permission("urn:x:q"), uid="urn:x:3")
    assert authorize(REQUEST, [everybody, no], with_roles).effect is Effect.DENY
    nurse = replace(REQUEST, facts=(Fact(role, (Text("nurse"),)),))
    assert authorize(nurse, [everybody, no], with_roles).is_permitted
    assert authorize(nurse, [everybody, no]).effect is Effect.DENY


# --- Reasons and reports


@pytest.mark.parametrize(("count", "named"), [(10, NEAR_MISSES), (50, 0)])
def test_reasons_are_few_however_many_rules_there_are(count: int, named: int) -> None:
    rules = [permission(f"urn:x:{number}", assignee=ZOO) for number in range(count)]
    decision = authorize(REQUEST, [policy(*rules, permission(target=BANK))])
    texts = [reason.text for reason in decision.reasons]
    assert len(texts) == named + 3
    assert (
        f"{count - named} more rules about the requested targets do not apply; an explanation says why"
        in texts
    )
    assert "1 rule is about other targets" in texts


def test_an_explanation_reports_each_part_of_each_rule_about_the_target() -> None:
    limited = permission(constraints=(*limit(frozenset({terms.STATISTICAL})), ADULTS))
    rules = policy(limited, prohibition(assignee=ZOO), permission("urn:x:bank", target=BANK))
    decision = authorize(REQUEST, [rules], explain=True)
    assert [(report.rule, report.kind, report.applies) for report in decision.considered] == [
        ("urn:x:p", "permission", False),
        ("urn:x:n", "prohibition", False),
    ]
    found = [(part.part, part.finding) for part in decision.considered[0].parts]
    assert found == [
        (Part.POLICY, Finding.SATISFIED),
        (Part.TARGET, Finding.SATISFIED),
        (Part.ACTION, Finding.SATISFIED),
        (Part.PARTY, Finding.SATISFIED),
        (Part.CONSTRAINT, Finding.UNSATISFIED),
        (Part.CONSTRAINT, Finding.SATISFIED),
    ]
    assert decision.considered[1].parts[3].finding is Finding.UNSATISFIED
    assert "`http://example.com/zoo`" in decision.considered[1].parts[3].text


@pytest.mark.parametrize(
    ("operand", "found"),
    [
        (IRI(terms.ODRL + "product"), "`product eq doctor` is unsatisfied"),
        (
            IRI("http://example.com/role"),
            "`role eq doctor` is unknown: the operand `http://example.com/role` is not declared",
        ),
    ],
)
def test_no_value_of_a_fact_is_told(operand: IRI, found: str) -> None:
    doctors = Comparison(operand, Operator.EQ, (Text("doctor"),))
    asked = replace(REQUEST, facts=(Fact(operand, (Text("canary"),)),))
    decision = authorize(asked, [policy(permission(constraints=(doctors,)))], explain=True)
    assert "canary" not in repr((decision.reasons, decision.considered))
    assert found in repr(decision.reasons)


def told(condition: Comparison | Logical, **changes: object) -> str:
    """What is said of a condition that refuses a request."""
    asked = replace(REQUEST, **changes)  # type: ignore[arg-type]
    decision = authorize(asked, [policy(permission(constraints=(condition,)))], explain=True)
    (text,) = [part.text for part in decision.considered[0].parts if part.part is Part.CONSTRAINT]
    assert any(text in reason.text for reason in decision.reasons)
    return text


HALL, TOWN = IRI("http://hall.example/IT"), IRI("http://town.example/IT")


def test_what_the_request_does_not_state_is_named() -> None:
    few = Comparison(COUNT, Operator.LTEQ, (Number(Decimal(5)),))
    many = Fact(COUNT, (Number(Decimal(747)),))
    assert told(few) == "its constraint `count lteq 5` is unknown: the request states no `count`"
    assert told(few, facts=(many,)) == "its constraint `count lteq 5` is unsatisfied"
    for_it = Comparison(RECIPIENT, Operator.EQ, (Named(HALL),))
    either = Logical(LogicalOperator.OR, (few, for_it))
    assert told(either).endswith(": the request states no `count` and no `recipient`")
    assert told(either, facts=(many,)).endswith(": the request states no `recipient`")
    # Parameters are not facts.
    refined = policy(permission(refinements=(few,)))
    refused = authorize(replace(REQUEST, facts=(many,)), [refined])
    assert "its refinement `count lteq 5` is unknown: the request states no `count`" in repr(refused)
    role = Comparison(IRI("http://example.com/role"), Operator.EQ, (Text("doctor"),))
    given = [policy(permission(assignees=(Party(ACME, (role,)),)))]
    doctors = authorize(REQUEST, given)
    assert "`: the operand `http://example.com/role` is not declared" in repr(doctors.reasons)
    with_roles = STANDARD.with_(Vocabulary(operands=frozenset({role.operand})))
    doctors = authorize(REQUEST, given, with_roles)
    assert "`: the request states no `role`" in repr(doctors.reasons)


def test_concepts_and_the_time_are_told_and_nothing_else_is() -> None:
    for_it = Comparison(RECIPIENT, Operator.EQ, (Named(HALL),))
    stated = told(for_it, facts=(Fact(RECIPIENT, (Named(BANK),)),))
    assert stated == "its constraint `recipient eq IT` is unsatisfied: the request states `bank`"
    late = Comparison(DATE_TIME, Operator.GT, (Instant(NOW),))
    assert told(late, time=NOW).endswith(": the request states `2026-05-01T00:00:00+00:00`")
    born = Comparison(IRI(terms.ODRL + "event"), Operator.GT, (Instant(NOW),))
    before = Fact(born.operand, (Instant(NOW - timedelta(days=9000)),))
    assert told(born, facts=(before,)).endswith(" is unsatisfied")
    mixed = Fact(RECIPIENT, (Named(BANK), Text("canary")))
    assert told(for_it, facts=(mixed,)).endswith(" is unknown")


def test_names_that_could_be_mistaken_are_told_in_full() -> None:
    both = Comparison(RECIPIENT, Operator.IS_ANY_OF, (Named(HALL), Named(TOWN)))
    assert f"`recipient isAnyOf {HALL}|{TOWN}`" in told(both)
    each = [Comparison(RECIPIENT, Operator.EQ, (Named(one),)) for one in (HALL, TOWN)]
    assert f"(recipient eq {HALL}, recipient eq {TOWN})" in told(Logical(LogicalOperator.OR, tuple(each)))
    other = told(each[0], facts=(Fact(RECIPIENT, (Named(TOWN),)),))
    assert other.endswith(f"`recipient eq {HALL}` is unsatisfied: the request states `{TOWN}`")
    for whole in ("http://evil", "http://evil/", "http://evil/a#", "http://evil/a?b=/c", "urn:x:y"):
        assert f"`recipient eq {whole}`" in told(Comparison(RECIPIENT, Operator.EQ, (Named(IRI(whole)),)))
    false = IRI("http://evil/marketing")
    (limited,) = limit(frozenset({terms.MARKETING}))
    assert told(limited, purpose=false).endswith(
        f"limited to the purpose `{terms.MARKETING}`, and the request is for `{false}`"
    )
    stated = Fact(terms.ODRL_PURPOSE, (Named(terms.STATISTICAL),))
    assert told(limited, purpose=None, facts=(stated,)).endswith("the request is for `statistical`")


def policy_parts(decision: Decision) -> dict[str, tuple[bool, Finding, str]]:
    """Of each rule: whether it applies, and what is said of its policy, which is said once."""
    found = {}
    for report in decision.considered:
        (part,) = [part for part in report.parts if part.part is Part.POLICY]
        assert report.parts[0] is part
        found[report.rule[-1]] = (report.applies, part.finding, part.text)
    return found


YES, NO, MAYBE = Finding.SATISFIED, Finding.UNSATISFIED, Finding.UNKNOWN
VOID = "its policy is void, since its rules `urn:x:p` and `urn:x:n` contradict each other, "
PERMISSIVE, PROHIBITIVE = ConflictStrategy.PERMIT, ConflictStrategy.PROHIBIT


@pytest.mark.parametrize(
    ("strategy", "permits", "forbids"),
    [
        (
            ConflictStrategy.INVALID,
            (False, NO, VOID + "and so permits nothing"),
            (True, YES, VOID + "and its prohibitions still forbid"),
        ),
        (
            PERMISSIVE,
            (True, YES, "its policy is in force"),
            (False, NO, "the permission `urn:x:p` of its own policy overrides it"),
        ),
        (
            PROHIBITIVE,
            (False, NO, "the prohibition `urn:x:n` of its own policy overrides it"),
            (True, YES, "its policy is in force"),
        ),
    ],
)  # fmt: skip
def test_one_thing_is_said_of_the_policy_of_a_rule(
    strategy: ConflictStrategy,
    permits: tuple[bool, Finding, str],
    forbids: tuple[bool, Finding, str],
) -> None:
    contradicting = policy(permission(), prohibition(), conflict=strategy)
    assert policy_parts(authorize(REQUEST, [contradicting], explain=True)) == {"p": permits, "n": forbids}


def test_what_is_said_of_a_policy_that_is_not_in_force() -> None:
    both = policy(permission(), prohibition(assignee=ZOO))
    ended = replace(both, valid=Interval(None, NOW))
    late = policy_parts(authorize(replace(REQUEST, time=NOW), [ended], explain=True))
    assert set(late.values()) == {(False, NO, "its policy is not in force at the time of the request")}
    unknown = policy_parts(authorize(REQUEST, [ended], explain=True))
    assert {found for _, found, _ in unknown.values()} == {MAYBE}
    offered = authorize(REQUEST, [replace(both, type=PolicyType.OFFER)], explain=True)
    assert {text for _, _, text in policy_parts(offered).values()} == {
        "its policy is an Offer, which grants and forbids nothing"
    }


def test_refinements_of_prohibitions_are_told_of_the_witness() -> None:
    no = prohibition(action=terms.ANONYMIZE, refinements=(k(Operator.LT, 10),))
    decision = authorize(ANONYMIZE, [policy(anonymizing(), no)], explain=True)
    report = decision.considered[1]
    assert (report.applies, report.parts[0].finding) == (False, YES)
    assert (report.parts[-1].part, report.parts[-1].finding) == (Part.REFINEMENT, NO)


parties = st.sampled_from([None, ACME, ZOO])
targets = st.sampled_from([SHOP, BANK])
purposes = st.sampled_from(
    [None, frozenset({terms.MARKETING}), frozenset({terms.MARKETING, terms.STATISTICAL})]
)
permissions = st.builds(
    permission, st.sampled_from(["urn:x:a", "urn:x:b"]), assignee=parties, target=targets,
    purposes=purposes, action=st.sampled_from([terms.READ, terms.ANONYMIZE, terms.USE]),
)  # fmt: skip
prohibitions = st.builds(
    prohibition, st.sampled_from(["urn:x:m", "urn:x:n"]), assignee=parties, target=targets,
    purposes=purposes, action=st.sampled_from([terms.READ, terms.ANONYMIZE, terms.USE]),
)  # fmt: skip
policies = st.builds(
    lambda granted, forbidden, conflict, number: policy(
        *granted, *forbidden, conflict=conflict, uid=f"urn:x:{number}"
    ),
    st.lists(permissions, max_size=3),
    st.lists(prohibitions, max_size=2),
    st.sampled_from(ConflictStrategy),
    st.integers(1, 3),
)
requests = st.builds(
    Request,
    party=st.sampled_from([ACME, ZOO]),
    action=st.sampled_from([terms.READ, terms.ANONYMIZE, terms.USE]),
    targets=st.tuples(targets),
    purpose=st.sampled_from([None, terms.MARKETING, terms.STATISTICAL]),
    rule=st.sampled_from([None, IRI("urn:x:a")]),
)


@given(requests, st.lists(policies, min_size=1, max_size=3), prohibitions, st.integers(0, 2))
@settings(max_examples=examples(100, full=2000))
def test_adding_a_prohibition_never_permits_more(
    request_: Request, stored: list[Policy], added: Prohibition, index: int
) -> None:
    before = authorize(request_, stored)
    at = index % len(stored)
    changed = replace(stored[at], prohibitions=(*stored[at].prohibitions, added))
    after = authorize(request_, [*stored[:at], changed, *stored[at + 1 :]])
    alone = authorize(request_, [*stored, policy(added, uid="urn:x:new")])
    for later in (after, alone):
        assert set(later.permissions) <= set(before.permissions)


@given(requests, st.lists(policies, max_size=3))
@settings(max_examples=examples(100))
def test_decisions_are_explained_and_consistent(request_: Request, stored: list[Policy]) -> None:
    decision = authorize(request_, stored)
    assert decision.is_permitted == bool(decision.permissions)
    assert len(decision.permissions) == len(decision.policies)
    assert decision.reasons
    assert all(reason.text and not reason.text.endswith(".") for reason in decision.reasons)
    for rule in decision.permissions:
        assert rule.action in {request_.action, terms.USE}
        assert [one.iri for one in rule.targets] == [request_.target]
        assert not rule.assignees or request_.party in {one.iri for one in rule.assignees}
        assert rule.purposes is None or request_.purpose in rule.purposes


# --- Limits


ROW = ColumnComparison(
    ColumnReference(IRI(f"{SHOP}/age"), HERE), Operator.GTEQ, (Number(Decimal(18)),), HERE
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ({"constraints": (*limit(frozenset({terms.MARKETING})), ROW)}, "rows"),
        ({"duties": (duty(terms.ANONYMIZE, anonymization=how(5)),)}, "obligations"),
    ],
)
def test_what_has_limits_permits_only_who_understands_them(changes: dict[str, object], limits: str) -> None:
    given = [policy(replace(permission(), **changes))]  # type: ignore[arg-type]
    plain, understood = (
        authorize(replace(REQUEST, understands_limits=one), given) for one in (False, True)
    )
    assert plain.effect is understood.effect is Effect.LIMITED
    assert (plain.is_permitted, understood.is_permitted) == (False, True)
    assert plain.is_limited
    assert not plain.is_unconditional
    assert getattr(plain.grants[0], limits)
    index = PolicyIndex(STANDARD, given)
    assert index.authorize(REQUEST) == plain
    assert authorize(REQUEST, [*given, policy(permission(), uid="urn:x:2")]).effect is Effect.PERMIT


def test_columns_that_are_withheld_are_a_limit() -> None:
    (grant,) = decide(permission()).grants
    withheld = replace(grant, withheld=(IRI(f"{SHOP}/Name"),))
    assert (grant.is_unconditional, withheld.is_unconditional) == (True, False)
    assert effect_of([withheld]) is Effect.LIMITED
    assert effect_of([withheld, grant]) is Effect.PERMIT


@pytest.mark.parametrize(
    ("iri", "is_column"),
    [
        ("http://example.com/T/Age", True),
        ("http://example.com/T/%41ge", True),
        ("http://example.com/T/Größe", True),
        ("http://example.com/T/a%2fb", True),
        ("http://example.com/T/", False),
        ("http://example.com/T", False),
        ("http://example.com/T2/Age", False),
        ("http://example.com/T/2024/Age", False),
        ("http://example.com/T/Age#x", False),
        ("https://w3id.org/catenax/policy/Membership", False),
    ],
)
def test_columns_of_a_table_by_their_iris(iri: str, is_column: bool) -> None:
    assert is_column_of("http://example.com/T", iri) is is_column
