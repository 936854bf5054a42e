"""What each column of a record may lose, so that all of them together lose what is allowed.

A record is reported by a local algorithm (D5.2, Definition 7): its columns are randomised one by one, and
their epsilons and deltas add up (basic composition: Dwork, Roth, "The Algorithmic Foundations of
Differential Privacy", 2014, Theorem 3.16). So epsilon is divided equally over all columns, and delta over
those with Gaussian noise, which alone need one. Of a belief or an advantage each column has an equal share,
as `smalti.engine.losses.allowed` divides them, and Gaussian noise is calibrated on what it says of both.
"""

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final

from smalti.engine.losses.allowed import AllowedLoss, AllowedNoise, Split, allowed_noise
from smalti.transforms.identifiability import gaussian_epsilon
from smalti.transforms.sensitivity import split_budget

PLACES: Final = 12
"""Significant digits of a column's epsilon or delta, at least."""
LEAST_STATED: Final = Decimal("1e-12")
"""The epsilon that is stated and charged at least, also where all that is lost is within delta."""


@dataclass(frozen=True, slots=True)
class GaussianShare:
    """What the Gaussian noise of one column may lose."""

    mu: float
    """The greatest that keeps to what is allowed."""
    delta: Decimal
    """In (0, 1)."""
    epsilon: Decimal | None
    """None: a belief or an advantage is bounded, and epsilon follows from the noise."""

    def stated(self, mu: float) -> Decimal:
        """The epsilon that is stated of noise.

        Args:
            mu: that of the noise; at most the share's.
        """
        if self.epsilon is not None:
            return self.epsilon
        lost = Fraction(gaussian_epsilon(float_below(self.delta), mu))
        return max(decimal_above(lost), LEAST_STATED)


@dataclass(frozen=True, slots=True)
class GaussianShares:
    """What the columns of a record may lose, of which some have Gaussian noise."""

    gaussian: GaussianShare
    """Of each column with it."""
    pure: Decimal
    """The epsilon of each other column; 0 where there is none."""
    within: AllowedNoise
    """What both kinds may lose together."""


def gaussian_shares(allowed: AllowedLoss, columns: int, gaussian: int) -> GaussianShares:
    """Equal shares of what is allowed, where some columns have Gaussian noise.

    The mu of a column keeps to its own epsilon and delta, and the root of the sum of squares of all mus to
    all of both: the columns' promises add up, and what is computed of the whole record keeps to the bound,
    too.

    Args:
        allowed: without problems, and with a delta above 0.
        columns: of the record.
        gaussian: those with Gaussian noise; from 1 to `columns`.
    """
    within = allowed_noise(allowed, Split(Fraction(gaussian, columns), selects=False))
    delta = shares_of(allowed.delta, gaussian)[0]
    alone = allowed_noise(replace(allowed, delta=delta), Split(Fraction(1, columns), selects=False))
    mu = min(alone.mu, within.mu / math.sqrt(gaussian))
    epsilon = None if allowed.epsilon is None else shares_of(allowed.epsilon, columns)[0]
    others = columns - gaussian
    pure = decimal_below(within.pure / others) if others else Decimal(0)
    return GaussianShares(GaussianShare(mu, delta, epsilon), pure, within)


def shares_of(whole: Decimal, columns: int) -> tuple[Decimal, ...]:
    """Equal shares of an epsilon or a delta, as decimal numbers that add up to it at most.

    >>> shares_of(Decimal(1), 3)
    (Decimal('0.333333333333'), Decimal('0.333333333333'), Decimal('0.333333333333'))
    """
    exact = split_budget(Fraction(whole), [Fraction(1)] * columns)
    return tuple(map(decimal_below, exact))


def decimal_below(value: Fraction) -> Decimal:
    """A number, rounded down to `PLACES` digits."""
    return _decimal(value, ROUND_FLOOR, PLACES)


def decimal_above(value: Fraction, places: int = PLACES) -> Decimal:
    """A number, rounded up to some digits."""
    return _decimal(value, ROUND_CEILING, places)


def _decimal(value: Fraction, rounding: str, places: int) -> Decimal:
    context = Context(prec=places, rounding=rounding)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def float_below(value: Decimal) -> float:
    """The greatest double that is not above a number."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= Fraction(value) else math.nextafter(nearest, 0.0)
