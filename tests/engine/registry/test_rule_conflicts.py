"""`policy add` tells of rules in force that prohibitions of other policies contradict (P625)."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from shell import smalti

from smalti.engine.registry.authority import decide
from smalti.engine.registry.column_conflicts import column_conflicts, rule_conflicts
from smalti.engine.registry.registry import Registry
from smalti.policy.decide.decision import Request
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
from registry_world import OTHER, OWNER, SOURCE, USER, document, read_rule

WARD = "http://example.com/ward"


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def rule(name: str, target: str = SOURCE, **more: Any) -> dict[str, Any]:
    return {**read_rule(name, target), **more}


def forbidding(name: str, target: str = SOURCE, *nodes: dict[str, Any], **more: Any) -> bytes:
    return beside(document(name, prohibitions=(rule(name, target, **more),)), *nodes)


def permitting(name: str, target: str = SOURCE, *nodes: dict[str, Any], **more: Any) -> bytes:
    return beside(document(name, rule(name, target, **more)), *nodes)


def beside(content: bytes, *nodes: dict[str, Any]) -> bytes:
    """A document with nodes beside its policy."""
    policy = json.loads(content)
    context = policy.pop("@context")
    return json.dumps({"@context": context, "@graph": [policy, *nodes]}, indent=1).encode()


def added(registry: Registry, content: bytes, name: str, owner: IRI = OWNER) -> tuple[str, ...]:
    return rule_conflicts(registry, registry.add_policy(content, name, owner))


def test_each_side_is_told_when_it_is_added_with_both_places(registry: Registry) -> None:
    assert added(registry, permitting("yes"), "yes.jsonld") == ()
    (warning,) = added(registry, forbidding("no"), "no.jsonld")
    start, message = warning.split(": `http://example.com/rule/yes`: ")
    assert start.startswith("yes.jsonld:")
    assert "`http://example.com/rule/no` (no.jsonld:" in message
    (again,) = added(registry, permitting("more"), "more.jsonld")
    assert again.startswith("more.jsonld:")


def test_only_what_the_added_policy_takes_part_in_is_told(registry: Registry) -> None:
    added(registry, permitting("yes"), "yes.jsonld")
    added(registry, forbidding("no"), "no.jsonld")
    assert added(registry, permitting("far", WARD), "far.jsonld") == ()
    assert added(registry, permitting("other", assignee=USER, action="transfer"), "other.jsonld") == ()


def test_rules_that_exclude_each_other_and_ended_policies_are_not_told(registry: Registry) -> None:
    added(registry, permitting("yes", assignee=USER), "yes.jsonld")
    assert added(registry, forbidding("no", assignee=OTHER), "no.jsonld") == ()
    registry.revoke_policy(IRI("http://example.com/policy/yes"), OWNER)
    assert added(registry, forbidding("all"), "all.jsonld") == ()


def test_obligations_count(registry: Registry) -> None:
    must = json.loads(document("must", rule("must", action="delete")))
    must["obligation"] = must.pop("permission")
    added(registry, json.dumps(must).encode(), "must.jsonld")
    (warning,) = added(registry, forbidding("no", action="use"), "no.jsonld")
    assert "this obligation contradicts" in warning


PART = {"@id": WARD, "@type": "Asset", "partOf": SOURCE}


@pytest.mark.parametrize("is_first", [True, False])
def test_collections_count_that_a_document_states(registry: Registry, is_first: bool) -> None:
    """As in decisions: the prohibition of the whole denies the part that its document names."""
    steps = [(permitting("yes", WARD), "yes.jsonld"), (forbidding("no", SOURCE, PART), "no.jsonld")]
    warnings = [added(registry, *step) for step in (steps if is_first else reversed(steps))]
    assert [len(of_step) for of_step in warnings] == [0, 1]
    request = Request(party=USER, action=terms.READ, targets=(IRI(WARD),))
    assert not decide(registry, request).is_permitted


def test_prohibitions_on_columns_are_told_as_before_and_once(registry: Registry) -> None:
    registry.add_policy(permitting("yes"), "yes.jsonld", OWNER)
    stored = registry.add_policy(forbidding("no", f"{SOURCE}/Name"), "no.jsonld", OWNER)
    assert len(column_conflicts(registry, stored)) == 1
    assert rule_conflicts(registry, stored) == ()


def test_the_command_tells_and_decisions_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "yes.jsonld").write_bytes(permitting("yes"))
    (tmp_path / "no.jsonld").write_bytes(forbidding("no"))
    add = ("policy", "add", "--as", OWNER, "--format", "json")
    assert smalti(*add, "yes.jsonld", cwd=tmp_path).json["warnings"] == []
    ran = smalti(*add, "no.jsonld", cwd=tmp_path)
    assert ran.code == 0
    assert [("this permission contradicts" in warning) for warning in ran.json["warnings"]] == [True]
    ask = ("decide", "--as", USER, "--action", "read", "--target", SOURCE)
    assert smalti(*ask, cwd=tmp_path).code == 1
