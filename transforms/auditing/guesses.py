"""The number of records at which a random guess usually stays within a bound, to plan a training.

A guess gives scores that say nothing about membership, and are all different. Its measured figures scatter,
and their limits stay below a bound in about `SHARE` of all trainings from some number of records on, and in
more where few scores are different, for these scatter less. These numbers are for advice alone: they
come from distributions of large numbers, and nothing is refused because of them.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import stats

from smalti.transforms.auditing.limits import checked, of_two, quantile_ranks

SHARE: Final = 0.9
"""Of the trainings in which a guess is to keep to the bound."""
MOST: Final = 1 << 40
"""More records than a data set has."""
_SPREAD: Final = float(stats.norm.ppf(SHARE))
_COUNTED: Final = 5_000
"""Members above a threshold up to which probabilities are added up one by one."""
_FINER: Final = 1.02


def first(holds: Callable[[int], bool]) -> int | None:
    """The least number up to `MOST` for which a condition holds, if it holds for all above; else None."""
    doubled = next((size for exponent in range(41) if holds(size := 1 << exponent)), None)
    if doubled is None:
        return None
    least = doubled // 2 + 1
    return least + bisect_left(range(least, doubled), True, key=holds)


def for_advantage(most: float, confidence: float) -> int:
    """Members, and as many others, for the upper limit of `limits.advantage`.

    Without a difference, the greatest measured one of n and n is above x with probability exp(-n x^2), for
    large n (Smirnov 1939); the limit is c / sqrt(n) above it, with c = sqrt(2 ln(2 / (1 - confidence))).

    Args:
        most: the bound, above 0.
        confidence: of the limit, in (0, 1).
    """
    band = math.sqrt(2 * math.log(2 / (1 - checked(confidence))))
    return math.ceil(((band + math.sqrt(-math.log(1 - SHARE))) / most) ** 2)


def for_precision(most: float, confidence: float) -> int | None:
    """The same for `limits.Outcomes.precision`, at the threshold that looks best on the other half.

    The share p above the best threshold of a guess is uniform, as the place of the maximum of a Brownian
    bridge is. At a share p of j records, both rates are normal with variance p (1 - p) / j.

    Args:
        most: the bound, above one half and below 1.
        confidence: of the limit, in (0, 1).
    """
    odds, wide = most / (1 - most), float(stats.norm.ppf(of_two(confidence)))
    shares = (np.arange(400) + 0.5) / 400

    def holds(records: int) -> bool:
        judged = records - records // 2
        centre = (odds - 1) * np.sqrt(shares * judged / (1 - shares)) - (1 + odds) * wide
        return bool(stats.norm.cdf(centre / math.hypot(1, odds)).mean() >= SHARE)

    return first(holds)


def for_true_positive_rate(most: float, false_positive_rate: float, confidence: float) -> int:
    """The same for `limits.true_positive_rate`.

    How many of n members are above the k-th largest of n others is beta-binomial. From the number on that
    the normal distribution gives, or, where few members are above, some more.

    Args:
        most: the bound, above the false positive rate.
        false_positive_rate: where it is read, in (0, 1).
        confidence: of the limit, in (0, 1).
    """
    sides = of_two(confidence)
    wide = float(stats.norm.ppf(sides))
    at_rate, at_most = (math.sqrt(rate * (1 - rate)) for rate in (false_positive_rate, most))
    apart = (wide + math.sqrt(2) * _SPREAD) * at_rate + wide * at_most
    records = math.ceil((apart / (most - false_positive_rate)) ** 2)
    while records * most < _COUNTED and _chance(records, most, false_positive_rate, sides) < SHARE:
        records = math.ceil(records * _FINER)
    return records


def for_sets(most: float, confidence: float) -> int:
    """Attacks on disjoint sets, each right or wrong, for the upper limit of their accuracy.

    Args:
        most: the bound of the accuracy, above one half.
        confidence: of the limit, in (0, 1).
    """
    wide = float(stats.norm.ppf(checked(confidence)))
    return math.ceil(((_SPREAD + wide) / 2 / (most - 0.5)) ** 2)


def for_single(most: float, confidence: float) -> int:
    """Members of disjoint attacks for the upper limit of the share of members on top (`set_membership`).

    The share of one attack on M and M is hypergeometric, with a variance of about 1 / 8 M.

    Args:
        most: the bound of the accuracy, above one half.
        confidence: of the limit, in (0, 1).
    """
    band = math.sqrt(-math.log(1 - checked(confidence)))
    return math.ceil(((_SPREAD / math.sqrt(8) + band) / (most - 0.5)) ** 2)


def for_two_shares(most: float, confidence: float) -> int:
    """Attacks on members, and as many on others, for the upper limit of `limits.Outcomes.advantage`.

    Those that succeed half of the time scatter most: the difference of n and n has the variance 1 / 2n.

    Args:
        most: the bound, above 0.
        confidence: of the limit, in (0, 1).
    """
    wide = float(stats.norm.ppf(of_two(confidence)))
    return math.ceil(((_SPREAD / math.sqrt(2) + wide) / most) ** 2)


def _chance(records: int, most: float, false_positive_rate: float, sides: float) -> float:
    """That the limit of a guess keeps to the bound."""
    rank = quantile_ranks(records, false_positive_rate, sides)[1]
    allowed = int(stats.binom.ppf(1 - sides, records, most)) - 1
    if rank > records or allowed < 0:
        return 0.0
    return float(stats.betabinom.cdf(allowed, records, rank, records - rank + 1))
