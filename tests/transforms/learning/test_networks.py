"""Dense networks: their shapes, where they start, their confidences, and their arrays by name."""

import numpy as np
import pytest

from smalti.transforms.learning._jax import jax
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.networks import (
    arrays_of,
    confidences,
    initial_parameters,
    parameters_of,
    stack,
)

SMALL = Architecture(5, (4, 3), 2, Activation.RELU)
start = jax.jit(initial_parameters, static_argnums=0)


def parameters(architecture: Architecture, seed: int) -> tuple:
    return start(architecture, jax.random.key(seed))


def test_shapes_and_size() -> None:
    assert SMALL.shapes == ((5, 4), (4, 3), (3, 2))
    assert SMALL.size == 5 * 4 + 4 + 4 * 3 + 3 + 3 * 2 + 2
    assert [layer.weights.shape for layer in parameters(SMALL, 0)] == list(SMALL.shapes)
    assert sum(array.size for array in arrays_of(parameters(SMALL, 0)).values()) == SMALL.size


@pytest.mark.parametrize(
    "wrong", [(0, (), 2), (1, (), 1), (1, (0,), 2), (1, (-3,), 2), (1 << 20, (1 << 20,), 2)]
)
def test_networks_that_are_none_are_refused(wrong: tuple) -> None:
    with pytest.raises(ValueError, match="a network has"):
        Architecture(*wrong)


def test_weights_start_within_their_limit_and_differ() -> None:
    first, second = parameters(SMALL, 0), parameters(SMALL, 1)
    for layer, other, (before, after) in zip(first, second, SMALL.shapes, strict=True):
        limit = (6 / (before + after)) ** 0.5
        assert 0.3 * limit < np.abs(layer.weights).max() <= limit
        assert not np.asarray(layer.biases).any()
        assert not np.array_equal(layer.weights, other.weights)


@pytest.mark.parametrize("activation", Activation)
def test_confidences_are_those_of_the_formula(activation: Activation) -> None:
    architecture = Architecture(5, (4,), 3, activation)
    one = parameters(architecture, 3)
    features = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    found = confidences(architecture, stack([one, parameters(architecture, 4)]), features)
    (w, b), (v, c) = ((np.float64(layer.weights), np.float64(layer.biases) + 0.0) for layer in one)
    sums = features @ w + b
    logits = (np.tanh(sums) if activation is Activation.TANH else np.maximum(sums, 0)) @ v + c
    wanted = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert found.shape == (2, 7, 3)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-5)
    np.testing.assert_allclose(found.sum(axis=2), 1, rtol=1e-5)
    assert np.abs(found[1] - found[0]).max() > 0.01


def test_batches_change_no_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    stacked = stack([parameters(SMALL, 0)])
    features = np.random.default_rng(0).normal(size=(11, 5)).astype(np.float32)
    whole = confidences(SMALL, stacked, features)
    monkeypatch.setattr("smalti.transforms.learning.networks._BATCH", 4)
    np.testing.assert_allclose(confidences(SMALL, stacked, features), whole, rtol=1e-6)
    assert confidences(SMALL, stacked, features[:0]).shape == (1, 0, 2)


def test_very_sure_networks_give_numbers() -> None:
    sure = tuple(layer._replace(weights=layer.weights * 1e12) for layer in parameters(SMALL, 0))
    found = confidences(SMALL, stack([sure]), np.eye(5, dtype=np.float32))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=2), 1)


def test_arrays_by_name_and_back() -> None:
    one = parameters(SMALL, 0)
    arrays = arrays_of(one)
    assert list(arrays)[:3] == ["layers.0.weights", "layers.0.biases", "layers.1.weights"]
    for layer, back in zip(one, parameters_of(SMALL, arrays), strict=True):
        np.testing.assert_array_equal(layer.weights, back.weights)
        np.testing.assert_array_equal(layer.biases, back.biases)


@pytest.mark.parametrize("change", ["missing", "more", "shape", "type", "nan", "infinite"])
def test_arrays_of_another_network_are_refused(change: str) -> None:
    arrays = {name: array.copy() for name, array in arrays_of(parameters(SMALL, 0)).items()}
    biases = arrays["layers.1.biases"]
    match change:
        case "missing":
            del arrays["layers.1.biases"]
        case "more":
            arrays["layers.3.biases"] = biases
        case "shape":
            arrays["layers.1.biases"] = biases[:-1]
        case "type":
            arrays["layers.1.biases"] = biases.astype(np.float64)
        case "nan":
            biases[0] = np.nan
        case "infinite":
            biases[0] = np.inf
    with pytest.raises(ValueError, match=r"arrays are not those|finite numbers"):
        parameters_of(SMALL, arrays)
