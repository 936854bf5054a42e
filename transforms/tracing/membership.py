"""Tracing: was a person among those whose sums, counts or means were released?

The attacker has the statistics, the person's own data, and a reference of the population. Each attack gives
one score to each person, higher where the person is likelier among those of the statistics.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import numpy as np
from scipy import linalg

from smalti.transforms.auditing.scores import Floats
from smalti.transforms.tracing.statistics import Background, ReleasedSums

_CLIPPED: Final = 1e-9


class Tracing(StrEnum):
    """The attacks."""

    INNER_PRODUCT = "inner-product"
    LIKELIHOOD_RATIO = "likelihood-ratio"


def inner_product(released: ReleasedSums, background: Background, people: Floats) -> Floats:
    """How far the statistics lie from the population in the direction of each person.

    Dwork, Smith, Steinke, Ullman, Vadhan, "Robust Traceability from Trace Amounts", FOCS 2015: the inner
    product of the person and of the statistics, both less the population's. Here each statistic is divided
    by its variance in the population, so that counts and sums of any unit add up. The truncation that makes
    the paper's attack hold for any error is left out, as the noise here is known.

    Args:
        released: the statistics.
        background: of the population.
        people: the contributions of those in question, shape (people, statistics).

    Returns:
        Shape (people,).
    """
    direction = (released.values - released.people * background.means) / background.variances
    return np.asarray((people - background.means) @ direction, np.float64)


def likelihood_ratio(released: ReleasedSums, background: Background, people: Floats) -> Floats:
    """The logarithm of the ratio of likelihoods of the statistics with each person and without.

    Of sums over n people, which are about normal with covariance n S + T, for S of one person's
    contributions and T of the noise: with D the distance of the statistics from n means, and y the person
    less the means, D' V y - y' V y / 2 with V the inverse of that covariance. It has the noise and, for at
    most `MOST_TOGETHER` statistics, the correlations into account, as the inner product has not. That S
    and n are those of one person less where the person is a member is left out.

    Homer et al. (PLoS Genetics 2008) traced people in shares of a mixture by a difference of distances;
    Sankararaman, Obozinski, Jordan, Halperin (Nature Genetics 2009) by this ratio, which no attack is
    better than if its distributions hold. Arguments are those of `inner_product`.
    """
    deviations = np.sqrt(background.variances)
    distance = (released.values - released.people * background.means) / deviations
    standardised = (people - background.means) / deviations
    covariance = background.covariance(released)
    if covariance is None:
        weighted = standardised / (released.people + background.relative_noise(released) ** 2)
    else:
        weighted = linalg.cho_solve(linalg.cho_factor(covariance), standardised.T).T
    return np.asarray(weighted @ distance - np.einsum("pd,pd->p", weighted, standardised) / 2, np.float64)


def likelihood_ratio_of_shares(shares: Floats, background: Floats, people: Floats) -> Floats:
    """The same for exact shares of zeros and ones, taken for independent: without a normal approximation.

    Sankararaman et al. 2009: the sum of y ln(share / share in the population), and of the same for 1 - y.

    Args:
        shares: of the people of the statistics, in [0, 1], shape (statistics,).
        background: of the population, likewise.
        people: zeros and ones, shape (people, statistics).
    """
    inside, outside = (np.clip(each, _CLIPPED, 1 - _CLIPPED) for each in (shares, background))
    with_it, without = np.log(inside / outside), np.log((1 - inside) / (1 - outside))
    return np.asarray(people @ (with_it - without) + without.sum(), np.float64)


SCORES: Final[dict[Tracing, Callable[[ReleasedSums, Background, Floats], Floats]]] = {
    Tracing.INNER_PRODUCT: inner_product,
    Tracing.LIKELIHOOD_RATIO: likelihood_ratio,
}
