"""What every output must be like, on random small tables; on the local engine, and on Spark for a few."""

import tempfile
from pathlib import Path

import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import HEADER, QUASI_IDENTIFIERS, Made, People, classes, covers, is_diverse, make, people

from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.writing import content_digest

LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def made(table: People) -> Made | None:
    with tempfile.TemporaryDirectory() as folder:
        return make(LOCAL, table, Path(folder) / "run")


@settings(max_examples=examples(20, full=600), suppress_health_check=SLOW)
@given(people())
def test_k_and_l_hold_by_respondent_and_no_row_is_lost(table: People) -> None:
    found = made(table)
    if found is None:
        everybody = list(range(len(table.rows)))
        assert len({row[0] for row in table.rows}) < table.k or not is_diverse(table, everybody)
        return
    assert sorted(found.link) == list(range(len(table.rows)))
    for rows in classes(found).values():
        assert len({table.rows[row][0] for row in rows}) >= table.k
        assert is_diverse(table, rows)


@settings(max_examples=examples(20, full=600), suppress_health_check=SLOW)
@given(people())
def test_each_published_value_covers_its_original(table: People) -> None:
    found = made(table)
    if found is None:
        return
    assert found.header == ["age", "born", "city", "illness", "spend"]
    for row, source in zip(found.rows, found.link, strict=True):
        original = table.rows[source]
        for name, published in zip(found.header, row, strict=True):
            value = original[HEADER.index(name)]
            assert covers(published, value) if name in QUASI_IDENTIFIERS else published == value


@settings(max_examples=examples(15, full=400), suppress_health_check=SLOW)
@given(people(), st.randoms())
def test_dropped_columns_names_of_people_and_order_leave_no_trace(table: People, random: object) -> None:
    rows = [[f"person {row[0]}!", "rewritten", *row[2:]] for row in table.rows]
    random.shuffle(rows)  # type: ignore[attr-defined]
    other = People(rows, table.k, table.l, table.cut_threshold, table.one_row_each)
    first, second = made(table), made(other)
    assert (first and first.bytes) == (second and second.bytes)


@settings(max_examples=examples(20, full=400), suppress_health_check=SLOW)
@given(people())
def test_rows_are_ordered_by_published_columns_missing_first(table: People) -> None:
    found = made(table)
    if found is not None:
        assert found.rows == sorted(found.rows, key=lambda row: [field.encode() for field in row])


@settings(max_examples=examples(10, full=200), suppress_health_check=SLOW)
@given(people())
def test_parquet_holds_the_same_content(table: People) -> None:
    with tempfile.TemporaryDirectory() as folder:
        as_csv = make(LOCAL, table, Path(folder) / "csv")
        as_parquet = make(LOCAL, table, Path(folder) / "parquet", OutputFormat.PARQUET)
        if as_csv is None or as_parquet is None:
            assert as_csv is as_parquet
            return
        assert content_digest([Path(folder) / "csv" / "out.csv"], OutputFormat.CSV) == content_digest(
            [Path(folder) / "parquet" / "out.csv"], OutputFormat.PARQUET
        )


@pytest.mark.spark
@settings(
    max_examples=examples(5, full=12), suppress_health_check=[*SLOW, HealthCheck.function_scoped_fixture]
)
@given(table=people())
def test_spark_publishes_the_same_bytes(spark: object, table: People) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        here = make(LOCAL, table, Path(folder) / "local")
        there = make(SparkBackend(spark), table, Path(folder) / "spark")  # type: ignore[arg-type]
        assert (here and here.bytes) == (there and there.bytes)
        if here is not None and there is not None:
            assert here.plan == there.plan
            assert sorted(here.link) == sorted(there.link)
