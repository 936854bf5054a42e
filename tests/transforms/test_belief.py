"""Beliefs after what is made from Gaussian releases: exact distributions, put together in any way."""

import math
from fractions import Fraction
from random import Random
from statistics import NormalDist

import numpy as np
import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smalti.transforms.identifiability import loss_quantile, mu_for_belief, posterior_belief
from smalti.transforms.loss.belief import belief_after, largest_loss, mu_for_largest_loss
from smalti.transforms.noise.samplers import GaussianNoise

deltas = st.sampled_from([1e-9, 1e-6, 1e-3, 0.05, 0.3, 0.7])
Mass = np.ndarray


def shifted(scale: float, shift: int) -> tuple[Mass, Mass]:
    """The distribution of discrete Gaussian noise, and of the noise shifted."""
    places = np.arange(-int(14 * scale) - 30, int(14 * scale) + 31)
    weights = np.exp(-((places / scale) ** 2) / 2)
    moved = np.exp(-(((places - shift) / scale) ** 2) / 2)
    return weights / weights.sum(), moved / moved.sum()


def exceeded(one: Mass, other: Mass, epsilon: float) -> float:
    """The probability of a loss above epsilon, which may be too large for its exponential."""
    with np.errstate(divide="ignore"):
        return float(one[np.log(one) > epsilon + np.log(other)].sum())


def put_together(mass: Mass, parts: np.ndarray) -> Mass:
    return np.bincount(parts, weights=mass)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.floats(0.4, 20), st.integers(1, 12), deltas, st.integers(1, 40), st.randoms(use_true_random=False)
)
@example(0.4, 12, 1e-9, 40, Random(0))
def test_no_loss_is_exceeded_more_often_whatever_is_put_together(
    scale: float, shift: int, delta: float, parts: int, random: object
) -> None:
    one, other = shifted(scale, shift)
    epsilon = largest_loss(delta, GaussianNoise(Fraction(scale)).mu(Fraction(shift**2)))
    generator = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    for merge in (
        np.arange(len(one)),
        generator.integers(0, parts, len(one)),
        np.arange(len(one)) // parts,
        (np.arange(len(one)) > generator.integers(0, len(one))).astype(int),
    ):
        both = put_together(one, merge), put_together(other, merge)
        for pair in (both, both[::-1]):
            assert exceeded(*pair, epsilon) <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1.25, 1), (100.0, 30)])
def test_the_loss_of_a_normal_variable_is_exceeded_more_often_than_it_says(
    scale: float, shift: int
) -> None:
    """So beliefs that are calibrated on it would not hold: on small numbers, or where values are merged."""
    delta, (one, other) = 0.001, shifted(scale, shift)
    mu = GaussianNoise(Fraction(scale)).mu(Fraction(shift**2))
    worst = {}
    for epsilon in (loss_quantile(delta, mu), largest_loss(delta, mu)):
        thresholds = [np.arange(len(one)) >= c for c in range(len(one))]
        pairs = [(other, one)] + [
            (put_together(other, at.astype(int)), put_together(one, at.astype(int))) for at in thresholds
        ]
        worst[epsilon] = max(exceeded(*pair, epsilon) for pair in pairs)
    formula, ours = worst.values()
    assert formula > 1.5 * delta
    assert ours <= delta


def test_the_loss_is_reached_by_one_threshold() -> None:
    """Whether a normal variable is above its (1 - delta)-quantile has the stated loss with delta."""
    for delta, mu in ((0.01, 0.5), (1e-6, 1.0), (0.2, 2.0)):
        # P of the shifted is delta, Q of the other one Phi(-q - mu).
        q = -NormalDist().inv_cdf(delta)
        shown = math.log(delta / (math.erfc((q + mu) / math.sqrt(2)) / 2))
        assert shown <= largest_loss(delta, mu) <= shown * (1 + 1e-9)
        assert largest_loss(delta, mu) > loss_quantile(delta, mu)


def test_pure_losses_beside_it_add_up() -> None:
    """Two coins and discrete Gaussian noise, put together by what both say."""
    scale, delta = 2.0, 0.01
    one, other = shifted(scale, 1)
    mu = GaussianNoise(Fraction(scale)).mu(Fraction(1))
    belief = belief_after(math.log(3), mu, delta)
    generator = np.random.default_rng(5)
    both = np.concatenate((one * 0.75, one * 0.25)), np.concatenate((other * 0.25, other * 0.75))
    for parts in (3, 10, 1000):
        merge = generator.integers(0, parts, len(both[0]))
        p, q = (put_together(mass, merge) for mass in both)
        assert p[p > belief * (p + q)].sum() <= delta
        assert q[q > belief * (p + q)].sum() <= delta


@settings(max_examples=examples(100))
@given(st.floats(1e-9, 50), deltas)
def test_calibrated_mu_keeps_and_reaches_the_loss(epsilon: float, delta: float) -> None:
    mu = mu_for_largest_loss(epsilon, delta)
    assert largest_loss(delta, mu) <= epsilon
    assert largest_loss(delta, mu * (1 + 1e-6) + 1e-12) > epsilon * (1 - 1e-3)


def test_it_takes_a_little_more_noise_than_a_normal_variable_alone() -> None:
    for belief, delta in ((0.75, 0.01), (0.9, 0.001), (0.75, 1e-6)):
        mu = mu_for_largest_loss(math.log(belief / (1 - belief)), delta)
        assert 0.8 * mu_for_belief(belief, delta) <= mu <= mu_for_belief(belief, delta)
        assert belief_after(0.0, mu, delta) == pytest.approx(belief, abs=1e-9)


def test_far_tails_are_bounded() -> None:
    for x in (20.0, 29.0, 31.0, 100.0, 1e6):
        epsilon = largest_loss(0.5, x)
        assert x * x / 2 <= epsilon <= x * x / 2 + math.log(x) + 2
    assert largest_loss(0.5, 29.9999) < largest_loss(0.5, 30.0001) < largest_loss(0.5, 29.9999) + 0.01


def test_nothing_lost_is_nothing_believed() -> None:
    assert belief_after(0.0, 0.0, 0.0) == 0.5
    assert largest_loss(0.1, 0.0) == 0.0
    assert belief_after(1.1, 0.0, 0.0) == posterior_belief(1.1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        largest_loss(0.0, 1.0)
    with pytest.raises(ValueError, match="from 0"):
        largest_loss(0.1, -1.0)
