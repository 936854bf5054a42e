"""The comparison of central and local differential privacy: run it, show it, write it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from smalti.engine.jobs.requests import COMPARED_PAGE, COMPARED_REPORT
from smalti.engine.tables.locks import taken
from smalti.errors import UsageError, only_ours
from smalti.json.comparisons import findings_json, number
from smalti.reports.comparison import page
from smalti.reports.comparison_words import name
from smalti.reports.page import Page
from smalti.studies.comparison.checkpoint import Checkpoint
from smalti.studies.comparison.estimate import Estimate, estimate
from smalti.studies.comparison.results import (
    Attacked,
    Compared,
    Efficiency,
    Row,
    Skew,
    Spread,
    compare,
)
from smalti.studies.comparison.settings import Central, Comparison, Local, Setting
from smalti.studies.comparison.skewed_purchases import FEATURES

REDUCED: Final = Comparison(
    classes=(10, 20, 50, 100),
    records=2000,
    epochs=10,
    shadow_models=1,
    repetitions=8,
    noises=(0.5, 0.2, 0.1),
)
"""A quarter of an hour of CPU: the settings of D5.2, a fifth of its records, a hundredth of its steps."""
PAPER: Final = Comparison(
    classes=(10, 20, 50, 100),
    records=10_000,
    epochs=200,
    shadow_models=10,
    repetitions=5,
)
"""D5.2's. It does not print the numbers of records, shadow models and repetitions; 10,000 records give its
epsilons."""

TARGETS_NAME: Final = "targets.jsonl"
"""Where what was measured is kept, target by target."""
_LOCK_NAME: Final = "lock"


@dataclass(frozen=True, slots=True)
class Study:
    """The results of a comparison, for people and for programs."""

    compared: Compared

    def page(self, *, in_full: bool) -> Page:
        """For people; in full with drawings, and with every interval."""
        return page(self.compared, in_full=in_full)

    def to_json(self) -> dict[str, Any]:
        """All figures. An infinite mitigation efficiency is `"INF"`, one that is not defined null."""
        comparison = self.compared.comparison
        return {
            "study": "central and local differential privacy, compared by membership inference",
            "randomness": "seed, test only",
            "seed": comparison.seed,
            "data": "Skewed Purchases",
            "features": FEATURES,
            "records": comparison.records,
            "epochs": comparison.epochs,
            "shadowModels": comparison.shadow_models,
            "repetitions": comparison.repetitions,
            "delta": comparison.delta,
            "findings": findings_json(self.compared.findings),
            "results": [_row(comparison, row) for row in self.compared.rows],
            "skews": [_skew(skew) for skew in self.compared.skews],
        }


@only_ours()
def study(comparison: Comparison, trained: Callable[[int], None], folder: Path | None = None) -> Study:
    """Train and attack all models of a comparison.

    Args:
        comparison: its settings and sizes.
        trained: called with a number of models, of all `comparison.models`, as they are trained.
        folder: keeps what was measured, so that a study which ended early goes on there; None: nothing is
            kept.

    Raises:
        UsageError: the folder holds targets of other settings.
        BackendError: the extra `audit` is not installed; the disk.
    """
    return Study(
        compare(comparison, trained, None if folder is None else Checkpoint(folder / TARGETS_NAME))
    )


@only_ours()
def estimated(comparison: Comparison, folder: Path | None = None) -> Estimate:
    """How long a study takes on this machine, by a pilot.

    Args:
        comparison: its settings and sizes.
        folder: where it was begun; what is there takes no more time.

    Raises:
        UsageError, BackendError: as of `study`.
    """
    begun = folder is not None and (folder / TARGETS_NAME).exists()
    kept = Checkpoint(folder / TARGETS_NAME).begun(comparison) if folder is not None and begun else ()
    return estimate(comparison, {target.case for target in kept})


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate for programs."""
    return {
        "models": estimate.models,
        "modelsRemaining": estimate.remaining,
        "cpuSeconds": round(estimate.seconds),
        "cpuSecondsOfPilot": round(estimate.pilot_seconds, 1),
    }


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make the folder of a study, and hold it until the end of the block.

    It may hold targets of a study that ended early, and no finished one, so that none is lost at the end.

    Raises:
        UsageError: it holds a finished study, or cannot be created, or another process works in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = taken(folder / _LOCK_NAME)
    except OSError as error:
        raise _unwritable(folder, error) from None
    if lock is None:
        raise UsageError(
            str(folder), "another process works in it", "one study at a time", "name another folder"
        )
    try:
        for file in (folder / COMPARED_PAGE, folder / COMPARED_REPORT):
            if file.exists():
                raise UsageError(str(file), "it exists already", "a new folder", "name another one")
        yield
    finally:
        (folder / _LOCK_NAME).unlink(missing_ok=True)
        os.close(lock)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        str(path), f"it cannot be written ({error.strerror})", "a folder that you may write to"
    )


def _row(comparison: Comparison, row: Row) -> dict[str, Any]:
    return {
        "classes": row.classes,
        "setting": name(row.setting),
        **_of_setting(comparison, row.setting),
        "testAccuracy": _spread(row.test_accuracy),
        "trainAccuracy": _spread(row.train_accuracy),
        "againstTest": _attacked(row.against_test),
        "againstUnseen": _attacked(row.against_unseen),
    }


def _of_setting(comparison: Comparison, setting: Setting) -> dict[str, float]:
    match setting:
        case Central(noise_multiplier=noise):
            return {
                "noiseMultiplier": noise,
                "epsilonByRenyi": comparison.epsilon_by_renyi(setting),
                "epsilon": comparison.epsilon(setting),
            }
        case Local(epsilon=epsilon):
            return {"epsilonOfBit": epsilon, "epsilon": comparison.response(setting).record_epsilon}
        case _:
            return {}


def _attacked(attacked: Attacked) -> dict[str, Any]:
    return {
        "precision": _spread(attacked.precision),
        "recall": _spread(attacked.recall),
        "efficiencyOfPrecision": _efficiency(attacked.efficiency_of_precision),
        "efficiencyOfRecall": _efficiency(attacked.efficiency_of_recall),
    }


def _spread(spread: Spread) -> dict[str, Any]:
    return {"mean": spread.mean, "standardDeviation": spread.standard_deviation}


def _efficiency(efficiency: Efficiency | None) -> dict[str, Any] | None:
    if efficiency is None:
        return None
    return {
        "ofMeans": number(efficiency.of_means),
        "lowest": number(efficiency.lowest),
        "highest": number(efficiency.highest),
    }


def _skew(skew: Skew) -> dict[str, Any]:
    return {
        "classes": skew.classes,
        "noiseInTraining": skew.noise_in_training,
        "entropyDifference": skew.entropy_difference,
        "precisionAgainstTest": _spread(skew.precision),
        "precisionAgainstUnseen": _spread(skew.precision_of_unseen),
    }
