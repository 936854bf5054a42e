"""Generative adversarial networks of dense layers, plain and conditional, with dropout.

Goodfellow et al., "Generative Adversarial Nets", NIPS 2014: a generator writes samples, a discriminator
tells them from records. Both take a step at once, each against the other as it was before. The generator
maximises what the discriminator takes for records (the paper's section 3). A conditional one is given
the label beside the noise, and beside the record.

Records are shown to the discriminator alone. In private training its gradients are clipped and get noise,
and the generator learns from the discriminator: that is processing of what is private already (Xie et
al., "Differentially Private Generative Adversarial Network", arXiv 1802.06739).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class Adversarial:
    """Two adversaries for records whose numbers lie from 0 to 1."""

    features: int
    """Numbers of a record, at least 1."""
    classes: int = 1
    """Labels that both are conditional on; 1: they are not conditional."""
    hidden: tuple[int, ...] = (256, 256)
    """Units of the generator's hidden layers; the discriminator has them in reverse order."""
    noise: int = 64
    """Numbers that a sample is made of."""
    keep_rate: float = 1.0
    """The probability of a hidden unit of the discriminator not to be dropped in training, in (0, 1]."""
    generated_at_once: int = 128
    """Samples that a step of the generator learns from."""
    kind: Literal["adversarial"] = "adversarial"

    def __post_init__(self) -> None:
        check_adversaries(self.features, self.classes, self.noise, self.keep_rate, self.shapes)
        if not self.hidden or self.generated_at_once < 1:
            raise ValueError("a hidden layer and a sample at least are expected")

    @property
    def conditions(self) -> int:
        """Numbers that state the label."""
        return self.classes if self.classes > 1 else 0

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the weights of each layer, the generator's first."""
        generator = (self.noise + self.conditions, *self.hidden, self.features)
        discriminator = (self.features + self.conditions, *reversed(self.hidden), 1)
        return (*pairwise(generator), *pairwise(discriminator))

    @property
    def generator_layers(self) -> int:
        return len(self.hidden) + 1

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
        values = jnp.concatenate([noise, conditioned(self, labels)], axis=1)
        for layer in generator[:-1]:
            values = jax.nn.relu(values @ layer.weights + layer.biases)
        return jax.nn.sigmoid(values @ generator[-1].weights + generator[-1].biases)

    def judged(
        self, discriminator: Parameters, records: jax.Array, labels: jax.Array, key: jax.Array | None
    ) -> jax.Array:
        """The logit of "a record" of each, with dropout where a key is given."""
        values = jnp.concatenate([records, conditioned(self, labels)], axis=1)
        for number, layer in enumerate(discriminator[:-1]):
            values = jax.nn.leaky_relu(values @ layer.weights + layer.biases, 0.2)
            if key is not None and self.keep_rate < 1:
                own = jax.random.fold_in(key, number)
                is_kept = jax.random.bernoulli(own, self.keep_rate, values.shape)
                values = jnp.where(is_kept, values / self.keep_rate, 0)
        return (values @ discriminator[-1].weights + discriminator[-1].biases)[:, 0]

    # --- After training

    def generated(self, parameters: Parameters, labels: Integers, draw: np.random.Generator) -> Floats:
        """Samples.

        Args:
            parameters: of both networks.
            labels: shape (samples,), of what is wanted; zeros where it is not conditional.
            draw: draws the noise.
        """
        return generated_by(self, parameters, labels, draw)

    def outputs(self, parameters: Parameters, features: Floats, labels: Integers) -> Floats:
        """The discriminator's logit for each record, without dropout: what LOGAN's white box reads."""
        return outputs_of(self, parameters, features, labels)
