"""Noise on numbers of a column: what is mapped where, what runs show, and means that can be read.

Comparisons of draws with distributions fail by chance with probability 1e-9 each (`evidence.FALSE_ALARM`).
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from evidence import FALSE_ALARM, loss_shown, mu_shown, share_within
from hypothesis import given, settings
from hypothesis import strategies as st
from stub_sampler import StubSampler

from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.numeric_perturbation import Grid, NumericPerturbation
from smalti.transforms.noise.samplers import LaplaceNoise
from smalti.transforms.sensitivity import Bounds, split_budget

GRID = Grid(Bounds(Fraction(-10), Fraction(90)), Fraction(1, 10))
RUNS = 30_000


def test_values_are_clamped_and_what_is_no_number_stands_in_the_middle() -> None:
    values = np.array([-10, 90, 0, 0.04, 0.06, -1e308, 1e308, np.inf, -np.inf, np.nan])
    assert GRID.in_units(values).tolist() == [0, 1000, 100, 100, 101, 0, 1000, 500, 500, 500]


@settings(max_examples=examples(100))
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20))
def test_every_number_is_within_the_bounds(values: list[float]) -> None:
    wide = Grid(Bounds(Fraction(-(2**61)), Fraction(2**61)), Fraction(1))
    for grid in (GRID, wide):
        units = grid.in_units(np.array(values, np.float64))
        assert all(0 <= number <= grid.width for number in units.tolist())


def test_laplace_shows_a_loss_just_below_its_promise() -> None:
    perturbation = NumericPerturbation.laplace(GRID, Fraction(2))
    assert perturbation.loss == PrivacyLoss.of_pure(2)
    ends = [int((perturbation.perturbed(np.full(RUNS, end)) >= 1000).sum()) for end in (1000, 0)]
    assert 1.6 <= loss_shown(*ends, RUNS) <= 2
    broken = NumericPerturbation(GRID, LaplaceNoise(Fraction(250)))
    ends = [int((broken.perturbed(np.full(RUNS, end)) >= 1000).sum()) for end in (1000, 0)]
    assert loss_shown(*ends, RUNS) > 2


def test_gaussian_shows_a_mu_just_below_its_promise() -> None:
    perturbation = NumericPerturbation.gaussian(GRID, 1.0)
    assert 0.999 <= perturbation.loss.mu <= 1.0
    assert perturbation.loss.pure == 0
    ends = [int((perturbation.perturbed(np.full(RUNS, end)) >= 500).sum()) for end in (1000, 0)]
    assert 0.8 <= mu_shown(*ends, RUNS) <= 1


def test_values_beyond_the_bounds_and_missing_ones_do_not_show() -> None:
    """Clamping comes before the noise: the same draws, the same bytes."""
    perturbation = NumericPerturbation.laplace(GRID, Fraction(1))
    inside = perturbation.perturbed(np.array([0, 1000, 500]), sampler=StubSampler(5))
    known = np.array([True, True, False])
    beyond = perturbation.perturbed(np.array([-(10**15), 10**15, 999]), known, StubSampler(5))
    assert inside.tolist() == beyond.tolist()


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("records", [3, 40])
def test_means_are_unbiased_and_their_intervals_hold(kind: str, records: int) -> None:
    perturbation = (
        NumericPerturbation.laplace(GRID, Fraction(4))
        if kind == "laplace"
        else NumericPerturbation.gaussian(GRID, 2.0)
    )
    true = np.linspace(-10, 50, records)
    units, runs = GRID.in_units(true), 300
    noisy = perturbation.perturbed(np.tile(units, runs)).reshape(runs, records)
    estimates = [perturbation.mean(row, 0.9) for row in noisy]
    exact = GRID.value(float(units.mean()))
    missed = sum(abs(estimate.value - exact) > estimate.margin for estimate in estimates)
    low, high = share_within(missed, runs, FALSE_ALARM)
    assert low <= 0.1
    assert records < 30 or high >= 0.1
    deviation = math.sqrt(perturbation.noise.variance / (records * runs)) * float(GRID.unit)
    assert abs(np.mean([estimate.value for estimate in estimates]) - exact) <= 6.2 * deviation


def test_no_records_have_no_bounds() -> None:
    estimate = NumericPerturbation.laplace(GRID, Fraction(1)).mean(np.zeros(0, np.int64), 0.9)
    assert (estimate.value, estimate.margin) == (40.0, math.inf)


def test_a_record_spends_the_sum_over_its_columns() -> None:
    """D5.2, Definition 7: three columns of a record share a budget."""
    total = Fraction(11, 10)
    parts = split_budget(total, [Fraction(1), Fraction(2), Fraction(4)])
    columns = [NumericPerturbation.laplace(GRID, part) for part in parts]
    spent = sum((column.loss for column in columns), PrivacyLoss())
    assert float(total) * (1 - 1e-12) <= spent.pure <= total


@pytest.mark.parametrize(
    ("lower", "upper", "unit"),
    [(0, 0, 1), (0, 1, 0), (0, 1, -1), (0, 1, Fraction(2, 3)), (0, 2**63, 1)],
)
def test_grids_are_checked(lower: int, upper: int, unit: Fraction | int) -> None:
    with pytest.raises(ValueError, match=r"unit"):
        Grid(Bounds(Fraction(lower), Fraction(upper)), Fraction(unit))


def test_a_confidence_lies_between_0_and_1() -> None:
    with pytest.raises(ValueError, match="confidence"):
        NumericPerturbation.laplace(GRID, Fraction(1)).mean(np.array([1]), 1.0)
