"""Trained generative models: their description, their files, and training on records and labels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from smalti.errors import DataError
from smalti.transforms.learning.adversarial import Adversarial
from smalti.transforms.learning.autoencoders import Autoencoder
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.image_adversarial import ImageAdversarial
from smalti.transforms.learning.model_files import library, write_model
from smalti.transforms.learning.networks import Floats, Layer, Parameters, arrays_of
from smalti.transforms.learning.randomness import Origin, Randomness
from smalti.transforms.learning.training import train_networks
from smalti.transforms.problem import Flags, Integers

Generator: TypeAlias = Annotated[Autoencoder | Adversarial | ImageAdversarial, Field(discriminator="kind")]
_FORM: Final = "smalti.generative.1"
"""The entry of the header that holds the description."""


@dataclass(frozen=True, slots=True)
class GenerativeDescription:
    """The description of a generative model beside its parameters; it contains nothing of the data."""

    network: Generator
    hyperparameters: Hyperparameters
    randomness: Origin


_DESCRIPTIONS: Final = TypeAdapter(GenerativeDescription)


@dataclass(frozen=True, slots=True, eq=False)
class GenerativeModel:
    """One trained generative model."""

    description: GenerativeDescription
    parameters: Parameters
    """Arrays of NumPy."""

    @property
    def network(self) -> Autoencoder | Adversarial | ImageAdversarial:
        return self.description.network

    def generated(self, labels: Integers, draw: np.random.Generator) -> Floats:
        """Samples, from 0 to 1.

        Args:
            labels: shape (samples,), of what is wanted; zeros where the model is not conditional.
            draw: draws what samples are made of.
        """
        return self.network.generated(self.parameters, labels, draw)


def train_generative(
    network: Autoencoder | Adversarial | ImageAdversarial,
    hyperparameters: Hyperparameters,
    records: tuple[Floats, Integers],
    members: Flags,
    randomness: Randomness,
) -> tuple[GenerativeModel, ...]:
    """Train one model for each set of members, as `training.train` trains classifiers.

    Args:
        network: what is trained.
        hyperparameters: of training; with `private`, noise is added to clipped gradients, and the account
            is that of a classifier.
        records: features from 0 to 1, of shape (records, features), and labels.
        members: shape (models, records).
        randomness: the operating system's for what is released.

    Raises:
        ValueError: shapes do not fit, a feature is outside of 0 to 1, or a label is none.
    """
    if records[0].size and not 0 <= records[0].min() <= records[0].max() <= 1:
        raise ValueError("features lie from 0 to 1, by public bounds")
    stacked = train_networks(network, hyperparameters, records, members, randomness)
    description = GenerativeDescription(network, hyperparameters, randomness.origin)
    return tuple(
        GenerativeModel(
            description, tuple(Layer(layer.weights[model], layer.biases[model]) for layer in stacked)
        )
        for model in range(len(members))
    )


def save_generative(model: GenerativeModel, path: Path) -> None:
    """Write a new file of safetensors, with the description in its header.

    Raises:
        FileExistsError: there is a file of that name already.
    """
    metadata = {_FORM: _DESCRIPTIONS.dump_json(model.description).decode()}
    write_model(arrays_of(model.parameters), metadata, path)


def load_generative(path: Path) -> GenerativeModel:
    """Read a file of `save_generative`.

    Raises:
        DataError: it cannot be read, or is none of those; nothing that it holds is in the message.
    """
    safetensors = library()
    try:
        with safetensors.safe_open(path, framework="np") as file:
            description = _DESCRIPTIONS.validate_json((file.metadata() or {})[_FORM])
            arrays: dict[str, Floats] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return GenerativeModel(description, _layers(description.network.shapes, arrays))
    except (safetensors.SafetensorError, OSError, KeyError, ValidationError, ValueError, TypeError):
        raise DataError(
            str(path),
            "not a generative model that smalti can read",
            "a safetensors file written by smalti, with the description and all parameters",
            "save the model again; or attack its samples, in a file",
        ) from None


def _layers(shapes: tuple[tuple[int, ...], ...], arrays: dict[str, Floats]) -> Parameters:
    expected = {
        f"layers.{place}.{name}": size
        for place, shape in enumerate(shapes)
        for name, size in zip(Layer._fields, (shape, shape[-1:]), strict=True)
    }
    if {name: array.shape for name, array in arrays.items()} != expected:
        raise ValueError("the arrays are not those of this network")
    if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("parameters are finite numbers of 32 bits")
    names = (f"layers.{place}" for place in range(len(shapes)))
    return tuple(Layer(arrays[f"{name}.weights"], arrays[f"{name}.biases"]) for name in names)
