"""What runs of a random mechanism show, with a stated rate of false alarms."""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

FALSE_ALARM = 1e-9
"""The probability with which one comparison fails although nothing is wrong."""

Whole = NDArray[np.int64]


def furthest_allowed(runs: int, false_alarm: float = FALSE_ALARM) -> float:
    """How far an empirical distribution function may be from the true one (Dvoretzky-Kiefer-Wolfowitz).

    Massart 1990 has the constant: P(sup |F_n - F| > t) <= 2 exp(-2 n t^2).
    """
    return math.sqrt(math.log(2 / false_alarm) / (2 * runs))


def distance(drawn: Whole, cumulative: Callable[[Whole], NDArray[np.float64]]) -> float:
    """The greatest distance of the distribution function of draws from that of whole numbers."""
    values, counts = np.unique(drawn, return_counts=True)
    shares = np.cumsum(counts) / len(drawn)
    before = np.concatenate(([0.0], shares[:-1]))
    return float(
        max(np.abs(shares - cumulative(values)).max(), np.abs(before - cumulative(values - 1)).max())
    )


def share_within(hits: int, runs: int, false_alarm: float = FALSE_ALARM) -> tuple[float, float]:
    """An interval that holds the probability of a hit but for a false alarm (Clopper and Pearson 1934)."""
    half = false_alarm / 2
    low = 0.0 if hits == 0 else _root(lambda p: _beta_tail(hits, runs - hits + 1, p) < half)
    high = 1.0 if hits == runs else _root(lambda p: _beta_tail(hits + 1, runs - hits, p) < 1 - half)
    return low, high


def loss_shown(hits: int, hits_of_neighbour: int, runs: int, false_alarm: float = FALSE_ALARM) -> float:
    """An epsilon that a pure mechanism has at least, by an event that was chosen before the runs."""
    low, _ = share_within(hits, runs, false_alarm / 2)
    _, high = share_within(hits_of_neighbour, runs, false_alarm / 2)
    return math.log(low / high) if low > 0 else -math.inf


def mu_shown(hits: int, hits_of_neighbour: int, runs: int, false_alarm: float = FALSE_ALARM) -> float:
    """A mu that a Gaussian mechanism has at least, by an event that was chosen before the runs."""
    low, _ = share_within(hits, runs, false_alarm / 2)
    _, high = share_within(hits_of_neighbour, runs, false_alarm / 2)
    return NormalDist().inv_cdf(low) - NormalDist().inv_cdf(high)


def _root(is_below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def _beta_tail(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_tail(b, a, 1 - x)
    if x <= 0:
        return 0.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    value, ratio, step = 1.0, 1.0, 1.0
    d = 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 5000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, ratio = 1 / (1 + term * d), 1 + term / ratio
            step = d * ratio
            value *= step
        if abs(step - 1) < 1e-15:
            return front * value
    raise AssertionError("the continued fraction did not settle")
