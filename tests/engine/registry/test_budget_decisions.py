"""What has been charged is a fact of decisions: the registry's, never the caller's, and never told."""

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from budget_world import charge
from registry_world import OTHER, OUTPUT, OWNER, SECOND, SOURCE, USER

from smalti.engine.losses.stated_ceilings import stated_ceilings
from smalti.engine.registry.authority import decide
from smalti.engine.registry.budget import Ceiling
from smalti.engine.registry.ceilings import BUDGET_DELTA, BUDGET_EPSILON
from smalti.engine.registry.ledger import Ledger
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.submissions import Submission
from smalti.policy.decide.decision import Decision, Effect, Fact, Request
from smalti.policy.model.model import Number
from smalti.policy.read.parse import parse
from smalti.vocab import terms
from smalti.vocab.terms import IRI, SMALTI

WIDE = Ceiling(Decimal(100), Decimal("0.5"))
ASKED = Request(party=USER, action=terms.READ, targets=(SOURCE,))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite", log_decisions=False)


def at_most(number: float, word: str = "budgetEpsilon") -> dict[str, Any]:
    return {"leftOperand": f"{SMALTI}{word}", "operator": "lteq", "rightOperand": number}


def limited(uid: str, *constraints: dict[str, Any], target: str = SOURCE, **more: Any) -> dict[str, Any]:
    return {**world.read_rule(uid, target, **more), "constraint": list(constraints)}


def put(registry: Registry, *constraints: dict[str, Any], target: str = SOURCE) -> bytes:
    document = world.document("read", limited("read", *constraints, target=target))
    registry.add_policy(document, "read", OWNER)
    return document


def spend(registry: Registry, epsilon: str, target: str = SOURCE, **changes: Any) -> None:
    assert registry.ledger.charge(charge(epsilon, target, **changes), WIDE)


def told(decision: Decision) -> str:
    reasons = [reason.text for reason in decision.reasons]
    return "\n".join([*reasons, *(part.text for rule in decision.considered for part in rule.parts)])


def test_a_limit_of_the_budget_holds_up_to_it(registry: Registry) -> None:
    put(registry, at_most(2))
    assert decide(registry, ASKED).is_permitted, "nothing has been charged"
    spend(registry, "2")
    assert decide(registry, ASKED).is_permitted
    spend(registry, "1e-30")
    assert decide(registry, ASKED).effect is Effect.DENY


def test_a_decision_sees_what_another_process_charged(registry: Registry) -> None:
    put(registry, at_most(1))
    assert decide(registry, ASKED).is_permitted
    with registry.snapshot() as before:
        revision = before.revision
    spend(Registry.open(registry.name), "1.5")
    assert not decide(registry, ASKED).is_permitted
    with registry.snapshot() as after:
        assert after is before, "the index is not made anew"
        assert after.revision == revision


def test_limits_of_delta_are_known_too(registry: Registry) -> None:
    put(registry, at_most(5), at_most(1e-6, "budgetDelta"))
    spend(registry, "1", delta=Decimal("1e-6"))
    assert decide(registry, ASKED).is_permitted
    spend(registry, "1", delta=Decimal("1e-9"))
    assert not decide(registry, ASKED).is_permitted


@pytest.mark.parametrize("claimed", ["0", "1", "-1", "9"])
def test_a_caller_cannot_claim_another_figure(registry: Registry, claimed: str) -> None:
    put(registry, at_most(2))
    facts = tuple(Fact(operand, (Number(Decimal(claimed)),)) for operand in (BUDGET_EPSILON, BUDGET_DELTA))
    request = Request(party=USER, action=terms.READ, targets=(SOURCE,), facts=facts)
    assert decide(registry, request).is_permitted
    spend(registry, "2.5")
    decision = decide(registry, request)
    assert not decision.is_permitted
    assert decision.request.facts == facts, "what was asked is told as it was"


def test_a_submitted_policy_is_judged_by_the_same_figure(registry: Registry) -> None:
    document = world.document("submitted", limited("submitted", at_most(2)))
    (policy,) = parse(document, "submitted").policies
    submission = Submission(policy, OWNER, document)
    assert decide(registry, ASKED, submission=submission).is_permitted
    spend(registry, "2.5")
    assert not decide(registry, ASKED, submission=submission).is_permitted


def test_prohibitions_depend_on_it_too(registry: Registry) -> None:
    read = world.document("read", world.read_rule("read"))
    registry.add_policy(read, "read", OWNER)
    until = {**limited("until", at_most(1)), "uid": "http://example.com/rule/until"}
    registry.add_policy(world.document("until", prohibitions=(until,)), "until", OWNER)
    assert not decide(registry, ASKED).is_permitted
    spend(registry, "1.1")
    assert decide(registry, ASKED).is_permitted


def test_the_figure_is_that_of_all_the_same_respondents(registry: Registry, tmp_path: Path) -> None:
    version = world.run(registry, tmp_path / "out")
    put(registry, at_most(1), target=OUTPUT)
    for target in (OUTPUT, version.iri):
        assert decide(registry, Request(party=USER, action=terms.READ, targets=(target,))).is_permitted
    spend(registry, "1.5")
    for target in (OUTPUT, version.iri):
        assert not decide(registry, Request(party=USER, action=terms.READ, targets=(target,))).is_permitted


def test_targets_that_are_asked_for_jointly_add_up(registry: Registry) -> None:
    rule = {**limited("read", at_most(1)), "target": [SOURCE, SECOND]}
    registry.add_policy(world.document("read", rule), "read", OWNER)
    both = Request(party=USER, action=terms.READ, targets=(SOURCE, SECOND))
    spend(registry, "0.6", SOURCE)
    assert decide(registry, both).is_permitted
    spend(registry, "0.6", SECOND)
    assert not decide(registry, both).is_permitted
    assert decide(registry, ASKED).is_permitted


def test_no_reason_tells_the_figure(registry: Registry) -> None:
    put(registry, at_most(2), {"or": [at_most(1), at_most(0.5, "budgetDelta")]})
    spend(registry, "2.71828")
    decision = decide(registry, ASKED, explain=True)
    assert not decision.is_permitted
    assert "budgetEpsilon" in told(decision)
    assert "71828" not in told(decision)
    assert decision.request.facts == ()


def test_the_log_of_decisions_does_not_hold_the_figure(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    put(registry, at_most(2))
    spend(registry, "2.71828")
    decide(registry, ASKED)
    assert "71828" not in (tmp_path / "r.sqlite.decisions.jsonl").read_text()


def test_who_does_not_ask_about_budgets_does_not_look(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []
    monkeypatch.setattr(Ledger, "spent", lambda self, targets: looked.append(targets))
    registry.add_policy(world.document("read", world.read_rule("read")), "read", OWNER)
    other = world.document("other", limited("other", at_most(2), target=SECOND))
    registry.add_policy(other, "other", OTHER)
    assert decide(registry, ASKED).is_permitted
    assert not looked


def test_a_policy_that_was_revoked_is_asked_no_longer(registry: Registry) -> None:
    put(registry, at_most(2))
    assert decide(registry, ASKED).is_permitted
    registry.revoke_policy(world.uid("read"), OWNER)
    spend(registry, "3")
    assert decide(registry, ASKED).effect is Effect.NOT_APPLICABLE
    put(registry, at_most(2))
    assert decide(registry, ASKED).effect is Effect.DENY


# --- The ceilings in force


def releasing(uid: str, *constraints: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A rule that lets somebody release statistics."""
    parts = [("method", "eq", "differential-privacy", "mosaicrown:"), ("epsilon", "lteq", 0.5, SMALTI)]
    parts += [("statistic", "isAnyOf", ["count"], SMALTI)]
    refinements = [
        {"leftOperand": space + name, "operator": operator, "rightOperand": value}
        for name, operator, value, space in parts
    ]
    rule = world.anonymize_rule(uid, purpose=None) | more
    rule["action"] = [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": refinements}]
    return rule | ({"constraint": list(constraints)} if constraints else {})


def test_the_ceilings_in_force_are_those_of_owners_rules(registry: Registry, tmp_path: Path) -> None:
    rules = (
        releasing("wide", at_most(3), at_most(1e-6, "budgetDelta")),
        releasing("small", at_most(1), assignee=USER),
        releasing("none"),
        releasing("either", {"or": [at_most(1), at_most(2)]}),
    )
    registry.add_policy(world.document("wide", *rules), "wide", OWNER)
    over = {"http://purl.org/dc/terms/valid": "2020-01-01/2021-01-01"}
    registry.add_policy(world.document("over", releasing("over", at_most(9)), **over), "over", OWNER)
    registry.add_policy(world.document("gone", releasing("gone", at_most(9))), "gone", OWNER)
    registry.revoke_policy(world.uid("gone"), OWNER)
    registry.add_policy(world.document("reads", limited("reads", at_most(7))), "reads", OWNER)
    found = {one.rule.rpartition("/")[2]: one for one in stated_ceilings(registry, SOURCE)}
    assert sorted(found) == ["either", "none", "small", "wide"]
    assert found["wide"].ceiling == Ceiling(Decimal(3), Decimal("1e-6"))
    assert (found["small"].ceiling, found["small"].parties) == (Ceiling(Decimal(1), Decimal(0)), (USER,))
    assert found["none"].ceiling is found["either"].ceiling is None
    assert "states no" in found["none"].problem
    assert "need not hold" in found["either"].problem
    assert stated_ceilings(registry, IRI("http://example.com/Elsewhere")) == ()


@pytest.mark.parametrize(
    ("method", "more", "relation"),
    [
        ("differential-privacy", [], "add-or-remove-one"),
        ("differential-privacy", [("neighbors", "eq", "change-one")], "change-one"),
        ("local-differential-privacy", [], "change-one"),
    ],
)
def test_a_ceiling_is_about_the_relation_of_its_releases(
    registry: Registry, method: str, more: list[tuple[str, str, str]], relation: str
) -> None:
    rule = releasing("one", at_most(3))
    (action,) = rule["action"]
    action["refinement"][0]["rightOperand"] = method
    if method != "differential-privacy":
        action["refinement"].pop()
        more = [("measure", "isAnyOf", "age"), ("mechanism", "eq", "randomized-response")]
    action["refinement"] += [
        {"leftOperand": SMALTI + name, "operator": operator, "rightOperand": value}
        for name, operator, value in more
    ]
    registry.add_policy(world.document("one", rule), "one", OWNER)
    (found,) = stated_ceilings(registry, SOURCE)
    assert found.neighbors == relation


@pytest.mark.parametrize("noise", [True, False])
def test_private_training_is_under_a_ceiling_too(registry: Registry, noise: bool) -> None:
    private = [
        ("noiseMultiplier", 2),
        ("epochs", 1),
        ("clippingNorm", 1),
        ("samplingRate", 1),
        ("delta", 1e-5),
    ]
    said = [("recipe", "softmax"), ("labelColumn", {"@id": f"{SOURCE}/label"}), ("neighbors", "change-one")]
    rule = world.read_rule("train") | {
        "output": OUTPUT,
        "constraint": [at_most(3), at_most(1e-4, "budgetDelta")],
    }
    refinements = [
        {"leftOperand": SMALTI + name, "operator": "eq", "rightOperand": value}
        for name, value in (*said, *private)
        if noise or name in {"recipe", "labelColumn"}
    ]
    rule["action"] = [{"rdf:value": {"@id": f"{SMALTI}train"}, "refinement": refinements}]
    registry.add_policy(world.document("train", rule), "train", OWNER)
    found = [(one.ceiling, one.neighbors) for one in stated_ceilings(registry, SOURCE)]
    assert found == ([(Ceiling(Decimal(3), Decimal("1e-4")), "change-one")] if noise else [])


def test_the_ceilings_about_an_output_are_those_about_its_versions(
    registry: Registry, tmp_path: Path
) -> None:
    version = world.run(registry, tmp_path / "out")
    rule = releasing("of-output", at_most(3), target=OUTPUT, output="http://example.com/statistics")
    registry.add_policy(world.document("of-output", rule), "of-output", OWNER)
    (found,) = stated_ceilings(registry, OUTPUT)
    assert stated_ceilings(registry, version.iri) == (found,)


def test_what_a_stranger_put_in_force_is_no_ceiling(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "out")
    registry.add_policy(world.document("mine", releasing("mine", at_most(3), target=SECOND)), "mine", OTHER)
    assert [one.rule for one in stated_ceilings(registry, SECOND)] == [IRI("http://example.com/rule/mine")]
    registry.add_owner(SECOND, OWNER, by=OTHER)
    registry.remove_owner(SECOND, OTHER, by=OWNER)
    assert stated_ceilings(registry, SECOND) == ()
