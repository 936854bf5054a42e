"""Documents of strangers: what one says of other people's assets, parties and parents changes nothing."""

import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.registry.authority import decide
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.review import reviews
from smalti.engine.registry.signatures import new_key, sign
from smalti.engine.registry.submissions import Resolved, Submission
from smalti.engine.registry.submitted_policies import resolved
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.decision import Decision, Effect, Reason, Request
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Policy
from smalti.policy.read.parse import parse
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OTHER as STRANGER
from registry_world import OUTPUT, OWNER, SOURCE, USER

OWN = IRI("http://stranger.example/own")
COLLECTION = IRI("http://stranger.example/all")
GROUP = IRI("http://example.com/party/staff")
PARENT, ANON = world.uid("parent"), world.uid("anon")
READ_PARENT = world.document("parent", world.read_rule("parent", assignee=OWNER))
INHERITING = world.document("anon", {**world.anonymize_rule("anon"), "assignee": USER}, inheritFrom=PARENT)
STAFF_ONLY = world.document("anon", {**world.anonymize_rule("anon"), "assignee": GROUP}, inheritFrom=PARENT)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def takes_in_assets(asset: IRI = SOURCE, **rule: Any) -> bytes:
    """A stranger's policy under the parent's uid: the owner's asset is in the stranger's collection."""
    own = {"uid": OWN, "@type": "Asset", "partOf": {"uid": asset, "@type": "Asset", "partOf": COLLECTION}}
    wide = world.anonymize_rule("wide", COLLECTION, output="http://stranger.example/out", purpose=None)
    mine = {"uid": "http://stranger.example/rule", "target": own, "action": "odrl:use"}
    found = {name: said for name, said in {**wide, **rule}.items() if said is not None}
    return world.document("parent", found, mine)


def takes_in_groups() -> bytes:
    """Likewise: the stranger is in the group that the owner's policy is for."""
    member = {"uid": STRANGER, "@type": "Party", "partOf": GROUP}
    return world.document("parent", world.read_rule("mine", OWN, assignee=member))


def asks(party: IRI = STRANGER, rule: str | None = None, action: IRI = terms.ANONYMIZE) -> Request:
    picked = None if rule is None else IRI(f"http://example.com/rule/{rule}")
    return Request(party=party, action=action, targets=(SOURCE,), purpose=terms.MARKETING, rule=picked)


def submission(registry: Registry, document: bytes, by: IRI | None = STRANGER) -> Submission:
    """A document as its submitter reads it."""
    as_read = registry.policies.in_force(PARENT, by) or registry.policies.in_force(PARENT, OWNER)
    (policy,) = parse(document, "submitted", lambda uid: as_read).policies
    return Submission(policy, by, document)


def texts(decision: Decision) -> str:
    return "\n".join(reason.text for reason in decision.reasons)


@pytest.fixture
def attacked(registry: Registry) -> Registry:
    """An owner's policy that inherits, and a stranger's policy under the parent's uid."""
    registry.add_policy(READ_PARENT, "parent", OWNER)
    registry.add_policy(INHERITING, "anon", OWNER)
    registry.add_policy(takes_in_assets(), "parent", STRANGER)
    return registry


# --- A stranger's parent under the owner's name


@pytest.mark.parametrize("rule", [None, "wide"])
def test_an_asset_taken_into_a_strangers_collection_is_not_granted(attacked: Registry, rule: str) -> None:
    read = submission(attacked, INHERITING)
    assert {one.uid for one in read.policy.permissions} > {IRI("http://example.com/rule/wide")}
    assert not decide(attacked, asks(rule=rule), submission=read).is_permitted
    # Whoever may run the owner's policy still may, and gets the owner's rule alone.
    decision = decide(attacked, asks(USER), submission=read)
    assert [one.permission.uid for one in decision.grants] == [IRI("http://example.com/rule/anon")]


def test_a_group_that_a_stranger_joined_is_not_the_owners(registry: Registry) -> None:
    registry.add_policy(READ_PARENT, "parent", OWNER)
    registry.add_policy(STAFF_ONLY, "anon", OWNER)
    registry.add_policy(takes_in_groups(), "parent", STRANGER)
    assert not decide(registry, asks(), submission=submission(registry, STAFF_ONLY)).is_permitted


def test_a_vocabulary_of_a_stranger_is_not_the_owners(registry: Registry) -> None:
    registry.add_policy(
        world.document("anon", {**world.anonymize_rule("anon"), "assignee": GROUP}), "p", OWNER
    )
    vocabulary = f"@prefix odrl: <{terms.ODRL}> .\n<{STRANGER}> a odrl:Party ; odrl:partOf <{GROUP}> ."
    registry.add_hierarchy(vocabulary.encode(), "staff", STRANGER)
    assert not decide(registry, asks()).is_permitted
    registry.trust_authority(STRANGER, STRANGER, by=STRANGER)
    assert not decide(registry, asks()).is_permitted
    with pytest.raises(UsageError, match="may not say whose vocabularies count"):
        registry.trust_authority(OWNER, STRANGER, by=STRANGER)


def test_a_vocabulary_of_a_part_owner_counts_for_prohibitions_alone(registry: Registry) -> None:
    """Who owns a part of what is requested can forbid it to a group of their own, and permit it to none."""
    vocabulary = f"@prefix odrl: <{terms.ODRL}> .\n<{USER}> a odrl:Party ; odrl:partOf <{GROUP}> ."
    second, joint = world.SECOND, [SOURCE, world.SECOND]
    registry.add_policy(world.document("second", world.read_rule("second", second)), "second", STRANGER)
    registry.add_owner(second, OWNER, by=STRANGER)
    both = Request(party=USER, action=terms.READ, targets=(SOURCE, second))

    def permit(party: str) -> None:
        rule = {**world.read_rule("joint", assignee=party), "target": joint}
        registry.add_policy(world.document("joint", rule), "joint", OWNER, replaces=True)

    permit(GROUP)
    registry.add_hierarchy(vocabulary.encode(), "staff", STRANGER)
    assert not decide(registry, both).is_permitted
    permit(USER)
    assert decide(registry, both).is_permitted
    rule = {"uid": "http://example.com/rule/no", "target": second, "action": "odrl:read", "assignee": GROUP}
    registry.add_policy(world.document("no", prohibitions=(rule,)), "no", STRANGER)
    assert not decide(registry, both).is_permitted
    registry.remove_hierarchy("staff", STRANGER)
    assert decide(registry, both).is_permitted


def test_an_owners_policy_without_its_parent_is_nobody_elses(attacked: Registry) -> None:
    """Once the owner's parent has ended, the stranger's does not stand in for it."""
    attacked.revoke_policy(PARENT, OWNER)
    for by in (STRANGER, None, OWNER):
        decision = decide(attacked, asks(USER), submission=submission(attacked, INHERITING, STRANGER))
        assert decision.effect is Effect.DENY, by


def test_the_same_document_of_a_stranger_neither_grants_nor_keeps_anything(
    attacked: Registry, tmp_path: Path
) -> None:
    """A document that names no target itself can be put in force by anybody who has a parent for it."""
    bare = world.document("bare", inheritFrom=PARENT, profile="https://www.mosaicrown.eu/ns/mosaicrown/1/")
    parent = world.document("parent", world.anonymize_rule("own"))
    attacked.add_policy(parent, "parent", OWNER, replaces=True)
    attacked.add_policy(bare, "bare", OWNER)
    version = world.run(attacked, tmp_path / "out", document=bare, **UNDER_BARE)
    attacked.add_policy(bare, "bare", STRANGER)
    attacked.add_policy(world.document("read", world.read_rule("r", assignee=USER)), "read", OWNER)
    read = Request(party=USER, action=terms.READ, targets=(OUTPUT,), purpose=terms.MARKETING)
    assert decide(attacked, read).is_permitted
    attacked.revoke_policy(world.uid("bare"), OWNER)
    assert not decide(attacked, read).is_permitted
    assert [one.version.iri for one in reviews(attacked)] == [version.iri]
    with pytest.raises(UsageError, match="revoked"):
        world.run(attacked, tmp_path / "again", document=bare, **UNDER_BARE)


UNDER_BARE: dict[str, Any] = {
    "policy_uid": world.uid("bare"), "rule_uid": IRI("http://example.com/rule/own")
}  # fmt: skip


def test_a_document_of_several_policies_is_read_with_its_issuers_parents(registry: Registry) -> None:
    """What an entry inherits through another policy of its document is not a later stranger's word."""
    first = json.loads(world.document("first", inheritFrom=world.uid("middle")))
    middle = json.loads(world.document("middle", inheritFrom=PARENT))
    context = first.pop("@context")
    assert middle.pop("@context") == context
    both = json.dumps({"@context": context, "@graph": [first, middle]}).encode()
    registry.add_policy(world.document("parent", world.read_rule("p")), "parent", OWNER)
    registry.add_policy(both, "both", OWNER)
    registry.add_policy(takes_in_assets(), "parent", STRANGER)
    registry.add_policy(both, "both", STRANGER)
    again = Registry.open(registry.name)
    (own,) = [one for one in again.list_policies() if (one.uid, one.issuer) == (world.uid("first"), OWNER)]
    assert own.policy is not None
    assert {rule.uid for rule in own.policy.rules} == {IRI("http://example.com/rule/p")}


# --- What is recorded


def test_a_run_is_recorded_under_what_its_policy_meant(attacked: Registry, tmp_path: Path) -> None:
    strangers = attacked.policies.read_as(INHERITING, "p", ANON, STRANGER)
    assert strangers is not None
    for changes in (
        {"issuer": OWNER, "policy_meaning": meaning_digest(strangers)},
        {"issuer": STRANGER, "policy_meaning": meaning_digest(strangers)},
        {"issuer": STRANGER},
        {"issuer": OWNER, "policy_meaning": None},
    ):
        with pytest.raises(UsageError):
            world.run(attacked, tmp_path / "out", document=INHERITING, bound_by=STRANGER, **changes)
    world.run(attacked, tmp_path / "first", document=INHERITING)
    asked = {"document": INHERITING, "bound_by": STRANGER, "binds_as_owner": False}
    version = world.run(attacked, tmp_path / "out", **asked)
    assert isinstance(version, TargetVersion)
    assert version.policy_meaning == meaning_digest(stored(attacked, INHERITING))


def stored(registry: Registry, document: bytes) -> Policy:
    (found,) = [
        one.policy
        for one in registry.list_policies()
        if (one.document, one.issuer, one.is_in_force) == (document, OWNER, True)
    ]
    assert found is not None
    return found


def test_a_parent_that_is_replaced_during_a_run_keeps_it_from_being_recorded(
    attacked: Registry, tmp_path: Path
) -> None:
    meant = meaning_digest(stored(attacked, INHERITING))
    wider = world.document("parent", world.read_rule("parent"))
    attacked.add_policy(wider, "parent", OWNER, replaces=True)
    with pytest.raises(UsageError, match="revoked, or what it inherits was replaced"):
        world.run(attacked, tmp_path / "out", document=INHERITING, policy_meaning=meant)
    attacked.add_policy(INHERITING, "anon", OWNER)
    assert meaning_digest(stored(attacked, INHERITING)) != meant
    with pytest.raises(UsageError, match="revoked, or what it inherits was replaced"):
        world.run(attacked, tmp_path / "out", document=INHERITING, policy_meaning=meant)


def test_an_output_of_another_meaning_is_to_be_looked_at(attacked: Registry, tmp_path: Path) -> None:
    """The same document, with another parent, is no more what the output was made under."""
    world.run(attacked, tmp_path / "out", document=INHERITING)
    assert reviews(attacked) == ()
    attacked.add_policy(world.document("parent", world.read_rule("p")), "parent", OWNER, replaces=True)
    attacked.add_policy(INHERITING, "anon", OWNER)
    assert [one.reasons for one in reviews(attacked)] == [(f"its policy `{ANON}` was replaced",)]


# --- Whose document it is


def test_owners_who_disagree_on_what_a_document_inherits_are_asked(registry: Registry) -> None:
    registry.add_policy(READ_PARENT, "parent", OWNER)
    registry.add_policy(INHERITING, "anon", OWNER)
    registry.add_owner(SOURCE, USER, by=OWNER)
    registry.add_policy(world.document("parent", world.read_rule("other", OWN)), "parent", USER)
    registry.add_policy(INHERITING, "anon", USER)
    by_nobody = decide(registry, asks(USER), submission=submission(registry, INHERITING, STRANGER))
    assert by_nobody.effect is Effect.DENY
    assert "different parents" in texts(by_nobody)
    for by in (OWNER, USER):
        found = resolved(registry, (SOURCE,), submission(registry, INHERITING, by))
        assert isinstance(found, Resolved)
        assert found.issuer == by


def test_what_a_submission_inherits_is_read_from_its_document(attacked: Registry) -> None:
    read = submission(attacked, INHERITING, OWNER)
    attacked.revoke_policy(ANON, OWNER)
    attacked.add_policy(READ_PARENT, "parent", OWNER)
    for document, problem in ((b"", "its document is required"), (INHERITING + b"\n", "another document")):
        found = resolved(attacked, (SOURCE,), Submission(read.policy, OWNER, document))
        assert isinstance(found, Reason)
        assert problem in found.text


def test_a_signed_policy_is_the_owners_signed_one(registry: Registry, tmp_path: Path) -> None:
    private, public = new_key()
    registry.trust_key(OWNER, public, by=OWNER)
    for document, name in ((READ_PARENT, "parent"), (INHERITING, "anon")):
        registry.add_policy(document, name, OWNER, signature=sign(document, private, "key"))
    registry.add_policy(takes_in_assets(), "parent", STRANGER)
    read = submission(registry, INHERITING)
    assert not decide(registry, asks(rule="wide"), submission=read).is_permitted
    assert decide(registry, asks(USER), submission=read).is_permitted
    (key,) = registry.list_keys()
    meant = meaning_digest(stored(registry, INHERITING))
    registry.revoke_key(OWNER, key.thumbprint, by=OWNER)
    with pytest.raises(UsageError, match=r"revoked|sign"):
        world.run(registry, tmp_path / "out", document=INHERITING, policy_meaning=meant)


# --- A law: nothing that strangers do makes a decision about the owners' targets permit more

PURPOSE = IRI("http://stranger.example/purpose")
VOCABULARY = f"""
@prefix odrl: <{terms.ODRL}> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dpv: <{terms.DPV}> .
<{STRANGER}> a odrl:Party ; odrl:partOf <{GROUP}> .
<{PURPOSE}> a dpv:Purpose ; skos:broader dpv:Marketing .
<{OWN}> a odrl:Asset ; odrl:partOf <{COLLECTION}> .
""".encode()
COLUMN = IRI("http://schema.example/name")


def columns(table: IRI, *listed: str) -> bytes:
    """A vocabulary that declares columns of a table."""
    prefix = "@prefix csvw: <http://www.w3.org/ns/csvw#> .\n"
    return (prefix + "".join(f"<{table}> csvw:column <{column}> .\n" for column in listed)).encode()


NO_COLUMN = world.document(
    "no-column",
    prohibitions=({"uid": world.uid("no-column/rule"), "target": COLUMN, "action": "odrl:use"},),
)
OWNERS = {
    "parent": world.document(
        "parent", world.read_rule("parent", assignee=GROUP, purpose="mosaicrown:marketing")
    ),
    "anon": INHERITING,
    "read": world.document("read", world.read_rule("read", assignee=USER, purpose="mosaicrown:marketing")),
    "staff": world.document("staff", {**world.anonymize_rule("staff"), "assignee": GROUP}),
    "no": world.document(
        "no",
        prohibitions=(
            {**world.read_rule("no", assignee={"@type": "Party", "uid": STRANGER}), "action": "read"},
        ),
    ),
}
STRANGERS: dict[str, Callable[[Registry, Path], object]] = {
    "parent with assets": lambda known, _: known.add_policy(takes_in_assets(), "p", STRANGER),
    "parent that permits to read": lambda known, _: known.add_policy(
        takes_in_assets(action="odrl:read", output=None), "p", STRANGER
    ),
    "parent with groups": lambda known, _: known.add_policy(takes_in_groups(), "p", STRANGER),
    "the owner's document": lambda known, _: known.add_policy(INHERITING, "p", STRANGER),
    "the owner's uids": lambda known, _: known.add_policy(
        world.document("staff", world.read_rule("staff", OWN)), "p", STRANGER
    ),
    "a vocabulary": lambda known, _: known.add_hierarchy(VOCABULARY, "v", STRANGER),
    "trust": lambda known, _: known.trust_authority(STRANGER, OWNER, by=STRANGER),
    "an output": lambda known, place: world.run(
        known,
        place,
        document=world.document("mine", world.anonymize_rule("mine", OWN, output=f"{OWN}/out")),
        policy_uid=world.uid("mine"),
        target=IRI(f"{OWN}/out"),
        inputs=(world.Input(OWN),),
        issuer=STRANGER,
        bound_by=STRANGER,
    ),
    "a revocation": lambda known, _: known.revoke_policy(PARENT, STRANGER),
    "another revocation": lambda known, _: known.revoke_policy(world.uid("no-column"), STRANGER),
    "another one in its place": lambda known, _: known.add_policy(
        world.document("no-column", world.read_rule("no-column", COLUMN)), "p", STRANGER, replaces=True
    ),
    "columns": lambda known, _: known.add_hierarchy(
        columns(OWN, COLUMN, SOURCE, f"{SOURCE}/age"), "columns", STRANGER
    ),
}
QUESTIONS = [
    Request(party=party, action=action, targets=(target,), purpose=purpose)
    for party in (USER, STRANGER)
    for action, target in ((terms.ANONYMIZE, SOURCE), (terms.READ, SOURCE), (terms.READ, OUTPUT))
    for purpose in (terms.MARKETING, PURPOSE)
]


def answers(registry: Registry) -> list[dict[tuple[IRI, str], set[IRI]]]:
    """What each decision grants: of each question, with each document that a stranger may submit.

    With each grant, the columns that it withholds.
    """
    found = []
    for question in QUESTIONS:
        submitted = [submission(registry, OWNERS[name]) for name in ("anon", "staff")]
        for one in (None, *submitted) if question.action == terms.ANONYMIZE else (None,):
            decision = decide(registry, replace(question, understands_limits=True), submission=one)
            granted = ((one.permission.uid, repr(one.permission), one.withheld) for one in decision.grants)
            found.append({(uid, text): set(withheld) for uid, text, withheld in granted})
    return found


@given(st.permutations(sorted(STRANGERS)))
@settings(max_examples=examples(3, full=100))
def test_nothing_that_strangers_do_permits_more(acts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry.open(Path(folder) / "r.sqlite", log_decisions=False)
        for name, document in OWNERS.items():
            registry.add_policy(document, name, OWNER)
        world.run(registry, Path(folder) / "out", document=INHERITING)
        # The stranger was the first one to speak of the IRI of a column.
        registry.add_policy(world.document("first", world.read_rule("first", COLUMN)), "f", STRANGER)
        registry.add_hierarchy(columns(SOURCE, COLUMN), "of the owner", OWNER)
        registry.add_policy(NO_COLUMN, "no-column", OWNER)
        before = answers(registry)
        assert all(COLUMN in withheld for found in before for withheld in found.values())
        assert any(before)
        for number, act in enumerate(acts):
            with suppress(UsageError, PolicyError):
                STRANGERS[act](registry, Path(folder) / f"out{number}")
            for was, now in zip(before, answers(registry), strict=True):
                assert all(now[grant] >= was.get(grant, {grant}) for grant in now)


def test_what_an_earlier_version_recorded_counts_while_it_is_clear_what_its_policy_meant(
    attacked: Registry, tmp_path: Path
) -> None:
    world.run(attacked, tmp_path / "out", document=INHERITING)
    attacked.close()
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("ALTER TABLE versions DROP COLUMN policy_meaning")
        connection.execute("DROP TABLE authorities")
        connection.execute("UPDATE smalti_meta SET value = '4' WHERE key = 'schema'")
    older = Registry.open(tmp_path / "r.sqlite")
    assert [one.policy_meaning for one in older.all_versions()] == [None]
    assert reviews(older) == ()
    older.add_policy(world.document("parent", world.read_rule("p")), "parent", OWNER, replaces=True)
    older.add_policy(INHERITING, "anon", OWNER)  # now the document has meant two things
    assert len(reviews(older)) == 1
    older.trust_authority(OWNER, USER, by=OWNER)
    assert older.trusted_authorities(OWNER) == {USER}
