"""Ghost clipping against explicit gradients of single records, and what one record can change."""

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from effort import examples, is_full
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.gradients import (
    clipped_gradient_sum,
    cross_entropy,
    gradient_norms,
    gradient_sum,
)
from smalti.transforms.learning.networks import Layer, Parameters

RECORDS = 5
Batch = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def drawn(architecture: Architecture, seed: int, size: float = 1.0) -> tuple[Parameters, Batch]:
    """Parameters and a padded batch of doubles."""
    random = np.random.default_rng(seed)
    parameters = tuple(
        Layer(random.normal(size=shape), random.normal(size=shape[1])) for shape in architecture.shapes
    )
    features = random.normal(size=(RECORDS, architecture.features)) * size
    labels = random.integers(0, architecture.classes, RECORDS)
    return parameters, (features, labels, random.integers(0, 2, RECORDS))


def explicit_gradients(architecture: Architecture, parameters: Parameters, batch: Batch) -> Parameters:
    """The gradient of each record, by automatic differentiation; an axis of records in front."""

    def loss(parameters: Parameters, features: jax.Array, label: jax.Array) -> jax.Array:
        return cross_entropy(architecture, parameters, features[None], label[None])[0]

    return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(parameters, *map(jnp.asarray, batch[:2]))


@partial(jax.jit, static_argnums=0)
def all_gradients(
    architecture: Architecture, parameters: Parameters, batch: Batch, clipping_norm: float
) -> tuple[Parameters, Parameters, Parameters, jax.Array]:
    """Explicit gradients, the sum of clipped ones, that of all as they are, and the norms."""
    return (
        explicit_gradients(architecture, parameters, batch),
        clipped_gradient_sum(architecture, parameters, batch, clipping_norm),
        gradient_sum(architecture, parameters, batch),
        gradient_norms(architecture, parameters, *batch[:2]),
    )


def explicit_norms(gradients: Parameters) -> np.ndarray:
    flat = [np.reshape(array, (RECORDS, -1)) for array in jax.tree.leaves(gradients)]
    return np.linalg.norm(np.concatenate(flat, axis=1), axis=1)


def difference(found: Parameters, wanted: Parameters) -> float:
    """The greatest difference, relative to the greatest number that is wanted."""
    pairs = list(zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True))
    size = max(float(np.abs(b).max()) for _, b in pairs)
    return max(float(np.abs(a - b).max()) for a, b in pairs) / (size or 1.0)


REGRESSION = Architecture(3, (), 3)
DEEP = Architecture(3, (3, 3), 3, Activation.RELU)
architectures = st.sampled_from([REGRESSION, DEEP, Architecture(3, (3, 3), 3, Activation.TANH)])


@settings(max_examples=examples(12))
@given(
    architectures, st.integers(0, 999), st.sampled_from([1e-3, 0.1, 1.0, 50.0]), st.sampled_from([1, 1e6])
)
@example(REGRESSION, 0, 0.1, 1)
@example(DEEP, 1, 1.0, 1e60)
def test_clipped_sums_are_those_of_explicit_gradients(
    architecture: Architecture, seed: int, clipping_norm: float, size: float
) -> None:
    parameters, batch = drawn(architecture, seed, size)
    gradients, found, found_plain, found_norms = all_gradients(
        architecture, parameters, batch, clipping_norm
    )
    norms = explicit_norms(gradients)
    weights = np.minimum(1, clipping_norm / np.maximum(norms, 1e-300)) * batch[2]
    wanted = jax.tree.map(lambda array: np.tensordot(weights, array, 1), gradients)
    assert difference(found, wanted) <= 1e-12
    plain = jax.tree.map(lambda array: np.tensordot(batch[2], array, 1), gradients)
    assert difference(found_plain, plain) <= 1e-12
    np.testing.assert_allclose(found_norms, norms, rtol=1e-12)


def test_gradients_of_zero_stay_zero() -> None:
    """A record that is certain already has none, and none is divided by."""
    parameters, (features, labels, mask) = drawn(REGRESSION, 0)
    certain = (Layer(np.zeros((3, 3)), np.array([2000.0, 0.0, 0.0])),)
    batch = features, np.zeros_like(labels), np.ones_like(mask)
    assert not gradient_norms(REGRESSION, certain, *batch[:2]).any()
    for array in jax.tree.leaves(clipped_gradient_sum(REGRESSION, certain, batch, 1.0)):
        assert not np.asarray(array).any()
    nobody = features, labels, np.zeros_like(mask)
    for array in jax.tree.leaves(clipped_gradient_sum(REGRESSION, parameters, nobody, 1.0)):
        assert not np.asarray(array).any()


@pytest.mark.parametrize("activation", Activation)
@pytest.mark.parametrize("size", [1e200, 1e308])
def test_a_record_without_a_finite_norm_counts_as_zero(activation: Activation, size: float) -> None:
    architecture = Architecture(3, (3, 3), 3, activation)
    parameters, (features, labels, _) = drawn(architecture, 5)
    alone = np.array([1, 0, 1, 1, 1])
    wanted = clipped_gradient_sum(architecture, parameters, (features, labels, alone), 1.0)
    features = features.copy()
    features[1] = size
    found = clipped_gradient_sum(architecture, parameters, (features, labels, np.ones(RECORDS)), 1.0)
    assert all(np.isfinite(array).all() for array in jax.tree.leaves(found))
    assert difference(found, wanted) <= 1e-12


jitted = jax.jit(clipped_gradient_sum, static_argnums=(0, 3))


@settings(max_examples=examples(8))
@given(st.integers(0, 999), st.sampled_from([0.01, 7.0] if is_full() else [0.01]))
def test_floats_of_32_bits_do_not_exceed_the_norm(seed: int, clipping_norm: float) -> None:
    """The sum of one record's gradient alone, measured in doubles."""
    architecture = Architecture(600, (128,), 100)
    random = np.random.default_rng(seed)
    parameters = tuple(
        Layer(random.normal(size=shape).astype(np.float32), np.zeros(shape[1], np.float32))
        for shape in architecture.shapes
    )
    features = (random.random((1, 600)) < 0.5).astype(np.float32)
    batch = features, np.array([7]), np.ones(1, np.float32)
    found = jitted(architecture, parameters, batch, clipping_norm)
    assert {array.dtype for array in jax.tree.leaves(found)} == {np.dtype(np.float32)}
    norm = np.sqrt(sum(np.square(np.float64(array)).sum() for array in jax.tree.leaves(found)))
    plain = jitted(architecture, parameters, batch, 1e6)  # far above any gradient here: it clips none
    whole = np.sqrt(sum(np.square(np.float64(array)).sum() for array in jax.tree.leaves(plain)))
    assert 0.9999 * min(clipping_norm, whole) <= norm <= clipping_norm


@pytest.mark.parametrize(("logit", "feature", "clipping_norm"), [(44.0, 1.0, 1e-20), (46.0, 1.5e19, 0.1)])
def test_squares_below_the_floats_do_not_let_a_gradient_through(
    logit: float, feature: float, clipping_norm: float
) -> None:
    """A record that is predicted well has slopes whose squares of 32 bits are 0."""
    parameters = (Layer(np.zeros((3, 3), np.float32), np.array([logit, 0, 0], np.float32)),)
    batch = np.array([[feature, 0, 0]], np.float32), np.array([0]), np.ones(1, np.float32)
    found = clipped_gradient_sum(REGRESSION, parameters, batch, clipping_norm)
    norm = np.sqrt(sum(np.square(np.float64(array)).sum() for array in jax.tree.leaves(found)))
    assert 0 < norm <= clipping_norm
