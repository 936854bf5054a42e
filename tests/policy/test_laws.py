"""Laws that decisions keep, on random policies of the whole language."""

from dataclasses import replace

import worlds
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from worlds import WORLD, Row, row_satisfies

from smalti.policy.authorize import authorize, prepare
from smalti.policy.decision import Decision, Finding, Part, Request
from smalti.policy.hierarchies import Hierarchies
from smalti.policy.index import PolicyIndex
from smalti.policy.model import (
    Comparison,
    Condition,
    ConflictStrategy,
    Named,
    Operator,
    Permission,
    Policy,
    Prohibition,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI, ODRL_PURPOSE

stored = st.lists(worlds.policies, min_size=1, max_size=3)
places = st.integers(0, 5)
FAILING = frozenset({Finding.UNSATISFIED, Finding.UNKNOWN})
some_rows = st.lists(worlds.rows, min_size=1, max_size=6)


def decide(request: Request, policies: list[Policy], hierarchies: Hierarchies = WORLD) -> Decision:
    return authorize(request, policies, hierarchies)


def granted(decision: Decision, rows: list[Row]) -> set[tuple[IRI, str, int]]:
    """What is granted: under which rule, with which transformation, and which of some rows."""
    return {
        (grant.permission.uid, repr(grant.permission.anonymization), number)
        for grant in decision.grants
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


@given(worlds.requests, stored, worlds.prohibitions, places, some_rows)
@settings(max_examples=examples(100))
def test_adding_a_prohibition_never_permits_more(
    request_: Request, policies: list[Policy], added: Prohibition, place: int, rows: list[Row]
) -> None:
    before = granted(decide(request_, policies), rows)
    number, policy = at(policies, place)
    changed = replace(policy, prohibitions=(*policy.prohibitions, added))
    alone = Policy(uid=IRI("urn:x:new"), document_digest="sha256:1", prohibitions=(added,))
    assert granted(decide(request_, swapped(policies, number, changed)), rows) <= before
    assert granted(decide(request_, [*policies, alone]), rows) <= before


@given(worlds.requests, stored, worlds.policies, places)
@settings(max_examples=examples(150))
def test_no_policy_makes_another_one_permit_more(
    request_: Request, policies: list[Policy], added: Policy, place: int
) -> None:
    """Neither by being there, nor by the rules that it has: each permission is granted for itself."""
    number, policy = at(policies, place)
    others = [one for at_, one in enumerate(policies) if at_ != number and one != policy]
    of_others = [grant for grant in decide(request_, [*others, policy]).grants if grant.policy in others]
    free = decide(request_, others).grants
    assert all(grant in free for grant in of_others)
    more = replace(
        policy,
        uid=IRI("urn:x:new"),
        permissions=(*policy.permissions, *added.permissions),
        conflict=ConflictStrategy.PERMIT,
    )
    fewer = replace(more, permissions=())
    with_more = decide(request_, [*others, more]).grants
    with_fewer = decide(request_, [*others, fewer]).grants
    assert all(grant in with_fewer for grant in with_more if grant.policy in others)


def permission_at(policy: Policy, place: int) -> Permission:
    assume(policy.permissions)
    return policy.permissions[place % len(policy.permissions)]


def with_permission(policy: Policy, old: Permission, new: Permission) -> Policy:
    return replace(policy, permissions=tuple(new if one is old else one for one in policy.permissions))


@given(worlds.requests, stored, worlds.conditions, places, some_rows)
@settings(max_examples=examples(100))
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


@given(worlds.requests, stored, st.sampled_from(sorted(NARROWER)), places, some_rows, st.data())
@settings(max_examples=examples(100))
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


@given(worlds.requests, stored, worlds.prohibitions, worlds.conditions, places, some_rows)
@settings(max_examples=examples(100))
def test_removing_a_constraint_from_a_prohibition_never_permits_more(
    request_: Request,
    policies: list[Policy],
    rule: Prohibition,
    limit: Condition,
    place: int,
    rows: list[Row],
) -> None:
    number, policy = at(policies, place)

    def forbidding(one: Prohibition) -> set[tuple[IRI, str, int]]:
        changed = replace(policy, prohibitions=(*policy.prohibitions, one))
        return granted(decide(request_, swapped(policies, number, changed)), rows)

    before = forbidding(replace(rule, constraints=(limit, *rule.constraints)))
    assert forbidding(rule) <= before
    assert forbidding(replace(rule, refinements=())) <= forbidding(rule)


@given(worlds.requests, stored, worlds.assets, some_rows)
@settings(max_examples=examples(100))
def test_asking_for_more_never_permits_more(
    request_: Request, policies: list[Policy], target: IRI, rows: list[Row]
) -> None:
    more = replace(request_, targets=tuple(dict.fromkeys((*request_.targets, target))))
    assert granted(decide(more, policies), rows) <= granted(decide(request_, policies), rows)


@given(worlds.requests, stored, some_rows)
@settings(max_examples=examples(100))
def test_stating_no_purpose_and_no_time_never_permits_more(
    request_: Request, policies: list[Policy], rows: list[Row]
) -> None:
    """Of policies without prohibitions: a permission needs to know."""
    policies = [replace(policy, prohibitions=()) for policy in policies]
    silent = replace(request_, purpose=None, time=None)
    assume(not silent.facts)
    assert granted(decide(silent, policies), rows) <= granted(decide(request_, policies), rows)


@given(worlds.requests, worlds.policies, worlds.prohibitions)
@settings(max_examples=examples(200))
def test_a_policy_that_is_not_void_never_permits_and_forbids_one_request(
    request_: Request, policy: Policy, added: Prohibition
) -> None:
    """What is proved about conditions statically agrees with what they are evaluated to."""
    prohibitions = (*policy.prohibitions, added)
    policy = replace(policy, conflict=ConflictStrategy.INVALID, prohibitions=prohibitions)
    if is_void(policy):
        return
    judged = replace(policy, conflict=ConflictStrategy.PROHIBIT)
    free = decide(request_, [replace(judged, prohibitions=())])
    assert decide(request_, [judged]).permissions == free.permissions


@given(worlds.requests, st.lists(worlds.policies, max_size=4), st.booleans())
@settings(max_examples=examples(150))
def test_an_index_decides_like_the_list(request_: Request, policies: list[Policy], explain: bool) -> None:
    listed = authorize(request_, policies, WORLD, explain=explain)
    assert PolicyIndex(WORLD, policies).authorize(request_, explain=explain) == listed


@given(worlds.requests, stored, worlds.policies)
@settings(max_examples=examples(60))
def test_an_index_forgets_what_is_removed(
    request_: Request, policies: list[Policy], passing: Policy
) -> None:
    assume(passing not in policies)
    index = PolicyIndex(WORLD, [passing, *policies])
    index.remove(passing)
    assert index.authorize(request_) == authorize(request_, policies, WORLD)
    for policy in {id(one): one for one in policies}.values():
        if policy in index.about(worlds.ASSETS):
            index.remove(policy)
    assert index.size == 0


@given(worlds.requests, stored)
@settings(max_examples=examples(100))
def test_explaining_changes_nothing_else(request_: Request, policies: list[Policy]) -> None:
    plain = authorize(request_, policies, WORLD)
    explained = authorize(request_, policies, WORLD, explain=True)
    assert replace(explained, considered=()) == plain
    assert plain.is_permitted == bool(plain.grants)
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
