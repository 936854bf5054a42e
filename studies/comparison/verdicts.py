"""Verdicts on claims about quantities of which only confidence intervals are known.

A claim is that some quantities lie in stated regions: all of them, or as many as are needed. The verdict is
that it holds, that it does not, or that the intervals leave it open; the measured values themselves decide
nothing.

Proof of the confidence:
    Let each of m intervals miss what it is about with probability error / m at most. Then with probability
    1 - error none misses (Bonferroni). In that case a quantity whose interval lies inside its region is
    inside, and one whose interval lies outside is outside; so `of_needed` counts no quantity wrongly, and
    says neither that a false claim holds nor that a true one does not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from scipy import stats

from smalti.transforms.auditing.mitigation import GUESS


class Verdict(StrEnum):
    """What a study of one size says of a claim."""

    HOLDS = "holds at this size"
    FAILS = "does not hold at this size"
    OPEN = "this size cannot tell"


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a quantity lies; an end may be infinite."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError("the lower end is not above the higher one")


EVERYWHERE = Interval(-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Region:
    """Where a claim has a quantity: between two numbers, or, if so stated, anywhere else."""

    low: float = -math.inf
    high: float = math.inf
    is_outside: bool = False

    def verdict(self, interval: Interval | None) -> Verdict:
        """Of the claim that the quantity is there; None: there is no interval."""
        if interval is None:
            return Verdict.OPEN
        is_between = (self.low < interval.low or self.low == -math.inf) and (
            interval.high < self.high or self.high == math.inf
        )
        is_elsewhere = interval.high < self.low or interval.low > self.high
        if is_between or is_elsewhere:
            return Verdict.HOLDS if is_between != self.is_outside else Verdict.FAILS
        return Verdict.OPEN


def of_needed(verdicts: Sequence[Verdict], needed: int) -> Verdict:
    """The verdict on the claim that as many of some claims are true as are needed."""
    true = sum(verdict is Verdict.HOLDS for verdict in verdicts)
    false = sum(verdict is Verdict.FAILS for verdict in verdicts)
    if true >= needed:
        return Verdict.HOLDS
    return Verdict.FAILS if len(verdicts) - false < needed else Verdict.OPEN


def of_all(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on the claim that all of some claims are true."""
    return of_needed(verdicts, len(verdicts))


def mean_interval(values: Sequence[float], error: float, resolution: float) -> Interval | None:
    """Student's interval for the mean of independent repetitions.

    It supposes that single repetitions are distributed normally, which figures of many records nearly are.
    A deviation below the resolution counts as the resolution: repetitions that agree by being at an end,
    such as a recall of 1 in all of them, do not say that there is no deviation.

    Args:
        values: of each repetition.
        error: the probability of a miss, in (0, 1).
        resolution: what one record changes of a value, above 0.

    Returns:
        None for fewer than two values.
    """
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    deviation = max(math.sqrt(variance), resolution)
    half = _quantile(error / 2, len(values) - 1) * deviation / math.sqrt(len(values))
    return Interval(mean - half, mean + half)


@lru_cache
def _quantile(error: float, degrees: int) -> float:
    """What Student's distribution exceeds with this probability."""
    return float(stats.t.isf(error, degrees))


@dataclass(frozen=True, slots=True)
class Box:
    """What the mitigation efficiency is made of, each within an interval."""

    original_accuracy: Interval
    accuracy: Interval
    original_attack: Interval
    attack: Interval
    classes: int

    @property
    def kept(self) -> tuple[Interval, Interval] | None:
        """The shares of the accuracy and of the attack that are kept above a guess.

        None where the original may be no better than one.
        """
        accuracy = _kept(self.original_accuracy, self.accuracy, 1 / self.classes)
        attack = _kept(self.original_attack, self.attack, GUESS)
        return None if accuracy is None or attack is None else (accuracy, attack)


def efficiency_interval(box: Box) -> Interval:
    """Where the mitigation efficiency phi lies, if all of the box does (D5.2, Equation 4.2).

    Proof: phi, as `auditing.mitigation` defines it, rises with the accuracy and with the original's attack
    and falls with the attack and the original's accuracy, so it is extreme in two corners of the box. Where
    the attack may be a guess, phi has no upper limit. Where it may be undefined, it may be anything.
    """
    if (kept := box.kept) is None:
        return Interval(0.0, math.inf)
    accuracy, attack = kept
    if attack.high == 0:
        return Interval(math.inf if accuracy.low > 0 else 1.0, math.inf)
    high = accuracy.high / attack.low if attack.low > 0 else math.inf
    return Interval(accuracy.low / attack.high, high)


def product_interval(box: Box) -> Interval:
    """Where the product of both kept shares lies.

    It is above 1 where the accuracy has grown by more than the attack has shrunk, as factors: then most of
    a large phi is the accuracy's.
    """
    if (kept := box.kept) is None:
        return Interval(0.0, math.inf)
    accuracy, attack = kept
    return Interval(accuracy.low * attack.low, accuracy.high * attack.high)


def _kept(original: Interval, private: Interval, base: float) -> Interval | None:
    if original.low <= base:
        return None
    low, high = (max(0.0, end - base) for end in (private.low, private.high))
    return Interval(low / (original.high - base), high / (original.low - base))
