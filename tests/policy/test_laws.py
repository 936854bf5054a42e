"""Laws that decisions keep, on random policies of the whole language."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
import worlds
from effort import examples
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from worlds import WORLD, Row, row_satisfies

from smalti.policy.decide.authorize import authorize, prepare
from smalti.policy.decide.decision import Decision, Effect, Fact, Finding, Grant, Part, Request
from smalti.policy.decide.exclusion import Prover
from smalti.policy.decide.facts import DATE_TIME
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.index import PolicyIndex
from smalti.policy.decide.prepared import PreparedRule
from smalti.policy.decide.tally import Tally, _Candidate
from smalti.policy.model.model import (
    Asset,
    ColumnComparison,
    Comparison,
    Condition,
    ConflictStrategy,
    Duty,
    Logical,
    Named,
    Number,
    Operator,
    Party,
    Permission,
    Policy,
    Prohibition,
    Text,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI, ODRL_PURPOSE

requests = worlds.requests | worlds.remedy_requests
stored = st.lists(worlds.policies, min_size=1, max_size=3)
places = st.integers(0, 5)
FAILING = frozenset({Finding.UNSATISFIED, Finding.UNKNOWN})
some_rows = st.lists(worlds.rows, min_size=1, max_size=6)


def decide(request: Request, policies: list[Policy], hierarchies: Hierarchies = WORLD) -> Decision:
    return authorize(request, policies, hierarchies)


def granted(decision: Decision, rows: list[Row]) -> set[tuple[IRI, str, int, IRI]]:
    """What is granted: under which rule, with which transformation, which of some rows and columns."""
    return {
        (grant.permission.uid, repr(grant.permission.anonymization), number, column)
        for grant in decision.grants
        for column in (*worlds.COLUMNS, worlds.DECLARED)
        if column not in grant.withheld
        for number, row in enumerate(rows)
        if all(row_satisfies(row, condition) for condition in grant.rows)
    }


def at(policies: list[Policy], place: int) -> tuple[int, Policy]:
    number = place % len(policies)
    return number, policies[number]


def swapped(policies: list[Policy], number: int, policy: Policy) -> list[Policy]:
    return [*policies[:number], policy, *policies[number + 1 :]]


def is_void(policy: Policy) -> bool:
    return prepare(policy, WORLD).conflict is not None


@given(requests, stored, worlds.prohibitions, places, some_rows)
@settings(max_examples=examples(16, full=1000))
def test_adding_a_prohibition_never_permits_more(
    request_: Request, policies: list[Policy], added: Prohibition, place: int, rows: list[Row]
) -> None:
    before = granted(decide(request_, policies), rows)
    number, policy = at(policies, place)
    added = replace(added, remedies=())
    changed = replace(policy, prohibitions=(*policy.prohibitions, added))
    alone = Policy(uid=IRI("urn:x:new"), document_digest="sha256:1", prohibitions=(added,))
    assert granted(decide(request_, swapped(policies, number, changed)), rows) <= before
    assert granted(decide(request_, [*policies, alone]), rows) <= before


@given(requests, stored, worlds.policies, places)
@settings(max_examples=examples(25, full=1500))
def test_no_policy_makes_another_one_permit_more(
    request_: Request, policies: list[Policy], added: Policy, place: int
) -> None:
    """Neither by being there, nor by the rules that it has: each permission is granted for itself."""
    check_that_no_policy_helps_another(request_, policies, added, place)


meeting = st.lists(worlds.plain_policies, min_size=2, max_size=3)


@given(worlds.plain_requests, meeting, worlds.plain_policies, places)
@settings(max_examples=examples(50, full=1500))
def test_no_policy_makes_another_one_permit_more_where_rules_meet(
    request_: Request, policies: list[Policy], added: Policy, place: int
) -> None:
    check_that_no_policy_helps_another(request_, policies, added, place)


def lifted_by_any(tally: Tally, prohibition: PreparedRule, _: _Candidate) -> bool:
    """Wrong: `perm` of any policy that permits lifts the prohibitions of all."""
    return any(is_lenient(one) for one in tally.granting) or not tally._hits(prohibition, _)


def lifted_by_its_own(tally: Tally, prohibition: PreparedRule, candidate: _Candidate) -> bool:
    """Wrong: what a policy with `perm` permits somehow, its prohibitions spare every other policy."""
    mine = [one for one in tally.granting if one.policy is prohibition.policy]
    return any(map(is_lenient, mine)) or not tally._hits(prohibition, candidate)


def lifted_by_another(tally: Tally, prohibition: PreparedRule, candidate: _Candidate) -> bool:
    """Wrong: two permissions outvote a prohibition."""
    others = [one for one in tally.granting if one.policy is not prohibition.policy]
    return len(others) > 1 or not tally._hits(prohibition, candidate)


def is_lenient(candidate: _Candidate) -> bool:
    return candidate.policy.policy.conflict is ConflictStrategy.PERMIT


@pytest.mark.parametrize("lifted", [lifted_by_any, lifted_by_its_own, lifted_by_another])
def test_the_law_fails_where_one_policy_lifts_the_prohibition_of_another(
    lifted: Callable[[Tally, PreparedRule, _Candidate], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tally, "_denies", lambda *told: not lifted(*told))
    law = given(worlds.plain_requests, meeting, worlds.plain_policies, places)(
        check_that_no_policy_helps_another
    )
    found = settings(
        derandomize=True, max_examples=2000, database=None, deadline=None, phases=[Phase.generate]
    )
    with pytest.raises(AssertionError):
        found(law)()


def check_that_no_policy_helps_another(
    request_: Request, policies: list[Policy], added: Policy, place: int
) -> None:
    number, policy = at(policies, place)
    others = [one for at_, one in enumerate(policies) if at_ != number and one != policy]
    of_others = [grant for grant in decide(request_, [*others, policy]).grants if grant.policy in others]
    free = decide(request_, others).grants
    assert all(is_within(grant, free) for grant in of_others)
    more = replace(
        policy,
        uid=IRI("urn:x:new"),
        permissions=(*policy.permissions, *added.permissions),
        conflict=ConflictStrategy.PERMIT,
    )
    fewer = replace(more, permissions=())
    with_more = decide(request_, [*others, more]).grants
    with_fewer = decide(request_, [*others, fewer]).grants
    assert all(is_within(grant, with_fewer) for grant in with_more if grant.policy in others)


def is_within(grant: Grant, others: Iterable[Grant]) -> bool:
    """Whether a grant is among others, with as many columns or more."""
    return any(
        set(other.withheld) <= set(grant.withheld) and replace(grant, withheld=other.withheld) == other
        for other in others
    )


# --- Remedies


def without_remedies(prohibitions: Iterable[Prohibition]) -> tuple[Prohibition, ...]:
    return tuple(replace(one, remedies=()) for one in prohibitions)


def is_alike(one: Decision, other: Decision) -> bool:
    """Whether two decisions say the same, but for the remedies of those policies."""

    def bare(decision: Decision) -> Decision:
        grants, struck = (
            tuple(
                replace(
                    grant,
                    policy=replace(grant.policy, prohibitions=without_remedies(grant.policy.prohibitions)),
                )
                for grant in listed
            )
            for listed in (decision.grants, decision.struck)
        )
        return replace(decision, remedies=(), grants=grants, struck=struck)

    return bare(one) == bare(other)


@given(worlds.requests | worlds.plain_requests, stored | meeting)
@settings(max_examples=examples(30, full=2000))
def test_a_remedy_that_no_request_names_changes_no_decision(
    request_: Request, policies: list[Policy]
) -> None:
    """Neither its effect, nor its grounds, nor what an explanation says of any rule."""
    bare = [replace(one, prohibitions=without_remedies(one.prohibitions)) for one in policies]
    # Policies that differ in their remedies alone would be one, and told of once.
    assume(all(one != other for one, other in combinations(bare, 2)))
    decision = authorize(request_, policies, WORLD, explain=True)
    assert is_alike(decision, authorize(request_, bare, WORLD, explain=True))


def owed(policies: list[Policy], uid: IRI | None) -> list[tuple[Policy, Prohibition, Duty]]:
    return [
        (policy, prohibition, remedy)
        for policy in policies
        for prohibition in policy.prohibitions
        for remedy in prohibition.remedies
        if remedy.uid == uid
    ]


@given(
    worlds.remedy_requests | worlds.plain_remedy_requests,
    stored | meeting,
    st.sampled_from([frozenset(), frozenset({worlds.ANN})]),
)
@settings(max_examples=examples(50, full=3000))
def test_a_remedy_permits_its_own_transformation_of_its_own_target_alone(
    request_: Request, policies: list[Policy], owners: frozenset[IRI]
) -> None:
    """And only where no other prohibition would deny a permission for that, however lenient."""
    decision = authorize(request_, policies, WORLD, owners=owners)
    assert PolicyIndex(WORLD, policies).authorize(request_, owners=owners) == decision
    for grant in decision.grants:
        assert not is_void(grant.policy)
        made = grant.permission
        own = [
            (prohibition, remedy)
            for policy, prohibition, remedy in owed(policies, request_.rule)
            if policy == grant.policy
            and (remedy.anonymization, remedy.output) == (made.anonymization, made.output)
            and (remedy.targets or prohibition.targets) == made.targets
            and {*prohibition.constraints, *remedy.constraints} == {*made.constraints}
            and (remedy.assignees or prohibition.assignees) == made.assignees
        ]
        assert any(is_the_only_one(prohibition, request_, policies, made) for prohibition, _ in own)


def is_the_only_one(own: Prohibition, request_: Request, policies: list[Policy], made: Permission) -> bool:
    """Whether what a remedy permits would be permitted, were its prohibition the only one that it hits."""
    alone = Policy(uid=IRI("urn:x:alone"), document_digest="sha256:1", permissions=(made,))
    if not made.assignees:
        alone = replace(alone, permissions=(replace(made, assignees=(Party(request_.party),)),))
    others = [
        replace(
            one,
            permissions=(),
            obligations=(),
            prohibitions=tuple(two for two in one.prohibitions if two != own),
        )
        for one in policies
    ]
    members = next(one.memberships for one in policies if own in one.prohibitions)
    return bool(decide(request_, [*others, replace(alone, memberships=members)]).grants)


# --- Permissions


def permission_at(policy: Policy, place: int) -> Permission:
    assume(policy.permissions)
    return policy.permissions[place % len(policy.permissions)]


def with_permission(policy: Policy, old: Permission, new: Permission) -> Policy:
    return replace(policy, permissions=tuple(new if one is old else one for one in policy.permissions))


@given(requests, stored, worlds.conditions, places, some_rows)
@settings(max_examples=examples(16, full=1000))
def test_adding_a_constraint_to_a_permission_never_permits_more(
    request_: Request, policies: list[Policy], added: Condition, place: int, rows: list[Row]
) -> None:
    number, policy = at(policies, place)
    assume(not is_void(policy))
    permission = permission_at(policy, place)
    stricter = replace(permission, constraints=(*permission.constraints, added))
    after = decide(request_, swapped(policies, number, with_permission(policy, permission, stricter)))
    assert granted(after, rows) <= granted(decide(request_, policies), rows)


NARROWER = {
    worlds.MARKETING: (worlds.DIRECT, worlds.ADVERTISING, worlds.OWN_PURPOSE),
    worlds.ADVERTISING: (worlds.DIRECT,),
    worlds.DIRECT: (worlds.OWN_PURPOSE,),
}


@given(requests, stored, st.sampled_from(sorted(NARROWER)), places, some_rows, st.data())
@settings(max_examples=examples(16, full=1000))
def test_narrowing_the_purpose_of_a_permission_never_permits_more(
    request_: Request,
    policies: list[Policy],
    purpose: IRI,
    place: int,
    rows: list[Row],
    data: st.DataObject,
) -> None:
    number, policy = at(policies, place)
    permission = permission_at(policy, place)
    narrower = data.draw(st.sampled_from(NARROWER[purpose]))
    assume(WORLD.purposes.covers(purpose, narrower))

    def limited(*purposes: IRI) -> Policy:
        named = tuple(map(Named, purposes))
        limit = Comparison(ODRL_PURPOSE, Operator.IS_ANY_OF, named)
        return with_permission(
            policy, permission, replace(permission, constraints=(limit, *permission.constraints))
        )

    assume(not is_void(limited(purpose, terms.STATISTICAL)))
    before = decide(request_, swapped(policies, number, limited(purpose, terms.STATISTICAL)))
    for fewer in ((narrower, terms.STATISTICAL), (purpose,), (terms.STATISTICAL,)):
        after = decide(request_, swapped(policies, number, limited(*fewer)))
        assert granted(after, rows) <= granted(before, rows)


@given(requests, stored, worlds.prohibitions, worlds.conditions, places, some_rows)
@settings(max_examples=examples(16, full=1000))
def test_removing_a_constraint_from_a_prohibition_never_permits_more(
    request_: Request,
    policies: list[Policy],
    rule: Prohibition,
    limit: Condition,
    place: int,
    rows: list[Row],
) -> None:
    number, policy = at(policies, place)
    rule = replace(rule, remedies=())

    def forbidding(one: Prohibition) -> set[tuple[IRI, str, int, IRI]]:
        changed = replace(policy, prohibitions=(*policy.prohibitions, one))
        return granted(decide(request_, swapped(policies, number, changed)), rows)

    before = forbidding(replace(rule, constraints=(limit, *rule.constraints)))
    assert forbidding(rule) <= before
    assert forbidding(replace(rule, refinements=())) <= forbidding(rule)


@given(requests, stored, worlds.assets, some_rows)
@settings(max_examples=examples(33, full=1000))
def test_asking_for_more_never_permits_more(
    request_: Request, policies: list[Policy], target: IRI, rows: list[Row]
) -> None:
    more = replace(request_, targets=tuple(dict.fromkeys((*request_.targets, target))))
    assert granted(decide(more, policies), rows) <= granted(decide(request_, policies), rows)


@given(requests, stored, some_rows)
@settings(max_examples=examples(33, full=1000))
def test_stating_no_purpose_and_no_time_never_permits_more(
    request_: Request, policies: list[Policy], rows: list[Row]
) -> None:
    """Of policies without prohibitions: a permission needs to know."""
    policies = [replace(policy, prohibitions=()) for policy in policies]
    silent = replace(request_, purpose=None, time=None)
    assume(not silent.facts)
    assert granted(decide(silent, policies), rows) <= granted(decide(request_, policies), rows)


@given(requests, worlds.policies, worlds.prohibitions)
@settings(max_examples=examples(30, full=2000))
def test_a_policy_that_is_not_void_never_permits_and_forbids_one_request(
    request_: Request, policy: Policy, added: Prohibition
) -> None:
    """What is proved about conditions statically agrees with what they are evaluated to."""
    prohibitions = without_remedies((*policy.prohibitions, added))
    policy = replace(policy, conflict=ConflictStrategy.INVALID, prohibitions=prohibitions)
    # A prohibition whose constraints exclude each other voids nothing, and denies only what is unknown.
    if is_void(policy) or any(Prover(WORLD, 1000).never(rule.constraints) for rule in prohibitions):
        return
    judged = replace(policy, conflict=ConflictStrategy.PROHIBIT)
    free = decide(request_, [replace(judged, prohibitions=())])
    assert decide(request_, [judged]).permissions == free.permissions


@given(requests, st.lists(worlds.policies, max_size=4), st.booleans())
@settings(max_examples=examples(25, full=1500))
def test_an_index_decides_like_the_list(request_: Request, policies: list[Policy], explain: bool) -> None:
    listed = authorize(request_, policies, WORLD, explain=explain)
    assert PolicyIndex(WORLD, policies).authorize(request_, explain=explain) == listed


@given(requests, stored, worlds.policies)
@settings(max_examples=examples(30, full=600))
def test_an_index_forgets_what_is_removed(
    request_: Request, policies: list[Policy], passing: Policy
) -> None:
    assume(passing not in policies)
    index = PolicyIndex(WORLD, [passing, *policies])
    index.remove(passing)
    assert index.authorize(request_) == authorize(request_, policies, WORLD)
    for policy in {id(one): one for one in policies}.values():
        if policy in index.about((*worlds.ASSETS, *worlds.COLUMNS, worlds.DECLARED)):
            index.remove(policy)
    assert index.size == 0


STRANGE = IRI("https://w3id.org/catenax/policy/Membership")
ORDER = (Effect.LIMITED, Effect.PERMIT)
"""Of effects, from the one that permits less; all others permit nothing."""
PARTS = (Policy, Permission, Prohibition, Duty, Asset, Party, Logical)


def comparisons(part: object) -> int:
    """How many comparisons a policy has, wherever they are."""
    if isinstance(part, Comparison | ColumnComparison):
        return 1
    inner = part if isinstance(part, tuple) else ()
    if isinstance(part, PARTS):
        inner = tuple(getattr(part, one.name) for one in fields(part))
    return sum(map(comparisons, inner))


def renamed(part: Any, place: int) -> Any:
    """A policy with an operand that nobody declares in one comparison of it."""
    if isinstance(part, Comparison):
        return replace(part, operand=STRANGE)
    if isinstance(part, ColumnComparison):
        return replace(part, column=replace(part.column, iri=STRANGE))
    inner = part if isinstance(part, tuple) else [getattr(part, one.name) for one in fields(part)]
    changed = []
    for one in inner:
        count = comparisons(one)
        changed.append(renamed(one, place) if 0 <= place < count else one)
        place -= count
    if isinstance(part, tuple):
        return tuple(changed)
    return type(part)(**{one.name: it for one, it in zip(fields(part), changed, strict=True)})


def permitted(decision: Decision) -> int:
    return ORDER.index(decision.effect) if decision.effect in ORDER else -1


conditioned = st.lists(worlds.conditioned_policies.filter(comparisons), min_size=1, max_size=2)


@given(worlds.conditioned_requests, conditioned, places, st.integers(0, 99), some_rows)
@settings(max_examples=examples(60, full=3000))
def test_renaming_an_operand_to_an_undeclared_one_never_permits_more(
    request_: Request, policies: list[Policy], place: int, which: int, rows: list[Row]
) -> None:
    number, policy = at(policies, place)
    strange = swapped(policies, number, renamed(policy, which % comparisons(policy)))
    before, after = decide(request_, policies), decide(request_, strange)
    assert permitted(after) <= permitted(before)
    assert granted(after, rows) <= granted(before, rows)
    # Nothing that is stated under it counts.
    facts = tuple(Fact(STRANGE, (value,)) for value in (Number(Decimal(3)), Text("active"), Text("a")))
    stated = decide(replace(request_, facts=(*request_.facts, *facts)), strange)
    assert replace(stated, request=request_) == after


@given(worlds.conditioned_requests, conditioned)
@settings(max_examples=examples(16, full=1000))
def test_to_understand_limits_permits_what_is_limited_and_nothing_else(
    request_: Request, policies: list[Policy]
) -> None:
    plain = decide(request_, policies)
    understood = decide(replace(request_, understands_limits=True), policies)
    assert replace(understood, request=request_) == plain
    assert plain.is_permitted == plain.is_unconditional
    assert understood.is_permitted == (plain.is_permitted or plain.is_limited)


@given(worlds.conditioned_requests, conditioned, some_rows)
@settings(max_examples=examples(40, full=2000))
def test_saying_nothing_in_place_of_a_fact_never_permits_more(
    request_: Request, policies: list[Policy], rows: list[Row]
) -> None:
    before = decide(request_, policies)
    for fact in request_.facts:
        left = tuple(one for one in request_.facts if one is not fact)
        silent = replace(request_, facts=left)
        if fact.operand == ODRL_PURPOSE:
            silent = replace(silent, purpose=None)
        elif fact.operand == DATE_TIME:
            silent = replace(silent, time=None)
        after = decide(silent, policies)
        assert permitted(after) <= permitted(before)
        assert granted(after, rows) <= granted(before, rows)


@given(worlds.conditioned_requests, worlds.conditions)
@settings(max_examples=examples(60, full=2000))
def test_a_claim_about_a_duty_permits_no_more_than_the_constraints_of_the_duty_would(
    request_: Request, condition: Condition
) -> None:
    """But for a deadline, which may have been kept before: so no fact that is left out permits more."""
    is_on_time = isinstance(condition, Comparison) and condition.operand == DATE_TIME
    assume(not (is_on_time and condition.operator in {Operator.LT, Operator.LTEQ}))
    uid = IRI("urn:x:duty:9")
    asked = replace(
        request_, action=terms.READ, targets=(worlds.SHOP,), rule=None, fulfilled=frozenset({uid})
    )
    duty = Duty(uid=uid, action=worlds.INFORM, targets=(), constraints=(condition,))
    rule = Permission(uid=IRI("urn:x:rule:9"), action=terms.READ, targets=(Asset(worlds.SHOP),))
    on_duty, on_rule = (
        decide(asked, [Policy(uid=IRI("urn:x:policy:9"), document_digest="sha256:0", permissions=(one,))])
        for one in (replace(rule, duties=(duty,)), replace(rule, constraints=(condition,)))
    )
    assert on_duty.is_permitted <= on_rule.is_permitted


@given(requests, stored)
@settings(max_examples=examples(16, full=1000))
def test_explaining_changes_nothing_else(request_: Request, policies: list[Policy]) -> None:
    plain = authorize(request_, policies, WORLD)
    explained = authorize(request_, policies, WORLD, explain=True)
    assert replace(explained, considered=()) == plain
    assert plain.is_unconditional == any(grant.is_unconditional for grant in plain.grants)
    assert plain.is_limited == (bool(plain.grants) and not plain.is_unconditional)
    applying = {report.rule for report in explained.considered if report.applies}
    assert {grant.permission.uid for grant in plain.grants} <= applying
    for report in explained.considered:
        assert [part.part for part in report.parts].count(Part.POLICY) == 1
        findings = {part.finding for part in report.parts}
        failing = {Finding.UNSATISFIED} if report.kind == "prohibition" else FAILING
        assert report.applies == findings.isdisjoint(failing)
        for part in report.parts:
            assert part.text
            assert not part.text.endswith(".")


@given(requests, stored, worlds.assets, some_rows)
@settings(max_examples=examples(16, full=1000))
def test_asking_for_more_targets_never_permits_more(
    request_: Request, policies: list[Policy], target: IRI, rows: list[Row]
) -> None:
    """What is asked for jointly is granted jointly, and no column of one target speaks of another."""
    more = replace(request_, targets=tuple(dict.fromkeys((*request_.targets, target))))
    assert granted(decide(more, policies), rows) <= granted(decide(request_, policies), rows)


def test_a_fact_under_the_column_of_one_target_keeps_no_prohibition_from_both() -> None:
    consent = IRI(f"{worlds.SHOP}/consent")
    limit = ColumnComparison(worlds.ColumnReference(consent), Operator.EQ, (Text("yes"),))
    both = (Asset(worlds.SHOP), Asset(worlds.BANK))
    policy = Policy(
        uid=IRI("urn:x:p"),
        document_digest="sha256:1",
        conflict=ConflictStrategy.PROHIBIT,
        permissions=(Permission(uid=IRI("urn:x:1"), action=terms.READ, targets=both),),
        prohibitions=(
            Prohibition(uid=IRI("urn:x:2"), action=terms.READ, targets=both[:1], constraints=(limit,)),
        ),
    )
    declaring = WORLD.with_(worlds.Vocabulary(operands=frozenset({consent})))
    stated = (Fact(consent, (Text("no"),)),)
    for targets in ((worlds.SHOP,), (worlds.SHOP, worlds.BANK)):
        asked = Request(party=worlds.ANN, action=terms.READ, targets=targets, facts=stated)
        assert decide(asked, [policy], declaring).effect is Effect.DENY
