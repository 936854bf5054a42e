"""Noisy records: their distribution against the exact one, and how much they show of a record."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from evidence import Whole, distance, furthest_allowed, loss_shown, share_within
from hypothesis import given, settings
from hypothesis import strategies as st
from perturbed_worlds import CITIES, HEADER, OUTPUT
from stub_sampler import StubSampler
from tables import TARGET

from smalti.engine.losses.coded_reports import ExactReports
from smalti.engine.losses.public_tables import read_table
from smalti.engine.perturbation import draw as drawing
from smalti.engine.perturbation.draw import draw
from smalti.engine.perturbation.mechanisms import loss_of, perturbation_of
from smalti.engine.perturbation.plan import (
    PerturbationPlan,
    PerturbedCategory,
    PerturbedColumn,
    PerturbedNumber,
    WriteReports,
)
from smalti.engine.perturbation.shares import float_below
from smalti.engine.perturbation.table import codes_of, write_table, written
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.plan import OneRowEach, OutputFormat, Select
from smalti.engine.plan.reads import ReadRows
from smalti.transforms.noise.randomized_response import RandomizedResponse
from smalti.transforms.noise.samplers import LaplaceNoise

RUNS = 100_000


def category(
    epsilon: str, values: tuple[str, ...] = CITIES, *, has_missing: bool = True
) -> PerturbedCategory:
    response = RandomizedResponse.calibrated(len(values) + has_missing, float_below(Decimal(epsilon)))
    return PerturbedCategory("city", Decimal(epsilon), values, has_missing, str(response.changed))


def number(epsilon: str, lower: str = "0", upper: str = "4", unit: str = "1") -> PerturbedNumber:
    width = (Fraction(upper) - Fraction(lower)) / Fraction(unit)
    noise = LaplaceNoise.calibrated(width, Fraction(epsilon))
    return PerturbedNumber(
        "age", Decimal(epsilon), Decimal(lower), Decimal(upper), Decimal(unit), float(noise.scale)
    )


def plan_of(*columns: PerturbedColumn, output_format: OutputFormat = OutputFormat.CSV) -> PerturbationPlan:
    names = tuple(one.column for one in columns)
    total = sum((one.epsilon for one in columns), Decimal(0))
    return PerturbationPlan(
        ReadRows(TARGET, (), OneRowEach(True)),
        Select(names, tuple(name for name in HEADER if name not in names)),
        columns,
        PlannedLoss(total, Decimal(0), 0.75, 0.5, "1", "0"),
        WriteReports(OUTPUT, output_format),
    )


def everybody(*codes: int, people: int = RUNS) -> ExactReports:
    """All respondents report the same."""
    return ExactReports(tuple(np.array([code], np.int64) for code in codes), np.array([people], np.int64))


# --- The distribution of a record


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_a_category_is_reported_with_the_stated_probabilities(epsilon: str) -> None:
    """False alarms: one in a thousand million for each category (Clopper-Pearson)."""
    one = category(epsilon)
    (noisy,) = draw(plan_of(one), everybody(2))
    counts = np.bincount(noisy, minlength=6)
    kept = float(1 - Fraction(one.changed))
    for code, count in enumerate(counts.tolist()):
        exact = kept if code == 2 else (1 - kept) / 5
        low, high = share_within(count, RUNS)
        assert low <= exact <= high, code
    assert math.log(kept / ((1 - kept) / 5)) == pytest.approx(float(epsilon), rel=1e-9)


def test_a_number_has_the_stated_noise() -> None:
    """False alarms: one in a thousand million (Dvoretzky-Kiefer-Wolfowitz)."""
    one = number("1")
    (noisy,) = draw(plan_of(one), everybody(3))
    ratio = math.exp(-1 / one.scale)

    def cumulative(values: Whole) -> Any:
        above = ratio ** (np.abs(values - 3) + (values >= 3)) / (1 + ratio)
        return np.where(values >= 3, 1 - above, above)

    assert distance(noisy, cumulative) < furthest_allowed(RUNS)


def test_columns_are_randomised_independently() -> None:
    """Two fair coins: each of four pairs comes up in a quarter of all records, but for false alarms."""
    coin = PerturbedCategory("sex", Decimal("1e-9"), ("f", "m"), False, "1/2")
    sex, city = draw(plan_of(coin, coin), everybody(0, 0))
    for pair in range(4):
        low, high = share_within(int(np.sum(2 * sex + city == pair)), RUNS)
        assert low <= 1 / 4 <= high


def test_records_are_randomised_independently() -> None:
    """Runs of equal neighbours would show that parts of the noise come again."""
    coin = PerturbedCategory("sex", Decimal("1e-9"), ("f", "m"), False, "1/2")
    with patch.object(drawing, "_AT_ONCE", 1000), patch.object(drawing, "_ordered", tuple):
        (noisy,) = draw(plan_of(coin), everybody(0, people=20_000))
    parts = noisy.reshape(20, 1000)
    assert len({part.tobytes() for part in parts}) == 20


# --- How much is lost: at most what is promised, and not much less


def shown(columns: tuple[PerturbedColumn, ...], mine: tuple[int, ...], others: tuple[int, ...]) -> float:
    """The loss that the best event shows: a report that speaks for one record against another one."""

    def hits(codes: tuple[int, ...]) -> int:
        noisy = draw(plan_of(*columns), everybody(*codes))
        found = np.ones(RUNS, np.bool_)
        for one, column, said in zip(columns, noisy, mine, strict=True):
            found &= column == said if isinstance(one, PerturbedCategory) else column <= said
        return int(found.sum())

    return loss_shown(hits(mine), hits(others), RUNS)


PAIRS: Mapping[str, tuple[tuple[PerturbedColumn, ...], tuple[int, ...], tuple[int, ...]]] = {
    "binary": ((category("1", ("f", "m"), has_missing=False),), (1,), (0,)),
    "k-ary": ((category("2"),), (0,), (5,)),
    "number": ((number("1"),), (0,), (4,)),
    "record": ((category("0.5", ("f", "m"), has_missing=False), number("0.5")), (1, 0), (0, 4)),
}


def promised(columns: tuple[PerturbedColumn, ...]) -> float:
    return float(sum((loss_of(one).pure for one in columns), Fraction(0)))


@pytest.mark.parametrize("name", PAIRS)
def test_a_record_loses_what_is_promised(name: str) -> None:
    """False alarms: one in a thousand million that more is shown than is lost."""
    columns, mine, others = PAIRS[name]
    found = shown(columns, mine, others)
    assert 0.8 * promised(columns) < found <= promised(columns)


def test_half_the_noise_is_caught() -> None:
    honest = number("1")
    broken = PerturbedNumber(
        "age", honest.epsilon, honest.lower, honest.upper, honest.unit, honest.scale / 2
    )
    assert shown((broken,), (0,), (4,)) > promised((honest,))


def test_half_the_changes_are_caught() -> None:
    honest = category("1", ("f", "m"), has_missing=False)
    broken = PerturbedCategory(
        "city", honest.epsilon, honest.values, False, str(Fraction(honest.changed) / 2)
    )
    assert shown((broken,), (1,), (0,)) > promised((honest,))


def test_a_second_row_of_a_respondent_would_be_caught() -> None:
    """Both rows of one respondent, drawn on their own: the pair of them shows twice the loss."""
    one = category("1", ("f", "m"), has_missing=False)

    def both(code: int) -> int:
        first, second = (drawn_as(one, code) for _ in range(2))
        return int(np.sum((first == 1) & (second == 1)))

    assert loss_shown(both(1), both(0), RUNS) > promised((one,))


def test_an_unknown_value_that_is_left_as_it_is_would_be_caught() -> None:
    """A value that noise never gives: whoever sees it knows that it is true."""
    one = category("1")

    def unknown(code: int, *, is_broken: bool) -> int:
        noisy = drawn_as(one, min(code, 5))
        noisy[:] = code if is_broken and code > 5 else noisy
        return int(np.sum(noisy > 5))

    assert loss_shown(unknown(6, is_broken=True), unknown(0, is_broken=True), RUNS) > promised((one,))
    assert unknown(6, is_broken=False) == 0


def test_a_domain_from_the_data_would_be_caught() -> None:
    """Without the only record of its value, the category never comes up."""
    one = category("1")
    smaller = category("1", CITIES[:-1])
    with_it = int(np.sum(drawn_as(one, 5) == 5))
    without_it = int(np.sum(drawn_as(smaller, 0) == 5))
    assert loss_shown(with_it, without_it, RUNS) > promised((one,))


def drawn_as(one: PerturbedColumn, code: int) -> Whole:
    with patch.object(drawing, "_ordered", tuple):
        (noisy,) = draw(plan_of(one), everybody(code))
    return noisy


# --- Order


columns_of_codes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=40)


@settings(max_examples=50, deadline=None)
@given(columns_of_codes, st.sampled_from([1 << 62, 10]))
def test_records_stand_in_the_order_of_what_they_say(reports: list[tuple[int, int]], room: int) -> None:
    exact = ExactReports(
        (np.array([a for a, _ in reports], np.int64), np.array([b for _, b in reports], np.int64)),
        np.ones(len(reports), np.int64),
    )
    plan = plan_of(category("1"), number("1"))
    with patch.object(drawing, "_ROOM", room):
        found = draw(plan, exact, StubSampler(7))
    with patch.object(drawing, "_ordered", tuple):
        unordered = draw(plan, exact, StubSampler(7))
    together = list(zip(*(column.tolist() for column in found), strict=True))
    assert together == sorted(zip(*(column.tolist() for column in unordered), strict=True))


def test_the_widest_noise_is_ordered_too() -> None:
    wide = number("1e-6", "0", str(2**30))
    found = draw(plan_of(wide, wide, wide), everybody(0, 0, 0, people=100))
    together = list(zip(*(column.tolist() for column in found), strict=True))
    assert together == sorted(together)


# --- Written and read again


@contextmanager
def table(plan: PerturbationPlan, noisy: tuple[Whole, ...], folder: Path) -> Iterator[Any]:
    path = folder / f"noisy.{plan.write.format}"
    write_table(plan, noisy, path)
    yield read_table(path)


CASES = {
    "numbers": (number("1", "-1", "2.5", "0.1"),),
    "both": (category("1"), number("1", "-0.05", "0.05", "0.05")),
    "alone": (category("1"),),
    "required": (category("1", has_missing=False),),
    "fine": (number("1", "0", "1e-30", "1e-40"),),
    "coarse": (number("1", "-1e3", "1e3", "1e2"),),
}


@pytest.mark.parametrize("output_format", list(OutputFormat))
@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_read_again(tmp_path: Path, name: str, output_format: OutputFormat) -> None:
    plan = plan_of(*CASES[name], output_format=output_format)
    noisy = draw(plan, everybody(*[1] * len(plan.perturbed), people=500))
    with table(plan, noisy, tmp_path) as found:
        assert found.column_names == list(plan.select.kept)
        for one, codes in zip(plan.perturbed, noisy, strict=True):
            again = codes_of(one, found.column(one.column))
            assert again is not None
            assert again.tolist() == codes.tolist()


@pytest.mark.parametrize("output_format", list(OutputFormat))
def test_nobody_reports_nothing(tmp_path: Path, output_format: OutputFormat) -> None:
    plan = plan_of(*CASES["both"], output_format=output_format)
    nothing = ExactReports((np.zeros(0, np.int64),) * 2, np.zeros(0, np.int64))
    with table(plan, draw(plan, nothing), tmp_path) as found:
        assert found.num_rows == 0


def test_numbers_are_written_exactly() -> None:
    one = number("1", "-1", "2.5", "0.1")
    assert written(one, [0, 10, 11, 35, -1, 10**18]) == [
        "-1.0", "0.0", "0.1", "2.5", "-1.1", "99999999999999999.0",
    ]  # fmt: skip
    assert written(number("1", "-1e3", "1e3", "1e2"), [0, 1, -1]) == ["-1000", "-900", "-1100"]


@pytest.mark.parametrize("text", [None, "", "x", "1e999999999", "0.05", "NaN", " 1", "9" * 300, "1" * 40])
def test_what_noise_never_gives_is_no_number(text: str | None) -> None:
    assert codes_of(number("1"), pa.array([text, "1"], pa.string())) is None


def test_the_grid_is_that_of_the_plan() -> None:
    assert perturbation_of(number("1", "-1", "2.5", "0.1")).grid.width == 35
