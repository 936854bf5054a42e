"""Looking at models again: what was charged for them, and what it comes to with other releases."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from certificates import changed, instead, recorded, undercharge
from model_worlds import TARGET, people, policy, registry, run

import smalti
from smalti.engine.audits import noise
from smalti.engine.audits.plan import PrivateSteps, TrainingPlan
from smalti.engine.releases.plan import StatedLoss
from smalti.engine.serialize import plan_from_json
from smalti.errors import GuaranteeError


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
        with pytest.raises(GuaranteeError, match="the noise of the plan loses more than the plan says"):
            smalti.verify(world / "out", registry=registry(world))
    undercharge(world, "out", made, TARGET)
    assert recorded(world, "out") == before
    assert smalti.verify(world / "out", registry=registry(world)).version is not None


@pytest.mark.parametrize(("share", "is_the_same"), [("1.00000001", True), ("1.00001", False)])
def test_an_accountant_of_another_version_may_differ_in_its_last_digits(
    world: Path, monkeypatch: pytest.MonkeyPatch, share: str, is_the_same: bool
) -> None:
    of_this_version = noise.stated_loss

    def of_another_version(private: PrivateSteps, delta: Decimal) -> StatedLoss:
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
