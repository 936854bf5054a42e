"""Steps of tensorflow-privacy's optimizers, seen from outside: the gradients that they apply."""

from collections.abc import Callable
from typing import Any

import numpy as np

from smalti.studies.tensorflow.libraries import Libraries
from smalti.studies.tensorflow.training import Variant, keras_network, private_optimizer
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining

NO_NOISE = 1e-30
KEY = np.zeros(2, np.uint32)
VARIANTS = [(variant, optimizer) for variant in Variant for optimizer in Optimizer]

Gradient = list[np.ndarray]
"""Weights and biases of each layer, one after the other."""


def hyperparameters(
    optimizer: Optimizer, batch_size: int, clipping_norm: float, noise_multiplier: float = NO_NOISE
) -> Hyperparameters:
    private = PrivateTraining(noise_multiplier, clipping_norm, 0.5)
    return Hyperparameters(1, batch_size, 0.1, optimizer, private)


def weights(architecture: Architecture, seed: int) -> Gradient:
    """Weights and biases of a network, of 32 bits."""
    random = np.random.default_rng(seed)
    shapes = [shape for before, after in architecture.shapes for shape in ((before, after), (after,))]
    return [random.normal(size=shape).astype(np.float32) for shape in shapes]


def kept(optimizer: Any) -> list[Any]:
    """Whatever the optimizer applies from now on is put into this list, too."""
    applied: list[Any] = []

    def keep(pairs: list[Any]) -> list[Any]:
        applied.append([gradient for gradient, _ in pairs])
        return pairs

    optimizer.gradient_transformers.append(keep)
    return applied


def stepper(
    both: Libraries,
    model: Any,
    settings: Hyperparameters,
    data: tuple[np.ndarray, np.ndarray],
    variant: Variant,
) -> Callable[[np.ndarray], Gradient]:
    """From weights of the records of a batch to the gradient that the optimizer applies for it."""
    tensorflow = both.tensorflow
    features, labels = (tensorflow.constant(array) for array in data)
    optimizer = private_optimizer(both, settings, len(data[1]), variant)
    applied = kept(optimizer)

    @tensorflow.function
    def step(mask: Any) -> Any:
        with tensorflow.GradientTape() as tape:
            losses = mask * tensorflow.nn.sparse_softmax_cross_entropy_with_logits(labels, model(features))
        optimizer.minimize(losses, model.trainable_variables, tape=tape)
        return applied[-1]

    def gradient(mask: np.ndarray) -> Gradient:
        return [array.numpy() for array in step(tensorflow.constant(mask, tensorflow.float32))]

    return gradient


def step_of_dp_model(
    both: Libraries,
    architecture: Architecture,
    start: Gradient,
    data: tuple[np.ndarray, np.ndarray],
    privacy: tuple[float, float],
    is_fast: bool,
) -> Gradient:
    """What a `DPModel` gives its plain optimizer for a batch, divided by its records.

    Args:
        both: the libraries.
        architecture: of the network.
        start: its weights and biases.
        data: the batch.
        privacy: clipping norm and noise multiplier.
        is_fast: whether it clips by norms of layers, without the gradient of each record.
    """
    from tensorflow_privacy.privacy.fast_gradient_clipping import layer_registry  # noqa: PLC0415

    keras = both.tensorflow.keras
    plain = keras_network(both, architecture, KEY)
    model = both.privacy.DPModel(
        inputs=plain.inputs,
        outputs=plain.outputs,
        l2_norm_clip=privacy[0],
        noise_multiplier=privacy[1],
        use_xla=False,
        layer_registry=layer_registry.make_default_layer_registry() if is_fast else None,
    )
    model.set_weights(start)
    optimizer = keras.optimizers.legacy.SGD(0.1, gradient_transformers=[])
    applied = kept(optimizer)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.train_step(tuple(map(both.tensorflow.constant, data)))
    return [np.asarray(array) for array in applied[-1]]
