"""Target and shadow models that tensorflow-privacy trains; for studies only."""

from dataclasses import dataclass

from smalti.studies.tensorflow.training import Variant, train
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.membership.confidences import Floats
from smalti.transforms.membership.models import ClassifierGroup, FromKeras
from smalti.transforms.problem import Flags, Integers


@dataclass(frozen=True, slots=True)
class TensorFlowTrainer:
    """A `Trainer` of dense networks, by the private optimizers of tensorflow-privacy.

    What it trains is never private in the sense of a certificate (`studies.tensorflow.training`). Its
    first model starts alike in each call: give target and shadow models other seeds.
    """

    architecture: Architecture
    hyperparameters: Hyperparameters
    """With privacy."""
    randomness: Seeded
    variant: Variant = Variant.VECTORIZED

    @property
    def recipe(self) -> str:
        return f"tensorflow-privacy, test only: {self.variant} {self.architecture} {self.hyperparameters}"

    def train(self, features: Floats, labels: Integers, members: Flags) -> ClassifierGroup:
        """Train one model for each row of a membership mask.

        Raises:
            BackendError: the libraries are missing, or do not fit.
            ValueError: as `training.train`.
        """
        trained = train(
            self.architecture,
            self.hyperparameters,
            (features, labels),
            members,
            self.randomness,
            self.variant,
        )
        classes = self.architecture.classes
        return ClassifierGroup(
            tuple(FromKeras(model, classes, gives_logits=True) for model in trained.models)
        )
