"""A training with one step that kills it, or that waits; what `test_run_killed` runs in child processes."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import model_worlds

from smalti.engine.registry.trainings import Trainings
from smalti.engine.run import driver
from smalti.engine.training import attempt as running
from smalti.engine.training import compile as compiling
from smalti.engine.training import records
from smalti.engine.training.checkpoint import Checkpoint
from smalti.engine.training.examine import Examination
from smalti.errors import UsageError

POINTS: dict[str, tuple[Any, str]] = {
    "compile": (compiling, "compile_training"),
    "records": (records, "training_records"),
    "charge": (driver, "refusal"),
    "begin": (Trainings, "begin"),
    "train": (running, "target"),
    "keep": (Checkpoint, "keep"),
    "attack": (Examination, "figures"),
    "judge": (running, "verdict"),
    "end": (Trainings, "end"),
    "save": (running, "save"),
    "certify": (driver, "new_version"),
    "publish": (driver, "publish"),
    "forget": (Checkpoint, "forget"),
}
"""The steps of a run, in their order."""
REFUSED = 2
"""The exit code of a run that another one keeps out."""


def train(point: str, is_private: bool) -> None:
    """A run with a checkpoint in this folder; it kills itself `before` or `after` a step (`save:after`)."""
    name, when = point.split(":")
    owner, attribute = POINTS[name]
    real: Callable[..., Any] = getattr(owner, attribute)

    def killing(*given: Any, **named: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        real(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, attribute, killing)
    run(is_private, "out")


def train_slowly(out: str) -> None:
    """A run with a checkpoint in this folder, that takes its time to judge; leaves with `REFUSED`."""
    real = running.verdict

    def waiting(*given: Any) -> Any:
        Path("judging").touch()
        until = time.monotonic() + 300
        while not Path("refused").exists() and time.monotonic() < until:
            time.sleep(0.02)
        return real(*given)

    running.verdict = waiting  # type: ignore[attr-defined]
    try:
        run(True, out)
    except UsageError as error:
        print(error, flush=True)
        Path("refused").touch()
        os._exit(REFUSED)


def run(is_private: bool, out: str) -> Any:
    """Train on the people of this folder, by the policy of this folder."""
    folder = Path.cwd()
    asked = folder / "policy.jsonld"
    if not asked.exists():
        asked = model_worlds.policy(folder, noise=is_private)
    return model_worlds.run(folder, folder / "people.csv", out, policy=asked, checkpoint=folder / "kept")
