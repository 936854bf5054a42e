"""Gradients through convolutions: against automatic and finite differences, and what one record moves."""

from functools import partial

import jax
import numpy as np
import pytest

from smalti.transforms.auditing.network_gradients import LabelledRecords, NetworkGradients
from smalti.transforms.learning import convolutions
from smalti.transforms.learning.architecture import ConvolutionalArchitecture
from smalti.transforms.learning.networks import Parameters

SMALL = ConvolutionalArchitecture(7, 6, 3, (2,), kernel=2)
RECORDS = 4


def records(architecture: ConvolutionalArchitecture) -> LabelledRecords:
    draw = np.random.default_rng(3)
    features = draw.normal(size=(RECORDS, architecture.features)).astype(np.float32)
    return LabelledRecords(features, draw.integers(0, architecture.classes, RECORDS))


@partial(jax.jit, static_argnums=0)
def explicit(
    architecture: ConvolutionalArchitecture, parameters: Parameters, features: jax.Array, labels: jax.Array
) -> Parameters:
    def loss(parameters: Parameters, image: jax.Array, label: jax.Array) -> jax.Array:
        return convolutions.cross_entropy(architecture, parameters, image[None], label[None])[0]

    return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(parameters, features, labels)


def flat(gradients: Parameters) -> np.ndarray:
    return np.concatenate([np.reshape(array, (RECORDS, -1)) for array in jax.tree.leaves(gradients)], 1)


@pytest.mark.parametrize(
    "architecture",
    [SMALL, *(pytest.param(a, marks=pytest.mark.slow) for a in (
        ConvolutionalArchitecture(28, 28, 10), ConvolutionalArchitecture(11, 9, 4, (3, 2), 2, 1),
    ))],
)  # fmt: skip
def test_clipped_sums_are_those_of_explicit_gradients(architecture: ConvolutionalArchitecture) -> None:
    data, gradients = records(architecture), NetworkGradients(architecture, 0.7)
    weights = gradients.start(1)
    each = flat(explicit(architecture, gradients._unravel(np.float32(weights)), data.features, data.labels))
    lengths = np.linalg.norm(each, axis=1, keepdims=True)
    assert lengths.max() > 0.7
    clipped = (each * np.minimum(1, 0.7 / lengths)).sum(axis=0)
    np.testing.assert_allclose(gradients(weights[None], data)[0], clipped, rtol=1e-4, atol=1e-5)


def test_gradients_are_the_slopes_of_the_loss() -> None:
    data, gradients = records(SMALL), NetworkGradients(SMALL, 1e6)
    weights, width = gradients.start(2), 1e-2
    summed = gradients(weights[None], data)[0]
    steps = width * np.eye(SMALL.size)
    rise = gradients.losses(weights + steps, data) - gradients.losses(weights - steps, data)
    # A central difference of an almost everywhere smooth loss in 32 bits; a kink may lie within a few.
    off = np.abs(rise.sum(axis=1) / (2 * width) - summed)
    assert np.median(off) < 1e-3
    assert np.quantile(off, 0.9) < 1e-2


def test_images_that_are_too_small_are_refused() -> None:
    for height, width, filters in ((3, 28, (4, 4)), (28, 28, ()), (0, 5, (1,))):
        with pytest.raises(ValueError, match=r"image is too small|has a convolution"):
            ConvolutionalArchitecture(height, width, 2, filters)


@pytest.mark.slow
def test_a_record_moves_the_sum_by_the_clipping_norm_at_most() -> None:
    data, gradients = records(SMALL), NetworkGradients(SMALL, 0.3)
    weights = gradients.start(5)[None]
    parts = [
        gradients(weights, LabelledRecords(data.features[i : i + 1], data.labels[i : i + 1]))
        for i in range(RECORDS)
    ]
    assert all(np.linalg.norm(part) <= 0.3 for part in parts)
    np.testing.assert_allclose(np.sum(parts, axis=0), gradients(weights, data), rtol=1e-4, atol=1e-5)
