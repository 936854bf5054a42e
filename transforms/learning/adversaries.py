"""What two adversaries of any layers have in common: whose gradients are taken, and their answers."""

from functools import partial
from typing import Final, Protocol

import numpy as np

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.architecture import LARGEST_SIZE
from smalti.transforms.learning.networks import Array, Floats, Parameters
from smalti.transforms.learning.objectives import Batch, keys_of_records
from smalti.transforms.learning.record_gradients import clipped_sum_of_records
from smalti.transforms.problem import Integers

_AT_ONCE: Final = 1 << 11
"""Samples and records that are computed at once."""


class Adversaries(Protocol):
    """A generator and a discriminator; hashable."""

    @property
    def features(self) -> int:
        """Numbers of a record."""

    @property
    def classes(self) -> int:
        """Labels that both are conditional on."""

    @property
    def conditions(self) -> int:
        """Numbers that state the label."""

    @property
    def noise(self) -> int:
        """Numbers that a sample is made of."""

    @property
    def generated_at_once(self) -> int:
        """Samples that a step of the generator learns from."""

    @property
    def generator_layers(self) -> int:
        """The first layers are the generator's."""

    def written(self, generator: Parameters, noise: jax.Array, labels: jax.Array) -> jax.Array:
        """What the generator makes of noise."""

    def judged(
        self, discriminator: Parameters, records: jax.Array, labels: jax.Array, key: jax.Array | None
    ) -> jax.Array:
        """The logit of "a record" of each."""


def check_adversaries(
    features: int, classes: int, noise: int, keep_rate: float, shapes: tuple[tuple[int, ...], ...]
) -> None:
    """Raise ValueError where two adversaries cannot be."""
    if min(features, classes, noise) < 1 or any(min(shape) < 1 for shape in shapes):
        raise ValueError("a feature, a class, a number of noise and a unit of each layer are expected")
    if not 0 < keep_rate <= 1:
        raise ValueError("a keep rate lies above 0, up to 1")
    if sum(int(np.prod(shape)) + shape[-1] for shape in shapes) > LARGEST_SIZE:
        raise ValueError(f"a network has at most {LARGEST_SIZE} parameters")


def conditioned(network: Adversaries, labels: Array) -> jax.Array:
    """Labels as numbers: one for each class, none where there is one class."""
    return jax.nn.one_hot(labels, network.classes, dtype=jnp.float32)[:, : network.conditions]


def plain_gradient_sum(
    network: Adversaries, parameters: Parameters, batch: Batch, key: jax.Array
) -> Parameters:
    """The sum of the gradients of the discriminator's loss, of records and as many samples."""
    generator, discriminator = _both(network, parameters)
    keys = keys_of_records(key, batch.places)
    noise = jax.vmap(lambda own: jax.random.normal(own, (network.noise,), jnp.float32))(keys)
    labels, mask = jnp.asarray(batch.labels), jnp.asarray(batch.mask, jnp.float32)
    samples = network.written(generator, noise, labels)
    real, false = jax.random.split(key)

    def total(judge: Parameters) -> jax.Array:
        of_records = jax.nn.softplus(-network.judged(judge, jnp.asarray(batch.features), labels, real))
        of_samples = jax.nn.softplus(network.judged(judge, samples, labels, false))
        return ((of_records + of_samples) * mask).sum()

    gradient: Parameters = jax.grad(total)(discriminator)
    return gradient


def clipped_gradients(
    network: Adversaries, parameters: Parameters, batch: Batch, key: jax.Array, clipping_norm: float
) -> Parameters:
    """The same, each record's gradient clipped; with a record goes one sample, of the record's key."""
    generator, discriminator = _both(network, parameters)

    def loss(judge: Parameters, features: jax.Array, label: jax.Array, own: jax.Array) -> jax.Array:
        real, false, drawn = jax.random.split(own, 3)
        noise = jax.random.normal(drawn, (1, network.noise), jnp.float32)
        sample = network.written(generator, noise, label[None])
        of_record = jax.nn.softplus(-network.judged(judge, features[None], label[None], real))
        of_sample = jax.nn.softplus(network.judged(judge, sample, label[None], false))
        return (of_record + of_sample)[0]

    keys = keys_of_records(key, batch.places)
    return clipped_sum_of_records(loss, discriminator, batch, keys, clipping_norm)


def with_generator(
    network: Adversaries, parameters: Parameters, gradient: Parameters, key: jax.Array
) -> Parameters:
    """The gradient of both, the generator's by samples alone: labels are drawn evenly."""
    generator, discriminator = _both(network, parameters)
    # Apart from the keys of records, which are numbered from 0.
    noise_key, label_key, unit_key = jax.random.split(jax.random.fold_in(key, 0x7FFFFFFF), 3)
    count = network.generated_at_once
    noise = jax.random.normal(noise_key, (count, network.noise), jnp.float32)
    labels = jax.random.randint(label_key, (count,), 0, network.classes)

    def mean(writer: Parameters) -> jax.Array:
        samples = network.written(writer, noise, labels)
        return jax.nn.softplus(-network.judged(discriminator, samples, labels, unit_key)).mean()

    return (*jax.grad(mean)(generator), *gradient)


def generated_by(
    network: Adversaries, parameters: Parameters, labels: Integers, draw: np.random.Generator
) -> Floats:
    """Samples for labels, with noise from a generator of NumPy."""
    samples = np.empty((len(labels), network.features), np.float32)
    for start in range(0, len(labels), _AT_ONCE):
        part = labels[start : start + _AT_ONCE]
        places = np.zeros(_AT_ONCE, np.int32)
        places[: len(part)] = part
        noise = draw.standard_normal((_AT_ONCE, network.noise), np.float32)
        samples[start : start + len(part)] = np.asarray(_written(network, parameters, noise, places))[
            : len(part)
        ]
    return samples


def outputs_of(network: Adversaries, parameters: Parameters, features: Floats, labels: Integers) -> Floats:
    """The discriminator's logits, without dropout."""
    outputs = np.empty(len(labels), np.float32)
    for start in range(0, len(labels), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        outputs[part] = np.asarray(_judged(network, parameters, features[part], labels[part]))
    return outputs


def _both(network: Adversaries, parameters: Parameters) -> tuple[Parameters, Parameters]:
    """The generator and the discriminator."""
    return parameters[: network.generator_layers], parameters[network.generator_layers :]


@partial(jax.jit, static_argnums=0)
def _written(network: Adversaries, parameters: Parameters, noise: Array, labels: Array) -> jax.Array:
    return network.written(_both(network, parameters)[0], jnp.asarray(noise), jnp.asarray(labels))


@partial(jax.jit, static_argnums=0)
def _judged(network: Adversaries, parameters: Parameters, features: Array, labels: Array) -> jax.Array:
    return network.judged(_both(network, parameters)[1], jnp.asarray(features), jnp.asarray(labels), None)
