"""Decisions: closed world, denying by default, with reasons."""

from dataclasses import replace

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.policy.authorize import authorize
from smalti.policy.decision import Decision, Effect, Request
from smalti.policy.model import (
    Asset,
    Comparison,
    ConflictStrategy,
    Named,
    Operator,
    Party,
    Permission,
    Policy,
    Prohibition,
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
        ({"action": terms.USE}, "about the action `use`"),
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


parties = st.sampled_from([None, ACME, ZOO])
targets = st.sampled_from([SHOP, BANK])
purposes = st.sampled_from(
    [None, frozenset({terms.MARKETING}), frozenset({terms.MARKETING, terms.STATISTICAL})]
)
permissions = st.builds(
    permission, st.sampled_from(["urn:x:a", "urn:x:b"]), assignee=parties, target=targets,
    purposes=purposes, action=st.sampled_from([terms.READ, terms.ANONYMIZE]),
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
@settings(max_examples=examples(200))
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
        assert rule.action == request_.action
        assert [one.iri for one in rule.targets] == [request_.target]
        assert not rule.assignees or request_.party in {one.iri for one in rule.assignees}
        assert rule.purposes is None or request_.purpose in rule.purposes
