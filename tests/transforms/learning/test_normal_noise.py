"""Normal noise: of the cipher that is named, under each key of its own, and of 64 bits."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32

from smalti.transforms.learning.normal_noise import _CIPHER, standard_normal

NUMBER = 1001
KEYS = [0, 5, 2**31 - 1]


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    """As training sets it around its steps."""
    with jax.enable_x64(True):
        yield


def blocks_of(key: jax.Array) -> np.ndarray:
    """Threefry by JAX's own implementation, of the counters from 0; low words first."""
    counters = np.concatenate([np.arange(NUMBER), np.zeros(NUMBER)]).astype(np.uint32)
    words = np.asarray(threefry_2x32(jax.random.key_data(key), jnp.asarray(counters)))
    low, high = words[:NUMBER].astype(np.uint64), words[NUMBER:].astype(np.uint64)
    return low | high << np.uint64(32)


@pytest.mark.parametrize("seed", KEYS)
def test_each_number_comes_from_a_block_of_the_cipher(seed: int) -> None:
    key = jax.random.key(seed)
    wrapped = jax.random.wrap_key_data(jax.random.key_data(key), impl=_CIPHER)
    found = np.asarray(jax.random.bits(wrapped, (NUMBER,), jnp.uint64))
    np.testing.assert_array_equal(found, blocks_of(key))
    # 52 bits of it, as 1 to below 2 and from there to -1 to 1, as JAX does it.
    mantissas = (found >> np.uint64(12)) | np.uint64(0x3FF << 52)
    uniform = np.maximum(np.nextafter(-1.0, 0.0), 2 * (mantissas.view(np.float64) - 1) - 1)
    expected = np.sqrt(2) * np.asarray(jax.lax.erf_inv(jnp.asarray(uniform)))
    np.testing.assert_allclose(np.asarray(standard_normal(key, (NUMBER,))), expected, rtol=1e-9)


def test_each_key_of_several_has_noise_of_its_own() -> None:
    """XLA's generator by itself would take the first key for all."""
    keys = jax.random.split(jax.random.key(0), 3)
    together = jax.jit(jax.vmap(lambda key: standard_normal(key, (NUMBER,))))(keys)
    alone = jax.jit(lambda key: standard_normal(key, (NUMBER,)))
    for key, found in zip(keys, together, strict=True):
        np.testing.assert_array_equal(found, alone(key))
    assert len(np.unique(together)) > 3 * NUMBER - 3


def test_numbers_of_32_bits_are_refused() -> None:
    with jax.enable_x64(False), pytest.raises(ValueError, match="noise is drawn in 64 bits"):
        standard_normal(jax.random.key(0), (NUMBER,))
    wrapped = jax.random.wrap_key_data(jnp.zeros(2, jnp.uint32), impl=_CIPHER)
    with pytest.raises(ValueError, match="a block has 64 bits"):
        jax.random.normal(wrapped, (3,), jnp.float32)
    with pytest.raises(NotImplementedError, match="used once"):
        jax.random.split(wrapped)
