r"""The discrete Gaussian distribution: its weights, its tails, and how well its shifts are told apart.

P(x) ~ exp(-x^2 / (2 scale^2)) on whole numbers (Canonne, Kamath, Steinke, "The Discrete Gaussian for
Differential Privacy", NeurIPS 2020). `largest_step` is the mu of noise that is shifted by one.

Theorem:
    Let X be discrete Gaussian of scale s > 0, T(j) = P(X >= j), and h(j) the number whose upper tail under
    the standard normal distribution is T(j). Of all steps h(j + 1) - h(j), the one at 0 is the greatest,
    and it is greater than 1/s. So noise and noise shifted by d are d (h(1) - h(0))-GDP.

Proof:
    1. Lemma. For b > 0 let M(t) be the integral of exp(ty - b y^2/2) over -1/2 <= y <= 1/2, and L = log M.
    Then L(sqrt(v)) is strictly concave in v > 0, that is, L'(t)/t falls. With w(y) = exp(-b y^2/2), partial
    integration of t exp(ty) w(y) gives t M = 2 w(1/2) sinh(t/2) + b M', so L'(t)/t = (1 - w(1/2)/W(t)) / b
    with W(t) = t M(t) / (2 sinh(t/2)). This is the mean of w under the density t cosh(ty) / sinh(t/2) on
    [0, 1/2]. Its likelihood ratio rises in y as t grows, for the derivative y tanh(ty) of log cosh(ty) by t
    does; so mass moves up, where w is smaller, and W falls.

    2. Let g(i) be the mass of a normal distribution of standard deviation 1/c in an interval of length 1
    around i - a. Then log g(i) = const - c^2 z^2/2 + L(c^2 z) with z = i - a and b = c^2, and with
    p(i) = P(X = i): log p(i)/g(i) = const - a z/s^2 + E(z^2), where E is strictly convex by the lemma.

    3. The step at 0 is greater than 1/s: with c = 1/s and a = 0, E(v) = -L(sqrt(v)/s^2) falls, so p/g falls
    on both sides of 0. Both add up to 1, so p(0) > g(0), the mass between normal quantiles that are 1/s
    apart around 0; and p(0) is that between h(0) = -h(1) and h(1).

    4. Steps tend to 1/s: the upper normal tail of x is about density(x)/x and T(j) about p(j), both up to
    a factor that tends to 1. So h(j + 1)^2 - h(j)^2 = (2j + 1)/s^2 + o(1), where h(j) is about j/s. With 3
    a greatest step exists. X is symmetric, so h(1 - j) = -h(j), and steps at -j and j are equal: suppose
    that a greatest step, c, is at J >= 1.

    5. The line l with l(J) = h(J) and slope c has l >= h at whole numbers from J on, and l <= h up to
    J + 1 from below, with equality at J and J + 1. Let g(i) be the normal mass between l(i) and l(i + 1),
    which is as in 2, with l(a + 1/2) = 0. Tails from i on are at least those of l for i > J, and at most
    for i <= J, so p(J) = g(J), p(J + 1) <= g(J + 1) and p(J - 1) <= g(J - 1).
    a >= 0, for l(0) + l(1) <= h(0) + h(1) = 0. And z = J - a > 1/2, for l(J) = h(J) >= h(1) > 0.

    6. From p(J)/g(J) >= p(J - 1)/g(J - 1) follows E(z^2) - E((z - 1)^2) >= a/s^2 >= 0. As z > 1/2, z^2 is
    greater than (z - 1)^2, and (z + 1)^2 - z^2 = 2z + 1 is greater than z^2 - (z - 1)^2 = 2z - 1. By strict
    convexity E((z + 1)^2) - E(z^2) > a/s^2, so p(J + 1)/g(J + 1) > p(J)/g(J) = 1, against 5.

    7. Likelihood ratios of shifts are monotone, so the best tests are by thresholds, and mixtures of two of
    them. That from j on has error rates T(j) and 1 - T(j - d), which are on the trade-off curve of mu =
    h(j) - h(j - d), at most d times the greatest step; such curves are convex, so mixtures are no better.
"""

import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.identifiability import mu_for_advantage

EXACT_UPTO: Final = 4096
"""Scales, in units, up to which margins and variances are sums over all whole numbers."""

_TAIL: Final = 40
_CAUTION: Final = 2.0**-38
_FEW_OTHERS: Final = 0.6
"""Scales up to which 0 is likelier than all other numbers together, roughly."""


def largest_step(scale: float) -> float:
    """The mu of noise and noise shifted by one, by the theorem above; errs above, by less than 1e-11.

    A vector of shifts has the root of the sum of their squares, times this (Dong, Roth, Su 2022, Corollary
    3.3). The usual 1/scale is too small, by a factor of about 1 + 1/(24 scale^2).

    Args:
        scale: in units, above 0; infinity is the answer where the noise is hardly ever other than 0.
    """
    if scale > _FEW_OTHERS:  # h(1) - h(0) = 2 h(1), between which is P(0)
        return mu_for_advantage(1 / total(scale)) * (1 + _CAUTION)
    beyond = float(weights(scale)[1:].sum()) / total(scale)
    return -2 * NormalDist().inv_cdf(beyond) * (1 + _CAUTION) if beyond > 0 else math.inf


def margin(scale: float, missed: float) -> int:
    """The least m with P(|X| > m) at most a probability; for scales above `EXACT_UPTO`, one that is enough.

    That one is the normal quantile: T(j + 1) is at most the normal tail of j / scale, since weights fall
    and their total is at least sqrt(2 pi) scale (Poisson's summation formula).

    Args:
        scale: in units.
        missed: in (0, 1).
    """
    if scale > EXACT_UPTO:
        return math.ceil(-scale * NormalDist().inv_cdf(missed / 2)) + 1
    beyond = np.cumsum(weights(scale)[::-1])[::-1] * (2 / total(scale))  # P(|X| >= m) from 1 on
    return int(np.count_nonzero(beyond[1:] > missed * (1 - _CAUTION)))


def variance(scale: float) -> float:
    """That of one draw."""
    if scale > EXACT_UPTO:
        return scale**2
    of_each = weights(scale)
    squares = np.arange(len(of_each), dtype=np.float64) ** 2
    return float(2 * (squares * of_each).sum() / total(scale))


def weights(scale: float) -> NDArray[np.float64]:
    """exp(-x^2 / (2 scale^2)) for x from 0 to where it vanishes."""
    places = np.arange(math.ceil(_TAIL * scale) + 1, dtype=np.float64)
    return np.exp(-((places / scale) ** 2) / 2)


def total(scale: float) -> float:
    """The sum of the weights of all whole numbers; by Poisson's summation formula for large scales."""
    if scale > _TAIL:
        return math.sqrt(2 * math.pi) * scale
    return float(2 * weights(scale)[1:].sum() + 1)
