"""The clipped gradients of tensorflow-privacy's optimizers against ours, record by record.

Both are of 32 bits, and ours are clipped to 64 units of rounding less than the norm: they may differ by
2e-5 of the clipping norm for each record.
"""

import jax
import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from keras_steps import (
    KEY,
    NO_NOISE,
    VARIANTS,
    Gradient,
    hyperparameters,
    step_of_dp_model,
    stepper,
    weights,
)

from smalti.studies.tensorflow.libraries import Libraries
from smalti.studies.tensorflow.training import Variant, keras_network
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.gradients import clipped_gradient_sum, gradient_norms
from smalti.transforms.learning.hyperparameters import Optimizer
from smalti.transforms.learning.networks import Layer, Parameters

RECORDS = 5
TOLERANCE = 2e-5

architectures = st.builds(
    Architecture,
    st.integers(1, 6),
    st.lists(st.integers(1, 5), max_size=3).map(tuple),
    st.integers(2, 4),
    st.sampled_from(Activation),
)


def parameters(arrays: Gradient) -> Parameters:
    return tuple(map(Layer, arrays[::2], arrays[1::2]))


def records(architecture: Architecture, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng((seed, 1))
    features = random.normal(size=(RECORDS, architecture.features)).astype(np.float32)
    return features, random.integers(0, architecture.classes, RECORDS).astype(np.int32)


def difference(theirs: Gradient, ours: Parameters) -> float:
    pairs = zip(theirs, jax.tree.leaves(ours), strict=True)
    return max(float(np.abs(one - np.asarray(other)).max()) for one, other in pairs)


@pytest.mark.parametrize(("variant", "optimizer"), VARIANTS)
@settings(max_examples=examples(3))
@given(architectures, st.integers(0, 999), st.sampled_from([0.01, 1.0, 100.0]))
def test_records_and_batches_have_our_clipped_gradients(
    both: Libraries,
    variant: Variant,
    optimizer: Optimizer,
    architecture: Architecture,
    seed: int,
    clipping_norm: float,
) -> None:
    arrays, data = weights(architecture, seed), records(architecture, seed)
    model = keras_network(both, architecture, KEY)
    batch_size = 3
    step = stepper(both, model, hyperparameters(optimizer, batch_size, clipping_norm), data, variant)
    masks = [*np.eye(RECORDS), np.random.default_rng(seed).integers(0, 2, RECORDS), np.zeros(RECORDS)]
    for mask in masks:
        model.set_weights(arrays)
        theirs = [array * batch_size for array in step(mask)]
        ours = clipped_gradient_sum(architecture, parameters(arrays), (*data, mask), clipping_norm)
        assert difference(theirs, ours) <= TOLERANCE * clipping_norm * max(1, mask.sum())


@pytest.mark.parametrize("variant", Variant)
def test_some_are_clipped_to_the_norm_and_others_are_left_as_they_are(
    both: Libraries, variant: Variant
) -> None:
    """So that the law above compares both kinds."""
    architecture = Architecture(4, (3,), 3)
    arrays, data = weights(architecture, 0), records(architecture, 0)
    norms = np.asarray(gradient_norms(architecture, parameters(arrays), *data))
    clipping_norm = float(np.median(norms))
    model = keras_network(both, architecture, KEY)
    step = stepper(both, model, hyperparameters(Optimizer.SGD, 1, clipping_norm), data, variant)
    for record, norm in enumerate(norms):
        model.set_weights(arrays)
        found = np.sqrt(sum(float((array**2).sum()) for array in step(np.eye(RECORDS)[record])))
        assert found == pytest.approx(min(norm, clipping_norm), rel=1e-5)


@pytest.mark.parametrize("is_fast", [False, True])
def test_their_model_class_has_them_too(both: Libraries, is_fast: bool) -> None:
    """`DPModel`: by the gradient of each record, or by norms of layers without it (`layer_registry`)."""
    architecture = Architecture(4, (3, 2), 3)
    arrays, data = weights(architecture, 1), records(architecture, 1)
    clipping_norm = float(np.median(gradient_norms(architecture, parameters(arrays), *data)))
    found = step_of_dp_model(both, architecture, arrays, data, (clipping_norm, NO_NOISE), is_fast)
    ours = clipped_gradient_sum(architecture, parameters(arrays), (*data, np.ones(RECORDS)), clipping_norm)
    assert difference([array * RECORDS for array in found], ours) <= TOLERANCE * clipping_norm * RECORDS
