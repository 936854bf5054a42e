"""The meaning of a privacy loss for one person: belief in membership, and the advantage of guessing it.

The adversary of differential privacy knows two neighbouring data sets, holds either for equally likely
(prior one half), and sees what was released. The *posterior belief* is its belief in the true one; the
*membership advantage* is twice its success rate minus one. "Quantifying identifiability to choose and audit
epsilon in differentially private deep learning", arXiv 2103.02913, sections 3 and 4.

A Gaussian release is described by its `mu`, the l2-sensitivity in standard deviations of the noise: it is
mu-GDP, and everything else about it follows exactly (Dong, Roth, Su, "Gaussian Differential Privacy",
JRSS B 84, 2022). Privacy losses are in nats. All functions are exact up to a relative error of 1e-11,
unless they say on which side they err; none of them overflows.
"""

import math
from collections.abc import Callable, Iterable
from statistics import NormalDist
from typing import Final

_STANDARD_NORMAL: Final = NormalDist()
_ROOT_OF_TWO_PI: Final = math.sqrt(2 * math.pi)
_CAUTION: Final = 2.0**-40
"""Relative step to the careful side of what is calibrated; many times the error of the arithmetic."""
_FRACTION_FROM: Final = 3.0
_FRACTION_DEPTH: Final = 90
"""Terms of the continued fraction of Mills' ratio; its error at 3 is then below 1e-15."""
_NODES: Final = (
    (0.18343464249564980, 0.36268378337836198),
    (0.52553240991632899, 0.31370664587788729),
    (0.79666647741362674, 0.22238103445337447),
    (0.96028985649753623, 0.10122853629037626),
)
"""Abscissas and weights of Gauss and Legendre's rule of order 8 (Abramowitz and Stegun, table 25.4)."""


def posterior_belief(epsilon: float) -> float:
    """The greatest posterior belief that a pure privacy loss allows, at prior one half.

    1 / (1 + exp(-epsilon)): arXiv 2103.02913, Theorem 1.

    Args:
        epsilon: at least 0; of one release, or of the composition of all.

    >>> round(posterior_belief(math.log(3)), 12)
    0.75
    """
    return 1 / (1 + math.exp(-_not_negative(epsilon)))


def epsilon_for_belief(belief: float) -> float:
    """The greatest pure privacy loss that keeps the posterior belief at or below a bound; errs below.

    ln(belief / (1 - belief)): arXiv 2103.02913, equation 10.

    Args:
        belief: in (0.5, 1), at prior one half.
    """
    if not 0.5 < belief < 1:
        raise ValueError("a bound of the posterior belief lies between 0.5 and 1, both excluded")
    return _below(2 * math.atanh(2 * belief - 1))


def advantage(epsilon: float, delta: float = 0.0) -> float:
    """The greatest membership advantage that any (epsilon, delta)-private mechanism allows.

    (e^epsilon - 1 + 2 delta) / (e^epsilon + 1), the largest total variation distance of two distributions
    that are so close: Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy", ICML
    2015 (region of error rates). Randomised response reaches it.

    >>> round(advantage(1.1), 2)
    0.5
    """
    epsilon, delta = _not_negative(epsilon), _probability(delta)
    small = math.exp(-epsilon)
    return math.tanh(epsilon / 2) + 2 * delta * small / (1 + small)


def epsilon_for_advantage(bound: float) -> float:
    """The greatest pure privacy loss of any mechanism within a bound of the advantage; errs below.

    Args:
        bound: in (0, 1).
    """
    return _below(2 * math.atanh(_open_unit(bound)))


def composed_advantage(advantages: Iterable[float]) -> float:
    """A bound of the advantage of several releases together, whatever their mechanisms.

    1 minus the product of (1 - advantage): releases from two data sets can be coupled so that they agree
    one after the other, each with probability 1 - advantage. Gaussian releases have the smaller, exact
    `gaussian_advantage(compose_gaussian(mus))`.
    """
    return -math.expm1(sum(map(_log_of_rest, advantages)))


def compose_gaussian(mus: Iterable[float]) -> float:
    """The mu of several Gaussian releases, also adaptive ones: the root of the sum of squares.

    Dong, Roth, Su 2022, Corollary 3.3.
    """
    return math.hypot(*mus)


def gaussian_advantage(mu: float) -> float:
    """The exact membership advantage of a mu-GDP release: 2 Phi(mu / 2) - 1."""
    return math.erf(_not_negative(mu) / math.sqrt(8))


def mu_for_advantage(bound: float) -> float:
    """The greatest mu whose exact advantage is within a bound; errs below.

    Args:
        bound: in (0, 1).
    """
    bound = _open_unit(bound)
    if bound >= 0.5:
        return _below(-2 * _STANDARD_NORMAL.inv_cdf((1 - bound) / 2))
    root = _STANDARD_NORMAL.inv_cdf(0.5 + bound / 2) / math.sqrt(2)
    for _ in range(3):  # Newton: the quantile beside one half has few digits of a small advantage
        root += (bound - math.erf(root)) * math.sqrt(math.pi) / 2 * math.exp(root * root)
    return _below(root * math.sqrt(8))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The exact delta of a mu-GDP release at an epsilon.

    Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu): Dong, Roth, Su 2022, Corollary 2.13; Balle
    and Wang, ICML 2018, Theorem 8. With a = epsilon/mu - mu/2 and b = a + mu this is phi(a) (R(a) - R(b)),
    where R is Mills' ratio of the normal tail and its density, so nothing overflows or cancels.

    Args:
        epsilon: at least 0.
        mu: at least 0; the l2-sensitivity in standard deviations.
    """
    epsilon, mu = _not_negative(epsilon), _not_negative(mu)
    if mu == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(mu):
        return 1.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if mu < 1:
        return _density(near) * _fall_of_mills(near, mu)
    if near > 0:
        return _density(near) * (_mills(near) - _mills(far))
    return _upper_tail(near) - _density(near) * _mills(far)


def gaussian_epsilon(delta: float, mu: float) -> float:
    """The least epsilon that a mu-GDP release has at a delta; errs above.

    Args:
        delta: in (0, 1).
        mu: at least 0.
    """
    # The arithmetic of delta errs, too, which a step of epsilon does not cover where epsilon is small.
    delta, mu = _below(_open_unit(delta)), _not_negative(mu)
    if gaussian_delta(0, mu) <= delta:
        return 0.0
    # The loss exceeds this with probability delta, which is more than delta of epsilon.
    top = mu * (mu / 2 + max(0.0, _upper_quantile(delta)))
    return _above(_edge(lambda epsilon: gaussian_delta(epsilon, mu) > delta, 0.0, top))


def mu_for_epsilon(epsilon: float, delta: float) -> float:
    """The greatest mu whose release is (epsilon, delta)-private; errs below.

    Args:
        epsilon: above 0.
        delta: in (0, 1).
    """
    epsilon, delta = _not_negative(epsilon), _below(_open_unit(delta))
    if math.isinf(epsilon):
        return epsilon
    top = 1.0
    while gaussian_delta(epsilon, top) <= delta:
        top *= 2
    return _below(_edge(lambda mu: gaussian_delta(epsilon, mu) <= delta, 0.0, top))


def chance_of_excess(epsilon: float, mu: float) -> float:
    """The probability that the privacy loss of a mu-GDP release exceeds epsilon.

    The loss is normal with mean mu^2/2 and standard deviation mu, so this is Phi(mu/2 - epsilon/mu). It is
    also the probability that the posterior belief exceeds `posterior_belief(epsilon)`. It exceeds the delta
    of `gaussian_delta` at the same epsilon: (epsilon, delta)-privacy alone bounds no belief so.
    """
    epsilon, mu = _not_negative(epsilon), _not_negative(mu)
    return 0.0 if mu == 0 else _upper_tail(epsilon / mu - mu / 2)


def loss_quantile(delta: float, mu: float) -> float:
    """The epsilon that the privacy loss of a mu-GDP release exceeds with a probability; errs above.

    mu^2/2 + mu q, with q the (1 - delta)-quantile of the standard normal distribution; at least 0.

    Args:
        delta: in (0, 1).
        mu: at least 0.
    """
    mu = _not_negative(mu)
    return _above(max(0.0, mu * (mu / 2 + _upper_quantile(_open_unit(delta)))))


def mu_for_belief(belief: float, delta: float) -> float:
    """The greatest mu whose posterior belief exceeds a bound with probability delta at most; errs below.

    mu = -q + sqrt(q^2 + 2 epsilon), with q the (1 - delta)-quantile of the standard normal distribution:
    the root of `chance_of_excess(epsilon, mu) = delta`. It is about a loss that is normal. For what is made
    from the release, and for steps whose distance depends on earlier steps, `belief.mu_for_largest_loss`.

    Args:
        belief: in (0.5, 1), at prior one half.
        delta: in (0, 1).
    """
    quantile, epsilon = _upper_quantile(_open_unit(delta)), epsilon_for_belief(belief)
    root = math.hypot(quantile, math.sqrt(2 * epsilon))
    return _below(2 * epsilon / (quantile + root) if quantile > 0 else root - quantile)


def classic_gaussian_advantage(epsilon: float, delta: float) -> float:
    """The advantage of the classic Gaussian noise, as printed in the literature; for reproduction only.

    2 Phi(epsilon / (2 sqrt(2 ln(1.25 / delta)))) - 1: arXiv 2103.02913, Theorem 2. It is no bound for any
    other noise with the same epsilon and delta: a tighter account adds less noise and allows a greater
    advantage.
    """
    return gaussian_advantage(_not_negative(epsilon) / math.sqrt(2 * math.log(1.25 / _open_unit(delta))))


def classic_gaussian_epsilon(bound: float, delta: float) -> float:
    """The inverse of `classic_gaussian_advantage` in epsilon; for reproduction only."""
    return mu_for_advantage(bound) * math.sqrt(2 * math.log(1.25 / _open_unit(delta)))


def classic_renyi_mu(epsilon: float, delta: float) -> float:
    """The mu of Gaussian noise that Renyi composition with the classic conversion takes; to reproduce.

    The root of mu^2 / 2 + mu sqrt(2 ln(1 / delta)) = epsilon: the least conversion of (a, a mu^2 / 2)-Renyi
    privacy over all orders a (Mironov, CSF 2017, Proposition 3), with which arXiv 2103.02913 calibrates. It
    is less than `mu_for_epsilon`, so the releases are (epsilon, delta)-private.

    Args:
        epsilon: above 0.
        delta: in (0, 1).
    """
    slope = math.sqrt(2 * math.log(1 / _open_unit(delta)))
    return _below(2 * _not_negative(epsilon) / (slope + math.sqrt(slope * slope + 2 * epsilon)))


def _mills(x: float) -> float:
    """Mills' ratio of the standard normal distribution: its upper tail divided by its density at x."""
    return 1 / (x + _rest_of_mills(x)) if x >= _FRACTION_FROM else _upper_tail(x) / _density(x)


def _rest_of_mills(x: float) -> float:
    """1 / R(x) - x, by Laplace's continued fraction 1/(x + 2/(x + 3/(x + ...)))."""
    rest = x
    for term in range(_FRACTION_DEPTH, 1, -1):
        rest = x + term / rest
    return 1 / rest


def _slope_of_mills(x: float) -> float:
    """-R'(x) = 1 - x R(x), a positive number."""
    if x < _FRACTION_FROM:
        return 1 - x * _mills(x)
    rest = _rest_of_mills(x)
    return rest / (x + rest)


def _fall_of_mills(start: float, width: float) -> float:
    """R(start) - R(start + width), as an integral of positive numbers, for a width below 1."""
    middle, half = start + width / 2, width / 2
    return half * sum(
        weight * (_slope_of_mills(middle - half * node) + _slope_of_mills(middle + half * node))
        for node, weight in _NODES
    )


def _density(x: float) -> float:
    return math.exp(-x * x / 2) / _ROOT_OF_TWO_PI


def _upper_tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def _upper_quantile(probability: float) -> float:
    return -_STANDARD_NORMAL.inv_cdf(probability)


def _edge(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a property that holds at the low end, and not above some number, ends; by bisection."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _below(value: float) -> float:
    return value * (1 - _CAUTION)


def _above(value: float) -> float:
    return value * (1 + _CAUTION)


def _log_of_rest(value: float) -> float:
    return math.log1p(-value) if value < 1 else -math.inf


def _not_negative(value: float) -> float:
    if not value >= 0:
        raise ValueError("a privacy loss or a mu is a number from 0")
    return value


def _probability(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError("a probability lies between 0 and 1")
    return value


def _open_unit(value: float) -> float:
    if not 0 < value < 1:
        raise ValueError("a number between 0 and 1 is expected here, both excluded")
    return value
