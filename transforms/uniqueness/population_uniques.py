"""What a sample says of the uniques of its population: bounds without a model, and Pitman's estimate.

A *unique* of the population is a person with a combination that nobody else of the population has.

With p the sampling rate, q = 1 - p, and s_i the combinations that i persons of the sample share,
Goodman's sum over i of (-1)^(i-1) i q^(i-1) / p^i s_i is unbiased for the uniques of the population ("On
the estimation of the number of classes in a population", 1949). Cut off after m terms, its expectation
differs by the sum over j > m of S_j (-1)^(m-1) j q^(j-1) C(j-2, m-1), where j persons of the population
share S_j combinations: after an odd number of terms it is an upper bound, after an even number a lower
one, whatever the population is. The variance of a sum of c_i s_i is at most the expectation of the sum of
c_i^2 s_i where persons are drawn independently.

Pitman's model: Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment"
(2001).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

CONFIDENCE: Final = 0.95
CONFIRMED: Final = 0.1
"""Where at least this share of the population is unique, the model was confirmed: decision 55."""
_TERMS: Final = 6
_SCORE: Final = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / _TERMS)
"""Each of the bounds may fail; together they hold with the confidence."""
_STEPS: Final = 40
_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_LARGEST: Final = 1e8
"""Of theta; above it the model does not fit."""

Sizes = Sequence[tuple[int, int]]
"""How many combinations so many persons of the sample share."""


@dataclass(frozen=True, slots=True)
class UniquesBetween:
    """Bounds of the number of uniques in the population, and an estimate."""

    least: int
    most: int
    pitman: int | None
    """By Pitman's model; None where no simulation confirms it: it contradicts the bounds, does not fit the
    sample, or says that fewer than `CONFIRMED` of the population are unique."""


def population_uniques(sizes: Sizes, population: int) -> UniquesBetween:
    """Bounds of the population's uniques, with the stated confidence, and Pitman's estimate within them.

    Args:
        sizes: of the sample, which is drawn at random, each person once; not empty.
        population: persons there, at least as many as in the sample.
    """
    persons = sum(size * count for size, count in sizes)
    counted = dict(sizes)
    least, most = 0.0, float(population)
    rate = persons / population
    total = spread = 0.0
    for order in range(1, _TERMS + 1):
        weight = (-1) ** (order - 1) * order * (1 - rate) ** (order - 1) / rate**order
        total += weight * counted.get(order, 0)
        # One more combination than there are: a count of none is no proof that none is expected.
        spread += weight**2 * (counted.get(order, 0) + (rate < 1))
        margin = _SCORE * math.sqrt(spread) if rate < 1 else 0.0
        if order % 2:
            most = min(most, total + margin)
        else:
            least = max(least, total - margin)
    least, most = math.floor(least), math.ceil(max(most, least))
    estimate = pitman_uniques(sizes, population)
    is_confirmed = estimate is not None and max(least, CONFIRMED * population) <= estimate <= most
    return UniquesBetween(least, most, round(estimate) if estimate is not None and is_confirmed else None)


def pitman_uniques(sizes: Sizes, population: int) -> float | None:
    """The expected uniques of a population under the model that makes the sample likeliest.

    Args:
        sizes: as of `population_uniques`.
        population: likewise.

    Returns:
        None where no parameters of the model are the likeliest.
    """
    persons = sum(size * count for size, count in sizes)
    classes = sum(count for _, count in sizes)
    if classes in (1, persons):
        return None
    sample = _Sample(sizes, classes, persons)
    alpha = _highest(lambda alpha: sample.likelihood(alpha, sample.theta(alpha)), 1e-3, 1 - 1e-6)
    theta = sample.theta(alpha)
    if theta > _LARGEST / 2:
        return None
    log = math.lgamma(theta + alpha + population - 1) - math.lgamma(theta + population)
    return population * math.exp(log + math.lgamma(theta + 1) - math.lgamma(theta + alpha))


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample under Pitman's model, with 0 < alpha < 1 and theta > 0."""

    sizes: Sizes
    classes: int
    persons: int

    def theta(self, alpha: float) -> float:
        """The theta that makes the sample likeliest."""
        return math.exp(
            _highest(lambda log: self.likelihood(alpha, math.exp(log)), -5.0, math.log(_LARGEST))
        )

    def likelihood(self, alpha: float, theta: float) -> float:
        """The logarithm of the sample's probability, up to a constant."""
        gamma, ratio = math.lgamma, theta / alpha
        opened = (self.classes - 1) * math.log(alpha) + gamma(ratio + self.classes) - gamma(ratio + 1)
        drawn = gamma(theta + self.persons) - gamma(theta + 1)
        joined = sum(count * (gamma(size - alpha) - gamma(1 - alpha)) for size, count in self.sizes)
        return opened - drawn + joined


def _highest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with a single peak is highest, by golden sections."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_STEPS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
    return (low + high) / 2
