"""What a release may lose, in each way of saying it, and what it is told to lose in the end."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import expm1, inf, log1p, nextafter
from typing import Final

from smalti.engine.releases.plan import Mechanism, StatedLoss
from smalti.errors import InternalError, PlanError, SmaltiError
from smalti.transforms.belief import belief_after, mu_for_largest_loss
from smalti.transforms.identifiability import (
    composed_advantage,
    epsilon_for_advantage,
    epsilon_for_belief,
    gaussian_epsilon,
    mu_for_advantage,
    mu_for_epsilon,
)
from smalti.transforms.privacy_loss import PrivacyLoss

_LEAST: Final = Decimal("1e-12")
_LARGEST_EPSILON: Final = Decimal(10**6)
_LEAST_DELTA: Final = Decimal("1e-300")
_DIGITS: Final = 9
"""Of an epsilon that comes from something else."""
_SLACK: Final = 1 - 2.0**-32
"""For the Gaussian part: what is computed back from its noise, rounded up, stays within what is allowed."""
_EXACT: Final = Context(prec=1000)


@dataclass(frozen=True, slots=True)
class AllowedLoss:
    """What a release may lose: exactly one of epsilon, belief and advantage."""

    epsilon: Decimal | None
    belief: Decimal | None
    """The largest posterior belief at prior one half."""
    advantage: Decimal | None
    """The largest membership advantage."""
    delta: Decimal
    """0 where only pure mechanisms may be used."""
    mechanisms: frozenset[Mechanism]
    """That may be used; at least one."""

    def problems(self, where: str) -> list[SmaltiError]:
        """What of it allows no noise at all, or nothing else."""
        bounds = (
            ("epsilon", self.epsilon, _LEAST, _LARGEST_EPSILON),
            ("posterior belief", self.belief, Decimal("0.5") + _LEAST, 1 - _LEAST),
            ("membership advantage", self.advantage, _LEAST, 1 - _LEAST),
        )
        if sum(value is not None for _, value, _, _ in bounds) != 1:
            raise InternalError("a loss is allowed in one way: as epsilon, belief or advantage")
        found: list[SmaltiError] = [
            PlanError(where, f"the allowed {name} is out of range", f"a number from {low} to {high}")
            for name, value, low, high in bounds
            if value is not None and not (value.is_finite() and low <= value <= high)
        ]
        if self.delta and not (self.delta.is_finite() and _LEAST_DELTA <= self.delta < 1):
            expected = f"0, or a number from {_LEAST_DELTA} and below 1"
            found.append(PlanError(where, "the allowed delta is out of range", expected))
        return found


@dataclass(frozen=True, slots=True)
class Split:
    """How a release divides what it may lose."""

    gaussian: Fraction
    """The share of its Gaussian noise; 0 where it is pure."""
    selects: bool
    """Whether groups are selected privately."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the parts of a release may lose."""

    pure: Fraction
    """The sum of all epsilons of what is not Gaussian."""
    mu: float
    """The root of the sum of squares of all Gaussian mus; 0 where there are none."""
    delta: float
    """Of the Gaussian part; 0 where there is none."""
    selection_delta: Decimal
    """The sum of the deltas of all private selections; 0 where there are none."""


def ceiling(allowed: AllowedLoss, split: Split) -> Ceiling:
    """The greatest losses of the parts that are within what is allowed, together.

    Epsilons, and what beliefs stand for, are divided by shares. Of advantages, the chances of the opposite
    multiply (`composed_advantage`), so their logarithms are divided.

    Args:
        allowed: without problems; a delta above 0 where there is Gaussian noise or a private selection, and
            an advantage above that delta.
        split: of what a release needs.
    """
    both = split.gaussian and split.selects
    half = _EXACT.multiply(allowed.delta, Decimal("0.5")) if both else allowed.delta
    chance = half if split.selects else Decimal(0)
    delta = _float_below(half) if split.gaussian else 0.0
    if allowed.advantage is not None:
        least, most = Fraction(chance), Fraction(allowed.advantage)
        rest = log1p(float((most - least) / (1 - most)))  # log((1 - chance) / (1 - advantage))
        pure, mu = _within_advantage(rest, split)
    else:
        total = _epsilon(allowed)
        pure = total * (1 - split.gaussian)
        mu = _mu(allowed, float(total * split.gaussian) * _SLACK, delta) if split.gaussian else 0.0
    return Ceiling(pure, mu, delta, chance)


def stated(allowed: AllowedLoss, within: Ceiling, loss: PrivacyLoss) -> StatedLoss:
    """What is charged and told, computed back from the noise that is used.

    Args:
        allowed: what the release may lose.
        within: how its parts share it.
        loss: of all noise together.
    """
    epsilon = loss.pure
    if loss.mu_squared:
        epsilon += Fraction(gaussian_epsilon(within.delta, loss.mu))
    if allowed.epsilon is not None and epsilon > Fraction(allowed.epsilon):
        raise InternalError("the noise of a release loses more than is allowed")
    return StatedLoss(
        epsilon=_rounded(epsilon, ROUND_CEILING) if allowed.epsilon is None else allowed.epsilon,
        delta=allowed.delta if loss.mu_squared or within.selection_delta else Decimal(0),
        belief=belief_after(_float_above(loss.pure), loss.mu, within.delta),
        advantage=composed_advantage((loss.advantage, _float_above(within.selection_delta))),
        pure=str(loss.pure),
        mu_squared=str(loss.mu_squared),
        selection_delta=within.selection_delta,
    )


def _epsilon(allowed: AllowedLoss) -> Fraction:
    """The pure loss that is allowed; of a belief, rounded down."""
    if allowed.epsilon is not None:
        return Fraction(allowed.epsilon)
    if allowed.belief is None:
        raise InternalError("a loss is allowed in one way: as epsilon, belief or advantage")
    return Fraction(epsilon_within_belief(allowed.belief))


def epsilon_within_belief(belief: Decimal) -> Decimal:
    """A pure loss after which no belief is above a bound, in (0.5, 1); nine digits, rounded down."""
    return _rounded(Fraction(epsilon_for_belief(_float_below(belief))), ROUND_FLOOR)


def epsilon_within_advantage(advantage: Decimal) -> Decimal:
    """A pure loss that allows no advantage above a bound, in (0, 1); nine digits, rounded down."""
    return _rounded(Fraction(epsilon_for_advantage(_float_below(advantage))), ROUND_FLOOR)


def _mu(allowed: AllowedLoss, epsilon: float, delta: float) -> float:
    """The Gaussian part's, which must keep beliefs but for delta, or be (epsilon, delta)-private."""
    of = mu_for_largest_loss if allowed.belief is not None else mu_for_epsilon
    return of(epsilon, delta)


def _within_advantage(rest: float, split: Split) -> tuple[Fraction, float]:
    """The pure epsilon and the mu that share -log(1 - advantage)."""
    if not split.gaussian:
        return _pure_within(rest), 0.0
    gaussian = rest * float(split.gaussian)
    pure = _pure_within(rest - gaussian) if split.gaussian < 1 else Fraction(0)
    return pure, mu_for_advantage(-expm1(-gaussian) * _SLACK)


def _pure_within(loss: float) -> Fraction:
    return Fraction(_rounded(Fraction(epsilon_for_advantage(-expm1(-loss))), ROUND_FLOOR))


def _rounded(value: Fraction, rounding: str) -> Decimal:
    context = Context(prec=_DIGITS, rounding=rounding)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _float_below(value: Decimal) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= Fraction(value) else nextafter(nearest, -inf)


def _float_above(value: Decimal | Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= Fraction(value) else nextafter(nearest, inf)
