"""Attacks on networks: they win without privacy, and not against strong privacy.

The slow tests take about 20 s and 200 s of CPU. Data and seeds are fixed.
"""

from dataclasses import replace

import numpy as np
import pytest

from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.membership.application import MembershipInference
from smalti.transforms.membership.attack import Attack
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.likelihood_ratio import OfflineLikelihoodRatio, OnlineLikelihoodRatio
from smalti.transforms.membership.loss_threshold import LossThreshold
from smalti.transforms.membership.models import TargetModel
from smalti.transforms.membership.network_trainer import NetworkTrainer
from smalti.transforms.membership.planted_leak import detection
from smalti.transforms.membership.relative_membership import RelativeMembership
from smalti.transforms.membership.scored import Scored
from smalti.transforms.membership.shadow_attack import ShadowModelAttack

ALL: tuple[Attack, ...] = (
    ShadowModelAttack(),
    LossThreshold(),
    OnlineLikelihoodRatio(),
    OfflineLikelihoodRatio(),
    RelativeMembership(),
)


def flipped_bits(records: int, features: int, classes: int, seed: int, flips: float = 0.35) -> DataSet:
    """A random word of bits for each class; each record is the word of its class with bits flipped."""
    draw = np.random.default_rng(seed)
    words = draw.random((classes, features)) < 0.5
    labels = draw.integers(0, classes, records)
    bits = words[labels] ^ (draw.random((records, features)) < flips)
    return DataSet(f"records of seed {seed}", bits.astype(np.float32), labels, classes)


def audit(
    data: DataSet,
    cuts: tuple[int, ...],
    hidden: int,
    hyperparameters: Hyperparameters,
    attacks: tuple[Attack, ...],
) -> MembershipInference:
    """The first records train the target, the next test it, and the rest is the shadow pool."""
    training, test, pool, _ = (data.take(part) for part in np.split(np.arange(len(data)), cuts))
    architecture = Architecture(data.features.shape[1], (hidden,), data.classes)
    trainer = NetworkTrainer(architecture, hyperparameters, Seeded(1))
    target = TargetModel.trained(replace(trainer, randomness=Seeded(2)), training, test)
    return MembershipInference(
        target, trainer, attacks, pool if len(pool) else None, shadow_models=16, seed=3
    )


def test_recipes_are_equal_where_architecture_and_hyperparameters_are() -> None:
    plain = Hyperparameters(epochs=2, batch_size=50, learning_rate=1e-2)
    made = NetworkTrainer(Architecture(4, (3,), 2), plain, Seeded(1))
    assert made.recipe == replace(made, randomness=Seeded(2)).recipe
    assert made.recipe != replace(made, architecture=Architecture(4, (5,), 2)).recipe
    assert made.recipe != replace(made, hyperparameters=replace(plain, epochs=3)).recipe
    private = PrivateTraining(noise_multiplier=1.0, clipping_norm=1.0, sampling_rate=0.1)
    assert made.recipe != replace(made, hyperparameters=replace(plain, private=private)).recipe


@pytest.mark.slow
def test_attacks_win_without_privacy_and_not_against_strong_privacy() -> None:
    data = flipped_bits(2000, 60, 5, seed=0, flips=0.4)
    plain = Hyperparameters(epochs=100, batch_size=50, learning_rate=1e-2)
    private = replace(
        plain,
        epochs=10,
        private=PrivateTraining(noise_multiplier=10.0, clipping_norm=1.0, sampling_rate=0.1),
    )
    for name, scored in audit(data, (500, 1000, 2000), 64, plain, ALL).run(0.95).scored:
        assert detection(scored, 0.99).advantage.lower > 0.25, f"{name}: from 0.32 to 0.54 as measured"
        assert RocCurve.of(scored.split()).area > 0.75, name
    for name, scored in audit(data, (500, 1000, 2000), 64, private, ALL).run(0.95).scored:
        assert not detection(scored, 0.99).is_detected, name


def true_positive_rate(scored: Scored) -> float:
    rate = RocCurve.of(scored.split()).true_positive_rate_at(0.001)
    assert rate is not None
    return rate


@pytest.mark.slow
def test_the_likelihood_ratio_finds_five_times_what_the_loss_finds_at_few_false_positives() -> None:
    """At a false positive rate of 0.1 %, with 100 classes of 600 bits, 35 % flips and 16 shadow models."""
    hyperparameters = Hyperparameters(epochs=10, batch_size=100, learning_rate=1e-3)
    attacks = LossThreshold(), OnlineLikelihoodRatio()
    ratios = []
    for seed in range(10):
        made = audit(
            flipped_bits(20_000, 600, 100, seed), (10_000, 20_000, 20_000), 128, hyperparameters, attacks
        )
        loss, ratio = (true_positive_rate(scored) for _, scored in made.run(0.95, 0.001).scored)
        ratios.append(ratio / loss)
    assert np.median(ratios) >= 5, ratios
