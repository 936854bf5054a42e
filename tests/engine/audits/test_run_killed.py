"""Trainings that are killed at any point leave no target; and two that take up one checkpoint at once.

Processes and trainings are real, one takes about 4 s of CPU: so all of it is for `make test-full`.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from killed_training import POINTS, REFUSED
from model_worlds import OUTPUT, TARGET, numbers_of, people, policy, registry, run

from smalti.engine.registry.attempts import AttemptState
from smalti.vocab.terms import IRI

pytestmark = pytest.mark.slow
_PATIENCE = 600
"""Seconds; the machine may be shared."""

CHARGED = list(POINTS).index("charge")
BEGUN = list(POINTS).index("begin")
KEPT = list(POINTS).index("keep")
ENDED = list(POINTS).index("end")
PUBLISHED = list(POINTS).index("publish")
POINTS_OF_DEATH = [f"{name}:{when}" for name in POINTS for when in ("before", "after")]

DEATHS = [(point, True) for point in POINTS_OF_DEATH] + [
    (point, False) for point in POINTS_OF_DEATH if not point.startswith("charge")
]
"""Where a training dies, and whether it is private; nothing is charged without noise."""


def child(folder: Path, call: str) -> subprocess.Popen[str]:
    """A process of its own that works in a folder, and calls a function of `killed_training`."""
    tests = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", f"import killed_training; killed_training.{call}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(tests)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed(folder: Path, call: str) -> None:
    process = child(folder, call)
    _, said = process.communicate(timeout=_PATIENCE)
    assert process.returncode == -signal.SIGKILL, said


def versions(folder: Path) -> int:
    return len(registry(folder).versions(IRI(OUTPUT)))


def charges(folder: Path) -> int:
    return len(registry(folder).ledger.budget(IRI(TARGET)).charges)


def states(folder: Path) -> list[AttemptState]:
    return [one.state for one in registry(folder).attempts(IRI(OUTPUT))]


def is_past(point: str, step: int) -> bool:
    """Whether a step was done when the run died."""
    name, when = point.split(":")
    place = list(POINTS).index(name)
    return place > step or (place == step and when == "after")


@pytest.mark.parametrize(("point", "is_private"), DEATHS)
def test_a_killed_training_leaves_no_target_and_is_taken_up(
    tmp_path: Path, point: str, is_private: bool
) -> None:
    people(tmp_path)
    killed(tmp_path, f"train({point!r}, {is_private})")
    is_done = is_past(point, PUBLISHED)
    assert versions(tmp_path) == is_done
    assert (tmp_path / "out").exists() == is_done
    assert charges(tmp_path) == (is_private and is_past(point, CHARGED))
    expected = [AttemptState.MET if is_past(point, ENDED) else AttemptState.BEGUN]
    assert states(tmp_path) == expected * is_past(point, BEGUN)
    if is_done:
        return
    kept = tmp_path / "kept" / "target.safetensors"
    model = numbers_of(kept.read_bytes()) if is_past(point, KEPT) else None
    given = policy(tmp_path, noise=is_private)
    again = run(tmp_path, tmp_path / "people.csv", policy=given, checkpoint=tmp_path / "kept")
    assert again.version is not None, again.decision.reasons
    assert versions(tmp_path) == 1
    assert not kept.exists()
    assert not [*tmp_path.glob(".smalti*")]
    published = numbers_of((again.version.path / again.version.files[0].name).read_bytes())
    assert model in (None, published), "what exists is not trained again"
    assert charges(tmp_path) == is_private * (1 + (is_past(point, CHARGED) and model is None))
    assert states(tmp_path)[-1] is AttemptState.MET


def test_of_two_that_take_up_one_checkpoint_at_once_one_does(tmp_path: Path) -> None:
    people(tmp_path)
    killed(tmp_path, "train('keep:after', True)")
    children = [child(tmp_path, f"train_slowly({out!r})") for out in ("one", "two")]
    said = [one.communicate(timeout=_PATIENCE) for one in children]
    assert sorted(one.returncode for one in children) == [0, REFUSED], said
    (refused,) = (out for one, (out, _) in zip(children, said, strict=True) if one.returncode == REFUSED)
    assert "another run is working with this checkpoint" in refused
    assert (versions(tmp_path), charges(tmp_path), states(tmp_path)) == (1, 1, [AttemptState.MET])
    assert not (tmp_path / "kept").exists()
