"""Whole runs with Gaussian noise: the ledger, the certificate, and what is read from the noisy table."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from jsonschema import Draft202012Validator
from pyld import jsonld
from shell import smalti as command

import smalti
from smalti.deciding import using
from smalti.engine.binding.run_request import Outcome
from smalti.engine.losses.charging import loss_to_charge
from smalti.engine.perturbation import capability as running
from smalti.engine.perturbation.guarantee import stated_guarantee
from smalti.engine.perturbation.mechanisms import loss_of
from smalti.engine.perturbation.plan import PerturbationPlan
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.registry.budget import Budget, ChargedLoss, charged_loss
from smalti.errors import GuaranteeError, InternalError, SmaltiError
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation

VISITS = "http://example.com/visits"
OWNER, RESEARCH = "http://example.com/hospital", "http://example.com/research"
SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())


def write_policy(folder: Path, *, budget_delta: float | None = 0.002, **changes: Any) -> None:
    wanted: dict[str, tuple[str, Any]] = {
        "mosaicrown:method": ("eq", "local-differential-privacy"),
        "smalti:epsilon": ("lteq", 2),
        "smalti:delta": ("lteq", 0.001),
        "smalti:mechanism": ("isAnyOf", ["randomized-response", "gaussian"]),
        "smalti:measure": ("isAnyOf", ["sex", "age"]),
        "smalti:respondent": ("eq", {"@id": "smalti:oneRowEach"}),
    }
    wanted |= {f"smalti:{name}": value for name, value in changes.items()}
    ceilings = {"budgetEpsilon": 10, "budgetDelta": budget_delta}
    contexts = ("http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
                "https://w3id.org/smalti/context.jsonld")  # fmt: skip
    document = {
        "@context": contexts, "@type": "Set", "uid": "http://example.com/policy",
        "profile": "https://w3id.org/smalti#",
        "permission": [{
            "uid": "http://example.com/policy/1",
            "target": VISITS,
            "assignee": RESEARCH,
            "action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": [
                {"leftOperand": word, "operator": operator, "rightOperand": value}
                for word, (operator, value) in wanted.items() if operator
            ]}],
            "output": "http://example.com/noisy",
            "constraint": [
                {"leftOperand": f"smalti:{name}", "operator": "lteq", "rightOperand": value}
                for name, value in ceilings.items() if value is not None
            ],
        }],
    }  # fmt: skip
    (folder / "policy.jsonld").write_text(json.dumps(document))


@pytest.fixture
def world(tmp_path: Path) -> Path:
    write_policy(tmp_path)
    (tmp_path / "visits.csv").write_text("sex,age\n" + "f,30\nm,wombat\n" * 20)
    columns = [
        {"name": "sex", "csvw-eo:keyValues": ["f", "m"]},
        {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 100}},
    ]
    context = ["http://www.w3.org/ns/csvw", {"csvw-eo": "https://w3id.org/csvw-eo#"}]
    metadata = {"@context": context, "url": "visits.csv", "tableSchema": {"columns": columns}}
    (tmp_path / "visits.csv-metadata.json").write_text(json.dumps(metadata))
    return tmp_path


def run(folder: Path, name: str = "out", **choices: Any) -> Outcome:
    return smalti.run(
        folder / "policy.jsonld", data={VISITS: folder / "visits.csv"}, party=RESEARCH, owner=OWNER,
        out=folder / name, registry=folder / "registry.sqlite", **choices,
    )  # fmt: skip


def charged(folder: Path) -> Budget:
    with using(folder / "registry.sqlite") as registry:
        return registry.ledger.budget(smalti.IRI(VISITS))


def planned(outcome: Outcome) -> PerturbationPlan:
    assert isinstance(outcome.plan, PerturbationPlan)
    return outcome.plan


def test_the_ledger_is_charged_epsilon_and_delta_and_all_that_the_noise_loses(world: Path) -> None:
    plan = planned(run(world))
    (one,) = charged(world).charges
    assert (one.epsilon, one.delta, one.selection_delta) == (2, Decimal("0.001"), 0)
    assert one.neighbors is NeighboringRelation.CHANGE_ONE
    lost = sum(map(loss_of, plan.perturbed), PrivacyLoss())
    assert one.loss == loss_to_charge(plan).loss == lost
    assert lost.mu_squared > 0
    assert lost.epsilon(0.001) <= 2
    outcome = run(world, "again")
    together = outcome.composition
    assert together is not None
    assert (together.loss.epsilon, together.loss.delta, together.releases) == (4, Decimal("0.002"), 2)
    assert together.loss.advantage == pytest.approx((lost + lost).advantage, rel=1e-9)
    assert together.loss.belief == pytest.approx((lost + lost).belief(0.002), rel=1e-9)


def test_a_charge_without_the_gaussian_part_is_caught(world: Path) -> None:
    def pure_part(stated: PlannedLoss, neighbors: NeighboringRelation) -> ChargedLoss:
        whole = charged_loss(stated, neighbors)
        return replace(whole, loss=PrivacyLoss(whole.loss.pure))

    with patch.object(running, "charged_loss", pure_part), pytest.raises(InternalError):
        run(world)
    assert charged(world).charges == ()


def test_what_does_not_fit_into_the_budget_of_delta_is_denied(world: Path) -> None:
    run(world)
    run(world, "second")
    third = run(world, "third")
    assert not third.decision.is_permitted
    assert not (world / "third").exists()
    assert charged(world).delta == Decimal("0.002")
    pure = run(world, "pure", parameters=["mechanism=randomized-response", "measure=sex"])
    assert pure.version is not None
    assert charged(world).delta == Decimal("0.002")


@pytest.mark.parametrize(("word", "bound"), [("posteriorBelief", 0.9), ("membershipAdvantage", 0.3)])
def test_a_belief_or_an_advantage_bounds_the_noise_that_is_used(
    world: Path, word: str, bound: float
) -> None:
    write_policy(world, epsilon=("", None), measure=("isAnyOf", ["age"]), **{word: ("lteq", bound)})
    plan = planned(run(world))
    reached = plan.loss.belief if word == "posteriorBelief" else plan.loss.advantage
    assert bound - 1e-6 < reached <= bound
    (one,) = charged(world).charges
    assert (one.epsilon, one.delta) == (plan.loss.epsilon, Decimal("0.001"))


def certificate(world: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((world / "out" / "certificate.jsonld").read_text())
    return found


def test_the_certificate_states_the_noise_and_is_read_again(world: Path) -> None:
    plan = planned(run(world))
    document = certificate(world)
    Draft202012Validator(SCHEMA).validate(document)
    assert "wombat" not in json.dumps(document)
    told = document["guarantee"]
    assert (told["epsilon"], told["delta"]) == ("2", "0.001")
    assert [one.get("delta") for one in told["perturbed"]] == [None, "0.001"]
    assert stated_guarantee(told).perturbed == plan.perturbed
    again = jsonld.compact(jsonld.expand(document), document["@context"])
    assert again["guarantee"]["perturbed"] == told["perturbed"]
    assert smalti.verify(world / "out", registry=world / "registry.sqlite").version is not None


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no delta": lambda age: age.pop("delta"),
    "delta of laplace": lambda age: age.update(mechanism="laplace"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_schema_wants_a_delta_of_gaussian_noise_alone(world: Path, name: str) -> None:
    run(world)
    document = certificate(world)
    CHANGES[name](document["guarantee"]["perturbed"][1])
    assert not Draft202012Validator(SCHEMA).is_valid(document)


def test_half_the_noise_in_a_certificate_is_found_out(world: Path) -> None:
    run(world)
    document = certificate(world)
    document["guarantee"]["perturbed"][1]["scale"] /= 2
    (world / "out" / "certificate.jsonld").write_text(json.dumps(document))
    with pytest.raises(GuaranteeError, match="noise"):
        smalti.verify(world / "out", registry=world / "another.sqlite")


def test_less_may_be_asked_for_on_the_command_line_and_means_are_estimated(world: Path) -> None:
    ran = command(
        "run", "policy.jsonld", "--data", f"{VISITS}=visits.csv", "--as", RESEARCH, "--owner", OWNER,
        "--out", "out", "--with", "delta=0.0001", "--registry", "registry.sqlite", cwd=world,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "gaussian: noise of scale" in " ".join(ran.out.split())
    assert charged(world).delta == Decimal("0.0001")
    shown = json.loads(command("estimate", "out", "--format", "json", cwd=world).out)
    (mean,) = shown["columns"][1]["estimates"]
    scale = certificate(world)["guarantee"]["perturbed"][1]["scale"]
    assert mean["margin"] == pytest.approx(1.959964 * scale / 40**0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"delta": ("", None)}, "P435|P411|delta"),
        ({"mechanism": ("eq", "laplace")}, "P435|never loses more"),
        ({"budget_delta": None}, "P438|budgetDelta"),
        ({"budget_delta": 0.0001}, "P438|budgetDelta"),
    ],
    ids=["no delta", "delta of laplace", "no budget", "small budget"],
)
def test_what_cannot_be_is_refused_and_charges_nothing(
    world: Path, changes: dict[str, Any], code: str
) -> None:
    if "delta" in changes:
        changes = {**changes, "mechanism": ("eq", "gaussian")}
    write_policy(world, **changes)
    with pytest.raises(SmaltiError, match=code):
        run(world)
    assert charged(world).spent.epsilon == 0
