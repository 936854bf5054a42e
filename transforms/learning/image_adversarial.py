"""Convolutional adversaries for images (DCGAN), plain and conditional.

Radford, Metz, Chintala, "Unsupervised Representation Learning with Deep Convolutional Generative
Adversarial Networks", ICLR 2016: strided convolutions, transposed ones in the generator, ReLU in it and
leaky ReLU in the discriminator. Without batch normalisation, which mixes the records of a batch: then no
record has a gradient of its own, and nothing could be clipped.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.adversaries import (
    check_adversaries,
    clipped_gradients,
    conditioned,
    generated_by,
    outputs_of,
    plain_gradient_sum,
    with_generator,
)
from smalti.transforms.learning.autoencoders import uniform_layers
from smalti.transforms.learning.networks import Floats, Parameters
from smalti.transforms.learning.objectives import Batch
from smalti.transforms.problem import Integers

_FIELD: Final = 5
"""Pixels of a side of a convolution."""
_NUMBERS: Final = ("NHWC", "HWIO", "NHWC")


@dataclass(frozen=True, slots=True)
class ImageAdversarial:
    """Two adversaries for images whose numbers lie from 0 to 1."""

    height: int
    """Of an image; a multiple of 4, as the width."""
    width: int
    colours: int = 1
    classes: int = 1
    """Labels that both are conditional on; 1: they are not conditional."""
    channels: tuple[int, int] = (32, 64)
    """Of the discriminator's convolutions; the generator has them in reverse order."""
    noise: int = 64
    keep_rate: float = 1.0
    """Of the units before the discriminator's last layer, in training."""
    generated_at_once: int = 128
    kind: Literal["image-adversarial"] = "image-adversarial"

    def __post_init__(self) -> None:
        if self.height % 4 or self.width % 4:
            raise ValueError("height and width are multiples of 4")
        check_adversaries(self.features, self.classes, self.noise, self.keep_rate, self.shapes)

    @property
    def features(self) -> int:
        return self.height * self.width * self.colours

    @property
    def conditions(self) -> int:
        """Numbers that state the label."""
        return self.classes if self.classes > 1 else 0

    @property
    def _least(self) -> int:
        """Pixels of an image of a quarter of the height and width."""
        return self.height * self.width // 16

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the weights of each layer, the generator's first."""
        few, many = self.channels
        field = (_FIELD, _FIELD)
        return (
            (self.noise + self.conditions, self._least * many),
            (*field, many, few),
            (*field, few, self.colours),
            (*field, self.colours, few),
            (*field, few, many),
            (self._least * many + self.conditions, 1),
        )

    @property
    def generator_layers(self) -> int:
        return 3

    def initial(self, key: jax.Array) -> Parameters:
        return uniform_layers(self.shapes, key)

    def gradient_sum(self, parameters: Parameters, batch: Batch, key: jax.Array) -> Parameters:
        return plain_gradient_sum(self, parameters, batch, key)

    def clipped_gradient_sum(
        self, parameters: Parameters, batch: Batch, key: jax.Array, clipping_norm: float
    ) -> Parameters:
        return clipped_gradients(self, parameters, batch, key, clipping_norm)

    def completed(self, parameters: Parameters, gradient: Parameters, key: jax.Array) -> Parameters:
        return with_generator(self, parameters, gradient, key)

    def written(self, generator: Parameters, noise: jax.Array, labels: jax.Array) -> jax.Array:
        """What the generator makes of noise: shape (samples, features), from 0 to 1."""
        dense, *convolutions = generator
        values = jnp.concatenate([noise, conditioned(self, labels)], axis=1) @ dense.weights + dense.biases
        values = values.reshape(len(noise), self.height // 4, self.width // 4, self.channels[1])
        for layer in convolutions:
            values = jax.lax.conv_transpose(
                jax.nn.relu(values), jnp.asarray(layer.weights), (2, 2), "SAME", dimension_numbers=_NUMBERS
            )
            values = values + layer.biases
        return jax.nn.sigmoid(values).reshape(len(noise), -1)

    def judged(
        self, discriminator: Parameters, records: jax.Array, labels: jax.Array, key: jax.Array | None
    ) -> jax.Array:
        """The logit of "a record" of each, with dropout where a key is given."""
        *convolutions, dense = discriminator
        values = records.reshape(len(records), self.height, self.width, self.colours)
        for layer in convolutions:
            values = jax.lax.conv_general_dilated(
                values, jnp.asarray(layer.weights), (2, 2), "SAME", dimension_numbers=_NUMBERS
            )
            values = jax.nn.leaky_relu(values + layer.biases, 0.2)
        flat = values.reshape(len(records), -1)
        if key is not None and self.keep_rate < 1:
            is_kept = jax.random.bernoulli(key, self.keep_rate, flat.shape)
            flat = jnp.where(is_kept, flat / self.keep_rate, 0)
        together = jnp.concatenate([flat, conditioned(self, labels)], axis=1)
        return (together @ dense.weights + dense.biases)[:, 0]

    def generated(self, parameters: Parameters, labels: Integers, draw: np.random.Generator) -> Floats:
        """Samples; see `Adversarial.generated`."""
        return generated_by(self, parameters, labels, draw)

    def outputs(self, parameters: Parameters, features: Floats, labels: Integers) -> Floats:
        """The discriminator's logit for each record, without dropout."""
        return outputs_of(self, parameters, features, labels)
