"""Convolutional networks: initial values, logits, and gradients clipped for each record.

A convolution is a dense layer that is applied to each patch of an image. So the gradient of one record is
the product of its patches and of the slopes of its loss at all places, summed up over the places. For
networks of this size these products are stored for each record, to be clipped together over all layers;
Opacus and jax-privacy, which store gradients of records as well, give the same sums (`make test-cross`).
"""

from math import prod
from typing import Final

import numpy as np

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.architecture import ConvolutionalArchitecture
from smalti.transforms.learning.networks import Array, Layer, Parameters

_CAUTION: Final = 64
"""Units of rounding below the clipping norm, as for dense networks."""


def initial_parameters(architecture: ConvolutionalArchitecture, key: jax.Array) -> Parameters:
    """Where training starts: uniform weights within sqrt(6 / (before + after)), biases of 0.

    As for dense networks (Glorot, Bengio, AISTATS 2010, equation 16), where `before` and `after` count the
    numbers that one number of the output depends on, and the other way round.

    Args:
        architecture: of the network.
        key: of JAX's threefry generator; equal keys give equal parameters.
    """
    shapes = architecture.shapes
    return tuple(
        Layer(
            jax.random.uniform(own, shape, jnp.float32, -1.0) * _reach(shape),
            jnp.zeros(shape[-1], jnp.float32),
        )
        for own, shape in zip(jax.random.split(key, len(shapes)), shapes, strict=True)
    )


def logits(architecture: ConvolutionalArchitecture, parameters: Parameters, features: Array) -> jax.Array:
    """The logits of each record.

    Args:
        architecture: of the network.
        parameters: of one network.
        features: shape (records, features): rows of pixels.

    Returns:
        Shape (records, classes).
    """
    offsets = _no_offsets(architecture, jnp.asarray(features))
    return _propagated(architecture, parameters, jnp.asarray(features), offsets)[0]


def cross_entropy(
    architecture: ConvolutionalArchitecture, parameters: Parameters, features: Array, labels: Array
) -> jax.Array:
    """The loss of each record, in nats: minus the logarithm of the confidence in its label."""
    return _losses(logits(architecture, parameters, features), jnp.asarray(labels))


def clipped_gradient_sum(
    architecture: ConvolutionalArchitecture,
    parameters: Parameters,
    batch: tuple[Array, Array, Array],
    clipping_norm: float,
) -> Parameters:
    """The sum of the records' gradients, each scaled down to the clipping norm at most.

    The contract is that of `gradients.clipped_gradient_sum`.

    Args:
        architecture: of the network.
        parameters: of one network.
        batch: features of shape (records, features), labels of shape (records,), and the mask of shape
            (records,): 1 for records that count, 0 for padding.
        clipping_norm: C, above 0.
    """
    features, labels, mask = (jnp.asarray(array) for array in batch)
    gradients = record_gradients(architecture, parameters, features, labels)
    tiny = float(np.finfo(features.dtype).tiny)
    # A square below the normal floats may become 0: with the least of them in its place none is lost.
    squares = [
        jnp.sum(array * array + tiny, axis=tuple(range(1, array.ndim)))
        for layer in gradients
        for array in layer
    ]
    norms = jnp.sqrt(sum(squares[1:], squares[0]))
    limit = jnp.asarray(clipping_norm * (1 - _CAUTION * np.finfo(norms.dtype).eps), norms.dtype)
    counts = jnp.isfinite(norms) & (mask > 0)
    weights = jnp.where(counts, limit / jnp.maximum(norms, limit), 0)
    return tuple(Layer(*(_weighted(jnp.asarray(array), weights) for array in layer)) for layer in gradients)


def record_gradients(
    architecture: ConvolutionalArchitecture, parameters: Parameters, features: Array, labels: Array
) -> Parameters:
    """The gradient of each record's loss, as it is; with an axis of records in front."""
    images, marks = jnp.asarray(features), jnp.asarray(labels)

    def total(offsets: list[jax.Array]) -> tuple[jax.Array, list[jax.Array]]:
        answers, inputs = _propagated(architecture, parameters, images, offsets)
        return _losses(answers, marks).sum(), inputs

    # Losses of other records do not depend on a record's own sums: so this is the slope of its own loss.
    slopes, inputs = jax.grad(total, has_aux=True)(_no_offsets(architecture, images))
    layers = []
    for shape, values, slope in zip(architecture.shapes, inputs, slopes, strict=True):
        weights = jnp.einsum("npk,npc->nkc", values, slope, precision="highest")
        layers.append(Layer(weights.reshape(len(images), *shape), slope.sum(axis=1)))
    return tuple(layers)


def _propagated(
    architecture: ConvolutionalArchitecture,
    parameters: Parameters,
    features: jax.Array,
    offsets: list[jax.Array],
) -> tuple[jax.Array, list[jax.Array]]:
    """The logits, and what each layer is given: shape (records, places, numbers of a patch).

    Args:
        architecture: of the network.
        parameters: of one network.
        features: shape (records, features).
        offsets: what is added to each layer's sums, shape (records, places, channels).
    """
    images = features.reshape(len(features), architecture.height, architecture.width, 1)
    inputs = []
    for layer, offset in zip(parameters[:-1], offsets[:-1], strict=True):
        patches, height, width = _patches(images, architecture.kernel)
        inputs.append(patches)
        sums = patches @ jnp.reshape(layer.weights, (patches.shape[2], -1)) + layer.biases + offset
        images = _pooled(jax.nn.relu(sums).reshape(len(features), height, width, -1), architecture.pool)
    left = images.reshape(len(features), 1, -1)
    inputs.append(left)
    answers = left @ parameters[-1].weights + parameters[-1].biases + offsets[-1]
    return answers[:, 0], inputs


def _no_offsets(architecture: ConvolutionalArchitecture, features: jax.Array) -> list[jax.Array]:
    places = [
        (height - architecture.kernel + 1) * (width - architecture.kernel + 1)
        for height, width, _ in architecture.images[:-1]
    ]
    sizes = zip((*places, 1), (*architecture.filters, architecture.classes), strict=True)
    return [jnp.zeros((len(features), *size), features.dtype) for size in sizes]


def _patches(images: jax.Array, kernel: int) -> tuple[jax.Array, int, int]:
    """The patch around each place, row by row; and the height and width of all places."""
    height, width = (length - kernel + 1 for length in images.shape[1:3])
    shifted = [
        images[:, down : down + height, right : right + width]
        for down in range(kernel)
        for right in range(kernel)
    ]
    stacked = jnp.concatenate(shifted, axis=3)
    return stacked.reshape(len(images), height * width, -1), height, width


def _pooled(images: jax.Array, pool: int) -> jax.Array:
    height, width = (length // pool for length in images.shape[1:3])
    kept = images[:, : height * pool, : width * pool]
    squares = kept.reshape(len(images), height, pool, width, pool, -1)
    return squares.max(axis=(2, 4))


def _losses(answers: jax.Array, labels: jax.Array) -> jax.Array:
    return -jnp.take_along_axis(jax.nn.log_softmax(answers), labels[:, None], axis=1)[:, 0]


def _weighted(gradients: jax.Array, weights: jax.Array) -> jax.Array:
    """The sum of weighted gradients; those of weight 0 are 0 also where they are not finite."""
    flat = gradients.reshape(len(gradients), -1)
    summed = jnp.matmul(weights, jnp.where(weights[:, None] > 0, flat, 0), precision="highest")
    return summed.reshape(gradients.shape[1:])


def _reach(shape: tuple[int, ...]) -> float:
    return float((6 / (prod(shape[:-2]) * (shape[-2] + shape[-1]))) ** 0.5)
