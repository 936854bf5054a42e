"""The comparison of central and local differential privacy: run it, show it, write it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from smalti.engine.jobs.requests import COMPARED_PAGE, COMPARED_REPORT
from smalti.errors import UsageError, only_ours
from smalti.reports.comparison import name, page
from smalti.reports.page import Page
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
    classes=(20, 50),
    records=1000,
    epochs=20,
    shadow_models=2,
    repetitions=2,
    noise_multipliers=(2.0, 8.0),
    local_epsilons=(5.0, 1.0, 0.1),
    noises=(0.5, 0.2),
)
"""About a minute of CPU."""
PAPER: Final = Comparison(
    classes=(10, 20, 50, 100),
    records=10_000,
    epochs=200,
    shadow_models=10,
    repetitions=5,
)
"""D5.2's. It does not print the numbers of records, shadow models and repetitions; 10,000 records give its
epsilons."""

_INFINITE: Final = "INF"
"""As in the lexical space of xsd:double; JSON has no number for it."""


@dataclass(frozen=True, slots=True)
class Study:
    """The results of a comparison, for people and for programs."""

    compared: Compared

    def page(self, *, with_drawings: bool) -> Page:
        """For people."""
        return page(self.compared, with_drawings=with_drawings)

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
            "results": [_row(comparison, row) for row in self.compared.rows],
            "skews": [_skew(skew) for skew in self.compared.skews],
        }


@only_ours()
def study(comparison: Comparison, trained: Callable[[], None]) -> Study:
    """Train and attack all models of a comparison.

    Args:
        comparison: its settings and sizes.
        trained: called after each model, of which there are `comparison.models`.

    Raises:
        BackendError: the extra `audit` is not installed.
    """
    return Study(compare(comparison, trained))


def prepared(folder: Path) -> Path:
    """Create the folder, or check that it holds no study, so that no study is lost at its end.

    Raises:
        UsageError: it holds a study already, or cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    for file in (folder / COMPARED_PAGE, folder / COMPARED_REPORT):
        if file.exists():
            raise UsageError(str(file), "it exists already", "a new folder", "name another one")
    return folder


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
        "ofMeans": _number(efficiency.of_means),
        "lowest": _number(efficiency.lowest),
        "highest": _number(efficiency.highest),
    }


def _number(value: float | None) -> float | str | None:
    return _INFINITE if value == math.inf else value


def _skew(skew: Skew) -> dict[str, Any]:
    return {
        "classes": skew.classes,
        "noiseInTraining": skew.noise_in_training,
        "entropyDifference": skew.entropy_difference,
        "precisionAgainstTest": _spread(skew.precision),
        "precisionAgainstUnseen": _spread(skew.precision_of_unseen),
    }
