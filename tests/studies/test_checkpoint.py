"""What a comparison keeps of its targets, and how it goes on; models that learn nothing, 2 s."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smalti.errors import BackendError, UsageError
from smalti.studies.comparison import models
from smalti.studies.comparison.checkpoint import Checkpoint
from smalti.studies.comparison.estimate import Cost, estimate, extrapolated
from smalti.studies.comparison.running import targets
from smalti.studies.comparison.settings import Central, Comparison, Original

SMALL = Comparison(
    classes=(2,), records=60, epochs=1, shadow_models=1, repetitions=2,
    noise_multipliers=(2.0, 4.0), local_epsilons=(1.0,), noises=(0.5,),
)  # fmt: skip


class KilledError(Exception):
    pass


@pytest.fixture(autouse=True)
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The seeds of what was trained; each model says something of its own."""
    seeds: list[int] = []

    class Talkative:
        def __init__(self, seed: int, classes: int) -> None:
            self.weights = np.random.default_rng(seed).normal(0, 1, (600, classes))

        def confidences(self, features: np.ndarray) -> np.ndarray:
            odds = np.exp((features - 0.3) @ self.weights / 10)
            return (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)

    def train(*arguments):
        seeds.append(arguments[-1].seed)
        return [Talkative(arguments[-1].seed, arguments[0].classes)]

    monkeypatch.setattr(models, "train", train)
    return seeds


def killed_after(number: int):
    """A caller that kills the process at one of its models."""
    left = [number]

    def trained(models: int) -> None:
        left[0] -= models
        if left[0] < 0:
            raise KilledError

    return trained


@pytest.mark.parametrize("models_trained", [0, 3, 5, 12])
def test_a_comparison_that_was_killed_goes_on(
    tmp_path: Path, trained: list[int], models_trained: int
) -> None:
    whole = targets(SMALL)
    assert len(trained) == SMALL.models == 20
    checkpoint = Checkpoint(tmp_path / "targets.jsonl")
    with pytest.raises(KilledError):
        targets(SMALL, killed_after(models_trained), checkpoint)
    trained.clear()
    heard: list[int] = []
    assert targets(SMALL, heard.append, checkpoint) == whole
    assert sum(heard) == SMALL.models
    kept = heard[0] // 2
    assert kept == models_trained // 2
    # In the midst of a repetition, the shadow models of its original are trained once more.
    is_in_midst = isinstance(SMALL.cases[kept].setting, Central)
    assert len(trained) == SMALL.models - heard[0] + is_in_midst
    trained.clear()
    assert targets(SMALL, checkpoint=checkpoint) == whole
    assert not trained


def test_shadow_models_without_privacy_attack_targets_with_noise_alone() -> None:
    for target in targets(SMALL):
        is_central = isinstance(target.case.setting, Central)
        assert (target.unadapted is not None) == is_central
        if target.unadapted is not None:
            assert target.unadapted != target.against_test


def test_half_a_line_is_cut_off(tmp_path: Path, trained: list[int]) -> None:
    checkpoint = Checkpoint(tmp_path / "targets.jsonl")
    whole = targets(SMALL, checkpoint=checkpoint)
    content = checkpoint.path.read_bytes()
    checkpoint.path.write_bytes(content[:-20])
    trained.clear()
    assert targets(SMALL, checkpoint=checkpoint) == whole
    assert checkpoint.path.read_bytes() == content
    assert len(trained) == 2


def test_lines_that_somebody_removed_are_measured_again(tmp_path: Path) -> None:
    """Each with the shadow models of its own repetition: its original's."""
    checkpoint = Checkpoint(tmp_path / "targets.jsonl")
    whole = targets(SMALL, checkpoint=checkpoint)
    head, *lines = checkpoint.path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [
        line for line, case in zip(lines, SMALL.cases, strict=True) if not isinstance(case.setting, Central)
    ]
    assert len(kept) == len(lines) - 4
    checkpoint.path.write_text("".join([head, *kept]), encoding="utf-8")
    assert targets(SMALL, checkpoint=checkpoint) == whole


def test_targets_of_other_settings_are_refused(tmp_path: Path, trained: list[int]) -> None:
    checkpoint = Checkpoint(tmp_path / "targets.jsonl")
    targets(SMALL, checkpoint=checkpoint)
    trained.clear()
    for other in (replace(SMALL, seed=1), replace(SMALL, records=61), replace(SMALL, repetitions=3)):
        with pytest.raises(UsageError, match="begun with other settings"):
            targets(other, checkpoint=checkpoint)
    assert not trained


@pytest.mark.parametrize(
    "changed", [{"case": 99}, {"case": 0}, {"test_accuracy": 1.5}, {"against_test": [61, 1]}, {"more": 1}]
)
def test_lines_that_no_comparison_wrote_are_refused(tmp_path: Path, changed: dict[str, object]) -> None:
    checkpoint = Checkpoint(tmp_path / "targets.jsonl")
    targets(SMALL, checkpoint=checkpoint)
    *kept, last = checkpoint.path.read_text(encoding="utf-8").splitlines()
    for line in (json.dumps({**json.loads(last), **changed}), "{}", "what"):
        checkpoint.path.write_text("\n".join([*kept, line]) + "\n", encoding="utf-8")
        with pytest.raises(UsageError, match=f"line {len(kept) + 1}"):
            checkpoint.begun(SMALL)


def test_a_disk_that_fails(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="disk failed"):
        Checkpoint(tmp_path / "nowhere" / "targets.jsonl").begun(SMALL)


def test_a_cost_is_extrapolated_and_mixed() -> None:
    few, many = Cost(4.0, 1.0, 0.5), Cost(8.0, 3.0, 1.5)
    assert few.between(many, 0.0) == few
    assert few.between(many, 0.25) == Cost(5.0, 1.5, 0.75)
    assert extrapolated(few, epochs=200, targets=0, compilations=0) == 0
    assert extrapolated(few, epochs=1, targets=3, compilations=2) == 11


def test_an_estimate_counts_what_is_left(trained: list[int]) -> None:
    two = replace(SMALL, classes=(2, 3), shadow_models=2)
    found = estimate(two)
    # One target without privacy and one with noise, of two numbers of classes, three times each.
    assert len(trained) == 2 * 2 * 3 * 3
    assert (found.models, found.remaining) == (two.models, two.models)
    assert min(found.seconds, found.pilot_seconds) > 0
    half = estimate(two, {case for case in two.cases if case.classes == 2})
    assert half.remaining == two.models // 2
    assert estimate(two, set(two.cases)).seconds == 0


def test_an_estimate_without_noise_in_training(trained: list[int]) -> None:
    plain = replace(SMALL, noise_multipliers=())
    assert plain.cases[0].setting == Original()
    assert estimate(plain).remaining == plain.models
