"""The adversary against DP-SGD on real data: scikit-learn's digits, softmax regression, C = 1, 30 steps.

5,000 repetitions. An advantage is off by more than 3 standard errors with probability 0.003, more beliefs
above the bound than allowed come up with probability 1e-4; seeds are fixed.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from smalti.transforms.auditing.differential_identifiability import (
    Beliefs,
    Experiment,
    StepSensitivity,
    global_sensitivity,
    local_sensitivity,
    loss_threshold,
)
from smalti.transforms.auditing.empirical_epsilon import from_advantage, from_sensitivities
from smalti.transforms.auditing.epsilon_bounds import clopper_pearson_by_ranks, gaussian
from smalti.transforms.auditing.neighbors import (
    Distance,
    NeighboringPair,
    StructuralDissimilarity,
    most_dissimilar_record,
    most_dissimilar_replacement,
)
from smalti.transforms.auditing.network_gradients import LabelledRecords, NetworkGradients
from smalti.transforms.identifiability import (
    epsilon_for_belief,
    gaussian_advantage,
    mu_for_belief,
    mu_for_epsilon,
)
from smalti.transforms.learning.architecture import Architecture

STEPS, REPETITIONS, BELIEF, DELTA, RECORDS = 30, 5000, 0.9, 0.01, 100
EPSILON = epsilon_for_belief(BELIEF)
EXACT = math.sqrt(STEPS) / mu_for_epsilon(EPSILON, DELTA)
BY_BELIEF = math.sqrt(STEPS) / mu_for_belief(BELIEF, DELTA)
GRADIENTS = NetworkGradients(Architecture(64, (), 10), 1.0)
IMAGES = StructuralDissimilarity(8, 8, 1.0)

Pair = NeighboringPair[LabelledRecords]


def digits(first: int, last: int) -> LabelledRecords:
    features, labels = load_digits(return_X_y=True)
    return LabelledRecords(
        (features[first:last] / 16).astype(np.float32), labels[first:last].astype(np.int64)
    )


def chosen(data: LabelledRecords, kept: np.ndarray) -> LabelledRecords:
    return LabelledRecords(data.features[kept], data.labels[kept])


def unbounded() -> Pair:
    data = digits(0, RECORDS)
    removed = np.arange(RECORDS) == most_dissimilar_record(data.features.astype(float), IMAGES)
    return NeighboringPair(chosen(data, ~removed), chosen(data, removed))


def bounded() -> Pair:
    data, others = digits(0, RECORDS), digits(RECORDS, 400)
    old, new = most_dissimilar_replacement(
        data.features.astype(float), others.features.astype(float), Distance.EUCLIDEAN
    )
    changed = np.arange(RECORDS) == old
    put_in = np.arange(len(others.labels)) == new
    return NeighboringPair(chosen(data, ~changed), chosen(data, changed), chosen(others, put_in))


def run(pair: Pair, noise_multiplier: float, sensitivity: StepSensitivity | None = None) -> Beliefs:
    experiment = Experiment(
        pair=pair,
        gradient_sum=GRADIENTS,
        sensitivity=sensitivity or local_sensitivity(GRADIENTS, [pair]),
        noise_multiplier=noise_multiplier,
        steps=STEPS,
        learning_rate=5 / RECORDS,
        initial_weights=np.zeros(GRADIENTS.architecture.size),
    )
    return experiment.run(REPETITIONS, np.random.default_rng(51))


@cache
def exact_and_unbounded() -> Beliefs:
    return run(unbounded(), EXACT)


def exact_and_bounded() -> Beliefs:
    return run(bounded(), EXACT)


def has_advantage(beliefs: Beliefs, mu: float) -> bool:
    value = beliefs.advantage(0.95).value
    assert value is not None
    return abs(value - gaussian_advantage(mu)) <= 3 / math.sqrt(REPETITIONS)


@pytest.mark.slow
@pytest.mark.parametrize("found", [exact_and_unbounded, exact_and_bounded])
def test_exact_noise_gives_the_advantage_of_theory_and_more_beliefs_than_delta(
    found: Callable[[], Beliefs],
) -> None:
    beliefs = found()
    mu = math.sqrt(STEPS) / EXACT
    assert round(gaussian_advantage(mu), 3) == 0.369
    assert has_advantage(beliefs, mu)
    np.testing.assert_allclose(beliefs.mu, mu, rtol=1e-9)
    assert from_sensitivities(beliefs, DELTA) == pytest.approx(EPSILON)
    by_advantage = from_advantage(beliefs, DELTA, 0.999)
    assert by_advantage.lower <= EPSILON <= by_advantage.upper
    for bound in (gaussian, clopper_pearson_by_ranks):
        assert 0.5 < bound(beliefs.scores, DELTA, 0.999).epsilon <= EPSILON
    assert beliefs.chance_of_belief_above(BELIEF, 0.999).lower > DELTA


@pytest.mark.slow
def test_noise_calibrated_for_belief_keeps_its_promise() -> None:
    beliefs = run(unbounded(), BY_BELIEF)
    allowed = stats.binom.ppf(1 - 1e-4, REPETITIONS, DELTA)
    assert allowed == round(0.0156 * REPETITIONS)
    assert beliefs.beliefs_above(BELIEF) <= allowed
    assert has_advantage(beliefs, math.sqrt(STEPS) / BY_BELIEF)


@pytest.mark.slow
def test_with_global_sensitivity_the_noise_is_more_than_this_pair_needs() -> None:
    """As the paper has it for Adult: once the record is learned, its gradient is shorter than C."""
    pair = unbounded()
    beliefs = run(pair, EXACT, global_sensitivity(1.0, pair.relation))
    assert beliefs.mu.max() <= math.sqrt(STEPS) / EXACT
    assert np.median(beliefs.mu) < 0.9 * math.sqrt(STEPS) / EXACT
    assert from_sensitivities(beliefs, DELTA) <= EPSILON
    # Each repetition has its own mu: their advantages lie between those of the least and the greatest.
    least, greatest = (gaussian_advantage(float(mu)) for mu in (beliefs.mu.min(), beliefs.mu.max()))
    found = beliefs.advantage(0.999)
    assert found.lower <= greatest
    assert found.upper >= least


@pytest.mark.slow
def test_yeoms_adversary_has_less_advantage() -> None:
    """Proposition 1: who sees the gradients, and knows both data sets, is the stronger adversary."""
    pair, beliefs = unbounded(), exact_and_unbounded()
    losses = GRADIENTS.losses(beliefs.weights, pair.first_only)[:, 0]
    shared = GRADIENTS.losses(beliefs.weights, pair.shared).sum(axis=1)
    means = (shared + np.where(beliefs.first_used, losses, 0)) / (RECORDS - 1 + beliefs.first_used)
    yeom = loss_threshold(losses, means, beliefs.first_used).advantage(0.999)
    assert yeom.upper < beliefs.advantage(0.999).lower
