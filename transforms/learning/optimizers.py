"""How gradients change parameters: stochastic gradient descent and Adam."""

from typing import Final, NamedTuple

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.hyperparameters import Optimizer
from smalti.transforms.learning.networks import Parameters

# The constants of Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, Algorithm 1.
_FIRST_DECAY: Final = 0.9
_SECOND_DECAY: Final = 0.999
_LEAST_ROOT: Final = 1e-8


class Progress(NamedTuple):
    """A network in training."""

    parameters: Parameters
    first_moments: Parameters
    """Of Adam; empty for SGD."""
    second_moments: Parameters
    """Of Adam; empty for SGD."""
    steps: jax.Array
    """Steps done, a whole number."""


def started(optimizer: Optimizer, parameters: Parameters) -> Progress:
    """A network before its first step."""
    moments = jax.tree.map(jnp.zeros_like, parameters) if optimizer is Optimizer.ADAM else ()
    return Progress(parameters, moments, moments, jnp.zeros((), jnp.int32))


def stepped(
    optimizer: Optimizer, learning_rate: float, progress: Progress, gradient: Parameters
) -> Progress:
    """A network after one more step with this gradient of the mean loss."""
    if optimizer is Optimizer.SGD:
        return progress._replace(
            parameters=jax.tree.map(lambda p, g: p - learning_rate * g, progress.parameters, gradient),
            steps=progress.steps + 1,
        )
    return _stepped_by_adam(learning_rate, progress, gradient)


def _stepped_by_adam(learning_rate: float, progress: Progress, gradient: Parameters) -> Progress:
    steps = progress.steps + 1
    first = jax.tree.map(
        lambda m, g: _FIRST_DECAY * m + (1 - _FIRST_DECAY) * g, progress.first_moments, gradient
    )
    second = jax.tree.map(
        lambda v, g: _SECOND_DECAY * v + (1 - _SECOND_DECAY) * g * g, progress.second_moments, gradient
    )
    # Moments start at 0; these rates correct for it.
    count = steps.astype(jnp.float32)
    first_rate, second_rate = 1 - _FIRST_DECAY**count, 1 - _SECOND_DECAY**count
    parameters = jax.tree.map(
        lambda p, m, v: p - learning_rate * (m / first_rate) / (jnp.sqrt(v / second_rate) + _LEAST_ROOT),
        progress.parameters,
        first,
        second,
    )
    return Progress(parameters, first, second, steps)
