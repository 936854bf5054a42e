"""Gradients of the cross-entropy loss of dense networks, clipped for each record without storing them.

The gradient of one record with regard to a dense layer is an outer product of what the layer is given, a,
and of the slope d of the loss at its sums. So its squared norm, biases included, is |d|^2 (|a|^2 + 1):
Goodfellow, "Efficient Per-Example Gradient Computations", arXiv 1510.01799. Weighting d by the factor of
clipping and multiplying matrices then gives the sum of clipped gradients (`ghost clipping`: Li, Tramer,
Liang, Hashimoto, ICLR 2022, section 4; for dense layers the slopes themselves are reused).
"""

from typing import Final

import numpy as np

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.networks import Array, Layer, Parameters, inputs_of_layers, slopes

_CAUTION: Final = 64
"""Units of rounding below the clipping norm; a rounded sum of squares stays below the norm itself."""

Slopes = list[jax.Array]


def gradient_norms(
    architecture: Architecture, parameters: Parameters, features: Array, labels: Array
) -> jax.Array:
    """The l2-norm of the gradient of each record's loss, over all parameters together.

    Args:
        architecture: of the network.
        parameters: of one network.
        features: shape (records, features).
        labels: shape (records,), whole numbers from 0 to below the classes.

    Returns:
        Shape (records,); infinite or not a number where the squares exceed the floats, and squares below
        the floats count as 0.
    """
    inputs, given_back = _propagated(architecture, parameters, features, labels)
    return _norms(inputs, given_back)


def clipped_gradient_sum(
    architecture: Architecture,
    parameters: Parameters,
    batch: tuple[Array, Array, Array],
    clipping_norm: float,
) -> Parameters:
    """The sum of the records' gradients, each scaled down to the clipping norm at most.

    Contract:
        Guarantee  adding or removing one record changes the sum by the clipping norm at most in l2, up to
                   the rounding of the sum itself. A record whose gradient has no finite norm counts as a
                   gradient of 0.
        Not given  exact arithmetic: the sum of floats depends on the records in its last bits.

    Args:
        architecture: of the network.
        parameters: of one network.
        batch: features of shape (records, features), labels of shape (records,), and the mask of shape
            (records,): 1 for records that count, 0 for padding.
        clipping_norm: C, above 0.

    Returns:
        A gradient of the form of the parameters.
    """
    features, labels, mask = batch
    inputs, given_back = _propagated(architecture, parameters, features, labels)
    return clipped_sum(inputs, given_back, mask, clipping_norm)


def clipped_sum(
    inputs: list[jax.Array], given_back: Slopes, mask: Array, clipping_norm: float
) -> Parameters:
    """The sum of clipped gradients of dense layers, each of which every record passes once.

    Args:
        inputs: what each layer is given, of shape (records, units before).
        given_back: the slopes of each record's own loss at each layer's sums, (records, units after).
        mask: 1 for records that count, 0 for padding.
        clipping_norm: C, above 0.
    """
    return weighted_sum(
        inputs, given_back, clipping_weights(_norms_at_most(inputs, given_back), mask, clipping_norm)
    )


def clipping_weights(norms: jax.Array, mask: Array, clipping_norm: float) -> jax.Array:
    """By what each record's gradient is multiplied; 0 for padding, and where its norm is not finite.

    Args:
        norms: of the records' gradients, or more.
        mask: 1 for records that count, 0 for padding.
        clipping_norm: C, above 0.
    """
    limit = jnp.asarray(clipping_norm * (1 - _CAUTION * np.finfo(norms.dtype).eps), norms.dtype)
    counts = jnp.isfinite(norms) & (jnp.asarray(mask) > 0)
    return jnp.where(counts, limit / jnp.maximum(norms, limit), 0)


def gradient_sum(
    architecture: Architecture, parameters: Parameters, batch: tuple[Array, Array, Array]
) -> Parameters:
    """The sum of the records' gradients as they are: no privacy follows from it."""
    features, labels, mask = batch
    inputs, given_back = _propagated(architecture, parameters, features, labels)
    return weighted_sum(inputs, given_back, jnp.asarray(mask, given_back[-1].dtype))


def cross_entropy(
    architecture: Architecture, parameters: Parameters, features: Array, labels: Array
) -> jax.Array:
    """The loss of each record, in nats: minus the logarithm of the confidence in its label."""
    logits = inputs_of_layers(architecture, parameters, features)[-1]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.asarray(labels)[:, None], axis=1)
    return -chosen[:, 0]


def _propagated(
    architecture: Architecture, parameters: Parameters, features: Array, labels: Array
) -> tuple[list[jax.Array], Slopes]:
    """What each layer is given, and the slope of each record's loss at each layer's sums."""
    *inputs, logits = inputs_of_layers(architecture, parameters, features)
    given_back = [jax.nn.softmax(logits) - jax.nn.one_hot(labels, architecture.classes, dtype=logits.dtype)]
    for layer, values in zip(parameters[:0:-1], inputs[:0:-1], strict=True):
        given_back.append((given_back[-1] @ layer.weights.T) * slopes(architecture, values))
    return inputs, given_back[::-1]


def _norms_at_most(inputs: list[jax.Array], given_back: Slopes) -> jax.Array:
    """The norms, or more where squares are below the normal floats; less only by the rounding of sums.

    Proof:
        A square that is below the normal floats loses at most the least of them, t, also where it becomes
        0. So the sum of squared slopes, plus t for each of them, is not below |d|^2. It is at least t, and
        the other factor at least 1, so their product is a normal float. In that factor, what squares lose
        stands beside the 1, and is no more than rounding.
    """
    return _norms(inputs, given_back, float(np.finfo(given_back[-1].dtype).tiny))


def _norms(inputs: list[jax.Array], given_back: Slopes, added: float = 0.0) -> jax.Array:
    """The norms, with something added to the square of each slope."""
    squares = [
        (jnp.sum(slope * slope, axis=1) + slope.shape[1] * added) * (1 + jnp.sum(values * values, axis=1))
        for values, slope in zip(inputs, given_back, strict=True)
    ]
    return jnp.sqrt(sum(squares[1:], squares[0]))


def weighted_sum(inputs: list[jax.Array], given_back: Slopes, weights: jax.Array) -> Parameters:
    """The sum of weighted gradients; those of weight 0 are 0 also where they are not finite."""
    counts = weights[:, None] > 0
    layers = []
    for values, slope in zip(inputs, given_back, strict=True):
        weighted = jnp.where(counts, slope * weights[:, None], 0)
        # Graphics processors would multiply with fewer digits, and exceed the clipping norm.
        products = jnp.matmul(jnp.where(counts, values, 0).T, weighted, precision="highest")
        layers.append(Layer(products, weighted.sum(axis=0)))
    return tuple(layers)
