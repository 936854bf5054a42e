"""Looking at models again: what was charged for them, and what it comes to with other releases."""

import copy
import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from certificates import changed, instead, recorded, undercharge
from model_worlds import TARGET, people, policy, registry, run

import smalti
from smalti.engine.binding.stated import Stated
from smalti.engine.plan.files import Composition
from smalti.engine.plan.losses import PlannedLoss, StatedLoss
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.registry.budget import EpsilonDelta, compose
from smalti.engine.training import noise
from smalti.engine.training import recheck as model_recheck
from smalti.engine.training.attacks import FAMILIES
from smalti.engine.training.guarantee import ModelGuarantee, describe, limits
from smalti.engine.training.plan import PrivateSteps, TrainingPlan
from smalti.engine.training.recheck import check_sentences
from smalti.errors import BackendError, GuaranteeError
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.attacks import OF_SAMPLES


@pytest.fixture(scope="module", params=[1, 0.5], ids=["whole", "sampled"])
def world(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Two trainings with noise about the same people: Gaussian ones, or in batches."""
    folder = tmp_path_factory.mktemp("world")
    asked = policy(folder, is_audited=False, samplingRate=request.param, noiseMultiplier=4, budget=50)
    data = people(folder)
    for name in ("first", "out"):
        assert run(folder, data, name, policy=asked).version is not None
    return folder


@pytest.mark.parametrize("name", ["first", "out"])
def test_the_composition_of_a_model_is_that_of_its_noise(world: Path, name: str) -> None:
    """The belief of a training by itself is at a part of delta, and that of a composition at all of it."""
    seen = smalti.verify(world / name, registry=registry(world)).check
    assert any("composition" in one for one in seen.recounted)
    assert smalti.verify(world / name, registry=world / "another.sqlite").version is None
    document = json.loads((world / name / "certificate.jsonld").read_text())
    path = ("guarantee", "composition", "posteriorBelief")
    with (
        instead(world, name, certificate=changed(document, path, 0.51)),
        pytest.raises(GuaranteeError, match="does not contain the loss of this one"),
    ):
        smalti.verify(world / name, registry=world / "another.sqlite")


def test_a_charge_of_less_than_the_noise_loses_is_found(world: Path) -> None:
    made, before = plan_from_json(recorded(world, "out")), recorded(world, "out")
    assert isinstance(made, TrainingPlan)
    said = made.train.loss
    assert said is not None
    less: list[dict[str, Any]] = [
        {name: str(Fraction(getattr(said, name)) * Fraction("0.999"))}
        for name in ("pure", "mu_squared")
        if getattr(said, name) != "0"
    ]
    if said.selection_delta:
        less.append({"selection_delta": said.selection_delta * Decimal("0.999")})
    for lie in less:
        undercharge(
            world, "out", replace(made, train=replace(made.train, loss=replace(said, **lie))), TARGET
        )
        with pytest.raises(GuaranteeError, match="the noise of the plan loses more than the plan states"):
            smalti.verify(world / "out", registry=registry(world))
    undercharge(world, "out", made, TARGET)
    assert recorded(world, "out") == before
    assert smalti.verify(world / "out", registry=registry(world)).version is not None


@pytest.mark.parametrize(("share", "is_the_same"), [("1.00000001", True), ("1.00001", False)])
def test_an_accountant_of_another_version_may_differ_in_its_last_digits(
    world: Path, monkeypatch: pytest.MonkeyPatch, share: str, is_the_same: bool
) -> None:
    of_this_version = noise.stated_loss

    def of_another_version(private: PrivateSteps, delta: Decimal) -> PlannedLoss:
        made, more = of_this_version(private, delta), Decimal(share)
        return replace(
            made,
            epsilon=made.epsilon * more,
            belief=made.belief * float(more),
            advantage=made.advantage * float(more),
            pure=str(Fraction(made.pure) * Fraction(more)),
        )

    monkeypatch.setattr(noise, "stated_loss", of_another_version)
    if is_the_same:
        assert smalti.verify(world / "out", registry=registry(world)).version is not None
    else:
        with pytest.raises(GuaranteeError, match="the stated noise loses more than the stated loss"):
            smalti.verify(world / "out", registry=registry(world))


# --- A certificate alone, of which no registry knows -------------------------------------------------

PLACE, DELTA = Path("certificate.jsonld"), Decimal("0.00001")
STEPS = PrivateSteps(Decimal(4), Decimal(1), Decimal("0.5"), 10, NeighboringRelation.ADD_OR_REMOVE_ONE)
ACCOUNT = "that the stated loss matches the stated noise"


def alone(loss: StatedLoss, steps: PrivateSteps = STEPS) -> Stated[ModelGuarantee]:
    """A certificate whose sentences and composition follow from its loss."""
    promised = ModelGuarantee("differential-privacy", "mlp-128", loss, steps, None)
    account = compose(
        EpsilonDelta(loss.epsilon, loss.delta),
        PrivacyLoss.of_pure(Fraction(loss.epsilon)),
        Fraction(loss.delta),
    )
    together = StatedLoss(loss.epsilon, loss.delta, account.belief, account.advantage)
    return Stated(promised, Composition(together, 1), describe(promised), "", limits(promised))


@pytest.fixture(scope="module")
def true_loss() -> StatedLoss:
    made = noise.stated_loss(STEPS, DELTA)
    return StatedLoss(made.epsilon, made.delta, made.belief, made.advantage)


def test_a_loss_is_held_against_its_noise(true_loss: StatedLoss) -> None:
    assert ACCOUNT in check_sentences(PLACE, alone(true_loss)).recounted


LIES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"epsilon": Decimal("0.01"), "belief": 0.5025, "advantage": 0.0025}, {}),
    ({"belief": 0.51}, {}),
    ({"advantage": 0.001}, {}),
    ({}, {"noise_multiplier": Decimal(2)}),
    ({}, {"steps": 20}),
)


@pytest.mark.parametrize(("less", "steps"), LIES)
def test_noise_that_loses_more_is_found_without_a_record(
    true_loss: StatedLoss, less: dict[str, Any], steps: dict[str, Any]
) -> None:
    with pytest.raises(GuaranteeError, match="the stated noise loses more than the stated loss"):
        check_sentences(PLACE, alone(replace(true_loss, **less), replace(STEPS, **steps)))


@pytest.mark.parametrize(
    "lie",
    [{"noise_multiplier": Decimal("0.001")}, {"sampling_rate": Decimal(0)}, {"steps": 10**400}],
)
def test_noise_without_an_account_is_refused(true_loss: StatedLoss, lie: dict[str, Any]) -> None:
    with pytest.raises(GuaranteeError, match="the stated noise cannot be accounted for"):
        check_sentences(PLACE, alone(true_loss, replace(STEPS, **lie)))


def test_without_the_accountant_it_is_said_that_nothing_was_compared(
    true_loss: StatedLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> PlannedLoss:
        raise BackendError("dp-accounting", "it is not installed", "the extra `audit`")

    monkeypatch.setattr(noise, "stated_loss", missing)
    seen = check_sentences(PLACE, alone(true_loss))
    assert ACCOUNT in seen.attested
    assert ACCOUNT not in seen.recounted


def test_an_account_of_too_many_steps_is_of_fewer(
    true_loss: StatedLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes a certificate chooses the steps, and the account must not take all memory."""
    monkeypatch.setattr(model_recheck, "_MOST_LOSS", 0.1)
    asked: list[int] = []
    of_all = noise.stated_loss

    def of_few(private: PrivateSteps, delta: Decimal) -> PlannedLoss:
        asked.append(private.steps)
        return of_all(private, delta)

    monkeypatch.setattr(noise, "stated_loss", of_few)
    assert ACCOUNT in check_sentences(PLACE, alone(true_loss)).attested
    assert 1 <= asked[0] < STEPS.steps
    with pytest.raises(GuaranteeError, match="loses more"):
        check_sentences(PLACE, alone(replace(true_loss, epsilon=Decimal("0.01")), STEPS))


SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())
AUDITED: dict[str, Any] = {
    "model": "audited",
    "recipe": "mlp-128",
    "audit": {
        "attacks": sorted(FAMILIES.keys() - OF_SAMPLES),
        "bounds": [
            {"figure": "attackAdvantage", "most": "0.3"},
            {"figure": "truePositiveRate", "most": "0.05", "falsePositiveRate": "0.01"},
            {"figure": "epsilonLowerBound", "most": "2"},
        ],
        "confidence": "0.95",
        "shadowModels": 16,
    },
    "statement": "a sentence",
}


def is_valid(path: tuple[str | int, ...] = (), value: object = None) -> bool:
    """Whether the schema accepts a guarantee of which one member is something else."""
    document: Any = copy.deepcopy(AUDITED) if not path else json.loads(changed(AUDITED, path, value))
    rules = {"$schema": SCHEMA["$schema"], "$defs": SCHEMA["$defs"], "$ref": "#/$defs/trained"}
    return bool(jsonschema.Draft202012Validator(rules).is_valid(document))


def test_the_schema_knows_every_attack() -> None:
    assert is_valid()
    items = SCHEMA["$defs"]["trained"]["properties"]["audit"]["properties"]["attacks"]["items"]
    assert sorted(items["enum"]) == sorted(FAMILIES.keys() - OF_SAMPLES)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("audit", "attacks"), ["made-up"]),
        (("audit", "attacks"), []),
        (("audit", "confidence"), "1.5"),
        (("audit", "confidence"), "1"),
        (("audit", "confidence"), "0.0"),
        (("audit", "bounds", 0, "figure"), "truePositiveRate"),
        (("audit", "bounds", 1, "figure"), "attackAdvantage"),
        (("audit", "bounds", 1, "falsePositiveRate"), "1.0"),
        (("recipe",), "evil <b>\x1b[31m"),
        (("recipe",), "mlp-128\n"),
        (("recipe",), ""),
    ],
)
def test_a_certificate_that_no_run_writes_is_none(path: tuple[str | int, ...], value: object) -> None:
    assert not is_valid(path, value)
