"""The noise of a private training, and its privacy loss."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.training.plan import PrivateSteps, neighbors_of
from smalti.errors import InternalError, PlanError
from smalti.policy.model.model import Training
from smalti.transforms.identifiability import posterior_belief
from smalti.transforms.learning.accounting import (
    LARGEST_STEPS,
    LEAST_DELTA,
    LEAST_NOISE,
    LossLimit,
    LossMeasure,
    SampledGaussian,
    noise_multiplier_for,
)
from smalti.transforms.learning.hyperparameters import (
    LARGEST_NOISE,
    LARGEST_NORM,
    LEAST_NORM,
    LEAST_RATE,
    Hyperparameters,
    PrivateTraining,
)
from smalti.transforms.learning.reach import REACH, added_by_ends, spread
from smalti.transforms.sensitivity import NeighboringRelation

_ENDS: Final = Decimal("0.01")
"""The part of delta that is kept for the ends of the noise."""
_SPREAD: Final = 1e-6
"""By which share probabilities may be larger because of them."""
_UP: Final = Context(prec=9, rounding=ROUND_CEILING)
_DOWN: Final = Context(prec=9, rounding=ROUND_FLOOR)
_LEAST_DELTA: Final = Context(prec=3, rounding=ROUND_CEILING).divide(Decimal(str(LEAST_DELTA)), 1 - _ENDS)
"""The part of it that the accountant has is not below its least one."""


def private_steps(
    wanted: Training, epochs: int, coordinates: int
) -> tuple[PrivateSteps | None, PlannedLoss | None]:
    """The noise of a training, and its loss; nothing of both where the training is not private.

    A noise multiplier that the policy fixes is taken; otherwise the least one that meets its bound.

    Args:
        wanted: by a policy.
        epochs: of the training.
        coordinates: how many parameters get noise.

    Raises:
        PlanError: no noise that has an account meets the bound, or the noise that is fixed does not; or a
            number is out of range; or no delta is stated, at which the training could be charged.
        BackendError: the extra `audit` is not installed.
    """
    if not wanted.is_private:
        return None, None
    delta, relation = _delta(wanted), neighbors_of(wanted)
    if wanted.clipping_norm is None or wanted.sampling_rate is None:
        raise InternalError("a private training without its words reached the compiler")
    rate, norm = wanted.sampling_rate.value, wanted.clipping_norm.value
    _check_range(wanted, "the clipping norm", norm, LEAST_NORM, LARGEST_NORM)
    _check_range(wanted, "the sampling rate", rate, LEAST_RATE, 1)
    steps = _steps(epochs, float(rate))
    noise = _noise(wanted, delta, float(rate), steps, relation)
    private = PrivateSteps(noise, norm, rate, steps, relation)
    _check_reach(wanted, private, delta, coordinates)
    _check_account(wanted, mechanism_of(private), delta)
    loss = stated_loss(private, delta)
    _check_bounds(wanted, loss)
    return private, loss


@lru_cache(maxsize=64)  # a decision, a plan, a run and a check of its certificate ask for the same
def stated_loss(private: PrivateSteps, delta: Decimal) -> PlannedLoss:
    """The loss of the steps of a training, as it is charged and stated.

    Without sampling it is Gaussian, and its mu adds up with that of other releases. With it, epsilon is
    what the loss exceeds with a probability of delta at most: more than the least epsilon at which training
    is (epsilon, delta)-private, and what beliefs follow from. So it adds up as a release that reveals all
    with probability delta, and has a pure loss of epsilon otherwise: losses of releases are sums, and the
    sum exceeds that of the epsilons only where one of them is exceeded.

    A hundredth of delta is for the ends of the noise (`learning.reach`): beyond them it reveals all.

    Args:
        private: the steps.
        delta: at which epsilon is stated.
    """
    mechanism, chance = mechanism_of(private), _accounted(delta)
    ends = _ends(delta)
    largest = mechanism.largest_loss(chance)
    advantage = _not_below(min((1 + _SPREAD) * mechanism.advantage + float(ends), 1.0))
    belief = _not_below(posterior_belief(largest))
    if private.sampling_rate == 1:
        epsilon = _UP.create_decimal_from_float(mechanism.epsilon(chance))
        distance = 2 if private.neighbors is NeighboringRelation.CHANGE_ONE else 1
        mu_squared = private.steps * Fraction(distance) ** 2 / Fraction(private.noise_multiplier) ** 2
        return PlannedLoss(epsilon, delta, belief, advantage, "0", str(mu_squared), ends)
    epsilon = _UP.create_decimal_from_float(largest)
    return PlannedLoss(epsilon, delta, belief, advantage, str(Fraction(epsilon)), "0", delta)


def _not_below(figure: float) -> float:
    """Of nine digits, so that a plan does not depend on the last ones of the accountant's arithmetic."""
    return float(_UP.create_decimal_from_float(figure))


def mechanism_of(private: PrivateSteps) -> SampledGaussian:
    """The steps as the accountant takes them; ValueError where they have no account."""
    return SampledGaussian(
        float(private.noise_multiplier), float(private.sampling_rate), private.steps, private.neighbors
    )


def _accounted(delta: Decimal) -> float:
    """The part of delta that the accountant has."""
    return float(delta) * float(1 - _ENDS)


def _ends(delta: Decimal) -> Decimal:
    """The part of delta that the ends of the noise have."""
    return _UP.multiply(delta, _ENDS)


def _check_range(wanted: Training, what: str, value: Decimal, least: float, largest: float) -> None:
    if not least <= float(value) <= largest:
        expected = f"at least {least:.3g}, and at most {largest:.3g}"
        raise PlanError(str(wanted.where), f"{what} is out of range", expected, "change it")


def _check_account(wanted: Training, mechanism: SampledGaussian, delta: Decimal) -> None:
    """Refuse what has no finite loss that could be charged."""
    if not math.isfinite(mechanism.largest_loss(_accounted(delta))):
        raise PlanError(
            str(wanted.where),
            "no loss is known that this noise exceeds with a probability of at most delta",
            f"a delta well above {mechanism.rounding:.2g}, to which rounding may add up in so many steps",
            "a larger delta, more noise or fewer epochs",
        )


def _check_bounds(wanted: Training, loss: PlannedLoss) -> None:
    """Refuse noise of which more would be stated, rounded up, than the policy allows."""
    for bound, stated in (
        (wanted.epsilon, loss.epsilon),
        (wanted.posterior_belief, Decimal(repr(loss.belief))),
        (wanted.membership_advantage, Decimal(repr(loss.advantage))),
    ):
        if bound is not None and stated > bound.value:
            raise PlanError(
                str(wanted.where),
                "the noise loses more than the bound allows",
                "a noise multiplier that meets the bound, or one of the two words",
                "leave out `smalti:noiseMultiplier`: the least noise that meets the bound is taken then"
                if wanted.noise_multiplier is not None
                else "allow a little more loss",
            )


def _check_reach(wanted: Training, private: PrivateSteps, delta: Decimal, coordinates: int) -> None:
    """Refuse noise so small, for so many steps and parameters, that its ends take more than their part."""
    distance = 2 if private.neighbors is NeighboringRelation.CHANGE_ONE else 1
    shift = distance / float(private.noise_multiplier)
    is_wide = shift <= REACH - 1 and spread(coordinates, private.steps) <= _SPREAD
    added = private.steps * added_by_ends(coordinates, shift) if is_wide else float(delta)
    if (1 + _SPREAD) * (_accounted(delta) + added) > float(delta):
        raise PlanError(
            str(wanted.where),
            "the noise is drawn in 64 bits, and its finite range would take too much of delta",
            f"at most {_ENDS:g} of it",
            "a larger delta, more noise, fewer epochs or a smaller network",
        )


def _steps(epochs: int, rate: float) -> int:
    """The steps of a training; what else it has changes nothing about them."""
    return Hyperparameters(epochs, 1, 1.0, private=PrivateTraining(1.0, 1.0, rate)).private_steps


def _delta(wanted: Training) -> Decimal:
    where = str(wanted.where)
    if wanted.delta is None:
        raise PlanError(
            where,
            "training with noise is charged at a delta, and the policy states none",
            "`smalti:delta`, below 1 divided by the number of respondents",
            "state it",
        )
    if not _LEAST_DELTA <= wanted.delta.value < 1:
        raise PlanError(
            where, "delta is out of range", f"at least {_LEAST_DELTA}, and below 1", "change it"
        )
    return wanted.delta.value


def _noise(
    wanted: Training, delta: Decimal, rate: float, steps: int, relation: NeighboringRelation
) -> Decimal:
    fixed = wanted.noise_multiplier
    try:
        if fixed is None:
            multiplier = noise_multiplier_for(_limit(wanted, delta, rate), rate, steps, relation)
            return Decimal(repr(multiplier))
        SampledGaussian(float(fixed.value), rate, steps, relation)
    except ValueError:
        raise _no_account(wanted, steps) from None
    return fixed.value


def _no_account(wanted: Training, steps: int) -> PlanError:
    """Which end of what the accountant takes is exceeded."""
    if steps > LARGEST_STEPS:
        expected, way_out = (
            f"at most {LARGEST_STEPS:,} steps",
            "ask for fewer epochs, or a higher sampling rate",
        )
    elif wanted.noise_multiplier is not None:
        expected = f"a noise multiplier from {LEAST_NOISE:g} to {LARGEST_NOISE:,.0f}"
        way_out = "change `smalti:noiseMultiplier`"
    else:
        expected = f"a bound that a noise multiplier of at most {LARGEST_NOISE:,.0f} keeps"
        way_out = "allow more loss, ask for fewer epochs, or change delta"
    problem = "no noise that can be accounted for meets the bounds of the training"
    return PlanError(str(wanted.where), problem, expected, way_out)


def _limit(wanted: Training, delta: Decimal, rate: float) -> LossLimit:
    """What the accountant is to keep, so that what is stated (`stated_loss`) keeps to the policy.

    Raises:
        ValueError: nothing would.
    """
    if wanted.epsilon is not None:
        measure = LossMeasure.EPSILON if rate == 1 else LossMeasure.LARGEST_LOSS
        return LossLimit(measure, _kept(wanted.epsilon.value), _accounted(delta))
    if wanted.posterior_belief is not None:
        return LossLimit.of_belief(_kept(wanted.posterior_belief.value), _accounted(delta))
    if wanted.membership_advantage is not None:
        advantage = _kept(wanted.membership_advantage.value)
        most = (advantage - float(_ends(delta))) / (1 + _SPREAD)
        return LossLimit(LossMeasure.ADVANTAGE, most)
    raise InternalError("a private training says nothing of its noise")


def _kept(bound: Decimal) -> float:
    """A little less than a bound: what is rounded up from there, to nine digits, keeps to it."""
    return float(_DOWN.plus(bound)) * (1 - 2.0**-50)
