"""The autoencoder of tables: its gradients against those of JAX, its samples against its decoder."""

from typing import Any

import numpy as np
import pytest

from smalti.transforms.learning._jax import jax
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining
from smalti.transforms.learning.networks import Layer
from smalti.transforms.learning.objectives import Batch
from smalti.transforms.learning.randomness import Origin, Seeded
from smalti.transforms.learning.tabular_vae import TabularArchitecture, TabularModel, train

NETWORK = TabularArchitecture((3, 2, 1), 4, 2, 0.5)


def batch(records: int, seed: int) -> Batch:
    drawn = np.random.default_rng(seed)
    marks = np.concatenate(
        [np.eye(size, dtype=np.float32)[drawn.integers(0, size, records)] for size in NETWORK.sizes], axis=1
    )
    mask = np.ones(records, np.float32)
    mask[-1] = 0
    return Batch(marks, np.zeros(records, np.int32), mask, np.arange(records, dtype=np.int32))


def flat(layers: tuple[Layer, ...]) -> np.ndarray:
    return np.concatenate([np.asarray(array).ravel() for layer in layers for array in layer])


def test_clipped_sums_are_those_of_single_gradients() -> None:
    """Each record's own gradient, by JAX, clipped and added up; padding counts nothing."""
    drawn, norm = batch(4, 2), 0.7

    @jax.jit
    def computed() -> tuple[Any, Any, Any]:
        parameters, key = NETWORK.initial(jax.random.key(1)), jax.random.key(3)
        each = jax.jacrev(lambda layers: NETWORK.losses(layers, drawn, key))(parameters)
        clipped = NETWORK.clipped_gradient_sum(parameters, drawn, key, norm)
        return each, clipped, NETWORK.gradient_sum(parameters, drawn, key)

    jacobians, clipped, plain = computed()
    each = [
        np.concatenate([np.asarray(array[place]).ravel() for array in jax.tree.leaves(jacobians)])
        for place in range(3)
    ]
    assert any(np.linalg.norm(gradient) > norm for gradient in each)
    expected = sum(gradient * min(1, norm / np.linalg.norm(gradient)) for gradient in each)
    np.testing.assert_allclose(flat(clipped), expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(flat(plain), sum(each), rtol=1e-3, atol=1e-5)


def model(offsets: list[float]) -> TabularModel:
    """A model whose decoder gives the same logits to all."""
    layers = [
        Layer(np.zeros(shape, np.float32), np.zeros(shape[1], np.float32)) for shape in NETWORK.shapes
    ]
    layers[-1] = layers[-1]._replace(biases=np.array(offsets, np.float32))
    return TabularModel(NETWORK, tuple(layers), Origin.SEED)


def test_samples_have_the_decoder_s_distribution_and_lie_in_the_domain() -> None:
    shares = [0.7, 0.2, 0.1]
    drawn = model([*np.log(shares), 0, 0, 5])
    codes = np.concatenate(list(drawn.samples(10_000, np.random.default_rng(1))))
    assert codes.shape == (10_000, 3)
    assert (codes >= 0).all()
    assert (codes < NETWORK.sizes).all()
    # Five standard deviations of a share: a false alarm in one of a million runs with other seeds.
    assert np.bincount(codes[:, 0]) / 10_000 == pytest.approx(shares, abs=0.025)
    assert np.bincount(codes[:, 1]) / 10_000 == pytest.approx([0.5, 0.5], abs=0.025)


def test_a_model_that_is_no_number_gives_no_samples() -> None:
    diverged = model([np.nan, 0, 0, 0, 0, 0])
    assert diverged.has_diverged
    with pytest.raises(ValueError, match="not finite"):
        next(diverged.samples(1, np.random.default_rng(1)))


@pytest.mark.parametrize("codes", [np.zeros((2, 2), int), np.full((1, 3), 3), np.zeros((0, 3), int)])
def test_what_is_no_record_of_the_columns_is_refused(codes: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"expected|from 0|no record"):
        train(NETWORK, Hyperparameters(1, 1, 0.1), codes, Seeded(1))


@pytest.mark.slow
@pytest.mark.parametrize("records", [0, 200])
def test_training_with_noise_knows_how_many_steps_it_takes_whoever_is_there(records: int) -> None:
    codes = np.random.default_rng(1).integers(0, NETWORK.sizes, (records, 3))
    private = Hyperparameters(2, 50, 0.01, private=PrivateTraining(1.0, 1.0, 0.5))
    assert not train(NETWORK, private, codes, Seeded(1)).has_diverged


@pytest.mark.slow
def test_training_learns_which_values_go_together() -> None:
    same = np.random.default_rng(1).integers(0, 2, 500)
    codes = np.stack([same, same, np.zeros_like(same)], axis=1)
    learned = train(NETWORK, Hyperparameters(100, 50, 0.01), codes, Seeded(1))
    drawn = np.concatenate(list(learned.samples(1000, np.random.default_rng(1))))
    assert (drawn[:, 0] == drawn[:, 1]).mean() > 0.9
    assert (drawn[:, 0] == 2).mean() < 0.05
