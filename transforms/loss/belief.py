"""The posterior belief after Gaussian releases, processed in any way, up to a probability.

The loss of a normal variable and its shift exceeds an epsilon with a probability that is known exactly
(`identifiability.chance_of_excess`). That is no statement about noise on whole numbers, nor about what is
made from noisy values, such as a mean that is rounded: outcomes that are put together have the loss of
their whole, so the probability of a loss above epsilon may grow, though every epsilon and delta still hold.
What is here holds for each mu-GDP release and for everything that is made from it.
"""

import math
from statistics import NormalDist
from typing import Final

from smalti.transforms.identifiability import posterior_belief

_STANDARD_NORMAL: Final = NormalDist()
_CAUTION: Final = 2.0**-40
"""Absolute and relative; many times the error of the arithmetic."""
_FAR: Final = 30.0
"""From here on the normal tail is bounded by its density."""


def largest_loss(delta: float, mu: float) -> float:
    """An epsilon that the loss of a mu-GDP release, processed in any way, exceeds with at most delta.

    ln(delta / Phi(-q - mu)), with q the (1 - delta)-quantile of the standard normal distribution.

    Proof:
        Let P be the distribution of what is seen, Q that on the neighbour, S the outcomes whose loss
        exceeds epsilon, and a = P(S). Then a > e^epsilon Q(S), and by mu-GDP, which processing keeps (Dong,
        Roth, Su 2022, Proposition 2.10), Q(S) >= f(a) = Phi(Phi^-1(a) - mu). So e^epsilon < a / f(a). As f
        is convex and f(0) = 0, this falls with a; so a <= delta where e^epsilon >= delta / f(delta).
        A release of pure loss p beside it makes it Q(S) >= e^-p f(a), by Jensen's inequality over its
        outcomes, and adds p.

    Args:
        delta: in (0, 1).
        mu: at least 0.
    """
    if not 0 < delta < 1 or not mu >= 0:
        raise ValueError("a delta lies between 0 and 1, both excluded, and a mu is a number from 0")
    if mu == 0:
        return 0.0
    quantile = -_STANDARD_NORMAL.inv_cdf(delta)
    return (math.log(delta) - _log_of_tail(quantile + mu)) * (1 + _CAUTION) + _CAUTION


def mu_for_largest_loss(epsilon: float, delta: float) -> float:
    """The greatest mu whose `largest_loss` is within epsilon, by bisection; errs below, and may be 0.

    Args:
        epsilon: above 0.
        delta: in (0, 1).
    """
    low, high = 0.0, 1.0
    while largest_loss(delta, high) <= epsilon:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if largest_loss(delta, middle) <= epsilon else (low, middle)
    return low


def belief_after(pure: float, mu: float, delta: float) -> float:
    """The posterior belief, at prior one half, that is exceeded with probability delta at most.

    After all releases that lose this, and whatever is made from them.

    Args:
        pure: the sum of the epsilons of pure releases, rounded up.
        mu: that of all Gaussian releases together.
        delta: in (0, 1); 0 is taken too where there is no Gaussian part.
    """
    return posterior_belief(pure + largest_loss(delta, mu) if mu else pure)


def _log_of_tail(x: float) -> float:
    """The logarithm of the upper normal tail; errs below from 30 on, by 1e-3 at most.

    The tail is at least density(x) x / (x^2 + 1) (Gordon 1941).
    """
    if x < _FAR:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    return -x * x / 2 - math.log(math.sqrt(2 * math.pi) * (x + 1 / x))
