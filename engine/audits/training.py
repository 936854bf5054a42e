"""The one model that a plan makes, and more models like it for the audit."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from smalti.engine.audits.plan import TrainingPlan
from smalti.engine.audits.recipes import architecture_of, hyperparameters_of
from smalti.engine.audits.records import TrainingRecords
from smalti.transforms.learning.models import TrainedModel, TrainedModels
from smalti.transforms.learning.networks import Floats
from smalti.transforms.learning.randomness import FromSystem, Randomness
from smalti.transforms.learning.training import train
from smalti.transforms.problem import Flags, Integers

_SYSTEM = FromSystem()


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Who is trained on, and who is held out. Private."""

    trained: Flags
    """Shape (respondents,)."""

    @classmethod
    def drawn(cls, plan: TrainingPlan, records: TrainingRecords, seed: int) -> Self:
        """Draw who is trained on: each with the plan's probability, independently of all others.

        One respondent more, or another one in their place, changes nothing about all others: so what
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


@dataclass(frozen=True, slots=True)
class NetworkTrainer:
    """Trains models as a plan says: the target's recipe, its hyper-parameters and its privacy."""

    plan: TrainingPlan
    randomness: Randomness = _SYSTEM

    @property
    def recipe(self) -> str:
        """Names architecture and hyper-parameters; equal only where both are equal."""
        return f"{architecture_of(self.plan)} {hyperparameters_of(self.plan)}"

    def train(self, features: Floats, labels: Integers, members: Flags) -> TrainedModels:
        """One model for each row of a membership mask; see `learning.training.train`."""
        return train(
            architecture_of(self.plan),
            hyperparameters_of(self.plan),
            features.astype(np.float32),
            labels,
            members,
            self.randomness,
        )


def target(plan: TrainingPlan, records: TrainingRecords, parts: Parts) -> TrainedModel:
    """The one model that is released, if any is; its noise comes from the operating system."""
    features, labels, members = records.features, records.labels, parts.trained
    if not len(labels):  # nobody, which shows as little as anybody
        features, labels = np.zeros((1, plan.train.width), np.float32), np.zeros(1, np.int64)
        members = np.zeros(1, np.bool_)
    return NetworkTrainer(plan).train(features, labels, members[None])[0]
