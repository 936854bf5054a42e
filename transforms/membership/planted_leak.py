"""A planted leak: a model that is known to memorise, to test whether an audit detects it.

An attack that does not find a leak that is there says nothing by not finding one elsewhere. So the same
attack, on as much of the same data, must detect the leak; without that an audit is inconclusive.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from smalti.transforms.auditing.limits import Figure, advantage
from smalti.transforms.membership.confidences import Floats
from smalti.transforms.membership.data import digests_of
from smalti.transforms.membership.models import ClassifierGroup
from smalti.transforms.membership.scored import Scored
from smalti.transforms.problem import Flags, Integers

SHARE: Final = 0.5
_BOLDNESS: Final = 0.9
_WHOLE: Final = 1 << 64


@dataclass(frozen=True, slots=True, eq=False)
class Memoriser:
    """A classifier that recalls the labels of some training records, and nothing else."""

    recalled: dict[bytes, int]
    """The classes of recalled records, by the digests of their features."""
    classes: int

    def confidences(self, features: Floats) -> Floats:
        """Of records that it does not recall, all classes are equally likely."""
        confidences = np.full((len(features), self.classes), 1 / self.classes)
        for record, digest in enumerate(digests_of(features)):
            if digest in self.recalled:
                confidences[record] *= 1 - _BOLDNESS
                confidences[record, self.recalled[digest]] += _BOLDNESS
        return confidences


@dataclass(frozen=True, slots=True)
class MemorisingTrainer:
    """Makes models that memorise a share of their training records, chosen by digest.

    The same records are memorable for all models. Nothing else about training can be told from a model, so
    the share is the advantage of the best attack, up to the chance by which digests fall.
    """

    classes: int
    share: float = SHARE
    """In (0, 1]."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError("a share of memorised records lies between 0, excluded, and 1")

    @property
    def recipe(self) -> str:
        return f"memoriser of {self.share:g}"

    def train(self, features: Floats, labels: Integers, members: Flags) -> ClassifierGroup:
        digests = digests_of(features)
        memorable = [
            (record, digest)
            for record, digest in enumerate(digests)
            if int.from_bytes(digest[:8]) < self.share * _WHOLE
        ]
        return ClassifierGroup(tuple(self._memoriser(labels, memorable, own) for own in members))

    def _memoriser(self, labels: Integers, memorable: list[tuple[int, bytes]], own: Flags) -> Memoriser:
        recalled = {digest: int(labels[record]) for record, digest in memorable if own[record]}
        return Memoriser(recalled, self.classes)


@dataclass(frozen=True, slots=True)
class Detection:
    """Whether an attack detected the planted leak."""

    advantage: Figure
    """Of the attack on the model that memorises."""

    @property
    def is_detected(self) -> bool:
        """Whether the lower limit of the advantage is above 0, which is that of guessing."""
        return self.advantage.lower > 0


def detection(scored: Scored, confidence: float) -> Detection:
    """Judge the scores that an attack gave for a planted leak.

    Guessing is called a detection with a probability of at most 1 - confidence (`limits.advantage`).

    Args:
        scored: of the same attack, on as many records as in the audit.
        confidence: in (0, 1).
    """
    return Detection(advantage(scored.split(), confidence))


def least_records(share: float, confidence: float) -> int:
    """How many members, and as many others, it takes to detect a leak of this advantage at all.

    The limits of `limits.advantage` lie 2 sqrt(ln(2 / (1 - confidence)) / 2n) below the measured advantage;
    that is below the share for n above 2 ln(2 / (1 - confidence)) / share^2.

    Args:
        share: the advantage of the leak, in (0, 1].
        confidence: in (0, 1).

    >>> least_records(1, 0.95)
    8
    """
    if not (0 < share <= 1 and 0 < confidence < 1):
        raise ValueError("a share and a confidence lie between 0 and 1")
    return math.floor(2 * math.log(2 / (1 - confidence)) / share**2) + 1
