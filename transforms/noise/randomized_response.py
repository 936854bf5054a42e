"""Randomised response: each record's category is reported truthfully with a known probability only.

Warner, "Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias", JASA 60, 1965; k-ary:
Kairouz, Bonawitz, Ramage, "Discrete Distribution Estimation under Local Privacy", ICML 2016. It is local
differential privacy (D5.2, Definition 6): the loss is between any two categories that a record may have.

Categories are numbered from 0 and public; category 0 stands for a missing value, and for everything that is
none of the others, so no record can make a run fail. The sampler draws with exactly the stated rational
probabilities, and the stated epsilon is that of these probabilities. The library's own statement of a loss
is about bits of a vector, and not about a record: it is not used.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, Self

import numpy as np

from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.samplers import SAMPLER, Estimate, Sampler
from smalti.transforms.problem import Flags, Integers

MISSING_CATEGORY: Final = 0
LEAST_EPSILON: Final = 1e-9
"""Less is not told from 0 by probabilities that are doubles."""
LARGEST_EPSILON: Final = 500.0
"""More would change no record in any table that there is."""

_HALF: Final = Fraction(1, 2)
_CAUTION: Final = 2.0**-40


class Response(ABC):
    """A way to answer at random; frozen, so that it can be a step of a plan."""

    __slots__ = ()

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The privacy loss of one record in nats; errs above."""

    @property
    def loss(self) -> PrivacyLoss:
        """What one record loses."""
        return PrivacyLoss.of_pure(self.epsilon)

    @abstractmethod
    def perturbed(self, codes: Integers, sampler: Sampler = SAMPLER) -> Integers:
        """The categories that are reported, one for each record, each drawn independently.

        Args:
            codes: the true categories; what is none becomes `MISSING_CATEGORY` first.
            sampler: where the noise comes from.
        """

    @abstractmethod
    def shares(self, reported: Integers, confidence: float) -> tuple[Estimate, ...]:
        """The share of each category among the true ones.

        The margins are normal approximations with the greatest possible variance of the noise: an interval
        holds the true share of these records with about the confidence, or more.

        Args:
            reported: how often each category was reported.
            confidence: of each interval, in (0, 1).
        """


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Response):
    """Another category with a known probability, all of them equally likely."""

    categories: int
    """k, at least 2, with that of missing values."""
    changed: Fraction
    """The probability of another category; a double, or 1 minus a double, up to (k - 1) / k."""

    def __post_init__(self) -> None:
        if not 2 <= self.categories <= 1 << 32:
            raise ValueError("randomised response takes from 2 to 2^32 categories")
        if not 0 < self.changed <= Fraction(self.categories - 1, self.categories):
            raise ValueError("a category changes with a probability above 0 and up to (k - 1) / k")
        _check_exact(self.changed)

    @classmethod
    def calibrated(cls, categories: int, epsilon: float) -> Self:
        """The least changes of a loss within epsilon: (k - 1) / (e^epsilon + k - 1).

        Args:
            categories: k, at least 2.
            epsilon: from `LEAST_EPSILON` to `LARGEST_EPSILON`.
        """
        if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"the privacy loss of a record lies between {LEAST_EPSILON:g} and {LARGEST_EPSILON:g}"
            )
        others, growth = categories - 1, math.exp(epsilon * (1 - _CAUTION))
        half_or_less = min(others, growth) / (growth + others)
        response = cls._with(categories, half_or_less, others <= growth)
        while response.epsilon > epsilon:
            half_or_less = math.nextafter(half_or_less, 1.0 if others <= growth else 0.0)
            response = cls._with(categories, half_or_less, others <= growth)
        return response

    @classmethod
    def _with(cls, categories: int, probability: float, is_of_change: bool) -> Self:
        changed = Fraction(probability) if is_of_change else 1 - Fraction(probability)
        return cls(categories, min(changed, _most_changes(categories)))

    @property
    def kept(self) -> Fraction:
        """The probability with which a category is reported where it is the true one."""
        return 1 - self.changed

    @property
    def taken(self) -> Fraction:
        """The probability with which a category is reported where it is not the true one."""
        return self.changed / (self.categories - 1)

    @property
    def epsilon(self) -> float:
        return _log_ratio(self.kept, self.taken)

    def perturbed(self, codes: Integers, sampler: Sampler = SAMPLER) -> Integers:
        reported = _categories_only(codes, self.categories)
        places = np.flatnonzero(_bits(len(reported), self.changed, sampler))
        others = sampler.uniform(len(places), self.categories - 1)
        reported[places] = others + (others >= reported[places])
        return reported

    def shares(self, reported: Integers, confidence: float) -> tuple[Estimate, ...]:
        if len(reported) != self.categories:
            raise ValueError("a count is expected for each category")
        total = int(reported.sum())
        kept, taken = float(self.kept), float(self.taken)
        return tuple(_share(count, total, (kept, taken), confidence) for count in reported.tolist())


@dataclass(frozen=True, slots=True)
class TwoCoins(Response):
    """Randomised response of yes (1) or no (0) with two coins, as in D5.2, 3.2.3.

    The first coin tells whether the true answer is reported, else the second one is the answer. A missing
    answer has no category here and counts as no: where it matters, take three categories.
    """

    retention: Fraction = _HALF
    """The probability of the true answer by the first coin; a double in (0, 1)."""
    coin: Fraction = _HALF
    """The probability of yes by the second coin; a double in (0, 1)."""

    def __post_init__(self) -> None:
        if not (0 < self.retention < 1 and 0 < self.coin < 1):
            raise ValueError("the probabilities of both coins lie between 0 and 1, both excluded")
        _check_exact(self.retention)
        _check_exact(self.coin)

    @property
    def yes_given_yes(self) -> Fraction:
        return self.retention + self.yes_given_no

    @property
    def yes_given_no(self) -> Fraction:
        return (1 - self.retention) * self.coin

    @property
    def epsilon(self) -> float:
        """That of the answer that tells more; ln 3 for two fair coins."""
        return max(
            _log_ratio(self.yes_given_yes, self.yes_given_no),
            _log_ratio(1 - self.yes_given_no, 1 - self.yes_given_yes),
        )

    def perturbed(self, codes: Integers, sampler: Sampler = SAMPLER) -> Integers:
        answers = _categories_only(codes, 2)
        places = np.flatnonzero(~_bits(len(answers), self.retention, sampler))
        answers[places] = _bits(len(places), self.coin, sampler)
        return answers

    def shares(self, reported: Integers, confidence: float) -> tuple[Estimate, ...]:
        """For two fair coins the share of yes is 2 y - 1/2, where y is the share that is reported."""
        if len(reported) != 2:
            raise ValueError("a count is expected for each category")
        no, yes = reported.tolist()
        rates = float(self.yes_given_yes), float(self.yes_given_no)
        share = _share(yes, no + yes, rates, confidence)
        return Estimate(1 - share.value, share.margin), share


def _share(count: int, total: int, rates: tuple[float, float], confidence: float) -> Estimate:
    """The share of a category that is reported at one rate where it is true, and at another elsewhere."""
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies between 0 and 1, both excluded")
    if not total:
        return Estimate(0.0, math.inf)
    kept, taken = rates
    deviation = math.sqrt(max(rate * (1 - rate) for rate in rates) / total)
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * deviation + 0.5 / total
    return Estimate((count / total - taken) / (kept - taken), margin / (kept - taken))


def _categories_only(codes: Integers, categories: int) -> Integers:
    """A fresh array of categories, without what is none."""
    return np.where((codes >= 0) & (codes < categories), codes, MISSING_CATEGORY).astype(np.int64)


def _bits(number: int, probability: Fraction, sampler: Sampler) -> Flags:
    """Independent bits that are true with exactly a probability of `_check_exact`."""
    if not number:
        return np.zeros(0, np.bool_)
    if probability <= _HALF:
        return sampler.bits(number, float(probability))
    flags: Flags = ~sampler.bits(number, float(1 - probability))
    return flags


def _check_exact(probability: Fraction) -> None:
    half_or_less = min(probability, 1 - probability)
    if Fraction(float(half_or_less)) != half_or_less:
        raise ValueError("a probability, or its rest to 1, is a double, so that it is drawn exactly")


def _most_changes(categories: int) -> Fraction:
    """The greatest exact probability of change that is not above (k - 1) / k."""
    rest = float(Fraction(1, categories))
    return 1 - Fraction(rest if Fraction(rest) >= Fraction(1, categories) else math.nextafter(rest, 1.0))


def _log_ratio(larger: Fraction, smaller: Fraction) -> float:
    """The logarithm of a ratio from 1; errs above."""
    return math.log1p(float(larger / smaller - 1)) * (1 + _CAUTION / 2)
