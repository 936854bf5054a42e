"""Shadow models that are networks, trained many at once by `transforms.learning`."""

from dataclasses import dataclass

from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.models import TrainedModels
from smalti.transforms.learning.randomness import Randomness
from smalti.transforms.learning.training import train
from smalti.transforms.membership.confidences import Floats
from smalti.transforms.problem import Flags, Integers


@dataclass(frozen=True, slots=True)
class NetworkTrainer:
    """A `Trainer` of dense networks.

    With a seed, the first network of each call starts alike: give target and shadow models other seeds.
    """

    architecture: Architecture
    hyperparameters: Hyperparameters
    randomness: Randomness

    @property
    def recipe(self) -> str:
        return f"{self.architecture} {self.hyperparameters}"

    def train(self, features: Floats, labels: Integers, members: Flags) -> TrainedModels:
        return train(self.architecture, self.hyperparameters, features, labels, members, self.randomness)
