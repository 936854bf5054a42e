"""How long a comparison takes, estimated from a pilot of its own size with few epochs."""

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from smalti.studies.comparison.models import measured
from smalti.studies.comparison.settings import NOISE_IN_TRAINING, Case, Central, Comparison, Original

_PILOT_EPOCHS: Final = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a comparison still takes on this machine, as busy as it is now."""

    models: int
    """Of the whole comparison."""
    remaining: int
    """Models that are not trained yet."""
    seconds: float
    """Of CPU, for these: nothing is promised. Of a study that took 15 minutes, a pilot said 13."""
    pilot_seconds: float
    """Of CPU, that the pilot took."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The seconds of CPU that targets of one kind take."""

    compiling: float
    """Once for each number of classes, and each noise in training."""
    target: float
    """All models of a target with one epoch, and the attack."""
    epoch: float
    """One further epoch of all models of a target."""

    def between(self, other: "Cost", share: float) -> "Cost":
        """A cost on the line from this one to another."""
        parts = (
            (1 - share) * own + share * others
            for own, others in (
                (self.compiling, other.compiling),
                (self.target, other.target),
                (self.epoch, other.epoch),
            )
        )
        return Cost(*parts)


def estimate(comparison: Comparison, done: Collection[Case] = ()) -> Estimate:
    """Measure a pilot, and extrapolate in epochs, targets and numbers of classes.

    The pilot is one target of the least and of the largest number of classes, without privacy and with
    noise in training; between them costs are taken for linear. Randomised response costs next to nothing.

    Args:
        comparison: what would be compared.
        done: the cases that need not be measured any more.

    Raises:
        BackendError: the extra `audit` is not installed.
    """
    begun = time.process_time()
    few, many = min(comparison.classes), max(comparison.classes)
    plain = {
        classes: _cost(comparison, Case(classes, NOISE_IN_TRAINING, Original(), 0))
        for classes in (few, many)
    }
    central = {
        classes: _cost(comparison, Case(classes, NOISE_IN_TRAINING, Central(noise), 0))
        for noise in comparison.noise_multipliers[:1]
        for classes in (few, many)
    }
    cases = [case for case in comparison.cases if case not in done]
    total = 0.0
    for classes in comparison.classes:
        own = [case for case in cases if case.classes == classes]
        share = (classes - few) / (many - few) if many > few else 0.0
        noisy = [case for case in own if isinstance(case.setting, Central)]
        cost = plain[few].between(plain[many], share)
        total += extrapolated(cost, comparison.epochs, len(own) - len(noisy), 1)
        if central:
            cost = central[few].between(central[many], share)
            kinds = len({case.setting for case in noisy})
            total += extrapolated(cost, comparison.epochs, len(noisy), kinds)
    remaining = len(cases) * (1 + comparison.shadow_models)
    return Estimate(comparison.models, remaining, total, time.process_time() - begun)


def extrapolated(cost: Cost, epochs: int, targets: int, compilations: int) -> float:
    """The seconds of so many targets with so many epochs each; none for no target.

    >>> extrapolated(Cost(5.0, 2.0, 0.5), epochs=3, targets=10, compilations=2)
    40.0
    """
    if not targets:
        return 0.0
    return compilations * cost.compiling + targets * (cost.target + (epochs - 1) * cost.epoch)


def _cost(comparison: Comparison, case: Case) -> Cost:
    first, again, longer = (
        _seconds(replace(comparison, epochs=epochs), case) for epochs in (1, 1, _PILOT_EPOCHS)
    )
    epoch = max(0.0, longer - again) / (_PILOT_EPOCHS - 1)
    return Cost(max(0.0, first - again), again, epoch)


def _seconds(comparison: Comparison, case: Case) -> float:
    """Of CPU, in all threads."""
    begun = time.process_time()
    measured(comparison, case)
    return time.process_time() - begun
