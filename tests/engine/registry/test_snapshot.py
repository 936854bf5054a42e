"""Decisions follow the registry; old registries are mended; time and withdrawals count."""

import os
import re
import sqlite3
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.registry import _tables as db
from smalti.engine.registry.authority import decide
from smalti.engine.registry.entries import Input, OutputColumn
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.review import reviews
from smalti.engine.registry.snapshot import Snapshot
from smalti.errors import UsageError
from smalti.policy.decide.decision import Effect, Request
from smalti.transforms.base import Datatype
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import busy_registry
import registry_world as world
from registry_world import OTHER, OUTPUT, OWNER, SECOND, SOURCE, USER

READ = world.document("read", world.read_rule("read", assignee=USER))
ASKED = Request(party=USER, action=terms.READ, targets=(SOURCE,))
NEW_TABLES = (
    "policy_iris", "policy_parents", "policy_signatures", "hierarchies", "keys", "withdrawals", "changes",
)  # fmt: skip


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


# --- Following


def test_a_decision_follows_what_another_registry_object_changes(
    registry: Registry, tmp_path: Path
) -> None:
    other = Registry.open(tmp_path / "r.sqlite")
    assert decide(registry, ASKED).effect is Effect.NOT_APPLICABLE
    other.add_policy(READ, "read", OWNER)
    assert decide(registry, ASKED).is_permitted
    other.add_owner(SOURCE, OTHER, by=OWNER)
    other.remove_owner(SOURCE, OWNER, by=OTHER)
    assert not decide(registry, ASKED).is_permitted
    other.add_owner(SOURCE, OWNER, by=OTHER)
    assert decide(registry, ASKED).is_permitted
    other.revoke_policy(world.uid("read"), OWNER)
    assert not decide(registry, ASKED).is_permitted
    other.add_policy(READ, "read", OWNER)
    assert decide(registry, ASKED).is_permitted


def test_nothing_is_read_again_where_nothing_was_changed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.add_policy(READ, "read", OWNER)
    assert decide(registry, ASKED).is_permitted
    for name in ("follow", "load"):
        monkeypatch.setattr(Snapshot, name, lambda *_: pytest.fail("read again"))
    assert decide(registry, ASKED).is_permitted


def test_only_policies_about_what_is_asked_are_parsed(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read", OWNER)
    for number in range(3):
        target = f"http://example.com/other-{number}"
        registry.add_policy(world.document(f"o{number}", world.read_rule(f"o{number}", target)), "o", OWNER)
    again = Registry.open(tmp_path / "r.sqlite")
    assert decide(again, ASKED).is_permitted
    with again.snapshot() as snapshot:
        view = snapshot.view(snapshot.authorities([SOURCE]))
        assert view.index.size == 1


def test_following_and_reading_anew_come_to_the_same(registry: Registry, tmp_path: Path) -> None:
    parties = [IRI(f"http://org/p{number}") for number in range(4)]
    for step in range(12):
        party = parties[step % 4]
        uid = f"u{step % 5}"
        if step % 3 == 2:
            registry.revoke_policy(world.uid(f"u{(step - 1) % 5}"), OWNER)
        else:
            document = world.document(uid, world.read_rule(uid, assignee=party))
            registry.add_policy(document, uid, OWNER, replaces=True)
        fresh = Registry.open(tmp_path / "r.sqlite")
        for asker in parties:
            request = Request(party=asker, action=terms.READ, targets=(SOURCE,), time=datetime.now(UTC))
            followed, read_anew = decide(registry, request), decide(fresh, request)
            assert followed.effect == read_anew.effect
            assert followed.determining == read_anew.determining


def test_threads_share_a_registry(registry: Registry) -> None:
    registry.add_policy(READ, "read", OWNER)
    wrong: list[object] = []

    def ask() -> None:
        for _ in range(15):
            try:
                if not decide(registry, ASKED).is_permitted:
                    wrong.append("denied")
            except BaseException as error:  # a thread's exception is lost otherwise
                wrong.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(6):
        registry.add_policy(world.document(f"n{number}", world.read_rule(f"n{number}", SECOND)), "n", OWNER)
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.slow
def test_processes_share_a_registry(tmp_path: Path) -> None:
    busy_registry.check(str(tmp_path / "r.sqlite"), tmp_path)


def test_another_file_under_the_same_name_is_noticed(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read", OWNER)
    assert decide(registry, ASKED).is_permitted
    other = Registry.open(tmp_path / "other.sqlite")
    other.add_policy(world.document("mine", world.read_rule("mine", assignee=OTHER)), "mine", OTHER)
    other.add_owner(SOURCE, OWNER, by=OTHER)
    registry.close()
    (tmp_path / "other.sqlite").rename(tmp_path / "r.sqlite")
    assert not decide(registry, ASKED).is_permitted


def test_a_forked_child_decides_by_itself(registry: Registry) -> None:
    registry.add_policy(READ, "read", OWNER)
    assert decide(registry, ASKED).is_permitted
    child = os.fork()
    if child == 0:
        try:
            registry.revoke_policy(world.uid("read"), OWNER)
            os._exit(1 if decide(registry, ASKED).is_permitted else 0)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert not decide(registry, ASKED).is_permitted


def test_a_policy_whose_bytes_were_changed_denies(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read", OWNER)
    wider = world.document("read", world.read_rule("read"))
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("UPDATE documents SET content = ?", (wider,))
    decision = decide(Registry.open(tmp_path / "r.sqlite"), ASKED)
    assert decision.effect is Effect.DENY


# --- Registries of version 1


def make_old(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in NEW_TABLES:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE smalti_meta SET value = '1' WHERE key = 'schema'")


def test_a_registry_of_version_1_is_mended_when_it_is_used(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read", OWNER)
    version = world.run(registry, tmp_path / "out")
    make_old(tmp_path / "r.sqlite")
    again = Registry.open(tmp_path / "r.sqlite")
    assert decide(again, ASKED).is_permitted
    assert again.versions(OUTPUT) == (version,)
    marketing = Request(party=USER, action=terms.READ, targets=(OUTPUT,), purpose=terms.MARKETING)
    assert decide(again, marketing).is_permitted
    again.revoke_policy(world.uid("read"), OWNER)
    assert not decide(again, ASKED).is_permitted
    assert set(NEW_TABLES) <= {table.name for table in db.metadata.sorted_tables}


def test_two_processes_mend_it_once(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read", OWNER)
    make_old(tmp_path / "r.sqlite")
    first, second = Registry.open(tmp_path / "r.sqlite"), Registry.open(tmp_path / "r.sqlite")
    assert decide(first, ASKED).is_permitted
    assert decide(second, ASKED).is_permitted
    assert len(world.everything(first)["policy_iris"]) == 1


# --- Time


def dated(uid: str, valid: str, rule: dict[str, object]) -> bytes:
    return world.document(uid, rule, **{"http://purl.org/dc/terms/valid": valid})


def test_a_request_without_a_time_is_about_now(registry: Registry) -> None:
    registry.add_policy(dated("read", "2020-01-01/2021-01-01", world.read_rule("read")), "read", OWNER)
    decision = decide(registry, ASKED)
    assert not decision.is_permitted
    assert decision.request.time is not None
    assert abs(decision.request.time - datetime.now(UTC)) < timedelta(minutes=5)
    then = Request(party=USER, action=terms.READ, targets=(SOURCE,), time=datetime(2020, 6, 1, tzinfo=UTC))
    assert decide(registry, then).is_permitted


def test_the_implicit_rule_ends_with_the_producing_policys_time(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read", OWNER)
    document = dated("anon", "2020-01-01/2021-01-01", world.anonymize_rule("anon"))
    world.run(registry, tmp_path / "out", document=document)
    times = [(datetime(2020, 6, 1, tzinfo=UTC), True), (datetime(2022, 6, 1, tzinfo=UTC), False)]
    for time, permitted in times:
        asked = Request(
            party=USER, action=terms.READ, targets=(OUTPUT,), purpose=terms.MARKETING, time=time
        )
        assert decide(registry, asked).is_permitted is permitted


def chained(registry: Registry, tmp_path: Path) -> tuple[IRI, IRI]:
    """An output, and a second one that was made from it."""
    first = world.run(registry, tmp_path / "one")
    second = IRI("http://example/second")
    document = world.document("chain", world.anonymize_rule("chain", OUTPUT, second))
    later = world.run(
        registry, tmp_path / "two", target=second, document=document, policy_uid=world.uid("chain"),
        rule_uid=IRI("http://example.com/rule/chain"), inputs=(Input(OUTPUT, 1),),
        created_at=datetime.now(UTC),
    )  # fmt: skip
    return first.iri, later.iri


def test_outputs_are_to_be_reviewed_when_what_they_rest_on_ends(registry: Registry, tmp_path: Path) -> None:
    first, later = chained(registry, tmp_path)
    assert reviews(registry) == ()
    registry.revoke_policy(world.uid("chain"), OWNER)
    assert [found.version.iri for found in reviews(registry)] == [later]
    registry.revoke_policy(world.uid("anon"), OWNER)
    found = {review.version.iri: review.reasons for review in reviews(registry)}
    assert found.keys() == {first, later}
    assert "was revoked" in found[first][0]
    assert re.fullmatch(r"its input, version 1 of `.*`, needs a review", found[later][1])
    again = world.document("anon", world.anonymize_rule("other"))
    registry.add_policy(again, "again", OWNER)
    assert "was replaced" in {r.version.iri: r.reasons for r in reviews(registry)}[first][0]


def test_outputs_are_to_be_reviewed_when_their_policys_time_is_over(
    registry: Registry, tmp_path: Path
) -> None:
    document = dated("anon", "2020-01-01/2999-01-01", world.anonymize_rule("anon"))
    world.run(registry, tmp_path / "out", document=document)
    assert reviews(registry) == ()
    (found,) = reviews(registry, now=datetime(3000, 1, 1, tzinfo=UTC))
    assert "not in force at this time" in found.reasons[0]


def test_a_policy_affects_what_was_made_under_it_and_from_that(registry: Registry, tmp_path: Path) -> None:
    first, later = chained(registry, tmp_path)
    assert {made.iri for made in registry.affected_by(world.uid("anon"))} == {first, later}
    assert {made.iri for made in registry.affected_by(world.uid("chain"))} == {later}
    with pytest.raises(UsageError, match="no such policy was ever put in force"):
        registry.affected_by(world.uid("nosuch"))
    registry.revoke_policy(world.uid("anon"), OWNER)
    assert len(registry.affected_by(world.uid("anon"))) == 2


# --- Respondents who withdrew

CANARY = "canary-8361"


def test_only_an_owner_withdraws_respondents(registry: Registry) -> None:
    registry.add_policy(READ, "read", OWNER)
    before = world.everything(registry)
    for target, by in ((SOURCE, OTHER), (SECOND, OWNER)):
        with pytest.raises(UsageError):
            registry.withdraw(target, ["7"], by=by)
    with pytest.raises(UsageError):
        registry.count_withdrawn(SOURCE, by=OTHER)
    assert world.everything(registry) == before


def test_respondents_are_kept_as_keyed_digests(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read", OWNER)
    with pytest.raises(UsageError, match="its respondent column is not known"):
        registry.withdraw(SOURCE, ["12"], by=OWNER)
    assert registry.withdraw(SOURCE, [CANARY, "12", CANARY], by=OWNER, column="CustomerID") == 2
    assert registry.withdraw(SOURCE, ["12", "13"], by=OWNER) == 3
    with pytest.raises(UsageError, match="earlier respondents were listed by the column `CustomerID`"):
        registry.withdraw(SOURCE, ["14"], by=OWNER, column="Email")
    assert registry.count_withdrawn(SOURCE, by=OWNER) == 3
    for path in tmp_path.iterdir():
        assert CANARY.encode() not in path.read_bytes()
    withdrawn = Registry.open(tmp_path / "r.sqlite").withdrawals.of(SOURCE)
    assert withdrawn.includes([f"text:{CANARY}"])
    assert withdrawn.includes(["number:12e0"])
    assert not withdrawn.includes(["text:14", "number:14e0"])
    assert not registry.withdrawals.of(SECOND)


def test_the_list_of_a_source_holds_for_what_was_made_from_it(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ, "read", OWNER)
    registry.withdraw(SOURCE, ["early"], by=OWNER, column="CustomerID")
    chained(registry, tmp_path)
    later = IRI("http://example/second")
    # The first version is dated before the early withdrawal, so it may hold those rows; the test world's.
    assert registry.withdrawals.of(OUTPUT, 1).includes(["text:early"])
    registry.withdraw(SOURCE, ["late"], by=OWNER)
    for target, version in ((OUTPUT, 1), (OUTPUT, None), (later, 1)):
        assert registry.withdrawals.of(target, version).includes(["text:late"])
    assert not registry.withdrawals.of(later, 1).includes(["text:early"])
    assert {"respondents withdrew after it was made"} <= {
        r for found in reviews(registry) for r in found.reasons
    }


def test_a_run_during_which_somebody_withdrew_is_not_recorded(registry: Registry, tmp_path: Path) -> None:
    world.keep_secret(registry)
    registry.add_policy(READ, "read", OWNER)
    started = datetime.now(UTC)
    world.run(registry, tmp_path / "before", started_at=started)
    registry.withdraw(SOURCE, ["7"], by=OWNER, column="CustomerID")
    with pytest.raises(UsageError, match="respondents withdrew during the run"):
        world.run(registry, tmp_path / "during", started_at=started)
    assert not (tmp_path / "during").exists()
    world.run(registry, tmp_path / "after", started_at=datetime.now(UTC))


def test_an_output_without_respondents_has_no_list_of_its_own(registry: Registry, tmp_path: Path) -> None:
    world.keep_secret(registry)
    world.run(registry, tmp_path / "out", respondent=RespondentColumn("CustomerID"))
    with pytest.raises(UsageError, match="do not identify respondents"):
        registry.withdraw(OUTPUT, ["7"], by=OWNER)
    second = IRI("http://example/shown")
    document = world.document("shown", world.anonymize_rule("shown", SOURCE, second))
    column = OutputColumn("CustomerID", IRI(f"{second}/CustomerID"), Datatype.STRING)
    world.run(
        registry, tmp_path / "shown", target=second, document=document, policy_uid=world.uid("shown"),
        respondent=RespondentColumn("CustomerID"), columns=(column,),
    )  # fmt: skip
    assert registry.withdraw(second, ["7"], by=OWNER) == 1
