"""Confidence limits of an attack's figures, which were measured on a sample of records.

A figure here belongs to an attack on one model, and to the distributions that its members and non-members
were drawn from. Its upper limit is what the bound of a policy is compared with. No limit says anything
about another attack, and a low one is no proof that there is no better attack.

All limits are valid for any number of records and any distribution, under the one assumption of `Scores`;
none of them is an approximation. Each limit is wrong with a probability of at most 1 - confidence, alone:
several figures together are wrong more often.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.auditing.scores import Floats, Scores


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured figure with its confidence limits."""

    value: float | None
    """What the records show; None where there are too few of them to show it."""
    lower: float
    """The true figure is at least this, with the confidence."""
    upper: float
    """The true figure is at most this, with the confidence."""
    confidence: float
    """Of each limit alone, in (0, 1)."""


def upper_limit(successes: ArrayLike, trials: ArrayLike, confidence: float) -> Floats:
    """The greatest probability that so few successes do not refute.

    Clopper and Pearson, "The Use of Confidence or Fiducial Limits", Biometrika 26, 1934.

    Args:
        successes: whole numbers, of any shape.
        trials: whole numbers, at least 1, of a shape that fits.
        confidence: in (0, 1), of one side.
    """
    failures = np.asarray(trials) - np.asarray(successes)
    return 1 - lower_limit(failures, trials, confidence)


def lower_limit(successes: ArrayLike, trials: ArrayLike, confidence: float) -> Floats:
    """The least probability that so many successes do not refute; see `upper_limit`."""
    hits, all_trials = np.asarray(successes), np.asarray(trials)
    if (all_trials < 1).any() or (hits < 0).any() or (hits > all_trials).any():
        raise ValueError("successes from 0 to the number of trials, and at least one trial, are expected")
    least = stats.beta.ppf(1 - checked(confidence), np.maximum(hits, 1), all_trials - hits + 1)
    return np.where(hits > 0, least, 0.0)


def share(hits: int, trials: int, confidence: float) -> Figure:
    """The probability of a hit, with Clopper and Pearson's limits; the trials are independent."""
    lower, upper = (float(limit(hits, trials, confidence)) for limit in (lower_limit, upper_limit))
    return Figure(hits / trials, lower, upper, confidence)


def quantile_ranks(draws: int, probability: float, confidence: float) -> tuple[int, int]:
    """Which of the sorted draws lie on either side of a quantile of their distribution.

    Proof:
        Let q be the least number that a draw exceeds with 1 - probability at most. The number of draws up
        to q is at least, and the number below q at most, a binomial variable B with this probability. The
        k-th smallest draw is above q only if fewer than k draws are up to q, so with P[B < k] at most; it
        is below q only if k draws are, so with P[B >= k] at most. Counted from the largest draw on, the
        same holds for 1 - probability.

    Args:
        draws: how many there are.
        probability: of a draw up to the quantile, in (0, 1).
        confidence: in (0, 1), of each side alone.

    Returns:
        Two ranks from 1 on: that of the largest draw that is not above the quantile, 0 where none can be
        named, and that of the smallest draw that is not below it, `draws + 1` where none can.
    """
    few, many = (stats.binom.ppf(at, draws, probability) for at in (1 - checked(confidence), confidence))
    return int(few), int(many) + 1


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How often an attack said "member", by its own decision or at a threshold.

    The decision must be fixed before these records are looked at: by shadow models, in advance, or on the
    other half of the records (`Scores.halves`). Otherwise no limit holds.
    """

    true_positives: int
    members: int
    """At least 1."""
    false_positives: int
    non_members: int
    """At least 1."""

    def __post_init__(self) -> None:
        if not (0 <= self.true_positives <= self.members and 0 <= self.false_positives <= self.non_members):
            raise ValueError("positives from 0 to the number of records are expected")
        if not (self.members and self.non_members):
            raise ValueError("at least one member and one non-member are expected")

    @classmethod
    def at(cls, scores: Scores, threshold: float) -> Self:
        """Those of taking each record for a member whose score is at least a threshold."""
        true_positives = int((scores.members >= threshold).sum())
        false_positives = int((scores.non_members >= threshold).sum())
        return cls(true_positives, scores.members.size, false_positives, scores.non_members.size)

    @property
    def plain_precision(self) -> float | None:
        """The precision without limits; None where nobody was called a member."""
        rates = self.true_positives / self.members, self.false_positives / self.non_members
        return rates[0] / sum(rates) if any(rates) else None

    def recall(self, confidence: float) -> Figure:
        """The true positive rate: the share of members that are found."""
        return share(self.true_positives, self.members, confidence)

    def false_positive_rate(self, confidence: float) -> Figure:
        """The share of non-members that are taken for members."""
        return share(self.false_positives, self.non_members, confidence)

    def precision(self, confidence: float) -> Figure:
        """The share of members among those that are called so, where members are half of all records.

        It is recall / (recall + false positive rate), which rises with the one and falls with the other, so
        limits of both at half of the error give its limits. With as many members as non-members, the plain
        value is TP / (TP + FP); it is None where nobody was called a member.
        """
        recall, false_rate = (
            figure(of_two(confidence)) for figure in (self.recall, self.false_positive_rate)
        )
        upper = recall.upper / (recall.upper + false_rate.lower)
        return Figure(
            self.plain_precision, recall.lower / (recall.lower + false_rate.upper), upper, confidence
        )

    def advantage(self, confidence: float) -> Figure:
        """The true positive rate minus the false positive rate of this one decision; from -1 to 1."""
        recall, false_rate = (
            figure(of_two(confidence)) for figure in (self.recall, self.false_positive_rate)
        )
        value = self.true_positives / self.members - self.false_positives / self.non_members
        return Figure(value, recall.lower - false_rate.upper, recall.upper - false_rate.lower, confidence)


def advantage(scores: Scores, confidence: float) -> Figure:
    """The greatest true positive rate minus false positive rate that any threshold has.

    Proof:
        The share of n draws that reach a threshold is, over all thresholds at once, nowhere above its
        probability by more than r = sqrt(ln(1 / a) / 2n), but for a probability a <= 1/2; and nowhere
        below by more (Massart, "The Tight Constant in the Dvoretzky-Kiefer-Wolfowitz Inequality", Annals
        of Probability 18, 1990, Corollary 1; for any distribution, also with equal scores). With a = (1 -
        confidence) / 2 for members and for non-members, no threshold's true difference is above its
        measured one by more than the sum of both r, so neither is the greatest; the threshold of the
        greatest measured difference is below by no more. It is at least 0, by the threshold that nothing
        reaches.

    Args:
        scores: of the attack.
        confidence: in (0, 1), of each limit.
    """
    value = RocCurve.of(scores).advantage
    width = _band(scores.members.size, confidence) + _band(scores.non_members.size, confidence)
    return Figure(value, max(0.0, value - width), min(1.0, value + width), confidence)


def true_positive_rate(
    scores: Scores, false_positive_rate: float, confidence: float, generator: np.random.Generator
) -> Figure:
    """The true positive rate at the threshold whose true false positive rate is a bound; coins decide ties.

    The value is that of `RocCurve.true_positive_rate_at`, None where there are too few non-members; then
    the limits hold all the same, and say little. The upper one is at least the bound: so much has an attack
    that throws a coin for each record and looks at nothing.

    Proof:
        A record is its score and a uniform number that orders it among equal ones (`Scores.untied`). Pairs
        are independent draws, too, and no two are equal; their true curve is that of the scores with lines
        between its points. So the rate at the bound is that of a threshold for pairs, and no threshold for
        scores alone within the bound has a greater one. In what follows, a score is such a pair.
        Let t be the k-th largest score of a non-member, with k from `quantile_ranks` for the bound at half
        of the error, so that more than the bound of all non-members reach t. Then a threshold within the
        bound is above t, and no more members reach it than exceed t. As t does not depend on the members,
        how many of them exceed it is binomial, given t: Clopper and Pearson's upper limit at the other
        half of the error holds. For the lower limit, t is such that no more than the bound exceed it, so
        that "above t" is within the bound.

    Args:
        scores: of the attack.
        false_positive_rate: the bound, in (0, 1).
        confidence: in (0, 1), of each limit.
        generator: throws the coins.
    """
    value, pairs = RocCurve.of(scores).true_positive_rate_at(false_positive_rate), scores.untied(generator)
    sides = of_two(confidence)
    few, many = quantile_ranks(scores.non_members.size, false_positive_rate, sides)
    lower = float(lower_limit(_above(pairs, few), scores.members.size, sides)) if few else 0.0
    reached = many <= scores.non_members.size
    upper = float(upper_limit(_above(pairs, many), scores.members.size, sides)) if reached else 1.0
    return Figure(value, lower, max(upper, false_positive_rate), confidence)


def checked(confidence: float) -> float:
    """A confidence, or a ValueError."""
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies between 0 and 1, both excluded")
    return confidence


def of_two(confidence: float) -> float:
    """That of each of two limits which hold together with a confidence: half of the error each."""
    return (1 + checked(confidence)) / 2


def _above(scores: Scores, rank: int) -> int:
    """The members whose scores exceed the non-members' score of this rank, counted from the largest."""
    return int((scores.members > np.sort(scores.non_members)[-rank]).sum())


def _band(draws: int, confidence: float) -> float:
    return math.sqrt(-math.log(1 - of_two(confidence)) / (2 * draws))
