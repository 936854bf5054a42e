"""What a sample says of the uniques of its population: bounds without a model, and Pitman's estimate.

A *unique* of the population is a person with a combination that nobody else of the population has.

With p the sampling rate, q = 1 - p, s_i the combinations that i persons of the sample share, and S_j
those that j persons of the population share, E s_i = sum over j of S_j C(j, i) p^i q^(j-i). So for a
polynomial f(x) = sum over k of a_k C(x, k) the sum over k of a_k (k+1) (q/p)^k s_(k+1) / p has the
expectation sum over j of S_j j q^(j-1) f(j-1). With f(0) = 1 and f >= 0 at all whole numbers that is an
upper bound of the uniques S_1; with f(0) = 1 and f <= 0 from 1 on it is a lower one, whatever the
population is. Products of pairs (1 - x/r)(1 - x/(r+1)) are such upper ones, since no whole number lies
between the roots of a pair; times 1 - x they are lower ones. Roots 1, 2, 3 ... are the first terms of the
unbiased sum of Goodman, "On the estimation of the number of classes in a population" (1949), which is too
variable; a pair of larger ones is the inequality of Dawson and Sankoff, "An inequality for probabilities"
(1967). The variance of a sum of c_i s_i is at most the expectation of the sum of c_i^2 s_i where persons
are drawn independently.

Pitman's model: Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment"
(2001).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import prod
from statistics import NormalDist
from typing import Final

CONFIDENCE: Final = 0.95
CONFIRMED: Final = 0.1
"""Where at least this share of the population is unique, the model was confirmed: decision 55."""
_PLACES: Final = (1, 2, 4, 8, 16)
"""The first ones of two neighbouring roots: the same for all data, so that chance has no part in them. More
of them narrow few bounds, and make all margins wider."""
_STEPS: Final = 40
_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_LARGEST: Final = 1e8
"""Of theta; above it the model does not fit."""

Sizes = Sequence[tuple[int, int]]
"""How many combinations so many persons of the sample share."""


def _coefficients(*roots: int) -> tuple[Fraction, ...]:
    """Those of C(x, 0), C(x, 1), ... of the product of 1 - x/r over the roots: its differences at 0."""
    values = [
        prod((1 - Fraction(x, root) for root in roots), start=Fraction(1)) for x in range(len(roots) + 1)
    ]
    coefficients = []
    while values:
        coefficients.append(values[0])
        values = [later - earlier for earlier, later in pairwise(values)]
    return tuple(coefficients)


_FIRST: Final = tuple(tuple(range(1, 1 + number)) for number in range(6))
"""Roots, of Goodman's first terms; best where much of the population is in the sample."""
_PAIRS: Final = tuple((first, first + 1) for first in _PLACES)
_ABOVE: Final = ((), *_PAIRS, *((*low, *high) for low, high in combinations(_PAIRS, 2)))
_FURTHER: Final = tuple(
    roots for above in _ABOVE for roots in (above, (1, *above)) if tuple(sorted(roots)) not in _FIRST
)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A polynomial, by its coefficients."""

    coefficients: tuple[Fraction, ...]
    is_above: bool
    """Whether it is an upper bound, since it has an even number of roots."""
    score: float
    """Of the margin for chance: each of the bounds may fail; together they hold with the confidence."""


def _bounds(several: Sequence[tuple[int, ...]]) -> tuple[_Bound, ...]:
    """Bounds that fail, together, with half of the chance that is left."""
    score = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(several))
    return tuple(_Bound(_coefficients(*roots), len(roots) % 2 == 0, score) for roots in several)


_BOUNDS: Final = (*_bounds(_FIRST), *_bounds(_FURTHER))


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
    rate = sum(size * count for size, count in sizes) / population
    counted = dict(sizes)
    least, most = 0.0, float(population)
    for bound in _BOUNDS:
        total, margin = _sum(bound, counted, rate)
        if bound.is_above:
            most = min(most, total + margin)
        else:
            least = max(least, total - margin)
    # Where the confidence fails, bounds may contradict each other.
    least, most = sorted((least, max(most, 0.0)))
    least, most = math.floor(least), math.ceil(min(most, population))
    estimate = pitman_uniques(sizes, population)
    is_confirmed = estimate is not None and max(least, CONFIRMED * population) <= estimate <= most
    return UniquesBetween(least, most, round(estimate) if estimate is not None and is_confirmed else None)


def _sum(bound: _Bound, counted: Mapping[int, int], rate: float) -> tuple[float, float]:
    """The sum that belongs to a polynomial, and its margin for chance."""
    total = spread = 0.0
    for order, coefficient in enumerate(bound.coefficients, 1):
        weight = float(coefficient) * order * ((1 - rate) / rate) ** (order - 1) / rate
        total += weight * counted.get(order, 0)
        # One more combination than there are: a count of none is no proof that none is expected.
        spread += weight**2 * (counted.get(order, 0) + (rate < 1))
    return total, bound.score * math.sqrt(spread) if rate < 1 else 0.0


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
