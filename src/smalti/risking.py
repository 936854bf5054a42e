"""The risk of a noise, from whichever of its figures is stated: for people and for programs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from smalti.errors import SmaltiError, UsageError, only_ours, raise_all
from smalti.reports.page import Page
from smalti.reports.risks import page
from smalti.transforms.auditing.risk import (
    Calibration,
    ClosedForm,
    Mechanism,
    Risk,
    Steps,
    calibrations,
    closed_forms,
    noise_for_advantage,
    noise_for_belief,
    noise_for_epsilon,
    risk_of_noise,
)
from smalti.transforms.learning.accounting import LARGEST_STEPS, LEAST_DELTA, LEAST_NOISE
from smalti.transforms.learning.hyperparameters import LARGEST_NOISE

_TOLERANCE: Final = 0.01
"""Relative, between the noises that several stated figures take: whoever states them rounds."""
_Answer = TypeVar("_Answer")
_INFINITE: Final = "INF"
"""As in the lexical space of xsd:double; JSON has no number for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What somebody knows of some releases; None where nothing is stated."""

    mechanism: Mechanism = Mechanism.GAUSSIAN
    epsilon: float | None = None
    delta: float | None = None
    """Of epsilon and of the belief; required for the Gaussian mechanism."""
    belief: float | None = None
    advantage: float | None = None
    noise_multiplier: float | None = None
    sigma: float | None = None
    """The standard deviation (Gaussian) or the scale (Laplace) of the noise of one step."""
    sensitivity: float = 1.0
    """Of one step: l2 for the Gaussian, l1 for the Laplace mechanism; `sigma` is in the same units."""
    steps: int = 1
    sampling_rate: float = 1.0


@dataclass(frozen=True, slots=True)
class Shown:
    """The answer."""

    risk: Risk
    sensitivity: float
    closed_forms: tuple[ClosedForm, ...]
    calibrations: tuple[Calibration, ...]
    """Of Gaussian noise without sampling, with this epsilon and delta; else none."""

    @property
    def sigma(self) -> float:
        """Of one step, in the units of the sensitivity."""
        return self.risk.noise_multiplier * self.sensitivity

    def page(self, *, with_drawings: bool) -> Page:
        """For people."""
        return page(
            self.risk, self.sigma, self.closed_forms, self.calibrations, with_drawings=with_drawings
        )

    def to_json(self) -> dict[str, Any]:
        """All figures; an infinite one is `"INF"`."""
        risk, of = self.risk, self.risk.of
        return {
            "mechanism": str(of.mechanism),
            "steps": of.steps,
            "samplingRate": of.sampling_rate,
            "delta": of.delta,
            "epsilon": _number(risk.epsilon),
            "posteriorBelief": risk.belief,
            "membershipAdvantage": risk.advantage,
            "noiseMultiplier": risk.noise_multiplier,
            "sensitivity": self.sensitivity,
            "sigma": self.sigma,
            "chanceOfBeliefOfEpsilon": risk.excess,
            "closedForms": [
                {
                    "name": form.name,
                    "formula": form.formula,
                    "printed": form.printed,
                    "corrected": form.corrected,
                    "verdict": str(form.verdict),
                }
                for form in self.closed_forms
            ],
            "calibrations": [
                {
                    "name": way.name,
                    "noiseMultiplier": way.noise_multiplier,
                    "membershipAdvantage": way.advantage,
                    "chanceOfBeliefOfEpsilon": way.excess,
                    "isPrivate": way.is_private,
                }
                for way in self.calibrations
            ],
        }


@only_ours()
def risk(stated: Stated) -> Shown:
    """The figures that are not stated, from those that are.

    Args:
        stated: at least one of epsilon, belief, advantage, noise multiplier and sigma. Several must take
            the same noise, up to one in a hundred.

    Raises:
        UsageError, ProblemsError: something is out of its range, or the figures do not fit each other.
        BackendError: the library of accounts is needed, and not installed.
    """
    raise_all(list(_problems(stated)))
    of = Steps(stated.mechanism, stated.steps, stated.sampling_rate, _delta(stated))
    noises = {name: _sought(name, call) for name, call in _ways(of, stated).items()}
    name, noise = next(iter(noises.items()))
    apart = [
        f"{other} takes {own:.6g}"
        for other, own in noises.items()
        if not math.isclose(own, noise, rel_tol=_TOLERANCE)
    ]
    if apart:
        raise UsageError(
            " and ".join(noises),
            f"they do not fit each other: {name} takes a noise multiplier of {noise:.6g},"
            f" {', '.join(apart)}",
            "figures of the same noise, up to 1 %",
            "state one of them, and read off the others",
        )
    shown = _sought(name, lambda: risk_of_noise(of, noise))
    ways: tuple[Calibration, ...] = ()
    if of.is_plain_gaussian and 0 < shown.epsilon < math.inf:
        ways = calibrations(shown.epsilon, of.delta, of.steps)
    return Shown(shown, stated.sensitivity, closed_forms(shown), ways)


def _delta(stated: Stated) -> float:
    return 0.0 if stated.delta is None else stated.delta


def _ways(of: Steps, stated: Stated) -> dict[str, Callable[[], float]]:
    """How the noise multiplier follows from each figure that is stated; noise itself comes first."""
    ways: dict[str, Callable[[], float]] = {}
    if (noise := stated.noise_multiplier) is not None:
        ways["the noise multiplier"] = lambda: noise
    if (sigma := stated.sigma) is not None:
        ways["sigma"] = lambda: sigma / stated.sensitivity
    if (epsilon := stated.epsilon) is not None:
        ways["epsilon"] = lambda: noise_for_epsilon(of, epsilon)
    if (belief := stated.belief) is not None:
        ways["the belief"] = lambda: noise_for_belief(of, belief)
    if (advantage := stated.advantage) is not None:
        ways["the advantage"] = lambda: noise_for_advantage(of, advantage)
    return ways


def _sought(name: str, call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except (ValueError, OverflowError, ZeroDivisionError):
        raise UsageError(
            name,
            "no noise that has an account gives it",
            f"noise multipliers from {LEAST_NOISE:g} to {LARGEST_NOISE:g}",
            "state another figure, fewer steps, or a larger delta",
        ) from None


def _problems(stated: Stated) -> "list[SmaltiError]":
    """All that is out of its range."""
    figures = (stated.epsilon, stated.belief, stated.advantage, stated.noise_multiplier, stated.sigma)
    problems: list[SmaltiError] = []
    if all(figure is None for figure in figures):
        problems.append(
            UsageError(
                "what is stated",
                "no figure is stated",
                "--epsilon, --belief, --advantage, --noise-multiplier or --sigma",
                "state one of them",
            )
        )
    is_gaussian = stated.mechanism is Mechanism.GAUSSIAN
    least = LEAST_DELTA if is_gaussian else 0.0
    ranges: tuple[tuple[str, float | None, float, float], ...] = (
        ("epsilon", stated.epsilon, 0.0, math.inf),
        ("belief", stated.belief, 0.5, 1.0),
        ("advantage", stated.advantage, 0.0, 1.0),
        ("noise multiplier", stated.noise_multiplier, 0.0, math.inf),
        ("sigma", stated.sigma, 0.0, math.inf),
        ("sensitivity", stated.sensitivity, 0.0, math.inf),
    )
    problems += [
        UsageError(name, "it is out of range", f"a number above {low:g} and below {high:g}")
        for name, value, low, high in ranges
        if value is not None and not low < value < high
    ]
    if is_gaussian and stated.delta is None:
        problems.append(
            UsageError(
                "delta",
                "Gaussian noise has an epsilon and a bound of the belief at a delta only",
                "a number such as 0.00001, well below one in as many people as there are",
                "state --delta",
            )
        )
    elif not least <= _delta(stated) < 1:
        problems.append(UsageError("delta", "it is out of range", f"a number from {least:g} to below 1"))
    if not 1 <= stated.steps <= LARGEST_STEPS:
        problems.append(
            UsageError("steps", "it is out of range", f"a whole number from 1 to {LARGEST_STEPS}")
        )
    if not 0 < stated.sampling_rate <= 1:
        problems.append(UsageError("sampling rate", "it is out of range", "a number above 0, 1 at most"))
    return problems


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else _INFINITE
