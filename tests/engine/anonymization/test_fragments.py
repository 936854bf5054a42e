"""First cuts never change a result: the same bytes, whatever the number of fragments."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import People, make, people

from smalti.engine.anonymization import first_cuts
from smalti.engine.anonymization import fragments as fragments_of
from smalti.engine.backends import staged
from smalti.engine.backends.local import LocalBackend

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@contextmanager
def counted() -> Iterator[list[int]]:
    """The numbers of fragments that runs obtain."""
    obtained: list[int] = []
    real = first_cuts.FirstCuts.cut

    def cut(self: first_cuts.FirstCuts, fragments: int) -> int:
        obtained.append(real(self, fragments))
        return obtained[-1]

    with patch.object(first_cuts.FirstCuts, "cut", cut):
        yield obtained


@settings(max_examples=examples(8, full=400), suppress_health_check=SLOW)
@given(people(), st.sampled_from([2, 3, 64]), st.sampled_from([8, 4096]))
def test_the_same_bytes_for_any_number_of_fragments(table: People, fragments: int, window: int) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(first_cuts, "WINDOW", window):
        whole = make(LocalBackend(1), table, Path(folder) / "whole")
        pieces = make(LocalBackend(fragments), table, Path(folder) / "pieces")
        assert (whole and whole.bytes) == (pieces and pieces.bytes)


def adult_like(rows: int, seed: int) -> list[list[str]]:
    """Rows of `HEADER` with mixed types, missing values and a skew: one city in most rows."""
    random = np.random.default_rng(seed)
    cities = ["Rome", "Oslo", "Bonn", "Paris", "Prague", "Nice"]
    days = np.datetime64("1950-01-01") + random.integers(0, 20_000, rows)

    def gaps(texts: list[str]) -> list[str]:
        return [text if here else "" for text, here in zip(texts, random.random(rows) > 0.1, strict=True)]

    return [
        list(row)
        for row in zip(
            map(str, random.integers(0, rows // 3, rows).tolist()),
            ["x"] * rows,
            gaps([str(age) for age in random.integers(17, 90, rows).tolist()]),
            gaps(days.astype(str).tolist()),
            gaps(
                [
                    cities[0] if r < 0.9 else cities[1 + int(r * 1e4) % 5]
                    for r in random.random(rows).tolist()
                ]
            ),
            [("flu", "gout", "asthma", "")[int(4 * r * r)] for r in random.random(rows).tolist()],
            ["1"] * rows,
            strict=True,
        )
    ]


def all_distinct(rows: int) -> list[list[str]]:
    days = np.datetime64("1900-01-01") + np.arange(rows)
    return [
        [str(i), "", str(i * 7919 % rows), str(day), f"c{i * 31 % rows}", ("flu", "gout")[i % 2], str(i)]
        for i, day in enumerate(days.astype(str).tolist())
    ]


def one_row_each(rows: list[list[str]]) -> list[list[str]]:
    return [[str(number), *row[1:]] for number, row in enumerate(rows)]


TABLES = {
    "adult-like, missing values and skew": lambda: People(
        one_row_each(adult_like(1500, 1)), 3, 1, 4, one_row_each=True
    ),
    "repeated respondents": lambda: People(adult_like(1500, 2), 3, 1, 4, one_row_each=False),
    "l-diversity": lambda: People(one_row_each(adult_like(1500, 3)), 3, 2, 4, one_row_each=True),
    "l-diversity of repeated respondents": lambda: People(adult_like(1500, 4), 4, 3, 4, one_row_each=False),
    "all-distinct numbers": lambda: People(all_distinct(1500), 3, 1, 4, one_row_each=True),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if i == 3 else pytest.mark.slow) for i, name in enumerate(TABLES)],
)
def test_fragments_that_exist_publish_the_same_bytes(name: str, tmp_path: Path) -> None:
    table = TABLES[name]()
    whole = make(LocalBackend(1), table, tmp_path / "1")
    assert whole is not None
    for fragments, window in ((2, 4096), (7, 8), (64, 4096), (64, 8)):
        with counted() as obtained, patch.object(first_cuts, "WINDOW", window):
            pieces = make(LocalBackend(fragments), table, tmp_path / f"{fragments}-{window}")
        assert obtained == [fragments]
        assert pieces is not None
        assert pieces.bytes == whole.bytes


def test_labels_of_too_many_classes_stay_in_the_engine(tmp_path: Path) -> None:
    table = TABLES["repeated respondents"]()
    whole = make(LocalBackend(1), table, tmp_path / "1")
    with patch.object(fragments_of, "MOST_CLASSES", 0):
        pieces = make(LocalBackend(7), table, tmp_path / "7")
    assert (whole and whole.bytes) == (pieces and pieces.bytes)


@pytest.mark.parametrize(("most", "expected"), [(100, True), (10**6, False)])
def test_fragments_are_made_where_nobody_asks_and_tuples_are_many(
    most: int, expected: bool, tmp_path: Path
) -> None:
    with counted() as obtained, patch.object(staged, "MOST_FACTS", most):
        assert make(LocalBackend(), TABLES["all-distinct numbers"](), tmp_path / "run")
    assert (obtained == [15]) is expected


def _cases() -> Iterator[object]:
    """One and few; with missing values and a skew in `test_variants`; all for `make test-full`."""
    for i, name in enumerate(TABLES):
        for fragments in (1, 2, 7, 64):
            is_quick = (i, fragments) == (3, 2)
            yield pytest.param(name, fragments, marks=[] if is_quick else pytest.mark.slow)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(("name", "fragments"), list(_cases()))
def test_spark_publishes_the_same_bytes_from_its_fragments(
    spark: object, name: str, fragments: int, tmp_path: Path
) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    table = TABLES[name]()
    whole = make(LocalBackend(1), table, tmp_path / "1")
    with counted() as obtained:
        pieces = make(SparkBackend(spark, fragments), table, tmp_path / "pieces")  # type: ignore[arg-type]
    assert obtained == [fragments] * (fragments > 1)
    assert whole is not None
    assert pieces is not None
    assert pieces.bytes == whole.bytes


@pytest.mark.slow
@pytest.mark.spark
@settings(max_examples=examples(3), suppress_health_check=[*SLOW, HealthCheck.function_scoped_fixture])
@given(people(), st.sampled_from([2, 64]))
def test_spark_publishes_the_same_bytes_of_random_tables(
    spark: object, table: People, fragments: int
) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder, patch.object(first_cuts, "WINDOW", 8):
        whole = make(LocalBackend(1), table, Path(folder) / "whole")
        pieces = make(SparkBackend(spark, fragments), table, Path(folder) / "pieces")  # type: ignore[arg-type]
        assert (whole and whole.bytes) == (pieces and pieces.bytes)
