"""What a noise means for one person: epsilon, belief, advantage, noise multiplier and sigma, each from any.

One or more steps of one mechanism, each on a Poisson sample of the records, are released. The figures are
those of `identifiability` where the noise is Gaussian and all records take part, and otherwise those of
`learning.accounting` and of dp-accounting's loss distributions. Beside them stand the closed forms of arXiv
2103.02913, each with whether it holds for this noise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from smalti.transforms import identifiability
from smalti.transforms.identifiability import advantage as advantage_of
from smalti.transforms.identifiability import posterior_belief
from smalti.transforms.learning import accounting
from smalti.transforms.learning.accounting import LossLimit, LossMeasure, SampledGaussian
from smalti.transforms.learning.hyperparameters import LARGEST_NOISE
from smalti.transforms.loss.belief import largest_loss, mu_for_largest_loss

_PRECISION: Final = 1e-6
"""Relative, of a noise multiplier that is sought by bisection."""
_NOISE: Final = (1e-4, LARGEST_NOISE)
"""Between which it is sought."""
_FITS: Final = 1e-9
"""By how much more than the closed form a figure may be and still count as equal to it."""


class Mechanism(StrEnum):
    """The noise that is added in each step."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"


class Verdict(StrEnum):
    """Whether a closed form of the paper holds for a noise."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_SHOWN = "not shown"
    """Neither the account nor a proof says so."""


@dataclass(frozen=True, slots=True)
class Steps:
    """All releases but for how much noise they have."""

    mechanism: Mechanism
    steps: int
    """At least 1."""
    sampling_rate: float
    """The chance of each record to take part in a step, in (0, 1]."""
    delta: float
    """Of epsilon and of the belief, in [0, 1); 0 for the Laplace mechanism alone."""

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= accounting.LARGEST_STEPS or not 0 < self.sampling_rate <= 1:
            raise ValueError("a number of steps and a sampling rate in (0, 1] are expected")
        least = 0.0 if self.mechanism is Mechanism.LAPLACE else accounting.LEAST_DELTA
        if not least <= self.delta < 1:
            raise ValueError("a delta in [1e-10, 1) is expected; 0 for the Laplace mechanism alone")

    @property
    def is_plain_gaussian(self) -> bool:
        """Whether everything follows from mu alone."""
        return self.mechanism is Mechanism.GAUSSIAN and self.sampling_rate == 1


@dataclass(frozen=True, slots=True)
class Risk:
    """What releases mean for one person, from the noise that they have."""

    of: Steps
    noise_multiplier: float
    """Of a step: the standard deviation of Gaussian, or the scale of Laplace noise, in sensitivities."""
    epsilon: float
    """Of all steps together, at `of.delta`, in nats; infinite where there is no account."""
    belief: float
    """At prior one half: exceeded with probability `of.delta` at most, whatever is made of the releases."""
    advantage: float
    """The greatest membership advantage; exact for Gaussian noise without sampling."""
    excess: float | None
    """The probability of a belief above 1 / (1 + exp(-epsilon)); None where it is not known exactly."""


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """One formula of the paper beside what is true of this noise."""

    name: str
    formula: str
    printed: float
    """The figure that the formula gives."""
    corrected: float
    """What it should bound, from the noise itself."""
    verdict: Verdict


def risk_of_noise(of: Steps, noise_multiplier: float) -> Risk:
    """The risk of a noise.

    Args:
        of: the releases.
        noise_multiplier: above 0.

    Raises:
        ValueError: the noise has no account.
        BackendError: the library of accounts is needed, and not installed.
    """
    if not noise_multiplier > 0:
        raise ValueError("a noise multiplier above 0 is expected")
    if of.mechanism is Mechanism.LAPLACE:
        return _laplace_risk(of, noise_multiplier)
    if of.is_plain_gaussian:
        mu = math.sqrt(of.steps) / noise_multiplier
        epsilon = identifiability.gaussian_epsilon(of.delta, mu)
        advantage = identifiability.gaussian_advantage(mu)
        excess = identifiability.chance_of_excess(epsilon, mu)
        belief = posterior_belief(largest_loss(of.delta, mu))
        return Risk(of, noise_multiplier, epsilon, belief, advantage, excess)
    gaussian = SampledGaussian(noise_multiplier, of.sampling_rate, of.steps)
    return Risk(
        of,
        noise_multiplier,
        gaussian.epsilon(of.delta),
        gaussian.belief(of.delta),
        gaussian.advantage,
        None,
    )


def noise_for_epsilon(of: Steps, epsilon: float) -> float:
    """The least noise multiplier with this epsilon at the delta; errs above."""
    if of.mechanism is Mechanism.LAPLACE:
        return _laplace_noise(lambda noise: risk_of_noise(of, noise).epsilon <= epsilon)
    if of.is_plain_gaussian:
        return math.sqrt(of.steps) / identifiability.mu_for_epsilon(epsilon, of.delta)
    return _gaussian_noise(of, LossLimit(LossMeasure.EPSILON, epsilon, of.delta))


def noise_for_belief(of: Steps, belief: float) -> float:
    """The least noise multiplier whose belief, at prior one half, is exceeded with delta at most; above."""
    if of.mechanism is Mechanism.LAPLACE:
        return _laplace_noise(lambda noise: risk_of_noise(of, noise).belief <= belief)
    if of.is_plain_gaussian:
        epsilon = identifiability.epsilon_for_belief(belief)
        mu = mu_for_largest_loss(epsilon, of.delta)
        return math.sqrt(of.steps) / mu if mu > 0 else math.inf
    return _gaussian_noise(of, LossLimit.of_belief(belief, of.delta))


def noise_for_advantage(of: Steps, advantage: float) -> float:
    """The least noise multiplier with this membership advantage; errs above."""
    if of.mechanism is Mechanism.LAPLACE:
        return _laplace_noise(lambda noise: risk_of_noise(of, noise).advantage <= advantage)
    if of.is_plain_gaussian:
        return math.sqrt(of.steps) / identifiability.mu_for_advantage(advantage)
    return _gaussian_noise(of, LossLimit(LossMeasure.ADVANTAGE, advantage))


def closed_forms(risk: Risk) -> tuple[ClosedForm, ...]:
    """The paper's formulas at the epsilon and delta of a noise, and whether each is a bound for it.

    The belief's formula (Theorem 1) says that it is exceeded with probability delta at most; for Gaussian
    noise without sampling the true probability is known. Theorem 2 and its composition are about Gaussian
    noise alone.
    """
    epsilon, of = risk.epsilon, risk.of
    if not math.isfinite(epsilon):
        return ()
    bound = posterior_belief(epsilon)
    shown = [
        ClosedForm("belief (Theorem 1)", "1 / (1 + exp(-epsilon))", bound, risk.belief, _of_belief(risk)),
        _compared(
            "advantage, any mechanism (Proposition 2)",
            "exp(epsilon) - 1",
            math.expm1(min(epsilon, 700.0)),
            risk.advantage,
        ),
    ]
    if of.mechanism is Mechanism.GAUSSIAN:
        classic = identifiability.classic_gaussian_advantage(epsilon, of.delta)
        composed = identifiability.gaussian_advantage(math.sqrt(of.steps) / risk.noise_multiplier)
        shown += [
            _compared(
                "advantage, Gaussian (Theorem 2)",
                "2 Phi(epsilon / (2 sqrt(2 ln(1.25 / delta)))) - 1",
                classic,
                risk.advantage,
            ),
            _compared(
                "advantage, composed (section 4.4)",
                "2 Phi(sqrt(steps) / (2 z)) - 1",
                composed,
                risk.advantage,
            ),
        ]
    return tuple(shown)


@dataclass(frozen=True, slots=True)
class Calibration:
    """One way to calibrate Gaussian noise for an epsilon and a delta, without sampling."""

    name: str
    noise_multiplier: float
    """Of one step."""
    advantage: float
    excess: float
    """The probability of a belief above 1 / (1 + exp(-epsilon)), where the distance is fixed."""
    is_private: bool
    """Whether the releases are (epsilon, delta)-private."""


def calibrations(epsilon: float, delta: float, steps: int) -> tuple[Calibration, ...]:
    """The ways that this project and the literature calibrate Gaussian noise, from the least noise on.

    Args:
        epsilon: above 0.
        delta: in (0, 1).
        steps: at least 1.
    """
    belief = posterior_belief(epsilon)
    ways = {
        "(epsilon, delta), exact": identifiability.mu_for_epsilon(epsilon, delta),
        "classic Gaussian (Equation 1), as one release": epsilon / math.sqrt(2 * math.log(1.25 / delta)),
        "(epsilon, delta), Renyi with the classic conversion": identifiability.classic_renyi_mu(
            epsilon, delta
        ),
        "belief, any case": mu_for_largest_loss(epsilon, delta),
    }
    if 0.5 < belief < 1:
        ways["belief, distance fixed"] = identifiability.mu_for_belief(belief, delta)
    return tuple(
        Calibration(
            name,
            math.sqrt(steps) / mu,
            identifiability.gaussian_advantage(mu),
            identifiability.chance_of_excess(epsilon, mu),
            identifiability.gaussian_delta(epsilon, mu) <= delta * (1 + _FITS),
        )
        for name, mu in sorted(ways.items(), key=lambda way: -way[1])
        if mu > 0
    )


def _compared(name: str, formula: str, printed: float, corrected: float) -> ClosedForm:
    holds = corrected <= printed * (1 + _FITS)
    return ClosedForm(name, formula, printed, corrected, Verdict.HOLDS if holds else Verdict.FAILS)


def _of_belief(risk: Risk) -> Verdict:
    if risk.excess is not None:
        return Verdict.HOLDS if risk.excess <= risk.of.delta * (1 + _FITS) else Verdict.FAILS
    within = risk.belief <= posterior_belief(risk.epsilon) * (1 + _FITS)
    return Verdict.HOLDS if within else Verdict.NOT_SHOWN


def _gaussian_noise(of: Steps, limit: LossLimit) -> float:
    return accounting.noise_multiplier_for(limit, of.sampling_rate, of.steps)


def _laplace_risk(of: Steps, noise: float) -> Risk:
    """The pure loss adds up; at a delta, and for the advantage, a loss distribution may say less.

    One step without sampling has the advantage 1 - exp(-epsilon / 2), the distance of two Laplace
    distributions (and loss distributions are rounded).
    """
    pure = of.steps * _log_mixture(of.sampling_rate, 1 / noise)
    advantage = advantage_of(pure)
    if of.steps == 1 and of.sampling_rate == 1:
        advantage = -math.expm1(-pure / 2)
    elif pure < 700:
        advantage = min(advantage, float(_laplace_distribution(of, noise).get_delta(0.0)))
    epsilon = pure
    if of.delta > 0:
        epsilon = min(pure, max(0.0, float(_laplace_distribution(of, noise).get_epsilon(of.delta))))
    # The belief of a pure loss is never exceeded, so no delta is spent on it.
    return Risk(of, noise, epsilon, posterior_belief(pure), advantage, None)


def _log_mixture(rate: float, loss: float) -> float:
    """The pure loss of a step on a sample: ln(1 + q (e^loss - 1)), without overflow."""
    if rate == 1 or loss > 700:
        return loss
    return math.log1p(rate * math.expm1(loss))


def _laplace_noise(holds: Callable[[float], bool]) -> float:
    """The least noise multiplier with a property that grows with the noise; errs above.

    Raises:
        ValueError: no noise in reach has it.
    """
    low, high = _NOISE
    if not holds(high):
        raise ValueError("no noise multiplier that has an account meets this bound")
    while high > low * (1 + _PRECISION):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(maxsize=64)
def _laplace_distribution(of: Steps, noise: float) -> Any:
    library = accounting.library()
    event = library.LaplaceDpEvent(noise)
    if of.sampling_rate < 1:
        event = library.PoissonSampledDpEvent(of.sampling_rate, event)
    accountant = library.pld.PLDAccountant(library.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(library.SelfComposedDpEvent(event, of.steps))
    return accountant
