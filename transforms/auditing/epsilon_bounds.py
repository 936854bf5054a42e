"""Lower bounds on the epsilon of a mechanism, from how well two neighbours were distinguished.

If the mechanism were (epsilon, delta)-private for an epsilon below a bound, then the scores that led to the
bound would have come up with a probability of at most 1 - confidence. So a bound above the promised epsilon
refutes the promise (or the assumptions); a bound below it proves nothing: a better attack may show more.

A member's score is about a run with the respondent, a non-member's about a run without. Both bounds of this
module take the scores for independent, as those of runs with noise of their own are. Scores of many records
from a single training are not known to be: there they hold under that assumption, `one_run` without it.
Each is the greatest that both directions of neighbours give, add and remove. Scores that are higher without
the respondent give 0.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.auditing.limits import Outcomes, checked, lower_limit, of_two, upper_limit
from smalti.transforms.auditing.scores import Floats, Scores
from smalti.transforms.identifiability import gaussian_epsilon
from smalti.transforms.problem import Integers


class Method(StrEnum):
    """Where a bound comes from, and so what it assumes."""

    CLOPPER_PEARSON = "clopper-pearson"
    """That scores are independent; nothing about the mechanism."""
    GAUSSIAN = "gaussian"
    """That scores are independent, and the mechanism is Gaussian."""
    ONE_RUN = "one-run"
    """That each canary was included by a fair coin of its own; nothing about mechanism or scores."""


@dataclass(frozen=True, slots=True)
class EpsilonBound:
    """The mechanism is not (epsilon, delta)-private for any epsilon below this."""

    epsilon: float
    """In nats, at least 0; 0 says nothing."""
    delta: float
    """At which the bound is stated, in [0, 1)."""
    confidence: float
    """In (0, 1): the bound is above the true epsilon with a probability of at most 1 minus this."""
    method: Method


def clopper_pearson(outcomes: Outcomes, delta: float, confidence: float) -> EpsilonBound:
    """The bound from one decision that was fixed in advance.

    Proof:
        For an (epsilon, delta)-private mechanism, a true positive rate is at most e^epsilon times the false
        positive rate plus delta, and a true negative rate at most e^epsilon times the false negative rate
        plus delta (Kairouz, Oh, Viswanath, ICML 2015, Theorem 2.1). With Clopper and Pearson's lower limit
        of the true positive rate and upper limit of the false positive rate, at half of the error each,
        both solved for epsilon hold together. Used so by Jagielski, Ullman, Oprea, NeurIPS 2020, and Nasr
        et al., IEEE S&P 2021 (arXiv 2101.04535).

    Args:
        outcomes: how often the decision was right and wrong.
        delta: in [0, 1).
        confidence: in (0, 1).
    """
    sides = of_two(confidence)
    true_rate = lower_limit(outcomes.true_positives, outcomes.members, sides)
    false_rate = upper_limit(outcomes.false_positives, outcomes.non_members, sides)
    epsilon = _largest_epsilon(np.atleast_1d(true_rate), np.atleast_1d(false_rate), _checked_delta(delta))
    return EpsilonBound(epsilon, delta, confidence, Method.CLOPPER_PEARSON)


def clopper_pearson_by_split(
    scores: Scores, delta: float, confidence: float, generator: np.random.Generator
) -> EpsilonBound:
    """The bound at the threshold that looks best on a random half of the records, judged on the other half.

    It suits scores of which many are equal, such as decisions.

    Args:
        scores: of the attack; at least two members and two non-members.
        delta: in [0, 1).
        confidence: in (0, 1).
        generator: mixes the records.
    """
    first, rest = scores.halves(generator)
    outcomes = Outcomes.at(rest, _most_telling_threshold(first, _checked_delta(delta), checked(confidence)))
    return clopper_pearson(outcomes, delta, confidence)


def clopper_pearson_by_ranks(scores: Scores, delta: float, confidence: float) -> EpsilonBound:
    """The best bound of a fixed grid of thresholds, all of which hold together (proof: `_rates`).

    It judges by all records, so it is the greater one for scores that are all different.

    Args:
        scores: of the attack.
        delta: in [0, 1).
        confidence: in (0, 1).
    """
    true_rates, false_rates = _rates(scores, confidence)
    epsilon = _largest_epsilon(true_rates, false_rates, _checked_delta(delta))
    return EpsilonBound(epsilon, delta, confidence, Method.CLOPPER_PEARSON)


def reach_by_ranks(members: int, non_members: int, delta: float, confidence: float) -> float:
    """What `clopper_pearson_by_ranks` says of an attack that is never wrong; no attack shows more.

    Args:
        members: how many there are, at least 1.
        non_members: how many there are, at least 1.
        delta: in [0, 1).
        confidence: in (0, 1).
    """
    ranks = _grid(non_members)
    true_rates, false_rates = _limits(np.full(ranks.size, members), members, ranks, non_members, confidence)
    return _largest_epsilon(true_rates, false_rates, _checked_delta(delta))


def gaussian(scores: Scores, delta: float, confidence: float) -> EpsilonBound:
    """The bound where the mechanism is Gaussian, as DP-SGD without sampling is; much greater there.

    It is the exact epsilon of the least mu that is not refuted. It is NOT valid for any other mechanism:
    on randomised response it exceeds the true epsilon nearly always.

    Proof:
        A mu-GDP release has Phi^-1(true positive rate) - Phi^-1(false positive rate) <= mu at each
        threshold (Dong, Roth, Su, JRSS B 84, 2022, equation 6), with the limits of `_rates`, too. A
        Gaussian mechanism with this mu, or a greater one, has the epsilon of `gaussian_epsilon` at least.
        Used so by Nasr et al., USENIX Security 2023 (arXiv 2302.07956).

    Args:
        scores: of the attack.
        delta: in (0, 1).
        confidence: in (0, 1).
    """
    mu = gaussian_mu(scores, confidence)
    return EpsilonBound(gaussian_epsilon(delta, mu), delta, confidence, Method.GAUSSIAN)


def gaussian_mu(scores: Scores, confidence: float) -> float:
    """The lower bound on mu behind `gaussian`; at least 0."""
    true_rates, false_rates = _rates(scores, confidence)
    return max(0.0, float((stats.norm.ppf(true_rates) - stats.norm.ppf(false_rates)).max()))


def _rates(scores: Scores, confidence: float) -> tuple[Floats, Floats]:
    """Lower limits of true, upper limits of false positive rates at a grid of thresholds, all together.

    Proof:
        Threshold i is the k_i-th largest score of a non-member; a member is who exceeds it. The chance of
        a non-member to exceed it is at most the k_i-th smallest of n uniform numbers in distribution,
        which is Beta(k_i, n - k_i + 1); its quantile is the upper limit. That is also Clopper and
        Pearson's limit for k_i - 1 of n. As the threshold does not depend on the members, the number of
        them that exceed it is binomial, given the threshold: Clopper and Pearson's lower limit holds. The
        ranks k_i depend on n alone. With the error divided by twice their number (Bonferroni), all limits
        hold together.
    """
    ranks = _grid(scores.non_members.size)
    thresholds = np.sort(scores.non_members)[-ranks]
    true_positives = scores.members.size - np.searchsorted(
        np.sort(scores.members), thresholds, side="right"
    )
    return _limits(true_positives, scores.members.size, ranks, scores.non_members.size, confidence)


def _limits(
    true_positives: Integers, members: int, ranks: Integers, non_members: int, confidence: float
) -> tuple[Floats, Floats]:
    each = 1 - (1 - checked(confidence)) / (2 * ranks.size)
    return lower_limit(true_positives, members, each), upper_limit(ranks - 1, non_members, each)


def _grid(records: int) -> Integers:
    """Ranks from the middle that are halved toward either end: dense where a rate is small."""
    halved = np.maximum(1, records >> np.arange(1, max(2, records.bit_length())))
    return np.union1d(halved, records - halved + 1).astype(np.int64)


def _most_telling_threshold(scores: Scores, delta: float, confidence: float) -> float:
    curve = RocCurve.of(scores)
    ranks = _grid(scores.non_members.size)
    points = np.unique(np.maximum(1, np.searchsorted(curve.false_positives, ranks)))
    sides = of_two(confidence)
    true_rates = lower_limit(curve.true_positives[points], curve.members, sides)
    false_rates = upper_limit(curve.false_positives[points], curve.non_members, sides)
    return float(curve.thresholds[points[np.argmax(_epsilons(true_rates, false_rates, delta))]])


def _epsilons(true_rates: Floats, false_rates: Floats, delta: float) -> Floats:
    """What each pair of rates says in the better direction; minus infinity where nothing."""
    with np.errstate(divide="ignore"):
        forth = np.log(np.maximum(true_rates - delta, 0)) - np.log(false_rates)
        back = np.log(np.maximum(1 - false_rates - delta, 0)) - np.log(1 - true_rates)
    return np.asarray(np.maximum(forth, back), np.float64)


def _largest_epsilon(true_rates: Floats, false_rates: Floats, delta: float) -> float:
    return max(0.0, float(_epsilons(true_rates, false_rates, delta).max()))


def _checked_delta(delta: float) -> float:
    if not 0 <= delta < 1:
        raise ValueError("a delta lies between 0 and 1, and is not 1")
    return delta
