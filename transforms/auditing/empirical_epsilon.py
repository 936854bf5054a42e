"""The empirical epsilons of arXiv 2103.02913, section 5.3: what each shows, and what it does not.

All are about Gaussian noise. The paper accounts by Renyi divergences and the classic formula; here the
loss is computed exactly, from the noise that was used. Lower bounds for any mechanism, from the same
beliefs, are those of `epsilon_bounds`.
"""

import math

import numpy as np

from smalti.transforms.auditing.differential_identifiability import Beliefs
from smalti.transforms.auditing.limits import Figure, quantile_ranks
from smalti.transforms.identifiability import classic_gaussian_epsilon, gaussian_epsilon, mu_for_advantage


def from_sensitivities(beliefs: Beliefs, delta: float) -> float:
    """The exact epsilon at delta of the largest distance of both data sets, in noise, of any repetition.

    The most direct one: it takes no luck of a guess. It is about this pair of data sets, and the weights
    that were passed through. Where the sensitivity is that of the pair, it is the epsilon that the noise
    was calibrated for; where it is global and the gradients are shorter, it is less.
    """
    return gaussian_epsilon(delta, float(beliefs.mu.max()))


def from_largest_belief(beliefs: Beliefs) -> float:
    """The largest privacy loss of any repetition: ln(belief / (1 - belief)) of the largest belief.

    To be shown only. It is NO lower bound on epsilon: the loss of Gaussian noise has no maximum, so this
    grows with the number of repetitions, past the true epsilon.
    """
    return float(beliefs.losses.max())


def from_belief_quantile(beliefs: Beliefs, delta: float, confidence: float) -> Figure:
    """The epsilon that the privacy loss exceeds with probability delta, with limits.

    The value that "belief at most rho with probability 1 - delta" is about. It is above the epsilon of
    (epsilon, delta)-privacy of the same noise. The limits are ranks of the measured losses
    (`limits.quantile_ranks`), so they are valid for any distribution.

    Args:
        beliefs: of independent repetitions.
        delta: in (0, 1).
        confidence: in (0, 1), of each limit.

    Returns:
        The value is None with fewer than 1 / delta repetitions. The limits are 0 and infinite where the
        repetitions do not suffice; with confidence 0.95 the upper one takes 3 / delta of them.
    """
    if not 0 < delta < 1:
        raise ValueError("a delta lies between 0 and 1, both excluded")
    losses = np.sort(beliefs.losses)
    few, many = quantile_ranks(losses.size, 1 - delta, confidence)
    lower = max(0.0, float(losses[few - 1])) if few else 0.0
    upper = max(0.0, float(losses[many - 1])) if many <= losses.size else math.inf
    kept = math.ceil(losses.size * (1 - delta))
    value = max(0.0, float(losses[kept - 1])) if losses.size * delta >= 1 else None
    return Figure(value, lower, upper, confidence)


def from_advantage(beliefs: Beliefs, delta: float, confidence: float) -> Figure:
    """The exact epsilon at delta of Gaussian noise with the advantage that the adversary has, with limits.

    An advantage of 2 Phi(mu / 2) - 1 or more takes that mu (Dong, Roth, Su 2022; the adversary's threshold
    is one of all), so the epsilon of the advantage's lower limit is a lower bound where the mechanism is
    Gaussian. `epsilon_bounds.gaussian` uses all thresholds.

    Args:
        beliefs: of independent repetitions.
        delta: in (0, 1).
        confidence: in (0, 1), of each limit.
    """
    limits, plain = beliefs.advantage(confidence), _plain_advantage(beliefs)
    value, lower, upper = (_of_advantage(a, delta) for a in (plain, limits.lower, limits.upper))
    return Figure(value, lower, upper, confidence)


def classic_from_advantage(beliefs: Beliefs, delta: float) -> float:
    """As the paper has it (equation 15), by the classic Gaussian noise; for reproduction only.

    0 where the adversary does no better than a coin, infinite where it always wins.
    """
    advantage = _plain_advantage(beliefs)
    if advantage == 1:
        return math.inf
    return classic_gaussian_epsilon(advantage, delta) if advantage > 0 else 0.0


def _plain_advantage(beliefs: Beliefs) -> float:
    return 2 * beliefs.wins / beliefs.losses.size - 1


def _of_advantage(advantage: float, delta: float) -> float:
    if advantage >= 1:
        return math.inf
    return gaussian_epsilon(delta, mu_for_advantage(advantage)) if advantage > 0 else 0.0
