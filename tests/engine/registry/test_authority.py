"""Whose word counts: owners, submitted policies, and the implicit rule."""

import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from smalti.engine.registry.authority import decide
from smalti.engine.registry.entries import Input, TargetVersion
from smalti.engine.registry.implicit_rule import IMPLICIT_RULE
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.review import reviews
from smalti.engine.registry.signatures import new_key, sign
from smalti.engine.registry.submissions import Submission
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.decision import Decision, DutyReading, Effect, Request
from smalti.policy.model.model import Policy
from smalti.policy.read.parse import parse
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
    assert "counts as the owner" in texts(decision)
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
    told = [reason.text for reason in decision.reasons]
    assert "the submitted policy does not grant" in told[0]
    assert "purpose" in "".join(told[1:3]), "why it does not comes before what stored policies say"
    same = policy(world.document("other", world.anonymize_rule("other")))
    decision = decide(registry, ANONYMIZE, submission=Submission(same, OWNER))
    assert decision.policies == (same,)


def test_a_submitted_policy_may_not_borrow_a_uid(registry: Registry) -> None:
    registry.add_policy(READ_SECOND, "second", USER)
    submitted = policy(world.document("second", world.anonymize_rule("anon")))
    decision = decide(registry, ANONYMIZE, submission=Submission(submitted, USER))
    assert decision.effect is Effect.DENY
    assert "is used by another document" in texts(decision)


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
    assert "which is already being decided" in texts(decision)


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


# --- A permission to read, if anonymized so


def read_if(uid: str = "read-if", least: int = 10, **more: Any) -> dict[str, Any]:
    """May read the grown-up customers' rows, if anonymized so, for marketing."""
    anonymize = world.anonymize_rule("duty", purpose=None)
    anonymize["action"][0]["refinement"][1]["rightOperand"] = least
    limit = {"leftOperand": f"{SOURCE}/Amount", "operator": "gteq", "rightOperand": 18}
    duty = {name: anonymize[name] for name in ("action", "output")}
    duty["uid"] = f"http://example.com/duty/{uid}"
    rule = world.read_rule(uid, assignee=USER, purpose="mosaicrown:marketing")
    return {**rule, "constraint": [limit], "duty": [duty], **more}


def made_under(registry: Registry, folder: Path, document: bytes, uid: str = "read-if") -> TargetVersion:
    rule = IRI(f"http://example.com/rule/{uid}")
    version: TargetVersion = world.run(
        registry, folder, document=document, policy_uid=world.uid(uid), rule_uid=rule
    )
    return version


def test_what_was_made_as_a_duty_says_may_be_read(registry: Registry, tmp_path: Path) -> None:
    document = world.document("read-if", read_if())
    registry.add_policy(document, "read-if", OWNER)
    made_under(registry, tmp_path / "out", document)
    decision = decide(registry, read())
    assert decision.is_permitted, texts(decision)
    assert "is permitted by `http://example.com/rule/read-if`" in texts(decision)
    for refused in (read(party=OTHER), read(purpose=terms.STATISTICAL), read(purpose=None)):
        assert not decide(registry, refused).is_permitted
    registry.add_policy(forbid("no", OUTPUT), "no", OWNER)
    assert not decide(registry, read()).is_permitted
    registry.revoke_policy(world.uid("no"), OWNER)
    assert decide(registry, read()).is_permitted
    registry.add_policy(forbid("no-source", SOURCE), "no", OWNER)
    assert not decide(registry, read()).is_permitted
    registry.revoke_policy(world.uid("no-source"), OWNER)
    registry.revoke_policy(world.uid("read-if"), OWNER)
    assert not decide(registry, read()).is_permitted


def test_a_duty_of_an_input_is_owed_for_the_output_where_it_is_not_violated(
    registry: Registry, tmp_path: Path
) -> None:
    inform = {"uid": "http://example.com/duty/inform", "action": "inform"}
    rule = read_if()
    document = world.document("read-if", rule | {"duty": [*rule["duty"], inform]})
    registry.add_policy(document, "read-if", OWNER)
    made_under(registry, tmp_path / "out", document)
    strict, later = read(), replace(read(), duties=DutyReading.NOT_VIOLATED)
    fulfilled = replace(later, fulfilled=frozenset({IRI(inform["uid"])}))
    assert decide(registry, strict).effect is Effect.DENY
    assert decide(registry, fulfilled).effect is Effect.PERMIT
    decision = decide(registry, later)
    assert decision.effect is Effect.LIMITED
    assert [[duty.uid for duty in grant.obligations] for grant in decision.grants] == [[inform["uid"]]]


def test_the_purposes_of_the_duty_that_a_run_was_made_under_limit_reading(
    registry: Registry, tmp_path: Path
) -> None:
    """A run under a permission's duty, or a remedy, keeps to their purposes, not to its rule's alone."""
    rule = read_if()
    (duty,) = rule["duty"]
    duty["constraint"] = [
        {"leftOperand": "purpose", "operator": "eq", "rightOperand": {"@id": "mosaicrown:statistical"}}
    ]
    del rule["purpose"]
    document = world.document("read-if", rule)
    registry.add_policy(document, "read-if", OWNER)
    made_under(registry, tmp_path / "out", document)
    registry.add_policy(READ_SOURCE, "read", OWNER)
    assert decide(registry, read(SOURCE)).is_permitted
    assert decide(registry, read(purpose=terms.STATISTICAL)).is_permitted
    refused = decide(registry, read())
    assert not refused.is_permitted
    assert "is outside the purposes of the rule" in texts(refused)


def remedied(assignee: IRI | None, purpose: str | None = None) -> bytes:
    """A prohibition of use; whoever uses it all the same must anonymize it."""
    remedy = world.anonymize_rule("remedy", purpose=purpose)
    remedy.pop("assignee", None)
    if assignee is not None:
        remedy["assignee"] = assignee
    rule = {"uid": "http://example.com/rule/no-use", "target": SOURCE, "action": "odrl:derive"}
    return world.document("no-use", prohibitions=({**rule, "remedy": [remedy]},))


REMEDY = replace(ANONYMIZE, rule=IRI("http://example.com/rule/remedy"))


def test_a_stored_remedy_permits_whoever_names_it(registry: Registry) -> None:
    registry.add_policy(remedied(USER), "no-use", OWNER)
    assert not decide(registry, ANONYMIZE).is_permitted
    assert decide(registry, REMEDY).is_permitted
    assert not decide(registry, replace(REMEDY, party=OTHER)).is_permitted
    registry.add_policy(forbid("no", SOURCE, "odrl:anonymize"), "no", OWNER)
    assert not decide(registry, REMEDY).is_permitted


def test_a_remedy_that_names_nobody_is_a_full_owners(registry: Registry) -> None:
    registry.add_policy(remedied(None), "no-use", OWNER)
    assert not decide(registry, REMEDY).is_permitted
    assert decide(registry, replace(REMEDY, party=OWNER)).is_permitted


def test_a_remedy_of_somebody_elses_policy_permits_nothing(registry: Registry) -> None:
    registry.add_policy(READ_SOURCE, "read", OWNER)
    document = remedied(USER)
    submission = Submission(policy(document), OTHER, document)
    assert not decide(registry, REMEDY, submission=submission).is_permitted
    own = Submission(policy(document), OWNER, document)
    assert decide(registry, REMEDY, submission=own).is_permitted


def test_a_remedy_of_several_actions_keeps_all_of_them(registry: Registry) -> None:
    remedy = world.anonymize_rule("remedy", purpose=None)
    several = {**remedy, "assignee": USER, "action": [*remedy["action"], "odrl:delete"]}
    rule = {"uid": "http://example.com/rule/no-use", "target": SOURCE, "action": "odrl:derive"}
    document = world.document("no-use", prohibitions=({**rule, "remedy": [several]},))
    registry.add_policy(document, "no-use", OWNER)
    decision = decide(registry, REMEDY)
    assert decision.effect is Effect.DENY
    assert "its prohibition's other remedy to `delete` is not known to be fulfilled" in texts(decision)


NESTED = ("duty", "remedy")


def nested(kind: str) -> bytes:
    """Only the duty of a permission, or the remedy of a prohibition, names an assigner."""
    inner = {**world.anonymize_rule("inner", purpose=None), "assignee": USER, "assigner": OTHER}
    if kind == "duty":
        return world.document("read-if", {**world.read_rule("read-if"), "duty": [inner]})
    rule = {"uid": "http://example.com/rule/no-use", "target": SOURCE, "action": "odrl:derive"}
    return world.document("no-use", prohibitions=({**rule, "remedy": [inner]},))


@pytest.mark.parametrize("kind", NESTED)
def test_a_nested_assigner_must_own_what_the_rule_is_about(registry: Registry, kind: str) -> None:
    document = nested(kind)
    asked = replace(ANONYMIZE, rule=IRI("http://example.com/rule/inner"))
    decision = decide(registry, asked, submission=Submission(policy(document), OWNER, document))
    assert decision.effect is Effect.DENY
    assert f"its assigner {OTHER} does not own" in texts(decision)
    registry.add_policy(READ_SOURCE, "read", OWNER)
    with pytest.raises(PolicyError, match="the assigner `http://org/other` does not own"):
        registry.add_policy(document, "nested", OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.add_policy(document, "nested", OWNER)
    assert decide(registry, asked).is_permitted
    registry.remove_owner(SOURCE, OTHER, by=OWNER)
    decision = decide(registry, asked)
    assert not decision.is_permitted
    assert f"its assigner {OTHER} does not own" in texts(decision)


def test_what_was_made_as_a_remedy_is_read_for_its_purposes(registry: Registry, tmp_path: Path) -> None:
    document = remedied(USER, "statistical")
    registry.add_policy(READ_SOURCE, "read", OWNER)
    registry.add_policy(document, "no-use", OWNER)
    world.run(
        registry, tmp_path / "out", document=document, policy_uid=world.uid("no-use"), rule_uid=REMEDY.rule
    )
    assert decide(registry, read(purpose=terms.STATISTICAL)).is_permitted
    assert not decide(registry, read()).is_permitted


def test_what_was_made_under_another_rule_is_not_what_a_duty_asks_for(
    registry: Registry, tmp_path: Path
) -> None:
    registry.add_policy(world.document("read-if", read_if()), "read-if", OWNER)
    world.run(registry, tmp_path / "out")
    decision = decide(registry, read())
    assert not decision.is_permitted
    assert "only under further conditions" in texts(decision)


def test_what_was_made_under_another_rule_of_the_same_policy_is_not(
    registry: Registry, tmp_path: Path
) -> None:
    document = world.document("read-if", read_if(), world.anonymize_rule("anon"))
    registry.add_policy(document, "read-if", OWNER)
    rule = IRI("http://example.com/rule/anon")
    world.run(registry, tmp_path / "out", document=document, policy_uid=world.uid("read-if"), rule_uid=rule)
    assert not decide(registry, read()).is_permitted


def test_a_weaker_duty_that_was_replaced_is_not_the_one_in_force(
    registry: Registry, tmp_path: Path
) -> None:
    weak = world.document("read-if", read_if(least=2))
    registry.add_policy(weak, "weak", OWNER)
    made_under(registry, tmp_path / "out", weak)
    registry.add_policy(world.document("read-if", read_if()), "strong", OWNER, replaces=True)
    assert not decide(registry, read()).is_permitted


def test_rows_that_depend_on_the_request_are_not_taken_as_given(registry: Registry, tmp_path: Path) -> None:
    """A run before 2030 left nothing out; who reads after it may see the grown-ups' rows only."""
    limits = [
        {"leftOperand": f"{SOURCE}/Amount", "operator": "gteq", "rightOperand": 18},
        {
            "leftOperand": "dateTime",
            "operator": "lt",
            "rightOperand": {"@value": "2030-01-01T00:00:00Z", "@type": "xsd:dateTime"},
        },
    ]
    document = world.document("read-if", read_if(constraint=[{"or": limits}]))
    registry.add_policy(document, "read-if", OWNER)
    made_under(registry, tmp_path / "out", document)
    later = replace(read(), time=datetime(2031, 1, 1, tzinfo=UTC))
    assert decide(registry, replace(later, targets=(SOURCE,))).is_limited
    assert not decide(registry, later).is_permitted


def test_each_other_input_must_be_readable_too(registry: Registry, tmp_path: Path) -> None:
    document = world.document("read-if", read_if())
    registry.add_policy(document, "read-if", OWNER)
    registry.add_policy(world.document("second", world.read_rule("x", SECOND, assignee=OTHER)), "s", OWNER)
    world.run(
        registry, tmp_path / "out", document=document, policy_uid=world.uid("read-if"),
        rule_uid=IRI("http://example.com/rule/read-if"), inputs=(Input(SOURCE), Input(SECOND)),
    )  # fmt: skip
    assert not decide(registry, read()).is_permitted


# --- Documents that were only laid out anew


def laid_out(document: bytes) -> bytes:
    return json.dumps(json.loads(document), indent=4, sort_keys=True).encode()


TWIN = laid_out(world.SOURCE_POLICY)


def test_a_twin_counts_like_the_stored_document(registry: Registry, tmp_path: Path) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    registry.add_policy(READ_SOURCE, "read", OWNER)
    for party in (OWNER, OTHER, None):
        decision = decide(registry, ANONYMIZE, submission=Submission(policy(TWIN), party, TWIN))
        assert decision.is_permitted, texts(decision)
        assert [one.document_digest for one in decision.policies] == [world.digest(world.SOURCE_POLICY)]
    for number in range(3):
        world.run(registry, tmp_path / f"out{number}")
    in_force = [one for one in registry.list_policies() if one.is_in_force]
    assert {one.digest for one in in_force} == {
        world.digest(world.SOURCE_POLICY),
        world.digest(READ_SOURCE),
    }
    assert decide(registry, read()).is_permitted
    assert reviews(registry) == ()
    registry.revoke_policy(world.uid("anon"), OWNER)
    assert not decide(registry, read()).is_permitted
    assert len(reviews(registry)) == 3


def both(kind: str) -> bytes:
    """A policy that permits to anonymize what it prohibits, by its strategy or by a remedy."""
    how = {**world.anonymize_rule("remedy", purpose=None), "assignee": USER}
    no = {"uid": "http://example.com/rule/no-use", "target": SOURCE, "action": "odrl:anonymize"}
    if kind == "strategy":
        return world.document("no-use", how, prohibitions=(no,), conflict="perm")
    return world.document("no-use", prohibitions=({**no, "remedy": [how]},))


@pytest.mark.parametrize("kind", ["strategy", "remedy"])
def test_a_twin_is_judged_in_the_place_of_the_stored_document(registry: Registry, kind: str) -> None:
    document = both(kind)
    registry.add_policy(document, "no-use", OWNER)
    assert decide(registry, REMEDY).is_permitted
    twin = laid_out(document)
    for party in (OWNER, USER, None):
        decision = decide(registry, REMEDY, submission=Submission(policy(twin), party, twin))
        assert decision.is_permitted, texts(decision)
        assert [one.document_digest for one in decision.policies] == [world.digest(document)]
    assert decide(registry, REMEDY).is_permitted  # as before


def test_a_twin_takes_no_other_owners_place(registry: Registry) -> None:
    """What another owner has in force still forbids, though it says the same."""
    document = both("strategy")
    registry.add_policy(READ_SOURCE, "read", OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.add_policy(document, "no-use", OTHER)
    twin = laid_out(document)
    assert not decide(registry, REMEDY, submission=Submission(policy(twin), OWNER, twin)).is_permitted
    assert decide(registry, REMEDY, submission=Submission(policy(twin), OTHER, twin)).is_permitted
    registry.add_policy(document, "no-use", OWNER)  # the same bytes, by both: one policy
    assert decide(registry, REMEDY).is_permitted
    assert decide(registry, REMEDY, submission=Submission(policy(twin), OWNER, twin)).is_permitted
    registry.add_policy(forbid("no", SOURCE, "odrl:anonymize"), "no", OTHER)
    assert not decide(registry, REMEDY, submission=Submission(policy(twin), OTHER, twin)).is_permitted


@pytest.mark.parametrize("other", [laid_out(TWIN) + b"\n", world.SOURCE_POLICY, TWIN])
@pytest.mark.parametrize("ran", [True, False])
def test_a_twin_of_a_revoked_document_is_as_revoked(
    registry: Registry, tmp_path: Path, other: bytes, ran: bool
) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    if ran:
        world.run(registry, tmp_path / "before", document=TWIN)
    registry.revoke_policy(world.uid("anon"), OWNER)
    for party in (OWNER, OTHER, None):
        decision = decide(registry, ANONYMIZE, submission=Submission(policy(other), party, other))
        assert decision.effect is Effect.DENY
        assert "it was revoked" in texts(decision)
    with pytest.raises(UsageError, match="the policy was revoked"):
        world.run(registry, tmp_path / "out", document=other)
    registry.add_policy(TWIN, "anon", OWNER)  # the owner's word puts it in force again, in each layout
    for document in (other, world.SOURCE_POLICY):
        submission = Submission(policy(document), OTHER, document)
        assert decide(registry, ANONYMIZE, submission=submission).is_permitted


def test_a_revoked_document_without_a_uid_is_revoked_in_each_layout(registry: Registry) -> None:
    content = json.loads(world.SOURCE_POLICY)
    del content["uid"]
    document = json.dumps(content).encode()
    (stored,) = registry.add_policy(document, "anon", OWNER)
    registry.revoke_policy(stored.uid, OWNER)
    twin = policy(laid_out(document))
    assert twin.uid != stored.uid
    decision = decide(registry, ANONYMIZE, submission=Submission(twin, OWNER))
    assert "it was revoked" in texts(decision)


def test_another_meaning_is_no_twin(registry: Registry) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    other = laid_out(world.document("anon", world.anonymize_rule("anon", purpose=None)))
    for party, problem in ((OWNER, "smalti policy add --replace"), (OTHER, "no owner has put it in force")):
        decision = decide(registry, ANONYMIZE, submission=Submission(policy(other), party, other))
        assert decision.effect is Effect.DENY
        assert problem in texts(decision)


def test_a_twin_of_somebody_elses_document_is_no_owners_word(registry: Registry) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.remove_owner(SOURCE, OWNER, by=OTHER)
    decision = decide(registry, ANONYMIZE, submission=Submission(policy(TWIN), USER, TWIN))
    assert decision.effect is Effect.DENY


def test_a_twin_of_a_signed_document_is_the_signed_one(registry: Registry, tmp_path: Path) -> None:
    """Nothing of the bytes that are submitted is used, so their signature says nothing."""
    private, public = new_key()
    registry.trust_key(OWNER, public, by=OWNER)
    signed = sign(world.SOURCE_POLICY, private, "key")
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER, signature=signed)
    for party in (OWNER, OTHER):
        for signature in (None, signed, sign(TWIN, private, "key")):
            submission = Submission(policy(TWIN), party, TWIN, signature)
            decision = decide(registry, ANONYMIZE, submission=submission)
            assert [one.document_digest for one in decision.policies] == [world.digest(world.SOURCE_POLICY)]
    for signature in (None, signed):
        with pytest.raises(UsageError, match="sign"):
            world.run(registry, tmp_path / "out", document=TWIN, signature=signature)
    with pytest.raises(UsageError, match="does not own what it is about"):
        world.run(registry, tmp_path / "out", document=TWIN, issuer=OTHER)
    with pytest.raises(UsageError, match="it is not signed"):
        registry.add_policy(TWIN, "anon", OWNER)
