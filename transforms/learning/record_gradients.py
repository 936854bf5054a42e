"""Clipped gradients of any loss, record by record: for networks that records pass more than once.

Where each record passes each dense layer once, `gradients.clipped_sum` is faster and stores no gradient
of a single record. Here those of a few records are stored at a time.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.gradients import clipping_weights
from smalti.transforms.learning.networks import Array, Parameters
from smalti.transforms.learning.objectives import Batch

_STORED: Final = 1 << 24
"""Numbers of gradients of single records, at a time."""

Loss = Callable[[Parameters, jax.Array, jax.Array, jax.Array], jax.Array]
"""The loss of one record, by the parameters, its features, its label and its key."""


def clipped_sum_of_records(
    loss: Loss, parameters: Parameters, batch: Batch, keys: Array, clipping_norm: float
) -> Parameters:
    """The sum of the records' gradients, each scaled down to the clipping norm at most.

    Contract:
        Guarantee  as of `gradients.clipped_gradient_sum`. A square below the normal floats loses at most
                   the least of them, which is added for each coordinate.

    Args:
        loss: of one record.
        parameters: with regard to which gradients are taken.
        batch: the records.
        keys: of the records, each its own.
        clipping_norm: C, above 0.
    """
    size = sum(array.size for array in jax.tree.leaves(parameters))
    at_once = int(max(1, min(len(batch.labels), _STORED // size)))
    added = size * float(np.finfo(np.float32).tiny)

    def clipped(record: tuple[jax.Array, ...]) -> Parameters:
        features, label, mask, key = record
        gradient = jax.grad(loss)(parameters, features, label, key)
        squares = sum((jnp.sum(array * array) for array in jax.tree.leaves(gradient)), jnp.float32(added))
        weight = clipping_weights(jnp.sqrt(squares)[None], mask[None], clipping_norm)[0]
        scaled: Parameters = jax.tree.map(lambda array: jnp.where(weight > 0, array * weight, 0), gradient)
        return scaled

    def with_part(total: Parameters, part: tuple[jax.Array, ...]) -> tuple[Parameters, None]:
        sums = jax.tree.map(lambda array: array.sum(axis=0), jax.vmap(clipped)(part))
        return jax.tree.map(jnp.add, total, sums), None

    records = (jnp.asarray(batch.features), jnp.asarray(batch.labels), jnp.asarray(batch.mask), keys)
    parts = _divided(records, at_once)
    total: Parameters = jax.lax.scan(with_part, jax.tree.map(jnp.zeros_like, parameters), parts)[0]
    return total


def _divided(records: tuple[Array, ...], size: int) -> tuple[jax.Array, ...]:
    """Records in parts of one size; what fills up the last has a mask of 0."""
    count = len(records[1])
    places = jnp.minimum(jnp.arange(count + -count % size), count - 1)

    def in_parts(array: Array) -> jax.Array:
        filled = jnp.asarray(array)[places]
        parts: jax.Array = filled.reshape(-1, size, *filled.shape[1:])
        return parts

    features, labels, mask, keys = map(in_parts, records)
    return features, labels, jnp.where(jnp.arange(len(places)).reshape(-1, size) < count, mask, 0), keys
