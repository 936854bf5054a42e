"""The adversary against private training as it is carried out; about 8 s of CPU, most of it to compile.

Statistical tests draw from fixed seeds, and would fail for one seed in a billion (`evidence.FALSE_ALARM`).
"""

import math

import numpy as np
import pytest
from evidence import FALSE_ALARM, share_within
from scipy import stats

from smalti.transforms.auditing.differential_identifiability import Beliefs, log_odds_of_step
from smalti.transforms.auditing.neighbors import NeighboringPair
from smalti.transforms.auditing.network_gradients import LabelledRecords
from smalti.transforms.auditing.training_identifiability import TrainingExperiment, _log_odds_of
from smalti.transforms.identifiability import gaussian_advantage
from smalti.transforms.learning._jax import jax
from smalti.transforms.learning.accounting import SampledGaussian
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.sensitivity import NeighboringRelation

NETWORK = Architecture(4, (), 3)
CLIPPED = 1e-3
"""So small that every gradient is clipped: both data sets are one norm apart in each step."""


def records(seed: int, count: int) -> LabelledRecords:
    generator = np.random.default_rng(seed)
    features = generator.random((count, NETWORK.features)).astype(np.float32)
    return LabelledRecords(features, generator.integers(0, NETWORK.classes, count))


def experiment(noise: float, rate: float, epochs: int, *, is_bounded: bool = False) -> TrainingExperiment:
    pair = NeighboringPair(records(1, 20), records(2, 1), records(7, 1) if is_bounded else None)
    private = PrivateTraining(noise, CLIPPED, rate)
    return TrainingExperiment(NETWORK, Hyperparameters(epochs, 20, 1e-2, Optimizer.ADAM, private), pair)


def run(of: TrainingExperiment, repetitions: int, seed: int = 3) -> Beliefs:
    return of.run(repetitions, np.random.default_rng(seed), Seeded(seed))


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_a_step_says_what_the_densities_say(rate: float) -> None:
    generator, deviation = np.random.default_rng(4), 0.7
    rest, first, second = generator.normal(size=(3, 5))
    with jax.enable_x64(True):
        odds = [_log_odds_of(rest, gradient, deviation, rate) for gradient in (first, second)]
        found = float(odds[0] - odds[1])
    densities = [
        rate * stats.norm.pdf(rest, gradient, deviation).prod()
        + (1 - rate) * stats.norm.pdf(rest, 0, deviation).prod()
        for gradient in (first, second)
    ]
    assert found == pytest.approx(math.log(densities[0] / densities[1]))
    if rate == 1:
        given = (rest[None], first[None], second[None], np.array([deviation]))
        assert found == pytest.approx(log_odds_of_step(*given)[0])


def test_without_sampling_the_advantage_is_that_of_the_noise() -> None:
    """Four steps at a noise multiplier of two: mu is 1."""
    found = run(experiment(2.0, 1.0, 4), 3000)
    np.testing.assert_allclose(found.mu, 1.0, rtol=1e-3)
    low, high = share_within(found.wins, 3000)
    assert low <= (1 + gaussian_advantage(1.0)) / 2 <= high
    mean = found.losses.mean()
    assert abs(mean - 0.5) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(3000)
    assert found.advantage(0.999).lower > 0.25
    assert found.weights.shape == (3000, 0)


def test_with_sampling_and_hardly_any_noise_a_batch_tells_who_is_in_it() -> None:
    """The adversary takes off the very batch of the training: else the noise could not be this small."""
    rate, steps, count = 0.25, 4, 600
    found = run(experiment(1e-2, rate, 1), count)
    absent = steps * math.log1p(-rate)
    np.testing.assert_allclose(found.log_odds[~found.first_used], absent, rtol=1e-5)
    seen = found.log_odds[found.first_used] > absent * 0.999
    assert (found.log_odds[found.first_used][seen] > 100).all()
    low, high = share_within(int(seen.sum()), seen.size)
    assert low <= 1 - (1 - rate) ** steps <= high


@pytest.mark.slow
def test_a_record_in_the_place_of_another_is_twice_as_far() -> None:
    """Gradients of two classes point apart; with sampling the noise hides more than without."""
    found = run(experiment(2.0, 1.0, 4, is_bounded=True), 2000)
    assert 1 < found.mu.min() <= found.mu.max() <= 2 * (1 + 1e-6)
    low, high = share_within(found.wins, 2000)
    expected = np.mean([(1 + gaussian_advantage(mu)) / 2 for mu in found.mu])
    assert low <= expected <= high
    sampled = run(experiment(2.0, 0.25, 1, is_bounded=True), 2000)
    assert sampled.advantage(0.999).upper < found.advantage(0.999).lower


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_with_sampling_no_more_is_found_than_the_accountant_says(noise: float) -> None:
    """And nearly as much, for every gradient is clipped."""
    of, count = experiment(noise, 0.25, 2), 4000
    found = run(of, count)
    steps = of.hyperparameters.private_steps
    stated = SampledGaussian(noise, 0.25, steps, NeighboringRelation.ADD_OR_REMOVE_ONE).advantage
    low, high = share_within(found.wins, count)
    assert 2 * low - 1 <= stated
    assert 2 * high - 1 > stated * 0.8


def test_what_is_no_experiment_is_refused() -> None:
    pair, private = NeighboringPair(records(1, 1), records(2, 1)), PrivateTraining(1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="private training"):
        TrainingExperiment(NETWORK, Hyperparameters(1, 1, 0.1), pair)
    alone = NeighboringPair(records(1, 0), records(2, 1))
    with pytest.raises(ValueError, match="both data sets share"):
        TrainingExperiment(NETWORK, Hyperparameters(1, 1, 0.1, private=private), alone)
    with pytest.raises(ValueError, match="repetition"):
        run(experiment(1.0, 1.0, 1), 0)
