"""RMIA: by how much the target prefers a record, compared with records of the population.

Zarifzadeh, Liu, Shokri, "Low-Cost High-Power Membership Inference Attacks", ICML 2024 (arXiv 2312.03262),
section 3 and Algorithm 1; Pr(x | model) is the confidence in the true class.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from smalti.errors import DataError
from smalti.transforms.membership.attack import Needs, shadows_of
from smalti.transforms.membership.confidences import LEAST_CONFIDENCE, Doubles, Floats, of_true_class
from smalti.transforms.membership.observation import Observation, ShadowAnswers
from smalti.transforms.problem import Flags, Integers

GAMMA: Final = 2.0
OFFLINE_FACTOR: Final = 0.3


@dataclass(frozen=True, slots=True)
class RelativeMembership:
    """The share of population records z with (Pr(x|target) / Pr(x)) / (Pr(z|target) / Pr(z)) >= gamma.

    Section 3. Pr is the mean of models that were trained with a record and of models that were
    not, both weighing one half. Many records may have equal scores: there are only as many steps as
    population records. A population that is not given is the audited records themselves.
    """

    name: ClassVar[str] = "rmia"
    gamma: float = GAMMA
    """Above 0; a record never dominates itself where it is above 1."""
    offline_factor: float | None = None
    """The paper's a, in [0, 1]; with it only models that were not trained on the audited record are used,
    and Pr(x) is taken to be ((1 + a) Pr_out(x) + 1 - a) / 2 (appendix B.2.2)."""

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise ValueError("gamma is above 0")
        if self.offline_factor is not None and not 0 <= self.offline_factor <= 1:
            raise ValueError("the offline factor is from 0 to 1")

    @property
    def needs(self) -> Needs:
        return (
            Needs.SHADOWS_OUT if self.offline_factor is not None else Needs.SHADOWS_IN | Needs.SHADOWS_OUT
        )

    def scores(self, observation: Observation) -> Doubles:
        audited = self._ratio(observation.target, shadows_of(self.name, observation))
        others = audited
        if observation.population is not None:
            others = self._ratio_of_population(
                observation.population.target, observation.population.shadows
            )
        if not len(others):
            raise DataError(f"the attack {self.name}", "the population has no records", "at least one")
        below = np.searchsorted(np.sort(others), audited - np.log(self.gamma), side="right")
        shares: Doubles = below / len(others)
        return shares

    def _ratio(self, target: Floats, shadows: ShadowAnswers) -> Doubles:
        """The logarithm of Pr(x | target) / Pr(x) of audited records."""
        answers = of_true_class(shadows.confidences, shadows.labels)
        outside = _mean(self.name, answers, ~shadows.members)
        if self.offline_factor is None:
            marginal = (outside + _mean(self.name, answers, shadows.members)) / 2
        else:
            marginal = _by_factor(outside, self.offline_factor)
        return _log_ratio(target, shadows.labels, marginal)

    def _ratio_of_population(self, target: Floats, shadows: ShadowAnswers) -> Doubles:
        """The same of population records, that may have been in no shadow model's training set."""
        answers = of_true_class(shadows.confidences, shadows.labels)
        outside = _mean(self.name, answers, ~shadows.members)
        factor = OFFLINE_FACTOR if self.offline_factor is None else self.offline_factor
        number = shadows.members.sum(axis=0)
        inside = np.where(shadows.members, answers, 0.0).sum(axis=0) / np.maximum(number, 1)
        marginal = np.where(number > 0, (outside + inside) / 2, _by_factor(outside, factor))
        return _log_ratio(target, shadows.labels, marginal)


def _by_factor(outside: Doubles, factor: float) -> Doubles:
    return ((1 + factor) * outside + 1 - factor) / 2


def _mean(attack: str, answers: Doubles, chosen: Flags) -> Doubles:
    """float[records]: the mean of the chosen models' answers."""
    number = chosen.sum(axis=0)
    if not number.all():
        raise DataError(
            f"the attack {attack}",
            "a record has no shadow model of a required kind",
            "models that were trained with it, and models that were not",
            "train more shadow models, each record in half of them, or use the offline form",
        )
    mean: Doubles = np.where(chosen, answers, 0.0).sum(axis=0) / number
    return mean


def _log_ratio(target: Floats, labels: Integers, marginal: Doubles) -> Doubles:
    observed = np.maximum(of_true_class(target, labels), LEAST_CONFIDENCE)
    ratio: Doubles = np.log(observed) - np.log(np.maximum(marginal, LEAST_CONFIDENCE))
    return ratio
