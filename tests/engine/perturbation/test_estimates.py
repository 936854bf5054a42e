"""Estimates from noisy tables: unbiased, with intervals that hold what they say, from what is public."""

import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from evidence import share_within

import smalti
from smalti.engine.losses.coded_reports import ExactReports
from smalti.engine.losses.public_tables import read_table
from smalti.engine.perturbation.draw import draw
from smalti.engine.perturbation.estimate import estimate_table
from smalti.engine.perturbation.plan import (
    PerturbationPlan,
    PerturbedCategory,
    PerturbedColumn,
    PerturbedNumber,
    WriteReports,
)
from smalti.engine.perturbation.table import write_table
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.plan import OneRowEach, OutputFormat, Select
from smalti.engine.plan.reads import ReadRows
from smalti.errors import GuaranteeError, SmaltiError, UsageError
from smalti.transforms.noise.randomized_response import RandomizedResponse
from smalti.vocab.terms import IRI

CITY = PerturbedCategory(
    "city", Decimal(1), ("Rome", "Oslo"), True, str(RandomizedResponse.calibrated(3, 1.0).changed)
)
AGE = PerturbedNumber("age", Decimal(1), Decimal(-10), Decimal(30), Decimal("0.5"), 80.0)
TRUE_SHARES = (0.1, 0.6, 0.3)
PEOPLE = np.array([100, 600, 300], np.int64)
"""Who miss their city and are 5 years old, are from Rome and -10, from Oslo and 30."""
CODES = (np.array([0, 1, 2], np.int64), np.array([30, 0, 80], np.int64))
TRUE_MEAN = (100 * 5 - 600 * 10 + 300 * 30) / 1000


def plan_of(*columns: PerturbedColumn) -> PerturbationPlan:
    names = tuple(one.column for one in columns)
    target = IRI("http://example.com/people")
    return PerturbationPlan(
        ReadRows(target, (), OneRowEach(True)),
        Select(names, ()),
        columns,
        PlannedLoss(Decimal(2), Decimal(0), 0.75, 0.5, "1", "0"),
        WriteReports(IRI("http://example.com/noisy"), OutputFormat.CSV),
    )


PLAN = plan_of(CITY, AGE)


def drawn(folder: Path, name: str) -> pa.Table:
    path = folder / f"{name}.csv"
    write_table(PLAN, draw(PLAN, ExactReports(CODES, PEOPLE)), path)
    return read_table(path)


def normal(values: Sequence[float]) -> tuple[float, float]:
    """Their mean, and the standard deviation of that mean."""
    found = np.array(values)
    return float(found.mean()), float(found.std(ddof=1)) / math.sqrt(len(found))


def test_estimates_are_unbiased_and_intervals_hold_what_they_say(tmp_path: Path) -> None:
    """False alarms: one in ten million for each mean (six standard deviations of a nearly normal mean), one
    in a thousand million for each coverage."""
    runs, confidence = 150, 0.8
    found = [smalti.estimate(drawn(tmp_path, str(run)), PLAN, confidence=confidence) for run in range(runs)]
    for place, truth in enumerate(TRUE_SHARES):
        ones = [city.estimates[place] for city, _ in found]
        mean, deviation = normal([one.estimate for one in ones])
        assert abs(mean - truth) < 6 * deviation
        hits = sum(abs(one.estimate - truth) <= one.margin for one in ones)
        assert share_within(hits, runs)[1] >= confidence
        assert deviation * math.sqrt(runs) < max(one.margin for one in ones)
    ages = [age.estimates[0] for _, age in found]
    mean, deviation = normal([one.estimate for one in ages])
    assert abs(mean - TRUE_MEAN) < 6 * deviation
    low, high = share_within(sum(abs(one.estimate - TRUE_MEAN) <= one.margin for one in ages), runs)
    assert low <= confidence <= high


def test_shares_are_told_by_their_category_and_add_up(tmp_path: Path) -> None:
    city, age = smalti.estimate(drawn(tmp_path, "one"), PLAN)
    assert [one.value for one in city.estimates] == [None, "Rome", "Oslo"]
    assert sum(one.estimate for one in city.estimates) == pytest.approx(1)
    assert (city.what, age.what, city.rows, age.rows) == ("shares", "mean", 1000, 1000)


def test_reading_shares_by_the_naive_way_would_be_biased(tmp_path: Path) -> None:
    """What the test of bias catches: counts without what the noise adds and takes."""
    naive = [drawn(tmp_path, str(run)).column("city").to_pylist().count("Rome") / 1000 for run in range(60)]
    mean, deviation = normal(naive)
    assert abs(mean - TRUE_SHARES[1]) > 6 * deviation


def test_a_table_without_rows_says_nothing() -> None:
    nothing = pa.table({"city": pa.array([], pa.string()), "age": pa.array([], pa.string())})
    found = estimate_table(nothing, (CITY, AGE), 0.95, "here")
    assert all(math.isinf(one.margin) for column in found for one in column.estimates)


@pytest.mark.parametrize(
    "table",
    [
        {"city": ["Rome"]},
        {"city": ["Rome", "wombat"], "age": ["1.0", "2.0"]},
        {"city": ["Rome"], "age": ["1.25"]},
        {"city": ["Rome"], "age": [None]},
    ],
    ids=["no column", "no category", "off the grid", "no number"],
)
def test_a_table_of_something_else_is_refused(table: dict[str, list[str]]) -> None:
    texts = pa.table({name: pa.array(values, pa.string()) for name, values in table.items()})
    with pytest.raises(GuaranteeError) as caught:
        smalti.estimate(texts, PLAN)
    assert "wombat" not in str(caught.value)


@pytest.mark.parametrize("changed", ["5/3", "1/3", "0/1", "1/0"])
def test_noise_that_cannot_be_is_refused(changed: str) -> None:
    broken = PerturbedCategory("city", Decimal(1), ("Rome", "Oslo"), True, changed)
    texts = pa.table({"city": pa.array(["Rome"], pa.string())})
    with pytest.raises(GuaranteeError):
        estimate_table(texts, (broken,), 0.95, "here")


@pytest.mark.parametrize("confidence", [0, 1, -1, math.nan])
def test_a_confidence_is_between_nothing_and_certainty(confidence: float) -> None:
    with pytest.raises(UsageError):
        smalti.estimate(pa.table({}), PLAN, confidence=confidence)


def test_without_a_word_about_the_noise_nothing_is_read(tmp_path: Path) -> None:
    with pytest.raises(SmaltiError, match="how its noise was drawn"):
        smalti.estimate(pa.table({}))
    (tmp_path / "noisy.csv").write_text("city\nRome\n")
    with pytest.raises(SmaltiError, match="how its noise was drawn"):
        smalti.estimate(tmp_path / "noisy.csv")
    with pytest.raises(SmaltiError, match="certificate"):
        smalti.estimate(tmp_path)
    with pytest.raises(SmaltiError, match="folder"):
        smalti.estimate(tmp_path, PLAN)
    with pytest.raises(SmaltiError):
        smalti.estimate(tmp_path / "nothing.csv", PLAN)


def test_an_output_of_another_method_holds_no_noisy_rows(tmp_path: Path) -> None:
    examples = Path(__file__).parents[3] / "examples"
    smalti.run(
        examples / "policies" / "contraceptive.jsonld",
        data={"http://example.com/survey/contraceptive": examples / "data" / "contraceptive.csv"},
        party="http://example.com/party/researcher",
        purpose="statistical",
        out=tmp_path / "out",
        registry=tmp_path / "registry.sqlite",
    )
    with pytest.raises(UsageError, match="no perturbed records"):
        smalti.estimate(tmp_path / "out")
