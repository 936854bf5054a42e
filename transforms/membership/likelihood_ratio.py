"""LiRA: is the target's confidence in a record that of models which were trained on the record, or not?

Carlini, Chien, Nasr, Song, Terzis, Tramèr, "Membership Inference Attacks From First Principles", IEEE S&P
2022, Algorithm 1 (arXiv 2112.03570). Logit-scaled confidences of shadow models are taken for normal, for
each record apart. Each record is asked about once: the paper's queries of augmented records are not here.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from smalti.errors import DataError
from smalti.transforms.membership.attack import Needs, shadows_of
from smalti.transforms.membership.confidences import Doubles, logit_scaled
from smalti.transforms.membership.observation import Observation
from smalti.transforms.problem import Flags

OWN_VARIANCE_FROM: Final = 64
"""Shadow models from which each record has variances of its own; below, one is shared by all records."""
_LEAST_DEVIATION: Final = 1e-6
"""Where models that give coarse confidences all agree."""


@dataclass(frozen=True, slots=True)
class OnlineLikelihoodRatio:
    """The logarithm of the ratio of both likelihoods.

    Needs shadow models that were and shadow models that were not trained on each audited record.
    """

    name: ClassVar[str] = "lira-online"
    needs: ClassVar[Needs] = Needs.SHADOWS_IN | Needs.SHADOWS_OUT
    own_variance_from: int = OWN_VARIANCE_FROM
    """Section VI.B: with few models one global variance of each kind does better."""

    def scores(self, observation: Observation) -> Doubles:
        shadows = shadows_of(self.name, observation)
        answers = logit_scaled(shadows.confidences, shadows.labels)
        has_own = shadows.models >= self.own_variance_from
        observed = logit_scaled(observation.target, observation.labels)
        inside = _Normal.fitted(self.name, answers, shadows.members, has_own)
        outside = _Normal.fitted(self.name, answers, ~shadows.members, has_own)
        return inside.log_density(observed) - outside.log_density(observed)


@dataclass(frozen=True, slots=True)
class OfflineLikelihoodRatio:
    """How far the confidence lies above that of models which were not trained on the record.

    In standard deviations of these models. It rises strictly with the paper's one-sided test, the normal
    probability of a lower confidence (section IV.C, equation 4), which itself is one from 9 deviations on.
    """

    name: ClassVar[str] = "lira-offline"
    needs: ClassVar[Needs] = Needs.SHADOWS_OUT
    own_variance_from: int = OWN_VARIANCE_FROM

    def scores(self, observation: Observation) -> Doubles:
        shadows = shadows_of(self.name, observation)
        answers = logit_scaled(shadows.confidences, shadows.labels)
        has_own = shadows.models >= self.own_variance_from
        outside = _Normal.fitted(self.name, answers, ~shadows.members, has_own)
        return outside.standardised(logit_scaled(observation.target, observation.labels))


@dataclass(frozen=True, slots=True)
class _Normal:
    """A normal distribution for each record."""

    mean: Doubles
    """float[records]."""
    deviation: Doubles
    """float[records], or one for all."""

    @classmethod
    def fitted(cls, attack: str, answers: Doubles, chosen: Flags, has_own: bool) -> "_Normal":
        """By the chosen models of each record; a shared variance is pooled within records.

        Args:
            attack: for messages.
            answers: float[models, records].
            chosen: bool[models, records].
            has_own: whether each record has a variance of its own.
        """
        number = chosen.sum(axis=0)
        _check_models(attack, int(number.min(initial=len(chosen))), 2 if has_own else 1)
        mean = np.where(chosen, answers, 0.0).sum(axis=0) / number
        squares = (np.where(chosen, answers - mean, 0.0) ** 2).sum(axis=0)
        if has_own:
            return cls(mean, _at_least(np.sqrt(squares / number)))
        # Each record's mean takes one degree of freedom.
        freedom = max(1, int((number - 1).sum()))
        return cls(mean, _at_least(np.sqrt(squares.sum(keepdims=True) / freedom)))

    def standardised(self, observed: Doubles) -> Doubles:
        return (observed - self.mean) / self.deviation

    def log_density(self, observed: Doubles) -> Doubles:
        """Up to a constant."""
        density: Doubles = -0.5 * self.standardised(observed) ** 2 - np.log(self.deviation)
        return density


def _check_models(attack: str, least: int, wanted: int) -> None:
    if least < wanted:
        raise DataError(
            f"the attack {attack}",
            f"an audited record has only {least} shadow models of a required kind",
            f"at least {wanted}, trained with or without the record as the attack requires",
            "train more shadow models, each record in half of them",
        )


def _at_least(deviation: Doubles) -> Doubles:
    return np.maximum(deviation, _LEAST_DEVIATION)
