"""Dense networks: their parameters, initial values and confidences."""

from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.architecture import Activation, Architecture

Floats = NDArray[np.float32]
Array = jax.Array | Floats

_BATCH: Final = 4096
"""Records whose confidences are computed at once."""


class Layer(NamedTuple):
    """One layer of a network, or the gradient of one; a stack of models has an axis of models in front."""

    weights: Array
    """Shape (units before, units after)."""
    biases: Array
    """Shape (units after,)."""


Parameters = tuple[Layer, ...]
"""The layers of a network in order: a pytree of arrays."""


def initial_parameters(architecture: Architecture, key: jax.Array) -> Parameters:
    """Where training starts: uniform weights within sqrt(6 / (before + after)), biases of 0.

    Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS
    2010, equation 16.

    Args:
        architecture: of the network.
        key: of JAX's threefry generator; equal keys give equal parameters.
    """
    shapes = architecture.shapes
    ends = np.cumsum([before * after for before, after in shapes]).tolist()
    drawn = jnp.split(jax.random.uniform(key, (ends[-1],), jnp.float32, -1.0), ends[:-1])
    return tuple(
        Layer(numbers.reshape(shape) * (6 / sum(shape)) ** 0.5, jnp.zeros(shape[1], jnp.float32))
        for numbers, shape in zip(drawn, shapes, strict=True)
    )


def activated(architecture: Architecture, sums: jax.Array) -> jax.Array:
    """What hidden units give for their sums."""
    return jnp.tanh(sums) if architecture.activation is Activation.TANH else jax.nn.relu(sums)


def slopes(architecture: Architecture, values: jax.Array) -> jax.Array:
    """The derivative of the activation where it has given these values; that of ReLU at 0 is 0."""
    return (
        1 - values * values
        if architecture.activation is Activation.TANH
        else (values > 0).astype(values.dtype)
    )


def inputs_of_layers(
    architecture: Architecture, parameters: Parameters, features: Array
) -> list[jax.Array]:
    """What each layer is given for each record, and last the logits.

    Args:
        architecture: of the network.
        parameters: of one network.
        features: shape (records, features).

    Returns:
        The features, the outputs of the hidden layers, and the logits of shape (records, classes).
    """
    inputs = [jnp.asarray(features)]
    for layer in parameters[:-1]:
        inputs.append(activated(architecture, inputs[-1] @ layer.weights + layer.biases))
    return [*inputs, inputs[-1] @ parameters[-1].weights + parameters[-1].biases]


@partial(jax.jit, static_argnums=0)
def _batch_confidences(architecture: Architecture, stacked: Parameters, features: jax.Array) -> jax.Array:
    def of_model(parameters: Parameters) -> jax.Array:
        return jax.nn.softmax(inputs_of_layers(architecture, parameters, features)[-1])

    answers: jax.Array = jax.lax.map(of_model, stacked)
    return answers


def confidences(architecture: Architecture, stacked: Parameters, features: Floats) -> Floats:
    """The confidence of each model in each class, for each record.

    Args:
        architecture: of all models.
        stacked: parameters with an axis of models in front.
        features: shape (records, features).

    Returns:
        Shape (models, records, classes), from 0 to 1; those of a record sum to 1 up to rounding.
    """
    models = len(stacked[0].biases)
    answers = np.empty((models, len(features), architecture.classes), np.float32)
    # Batches of few sizes, for each of which the computation is compiled.
    size = min(_BATCH, 1 << (len(features) - 1).bit_length())
    for start in range(0, len(features), _BATCH):
        batch = features[start : start + _BATCH]
        padded = np.zeros((size, architecture.features), np.float32)
        padded[: len(batch)] = batch
        of_batch = _batch_confidences(architecture, stacked, padded)
        answers[:, start : start + len(batch)] = np.asarray(of_batch)[:, : len(batch)]
    return answers


def finite_features(features: NDArray[np.floating | np.integer]) -> Floats:
    """Features as networks take them: of 32 bits, with 0 for what is no finite number of them."""
    with np.errstate(over="ignore"):
        numbers = np.asarray(features, np.float32)
    return np.where(np.isfinite(numbers), numbers, np.float32(0))


def stack(several: list[Parameters]) -> Parameters:
    """Parameters of models of one architecture, with an axis of models in front."""
    return tuple(
        Layer(np.stack([layer.weights for layer in layers]), np.stack([layer.biases for layer in layers]))
        for layers in zip(*several, strict=True)
    )


def arrays_of(parameters: Parameters) -> dict[str, Floats]:
    """The arrays of one network by name, `layers.0.weights` and so on; as they are kept in files."""
    return {
        f"layers.{place}.{name}": np.ascontiguousarray(array, np.float32)
        for place, layer in enumerate(parameters)
        for name, array in zip(Layer._fields, layer, strict=True)
    }


def parameters_of(architecture: Architecture, arrays: Mapping[str, Floats]) -> Parameters:
    """The inverse of `arrays_of`.

    Raises:
        ValueError: an array is missing, unknown, of another shape or type, or holds what is no number.
    """
    expected = {
        f"layers.{place}.{name}": shape
        for place, (before, after) in enumerate(architecture.shapes)
        for name, shape in zip(Layer._fields, ((before, after), (after,)), strict=True)
    }
    if {name: array.shape for name, array in arrays.items()} != expected:
        raise ValueError("the arrays are not those of this architecture")
    if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("parameters are finite numbers of 32 bits")
    names = (f"layers.{place}" for place in range(len(architecture.shapes)))
    return tuple(Layer(arrays[f"{name}.weights"], arrays[f"{name}.biases"]) for name in names)
