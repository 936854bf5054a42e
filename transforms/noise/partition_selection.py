"""The selection of private groups to release: those with a large enough noisy number of respondents.

Groups that the data itself brings betray their only respondent if they are shown. So the number of
respondents of each group that has any gets discrete Laplace noise, and a group is released if the noisy
number reaches a threshold; one that only a single respondent is in hardly ever does (Korolova, Kenthapadi,
Mishra, Ntoulas, WWW 2009; Wilson et al., "Differentially Private SQL with Bounded User Contribution",
PoPETs 2020). Nothing else is told: no number of groups, no group that is left out.

Guarantee:
    Let a respondent be in at most g groups, b the scale, t the threshold, and delta >= g P(noise >= t - 1).
    The set of released groups, together with values of these groups that lose pure p and mu by themselves,
    loses pure p + g / b (add-or-remove-one) or p + 2 g / b (change-one) and mu, but for delta: wherever
    those alone are (epsilon, d)-private, all is (epsilon, d + delta)-private.

Proof:
    Let D and D' be neighbours. Common groups have respondents in both. A group in D only has one respondent
    there, the one that differs: with probability 1 - q no such group is released, where q <= delta, since
    it is at most g times P(1 + noise >= t). Likewise q' for D'. Draws are independent, so the outcome is
    (1 - q) A + q B on D and (1 - q') A' + q' B' on D', where A and A' are about common groups alone. Their
    numbers of respondents differ by 1 in at most g groups, or in 2 g where the respondent leaves g groups
    for g others: Laplace noise loses g / b or 2 g / b there, so A and A' are (epsilon, d)-close.
    For a set S of outcomes let a = A'(S). Then A(S) <= min(1, e^epsilon a + d), so
    (1 - q) A(S) + q B(S) - e^epsilon ((1 - q') A'(S) + q' B'(S)) is at most
    (1 - q) min(1, e^epsilon a + d) + q - e^epsilon (1 - q') a. This is linear in a up to where the minimum
    is 1, and falls from there on. It is (1 - q) d + q at a = 0 and 1 - (1 - q')(1 - d) at that place: both
    are at most d + delta.
    Several statistics with groups of their own: q is at most the sum of theirs, so their deltas add up.

    The released labels tell whether B is what happened, so beliefs exceed that of the loss of A and A' with
    probability delta only, if also -log(1 - q) is no more than what is lost less where some groups are not
    common: 1 / b for each. `threshold_for` sees to it.

Advantage:
    Outcomes can be coupled to agree with probability (1 - delta)(1 - advantage of A and A') at least.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np

from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.samplers import LARGEST_VALUE, SAMPLER, LaplaceNoise, Sampler, measure
from smalti.transforms.problem import Integers
from smalti.transforms.sensitivity import Contribution, NeighboringRelation, Query, Sensitivity, count

_CAUTION: Final = 2.0**-38


def respondents_by_group(neighbors: NeighboringRelation, groups: int) -> Sensitivity:
    """That of the numbers of different respondents in all groups.

    Args:
        neighbors: which data sets are told apart.
        groups: that a respondent is in at most.
    """
    return count(Query(neighbors, Contribution(groups, groups, rows_in_group=1), grouped=True))


@dataclass(frozen=True, slots=True)
class PartitionSelection:
    """Release the groups whose noisy number of respondents reaches a threshold."""

    noise: LaplaceNoise
    threshold: int
    """At least 2."""

    @classmethod
    def calibrated(
        cls, neighbors: NeighboringRelation, groups: int, epsilon: Fraction, delta: Fraction
    ) -> Self:
        """The least noise within epsilon, and the least threshold within delta.

        Args:
            neighbors: which data sets are told apart.
            groups: that a respondent is in at most; at least 1.
            epsilon: above 0.
            delta: in (0, 1).
        """
        noise = LaplaceNoise.calibrated(respondents_by_group(neighbors, groups).l1, epsilon)
        return cls(noise, threshold_for(noise, groups, delta))

    def loss(self, neighbors: NeighboringRelation, groups: int) -> PrivacyLoss:
        """What is lost but for `delta`."""
        return self.noise.loss(respondents_by_group(neighbors, groups))

    def delta(self, groups: int) -> float:
        """The chance that some group of one respondent alone is released, at most; rounded up."""
        return groups * chance_of_reaching(self.noise, self.threshold - 1)

    def selected(self, respondents: Sequence[int], sampler: Sampler = SAMPLER) -> Integers:
        """The places of the groups that are released; fresh noise for each group.

        Args:
            respondents: by group, how many different ones it has; a group without any is never released,
                since nobody could tell it from those that do not occur.
            sampler: where the noise comes from.
        """
        noisy = measure(respondents, self.noise, 0, LARGEST_VALUE, sampler)
        occurs = np.array([number > 0 for number in respondents], np.bool_)
        return np.flatnonzero(occurs & (noisy >= self.threshold))


def chance_of_reaching(noise: LaplaceNoise, reached: int) -> float:
    """The probability of noise from a number on: r^number / (1 + r) with r = exp(-1 / scale); rounded up.

    Args:
        noise: its distribution.
        reached: at least 1.
    """
    scale = float(noise.scale)
    return math.exp(-reached / scale) / (1 + math.exp(-1 / scale)) * (1 + _CAUTION)


def threshold_for(noise: LaplaceNoise, groups: int, delta: Fraction) -> int:
    """The least threshold that single respondents reach with probability delta at most; see the proof.

    Args:
        noise: on the number of respondents of each group.
        groups: that a respondent is in at most; at least 1.
        delta: in (0, 1).
    """
    if groups < 1 or not 0 < delta < 1:
        raise ValueError("a respondent is in some group, and delta lies between 0 and 1, both excluded")
    # The second limit is for beliefs: no chance above 1 - exp(-1 / scale).
    chance = min(delta / groups, Fraction(-math.expm1(-1 / float(noise.scale))))
    reached = max(math.ceil(-float(noise.scale) * (math.log(chance) + _log_of_total(noise))), 1)
    while chance_of_reaching(noise, reached) > chance:  # the last place, which rounding may miss
        reached += 1
    return 1 + reached


def _log_of_total(noise: LaplaceNoise) -> float:
    return math.log1p(math.exp(-1 / float(noise.scale)))
