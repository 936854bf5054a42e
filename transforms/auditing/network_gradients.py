"""Clipped gradient sums of dense networks, as the adversary of `differential_identifiability` sees them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.auditing.scores import Floats
from smalti.transforms.learning._jax import jax, jnp, ravel_pytree
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.gradients import clipped_gradient_sum, cross_entropy
from smalti.transforms.learning.networks import Array, Parameters, initial_parameters
from smalti.transforms.problem import Integers


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRecords:
    """A data set, or one record of it."""

    features: NDArray[np.float32]
    """Shape (records, features)."""
    labels: Integers
    """Shape (records,), from 0 to below the classes."""


@dataclass(frozen=True, slots=True)
class NetworkGradients:
    """Clipped gradient sums, and losses, of a dense network at several weights at once.

    It is a `differential_identifiability.ClippedGradientSum`. Weights are the network's layers, one after
    the other, each with its weights before its biases: `architecture.size` numbers. Sums are computed in 32
    bits, as in training.
    """

    architecture: Architecture
    clipping_norm: float
    """C, above 0."""
    _unravel: Callable[[jax.Array], Parameters] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        any_parameters = initial_parameters(self.architecture, jax.random.key(0))
        object.__setattr__(self, "_unravel", ravel_pytree(any_parameters)[1])

    def __call__(self, weights: Floats, data: LabelledRecords, /) -> Floats:
        """From weights of shape (repetitions, parameters) to clipped sums of the same shape."""
        sums = _clipped_sums(self, weights.astype(np.float32), data.features, data.labels)
        return np.asarray(sums, np.float64)

    def losses(self, weights: Floats, data: LabelledRecords) -> Floats:
        """The loss of each record at each weights, in nats; shape (repetitions, records)."""
        losses = _losses(self, weights.astype(np.float32), data.features, data.labels)
        return np.asarray(losses, np.float64)


@partial(jax.jit, static_argnums=0)
def _clipped_sums(gradients: NetworkGradients, weights: Array, features: Array, labels: Array) -> jax.Array:
    batch = (features, labels, jnp.ones(len(features)))

    def clipped_sum(flat: jax.Array) -> jax.Array:
        parameters = gradients._unravel(flat)
        summed = clipped_gradient_sum(gradients.architecture, parameters, batch, gradients.clipping_norm)
        return jnp.asarray(ravel_pytree(summed)[0])

    return jax.vmap(clipped_sum)(jnp.asarray(weights))


@partial(jax.jit, static_argnums=0)
def _losses(gradients: NetworkGradients, weights: Array, features: Array, labels: Array) -> jax.Array:
    def loss(flat: jax.Array) -> jax.Array:
        return cross_entropy(gradients.architecture, gradients._unravel(flat), features, labels)

    return jax.vmap(loss)(jnp.asarray(weights))
