"""The observation of an attack: answers of the target and of shadow models, and known memberships.

Never whether a record is a member of the target: that is what the attack is to say.
"""

from dataclasses import dataclass

import numpy as np

from smalti.errors import DataError
from smalti.transforms.membership.confidences import Floats, checked_confidences, checked_labels
from smalti.transforms.problem import Flags, Integers


@dataclass(frozen=True, slots=True, eq=False)
class ShadowAnswers:
    """The answers of shadow models about records, and which records each was trained on."""

    labels: Integers
    """int[records]."""
    confidences: Floats
    """float[models, records, classes]."""
    members: Flags
    """bool[models, records]."""

    def __post_init__(self) -> None:
        if self.confidences.ndim != 3 or not len(self.confidences):
            raise DataError("the shadow models", "no confidences of models", "models x records x classes")
        classes = self.classes
        checked_labels("the records of the shadow models", self.labels, classes)
        if self.members.dtype != np.bool_ or self.members.shape != self.confidences.shape[:2]:
            raise DataError(
                "the shadow models",
                "no membership for each model and record",
                "yes or no: models x records",
            )
        checked_confidences("the shadow models", self.confidences, len(self.labels), classes)

    @property
    def models(self) -> int:
        return len(self.confidences)

    @property
    def classes(self) -> int:
        return int(self.confidences.shape[2])


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Records of the population that audited ones are compared with (the z of RMIA)."""

    target: Floats
    """float[records, classes]: the target's confidences."""
    shadows: ShadowAnswers
    """By the same models as for the audited records, in the same order."""

    def __post_init__(self) -> None:
        checked_confidences(
            "the target, of the population", self.target, len(self.shadows.labels), self.shadows.classes
        )


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """All that is known about the audited records; what an attack `needs` must be there."""

    labels: Integers
    """int[records]: the true classes."""
    target: Floats
    """float[records, classes]: the target's confidences."""
    shadows: ShadowAnswers | None = None
    """Of shadow models, about the audited records."""
    population: Population | None = None
    """Without it, audited records are compared with one another."""
    shadow_pool: ShadowAnswers | None = None
    """Of shadow models whose training sets are disjoint from the target's, about their own pool."""

    def __post_init__(self) -> None:
        if self.target.ndim != 2:
            raise DataError("the target", "no confidences of records", "records x classes")
        classes = int(self.target.shape[1])
        checked_labels("the audited records", self.labels, classes)
        checked_confidences("the target", self.target, len(self.labels), classes)
        if self.shadows is not None and not np.array_equal(self.shadows.labels, self.labels):
            raise DataError("the shadow models", "they were asked about other records than the target")
        others = self.population.shadows if self.population is not None else None
        for answers in (self.shadows, self.shadow_pool, others):
            if answers is not None and answers.classes != classes:
                raise DataError(
                    "the shadow models",
                    f"{answers.classes} classes",
                    f"the {classes} classes of the target",
                )

    @property
    def classes(self) -> int:
        return int(self.target.shape[1])
