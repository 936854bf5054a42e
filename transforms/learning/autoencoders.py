"""Variational autoencoders of dense layers, plain and conditional, with dropout.

Kingma, Welling, "Auto-Encoding Variational Bayes", ICLR 2014. The architecture is that of D5.2, 4.4.4: an
encoder of two hidden layers (ELU, tanh) and a decoder of two (tanh, ELU), 500 units each, dropout behind
each of them, and Bernoulli outputs. A conditional one is given the label, as one number for each class,
beside what its encoder and its decoder are given.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.architecture import LARGEST_SIZE
from smalti.transforms.learning.gradients import clipped_sum, weighted_sum
from smalti.transforms.learning.networks import Array, Floats, Layer, Parameters
from smalti.transforms.learning.objectives import Batch, keys_of_records
from smalti.transforms.problem import Integers

_LEAST_DEVIATION: Final = 1e-6
_AT_ONCE: Final = 1 << 22
"""Numbers that a decoder writes at once."""


@dataclass(frozen=True, slots=True)
class Autoencoder:
    """A variational autoencoder of records whose numbers lie from 0 to 1."""

    features: int
    """Numbers of a record, at least 1."""
    classes: int = 1
    """Labels that it is conditional on, from 0 to below it; 1: it is not conditional."""
    hidden: tuple[int, ...] = (500, 500)
    """Units of the encoder's hidden layers; the decoder has them in reverse order."""
    latent: int = 20
    keep_rate: float = 0.9
    """The probability of a hidden unit not to be dropped in training, in (0, 1]."""
    kind: Literal["autoencoder"] = "autoencoder"

    def __post_init__(self) -> None:
        if min(self.features, self.classes, self.latent, *self.hidden) < 1 or not self.hidden:
            raise ValueError(
                "a feature, a class, a hidden layer and a latent variable at least are expected"
            )
        if not 0 < self.keep_rate <= 1:
            raise ValueError("a keep rate lies above 0, up to 1")
        if sum((before + 1) * after for before, after in self.shapes) > LARGEST_SIZE:
            raise ValueError(f"a network has at most {LARGEST_SIZE} parameters")

    @property
    def conditions(self) -> int:
        """Numbers that state the label."""
        return self.classes if self.classes > 1 else 0

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the weights of each layer, the encoder's first."""
        encoder = (self.features + self.conditions, *self.hidden, 2 * self.latent)
        decoder = (self.latent + self.conditions, *reversed(self.hidden), self.features)
        return (*pairwise(encoder), *pairwise(decoder))

    @property
    def encoder_layers(self) -> int:
        return len(self.hidden) + 1

    def initial(self, key: jax.Array) -> Parameters:
        return uniform_layers(self.shapes, key)

    def gradient_sum(self, parameters: Parameters, batch: Batch, key: jax.Array) -> Parameters:
        inputs, given_back = self._propagated(parameters, batch, key)
        return weighted_sum(inputs, given_back, jnp.asarray(batch.mask, given_back[-1].dtype))

    def clipped_gradient_sum(
        self, parameters: Parameters, batch: Batch, key: jax.Array, clipping_norm: float
    ) -> Parameters:
        inputs, given_back = self._propagated(parameters, batch, key)
        return clipped_sum(inputs, given_back, batch.mask, clipping_norm)

    def completed(self, parameters: Parameters, gradient: Parameters, key: jax.Array) -> Parameters:
        del parameters, key
        return gradient

    def _propagated(
        self, parameters: Parameters, batch: Batch, key: jax.Array
    ) -> tuple[list[jax.Array], list[jax.Array]]:
        """What each layer is given, and the slope of each record's loss at each layer's sums.

        Each layer's sums get an addend of 0; the slope at the sums is that at the addend.
        """
        records = len(batch.labels)
        addends = [jnp.zeros((records, layer.biases.shape[0]), jnp.float32) for layer in parameters]
        keys = keys_of_records(key, batch.places)

        def total(added: list[jax.Array]) -> tuple[jax.Array, list[jax.Array]]:
            losses, inputs = self._losses(parameters, added, batch, keys)
            return losses.sum(), inputs

        given_back, inputs = jax.grad(total, has_aux=True)(addends)
        return inputs, given_back

    def losses(self, parameters: Parameters, batch: Batch, key: jax.Array) -> jax.Array:
        """The loss of each record in training, in nats: minus its evidence lower bound, from one draw."""
        nothing = [jnp.zeros((1, layer.biases.shape[0]), jnp.float32) for layer in parameters]
        return self._losses(parameters, nothing, batch, keys_of_records(key, batch.places))[0]

    def _losses(
        self, parameters: Parameters, addends: list[jax.Array], batch: Batch, keys: jax.Array
    ) -> tuple[jax.Array, list[jax.Array]]:
        features = jnp.asarray(batch.features)
        normal, kept = jax.vmap(self._drawn)(keys)
        condition = self._condition(batch.labels)
        middle = self.encoder_layers
        coded, before = _passed(
            parameters[:middle], jnp.concatenate([features, condition], 1), addends[:middle],
            kept[:, : sum(self.hidden)], _ENCODER,
        )  # fmt: skip
        mean, deviation = _gaussian(coded)
        latent = mean + deviation * normal
        logits, after = _passed(
            parameters[middle:], jnp.concatenate([latent, condition], 1), addends[middle:],
            kept[:, sum(self.hidden) :], _DECODER,
        )  # fmt: skip
        rebuilt = (jax.nn.softplus(logits) - features * logits).sum(axis=1)
        squares = deviation * deviation
        divergence = 0.5 * (mean * mean + squares - jnp.log(squares) - 1).sum(axis=1)
        return rebuilt + divergence, [*before, *after]

    def _drawn(self, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The latent noise of one record, and the factors of its hidden units: 0, or 1 / keep rate."""
        latent_key, unit_key = jax.random.split(key)
        units = 2 * sum(self.hidden)
        normal = jax.random.normal(latent_key, (self.latent,), jnp.float32)
        if self.keep_rate == 1:
            return normal, jnp.ones(units, jnp.float32)
        is_kept = jax.random.bits(unit_key, (units,), jnp.uint16) < np.uint32(self.keep_rate * 2**16)
        return normal, is_kept.astype(jnp.float32) / self.keep_rate

    def _condition(self, labels: Array) -> jax.Array:
        return jax.nn.one_hot(labels, self.classes, dtype=jnp.float32)[:, : self.conditions]

    # --- After training

    def encoded(self, parameters: Parameters, features: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of each record's latent variables, without dropout.

        Args:
            parameters: of one network.
            features: shape (records, features).
            labels: shape (records,).
        """
        mean, deviation = _encoded(self, parameters, features, jnp.asarray(labels))
        return np.asarray(mean), np.asarray(deviation)

    def decoded(self, parameters: Parameters, latent: Floats, labels: Integers) -> Floats:
        """What the decoder writes for latent variables, without dropout: numbers from 0 to 1.

        Args:
            parameters: of one network.
            latent: shape (samples, latent).
            labels: shape (samples,).
        """
        written = np.empty((len(latent), self.features), np.float32)
        size = min(1 << max(len(latent) - 1, 0).bit_length(), max(1, _AT_ONCE // self.features))
        for start in range(0, len(latent), size):
            part = latent[start : start + size]
            padded = np.zeros((size, self.latent), np.float32)
            padded[: len(part)] = part
            places = np.zeros(size, np.int32)
            places[: len(part)] = labels[start : start + size]
            written[start : start + len(part)] = np.asarray(_decoded(self, parameters, padded, places))[
                : len(part)
            ]
        return written

    def generated(self, parameters: Parameters, labels: Integers, draw: np.random.Generator) -> Floats:
        """Samples: what the decoder writes for standard normal latent variables (D5.2, 4.4.1).

        Args:
            parameters: of one network.
            labels: shape (samples,): of what is wanted; zeros where the model is not conditional.
            draw: draws the latent variables.
        """
        return self.decoded(
            parameters, draw.standard_normal((len(labels), self.latent), np.float32), labels
        )


Activations = tuple[Callable[[jax.Array], jax.Array], Callable[[jax.Array], jax.Array]]
_ENCODER: Final[Activations] = (jax.nn.elu, jnp.tanh)
"""Of the first hidden layer, and of all others."""
_DECODER: Final[Activations] = (jnp.tanh, jax.nn.elu)


def _passed(
    layers: Parameters,
    values: jax.Array,
    addends: list[jax.Array] | None,
    kept: jax.Array | None,
    activations: Activations,
) -> tuple[jax.Array, list[jax.Array]]:
    """The sums of the last layer, and what each layer is given."""
    inputs, start = [], 0
    for number, layer in enumerate(layers):
        inputs.append(values)
        values = values @ layer.weights + layer.biases
        if addends is not None:
            values = values + addends[number]
        if number + 1 < len(layers):
            values = activations[min(number, 1)](values)
            if kept is not None:
                values = values * kept[:, start : start + values.shape[1]]
            start += values.shape[1]
    return values, inputs


def _gaussian(coded: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Means and standard deviations of latent variables."""
    mean, wide = jnp.split(coded, 2, axis=1)
    return mean, _LEAST_DEVIATION + jax.nn.softplus(wide)


def uniform_layers(shapes: tuple[tuple[int, ...], ...], key: jax.Array) -> Parameters:
    """Weights within sqrt(6 / (inputs + outputs)) of each unit (Glorot, Bengio, 2010), biases of 0.

    Args:
        shapes: of the weights: (inputs, outputs), or (height, width, inputs, outputs) of a convolution.
        key: of JAX's threefry generator.
    """
    layers = []
    for shape, own in zip(shapes, jax.random.split(key, len(shapes)), strict=True):
        field = int(np.prod(shape[:-2]))
        bound = (6 / (field * (shape[-2] + shape[-1]))) ** 0.5
        weights = jax.random.uniform(own, shape, jnp.float32, -bound, bound)
        layers.append(Layer(weights, jnp.zeros(shape[-1], jnp.float32)))
    return tuple(layers)


@partial(jax.jit, static_argnums=0)
def _encoded(
    network: Autoencoder, parameters: Parameters, features: Array, labels: Array
) -> tuple[jax.Array, jax.Array]:
    together = jnp.concatenate([jnp.asarray(features), network._condition(labels)], 1)
    return _gaussian(_passed(parameters[: network.encoder_layers], together, None, None, _ENCODER)[0])


@partial(jax.jit, static_argnums=0)
def _decoded(network: Autoencoder, parameters: Parameters, latent: Array, labels: Array) -> jax.Array:
    together = jnp.concatenate([jnp.asarray(latent), network._condition(labels)], 1)
    logits, _ = _passed(parameters[network.encoder_layers :], together, None, None, _DECODER)
    return jax.nn.sigmoid(logits)
