"""The receiver operating characteristic of an attack: true against false positives.

All figures here are plain: what these records show, without a confidence. `limits` has their limits.
"""

import math
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from smalti.transforms.auditing.scores import Floats, Scores
from smalti.transforms.problem import Integers

FALSE_POSITIVE_RATES: Final = (0.1, 0.01, 0.001, 0.0001)
"""At which true positive rates are usually stated: Carlini et al., "Membership Inference Attacks From First
Principles", IEEE S&P 2022, section III.B (which asks for low rates, 0.001 and 0.00001 among them)."""
_ROUNDING: Final = 2.0**-40
"""So that 1,000 non-members are enough for a rate of 0.001, which is no double."""
_POINTS: Final = 200
"""Of a curve that is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """The exact curve: a point for each different score, and the origin; equal scores go together.

    All arrays have shape (points,) and start at the origin.
    """

    thresholds: Floats
    """Falling; a record is taken for a member where its score is at least this. NaN at the origin, where
    none is, not even an infinite score."""
    true_positives: Integers
    false_positives: Integers

    @classmethod
    def of(cls, scores: Scores) -> Self:
        """From the scores of an attack."""
        thresholds = np.unique(np.concatenate((scores.members, scores.non_members)))[::-1]
        hits, wrong = (_at_least(group, thresholds) for group in (scores.members, scores.non_members))
        return cls(np.r_[math.nan, thresholds], np.r_[0, hits], np.r_[0, wrong])

    @property
    def members(self) -> int:
        return int(self.true_positives[-1])

    @property
    def non_members(self) -> int:
        return int(self.false_positives[-1])

    @property
    def true_positive_rates(self) -> Floats:
        """Rising, from 0 to 1."""
        return self.true_positives / self.members

    @property
    def false_positive_rates(self) -> Floats:
        """Rising, from 0 to 1."""
        return self.false_positives / self.non_members

    @property
    def area(self) -> float:
        """The area under the curve: P[a member scores above a non-member]; equal scores count half."""
        wrong, heights = np.diff(self.false_positives), self.true_positives
        return int(wrong @ (heights[1:] + heights[:-1])) / (2 * self.members * self.non_members)

    @property
    def advantage(self) -> float:
        """The greatest true positive rate minus false positive rate over all thresholds; at least 0."""
        return float((self.true_positive_rates - self.false_positive_rates).max())

    def true_positive_rate_at(self, false_positive_rate: float) -> float | None:
        """The true positive rate where the false positive rate is a bound; a coin decides ties.

        Where the equal scores that the bound falls among are all taken, it is exceeded; where none are, an
        attacker's coin for each of them finds more. So the curve is read on the line between both points.
        A coin between thresholds that are further apart may find more still: which ones would be chosen
        after the scores are seen. Without equal scores a line is level or upright, and adds nothing.

        None where there are fewer than 1 / bound non-members: then one false positive is above the bound
        already, and a rate so small cannot be measured.

        Args:
            false_positive_rate: the bound, in (0, 1).
        """
        if not 0 < false_positive_rate < 1:
            raise ValueError("a false positive rate lies between 0 and 1 here, both excluded")
        if self.non_members * false_positive_rate < 1 - _ROUNDING:
            return None
        allowed = self.non_members * false_positive_rate
        if abs(allowed - round(allowed)) <= _ROUNDING * allowed:
            allowed = round(allowed)
        last = int(np.searchsorted(self.false_positives, allowed, side="right")) - 1
        steps = self.false_positives[last : last + 2], self.true_positives[last : last + 2]
        return float(np.interp(allowed, *steps)) / self.members


def _at_least(scores: Floats, thresholds: Floats) -> Integers:
    """How many scores reach each threshold."""
    return np.asarray(scores.size - np.searchsorted(np.sort(scores), thresholds, side="left"), np.int64)


def thinned(curve: RocCurve) -> tuple[tuple[float, float], ...]:
    """Some points of a curve, more of them at low rates, and both ends."""
    wrong, right = curve.false_positive_rates, curve.true_positive_rates
    if len(wrong) > _POINTS:
        marks = np.geomspace(1 / len(wrong), 1, _POINTS)
        kept = np.unique(np.r_[0, np.searchsorted(wrong, marks, side="right") - 1, len(wrong) - 1])
        wrong, right = wrong[kept], right[kept]
    return tuple(zip(wrong.tolist(), right.tolist(), strict=True))
