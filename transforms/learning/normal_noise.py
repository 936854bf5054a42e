"""Normal noise of 64 bits, drawn with one block of a cipher for each number.

The cipher is threefry2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as
1, 2, 3", SC 2011), in the counter mode of XLA's own generator. On a processor JAX runs its rounds in a loop
that passes all numbers through memory again and again; XLA's take a third of the time. What JAX makes of
the bits is left to JAX: uniform numbers of 52 bits, and of these normal ones by the inverse error function.
"""

from typing import NoReturn

from smalti.transforms.learning._jax import define_prng_impl, jax, jnp


def standard_normal(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Independent standard normal numbers of 64 bits; equal keys give equal numbers.

    Args:
        key: of JAX's threefry generator, for this call alone.
        shape: of the numbers.

    Raises:
        ValueError: JAX is not told to allow 64 bits.
    """
    if jax.dtypes.canonicalize_dtype(jnp.float64) != jnp.float64:
        raise ValueError("noise is drawn in 64 bits: trace and call this within `jax.enable_x64(True)`")

    def drawn(words: jax.Array) -> jax.Array:
        return jax.random.normal(jax.random.wrap_key_data(words, impl=_CIPHER), shape, jnp.float64)

    # Of several keys at once XLA's generator takes the first alone: so each has a call of its own.
    each_by_itself = jax.custom_batching.sequential_vmap(drawn)  # type: ignore[no-untyped-call]
    noise: jax.Array = each_by_itself(jax.random.key_data(key))
    return noise


def _blocks(words: jax.Array, width: int, shape: tuple[int, ...]) -> jax.Array:
    """One block of 64 bits for each place, under a key of two words; the counter starts at 0."""
    if width != 64:
        raise ValueError("a block has 64 bits")
    state = jnp.concatenate([words, jnp.zeros_like(words)])
    blocks: jax.Array
    _, blocks = jax.lax.rng_bit_generator(  # type: ignore[no-untyped-call]
        state, shape, jnp.uint64, algorithm=jax.lax.RandomAlgorithm.RNG_THREE_FRY
    )
    return blocks


def _not_needed(*_: object) -> NoReturn:
    raise NotImplementedError("keys of this generator are used once, as they are")


_CIPHER = define_prng_impl(
    key_shape=(2,),
    seed=_not_needed,
    split=_not_needed,
    fold_in=_not_needed,
    random_bits=_blocks,
    name="threefry2x32 of XLA",
    tag="x3f",
)
