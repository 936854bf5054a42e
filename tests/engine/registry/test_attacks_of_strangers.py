"""What others than the owners add, submit or register, against decisions and records of the owners."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from shell import CUSTOMER, MARKETING, small_document, small_policy, small_table

import smalti
from smalti.engine.binding.run_request import Watch
from smalti.engine.registry import _journal, commit
from smalti.engine.registry.authority import decide
from smalti.engine.registry.budget import Ceiling
from smalti.engine.registry.entries import Input
from smalti.engine.registry.intents import Intents
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.review import reviews
from smalti.engine.registry.signatures import new_key, sign
from smalti.engine.registry.submissions import Submission
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.decision import Effect, Request
from smalti.policy.read.parse import parse
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import budget_world
import registry_world as world
from registry_world import OTHER as STRANGER
from registry_world import OUTPUT, OWNER, SECOND, SOURCE, SOURCE_POLICY, USER

TABLE = IRI("http://stranger.example/table")
COLLECTION = IRI("http://example.com/collection/health")
GROUP = IRI("http://example.com/party/staff")
PREFIXES = f"""
@prefix odrl: <{terms.ODRL}> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dpv: <{terms.DPV}> .
"""


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def vocabulary(*lines: str) -> bytes:
    return (PREFIXES + "\n".join(lines)).encode()


def member(asset: str, collection: str) -> bytes:
    return vocabulary(f"<{asset}> a odrl:Asset ; odrl:partOf <{collection}> .")


def forbid(uid: str, target: str, **more: Any) -> bytes:
    rule = {"uid": f"http://example.com/rule/{uid}", "target": target, "action": "odrl:read", **more}
    return world.document(uid, prohibitions=(rule,))


def reads(registry: Registry, party: IRI, *targets: IRI, purpose: IRI = terms.MARKETING) -> bool:
    request = Request(party=party, action=terms.READ, targets=targets, purpose=purpose)
    return decide(registry, request).effect in {Effect.PERMIT, Effect.LIMITED}


def strangers_run(registry: Registry, out: Path, output: IRI) -> Any:
    """A run of a stranger's policy on the stranger's table; who may say so is the stranger alone."""
    text = world.document("mine", world.anonymize_rule("mine", TABLE, output=output))
    registry.add_policy(text, "mine", STRANGER)
    return world.run(
        registry,
        out,
        document=text,
        policy_uid=world.uid("mine"),
        rule_uid=IRI("http://example.com/rule/mine"),
        target=output,
        inputs=(Input(TABLE),),
        issuer=STRANGER,
        bound_by=STRANGER,
        party=STRANGER,
    )


# --- Outputs under the IRIs of others


def test_an_output_does_not_take_an_owners_source_over(registry: Registry, tmp_path: Path) -> None:
    """Who makes an owner a co-owner of their own table does not get hold of what that owner owns alone."""
    registry.add_policy(world.document("priv", world.read_rule("priv", assignee=USER)), "priv", OWNER)
    registry.add_policy(world.document("own", world.read_rule("own", TABLE)), "own", STRANGER)
    registry.add_owner(TABLE, OWNER, by=STRANGER)
    with pytest.raises(UsageError, match="belongs to somebody else"):
        strangers_run(registry, tmp_path / "out", SOURCE)
    assert registry.full_owners(SOURCE) == {OWNER}


def test_an_output_is_no_version_of_an_owners_output(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(SOURCE_POLICY, "anon", OWNER)
    world.run(registry, tmp_path / "first")
    registry.add_policy(world.document("own", world.read_rule("own", TABLE)), "own", STRANGER)
    registry.add_owner(TABLE, OWNER, by=STRANGER)
    with pytest.raises(UsageError, match="belongs to somebody else"):
        strangers_run(registry, tmp_path / "out", OUTPUT)
    assert registry.owners(OUTPUT) == {OWNER}


def test_an_output_does_not_end_what_belongs_to_an_owners_collection(
    registry: Registry, tmp_path: Path
) -> None:
    registry.add_policy(world.document("p", world.read_rule("p")), "p", OWNER)
    registry.add_hierarchy(member(SOURCE, COLLECTION), "mine", OWNER)
    registry.add_policy(forbid("no", COLLECTION), "no", OWNER)
    assert not reads(registry, USER, SOURCE)
    with pytest.raises(UsageError):
        strangers_run(registry, tmp_path / "out", COLLECTION)
    assert not reads(registry, USER, SOURCE)


@pytest.mark.parametrize("kind", ["version", "column"])
def test_an_output_is_no_version_and_no_column_of_an_owners(
    registry: Registry, tmp_path: Path, kind: str
) -> None:
    registry.add_policy(SOURCE_POLICY, "anon", OWNER)
    version = world.run(registry, tmp_path / "first")
    output = version.iri if kind == "version" else IRI(f"{SOURCE}/Amount")
    with pytest.raises(UsageError):
        strangers_run(registry, tmp_path / "out", output)


# --- Columns of an owner's table


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_column_of_an_owners_table_is_not_the_strangers(registry: Registry, is_stored: bool) -> None:
    registry.add_policy(world.document("p", world.read_rule("p", assignee=USER)), "p", OWNER)
    column = IRI(f"{SOURCE}/Amount")
    text = world.document("column", world.read_rule("column", column))
    submission = None
    if is_stored:
        with pytest.raises(UsageError):
            registry.add_policy(text, "column", STRANGER)
    else:
        (policy,) = parse(text, "column").policies
        submission = Submission(policy, STRANGER, text)
    request = Request(party=STRANGER, action=terms.READ, targets=(column,))
    assert not decide(registry, request, submission=submission).is_permitted
    registry.add_policy(forbid("no", column), "no", OWNER)


# --- Vocabularies of who owns something else


def test_a_vocabulary_of_the_owner_of_one_target_hides_no_prohibition_on_another(
    registry: Registry,
) -> None:
    purpose, first, second = IRI("http://example.com/purpose"), STRANGER, IRI("http://org/second")
    research = "https://w3id.org/dpv#ResearchAndDevelopment"
    for name, target, party in (("x", SOURCE, first), ("y", SECOND, second)):
        registry.add_policy(world.document(name, world.read_rule(name, target)), name, party)
        registry.add_owner(target, OWNER, by=party)
    joint = {**world.read_rule("joint"), "target": [SOURCE, SECOND]}
    registry.add_policy(world.document("joint", joint), "joint", OWNER)
    limit = {"leftOperand": "odrl:purpose", "operator": "isNoneOf", "rightOperand": [{"@id": research}]}
    registry.add_policy(forbid("no", SOURCE, assignee=GROUP, constraint=[limit]), "no", first)
    registry.add_hierarchy(vocabulary(f"<{USER}> a odrl:Party ; odrl:partOf <{GROUP}> ."), "a", first)
    assert not reads(registry, USER, SOURCE, SECOND, purpose=purpose)
    said = vocabulary(f"<{purpose}> a dpv:Purpose ; skos:broader <{research}> .")
    registry.add_hierarchy(said, "b", second)
    assert not reads(registry, USER, SOURCE, SECOND, purpose=purpose)


# --- Words of an owner that a stranger declares first

OWN = IRI("http://org/words/mine")
RESEARCH = "https://w3id.org/dpv#ResearchAndDevelopment"
WORDS = {
    "purpose": (
        f"<{OWN}> a dpv:Purpose ; skos:exactMatch <{RESEARCH}> .",
        f"<{OWN}> a dpv:Purpose ; skos:broader dpv:Marketing .",
    ),
    "action": (
        f"<{OWN}> a odrl:Action ; skos:exactMatch odrl:use .",
        f"<{OWN}> a odrl:Action ; odrl:includedIn odrl:read .",
    ),
}


def uses_own(registry: Registry, kind: str) -> bool:
    """Whether a permission for a standard word reaches the owner's word below it."""
    action, purpose = (OWN, terms.MARKETING) if kind == "action" else (terms.READ, OWN)
    request = Request(party=USER, action=action, targets=(SOURCE,), purpose=purpose)
    return decide(registry, request).is_permitted


def limited(*rules: str) -> bytes:
    limit = {
        "leftOperand": "odrl:purpose",
        "operator": "isA",
        "rightOperand": {"@id": f"{terms.DPV}Marketing"},
    }
    return world.document("p", *(world.read_rule(rule, constraint=[limit]) for rule in rules))


@pytest.mark.parametrize("kind", WORDS)
def test_a_strangers_vocabulary_locks_no_owner_out_of_the_owners_words(
    registry: Registry, kind: str
) -> None:
    squatted, own = WORDS[kind]
    registry.add_policy(limited("yes"), "p", OWNER)
    registry.add_hierarchy(vocabulary(squatted), "theirs", STRANGER)
    registry.add_hierarchy(vocabulary(own), "mine", OWNER)
    assert uses_own(registry, kind)
    # Who trusts both gets no permission by either, and everything else goes on.
    registry.trust_authority(OWNER, STRANGER, by=OWNER)
    assert not uses_own(registry, kind)
    purpose = IRI(f"{terms.DPV}Marketing")
    assert reads(registry, USER, SOURCE, purpose=purpose)
    registry.add_policy(world.document("q", world.read_rule("q", SECOND)), "q", OWNER)
    assert reads(registry, USER, SECOND)
    with pytest.raises(UsageError, match="theirs of http://org/other, it would change a standard word"):
        registry.add_hierarchy(vocabulary(own), "again", OWNER)
    registry.distrust_authority(OWNER, STRANGER, by=OWNER)
    assert uses_own(registry, kind)


def test_a_prohibition_of_a_disputed_purpose_applies(registry: Registry) -> None:
    squatted, own = WORDS["purpose"]
    registry.add_hierarchy(vocabulary(own), "mine", OWNER)
    registry.add_hierarchy(vocabulary(squatted), "theirs", STRANGER)
    registry.add_policy(world.document("p", world.read_rule("p")), "p", OWNER)
    limit = {"leftOperand": "odrl:purpose", "operator": "isA", "rightOperand": {"@id": OWN}}
    registry.add_policy(forbid("no", SOURCE, constraint=[limit]), "no", OWNER)
    assert reads(registry, USER, SOURCE, purpose=IRI(RESEARCH))
    registry.trust_authority(OWNER, STRANGER, by=OWNER)
    for purpose in (OWN, IRI(RESEARCH), IRI(f"{terms.DPV}Marketing")):
        assert not reads(registry, USER, SOURCE, purpose=purpose)


def test_an_owners_own_words_do_not_contradict_each_other(registry: Registry) -> None:
    squatted, own = WORDS["purpose"]
    registry.add_hierarchy(vocabulary(squatted), "first", OWNER)
    with pytest.raises(PolicyError, match="standard purpose"):
        registry.add_hierarchy(vocabulary(own), "second", OWNER)
    registry.add_hierarchy(vocabulary(own), "first", OWNER)


# --- What an owner takes back while a run is pending


def prohibited(registry: Registry) -> Callable[[], object]:
    registry.add_policy(SOURCE_POLICY, "anon", OWNER)
    return lambda: registry.add_policy(forbid("no", SOURCE, action="odrl:use"), "no", OWNER)


def distrusted(registry: Registry) -> Callable[[], object]:
    private, public = new_key()
    key = registry.trust_key(OWNER, public, by=OWNER)
    registry.add_policy(SOURCE_POLICY, "anon", OWNER, signature=sign(SOURCE_POLICY, private, "key"))
    return lambda: registry.revoke_key(OWNER, key.thumbprint, by=OWNER)


@pytest.mark.parametrize("world_of", [prohibited, distrusted])
def test_a_killed_run_is_not_published_after_its_owner_forbade_it(
    registry: Registry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    world_of: Callable[[Registry], Callable[[], object]],
) -> None:
    take_back = world_of(registry)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Intents, "finish", killed)
        patched.setattr(commit, "_undo", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            world.run(registry, tmp_path / "out", party=USER)
    assert registry.intents.pending()
    take_back()
    assert commit.recover(registry) == ()
    assert registry.versions(OUTPUT) == ()


def test_a_run_is_not_recorded_once_the_key_of_its_policy_is_distrusted(
    registry: Registry, tmp_path: Path
) -> None:
    distrusted(registry)()
    with pytest.raises(UsageError):
        world.run(registry, tmp_path / "out", party=USER)


class _At(Watch):
    """Does something as soon as a run is about to be registered."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self._act = act

    def phase(self, name: str) -> None:
        super().phase(name)
        if name == "register":
            self._act()


def test_an_owner_who_is_removed_during_a_run_binds_no_data(registry: Registry, tmp_path: Path) -> None:
    """The policy is another owner's, and stands; what data it is run on is the removed one's word."""
    parent, target = world.uid("parent"), IRI(CUSTOMER)
    registry.add_policy(world.document("parent", world.read_rule("p", target)), "parent", OWNER)
    inheriting = json.dumps(small_document() | {"inheritFrom": parent}).encode()
    registry.add_policy(inheriting, "policy", OWNER)
    registry.add_owner(target, USER, by=OWNER)
    place = tmp_path / "policy.jsonld"
    place.write_bytes(inheriting)
    read = smalti.load_policy(place, registry=registry, issuer=OWNER)
    with pytest.raises(UsageError):
        smalti.run(
            read,
            data={target: small_table(tmp_path)},
            party=USER,
            purpose=MARKETING,
            registry=registry,
            out=tmp_path / "out",
            watch=_At(lambda: registry.remove_owner(target, USER, by=OWNER)),
        )
    assert registry.all_versions() == ()


def test_a_party_that_left_the_group_during_a_run_gets_nothing(registry: Registry, tmp_path: Path) -> None:
    target, place = IRI(CUSTOMER), small_policy(tmp_path, rule={"assignee": GROUP})
    registry.add_policy(place.read_bytes(), "policy", OWNER)
    registry.add_hierarchy(vocabulary(f"<{USER}> a odrl:Party ; odrl:partOf <{GROUP}> ."), "a", OWNER)
    with pytest.raises(UsageError):
        smalti.run(
            place,
            data={target: small_table(tmp_path)},
            party=USER,
            owner=OWNER,
            purpose=MARKETING,
            registry=registry,
            out=tmp_path / "out",
            watch=_At(lambda: registry.remove_hierarchy("a", OWNER)),
        )
    assert registry.all_versions() == ()


# --- Clocks of other machines


def test_a_clock_that_is_ahead_joins_nobody_to_an_owners_ledger(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.add_policy(world.document("own", world.read_rule("own", TABLE)), "own", STRANGER)
    with monkeypatch.context() as patched:
        patched.setattr(_journal, "wall_clock", lambda: datetime.now(UTC) + timedelta(days=1))
        registry.add_hierarchy(member(TABLE, COLLECTION), "theirs", STRANGER)
    registry.remove_hierarchy("theirs", STRANGER)
    registry.add_policy(world.document("c", world.read_rule("c", COLLECTION)), "c", OWNER)
    small, large = (Ceiling(Decimal(most), Decimal(0)) for most in (1, 1000))
    assert registry.ledger.charge(budget_world.charge("0.4", COLLECTION), small, bound_by=OWNER)
    assert registry.ledger.charge(budget_world.charge("900", TABLE), large, bound_by=STRANGER)
    assert registry.ledger.budget(COLLECTION).spent.epsilon == Decimal("0.4")


def test_a_clock_that_is_ahead_hides_no_withdrawal(registry: Registry, tmp_path: Path) -> None:
    world.keep_secret(registry)
    registry.add_policy(SOURCE_POLICY, "anon", OWNER)
    ahead = datetime.now(UTC) + timedelta(days=1)
    world.run(registry, tmp_path / "out", party=USER, created_at=ahead, started_at=ahead)
    registry.withdraw(SOURCE, ["17"], by=OWNER, column="CustomerID")
    assert [one.reasons for one in reviews(registry)] == [("respondents withdrew after it was made",)]
    assert registry.withdrawals.of(OUTPUT, 1).count == 1


# --- The ledgers of owners


def test_a_policy_joins_ledgers_in_its_issuers_name_alone(registry: Registry) -> None:
    """Who makes an owner a co-owner does not speak for them of what belongs together."""
    registry.add_policy(SOURCE_POLICY, "anon", OWNER)
    registry.add_policy(world.document("own", world.read_rule("own", TABLE)), "own", STRANGER)
    registry.add_owner(TABLE, OWNER, by=STRANGER)
    said, large = [(SOURCE, TABLE)], Ceiling(Decimal(1000), Decimal(0))
    charge = budget_world.charge("900", TABLE)
    assert registry.ledger.charge(charge, large, said, bound_by=STRANGER, said_by=STRANGER)
    assert not registry.ledger.budget(SOURCE).charges
