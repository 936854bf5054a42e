"""The privacy loss that a release may have, by each of its measures, and the loss that is stated."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import expm1, inf, log1p, nextafter
from typing import Final

from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.reads import Mechanism
from smalti.errors import InternalError, PlanError, SmaltiError
from smalti.transforms.identifiability import (
    advantage,
    composed_advantage,
    epsilon_for_advantage,
    epsilon_for_belief,
    gaussian_epsilon,
    mu_for_advantage,
    mu_for_epsilon,
)
from smalti.transforms.loss.belief import belief_after, mu_for_largest_loss
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.vocab.terms import EPSILON, IRI, MEMBERSHIP_ADVANTAGE, POSTERIOR_BELIEF

_LEAST: Final = Decimal("1e-12")
_LARGEST_EPSILON: Final = Decimal(10**6)
_LEAST_DELTA: Final = Decimal("1e-300")
_DIGITS: Final = 9
"""Of an epsilon that comes from something else."""
_SLACK: Final = 1 - 2.0**-32
"""For the Gaussian part: what is computed back from its noise, rounded up, stays within what is allowed."""
_EXACT: Final = Context(prec=1000)
LOSSES: Final = (EPSILON, POSTERIOR_BELIEF, MEMBERSHIP_ADVANTAGE)
"""The words in which a loss may be bounded; each stands for the others."""
_NAMES: Final = dict(zip(LOSSES, ("epsilon", "posterior belief", "membership advantage"), strict=True))
_RANGES: Final = {
    EPSILON: (_LEAST, _LARGEST_EPSILON),
    POSTERIOR_BELIEF: (Decimal("0.5") + _LEAST, 1 - _LEAST),
    MEMBERSHIP_ADVANTAGE: (_LEAST, 1 - _LEAST),
}


@dataclass(frozen=True, slots=True)
class AllowedLoss:
    """What a release may lose, as epsilon, belief or advantage; of several that are given, all hold."""

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
        """The bounds that are out of range."""
        bounds = self._bounds()
        if not bounds:
            raise InternalError("a loss is allowed in some way: as epsilon, belief or advantage")
        problems: list[SmaltiError] = [
            PlanError(
                where,
                f"the allowed {_NAMES[word]} is out of range",
                "a number from {} to {}".format(*_RANGES[word]),
            )
            for word, value in bounds.items()
            if not is_in_range(word, value)
        ]
        if self.delta and not (self.delta.is_finite() and _LEAST_DELTA <= self.delta < 1):
            expected = f"0, or a number from {_LEAST_DELTA} and below 1"
            problems.append(PlanError(where, "the allowed delta is out of range", expected))
        return problems

    def _bounds(self) -> dict[IRI, Decimal]:
        """By word, what is given."""
        numbers = (self.epsilon, self.belief, self.advantage)
        return {word: number for word, number in zip(LOSSES, numbers, strict=True) if number is not None}


@dataclass(frozen=True, slots=True)
class Split:
    """How a release divides what it may lose."""

    gaussian: Fraction
    """The share of its Gaussian noise; 0 where it is pure."""
    selects: bool
    """Whether groups are selected privately."""


@dataclass(frozen=True, slots=True)
class AllowedNoise:
    """What the noise of a release may lose, by its parts; all within an `AllowedLoss`."""

    pure: Fraction
    """The sum of all epsilons of what is not Gaussian."""
    mu: float
    """The root of the sum of squares of all Gaussian mus; 0 where there are none."""
    delta: float
    """Of the Gaussian part; 0 where there is none."""
    selection_delta: Decimal
    """The sum of the deltas of all private selections; 0 where there are none."""


def allowed_noise(allowed: AllowedLoss, split: Split) -> AllowedNoise:
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
    shares: list[tuple[Fraction, float]] = []
    if allowed.advantage is not None:
        least, most = Fraction(chance), Fraction(allowed.advantage)
        rest = log1p(float((most - least) / (1 - most)))  # log((1 - chance) / (1 - advantage))
        shares.append(_within_advantage(rest, split))
    if allowed.belief is not None:
        total = Fraction(epsilon_within_belief(allowed.belief))
        shares.append(_within(total, split, delta, mu_for_largest_loss))
    if allowed.epsilon is not None:
        shares.append(_within(Fraction(allowed.epsilon), split, delta, mu_for_epsilon))
    # Every bound of a loss grows with its pure part and with mu: the least of each keeps all.
    return AllowedNoise(min(pure for pure, _ in shares), min(mu for _, mu in shares), delta, chance)


def stated(allowed: AllowedLoss, within: AllowedNoise, loss: PrivacyLoss) -> PlannedLoss:
    """The loss that is charged and stated, computed from the noise that is used.

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
    return PlannedLoss(
        epsilon=_charged(allowed, epsilon),
        delta=allowed.delta if loss.mu_squared or within.selection_delta else Decimal(0),
        belief=belief_after(_float_above(loss.pure), loss.mu, within.delta),
        advantage=composed_advantage((loss.advantage, _float_above(within.selection_delta))),
        pure=str(loss.pure),
        mu_squared=str(loss.mu_squared),
        selection_delta=within.selection_delta,
    )


def _charged(allowed: AllowedLoss, epsilon: Fraction) -> Decimal:
    """An epsilon as it is allowed; where something else is bounded, too, or alone, that of the noise."""
    noise_epsilon = _rounded(epsilon, ROUND_CEILING)
    if allowed.epsilon is None:
        return noise_epsilon
    is_alone = allowed.belief is None and allowed.advantage is None
    return allowed.epsilon if is_alone else min(allowed.epsilon, noise_epsilon)


def epsilon_within_belief(belief: Decimal) -> Decimal:
    """A pure loss after which no belief is above a bound, in (0.5, 1); nine digits, rounded down."""
    return _rounded(Fraction(epsilon_for_belief(_float_below(belief))), ROUND_FLOOR)


def epsilon_within_advantage(advantage: Decimal) -> Decimal:
    """A pure loss that allows no advantage above a bound, in (0, 1); nine digits, rounded down."""
    return _rounded(Fraction(epsilon_for_advantage(_float_below(advantage))), ROUND_FLOOR)


def is_in_range(word: IRI, value: Decimal) -> bool:
    """Whether a bound can be met by some noise, and is not met by everything.

    Args:
        word: one of `LOSSES`.
        value: the bound.
    """
    least, most = _RANGES[word]
    return value.is_finite() and least <= value <= most


def _range_of(word: IRI) -> str:
    least, most = _RANGES[word]
    return f"a number from {least} to {most}"


def equivalent_bound(word: IRI, asked: IRI, value: Decimal) -> Decimal:
    """A bound of a loss in another word: what a pure loss that keeps to the one comes to in the other.

    Of a pure loss the three determine each other: belief is 1 / (1 + exp(-epsilon)) (arXiv 2103.02913,
    Theorem 1), and advantage is twice the belief less 1 (`identifiability.advantage`). Gaussian noise may
    keep to the one and not to the other; so whoever asks for one word under another is to keep both.

    Args:
        word: in which the bound is wanted, one of `LOSSES`.
        asked: in which it is stated.
        value: in range (`is_in_range`).

    Returns:
        Nine digits, rounded down.
    """
    if word == asked:
        return value
    if word == EPSILON:
        return (
            epsilon_within_belief(value) if asked == POSTERIOR_BELIEF else epsilon_within_advantage(value)
        )
    return _advantage_of(asked, value) if word == MEMBERSHIP_ADVANTAGE else _belief_of(asked, value)


def _advantage_of(asked: IRI, value: Decimal) -> Decimal:
    if asked == POSTERIOR_BELIEF:
        return _EXACT.subtract(_EXACT.multiply(value, 2), 1)
    gain = _rounded(Fraction(advantage(_float_below(value))), ROUND_FLOOR)
    return min(gain, _RANGES[MEMBERSHIP_ADVANTAGE][1])


def _belief_of(asked: IRI, value: Decimal) -> Decimal:
    gained = value if asked == MEMBERSHIP_ADVANTAGE else _advantage_of(asked, value)
    return _EXACT.multiply(_EXACT.add(gained, 1), Decimal("0.5"))


def _within(
    total: Fraction, split: Split, delta: float, mu_within: Callable[[float, float], float]
) -> tuple[Fraction, float]:
    """The pure epsilon and the mu that share a pure loss; mu by what it is a bound of."""
    mu = mu_within(float(total * split.gaussian) * _SLACK, delta) if split.gaussian else 0.0
    return total * (1 - split.gaussian), mu


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
