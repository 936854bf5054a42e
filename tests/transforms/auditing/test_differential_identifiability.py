"""The adversary against theory: its beliefs, its advantage, and how often a belief is too large.

An advantage is off by more than 3 standard errors with probability 0.003, more beliefs than the bounds
here allow come up with probability 1e-4; seeds are fixed. Data sets here are a few points, whose mean is
learned; a real data set is in `test_digits.py`.
"""

import math

import numpy as np
import pytest
from scipy import stats

from smalti.transforms.auditing.differential_identifiability import (
    Beliefs,
    Experiment,
    StepSensitivity,
    global_sensitivity,
    local_sensitivity,
    log_odds_of_step,
    loss_threshold,
)
from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.auditing.neighbors import NeighboringPair
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.identifiability import (
    chance_of_excess,
    classic_gaussian_advantage,
    epsilon_for_belief,
    gaussian_advantage,
    mu_for_belief,
    mu_for_epsilon,
)
from smalti.transforms.loss.belief import mu_for_largest_loss
from smalti.transforms.sensitivity import NeighboringRelation

STEPS, REPETITIONS, BELIEF, DELTA = 30, 5000, 0.9, 0.01
EPSILON = epsilon_for_belief(BELIEF)
EXACT = math.sqrt(STEPS) / mu_for_epsilon(EPSILON, DELTA)
BY_BELIEF = math.sqrt(STEPS) / mu_for_belief(BELIEF, DELTA)
STANDARD_ERROR = 1 / math.sqrt(REPETITIONS)
"""Of an advantage, at most: twice that of a share of one half."""

POINTS = np.array([[1.0, 0.2], [-0.3, 0.4], [0.1, -2.0]])
UNBOUNDED = NeighboringPair(POINTS[:2], POINTS[2:])
BOUNDED = NeighboringPair(POINTS[:2], POINTS[2:], np.array([[-1.0, 3.0]]))


def clipped_sum(weights: Floats, data: Floats) -> Floats:
    """Of half of the squared distance from each point, clipped to 1."""
    gradients = weights[:, None, :] - data[None, :, :]
    lengths = np.linalg.norm(gradients, axis=2, keepdims=True)
    return np.asarray((gradients / np.maximum(1, lengths)).sum(axis=1), np.float64)


def experiment(
    noise_multiplier: float,
    pair: NeighboringPair[Floats] = UNBOUNDED,
    sensitivity: StepSensitivity | None = None,
    learning_rate: float = 0.01,
) -> Experiment[Floats]:
    return Experiment(
        pair=pair,
        gradient_sum=clipped_sum,
        sensitivity=sensitivity or local_sensitivity(clipped_sum, [pair]),
        noise_multiplier=noise_multiplier,
        steps=STEPS,
        learning_rate=learning_rate,
        initial_weights=np.zeros(2),
    )


def run(noise_multiplier: float, pair: NeighboringPair[Floats] = UNBOUNDED, seed: int = 31) -> Beliefs:
    return experiment(noise_multiplier, pair).run(REPETITIONS, np.random.default_rng(seed))


@pytest.mark.parametrize("pair", [UNBOUNDED, BOUNDED], ids=["unbounded", "bounded"])
def test_advantage_is_that_of_the_noise_used(pair: NeighboringPair[Floats]) -> None:
    found = run(EXACT, pair).advantage(0.999)
    assert found.value is not None
    theory = gaussian_advantage(math.sqrt(STEPS) / EXACT)
    assert round(theory, 3) == 0.369
    assert abs(found.value - theory) <= 3 * STANDARD_ERROR
    assert found.lower <= theory <= found.upper
    # The closed form for the same epsilon and delta is no bound: it is 6 standard errors below.
    assert found.lower > classic_gaussian_advantage(EPSILON, DELTA)
    assert round(classic_gaussian_advantage(EPSILON, DELTA), 3) == 0.276


def test_beliefs_exceed_their_bound_as_often_as_the_calibration_says() -> None:
    allowed = int(stats.binom.ppf(1 - 1e-4, REPETITIONS, DELTA))
    assert allowed == round(0.0156 * REPETITIONS)
    calibrated, exact = run(BY_BELIEF), run(EXACT)
    assert calibrated.beliefs_above(BELIEF) <= allowed
    assert exact.beliefs_above(BELIEF) > allowed
    for beliefs, noise in ((calibrated, BY_BELIEF), (exact, EXACT)):
        figure = beliefs.chance_of_belief_above(BELIEF, 0.9999)
        chance = chance_of_excess(EPSILON, math.sqrt(STEPS) / noise)
        assert figure.lower <= chance <= figure.upper
        assert figure.value == beliefs.beliefs_above(BELIEF) / REPETITIONS
        assert beliefs.beliefs_above(BELIEF) == (beliefs.in_the_used > BELIEF).sum()
    assert exact.chance_of_belief_above(BELIEF, 0.999).lower > DELTA


def test_a_distance_that_depends_on_earlier_steps_takes_the_general_calibration() -> None:
    """A gradient that vanishes once the belief is too large leaves it there more often than delta."""
    generator, repetitions = np.random.default_rng(38), 100_000
    allowed = stats.binom.ppf(1 - 1e-4, repetitions, DELTA)

    def beliefs_above(mu: float) -> int:
        deviations = np.full(repetitions, math.sqrt(STEPS) / mu)
        odds, second = np.zeros(repetitions), np.zeros((repetitions, 1))
        for _ in range(STEPS):
            first = (odds <= EPSILON).astype(float)[:, None]
            observed = first + deviations[:, None] * generator.standard_normal(first.shape)
            odds += log_odds_of_step(observed, first, second, deviations)
        return int((odds > EPSILON).sum())

    assert beliefs_above(mu_for_belief(BELIEF, DELTA)) > 1.2 * allowed
    assert beliefs_above(mu_for_largest_loss(EPSILON, DELTA)) <= allowed


def test_losses_are_normal_with_the_mean_and_deviation_of_theory() -> None:
    beliefs, mu = run(EXACT), math.sqrt(STEPS) / EXACT
    np.testing.assert_allclose(beliefs.mu, mu, rtol=1e-12)
    for used in (beliefs.first_used, ~beliefs.first_used):
        assert used.sum() > 0.45 * REPETITIONS
        assert stats.kstest(beliefs.losses[used], stats.norm(mu**2 / 2, mu).cdf).pvalue > 1e-6


def test_steps_are_added_up_as_the_densities_say() -> None:
    """Lemma 1: the product of the likelihood ratios; and the same by updating a prior step by step."""
    generator = np.random.default_rng(32)
    first, second, observed = generator.normal(size=(3, 7, 4, 3))
    deviations = generator.uniform(2, 4, (7, 4))
    odds, belief = np.zeros(4), np.full(4, 0.5)
    for step in range(7):
        odds += log_odds_of_step(observed[step], first[step], second[step], deviations[step])
        scale = deviations[step][:, None]
        one = stats.norm.pdf(observed[step], first[step], scale).prod(axis=1)
        other = stats.norm.pdf(observed[step], second[step], scale).prod(axis=1)
        belief = belief * one / (belief * one + (1 - belief) * other)
    used = np.array([True, False, True, False])
    beliefs = Beliefs(odds, used, np.zeros(4), np.zeros((4, 3)))
    np.testing.assert_allclose(beliefs.in_the_used, np.where(used, belief, 1 - belief))
    assert beliefs.wins == ((belief >= 0.5) == used).sum()


def test_certainty_neither_overflows_nor_is_rounded() -> None:
    beliefs = experiment(1e-3).run(50, np.random.default_rng(33))
    assert beliefs.wins == 50
    assert beliefs.losses.min() > 1e6
    assert (beliefs.in_the_used == 1).all()
    assert beliefs.advantage(0.95).upper == 1
    faint = Beliefs(np.array([1e-12]), np.array([False]), np.zeros(1), np.zeros((1, 1)))
    assert (faint.wins, faint.beliefs_above(0.5000001)) == (0, 0)


def test_data_sets_without_a_difference_are_not_told_apart() -> None:
    same = NeighboringPair(POINTS[:2], POINTS[2:], POINTS[2:])
    for sensitivity in (None, global_sensitivity(1.0, same.relation)):
        beliefs = experiment(1.0, same, sensitivity).run(200, np.random.default_rng(34))
        assert (beliefs.log_odds == 0).all()
        assert (beliefs.mu == 0).all()
        assert beliefs.wins == beliefs.first_used.sum()


def test_short_gradients_beside_long_ones_are_not_rounded() -> None:
    pair = NeighboringPair(np.ones((100, 2)), np.full((1, 2), 1e-15))

    def summed(weights: Floats, data: Floats) -> Floats:
        return np.tile(data.sum(axis=0), (len(weights), 1))

    sensitivity = local_sensitivity(summed, [pair])
    beliefs = Experiment(pair, summed, sensitivity, 2.0, STEPS, 0.01, np.zeros(2)).run(
        20, np.random.default_rng(35)
    )
    np.testing.assert_allclose(beliefs.mu, math.sqrt(STEPS) / 2, rtol=1e-12)


def test_a_difference_without_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="for certain"):
        log_odds_of_step(np.zeros((1, 2)), np.ones((1, 2)), np.zeros((1, 2)), np.zeros(1))


def test_global_sensitivity_bounds_every_step() -> None:
    for pair, factor in ((UNBOUNDED, 1), (BOUNDED, 2)):
        sensitivity = global_sensitivity(1.0, pair.relation)
        assert sensitivity(np.zeros((3, 2))).tolist() == [factor] * 3
        beliefs = experiment(2.0, pair, sensitivity, 0.1).run(300, np.random.default_rng(35))
        assert (beliefs.mu <= math.sqrt(STEPS) / 2.0 * (1 + 1e-12)).all()
    with pytest.raises(ValueError, match="clipping norm"):
        global_sensitivity(0.0, NeighboringRelation.CHANGE_ONE)


def test_local_sensitivity_is_the_largest_of_all_neighbours() -> None:
    weights = np.array([[0.0, 0.0], [0.1, -1.5]])
    pairs = [NeighboringPair(np.delete(POINTS, i, 0), POINTS[i : i + 1]) for i in range(3)]
    lengths = [np.linalg.norm(clipped_sum(weights, POINTS[i : i + 1]), axis=1) for i in range(3)]
    found = local_sensitivity(clipped_sum, pairs)(weights)
    np.testing.assert_allclose(found, np.max(lengths, axis=0))
    assert (found <= 1).all()
    assert 0.4 < local_sensitivity(clipped_sum, pairs[2:])(weights)[1] < 0.6 < found[1]  # one pair only
    moved = local_sensitivity(clipped_sum, [BOUNDED])(weights)
    expected = np.linalg.norm(
        clipped_sum(weights, POINTS[2:]) - clipped_sum(weights, np.array([[-1.0, 3.0]])), axis=1
    )
    np.testing.assert_allclose(moved, expected)
    with pytest.raises(ValueError, match="at least one"):
        local_sensitivity(clipped_sum, [])


def test_too_little_noise_is_seen() -> None:
    """With a fifth less noise, the limits of the advantage no longer hold that of the promised noise."""
    found = run(EXACT * 0.8).advantage(0.95)
    assert found.lower > gaussian_advantage(math.sqrt(STEPS) / EXACT)


def test_the_model_is_trained_on_what_was_seen() -> None:
    """Nearly without noise the weights go to the mean of the data set that was used."""
    pair = NeighboringPair(np.array([[0.5, 0.0]]), np.array([[0.0, 0.5]]))
    beliefs = experiment(1e-9, pair, learning_rate=0.4).run(20, np.random.default_rng(36))
    means = {True: [0.25, 0.25], False: [0.5, 0.0]}
    for used, weights in zip(beliefs.first_used.tolist(), beliefs.weights, strict=True):
        np.testing.assert_allclose(weights, means[used], atol=1e-6)


def test_repetitions_are_independent_and_none_is_lost() -> None:
    whole = experiment(5.0).run(700, np.random.default_rng(37))
    assert (len(whole.log_odds), whole.weights.shape) == (700, (700, 2))
    assert np.unique(whole.log_odds).size == 700
    first = experiment(5.0).run(500, np.random.default_rng(37))
    np.testing.assert_array_equal(whole.log_odds[:500], first.log_odds)


def test_scores_are_those_of_the_data_set_used() -> None:
    beliefs = Beliefs(
        np.array([3.0, -1.0, 2.0]), np.array([True, False, False]), np.zeros(3), np.zeros((3, 1))
    )
    assert beliefs.scores.members.tolist() == [3.0]
    assert beliefs.scores.non_members.tolist() == [-1.0, 2.0]
    assert beliefs.losses.tolist() == [3.0, 1.0, -2.0]
    assert beliefs.wins == 2


def test_yeoms_adversary_compares_with_the_mean_training_loss() -> None:
    losses = np.array([0.1, 0.5, 0.2, 0.9])
    is_member = np.array([True, True, False, False])
    assert loss_threshold(losses, 0.2, is_member) == Outcomes(1, 2, 1, 2)
    assert loss_threshold(losses, np.array([0.05, 0.6, 0.1, 1.0]), is_member) == Outcomes(1, 2, 1, 2)
    with pytest.raises(ValueError, match="at least one member"):
        loss_threshold(losses, 0.2, np.zeros(4, bool))


def test_what_is_no_experiment_is_refused() -> None:
    with pytest.raises(ValueError, match="noise multiplier"):
        experiment(0.0)
    with pytest.raises(ValueError, match="repetition"):
        experiment(1.0).run(0, np.random.default_rng(1))
