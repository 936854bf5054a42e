"""What tracing achieves by calculation: its power from sizes and noise alone, and the known thresholds.

Everything here takes scores for normal, and the reference for exact. Measured figures stand beside it.
"""

import math
from typing import assert_never

import numpy as np
from scipy import linalg, special

from smalti.transforms.auditing.scores import Floats
from smalti.transforms.tracing.membership import Tracing
from smalti.transforms.tracing.statistics import Background, ReleasedSums


def sampling_error(people: int) -> float:
    """1 / sqrt(n): by how much means of n people differ from the population's, in standard deviations.

    Reconstruction needs means with at most about this error, and as many statistics as people (Dinur and
    Nissim, PODS 2003).
    """
    return 1 / math.sqrt(people)


def tracing_error(statistics: float, people: int) -> float:
    """sqrt(d) / n: the error of means, in standard deviations of one person, up to which tracing works.

    Dwork, Smith, Steinke, Ullman, Vadhan, FOCS 2015. At this error the `signal` is 1 / sqrt(1 + n / d).

    Args:
        statistics: d, the number of independent ones.
        people: n.
    """
    return math.sqrt(statistics) / people


def mean_error(released: ReleasedSums, background: Background) -> float:
    """The error of the statistics as means, in standard deviations of one person: root mean square."""
    relative = background.relative_noise(released)
    return float(np.sqrt(np.mean(relative**2))) / released.people


def signal(attack: Tracing, released: ReleasedSums, background: Background) -> float:
    """By how many standard deviations the scores of members are above those of others.

    Of d statistics with correlations R and noise variances t_j, in variances of one person's contribution:
    a score of the inner product is higher by d, the trace of R, and its variance is n trace(R^2) + sum t_j,
    so that without noise d effective statistics have sqrt(d / n), and with the error a of means
    sqrt(d / (n + n^2 a^2)). A score of the likelihood ratio is higher by trace(W R), with W the inverse of
    its covariance, and its variance is trace(W (n R + T) W R): together sqrt(sum 1 / (n + t_j)) where
    statistics are independent.

    Args:
        attack: which one.
        released: of it sizes and noise; its values are not used.
        background: of the population.
    """
    noise, count = background.relative_noise(released) ** 2, released.values.size
    match attack:
        case Tracing.INNER_PRODUCT:
            squares = count**2 / background.effective_count
            return count / math.sqrt(released.people * squares + float(noise.sum()))
        case Tracing.LIKELIHOOD_RATIO:
            return _of_ratio(released, background, noise)
    assert_never(attack)


def _of_ratio(released: ReleasedSums, background: Background, noise: Floats) -> float:
    """With the weights that the attack has: its scores differ by trace(W R), W the inverse covariance."""
    covariance, correlations = background.covariance(released), background.correlations
    if covariance is None or correlations is None:
        # Correlated statistics say less than independent ones do.
        share = background.effective_count / released.values.size
        return math.sqrt(share * float((1 / (released.people + noise)).sum()))
    weighted = linalg.cho_solve(linalg.cho_factor(covariance), correlations)
    spread = linalg.cho_solve(
        linalg.cho_factor(covariance), released.people * correlations + np.diag(noise)
    )
    variance = float(np.einsum("ij,ji->", spread, weighted))
    return float(np.trace(weighted)) / math.sqrt(variance)


def power(of_signal: float, false_positive_rate: float) -> float:
    """The true positive rate at a false positive rate, for normal scores: Phi(signal - z).

    >>> round(power(0.0, 0.05), 12), power(3.0, 0.05) > 0.9
    (0.05, True)
    """
    if not 0 < false_positive_rate < 1:
        raise ValueError("a false positive rate lies between 0 and 1, both excluded")
    return float(special.ndtr(of_signal + special.ndtri(false_positive_rate)))


def best_advantage(of_signal: float) -> float:
    """The greatest true minus false positive rate, for normal scores: 2 Phi(signal / 2) - 1."""
    return float(2 * special.ndtr(of_signal / 2) - 1)
