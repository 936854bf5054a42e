"""The one model that a plan makes, and more models like it for the audit."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.recipes import architecture_of, hyperparameters_of
from smalti.engine.training.records import TrainingRecords
from smalti.transforms.learning.models import TrainedModel
from smalti.transforms.learning.randomness import FromSystem
from smalti.transforms.membership.network_trainer import NetworkTrainer
from smalti.transforms.problem import Flags


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Who is trained on, and who is held out. Private."""

    trained: Flags
    """Shape (respondents,)."""

    @classmethod
    def drawn(cls, plan: TrainingPlan, records: TrainingRecords, seed: int) -> Self:
        """Draw who is trained on: each with the plan's probability, independently of all others.

        One respondent more, or another one in their place, changes no chance of all others: so what
        training loses of one who takes part is all that is lost.

        Args:
            plan: says with which probability.
            records: all of them.
            seed: fresh from the operating system, but for tests; equal seeds draw the same.
        """
        part = float(Fraction(plan.train.part))
        return cls(np.random.default_rng((seed, 0)).random(len(records)) < part)

    @property
    def held_out(self) -> Flags:
        return ~self.trained


def trainer_of(plan: TrainingPlan) -> NetworkTrainer:
    """Trains models as a plan says, privately where it says so; their noise is the operating system's."""
    return NetworkTrainer(architecture_of(plan), hyperparameters_of(plan), FromSystem())


def target(plan: TrainingPlan, records: TrainingRecords, parts: Parts) -> TrainedModel:
    """The one model that is released, if any is; its noise comes from the operating system."""
    features, labels, members = records.features, records.labels, parts.trained
    if not len(labels):  # nobody, which shows as little as anybody
        features, labels = np.zeros((1, plan.train.width), np.float32), np.zeros(1, np.int64)
        members = np.zeros(1, np.bool_)
    return trainer_of(plan).train(features, labels, members[None])[0]
