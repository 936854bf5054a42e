"""The theorem about steps of the discrete Gaussian: its lemma, its statement, its figure to 50 digits."""

import math
from decimal import Decimal, localcontext
from statistics import NormalDist

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.noise.discrete_gaussian import EXACT_UPTO, largest_step, margin, total, weights

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


@settings(max_examples=examples(50))
@given(st.floats(1e-3, 60))
def test_the_slope_of_the_lemma_falls(b: float) -> None:
    """L'(t)/t, by summation over a fine grid."""
    y = np.linspace(-0.5, 0.5, 4001)
    slopes = []
    for t in np.geomspace(0.5, 200, 30):
        tilted = np.exp(t * (y - 0.5) - b * y * y / 2)
        slopes.append((y * tilted).sum() / tilted.sum() / t)
    assert (np.diff(slopes) < 0).all()


def steps(scale: float) -> np.ndarray:
    """h(j + 1) - h(j) from 0 on, down to tails of 1e-290."""
    tails = np.cumsum(weights(scale)[::-1])[::-1] / total(scale)
    quantiles = [-NormalDist().inv_cdf(tail) for tail in tails[1:].tolist() if tail > 1e-290]
    return np.diff([-quantiles[0], *quantiles])  # h(0) = -h(1)


@settings(max_examples=examples(50), deadline=None)
@given(st.floats(0.1, 12))
def test_the_first_step_is_the_greatest(scale: float) -> None:
    first, *others = steps(scale)
    assert max(others, default=0) < first <= largest_step(scale)
    assert 1 / scale < first


@pytest.mark.parametrize("scale", [39.0, 41.0, pytest.param(500.0, marks=pytest.mark.slow)])
def test_the_first_step_is_the_greatest_of_many(scale: float) -> None:
    first, *others = steps(scale)
    assert max(others) < first * (1 + 1e-9)
    assert first <= largest_step(scale)


def normal_mass(width: Decimal) -> Decimal:
    """Of an interval of this width around 0: the series of the error function."""
    x = width / Decimal(8).sqrt()
    term, found, n = x, x, 0
    while abs(term) > Decimal("1e-70"):
        n += 1
        term = -term * x * x / n
        found += term / (2 * n + 1)
    return 2 * found / PI.sqrt()


def mass_at_zero(scale: float) -> Decimal:
    exact = Decimal(scale)
    if scale > 20:
        return 1 / ((2 * PI).sqrt() * exact)  # but for 2 exp(-2 pi^2 scale^2), less than 1e-3000
    others = [(-Decimal(x * x) / (2 * exact * exact)).exp() for x in range(1, int(18 * scale) + 20)]
    return 1 / (1 + 2 * sum(others))


@pytest.mark.parametrize(
    "scale", [0.12, 0.3, 0.59, 0.61, 0.9, 1.0, 2.5, 7.0, 19.0, 39.5, 40.5, 4096.0, 1e6, 1e12, 2.0**50]
)
def test_the_step_errs_above_by_very_little(scale: float) -> None:
    with localcontext() as context:
        context.prec = 80
        step, exact = Decimal(largest_step(scale)), mass_at_zero(scale)
        assert normal_mass(step * Decimal(1 - 1e-11)) < exact < normal_mass(step)


def test_steps_are_those_of_the_normal_distribution_for_large_scales() -> None:
    for scale in (3.0, 30.0, 300.0):
        assert largest_step(scale) * scale == pytest.approx(1 + 1 / (24 * scale**2), abs=2e-1 / scale**4)
    assert largest_step(0.02) == math.inf


@pytest.mark.parametrize("scale", [0.3, 2.0, 50.0, EXACT_UPTO + 1.0, 1e9])
@pytest.mark.parametrize("missed", [0.5, 0.05, 1e-9])
def test_margins_are_enough(scale: float, missed: float) -> None:
    """P(|X| > m), by summation or from above by the normal tail."""
    found = margin(scale, missed)
    if scale > EXACT_UPTO:
        assert math.erfc(found / (scale * math.sqrt(2))) <= missed
    else:
        assert 2 * weights(scale)[found + 1 :].sum() / total(scale) <= missed * (1 + 1e-9)
