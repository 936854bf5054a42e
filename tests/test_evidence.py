"""The intervals that statistical tests rest on, beside exact sums."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from evidence import distance, furthest_allowed, loss_shown, mu_shown, share_within


def tail(hits: int, runs: int, share: float) -> float:
    """The probability of at least some hits, exactly summed."""
    p = Fraction(share)
    return float(sum(comb(runs, x) * p**x * (1 - p) ** (runs - x) for x in range(hits, runs + 1)))


@pytest.mark.parametrize(("hits", "runs"), [(1, 10), (5, 10), (9, 10), (3, 60), (30, 60), (59, 60)])
@pytest.mark.parametrize("false_alarm", [0.1, 1e-3, 1e-9])
def test_an_interval_ends_where_its_tails_have_half_of_the_false_alarm(
    hits: int, runs: int, false_alarm: float
) -> None:
    low, high = share_within(hits, runs, false_alarm)
    assert tail(hits, runs, low) == pytest.approx(false_alarm / 2, rel=1e-5)
    assert 1 - tail(hits + 1, runs, high) == pytest.approx(false_alarm / 2, rel=1e-5)


def test_intervals_at_the_ends_and_of_many_runs() -> None:
    assert share_within(0, 100, 1e-6)[0] == 0.0
    assert share_within(100, 100, 1e-6)[1] == 1.0
    low, high = share_within(500_000, 1_000_000, 0.05)
    assert (low, high) == (pytest.approx(0.49902, abs=1e-5), pytest.approx(0.50098, abs=1e-5))


def test_what_is_shown_grows_with_the_difference() -> None:
    assert loss_shown(0, 10, 100) < 0 < loss_shown(900, 100, 1000) < loss_shown(900, 10, 1000)
    assert mu_shown(500, 500, 1000) < 0 < mu_shown(900, 100, 1000)


def test_a_distance_is_that_of_the_furthest_place() -> None:
    draws = np.repeat([0, 1, 5], [50, 30, 20])

    def fair_coin(x: np.ndarray) -> np.ndarray:
        return np.where(x < 0, 0.0, np.where(x < 1, 0.5, 1.0))

    assert distance(draws, fair_coin) == pytest.approx(0.2)
    assert furthest_allowed(100, 0.05) == pytest.approx(0.1358, abs=1e-4)
