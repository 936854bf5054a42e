"""Our own generative models: as samplers, and the attacks that read the model itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.errors import DataError, UsageError
from smalti.transforms.generative.sampler import BLOCK, Form, Numbers
from smalti.transforms.learning.autoencoders import Autoencoder
from smalti.transforms.learning.generative_models import GenerativeModel
from smalti.transforms.learning.networks import Floats
from smalti.transforms.membership.confidences import Doubles

RECONSTRUCTIONS: Final = 300
"""Of each record (n of 4.7); D5.2 observes that so many are enough."""


@dataclass(frozen=True, slots=True, eq=False)
class FromModel:
    """A model of ours, of which nothing is shown but samples."""

    model: GenerativeModel
    classes: tuple[str, ...]
    """The labels by their numbers, where the model is conditional; empty otherwise."""
    draw: np.random.Generator
    """Draws samples, and their labels evenly."""
    form: Form
    """Of the samples: arrays, or a table of numbers."""
    name: str = "the model"

    def blocks(self, number: int) -> Iterator[pa.RecordBatch]:
        for start in range(0, number, BLOCK):
            size = min(BLOCK, number - start)
            labels = self.draw.integers(0, max(1, self.model.network.classes), size)
            texts = [self.classes[label] for label in labels.tolist()] if self.form.label else None
            yield _block(self.form, self.model.generated(labels, self.draw), texts)


def _block(form: Form, values: Floats, labels: list[str] | None) -> pa.RecordBatch:
    if form.shape is not None:
        return form.block(values.reshape(len(values), *form.shape), labels)
    texts = iter(pa.array(column).cast(pa.string()) for column in values.T)
    columns = [
        pa.array(labels, pa.string()) if name == form.label else next(texts) for name in form.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=form.schema)


def check_fits(model: GenerativeModel, form: Form, classes: tuple[str, ...]) -> None:
    """Refuse a model that writes other records than those of the audit.

    Raises:
        DataError: it has another number of features or of classes.
    """
    network, expected = model.network, max(1, len(classes))
    if network.features != form.width or network.classes not in {1, expected}:
        raise DataError(
            "the model",
            f"it writes {network.features} numbers for each of {network.classes} labels",
            f"{form.width} numbers, for {expected} labels",
            "name the records that it was trained on",
        )


def reconstruction(
    model: GenerativeModel, audited: Numbers, draw: np.random.Generator, number: int = RECONSTRUCTIONS
) -> Doubles:
    """Minus the mean distance of a record and its reconstructions (4.7): the reconstruction attack.

    Args:
        model: an autoencoder.
        audited: records, with labels numbered as in training.
        draw: draws latent variables.
        number: reconstructions of each record.

    Raises:
        UsageError: it is no autoencoder.
    """
    network = model.network
    if not isinstance(network, Autoencoder):
        raise UsageError("reconstruction", "this model is no autoencoder", "a variational autoencoder")
    labels = _labels(model, audited)
    mean, deviation = network.encoded(model.parameters, audited.features, labels)
    distances = np.zeros(len(audited))
    for _ in range(number):
        latent = mean + deviation * draw.standard_normal(mean.shape, np.float32)
        rebuilt = network.decoded(model.parameters, latent, labels)
        distances += np.linalg.norm(rebuilt - audited.features, axis=1)
    scores: Doubles = -distances / number
    return scores


def discriminator(model: GenerativeModel, audited: Numbers) -> Doubles:
    """What the discriminator takes for a record: LOGAN's white-box attack (Hayes et al., PoPETs 2019).

    Args:
        model: two adversaries.
        audited: records, with labels numbered as in training.

    Raises:
        UsageError: it has no discriminator.
    """
    network = model.network
    if isinstance(network, Autoencoder):
        raise UsageError("logan-white-box", "this model has no discriminator", "adversarial networks")
    outputs = network.outputs(model.parameters, audited.features, _labels(model, audited))
    return outputs.astype(np.float64)


def _labels(model: GenerativeModel, audited: Numbers) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Numbers of labels as the model takes them."""
    return audited.labels if model.network.classes > 1 else np.zeros(len(audited), np.int64)
