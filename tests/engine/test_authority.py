"""Whose word counts: owners, submitted policies, and the implicit rule."""

import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from smalti.engine.authority import IMPLICIT_RULE, Submission, decide
from smalti.engine.entries import Input, TargetVersion
from smalti.engine.registry import Registry
from smalti.errors import UsageError
from smalti.policy.decision import Decision, Effect, Request
from smalti.policy.model import Policy
from smalti.policy.parse import parse
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OTHER, OUTPUT, OWNER, SECOND, SOURCE, USER

ANONYMIZE = Request(party=USER, action=terms.ANONYMIZE, targets=(SOURCE,), purpose=terms.MARKETING)
READ_SOURCE = world.document("read", world.read_rule("read", assignee=USER))
READ_SECOND = world.document("second", world.read_rule("second", SECOND, assignee=USER))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def policy(document: bytes) -> Policy:
    (found,) = parse(document, "submitted").policies
    return found


def read(target: IRI = OUTPUT, party: IRI = USER, purpose: IRI | None = terms.MARKETING) -> Request:
    return Request(party=party, action=terms.READ, targets=(target,), purpose=purpose)


def texts(decision: Decision) -> str:
    return "\n".join(reason.text for reason in decision.reasons)


def forbid(uid: str, target: str, action: str = "odrl:read") -> bytes:
    return world.document(uid, prohibitions=({**world.read_rule(uid, target), "action": action},))


# --- Stored policies


def test_an_owners_policy_counts(registry: Registry) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    decision = decide(registry, ANONYMIZE)
    assert decision.is_permitted
    assert replace(decision.request, time=None) == ANONYMIZE
    assert [permission.output for permission in decision.permissions] == [OUTPUT]


def test_what_nobody_knows_is_not_permitted(registry: Registry) -> None:
    decision = decide(registry, read(SOURCE))
    assert decision.effect is Effect.NOT_APPLICABLE
    assert "the registry does not know `http://example.com/Customer`" in texts(decision)
    assert not registry.exists


def test_a_policy_ends_with_its_revocation(registry: Registry) -> None:
    registry.add_policy(READ_SOURCE, "read", OWNER)
    assert decide(registry, read(SOURCE)).is_permitted
    registry.revoke_policy(world.uid("read"), OWNER)
    assert not decide(registry, read(SOURCE)).is_permitted


def test_a_policy_ends_with_its_issuers_ownership(registry: Registry) -> None:
    registry.add_policy(READ_SOURCE, "read", OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.remove_owner(SOURCE, OWNER, by=OTHER)
    decision = decide(registry, read(SOURCE))
    assert not decision.is_permitted
    assert f"its issuer {OWNER} does not own `{SOURCE}`" in texts(decision)


def test_a_policy_that_is_not_understood_denies(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ_SOURCE, "read", OWNER)
    odd = forbid("odd", SOURCE)
    registry.add_policy(odd, "odd", OWNER)
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("UPDATE documents SET content = ? WHERE digest = ?", (b"{", world.digest(odd)))
    decision = decide(Registry.open(tmp_path / "r.sqlite"), read(SOURCE))
    assert decision.effect is Effect.DENY
    assert "does not understand it" in texts(decision)


def test_an_assigner_who_owns_no_longer_grants_nothing(registry: Registry) -> None:
    registry.add_policy(forbid("first", SECOND), "first", OWNER)
    registry.add_policy(READ_SOURCE, "read", OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.revoke_policy(world.uid("read"), OWNER)
    document = world.document("by-other", world.read_rule("by-other", assigner=OTHER))
    registry.add_policy(document, "by-other", OWNER)
    assert decide(registry, read(SOURCE)).is_permitted
    registry.remove_owner(SOURCE, OTHER, by=OWNER)
    decision = decide(registry, read(SOURCE))
    assert not decision.is_permitted
    assert f"its assigner {OTHER} does not own" in texts(decision)


# --- Submitted policies


def test_who_binds_unknown_data_is_taken_as_its_owner(registry: Registry) -> None:
    submitted = policy(world.SOURCE_POLICY)
    decision = decide(registry, ANONYMIZE, submission=Submission(submitted, USER))
    assert decision.is_permitted
    assert "is taken as the owner" in texts(decision)
    assert not decide(registry, ANONYMIZE, submission=Submission(submitted, None)).is_permitted
    assert not registry.exists


def test_a_submitted_policy_of_somebody_else_does_not_count(registry: Registry) -> None:
    registry.add_policy(READ_SECOND, "second", OWNER)
    registry.add_policy(READ_SOURCE, "read", OWNER)
    submitted = policy(world.SOURCE_POLICY)
    assert decide(registry, ANONYMIZE, submission=Submission(submitted, OWNER)).is_permitted
    decision = decide(registry, ANONYMIZE, submission=Submission(submitted, OTHER))
    assert decision.effect is Effect.DENY
    assert "submitted it and does not own" in texts(decision)


def test_a_submitted_policy_that_an_owner_stored_counts(registry: Registry) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    submitted = policy(world.SOURCE_POLICY)
    for party in (OTHER, None):
        decision = decide(registry, ANONYMIZE, submission=Submission(submitted, party))
        assert decision.is_permitted
        assert len(decision.permissions) == 1
    registry.revoke_policy(world.uid("anon"), OWNER)
    decision = decide(registry, ANONYMIZE, submission=Submission(submitted, OWNER))
    assert decision.effect is Effect.DENY
    assert "it was revoked" in texts(decision)


def test_a_stored_prohibition_applies_to_a_submitted_policy(registry: Registry) -> None:
    registry.add_policy(forbid("no", SOURCE, "odrl:anonymize"), "no", OWNER)
    submitted = policy(world.SOURCE_POLICY)
    decision = decide(registry, ANONYMIZE, submission=Submission(submitted, OWNER))
    assert decision.effect is Effect.DENY


def test_a_stored_permission_does_not_stand_in_for_a_submitted_one(registry: Registry) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    other = policy(world.document("other", world.anonymize_rule("other", purpose="statistical")))
    decision = decide(registry, ANONYMIZE, submission=Submission(other, OWNER))
    assert decision.effect is Effect.DENY
    assert "the submitted policy does not grant" in texts(decision)
    same = policy(world.document("other", world.anonymize_rule("other")))
    decision = decide(registry, ANONYMIZE, submission=Submission(same, OWNER))
    assert decision.policies == (same,)


def test_a_submitted_policy_may_not_borrow_a_uid(registry: Registry) -> None:
    registry.add_policy(READ_SECOND, "second", USER)
    submitted = policy(world.document("second", world.anonymize_rule("anon")))
    decision = decide(registry, ANONYMIZE, submission=Submission(submitted, USER))
    assert decision.effect is Effect.DENY
    assert "another document in force uses the uid" in texts(decision)


def test_a_submitted_policy_with_a_foreign_assigner_does_not_count(registry: Registry) -> None:
    rule = {**world.anonymize_rule("anon"), "assigner": OTHER}
    submitted = policy(world.document("anon", rule))
    decision = decide(registry, ANONYMIZE, submission=Submission(submitted, USER))
    assert decision.effect is Effect.DENY
    assert f"its assigner {OTHER} does not own" in texts(decision)


# --- The implicit rule


@pytest.fixture
def made(registry: Registry, tmp_path: Path) -> TargetVersion:
    """An output of two sources, both readable by the user."""
    registry.add_policy(READ_SOURCE, "read", OWNER)
    registry.add_policy(READ_SECOND, "second", OWNER)
    version: TargetVersion = world.run(registry, tmp_path / "out", inputs=(Input(SOURCE), Input(SECOND)))
    return version


def test_who_may_view_all_inputs_may_view_the_output(registry: Registry, made: TargetVersion) -> None:
    decision = decide(registry, read())
    assert decision.is_permitted
    assert replace(decision.request, time=None) == read()
    assert [permission.uid for permission in decision.permissions] == [IMPLICIT_RULE]
    assert "by the implicit rule: who may view all inputs may view the output" in texts(decision)
    assert f"reading `{SECOND}`, an input of version 1" in texts(decision)
    assert decide(registry, read(made.iri)).is_permitted
    assert len(registry.list_policies()) == 3  # evaluated, never stored


@pytest.mark.usefixtures("made")
def test_others_may_not(registry: Registry) -> None:
    decision = decide(registry, read(party=OTHER))
    assert not decision.is_permitted
    assert f"reading `{SOURCE}`, an input of version 1" in texts(decision)


@pytest.mark.usefixtures("made")
def test_it_is_about_reading_only(registry: Registry) -> None:
    assert not decide(
        registry, Request(party=USER, action=terms.ANONYMIZE, targets=(OUTPUT,), purpose=terms.MARKETING)
    ).is_permitted
    assert not decide(
        registry, Request(party=USER, action=terms.USE, targets=(OUTPUT,), purpose=terms.MARKETING)
    ).is_permitted


@pytest.mark.usefixtures("made")
def test_one_input_that_is_not_readable_denies(registry: Registry) -> None:
    registry.revoke_policy(world.uid("second"), OWNER)
    decision = decide(registry, read())
    assert not decision.is_permitted
    assert f"reading `{SECOND}`, an input of version 1" in texts(decision)
    assert f"reading `{SOURCE}`" not in texts(decision)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("purpose", [terms.STATISTICAL, None])
def test_a_purpose_outside_the_producing_rule_denies(registry: Registry, purpose: IRI | None) -> None:
    decision = decide(registry, read(purpose=purpose))
    assert not decision.is_permitted
    assert "outside the purposes of the rule" in texts(decision)


def test_a_producing_rule_without_purposes_sets_no_limit(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ_SOURCE, "read", OWNER)
    document = world.document("anon", world.anonymize_rule("anon", purpose=None))
    world.run(registry, tmp_path / "out", document=document, rule_purposes=None)
    assert decide(registry, read(purpose=terms.STATISTICAL)).is_permitted
    assert decide(registry, read(purpose=None)).is_permitted


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("target", [SOURCE, SECOND, OUTPUT])
@pytest.mark.parametrize("action", ["odrl:read", "odrl:use"])
def test_a_prohibition_on_output_or_input_wins(registry: Registry, target: IRI, action: str) -> None:
    registry.add_policy(forbid("no", target, action), "no", OWNER)
    assert decide(registry, read()).effect is Effect.DENY


@pytest.mark.usefixtures("made")
def test_revoking_the_source_policy_ends_it(registry: Registry) -> None:
    registry.revoke_policy(world.uid("anon"), OWNER)
    decision = decide(registry, read())
    assert not decision.is_permitted
    assert "was made under was revoked" in texts(decision)


@pytest.mark.usefixtures("made")
def test_a_permission_for_somebody_else_does_not_end_it(registry: Registry) -> None:
    document = world.document("out", world.read_rule("out", OUTPUT, assignee=OTHER))
    registry.add_policy(document, "out", OWNER)
    assert decide(registry, read()).is_permitted
    explicit = decide(registry, read(party=OTHER, purpose=None))
    assert explicit.is_permitted
    assert "implicit" not in texts(explicit)


def test_all_versions_must_be_readable_or_one_is_asked_for(
    registry: Registry, tmp_path: Path, made: TargetVersion
) -> None:
    document = world.document("anon2", world.anonymize_rule("anon2"))
    rule = IRI("http://example.com/rule/anon2")
    changes: dict[str, Any] = {"document": document, "policy_uid": world.uid("anon2"), "rule_uid": rule}
    later = world.run(registry, tmp_path / "later", **changes)
    assert decide(registry, read()).is_permitted
    registry.revoke_policy(world.uid("anon"), OWNER)
    assert not decide(registry, read()).is_permitted
    assert not decide(registry, read(made.iri)).is_permitted
    assert decide(registry, read(later.iri)).is_permitted


def test_it_holds_recursively(registry: Registry, tmp_path: Path, made: TargetVersion) -> None:
    second = IRI("http://example/second")
    document = world.document("chain", world.anonymize_rule("chain", OUTPUT, second))
    changes: dict[str, Any] = {"document": document, "policy_uid": world.uid("chain")}
    changes |= {"inputs": (Input(OUTPUT, 1),), "rule_uid": IRI("http://example.com/rule/chain")}
    world.run(registry, tmp_path / "chained", target=second, **changes)
    assert registry.full_owners(second) == {OWNER}
    decision = decide(registry, read(second))
    assert decision.is_permitted
    assert f"reading `{made.iri}`" in texts(decision)
    registry.revoke_policy(world.uid("second"), OWNER)
    assert not decide(registry, read(second)).is_permitted


def test_a_circle_of_outputs_ends(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(READ_SOURCE, "read", OWNER)
    world.run(registry, tmp_path / "one")
    world.run(registry, tmp_path / "two", inputs=(Input(OUTPUT),))
    assert registry.owners(OUTPUT) == {OWNER}
    decision = decide(registry, read())
    assert not decision.is_permitted
    assert "which is asked about already" in texts(decision)


def test_an_owner_of_a_part_may_prohibit_but_not_permit(registry: Registry, made: TargetVersion) -> None:
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.add_policy(world.document("out", world.read_rule("out", OUTPUT, assignee=OWNER)), "o", OWNER)
    assert decide(registry, read(party=OWNER)).is_permitted
    registry.remove_owner(SOURCE, OWNER, by=OTHER)
    decision = decide(registry, read(party=OWNER))
    assert not decision.is_permitted
    assert "owns a part of what" in texts(decision)
    assert made.target == OUTPUT


@pytest.mark.usefixtures("made")
def test_an_owner_of_some_inputs_does_not_end_a_full_owners_prohibition(registry: Registry) -> None:
    """B owns one input of two: B may prohibit, and not lift what the owner of both has prohibited."""
    part_owner = IRI("http://org/part-owner")
    registry.add_owner(SECOND, part_owner, by=OWNER)
    rule = {"uid": "http://example.com/rule/no", "target": OUTPUT, "assignee": USER, "action": "odrl:read"}
    registry.add_policy(world.document("no", prohibitions=(rule,)), "no", OWNER)
    with pytest.raises(UsageError, match="may not revoke it"):
        registry.revoke_policy(world.uid("no"), part_owner)
    assert not decide(registry, read()).is_permitted
