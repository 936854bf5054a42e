"""Trained networks, and their confidences."""

from collections.abc import Iterator
from dataclasses import dataclass

from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.networks import Floats, Parameters, confidences, finite_features, stack
from smalti.transforms.learning.randomness import Origin


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a network beside its parameters; it contains nothing of the data."""

    architecture: Architecture
    hyperparameters: Hyperparameters
    randomness: Origin

    @property
    def is_test_only(self) -> bool:
        """Whether its randomness was drawn from a seed, so that no privacy is promised for it."""
        return self.randomness is not Origin.SYSTEM


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """One network: a classifier."""

    description: Description
    parameters: Parameters
    """Arrays of NumPy."""

    def confidences(self, features: Floats) -> Floats:
        """The confidence in each class for each record.

        Args:
            features: shape (records, features); what is no finite number counts as 0.

        Returns:
            Shape (records, classes); those of a record sum to 1 up to rounding of 32 bits.
        """
        confidences: Floats = TrainedModels(self.description, stack([self.parameters])).confidences(
            features
        )[0]
        return confidences


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModels:
    """Networks of one architecture that were trained alike: a target and its shadows, say."""

    description: Description
    stacked: Parameters
    """Arrays of NumPy with an axis of models in front."""

    def __len__(self) -> int:
        return len(self.stacked[0].biases)

    def __getitem__(self, model: int) -> TrainedModel:
        """Return the model of a number, from 0; its arrays are not copied."""
        if not -len(self) <= model < len(self):
            raise IndexError("no such model")
        layers = (
            layer._replace(weights=layer.weights[model], biases=layer.biases[model])
            for layer in self.stacked
        )
        return TrainedModel(self.description, tuple(layers))

    def __iter__(self) -> Iterator[TrainedModel]:
        return (self[model] for model in range(len(self)))

    def confidences(self, features: Floats) -> Floats:
        """The confidence of each model in each class for each record.

        Args:
            features: shape (records, features); what is no finite number counts as 0.

        Returns:
            Shape (models, records, classes); those of a record sum to 1 up to rounding of 32 bits.
        """
        architecture = self.description.architecture
        if features.ndim != 2 or features.shape[1] != architecture.features:
            raise ValueError(f"records of {architecture.features} features are expected")
        return confidences(architecture, self.stacked, finite_features(features))
