"""Networks whose training diverged: what they give for a record is no confidence."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from smalti.engine.registry.attempts import AttemptReason
from smalti.errors import SmaltiError
from smalti.transforms.learning.architecture import Activation
from smalti.transforms.learning.models import TrainedModel, TrainedModels
from smalti.transforms.learning.networks import Floats
from smalti.transforms.membership.network_trainer import NetworkTrainer
from smalti.transforms.problem import Flags, Integers

_LARGEST: Final = 1e38
"""Of a sum in a network: floats of 32 bits go up to 3.4e38."""


class DivergedError(SmaltiError):
    """A training that ended with weights which are no finite numbers, or too large.

    Args:
        reason: `DIVERGED` of the model itself, `SHADOWS_DIVERGED` of a shadow model.
    """

    def __init__(self, reason: AttemptReason) -> None:
        super().__init__(
            "the training",
            reason.sentence[0].lower() + reason.sentence[1:],
            "a training that converges",
            "name a recipe with a smaller learning rate; where training is private, a smaller clipping norm"
            " or less noise helps as well",
        )
        self.reason = reason

    def __reduce__(self) -> tuple[type["DivergedError"], tuple[AttemptReason]]:
        return type(self), (self.reason,)


def has_diverged(model: TrainedModel) -> bool:
    """Whether confidences in records between 0 and 1 may be no numbers; a function of the weights alone.

    So it tells of a private model nothing that was not charged: it is made from the release alone (Dwork,
    Roth, "The Algorithmic Foundations of Differential Privacy", 2014, Proposition 2.1).

    Proof:
        Where no input of a layer exceeds b in absolute value, no sum in it exceeds b |W| + |bias|, whatever
        the order of its terms. It starts with b = 1. Units of tanh give 1 at most, those of ReLU no more
        than their sum. What is not a number exceeds every bound.
    """
    architecture = model.description.architecture
    bound = np.ones(architecture.features)
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in model.parameters:
            weights, biases = (np.abs(np.asarray(array, np.float64)) for array in layer)
            sums = bound @ weights + biases
            if not sums.max() <= _LARGEST:
                return True
            bound = np.minimum(sums, 1) if architecture.activation is Activation.TANH else sums
    return False


@dataclass(frozen=True, slots=True)
class ConvergingTrainer(NetworkTrainer):
    """Trains shadow models, and refuses to go on with one that diverged."""

    def train(self, features: Floats, labels: Integers, members: Flags) -> TrainedModels:
        """As `NetworkTrainer.train`.

        Raises:
            DivergedError: a model diverged.
        """
        models = NetworkTrainer.train(self, features, labels, members)
        if any(map(has_diverged, models)):
            raise DivergedError(AttemptReason.SHADOWS_DIVERGED)
        return models

    @classmethod
    def like(cls, trainer: NetworkTrainer) -> "ConvergingTrainer":
        return cls(trainer.architecture, trainer.hyperparameters, trainer.randomness)
