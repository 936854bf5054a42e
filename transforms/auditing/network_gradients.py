"""Clipped gradient sums of networks, as the adversary of `differential_identifiability` sees them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.auditing.scores import Floats
from smalti.transforms.learning import convolutions, gradients, networks
from smalti.transforms.learning._jax import jax, jnp, ravel_pytree
from smalti.transforms.learning.architecture import Architecture, ConvolutionalArchitecture
from smalti.transforms.learning.networks import Array, Parameters
from smalti.transforms.problem import Integers

Network = Architecture | ConvolutionalArchitecture

_AT_ONCE: Final = 1 << 22
"""Numbers of a hidden layer, over records and repetitions, that are computed together, about."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRecords:
    """A data set, or one record of it."""

    features: NDArray[np.float32]
    """Shape (records, features)."""
    labels: Integers
    """Shape (records,), from 0 to below the classes."""


@dataclass(frozen=True, slots=True)
class NetworkGradients:
    """Clipped gradient sums, losses and accuracies of a network at several weights at once.

    It is a `differential_identifiability.ClippedGradientSum`. Weights are the network's layers, one after
    the other, each with its weights before its biases: `architecture.size` numbers. Sums are computed in 32
    bits, as in training.
    """

    architecture: Network
    clipping_norm: float
    """C, above 0."""
    _unravel: Callable[[jax.Array], Parameters] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        any_parameters = starting_parameters(self.architecture, jax.random.key(0))
        object.__setattr__(self, "_unravel", ravel_pytree(any_parameters)[1])

    def __call__(self, weights: Floats, data: LabelledRecords, /) -> Floats:
        """From weights of shape (repetitions, parameters) to clipped sums of the same shape."""
        sums = _clipped_sums(self, weights.astype(np.float32), data.features, data.labels)
        return np.asarray(sums, np.float64)

    def losses(self, weights: Floats, data: LabelledRecords) -> Floats:
        """The loss of each record at each weights, in nats; shape (repetitions, records)."""
        losses = _losses(self, weights.astype(np.float32), data.features, data.labels)
        return np.asarray(losses, np.float64)

    def accuracies(self, weights: Floats, data: LabelledRecords) -> Floats:
        """The share of records whose class has the greatest confidence; shape (repetitions,)."""
        shares = _accuracies(self, weights.astype(np.float32), data.features, data.labels)
        return np.asarray(shares, np.float64)

    def start(self, seed: int) -> Floats:
        """Weights to start a training from, shape (parameters,); equal seeds give equal ones."""
        parameters = starting_parameters(self.architecture, jax.random.key(seed))
        return np.asarray(ravel_pytree(parameters)[0], np.float64)


def starting_parameters(architecture: Network, key: jax.Array) -> Parameters:
    """Where training of a network of either kind starts."""
    if isinstance(architecture, ConvolutionalArchitecture):
        return convolutions.initial_parameters(architecture, key)
    return networks.initial_parameters(architecture, key)


@partial(jax.jit, static_argnums=0)
def _clipped_sums(of: NetworkGradients, weights: Array, features: Array, labels: Array) -> jax.Array:
    batch, architecture = (features, labels, jnp.ones(len(features))), of.architecture

    def clipped_sum(flat: jax.Array) -> jax.Array:
        parameters = of._unravel(flat)
        if isinstance(architecture, ConvolutionalArchitecture):
            summed = convolutions.clipped_gradient_sum(architecture, parameters, batch, of.clipping_norm)
        else:
            summed = gradients.clipped_gradient_sum(architecture, parameters, batch, of.clipping_norm)
        return jnp.asarray(ravel_pytree(summed)[0])

    return _mapped(clipped_sum, of, weights, len(features))


@partial(jax.jit, static_argnums=0)
def _losses(of: NetworkGradients, weights: Array, features: Array, labels: Array) -> jax.Array:
    architecture = of.architecture

    def loss(flat: jax.Array) -> jax.Array:
        if isinstance(architecture, ConvolutionalArchitecture):
            return convolutions.cross_entropy(architecture, of._unravel(flat), features, labels)
        return gradients.cross_entropy(architecture, of._unravel(flat), features, labels)

    return _mapped(loss, of, weights, len(features))


@partial(jax.jit, static_argnums=0)
def _accuracies(of: NetworkGradients, weights: Array, features: Array, labels: Array) -> jax.Array:
    architecture = of.architecture

    def share(flat: jax.Array) -> jax.Array:
        if isinstance(architecture, ConvolutionalArchitecture):
            answers = convolutions.logits(architecture, of._unravel(flat), features)
        else:
            answers = networks.inputs_of_layers(architecture, of._unravel(flat), features)[-1]
        return jnp.mean(jnp.argmax(answers, axis=1) == labels)

    return _mapped(share, of, weights, len(features))


def _mapped(
    function: Callable[[jax.Array], jax.Array], of: NetworkGradients, weights: Array, records: int
) -> jax.Array:
    """A function of each repetition's weights; of large networks few repetitions are worked on at once."""
    flat, architecture = jnp.asarray(weights), of.architecture
    if isinstance(architecture, Architecture):
        return jax.vmap(function)(flat)
    height, width, _ = architecture.images[0]
    numbers = records * height * width * architecture.kernel**2 * max(architecture.filters)
    together = max(1, _AT_ONCE // numbers)
    results: jax.Array = jax.lax.map(function, flat, batch_size=min(together, len(flat)))
    return results
