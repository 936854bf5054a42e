"""The registry: policies, owners, versions; what is refused changes nothing."""

import json
import pickle
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smalti.engine.registry import kept_secret
from smalti.engine.registry.entries import AssetKind, Input, version_iri
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.review import reviews
from smalti.engine.tables import secret
from smalti.errors import PolicyError, RegistryError, SmaltiError, UsageError
from smalti.policy.read.parse import parse
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OTHER, OUTPUT, OWNER, SECOND, SOURCE, USER

READ = world.document("read", world.read_rule("read", assignee=USER))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def refused(error: type[SmaltiError], registry: Registry, action: object, *arguments: object) -> str:
    """Call what must be refused: the registry is unchanged, and the error pickles."""
    before = (world.everything(registry), registry.exists)
    with pytest.raises(error) as caught:
        action(*arguments)  # type: ignore[operator]
    assert (world.everything(registry), registry.exists) == before
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    return str(caught.value)


# --- The file


def test_reading_a_missing_registry_makes_nothing(registry: Registry, tmp_path: Path) -> None:
    assert registry.assets() == registry.list_policies() == registry.all_versions() == ()
    assert registry.intents.pending() == registry.policies_about(SOURCE) == ()
    assert registry.owners(SOURCE) == registry.intents.places() == frozenset()
    assert registry.asset(SOURCE) is None
    assert not registry.exists
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_private_and_in_wal_mode(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    assert [path.name for path in tmp_path.iterdir()] == ["r.sqlite"]
    assert stat.S_IMODE((tmp_path / "r.sqlite").stat().st_mode) == 0o600
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_that_is_no_registry_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one" * 20)
    with closing(sqlite3.connect(tmp_path / "other")) as connection:
        connection.execute("CREATE TABLE t (x)")
    for name in ("text", "other"):
        with pytest.raises(RegistryError, match="it is not a registry"):
            Registry.open(tmp_path / name).assets()


def test_a_newer_schema_is_refused(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("UPDATE smalti_meta SET value = '99'")
    again = Registry.open(tmp_path / "r.sqlite")
    for action in (again.assets, lambda: again.add_policy(READ, "read.jsonld", OWNER)):
        with pytest.raises(RegistryError, match="schema version 99; expected version 8") as caught:
            action()
        assert caught.value.exit_code == 3


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "no" / "r.sqlite")
    with pytest.raises(RegistryError, match="cannot be created") as caught:
        registry.add_policy(READ, "read.jsonld", OWNER)
    assert caught.value.__suppress_context__


def test_a_busy_registry_is_an_error_without_the_statement(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    monkeypatch.setattr("smalti.engine.registry._database._BUSY_MILLISECONDS", 1)
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(RegistryError, match="another program is writing") as caught:
            registry.revoke_policy(world.uid("read"), OWNER)
        assert "SQL" not in str(caught.value)
        assert registry.list_policies()[0].is_in_force  # readers are not held up


def test_an_address_of_sqlite_is_its_file(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    same = Registry.open(f"sqlite:///{tmp_path / 'r.sqlite'}")
    assert same.path == registry.path
    assert same.list_policies() == registry.list_policies()


def test_an_address_shows_no_password() -> None:
    with pytest.raises(RegistryError) as caught:
        Registry.open("nosuchdatabase://user:hunter2@host/db")
    assert "hunter2" not in str(caught.value)


# --- Policies


def test_an_unknown_target_becomes_the_issuers(registry: Registry) -> None:
    (stored,) = registry.add_policy(READ, "read.jsonld", OWNER)
    assert (stored.uid, stored.issuer, stored.document) == (world.uid("read"), OWNER, READ)
    assert stored.digest == world.digest(READ)
    assert stored.policy is not None
    assert [party.iri for party in stored.policy.permissions[0].assignees] == [USER]
    assert registry.owners(SOURCE) == {OWNER}
    assert [asset.kind for asset in registry.assets()] == [AssetKind.SOURCE]
    assert registry.policies_about(SOURCE) == registry.list_policies() == (stored,)


def test_another_process_reads_the_same(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    assert Registry.open(tmp_path / "r.sqlite").list_policies() == registry.list_policies()


def test_only_owners_add_policies(registry: Registry) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    more = world.document("more", world.read_rule("more"), world.read_rule("second", SECOND))
    message = refused(UsageError, registry, registry.add_policy, more, "more.jsonld", OTHER)
    assert "does not own `http://example.com/Customer`" in message
    assert registry.asset(SECOND) is None


def test_a_refused_first_policy_leaves_no_file(registry: Registry, tmp_path: Path) -> None:
    refused(PolicyError, registry, registry.add_policy, b"{", "broken.jsonld", OWNER)
    assert list(tmp_path.iterdir()) == []


def test_an_assigner_who_is_no_owner_is_refused(registry: Registry) -> None:
    document = world.document("read", world.read_rule("read", assigner=OTHER))
    message = refused(PolicyError, registry, registry.add_policy, document, "read.jsonld", OWNER)
    assert "the assigner `http://org/other` does not own" in message
    assert not registry.exists


SAME_UIDS = pytest.mark.parametrize(
    "same_uid",
    [
        world.document("read", world.read_rule("new", SECOND)),
        world.document("new", world.read_rule("read", SECOND)),
    ],
    ids=["policy", "rule"],
)


@SAME_UIDS
def test_a_uid_of_another_document_of_the_issuer_is_refused(registry: Registry, same_uid: bytes) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    message = refused(UsageError, registry, registry.add_policy, same_uid, "new.jsonld", OWNER)
    assert "is used by another document" in message
    registry.revoke_policy(world.uid("read"), OWNER)
    registry.add_policy(same_uid, "new.jsonld", OWNER)


@SAME_UIDS
def test_a_stranger_who_takes_a_uid_first_is_in_nobodys_way(registry: Registry, same_uid: bytes) -> None:
    registry.add_policy(same_uid, "new.jsonld", OTHER)
    registry.add_owner(SECOND, OWNER, by=OTHER)  # nobody asked the owner whether they want that
    (stored,) = registry.add_policy(READ, "read.jsonld", OWNER)
    assert stored.is_in_force
    ended = registry.revoke_policy(world.uid("read"), OWNER)
    assert stored.uid in {one.uid for one in ended}


def test_co_owners_use_a_uid_for_one_document_about_their_target(registry: Registry) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    same = world.document("other", world.read_rule("read"))
    message = refused(UsageError, registry, registry.add_policy, same, "same.jsonld", OTHER)
    assert "is used by another document of another owner" in message


def test_no_owner_replaces_what_another_owner_put_in_force(registry: Registry) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    changed = world.document("read", world.read_rule("read", assignee=OTHER))
    replacing = partial(registry.add_policy, replaces=True)
    message = refused(UsageError, registry, replacing, changed, "changed.jsonld", OTHER)
    assert "replace only their own documents" in message
    assert "--replace" not in message
    (policy,) = parse(changed, "changed.jsonld").policies
    taken = registry.policies.uid_conflict(policy, OTHER, replaces=True)
    assert taken is not None, "a run with --replace looks here"
    assert not taken.is_own
    assert registry.policies.uid_conflict(policy, OWNER, replaces=True) is None
    assert [stored.issuer for stored in registry.policies_about(SOURCE)] == [OWNER]


def test_a_revocation_ends_what_the_party_may_end_and_nothing_else(registry: Registry) -> None:
    registry.add_policy(world.document("read", world.read_rule("else", SECOND)), "other.jsonld", OTHER)
    registry.add_policy(READ, "read.jsonld", OWNER)
    (ended,) = registry.revoke_policy(world.uid("read"), OWNER)
    assert ended.issuer == OWNER
    assert [stored.issuer for stored in registry.list_policies() if stored.is_in_force] == [OTHER]


def test_a_policy_is_replaced_at_once(registry: Registry) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    changed = world.document("read", world.read_rule("read", assignee=OTHER))
    refused(UsageError, registry, registry.add_policy, changed, "changed.jsonld", OWNER)
    registry.add_policy(changed, "changed.jsonld", OWNER, replaces=True)
    assert [stored.digest for stored in registry.policies_about(SOURCE)] == [world.digest(changed)]
    stranger = world.document("read", world.read_rule("else", SECOND))
    registry.add_policy(stranger, "stranger.jsonld", OTHER, replaces=True)
    assert len(registry.policies_about(SOURCE)) == 1


def test_an_agreement_replaces_only_an_agreement_of_the_same_parties(registry: Registry) -> None:
    def agreement(target: str = SOURCE, assignee: str = USER, **more: Any) -> bytes:
        rule = world.read_rule("agreed", target, assigner=OWNER, assignee=assignee)
        return world.document("agreed", rule, **{"@type": "Agreement", **more})

    first = agreement()
    registry.add_policy(first, "first", OWNER)
    others = (agreement(SECOND), agreement(assignee=OTHER))
    for other in others:
        message = refused(
            UsageError, registry, partial(registry.add_policy, replaces=True), other, "p", OWNER
        )
        assert "and would end it" in message
        assert "--replace" not in message
    assert "--replace" not in refused(UsageError, registry, registry.add_policy, others[0], "p", OWNER)
    again = agreement(**{"conflict": "perm"})
    registry.add_policy(again, "again", OWNER, replaces=True)
    assert [stored.digest for stored in registry.policies_about(SOURCE)] == [world.digest(again)]
    registry.add_policy(agreement(**{"@type": "Set"}), "set", OWNER, replaces=True)
    refused(UsageError, registry, partial(registry.add_policy, replaces=True), first, "first", OWNER)


def test_a_document_that_was_only_laid_out_anew_takes_the_others_place(
    registry: Registry, tmp_path: Path
) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon.jsonld", OWNER)
    made = world.run(registry, tmp_path / "out")
    twin = json.dumps(json.loads(world.SOURCE_POLICY)).encode()
    (stored,) = registry.add_policy(twin, "anon.jsonld", OWNER)
    assert (
        [one.digest for one in registry.policies_about(SOURCE)] == [stored.digest] == [world.digest(twin)]
    )
    assert [one.is_in_force for one in registry.list_policies()] == [False, True]
    # What was made under the old bytes rests on the new ones.
    assert made.iri not in {one.version.iri for one in reviews(registry)}
    other = world.document("anon", world.anonymize_rule("anon", purpose="statistical"))
    message = refused(UsageError, registry, registry.add_policy, other, "anon.jsonld", OWNER)
    assert "smalti policy add --replace" in message


def test_adding_twice_changes_nothing(registry: Registry) -> None:
    assert registry.add_policy(READ, "a", OWNER) == registry.add_policy(READ, "b", OWNER)
    assert len(registry.list_policies()) == 1


def test_a_revoked_policy_ends_and_can_be_added_again(registry: Registry) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    (ended,) = registry.revoke_policy(world.uid("read"), OWNER)
    assert ended.revoked_at is not None
    assert registry.list_policies() == (ended,)
    assert registry.policies_about(SOURCE) == ()
    (policy,) = parse(READ, "read").policies
    assert registry.policies.is_revoked(policy, {OWNER})
    assert registry.owners(SOURCE) == {OWNER}
    registry.add_policy(READ, "read.jsonld", OWNER)
    assert not registry.policies.is_revoked(policy, {OWNER})
    assert [stored.is_in_force for stored in registry.list_policies()] == [False, True]


def test_only_issuer_or_owners_revoke(registry: Registry) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    refused(UsageError, registry, registry.revoke_policy, world.uid("read"), OTHER)
    refused(UsageError, registry, registry.revoke_policy, world.uid("nosuch"), OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.revoke_policy(world.uid("read"), OTHER)


def test_revoking_in_an_empty_registry_makes_no_file(registry: Registry) -> None:
    refused(UsageError, registry, registry.revoke_policy, world.uid("read"), OWNER)
    refused(UsageError, registry, lambda: registry.add_owner(SOURCE, OTHER, by=OWNER))


def test_a_document_that_is_no_longer_understood_is_kept(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("UPDATE documents SET content = ?", (b"{",))
    (stored,) = Registry.open(tmp_path / "r.sqlite").policies_about(SOURCE)
    assert stored.policy is None


# --- Owners


def test_owners_add_and_remove_owners_but_not_the_last(registry: Registry) -> None:
    registry.add_policy(READ, "read.jsonld", OWNER)
    refused(UsageError, registry, lambda: registry.add_owner(SOURCE, OTHER, by=OTHER))
    refused(UsageError, registry, lambda: registry.remove_owner(SOURCE, OWNER, by=OWNER))
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    assert registry.owners(SOURCE) == {OWNER, OTHER}
    registry.remove_owner(SOURCE, OWNER, by=OWNER)
    assert registry.owners(SOURCE) == {OTHER}
    refused(UsageError, registry, lambda: registry.remove_owner(SOURCE, USER, by=OTHER))


def test_an_outputs_owners_follow_its_inputs(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(world.document("second", world.read_rule("second", SECOND)), "s", OWNER)
    world.run(registry, tmp_path / "out", inputs=(Input(SOURCE), Input(SECOND)))
    assert registry.owners(OUTPUT) == registry.full_owners(OUTPUT) == {OWNER}
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    assert registry.owners(OUTPUT) == {OWNER, OTHER}
    assert registry.full_owners(OUTPUT) == {OWNER}
    refused(UsageError, registry, lambda: registry.add_owner(OUTPUT, USER, by=OWNER))


# --- Versions


def test_a_version_is_read_back_as_it_was_recorded(registry: Registry, tmp_path: Path) -> None:
    made = world.run(registry, tmp_path / "out")
    (found,) = Registry.open(tmp_path / "r.sqlite").versions(OUTPUT)
    assert found == made
    assert (made.number, made.path, made.iri) == (1, tmp_path / "out", version_iri(made.run))
    expected = world.new_version(made.iri)
    for name in ("inputs", "files", "columns", "respondent", "rule_purposes", "report", "certificate"):
        assert getattr(made, name) == getattr(expected, name)
    assert registry.versions(made.iri) == (made,)


def test_a_run_records_owner_and_policy(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "out")
    assert registry.owners(SOURCE) == {OWNER}
    (stored,) = registry.policies_about(SOURCE)
    assert (stored.uid, stored.issuer, stored.document) == (world.uid("anon"), OWNER, world.SOURCE_POLICY)
    assert {asset.iri: asset.kind for asset in registry.assets()} == {
        SOURCE: AssetKind.SOURCE,
        OUTPUT: AssetKind.OUTPUT,
    }
    world.run(registry, tmp_path / "again")
    assert len(registry.list_policies()) == 1
    assert [version.number for version in registry.versions(OUTPUT)] == [1, 2]


def test_a_policy_about_an_output_may_come_first(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(world.document("out", world.read_rule("out", OUTPUT)), "out", OWNER)
    world.run(registry, tmp_path / "out")
    assert registry.asset(OUTPUT).kind is AssetKind.OUTPUT  # type: ignore[union-attr]
    assert registry.owners(OUTPUT) == {OWNER}


def test_an_output_takes_no_iri_over(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(world.document("out", world.read_rule("out", OUTPUT)), "out", OTHER)
    for changes in ({}, {"target": SOURCE}):
        with pytest.raises(UsageError, match="the output cannot be registered"):
            world.run(registry, tmp_path / "out", **changes)
    assert registry.all_versions() == registry.intents.pending() == ()
    assert not (tmp_path / "out").exists()


def test_an_output_is_never_a_source_in_use(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "one")
    document = world.document("anon2", world.anonymize_rule("anon2", SECOND, SOURCE))
    changes = {"document": document, "policy_uid": world.uid("anon2"), "inputs": (Input(SECOND),)}
    with pytest.raises(UsageError, match="it is the IRI of a source"):
        world.run(registry, tmp_path / "two", target=SOURCE, **changes)


def test_a_policy_that_was_revoked_meanwhile_records_nothing(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    registry.revoke_policy(world.uid("anon"), OWNER)
    with pytest.raises(UsageError, match="the policy was revoked"):
        world.run(registry, tmp_path / "out")
    with pytest.raises(UsageError, match="has no version 7"):
        world.run(registry, tmp_path / "out", inputs=(Input(SOURCE, 7),))
    assert not (tmp_path / "out").exists()


def test_policies_are_about_outputs_not_versions(registry: Registry, tmp_path: Path) -> None:
    made = world.run(registry, tmp_path / "out")
    document = world.document("version", world.read_rule("version", made.iri))
    message = refused(UsageError, registry, registry.add_policy, document, "version", OWNER)
    assert "is one version of" in message


def test_two_processes_add_versions_without_loss(tmp_path: Path) -> None:
    script = str(Path(world.__file__))
    runs = [subprocess.Popen([sys.executable, script, "add", str(tmp_path), f"{name}:6"]) for name in "ab"]
    assert [run.wait(60) for run in runs] == [0, 0]
    versions = Registry.open(tmp_path / "r.sqlite").versions(OUTPUT)
    assert [version.number for version in versions] == list(range(1, 13))
    assert len({version.path for version in versions}) == 12
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


# --- The secret


def test_the_secret_is_made_once_and_private(tmp_path: Path) -> None:
    first = secret.load_secret(tmp_path / "r.sqlite")
    assert secret.load_secret(tmp_path / "r.sqlite") == first
    assert len(first) >= 32
    (made,) = tmp_path.iterdir()
    assert made == secret.secret_path(tmp_path / "r.sqlite")
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    made.chmod(0o640)
    with pytest.raises(RegistryError, match="can be read by others"):
        secret.load_secret(tmp_path / "r.sqlite")


def test_no_new_secret_is_made_beside_recorded_digests(registry: Registry, tmp_path: Path) -> None:
    first = kept_secret.load_secret(registry.path)
    world.run(registry, tmp_path / "out")
    place = secret.secret_path(tmp_path / "r.sqlite")
    place.unlink()
    with pytest.raises(RegistryError, match=r"secret is missing.*Restore it from the backup"):
        kept_secret.load_secret(registry.path)
    assert not place.exists()
    place.write_bytes(first)
    place.chmod(0o600)
    assert kept_secret.load_secret(registry.path) == first


def test_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(secret.ENVIRONMENT, "x" * 32)
    assert secret.load_secret(None) == b"x" * 32
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv(secret.ENVIRONMENT, "short-canary")
    with pytest.raises(RegistryError, match="too short") as caught:
        secret.load_secret(tmp_path / "r.sqlite")
    assert "canary" not in str(caught.value)
    monkeypatch.delenv(secret.ENVIRONMENT)
    with pytest.raises(RegistryError, match="without a file has no place for its secret"):
        secret.load_secret(None)


def test_keyed_digests_differ_by_secret_and_purpose() -> None:
    digests = {
        secret.hmac_digest(key, purpose, b"digest") for key in (b"a" * 32, b"b" * 32) for purpose in "xy"
    }
    assert len(digests) == 4
    assert all(digest.startswith("hmac-sha256:") and len(digest) == 76 for digest in digests)


def test_documents_hold_several_policies(registry: Registry) -> None:
    one = json.loads(world.document("one", world.read_rule("one")))
    two = json.loads(world.document("two", world.read_rule("two", SECOND)))
    stored = registry.add_policy(json.dumps([one, two]).encode(), "both", OWNER)
    assert [found.uid for found in stored] == [world.uid("one"), world.uid("two")]
    registry.revoke_policy(world.uid("one"), OWNER)
    assert registry.policies_about(SOURCE) == ()
    assert [found.uid for found in registry.policies_about(IRI(SECOND))] == [world.uid("two")]
