"""Losses of releases together: exact sums, and statements that hold for what was released."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.identifiability import chance_of_excess, gaussian_advantage, gaussian_delta
from smalti.transforms.loss.belief import belief_after
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.numeric_perturbation import Grid, NumericPerturbation
from smalti.transforms.noise.pixelation import Pixelation
from smalti.transforms.noise.randomized_response import RandomizedResponse, TwoCoins
from smalti.transforms.noise.samplers import ExponentialChoice, GaussianNoise, LaplaceNoise
from smalti.transforms.sensitivity import Bounds, Contribution, Query, count

losses = st.builds(
    PrivacyLoss, st.fractions(0, 5, max_denominator=1000), st.fractions(0, 9, max_denominator=1000)
)


@settings(max_examples=examples(50, full=1000))
@given(st.lists(losses, max_size=6), st.randoms())
def test_sums_do_not_depend_on_the_order(parts: list[PrivacyLoss], random: object) -> None:
    shuffled = list(parts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    total = sum(parts, PrivacyLoss())
    assert total == sum(shuffled, PrivacyLoss())
    assert total.pure == sum(part.pure for part in parts)


@settings(max_examples=examples(50, full=1000))
@given(losses, losses, st.floats(1e-9, 0.4))
def test_more_releases_never_state_less(one: PrivacyLoss, other: PrivacyLoss, delta: float) -> None:
    both = one + other
    assert both.epsilon(delta) >= one.epsilon(delta) * (1 - 1e-9)
    assert both.advantage >= one.advantage - 1e-12
    assert both.belief(delta) >= one.belief(delta) - 1e-12
    assert both.delta(both.epsilon(delta)) <= delta * (1 + 1e-9)


def test_a_pure_release_states_its_epsilon_belief_and_advantage() -> None:
    one = count(Query())
    loss = LaplaceNoise.calibrated(one.l1, Fraction(11, 10)).loss(one)
    assert loss.epsilon(0.0) == pytest.approx(1.1)
    assert f"{loss.advantage:.2f}" == "0.50"
    assert loss.belief(0.0) == pytest.approx(1 / (1 + math.exp(-1.1)))
    assert loss.delta(1.2) == 0.0
    coins = TwoCoins().loss
    assert coins.belief(0.0) == pytest.approx(0.75)


def test_a_gaussian_release_states_what_its_noise_gives() -> None:
    hundred = count(Query(contribution=Contribution(rows=100)))
    release = GaussianNoise.calibrated(hundred.l2_squared, 0.9).loss(hundred)
    assert 0.89 <= release.mu <= 0.9
    loss = release + release
    assert loss.mu == pytest.approx(release.mu * math.sqrt(2))
    assert loss.advantage == pytest.approx(gaussian_advantage(loss.mu))
    assert loss.delta(2.0) == pytest.approx(gaussian_delta(2.0, loss.mu))
    belief = loss.belief(0.01)
    assert belief == belief_after(0.0, loss.mu, 0.01)
    # What is made from it can exceed the quantile of normal noise, too: this belief is larger than that.
    assert chance_of_excess(math.log(belief / (1 - belief)), loss.mu) < 0.01
    assert belief > 1 / (1 + math.exp(-loss.epsilon(0.01)))


def test_a_mixed_composition_is_bounded_by_what_is_stated() -> None:
    """Two coins and a Gaussian release together, by summation over all outcomes on a fine grid."""
    mu, step = 0.8, 0.001
    grid = np.arange(-9, 9, step)
    density, moved = (
        np.exp(-((grid - shift) ** 2) / 2) * step / math.sqrt(2 * math.pi) for shift in (0, mu)
    )
    pairs = [(a * density, b * moved) for a, b in ((0.75, 0.25), (0.25, 0.75))]
    loss = PrivacyLoss.of_pure(TwoCoins().epsilon) + PrivacyLoss.of_gaussian(mu)
    assert sum(np.abs(p - q).sum() / 2 for p, q in pairs) <= loss.advantage
    for (epsilon, delta), sign in product(((0.5, 0.1), (1.0, 0.05), (2.0, 0.01), (3.0, 0.001)), (1, -1)):
        both = [pair[::sign] for pair in pairs]
        assert sum(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in both) <= loss.delta(epsilon)
        belief = loss.belief(delta)
        assert sum(p[p > belief * (p + q)].sum() for p, q in both) <= delta * (1 + 1e-3)


def test_losses_are_not_negative() -> None:
    for parts in ((Fraction(-1), Fraction(0)), (Fraction(0), Fraction(-1))):
        with pytest.raises(ValueError, match="negative"):
            PrivacyLoss(*parts)


def test_what_stands_in_a_plan_is_hashable_and_pickles() -> None:
    grid = Grid(Bounds(Fraction(0), Fraction(1)), Fraction(1, 8))
    for step in (
        PrivacyLoss.of_gaussian(0.5),
        NumericPerturbation.laplace(grid, Fraction(1)),
        RandomizedResponse.calibrated(3, 1.0),
        TwoCoins(),
        Pixelation.calibrated(4, 4, 4, 16, Fraction(1)),
        ExponentialChoice.calibrated(Fraction(1), Fraction(1)),
        count(Query()),
    ):
        assert pickle.loads(pickle.dumps(step)) == step
        assert hash(step) == hash(replace(step))
