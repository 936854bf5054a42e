"""Accounts of private training: against printed figures, exact formulas and explicit distributions."""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

from smalti.transforms import identifiability
from smalti.transforms.learning.accounting import (
    LossLimit,
    LossMeasure,
    SampledGaussian,
    noise_multiplier_for,
)
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining
from smalti.transforms.loss import belief
from smalti.transforms.sensitivity import NeighboringRelation

CHANGE_ONE = NeighboringRelation.CHANGE_ONE
STANDARD = NormalDist()


@pytest.mark.parametrize(
    ("noise_multiplier", "printed"), [(2, 3.03), (4, 1.30), (6, 0.82), (8, 0.59), (16, 0.27)]
)
def test_renyi_accounts_of_the_comparison(noise_multiplier: float, printed: float) -> None:
    """D5.2, 4.3: batches of 100 of 10,000 records, 200 epochs, delta 1/n; the modern conversion."""
    mechanism = SampledGaussian(noise_multiplier, 0.01, 20_000)
    assert mechanism.epsilon_by_renyi(1e-4) == pytest.approx(printed, abs=0.006)


@pytest.mark.parametrize(("noise_multiplier", "delta"), [(4.0, 1e-5), (16.0, 1e-4)])
def test_loss_distributions_are_tighter(noise_multiplier: float, delta: float) -> None:
    mechanism = SampledGaussian(noise_multiplier, 0.01, 1000)
    epsilon = mechanism.epsilon(delta)
    assert 0.7 * mechanism.epsilon_by_renyi(delta) <= epsilon <= mechanism.epsilon_by_renyi(delta)
    assert mechanism.delta(epsilon) == pytest.approx(delta, rel=1e-3)
    assert epsilon < identifiability.gaussian_epsilon(delta, mechanism.mu)
    assert mechanism.advantage < identifiability.gaussian_advantage(mechanism.mu)
    assert mechanism.largest_loss(delta) > epsilon


@pytest.mark.parametrize(
    "neighbors", [NeighboringRelation.ADD_OR_REMOVE_ONE, pytest.param(CHANGE_ONE, marks=pytest.mark.slow)]
)
def test_sampling_nearly_everybody_is_nearly_gaussian(neighbors: NeighboringRelation) -> None:
    nearly, exact = (SampledGaussian(4.0, rate, 4, neighbors) for rate in (0.9999, 1.0))
    assert exact.mu == (1.0 if neighbors is CHANGE_ONE else 0.5)
    assert exact.epsilon(0.01) == identifiability.gaussian_epsilon(0.01, exact.mu)
    assert exact.largest_loss(0.01) == belief.largest_loss(0.01, exact.mu)
    assert exact.advantage == pytest.approx(identifiability.gaussian_advantage(exact.mu))
    assert nearly.epsilon(0.01) == pytest.approx(exact.epsilon(0.01), rel=1e-3)
    assert nearly.largest_loss(0.01) == pytest.approx(exact.largest_loss(0.01), rel=1e-3)
    assert nearly.advantage == pytest.approx(exact.advantage, rel=1e-3)


def distributions(noise_multiplier: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """One step with the record and without it, on a fine grid."""
    places = np.linspace(-10 * noise_multiplier, 10 * noise_multiplier + 1, 40_001)
    densities = [np.exp(-(((places - shift) / noise_multiplier) ** 2) / 2) for shift in (0, 1)]
    without, moved = (density / density.sum() for density in densities)
    return rate * moved + (1 - rate) * without, without


def test_delta_and_advantage_are_those_of_one_step() -> None:
    mechanism = SampledGaussian(1.0, 0.2, 1)
    pair = distributions(1.0, 0.2)
    for epsilon in (0.0, 0.05, 0.2, 0.5):
        wanted = max(
            np.maximum(one - math.exp(epsilon) * other, 0).sum() for one, other in (pair, pair[::-1])
        )
        assert wanted * (1 - 1e-6) <= mechanism.delta(epsilon) <= wanted + 2e-5
    assert mechanism.advantage == pytest.approx(0.2 * (2 * STANDARD.cdf(0.5) - 1), abs=1e-4)


def exceeded(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    return float(one[one > math.exp(epsilon) * other].sum())


@pytest.mark.parametrize(
    ("rate", "delta"),
    [(0.2, 0.01), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in ((0.2, 0.2), (0.7, 0.001)))],
)
def test_no_loss_of_one_step_is_exceeded_more_often_however_it_is_processed(
    rate: float, delta: float
) -> None:
    """All thresholds, of which the best test is one, random parts and everything apart."""
    mechanism = SampledGaussian(1.0, rate, 1)
    epsilon = mechanism.largest_loss(delta)
    assert mechanism.belief(delta) == 1 / (1 + math.exp(-epsilon))
    worst = 0.0
    for one, other in (distributions(1.0, rate), distributions(1.0, rate)[::-1]):
        assert exceeded(one, other, epsilon) <= delta
        for p, q in ((one, other), (one[::-1], other[::-1])):
            above, beyond = np.cumsum(p), np.cumsum(q)
            worst = max(worst, above[above > math.exp(epsilon) * beyond].max(initial=0.0))
        parts = np.random.default_rng(0).integers(0, 50, len(one))
        merged = [np.bincount(parts, weights=mass) for mass in (one, other)]
        assert exceeded(*merged, epsilon) <= delta
    assert 0.9 * delta <= worst <= delta * (1 + 1e-3)


def test_epsilon_alone_would_be_exceeded_more_often() -> None:
    """So a belief must not be calibrated on it."""
    epsilon = SampledGaussian(1.0, 0.5, 1).epsilon(0.01)
    assert exceeded(*distributions(1.0, 0.5), epsilon) > 0.02


@pytest.mark.parametrize("steps", [10_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_rounding_of_many_steps_makes_no_delta_too_small(steps: int) -> None:
    """Nearly without sampling the true deltas are known; those of the arithmetic alone are below."""
    nearly, exact = (SampledGaussian(math.sqrt(steps), rate, steps) for rate in (1 - 1e-9, 1.0))
    assert nearly.rounding == steps / 2**43
    assert exact.rounding == 0
    for epsilon in np.linspace(exact.epsilon(1e-6), exact.epsilon(1e-10) + 1, 40):
        assert nearly.delta(epsilon) >= exact.delta(epsilon) * (1 - 1e-6)
    for delta in (1e-6, 3 * nearly.rounding):
        assert exact.epsilon(delta) < nearly.epsilon(delta) < 1.2 * exact.epsilon(delta)
        assert exact.largest_loss(delta) < nearly.largest_loss(delta) < 1.2 * exact.largest_loss(delta)


def test_no_delta_within_rounding_has_an_account() -> None:
    mechanism = SampledGaussian(300.0, 0.1, 10_000)
    for delta in (1e-10, mechanism.rounding):
        assert mechanism.epsilon(delta) == mechanism.largest_loss(delta) == math.inf
        assert mechanism.belief(delta) == 1


def test_to_change_one_loses_more() -> None:
    one, changed = SampledGaussian(2.0, 0.1, 20), SampledGaussian(2.0, 0.1, 20, CHANGE_ONE)
    assert 1.3 * one.epsilon(1e-5) < changed.epsilon(1e-5) < 4 * one.epsilon(1e-5)
    with pytest.raises(ValueError, match="adding or removing one"):
        changed.epsilon_by_renyi(1e-5)


@pytest.mark.parametrize("rate", [pytest.param(0.1, marks=pytest.mark.slow), 1.0])
@pytest.mark.parametrize(
    "limit",
    [
        LossLimit(LossMeasure.EPSILON, 2.0, 1e-5),
        LossLimit.of_belief(0.75, 0.01),
        LossLimit(LossMeasure.ADVANTAGE, 0.2),
    ],
)
def test_calibrated_noise_keeps_its_bound_and_is_hardly_more(limit: LossLimit, rate: float) -> None:
    multiplier = noise_multiplier_for(limit, rate, 10)
    assert limit.is_met_by(SampledGaussian(multiplier, rate, 10))
    assert not limit.is_met_by(SampledGaussian(multiplier * 0.997, rate, 10))


def test_bounds_that_are_met_anyway_take_the_least_noise_and_others_are_refused() -> None:
    assert noise_multiplier_for(LossLimit(LossMeasure.ADVANTAGE, 0.999999), 1.0, 1) == pytest.approx(0.3)
    with pytest.raises(ValueError, match="no noise multiplier"):
        noise_multiplier_for(LossLimit(LossMeasure.ADVANTAGE, 1e-9), 1.0, 1000)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: LossLimit(LossMeasure.EPSILON, 0.0, 1e-5),
        lambda: LossLimit(LossMeasure.LARGEST_LOSS, math.inf, 1e-5),
        lambda: LossLimit.of_belief(0.5, 1e-5),
        lambda: LossLimit.of_belief(1.0, 1e-5),
        lambda: LossLimit(LossMeasure.ADVANTAGE, 0.0),
        lambda: LossLimit(LossMeasure.ADVANTAGE, 1.0),
    ],
)
def test_bounds_that_are_none(wrong: Callable[[], LossLimit]) -> None:
    with pytest.raises(ValueError, match="a bound of this kind"):
        wrong()


def test_the_mechanism_of_a_training() -> None:
    training = Hyperparameters(3, 10, 0.1, private=PrivateTraining(2.0, 7.0, 0.25))
    assert SampledGaussian.of(training) == SampledGaussian(2.0, 0.25, 12)
    with pytest.raises(ValueError, match="without noise"):
        SampledGaussian.of(Hyperparameters(3, 10, 0.1))


@pytest.mark.parametrize(
    "wrong", [(0.2, 0.1, 1), (math.nan, 0.1, 1), (1.0, 0.0, 1), (1.0, 1.1, 1), (1.0, 0.1, 0)]
)
def test_mechanisms_without_an_account(wrong: tuple) -> None:
    with pytest.raises(ValueError, match=r"."):
        SampledGaussian(*wrong)


def test_deltas_that_are_too_small() -> None:
    for method in ("epsilon", "largest_loss", "belief"):
        with pytest.raises(ValueError, match="a delta lies"):
            getattr(SampledGaussian(1.0, 0.5, 2), method)(1e-12)
