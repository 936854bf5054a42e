"""The only import of JAX, with the message if JAX is missing, and one thread for each process.

Threads: many processes share a machine here, and XLA's pool makes them wait for one another; networks of
this size gain nothing from it. Whoever sets XLA_FLAGS decides for themselves: then nothing is changed.
"""

import os
from typing import Final

from smalti.errors import not_installed

_ONE_THREAD: Final = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

# XLA reads the variable when it first computes, so this has an effect also where JAX is imported already.
os.environ.setdefault("XLA_FLAGS", _ONE_THREAD)

try:
    import jax
    import jax.numpy as jnp
    from jax.extend.random import define_prng_impl
    from jax.flatten_util import ravel_pytree
except ImportError:
    raise not_installed("training", "the library that trains networks", "jax", "audit") from None
__all__ = ["check_version", "define_prng_impl", "jax", "jnp", "ravel_pytree"]


def check_version() -> None:
    """Raise BackendError where JAX is too old to train with; gradients alone it computes."""
    if not hasattr(jax, "enable_x64"):
        raise not_installed("training", "a JAX that is new enough", "jax, version 0.8 or newer", "audit")
