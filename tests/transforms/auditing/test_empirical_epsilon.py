"""The three empirical epsilons: what each finds, and which of them are bounds.

Of 500 simulated limits (100 in the normal run), 455 (85) must hold: fewer come up with probability 1e-4 if
they hold with probability 0.95. Seeds are fixed.
"""

import math

import numpy as np
import pytest
from effort import is_full
from scipy import stats

from smalti.transforms.auditing.differential_identifiability import Beliefs
from smalti.transforms.auditing.empirical_epsilon import (
    classic_from_advantage,
    from_advantage,
    from_belief_quantile,
    from_largest_belief,
    from_sensitivities,
)
from smalti.transforms.identifiability import (
    classic_gaussian_epsilon,
    epsilon_for_belief,
    gaussian_epsilon,
    loss_quantile,
    mu_for_epsilon,
)

DELTA = 0.01
EPSILON = epsilon_for_belief(0.9)
MU = mu_for_epsilon(EPSILON, DELTA)
DRAWS = 500 if is_full() else 100
AT_LEAST = int(stats.binom.ppf(1e-4, DRAWS, 0.95))


def beliefs(generator: np.random.Generator, count: int = 1000) -> Beliefs:
    """What the adversary believes after a Gaussian release: losses are normal."""
    used = generator.random(count) < 0.5
    losses = generator.normal(MU**2 / 2, MU, count)
    return Beliefs(np.where(used, losses, -losses), used, np.full(count, MU), np.zeros((count, 1)))


def winning(wins: int, count: int) -> Beliefs:
    odds = np.where(np.arange(count) < wins, 1.0, -1.0)
    return Beliefs(odds, np.ones(count, bool), np.ones(count), np.zeros((count, 1)))


def test_sensitivities_give_the_epsilon_of_the_noise() -> None:
    found = beliefs(np.random.default_rng(41))
    assert from_sensitivities(found, DELTA) == pytest.approx(EPSILON)
    found.mu[7] = 2 * MU
    assert from_sensitivities(found, DELTA) == pytest.approx(gaussian_epsilon(DELTA, 2 * MU))


def test_the_largest_belief_grows_past_the_true_epsilon() -> None:
    """So it is shown, and no lower bound."""
    found = beliefs(np.random.default_rng(42), 5000)
    few, many = (Beliefs(found.log_odds[:n], found.first_used[:n], MU, MU) for n in (50, 5000))
    assert from_largest_belief(few) < from_largest_belief(many) == found.losses.max()
    assert from_largest_belief(many) > 1.5 * EPSILON


def test_limits_hold_in_simulation() -> None:
    generator = np.random.default_rng(43)
    held = np.zeros(4, np.int64)
    quantile = loss_quantile(DELTA, MU)
    assert quantile > EPSILON
    for _ in range(DRAWS):
        found = beliefs(generator)
        by_belief = from_belief_quantile(found, DELTA, 0.95)
        by_advantage = from_advantage(found, DELTA, 0.95)
        held += (
            by_belief.lower <= quantile,
            by_belief.upper >= quantile,
            by_advantage.lower <= EPSILON,
            by_advantage.upper >= EPSILON,
        )
    assert (held >= AT_LEAST).all()
    assert 0.7 * quantile < by_belief.lower < by_belief.upper < 1.5 * quantile
    assert 0.6 * EPSILON < by_advantage.lower < by_advantage.upper < 1.4 * EPSILON


def test_a_quantile_takes_enough_repetitions() -> None:
    generator = np.random.default_rng(44)
    few = from_belief_quantile(beliefs(generator, 90), DELTA, 0.95)
    assert (few.value, few.upper) == (None, math.inf)
    assert few.lower > 0
    enough = from_belief_quantile(beliefs(generator, 300), DELTA, 0.95)
    assert enough.value is not None
    assert enough.lower <= enough.value <= enough.upper < math.inf
    losses = Beliefs(np.arange(100.0), np.ones(100, bool), np.ones(100), np.ones((100, 1)))
    assert from_belief_quantile(losses, 0.1, 0.5).value == 89.0
    assert from_belief_quantile(winning(0, 100), 0.1, 0.95).upper == 0.0
    with pytest.raises(ValueError, match="delta"):
        from_belief_quantile(losses, 0.0, 0.5)


def test_advantage_gives_the_epsilon_of_its_mu() -> None:
    found = from_advantage(winning(650, 1000), DELTA, 0.95)
    assert found.value == pytest.approx(gaussian_epsilon(DELTA, 2 * stats.norm.ppf(0.65)))
    low = stats.binomtest(650, 1000).proportion_ci(0.9).low
    assert found.lower == pytest.approx(gaussian_epsilon(DELTA, 2 * stats.norm.ppf(low)))
    assert classic_from_advantage(winning(650, 1000), DELTA) == pytest.approx(
        classic_gaussian_epsilon(0.3, DELTA)
    )


def test_a_coin_and_an_oracle() -> None:
    coin, oracle = winning(50, 100), winning(100, 100)
    assert from_advantage(coin, DELTA, 0.95).value == classic_from_advantage(coin, DELTA) == 0.0
    assert from_advantage(oracle, DELTA, 0.95).value == classic_from_advantage(oracle, DELTA) == math.inf
    assert from_advantage(oracle, DELTA, 0.95).lower < math.inf
