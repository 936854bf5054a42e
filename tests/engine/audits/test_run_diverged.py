"""A training that diverges ends as that, and not as too little data; no model of it is registered.

Trainings are real: their recipe takes steps of any size. About 8 s of CPU in all.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_worlds import OUTPUT, OWNER, TARGET, people, policy, registry, run

from smalti import auditing
from smalti.engine.registry.attempts import Attempt, AttemptReason, AttemptState, from_record, to_record
from smalti.engine.training import attempt as running
from smalti.engine.training.divergence import DivergedError, has_diverged
from smalti.json.text import as_json
from smalti.transforms.learning import models, recipes
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer
from smalti.transforms.learning.models import TrainedModel
from smalti.transforms.learning.networks import Layer
from smalti.transforms.learning.randomness import Origin
from smalti.vocab.terms import IRI

WILD = recipes.Recipe("wild", (), Activation.TANH, Hyperparameters(2, 1, 3e38, Optimizer.SGD))


@pytest.fixture(autouse=True)
def wild(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(recipes._OURS, WILD.name, WILD)


def attempts(folder: Path) -> tuple[Attempt, ...]:
    return registry(folder).attempts(IRI(OUTPUT))


def is_without_model(folder: Path) -> bool:
    return not registry(folder).versions(IRI(OUTPUT)) and not [*folder.glob("**/*.safetensors")]


def report(folder: Path, path: Path | None = None) -> str:
    found = auditing.audits(OUTPUT, party=OWNER, registry=registry(folder))
    if path is not None:
        auditing.write_page(found, str(path))
        return path.read_text(encoding="utf-8")
    return as_json(auditing.to_json(found))


def test_without_noise_it_is_an_error_that_says_what_happened(tmp_path: Path) -> None:
    asked = policy(tmp_path, noise=False, recipe=WILD.name)
    with pytest.raises(DivergedError) as caught:
        run(tmp_path, people(tmp_path), policy=asked, checkpoint=tmp_path / "kept")
    said = str(caught.value)
    assert "diverged" in said
    assert "smaller learning rate" in said
    assert "too little" not in said
    (attempt,) = attempts(tmp_path)
    assert (attempt.state, attempt.reason) == (AttemptState.FAILED, AttemptReason.DIVERGED)
    assert is_without_model(tmp_path)


@pytest.mark.parametrize("is_audited", [True, False])
def test_with_noise_it_is_charged_and_denied(tmp_path: Path, is_audited: bool) -> None:
    asked = policy(tmp_path, recipe=WILD.name, is_audited=is_audited)
    outcome = run(tmp_path, people(tmp_path), policy=asked, checkpoint=tmp_path / "kept")
    assert not outcome.decision.is_permitted
    assert (outcome.version, outcome.plan, outcome.report) == (None, None, None)
    (reason,) = outcome.decision.reasons
    assert "the training diverged" in reason.text
    assert "audit" not in reason.text
    assert len(registry(tmp_path).ledger.budget(IRI(TARGET)).charges) == 1
    assert is_without_model(tmp_path)
    found = [(one.state, one.reason) for one in attempts(tmp_path)]
    assert found == [(AttemptState.INCONCLUSIVE, AttemptReason.DIVERGED)] * is_audited
    if is_audited:
        for shown in (report(tmp_path), report(tmp_path, tmp_path / "page.html")):
            assert AttemptReason.DIVERGED.sentence in shown, "the owner sees why"
            assert "did not find the leak" not in shown


def test_the_owner_sees_that_data_was_too_little(tmp_path: Path) -> None:
    outcome = run(tmp_path, people(tmp_path, 13))
    (reason,) = outcome.decision.reasons
    assert "too little" not in reason.text
    (attempt,) = attempts(tmp_path)
    assert (attempt.state, attempt.reason) == (AttemptState.INCONCLUSIVE, AttemptReason.TOO_LITTLE)
    shown = report(tmp_path)
    assert AttemptReason.TOO_LITTLE.sentence in shown


@pytest.mark.parametrize("noise", [True, False])
def test_shadow_models_that_diverge_are_told_to_the_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: bool
) -> None:
    """Where training is private they are covered by no charge; the model itself is as good as any."""

    def tame(made: Any, *given: Any) -> TrainedModel:
        return network(made.train.width, made.train.classes)

    monkeypatch.setattr(running, "target", tame)
    asked = policy(tmp_path, recipe=WILD.name, noise=noise, attacks=["lira-online"])
    if noise:
        outcome = run(tmp_path, people(tmp_path), policy=asked)
        (reason,) = outcome.decision.reasons
        assert reason.text == running.NOT_MET
    else:
        with pytest.raises(DivergedError, match="of a shadow model diverged"):
            run(tmp_path, people(tmp_path), policy=asked)
    (attempt,) = attempts(tmp_path)
    state = AttemptState.INCONCLUSIVE if noise else AttemptState.FAILED
    assert (attempt.state, attempt.reason) == (state, AttemptReason.SHADOWS_DIVERGED)
    assert is_without_model(tmp_path)


# --- What diverged -------------------------------------------------------------------------------


def network(*sizes: int, scale: float = 0.5, activation: Activation = Activation.TANH) -> TrainedModel:
    """With all weights alike, and biases of 0."""
    architecture = Architecture(sizes[0], sizes[1:-1], sizes[-1], activation)
    layers = tuple(
        Layer(np.full(shape, scale, np.float32), np.zeros(shape[1], np.float32))
        for shape in architecture.shapes
    )
    description = models.Description(architecture, Hyperparameters(1, 1, 1.0), Origin.SYSTEM)
    return TrainedModel(description, layers)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("part", ["weights", "biases"])
def test_a_weight_that_is_no_finite_number(value: float, layer: int, part: str) -> None:
    made = network(3, 4, 2)
    assert not has_diverged(made)
    getattr(made.parameters[layer], part)[..., 0] = value
    assert has_diverged(made)


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("scale", [1e10, 1e20, 1e37, 3e38])
def test_what_is_not_called_diverged_gives_confidences(activation: Activation, scale: float) -> None:
    made = network(5, 6, 2, scale=scale, activation=activation)
    given = made.confidences(np.random.default_rng(1).random((20, 5)).astype(np.float32))
    assert has_diverged(made) or np.isfinite(given).all()
    assert has_diverged(made) or scale < 3e38


def test_a_large_network_of_large_weights_is_said_to_diverge_only_where_it_may() -> None:
    assert not has_diverged(network(5, 6, 2, scale=1e30)), "units of tanh give 1 at most"
    assert has_diverged(network(5, 6, 2, scale=1e30, activation=Activation.RELU))


def test_the_error_survives_a_worker_process() -> None:
    for reason in (AttemptReason.DIVERGED, AttemptReason.SHADOWS_DIVERGED):
        error = DivergedError(reason)
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.reason) == (str(error), reason)


def test_a_reason_is_kept_in_the_place_of_figures() -> None:
    for reason in AttemptReason:
        assert from_record(to_record("", reason)) == ("", reason)
        assert not reason.sentence.endswith(".")
    assert from_record(to_record('{"attempt":1}', None)) == ('{"attempt":1}', None)
    assert from_record("") == ("", None)
