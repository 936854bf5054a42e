"""Plans: golden files for every example, one digest for two spellings, and the way to JSON and back."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import smalti
from smalti.engine.plan.plan import Plan
from smalti.engine.plan.recorded import names_kind, plan_from_json, recorded_kind
from smalti.engine.plan.serialize import plan_digest, plan_to_json, recorded_digest
from smalti.errors import PlanError, UsageError

ROOT = Path(__file__).parents[3]
POLICIES = ROOT / "examples" / "policies"
GOLDEN = ROOT / "tests" / "golden"
CUSTOMER = "http://example.com/Customer"
SURVEY = "http://example.com/survey/contraceptive"


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory, transactions: ModuleType) -> Path:
    path = tmp_path_factory.mktemp("customers") / "customers.csv"
    transactions.write(path, customers=60, seed=7)
    return path


def plan_of(policy: str, data: Path) -> Plan:
    target = SURVEY if policy.startswith("contraceptive") else CUSTOMER
    asked = POLICIES / "contraceptive.query.json" if "statistics" in policy else None
    planned = smalti.plan(POLICIES / policy, data={target: data}, query=asked)
    assert planned.decision is None
    assert planned.plan is not None
    return planned.plan


def data_of(policy: str, customers: Path) -> Path:
    survey = policy.startswith("contraceptive")
    return ROOT / "examples" / "data" / "contraceptive.csv" if survey else customers


def transforming_policies() -> list[str]:
    actions = re.compile("anonymize|smalti:train")
    return sorted(p.name for p in POLICIES.glob("*.jsonld") if actions.search(p.read_text()))


@pytest.mark.parametrize("policy", transforming_policies())
def test_the_plan_of_each_example_is_the_golden_one(policy: str, customers: Path) -> None:
    """After a wanted change: `smalti plan` prints the new text; review it in the diff."""
    told = smalti.explain(plan_of(policy, data_of(policy, customers)))
    assert told == (GOLDEN / f"{policy.removesuffix('.jsonld')}.plan.txt").read_text()


def test_examples_that_transform_nothing_have_no_plan(customers: Path) -> None:
    others = sorted(p.name for p in POLICIES.glob("*.jsonld") if p.name not in transforming_policies())
    assert others == ["analyst-read.jsonld"]
    with pytest.raises(UsageError, match="the policy has no permission to anonymize"):
        plan_of(others[0], customers)


def test_both_forms_of_figure_2_6_give_one_plan(customers: Path) -> None:
    printed = plan_of("fig-2.6.jsonld", customers)
    canonical = plan_of("fig-2.6-canonical.jsonld", customers)
    assert printed == canonical
    assert plan_digest(printed) == plan_digest(canonical)


@pytest.mark.parametrize("policy", transforming_policies())
def test_a_plan_survives_json(policy: str, customers: Path) -> None:
    made = plan_of(policy, data_of(policy, customers))
    again = plan_from_json(plan_to_json(made))
    assert again == made
    assert plan_digest(again) == plan_digest(made)


def test_the_digest_changes_with_each_step(customers: Path) -> None:
    made = plan_of("fig-2.6.jsonld", customers)
    changed = [
        replace(made, read=replace(made.read, columns=made.read.columns[:-1])),
        replace(made, select=replace(made.select, dropped=())),
        replace(made, apply=replace(made.apply, transform=replace(made.apply.transform, k=11))),  # type: ignore[type-var]
        replace(made, write=replace(made.write, columns=("ZIP",))),
    ]
    assert len({plan_digest(plan) for plan in (made, *changed)}) == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 3, "kind": "release", "steps": []}',
        '{"format": 2, "steps": []}',
        '{"format": 2, "kind": "other", "steps": []}',
        '{"format": 1, "steps": [{}]}',
    ],
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        plan_from_json(text)


def older_policies() -> list[str]:
    """Those of kinds that there were before plans named theirs."""
    newer = re.compile("anatomy|masking|syntheticRecords")
    return [name for name in transforming_policies() if not newer.search((POLICIES / name).read_text())]


@pytest.mark.parametrize("policy", older_policies())
def test_a_plan_without_a_kind_is_read_by_its_steps(policy: str, customers: Path) -> None:
    """As earlier versions wrote it; its digest is that of what was written then."""
    made = plan_of(policy, data_of(policy, customers))
    earlier = json.loads(plan_to_json(made)) | {"format": 1}
    del earlier["kind"]
    text = json.dumps(earlier)
    assert plan_from_json(text) == made
    assert recorded_kind(text) is made.kind
    assert (names_kind(text), names_kind(plan_to_json(made))) == (False, True)
    assert recorded_digest(plan_to_json(made)) == plan_digest(made) != recorded_digest(text)


def test_the_json_form_lists_what_is_dropped(customers: Path) -> None:
    told = json.loads(smalti.explain(plan_of("fig-2.6.jsonld", customers), as_json=True))
    dropped = {c["name"] for c in told["columns"] if c["what"].startswith("dropped")}
    assert dropped == {"CustomerID", "FirstName", "LastName", "Branch"}
    assert any("Branch" in warning for warning in told["warnings"])


def test_a_plan_holds_no_path_and_no_party(customers: Path) -> None:
    text = plan_to_json(plan_of("fig-2.6.jsonld", customers))
    assert str(customers.parent) not in text
    assert "http://org/user" not in text
