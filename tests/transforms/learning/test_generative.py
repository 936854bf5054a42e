"""Generative models: what is clipped and summed, and that an overfitted one knows its records."""

from pathlib import Path

import numpy as np
import pytest

from smalti.transforms.generative.models import discriminator, reconstruction
from smalti.transforms.generative.sampler import Numbers
from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.adversarial import Adversarial
from smalti.transforms.learning.autoencoders import Autoencoder
from smalti.transforms.learning.generative_models import (
    load_generative,
    save_generative,
    train_generative,
)
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining
from smalti.transforms.learning.image_adversarial import ImageAdversarial
from smalti.transforms.learning.objectives import Batch
from smalti.transforms.learning.randomness import Seeded

RECORDS = 5
NETWORKS = [
    Autoencoder(16, 3, (4, 4), 2, 0.8),
    Adversarial(16, 3, (4,), 2, 0.8),
    ImageAdversarial(4, 4, 1, 3, (2, 2), 2),
]


def batch(network: Autoencoder | Adversarial | ImageAdversarial) -> Batch:
    draw = np.random.default_rng(0)
    features = draw.random((RECORDS, network.features)).astype(np.float32)
    return Batch(features, draw.integers(0, 3, RECORDS), np.ones(RECORDS, np.float32), np.arange(RECORDS))


@pytest.mark.parametrize(
    "network",
    [NETWORKS[0], *(pytest.param(network, marks=pytest.mark.slow) for network in NETWORKS[1:])],
    ids=lambda network: network.kind,
)
def test_a_record_moves_a_clipped_sum_by_the_norm_at_most(
    network: Autoencoder | Adversarial | ImageAdversarial,
) -> None:
    key = jax.random.key(1)
    parameters, records, norm = network.initial(key), batch(network), 0.01
    clipped = jax.jit(
        lambda mask: network.clipped_gradient_sum(parameters, records._replace(mask=mask), key, norm)
    )
    everybody = clipped(jnp.ones(RECORDS))
    for left_out in range(2):
        others = clipped(jnp.ones(RECORDS).at[left_out].set(0))
        squares = jax.tree.map(lambda a, b: ((a - b) ** 2).sum(), everybody, others)
        moved = float(jnp.sqrt(sum(jax.tree.leaves(squares))))
        assert 0.9 * norm < moved <= norm * (1 + 1e-5), "the loss of a record is steep enough to be clipped"


@pytest.mark.slow
def test_slopes_at_sums_give_the_gradient_of_the_loss() -> None:
    network, key = Autoencoder(16, 3, (4, 4), 2, 0.8), jax.random.key(1)
    parameters, records = network.initial(key), batch(network)
    wanted = jax.grad(lambda some: network.losses(some, records, key).sum())(parameters)
    for one, other in zip(
        jax.tree.leaves(network.gradient_sum(parameters, records, key)),
        jax.tree.leaves(wanted),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("network", [Autoencoder(200, 1, (48,), 8, 1.0), Adversarial(200, 1, (64,), 8)])
def test_an_overfitted_model_knows_its_records_and_no_others(
    network: Autoencoder | Adversarial, tmp_path: Path
) -> None:
    """Three models, so that chance has a standard deviation of 0.033 around one half."""
    accuracies = np.array([accuracies_on(network, seed, tmp_path) for seed in range(3)]).mean(axis=0)
    assert accuracies[0] > 0.5 + 5 * 0.033
    assert abs(accuracies[1] - 0.5) < 5 * 0.033


def accuracies_on(network: Autoencoder | Adversarial, seed: int, folder: Path) -> tuple[float, float]:
    """Single membership of the records of a model, and of records that it was not trained on."""
    draw = np.random.default_rng(seed)
    members, others, never = (draw.random((3, 40, 200)) < 0.5).astype(np.float32)
    records, everybody = (members, np.zeros(40, np.int64)), np.ones((1, 40), bool)
    (model,) = train_generative(network, Hyperparameters(300, 40, 1e-3), records, everybody, Seeded(seed))
    save_generative(model, folder / f"{seed}.safetensors")
    model = load_generative(folder / f"{seed}.safetensors")

    def on_top(questioned: np.ndarray) -> float:
        audited = Numbers(np.concatenate([questioned, others]), np.zeros(80, np.int64))
        scores = (
            reconstruction(model, audited, np.random.default_rng(1), 20)
            if isinstance(network, Autoencoder)
            else discriminator(model, audited)
        )
        return float((np.argsort(-scores)[:40] < 40).mean())

    return on_top(members), on_top(never)


@pytest.mark.slow
def test_noise_keeps_training_private_in_the_trainer_of_classifiers() -> None:
    network = Adversarial(6, 1, (4,), 2)
    features = np.random.default_rng(0).random((8, 6)).astype(np.float32)
    rates = Hyperparameters(1, 4, 1e-3, private=PrivateTraining(1.0, 1.0, 0.5))
    records = features, np.zeros(8, np.int64)
    first, second = (
        train_generative(network, rates, records, np.ones((1, 8), bool), Seeded(seed))[0] for seed in (0, 1)
    )
    assert np.isfinite(first.generated(np.zeros(3, np.int64), np.random.default_rng(0))).all()
    assert not np.array_equal(first.parameters[-1].weights, second.parameters[-1].weights)
