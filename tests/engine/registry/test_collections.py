"""Collections, groups, joint requests and inheritance: whose word counts for what."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from smalti.engine.registry.authority import decide
from smalti.engine.registry.entries import Input
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.submissions import Submission
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.decision import Effect, Request
from smalti.policy.read.parse import parse
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OTHER, OUTPUT, OWNER, SECOND, SOURCE, USER

MARKET = IRI("http://market.example/operator")
COLLECTION = IRI("http://market.example/all-data")
GROUP = IRI("http://market.example/researchers")
PREFIXES = """
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dpv: <https://w3id.org/dpv#> .
"""


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def read(*targets: IRI, party: IRI = USER, purpose: IRI | None = None) -> Request:
    return Request(party=party, action=terms.READ, targets=targets, purpose=purpose)


def permit(uid: str, *targets: str, **more: object) -> bytes:
    rule = {**world.read_rule(uid), "target": list(targets), **more}
    return world.document(uid, rule)


def forbid(uid: str, *targets: str) -> bytes:
    return world.document(uid, prohibitions=({**world.read_rule(uid), "target": list(targets)},))


def members(*pairs: tuple[IRI, IRI]) -> bytes:
    lines = [f"<{member}> a odrl:Asset ; odrl:partOf <{collection}> ." for member, collection in pairs]
    return (PREFIXES + "\n".join(lines)).encode()


def group(*parties: IRI) -> bytes:
    lines = [f"<{party}> a odrl:Party ; odrl:partOf <{GROUP}> ." for party in parties]
    return (PREFIXES + "\n".join(lines)).encode()


def own(registry: Registry, owner: IRI, *targets: IRI) -> None:
    for target in targets:
        name = f"own-{target.rpartition('/')[2]}"
        registry.add_policy(world.document(name, world.anonymize_rule(name, target)), name, owner)


# --- Several targets at once


def test_one_rule_covers_targets_jointly(registry: Registry) -> None:
    registry.add_policy(permit("both", SOURCE, SECOND), "both", OWNER)
    for targets in ((SOURCE, SECOND), (SECOND, SOURCE), (SOURCE,), (SECOND,)):
        assert decide(registry, read(*targets)).is_permitted


def test_two_rules_do_not(registry: Registry) -> None:
    registry.add_policy(permit("one", SOURCE), "one", OWNER)
    registry.add_policy(permit("two", SECOND), "two", OWNER)
    assert decide(registry, read(SOURCE)).is_permitted
    assert decide(registry, read(SECOND)).is_permitted
    assert not decide(registry, read(SOURCE, SECOND)).is_permitted


def test_an_issuer_owns_each_target_of_what_it_permits(registry: Registry) -> None:
    registry.add_policy(permit("both", SOURCE, SECOND), "both", OWNER)
    registry.add_owner(SECOND, OTHER, by=OWNER)
    registry.remove_owner(SECOND, OWNER, by=OTHER)
    assert decide(registry, read(SOURCE)).is_permitted
    for targets, why in (
        ((SECOND,), "does not own"),
        ((SOURCE, SECOND), "owns a part of what is requested"),
    ):
        decision = decide(registry, read(*targets))
        assert not decision.is_permitted
        assert why in "".join(reason.text for reason in decision.reasons)


def test_an_owner_of_one_target_prohibits_a_joint_request(registry: Registry) -> None:
    own(registry, OTHER, SECOND)
    registry.add_policy(permit("one", SOURCE), "one", OWNER)
    registry.add_owner(SECOND, OWNER, by=OTHER)
    registry.add_policy(permit("both", SOURCE, SECOND), "both", OWNER)
    assert decide(registry, read(SOURCE, SECOND)).is_permitted
    registry.add_policy(forbid("no", SECOND), "no", OTHER)
    assert decide(registry, read(SOURCE, SECOND)).effect is Effect.DENY
    assert decide(registry, read(SOURCE)).is_permitted


def test_a_submitted_policy_needs_an_owner_of_each_target(registry: Registry) -> None:
    own(registry, OWNER, SOURCE)
    own(registry, OTHER, SECOND)
    (policy,) = parse(permit("both", SOURCE, SECOND), "both").policies
    for party in (OWNER, OTHER, USER):
        assert not decide(registry, read(SOURCE, SECOND), submission=Submission(policy, party)).is_permitted
    assert decide(registry, read(SOURCE), submission=Submission(policy, OWNER)).is_permitted


def test_outputs_are_not_implied_jointly(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(permit("read", SOURCE), "read", OWNER)
    world.run(registry, tmp_path / "out")
    marketing = read(OUTPUT, purpose=terms.MARKETING)
    assert decide(registry, marketing).is_permitted
    both = read(OUTPUT, SOURCE, purpose=terms.MARKETING)
    assert not decide(registry, both).is_permitted


# --- Collections


def test_a_policy_about_a_collection_counts_for_its_issuers_members_alone(registry: Registry) -> None:
    own(registry, OWNER, SOURCE)
    own(registry, OTHER, SECOND)
    registry.add_hierarchy(members((SOURCE, COLLECTION)), "owner", OWNER)
    registry.add_hierarchy(members((SECOND, COLLECTION)), "other", OTHER)
    registry.add_policy(permit("all", COLLECTION), "all", OWNER)
    assert registry.asset(COLLECTION) is None  # nobody claims what several have joined
    assert decide(registry, read(SOURCE)).is_permitted
    assert not decide(registry, read(SECOND)).is_permitted
    assert not decide(registry, read(COLLECTION)).is_permitted
    registry.add_policy(permit("too", COLLECTION), "too", OTHER)
    assert decide(registry, read(SECOND)).is_permitted
    assert not decide(registry, read(SOURCE, SECOND)).is_permitted


def test_a_prohibition_on_a_member_or_a_collection_touches_both(registry: Registry) -> None:
    own(registry, OWNER, SOURCE, SECOND)
    registry.add_hierarchy(members((SOURCE, COLLECTION), (SECOND, COLLECTION)), "owner", OWNER)
    registry.add_policy(permit("all", COLLECTION), "all", OWNER)
    assert all(decide(registry, read(target)).is_permitted for target in (SOURCE, SECOND, COLLECTION))
    registry.add_policy(forbid("no", SOURCE), "no", OWNER)
    effects = [decide(registry, read(target)).is_permitted for target in (SOURCE, SECOND, COLLECTION)]
    assert effects == [False, True, False]


def test_memberships_of_other_peoples_assets_are_refused(registry: Registry) -> None:
    own(registry, OWNER, SOURCE)
    registry.add_policy(permit("all", COLLECTION), "all", OTHER)
    before = world.everything(registry)
    for pairs in ([(SOURCE, OUTPUT)], [(SECOND, OUTPUT)], [(OUTPUT, SOURCE)]):
        for party in (OTHER, MARKET):
            with pytest.raises(UsageError, match="does not own"):
                registry.add_hierarchy(members(*pairs), "taken", party)
    with pytest.raises(UsageError, match="does not own"):  # a collection that somebody owns
        registry.add_hierarchy(members((SOURCE, COLLECTION)), "taken", OWNER)
    assert world.everything(registry) == before


def test_a_membership_ends_with_the_ownership_of_the_member(registry: Registry) -> None:
    own(registry, OWNER, SOURCE)
    registry.add_hierarchy(members((SOURCE, COLLECTION)), "owner", OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.add_policy(permit("all", COLLECTION), "all", OTHER)
    assert decide(registry, read(SOURCE)).is_permitted
    registry.remove_owner(SOURCE, OWNER, by=OTHER)
    assert not decide(registry, read(SOURCE)).is_permitted


def test_a_policys_own_memberships_count_in_it_alone(registry: Registry) -> None:
    own(registry, OWNER, SOURCE)
    own(registry, OTHER, SECOND)
    inside = [{"uid": target, "@type": "Asset", "partOf": COLLECTION} for target in (SOURCE, SECOND)]
    rule = {**world.read_rule("own"), "target": [{"uid": COLLECTION, "@type": "AssetCollection"}]}
    other = {**world.read_rule("more"), "target": inside, "assignee": OTHER}
    found = parse(world.document("own", rule, other), "own")
    if not found.policies:
        pytest.fail(str(found.errors))
    stolen = world.document("own", rule, other)
    with pytest.raises(UsageError, match="does not own"):
        registry.add_policy(stolen, "own", OWNER)
    mine = world.document("own", rule, {**other, "target": inside[:1]})
    registry.add_policy(mine, "own", OWNER)
    registry.add_policy(permit("plain", COLLECTION, assignee=MARKET), "plain", OWNER)
    assert decide(registry, read(SOURCE)).is_permitted
    assert not decide(registry, read(SECOND)).is_permitted
    registry.revoke_policy(world.uid("own"), OWNER)
    assert not decide(registry, read(SOURCE, party=MARKET)).is_permitted


# --- Groups, purposes, versions of hierarchies


def test_groups_are_the_word_of_owners_and_of_whom_they_trust(registry: Registry) -> None:
    registry.add_policy(permit("read", SOURCE, assignee=GROUP), "read", OWNER)
    assert not decide(registry, read(SOURCE)).is_permitted
    registry.add_hierarchy(group(USER), "groups", MARKET)
    assert not decide(registry, read(SOURCE)).is_permitted
    registry.trust_authority(OWNER, MARKET, by=OWNER)
    assert registry.trusted_authorities(OWNER) == {MARKET}
    assert decide(registry, read(SOURCE)).is_permitted
    registry.add_hierarchy(group(OTHER), "groups", MARKET)
    assert not decide(registry, read(SOURCE)).is_permitted
    assert [(one.number, one.is_in_force) for one in registry.list_hierarchies()] == [(1, False), (2, True)]
    registry.add_hierarchy(group(USER), "groups", MARKET)
    registry.distrust_authority(OWNER, MARKET, by=OWNER)
    assert not decide(registry, read(SOURCE)).is_permitted
    registry.add_hierarchy(group(USER), "own", OWNER)
    assert decide(registry, read(SOURCE)).is_permitted
    registry.remove_hierarchy("own", OWNER)
    assert not decide(registry, read(SOURCE)).is_permitted


def test_a_name_is_its_partys(registry: Registry) -> None:
    registry.add_hierarchy(group(USER), "groups", MARKET)
    before = world.everything(registry)
    with pytest.raises(UsageError, match="has added a hierarchy of that name"):
        registry.add_hierarchy(group(OTHER), "groups", OTHER)
    with pytest.raises(UsageError, match="has added a hierarchy of that name"):
        registry.remove_hierarchy("groups", OTHER)
    with pytest.raises(UsageError, match="no such hierarchy"):
        registry.remove_hierarchy("nosuch", MARKET)
    assert world.everything(registry) == before


@pytest.mark.parametrize(
    "text",
    [
        "dpv:Marketing skos:broader dpv:Purpose, <http://e.com/all> .",
        "<http://e.com/a> <http://e.com/b> 1 .",
        "x",
    ],
)
def test_what_redefines_or_is_not_understood_is_refused(registry: Registry, text: str) -> None:
    registry.add_hierarchy(group(USER), "groups", MARKET)
    before = world.everything(registry)
    with pytest.raises(PolicyError):
        registry.add_hierarchy((PREFIXES + text).encode(), "wrong", MARKET)
    assert world.everything(registry) == before


def test_a_purpose_of_the_markets_own_is_within_a_standard_one(registry: Registry, tmp_path: Path) -> None:
    own_purpose = IRI("http://market.example/newsletter")
    registry.add_policy(permit("read", SOURCE), "read", OWNER)
    world.run(registry, tmp_path / "out")  # under a rule for marketing
    assert not decide(registry, read(OUTPUT, purpose=own_purpose)).is_permitted
    text = f"<{own_purpose}> a dpv:Purpose ; skos:broader dpv:Marketing ."
    registry.add_hierarchy((PREFIXES + text).encode(), "purposes", MARKET)
    assert not decide(registry, read(OUTPUT, purpose=own_purpose)).is_permitted
    registry.trust_authority(OWNER, MARKET, by=OWNER)
    assert decide(registry, read(OUTPUT, purpose=own_purpose)).is_permitted
    assert decide(registry, read(OUTPUT, purpose=IRI(terms.DPV + "DirectMarketing"))).is_permitted
    assert not decide(registry, read(OUTPUT, purpose=IRI(terms.DPV + "Purpose"))).is_permitted


# --- The implicit rule relies on plain permissions only


def constraint(operand: str, operator: str, value: object) -> dict[str, object]:
    return {"leftOperand": operand, "operator": operator, "rightOperand": value}


IN_TIME = {"@value": "2999-01-01T00:00:00Z", "@type": "xsd:dateTime"}
DUTY = {
    "uid": "http://example.com/rule/duty",
    "action": world.anonymize_rule("duty")["action"],
    "output": "http://example.com/other",
}


@pytest.mark.parametrize(
    "limit",
    [
        {"constraint": [constraint("dateTime", "lt", IN_TIME)]},
        {"constraint": [constraint(f"{SOURCE}/Amount", "gt", 5)]},
        {"duty": [DUTY]},
    ],
    ids=["time", "rows", "duty"],
)
def test_the_implicit_rule_relies_on_no_further_conditions(
    registry: Registry, tmp_path: Path, limit: dict[str, object]
) -> None:
    registry.add_policy(permit("read", SOURCE, **limit), "read", OWNER)
    world.run(registry, tmp_path / "out")
    asked = replace(read(SOURCE, purpose=terms.MARKETING), understands_limits=True)
    assert decide(registry, asked).is_permitted
    decision = decide(registry, replace(asked, targets=(OUTPUT,)))
    assert not decision.is_permitted
    assert "only under further conditions" in "".join(reason.text for reason in decision.reasons)


# --- Inheritance


def child(**more: object) -> bytes:
    rule = world.read_rule("child", assignee=OTHER)
    return world.document("child", rule, inheritFrom=world.uid("parent"), **more)


def test_a_child_has_its_parents_rules_and_ends_with_it(registry: Registry, tmp_path: Path) -> None:
    parent = world.document(
        "parent",
        world.read_rule("parent", assignee=USER),
        prohibitions=(world.read_rule("no", assignee=MARKET),),
    )
    before = world.everything(registry)
    with pytest.raises(PolicyError):
        registry.add_policy(child(), "child", OWNER)
    assert world.everything(registry) == before
    registry.add_policy(parent, "parent", OWNER)
    registry.add_policy(child(), "child", OWNER)
    assert decide(registry, read(SOURCE, party=OTHER)).is_permitted
    registry.revoke_policy(world.uid("parent"), OWNER)
    for again in (registry, Registry(registry._database)):
        decision = decide(again, read(SOURCE, party=OTHER))
        assert not decision.is_permitted
        text = "".join(reason.text for reason in decision.reasons)
        assert "its parent policy was revoked or replaced: it may only prohibit" in text
        assert not decide(again, read(SOURCE)).is_permitted
        assert decide(again, read(SOURCE, party=MARKET)).effect is Effect.DENY
        assert decide(again, read(SOURCE, party=MARKET)).determining


def test_a_child_of_a_replaced_parent_grants_again_once_it_is_added_again(registry: Registry) -> None:
    for assignee in (USER, MARKET):
        parent = world.document("parent", world.read_rule("parent", assignee=assignee))
        registry.add_policy(parent, "parent", OWNER, replaces=True)
        if assignee == USER:
            registry.add_policy(child(), "child", OWNER)
    assert not decide(registry, read(SOURCE, party=OTHER)).is_permitted
    registry.add_policy(child(), "child", OWNER)
    assert decide(registry, read(SOURCE, party=OTHER)).is_permitted
    assert not decide(registry, read(SOURCE)).is_permitted
    assert decide(registry, read(SOURCE, party=MARKET)).is_permitted
    assert [stored.is_in_force for stored in registry.list_policies()] == [False, False, True, True]


def test_a_grandparent_counts_too(registry: Registry) -> None:
    registry.add_policy(world.document("parent", world.read_rule("parent", assignee=USER)), "p", OWNER)
    registry.add_policy(child(), "child", OWNER)
    grand = world.document(
        "grand", world.read_rule("grand", assignee=MARKET), inheritFrom=world.uid("child")
    )
    registry.add_policy(grand, "grand", OWNER)
    assert decide(registry, read(SOURCE, party=MARKET)).is_permitted
    registry.revoke_policy(world.uid("parent"), OWNER)
    assert not decide(registry, read(SOURCE, party=MARKET)).is_permitted


def test_an_output_under_a_policy_whose_parent_ended_is_not_implied(
    registry: Registry, tmp_path: Path
) -> None:
    registry.add_policy(permit("read", SOURCE), "read", OWNER)
    registry.add_policy(world.document("parent", world.read_rule("parent", SECOND)), "parent", OWNER)
    document = world.document("anon", world.anonymize_rule("anon"), inheritFrom=world.uid("parent"))
    registry.add_policy(document, "anon", OWNER)
    world.run(registry, tmp_path / "out", document=document, inputs=(Input(SOURCE),))
    asked = read(OUTPUT, purpose=terms.MARKETING)
    assert decide(registry, asked).is_permitted
    registry.revoke_policy(world.uid("parent"), OWNER)
    decision = decide(registry, asked)
    assert not decision.is_permitted
    assert "was made under has ended" in "".join(reason.text for reason in decision.reasons)
