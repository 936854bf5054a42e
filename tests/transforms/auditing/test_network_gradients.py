"""Clipped sums of stacked weights: by hand for softmax regression, and for each network alone."""

import numpy as np
import pytest

from smalti.transforms.auditing.network_gradients import LabelledRecords, NetworkGradients
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.learning.architecture import Architecture


def records(seed: int, count: int, features: int, classes: int) -> LabelledRecords:
    generator = np.random.default_rng(seed)
    return LabelledRecords(
        generator.normal(size=(count, features)).astype(np.float32), generator.integers(0, classes, count)
    )


def confidences(weights: Floats, data: LabelledRecords, classes: int) -> Floats:
    """Of softmax regression, whose biases are the last of the weights."""
    features = data.features.shape[1]
    logits = data.features @ weights[:-classes].reshape(features, classes) + weights[-classes:]
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float64)


@pytest.mark.parametrize("clipping_norm", [0.5, pytest.param(1e6, marks=pytest.mark.slow)])
def test_sums_and_losses_of_softmax_regression_are_those_by_hand(clipping_norm: float) -> None:
    data, gradients = records(1, 9, 4, 3), NetworkGradients(Architecture(4, (), 3), clipping_norm)
    stacked = np.random.default_rng(2).normal(size=(5, 15))
    found, losses = gradients(stacked, data), gradients.losses(stacked, data)
    for weights, summed, lost in zip(stacked, found, losses, strict=True):
        given = confidences(weights, data, 3)
        np.testing.assert_allclose(lost, -np.log(given[np.arange(9), data.labels]), rtol=1e-4, atol=1e-5)
        expected = np.zeros(15)
        for features, error in zip(data.features, given - np.eye(3)[data.labels], strict=True):
            gradient = np.concatenate((np.outer(features, error).ravel(), error))
            expected += gradient * min(1, clipping_norm / np.linalg.norm(gradient))
        np.testing.assert_allclose(summed, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_a_record_moves_the_sum_by_the_clipping_norm_at_most() -> None:
    data, gradients = records(3, 6, 5, 2), NetworkGradients(Architecture(5, (7,), 2), 0.5)
    stacked = np.random.default_rng(4).normal(size=(3, gradients.architecture.size))
    whole = gradients(stacked, data)
    assert (whole.shape, whole.dtype) == ((3, 58), np.float64)
    parts = [
        gradients(stacked, LabelledRecords(data.features[i : i + 1], data.labels[i : i + 1]))
        for i in range(6)
    ]
    assert all((np.linalg.norm(part, axis=1) <= 0.5).all() for part in parts)
    np.testing.assert_allclose(np.sum(parts, axis=0), whole, rtol=1e-4, atol=1e-5)


def test_equal_networks_are_compiled_once() -> None:
    one, other = (NetworkGradients(Architecture(4, (), 3), 1.0) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != NetworkGradients(Architecture(4, (), 3), 2.0)
