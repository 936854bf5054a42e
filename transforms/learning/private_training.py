"""The private step of training: sampled records, clipped gradients, noise on their sum.

Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang, "Deep Learning with Differential Privacy", CCS
2016, Algorithm 1. Each record is in a batch with probability q, independently of all others (Poisson
sampling, on which the accounts rest; a shuffle is something else). The sum of gradients clipped to C gets
normal noise of standard deviation z C in each coordinate, and is divided by a public number. Adam takes the
noisy gradient in the place of the exact one, which is processing of it and costs no privacy.

No batch is too large: the records of a batch are worked off in parts of one size, as many as it takes, so
sampling is never cut off and the accounts need no allowance for it.

Noise is drawn and added in 64 bits, and the noisy sum is rounded once, to 32. The uniform numbers behind
it have 52 bits, so it ends at r = 8.1 standard deviations at the earliest (those of 32 bits have 23, and it
would end at 5.4 at the latest). Where the noise of one data set cannot reach what a neighbour's can, the
loss is infinite; elsewhere it is that of unbounded noise. Let s = 1/z be at most r - 1, d the number of
coordinates, T that of steps, and m_i the parts of a shift of length s. A coordinate's noise is beyond the
neighbour's end with probability at most the integral of the normal density phi from r - m_i to r. As phi is
convex there, this is at most m_i phi(r) + m_i^2 phi(r - s) / (2 s), and the sum over all at most

    sqrt(d) s phi(r) + s phi(r - s) / 2.

T times that, for any q, is what the ends add to delta, and all is multiplied by (1 - 2 Phi(-r))^(-d T), as
what is cut off is spread over the rest. With d = 90,000 and T = 1,000 they add 3e-9 at z = 1 and 4e-6 at
z = 1/2, and the factor is 1 + 5e-8. In 32 bits they would add 0.07 at z = 1, more than any useful delta.

Not promised: exact noise. Between its ends it has gaps, which the rounding to 32 bits covers only in part,
and the sum it is added to is of floats, whose rounding depends on the records. The literature shows attacks
on such noise (Mironov, CCS 2012; arXiv 2107.10138; issue 616 of the library Opacus). The accounts are those
of normal noise on real numbers.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import PrivateTraining
from smalti.transforms.learning.networks import Parameters
from smalti.transforms.learning.normal_noise import standard_normal
from smalti.transforms.learning.objectives import Batch, Classification, Objective

_DEVIATIONS: Final = 2.0
"""Batches above their expectation by more take a second part: one in fifty, which costs less than to fill
up all others."""
_LARGEST_PART: Final = 1024
_OF_OBJECTIVE: Final = 0x5EED
"""Apart from the numbers of keys that a step's key is split into."""


class Pool(NamedTuple):
    """Records, and which of them one model is trained on."""

    features: jax.Array
    """Shape (records, features)."""
    labels: jax.Array
    """Shape (records,)."""
    members: jax.Array
    """Shape (records,), true for the records that the model is trained on."""


def noisy_gradient_sum(
    architecture: Architecture,
    private: PrivateTraining,
    parameters: Parameters,
    pool: Pool,
    key: jax.Array,
) -> Parameters:
    """`noisy_sum` of a classifier."""
    return noisy_sum(Classification(architecture), private, parameters, pool, key)


def noisy_sum(
    objective: Objective,
    private: PrivateTraining,
    parameters: Parameters,
    pool: Pool,
    key: jax.Array,
) -> Parameters:
    """The noisy sum of clipped gradients of a batch that is sampled anew.

    Contract:
        Guarantee  one step of the Poisson-sampled Gaussian mechanism with noise multiplier z and sampling
                   rate at most q, for neighbours that differ by one member: the sum without noise changes
                   by C at most. Of ideal noise, see above.

    Args:
        objective: whose gradients are clipped.
        private: z, C and q.
        parameters: of one network.
        pool: records, of which members may be sampled.
        key: of this step of this model alone.

    Raises:
        ValueError: JAX is not told to allow 64 bits.
    """
    sampling_key, noise_key = jax.random.split(key)
    chosen = pool.members & sampled(sampling_key, len(pool.labels), private.sampling_rate)
    total = _clipped_sum_of(objective, private, parameters, (pool, chosen, key_of_objective(key)))
    return _with_noise(total, private.noise_multiplier * private.clipping_norm, noise_key)


def sampled(key: jax.Array, records: int, rate: float) -> jax.Array:
    """Independent flags, true with probability floor(2^32 rate) / 2^32, which is at most the rate."""
    if rate >= 1:
        return jnp.ones(records, bool)
    flags: jax.Array = jax.random.bits(key, (records,), jnp.uint32) < np.uint32(math.floor(rate * 2**32))
    return flags


def part_size(records: int, rate: float) -> int:
    """Records that are worked off at once: a batch is rarely larger, and no memory is wasted.

    Args:
        records: of the pool.
        rate: the sampling rate.
    """
    expected = records * rate
    usual = math.ceil(expected + _DEVIATIONS * math.sqrt(expected * (1 - rate)) + 1)
    return min(records, usual, _LARGEST_PART)


def key_of_objective(key: jax.Array) -> jax.Array:
    """The key of what an objective draws in a step, by that of the step; sampling and noise have others."""
    return jax.random.fold_in(key, _OF_OBJECTIVE)


def _clipped_sum_of(
    objective: Objective,
    private: PrivateTraining,
    parameters: Parameters,
    batch: tuple[Pool, jax.Array, jax.Array],
) -> Parameters:
    """The sum of clipped gradients of the records that are chosen, part by part."""
    pool, chosen, key = batch
    size = part_size(len(pool.labels), private.sampling_rate)
    ranks = jnp.cumsum(chosen, dtype=jnp.int32)

    def with_part(state: tuple[jax.Array, Parameters]) -> tuple[jax.Array, Parameters]:
        done, total = state
        wanted = done + 1 + jnp.arange(size, dtype=jnp.int32)
        # The record of a rank is the first at which so many are chosen; ranks that none has are padding.
        places = jnp.minimum(jnp.searchsorted(ranks, wanted), len(chosen) - 1)
        return done + size, jax.tree.map(jnp.add, total, part_at(places, wanted <= ranks[-1]))

    def part_at(places: jax.Array, mask: jax.Array) -> Parameters:
        part = Batch(pool.features[places], pool.labels[places], mask, places)
        return objective.clipped_gradient_sum(parameters, part, key, private.clipping_norm)

    form = jax.eval_shape(part_at, jnp.zeros(size, jnp.int32), jnp.zeros(size, bool))
    nothing = (
        jnp.zeros((), jnp.int32),
        jax.tree.map(lambda array: jnp.zeros(array.shape, array.dtype), form),
    )
    total: Parameters = jax.lax.while_loop(lambda state: state[0] < ranks[-1], with_part, nothing)[1]
    return total


def _with_noise(total: Parameters, deviation: float, key: jax.Array) -> Parameters:
    """The sum with noise, drawn for each array by itself: so it is added where it is made."""
    arrays, form = jax.tree.flatten(total)
    noisy = [
        (deviation * standard_normal(own, array.shape) + array.astype(jnp.float64)).astype(array.dtype)
        for array, own in zip(arrays, jax.random.split(key, len(arrays)), strict=True)
    ]
    summed: Parameters = jax.tree.unflatten(form, noisy)
    return summed
