"""Each technique on random people: against a checker in plain Python, and the engine's own verifier."""

import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from effort import every, examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from masking_world import (
    HEADER,
    Masked,
    Row,
    expected_cell,
    holders,
    mask_rows,
    nodes,
    noisy,
    partitions,
    people,
    plan_of,
)
from stub_sampler import StubSampler

from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.spark import SparkBackend
from smalti.engine.plan.masks import (
    AtLevel,
    Averaged,
    Coded,
    Mask,
    MaskedColumn,
    Pseudonymized,
    RareCells,
    RareRecords,
    Recoded,
)
from smalti.errors import PlanError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Holders = dict[Decimal, set[object]]
LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
RARE = [(), (RareRecords("city", 2),), (RareRecords("age", 2), RareRecords("born", 3))]


def checked(masked: Masked, rows: Sequence[Row], *, one_row_each: bool) -> None:
    """Each published row is what the techniques make of its origin, and rows stand in their order."""
    by_column = {node.column: node for node in masked.plan.mask.columns}
    for published, origin in zip(masked.rows, masked.origins, strict=True):
        for name, text in zip(masked.plan.write.columns, published, strict=True):
            before = rows[origin][HEADER.index(name)]
            assert text == expected_cell(by_column.get(name), before, rows, one_row_each)
    assert masked.rows == sorted(masked.rows, key=lambda row: [text.encode() for text in row])


@settings(max_examples=examples(25), suppress_health_check=SLOW, deadline=None)
@given(people(), nodes(), st.sampled_from(RARE), st.booleans())
def test_deterministic_techniques_give_what_the_checker_says(
    rows: list[Row], chosen: tuple[MaskedColumn, ...], rare: tuple[RareRecords, ...], one_row_each: bool
) -> None:
    cells = any(isinstance(node, RareCells) for node in chosen)
    mask = Mask(chosen, rare_records=() if cells else rare)
    plan = plan_of(mask, ["age", "pay", "born", "city"], one_row_each=one_row_each)
    with tempfile.TemporaryDirectory() as name:
        masked = mask_rows(LOCAL, rows, plan, Path(name) / "run")
        checked(masked, rows, one_row_each=one_row_each)
        counted = masked.verified()
    kept = [
        number
        for number, row in enumerate(rows)
        if not any(
            row[HEADER.index(each.column)]
            and holders(each.column, row[HEADER.index(each.column)], rows, one_row_each) < each.minimum
            for each in mask.rare_records
        )
    ]
    assert sorted(masked.origins) == kept
    assert (counted.rows, counted.rows_left_out) == (len(kept), len(rows) - len(kept))
    changed = {
        name: sum(
            expected_cell(node, row[HEADER.index(name)], rows, one_row_each) != row[HEADER.index(name)]
            for row in (rows[origin] for origin in masked.origins)
        )
        for name, node in ((node.column, node) for node in chosen)
    }
    assert dict(counted.changed) == changed


@settings(max_examples=examples(15), suppress_health_check=SLOW, deadline=None)
@given(people(6), st.sampled_from(["mean", "median"]), st.booleans())
def test_one_column_is_averaged_in_the_best_groups(
    rows: list[Row], figure: str, one_row_each: bool
) -> None:
    k, node = 2, Averaged("age", 2, "median" if figure == "median" else "mean")
    plan = plan_of(Mask((node,)), one_row_each=one_row_each)
    held: Holders = {}
    weights: dict[Decimal, int] = {}
    for number, row in enumerate(rows):
        if row[1]:
            held.setdefault(Decimal(row[1]), set()).add(number if one_row_each else row[0])
            weights[Decimal(row[1])] = weights.get(Decimal(row[1]), 0) + 1

    def error(groups: list[list[Decimal]]) -> Decimal:
        total = Decimal(0)
        for group in groups:
            size = sum(weights[value] for value in group)
            mean = sum(value * weights[value] for value in group) / size
            total += sum(weights[value] * (value - mean) ** 2 for value in group)
        return total

    ways = partitions(sorted(held), held, k)
    with tempfile.TemporaryDirectory() as name:
        if not ways:
            with pytest.raises(PlanError, match="fewer respondents than k"):
                mask_rows(LOCAL, rows, plan, Path(name) / "run")
            return
        masked = mask_rows(LOCAL, rows, plan, Path(name) / "run")
        masked.verified()
    of_label: dict[str, set[Decimal]] = {}
    for (label,), origin in zip(masked.rows, masked.origins, strict=True):
        assert bool(label) is bool(rows[origin][1]), "missing values stay missing"
        if label:
            of_label.setdefault(label, set()).add(Decimal(rows[origin][1]))
    groups = sorted(map(sorted, of_label.values()))
    assert abs(error(groups) - min(map(error, ways))) < Decimal("1e-15")


@settings(max_examples=examples(15), suppress_health_check=SLOW, deadline=None)
@given(people(1), st.booleans(), st.integers(0, 1 << 30), st.sampled_from(["uniform", "normal"]))
def test_samples_hold_whole_respondents_and_noise_its_bounds(
    rows: list[Row], one_row_each: bool, seed: int, distribution: str
) -> None:
    node = noisy(distribution)
    plan = plan_of(Mask((node,), Decimal("0.5")), ["city"], one_row_each=one_row_each)
    with tempfile.TemporaryDirectory() as name:
        masked = mask_rows(LOCAL, rows, plan, Path(name) / "run", StubSampler(seed))
        masked.verified()
    assert len(set(masked.origins)) == len(masked.origins)
    if not one_row_each:
        sampled = {rows[origin][0] for origin in masked.origins}
        assert sorted(masked.origins) == [n for n, row in enumerate(rows) if row[0] in sampled]
    for (pay, city), origin in zip(masked.rows, masked.origins, strict=True):
        before = rows[origin]
        assert city == before[4]
        assert bool(pay) is bool(before[2])
        if pay:
            assert 0 <= Decimal(pay) <= 1000
            assert Decimal(pay) % Decimal("0.1") == 0
            bounded = min(max(Decimal(before[2]), Decimal(0)), Decimal(1000))
            assert distribution == "normal" or abs(Decimal(pay) - bounded) <= Decimal("2.5")


def test_dropped_columns_and_the_order_of_rows_leave_the_output_as_it_is(tmp_path: Path) -> None:
    rows = [(f"p{n % 7}", str(18 + n), str(n / 2), "1950-01-01", f"c{n % 3}") for n in range(40)]
    other = [(f"q{(n + 3) % 7}", row[1], "7", row[3], row[4]) for n, row in enumerate(rows)][::-1]
    mask = Mask((Coded("age", "50", None, "top-coding"), RareCells("city", 3)))
    plan = plan_of(mask)
    here, there = (mask_rows(LOCAL, each, plan, tmp_path / str(n)) for n, each in enumerate((rows, other)))
    assert here.bytes == there.bytes


MASKS = (
    Mask((
        Pseudonymized("who", "k"), Recoded("age", Decimal(10), "0"), Averaged("pay", 2, "median"),
        AtLevel("born", 2), RareCells("city", 3),
    )),
    Mask((Coded("age", "90", "18", "top- and bottom-coding"), Recoded("pay", Decimal("2.5"), "0"))),
    Mask((AtLevel("born", 1),), rare_records=(RareRecords("city", 4), RareRecords("pay", 2))),
    Mask((noisy(),), Decimal("0.5")),
    Mask((
        Averaged("age", 3, "mode", distance="equal"),
        Averaged("born", 3, "medoid", distance="hierarchical"),
        Averaged("city", 3, "medoid", distance="ordered"),
    )),
)  # fmt: skip


@pytest.mark.parametrize("mask", every(9, MASKS))
def test_spark_gives_the_same_bytes(spark: "SparkSession", tmp_path: Path, mask: Mask) -> None:
    """Of what is drawn at random, the sample is the same with the same draws."""
    rows = [
        (f"p{n % 11}", str(n * 7 % 119), ("", "-0.5", "1", "1.0", "2.5", "99.9")[n % 6],
         f"19{10 + n % 80}-0{1 + n % 9}-11", ("Rome", "Oslo", "", "ä", "Bern")[n % 5 if n % 13 else 3])
        for n in range(60)
    ]  # fmt: skip
    plan = plan_of(mask, ["city"], one_row_each=mask.draws_at_random)
    here = mask_rows(LOCAL, rows, plan, tmp_path / "here", StubSampler(3))
    there = mask_rows(SparkBackend(spark), rows, plan, tmp_path / "there", StubSampler(3))  # type: ignore[arg-type]
    assert there.verified().rows == here.verified().rows
    assert sorted(here.origins) == sorted(there.origins)
    if not mask.draws_at_random:
        assert here.bytes == there.bytes
