"""Tables of many retained columns: no query joins more relations for them, and they run on both engines."""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from tables import TARGET, People, permission, read_csv, write_csv

from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.execute import execute
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend, LocalRelations
from smalti.engine.backends.spark import SparkBackend, SparkRelations
from smalti.engine.binding.circumstances import Options
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.policy.model.model import ColumnReference
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUT = ("age", "born", "city")
TEXTS = ("", "a", "A", "b", "é", "\U0010ffff", "\uff5e", "10", "9", "a b")
RELAXED = {"partitioning": "relaxed"}


def rows_of(columns: int) -> list[list[str]]:
    chance = random.Random(columns)
    return [
        [f"{row % 9}", f"1990-01-0{1 + row % 7}", chance.choice("xyz"), chance.choice("pqr")]
        + [chance.choice(TEXTS) for _ in range(columns)]
        for row in range(60)
    ]


def made(
    backend: Backend, columns: int, folder: Path, words: dict[str, str], see: Callable[[str], None]
) -> tuple[list[list[str]], bytes]:
    """A table with so many released columns, and what is published of it; `see` is told each query."""
    header, rows = (*CUT, "illness", *(f"kept{i}" for i in range(columns))), rows_of(columns)
    folder.mkdir()
    (folder / "work").mkdir()
    write_csv(folder / "in.csv", header, rows)
    described = Description(tuple(ColumnDescription(name, None, None, None) for name in header))
    source = Source(TARGET, folder / "in.csv", OutputFormat.CSV, described)
    rule = permission(People([], 2, 1, 3, one_row_each=True), words)
    assert rule.anonymization is not None
    where = rule.anonymization.where
    released = tuple(ColumnReference(IRI(f"{TARGET}/{name}"), where) for name in header[4:])
    rule = replace(rule, anonymization=replace(rule.anonymization, identifiers=(), released=released))
    with closing(backend.open(source, folder / "work")) as table:
        _watch(table.relations, see)
        plan = compile_plan(rule, source, table, Options(3, OutputFormat.CSV))
        execute(plan, table, folder / "out.csv", folder / "link.npy", lambda _: None)
    published, found = read_csv(folder / "out.csv")
    link, places = np.load(folder / "link.npy"), [header.index(name) for name in published]
    kept = [i for i, name in enumerate(published) if name.startswith("kept")]
    assert len(kept) == columns
    for row, origin in zip(found, link, strict=True):
        assert [row[i] for i in kept] == [rows[origin][places[i]] for i in kept]
    assert sorted(link) == list(range(60))
    return found, (folder / "out.csv").read_bytes()


def _watch(relations: Any, see: Callable[[str], None]) -> None:
    def watched(method: Callable[..., Any], place: int) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            see(given[place])
            return method(*given, **more)

        return call

    for name, place in (("make", 1), ("take", 0), ("publish", 0)):
        setattr(relations, name, watched(getattr(relations, name), place))


def joins(backend: Backend, columns: int, folder: Path, words: dict[str, str]) -> Counter[int]:
    """How many queries there are with so many joins."""
    seen: list[str] = []
    made(backend, columns, folder, words, seen.append)
    return Counter(query.count("JOIN ") for query in seen if "JOIN " in query)


@pytest.mark.parametrize("fragments", [1, 4])
@pytest.mark.parametrize("words", [{}, RELAXED], ids=["strict", "relaxed"])
def test_no_query_joins_more_for_more_retained_columns(
    fragments: int, words: dict[str, str], tmp_path: Path
) -> None:
    backend = LocalBackend(fragments)
    few = joins(backend, 3, tmp_path / "few", words)
    assert few
    assert joins(backend, 100, tmp_path / "many", words) == few


def test_many_retained_columns_are_written_in_the_order_of_their_texts(tmp_path: Path) -> None:
    found, _ = made(LocalBackend(1), 500, tmp_path / "run", {}, lambda _: None)
    assert found == sorted(found, key=lambda row: [text.encode() for text in row])


@pytest.mark.slow
def test_columns_are_numbered_in_few_joins_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made(LocalBackend(1), 100, tmp_path / "numbers", RELAXED, lambda _: None)
    monkeypatch.setattr("smalti.engine.backends.numbering.MOST_TEXTS", 0)  # all are staged as texts
    seen: list[str] = []
    assert made(LocalBackend(1), 100, tmp_path / "texts", RELAXED, seen.append) == whole
    numbered = [query.count("LEFT JOIN ") for query in seen if "LEFT JOIN " in query]
    assert sum(numbered) >= 104
    assert max(numbered) <= 32


def test_renumbered_columns_leave_the_others_as_they_are(tmp_path: Path) -> None:
    relations = LocalRelations(tmp_path)
    with closing(relations):
        table = pa.table({"row": [0, 1, 2], "c0": pa.array([2, 0, 1], pa.int32()), "t1": ["a", None, ""]})
        relations.give("staged", table)
        relations.renumber("staged", {"c0": np.array([0, 7, 5])})
        found = relations.take("SELECT * FROM staged ORDER BY row")
    assert found.equals(table.set_column(1, "c0", pa.array([5, 0, 7], pa.int32())))


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "words"), [(500, {}), (40, RELAXED)], ids=["strict", "relaxed"])
def test_spark_runs_tables_of_many_columns_as_the_local_engine_does(
    spark: "SparkSession", columns: int, words: dict[str, str], tmp_path: Path
) -> None:
    local = made(LocalBackend(1), columns, tmp_path / "local", words, lambda _: None)
    seen: list[str] = []
    assert made(SparkBackend(spark, 1), columns, tmp_path / "spark", words, seen.append) == local
    assert max(query.count("JOIN ") for query in seen) <= 32


def test_spark_renumbers_as_the_local_engine_does(spark: "SparkSession", tmp_path: Path) -> None:
    relations = SparkRelations(spark, tmp_path, is_ours=False, rows=3)
    relations.give("staged", pa.table({"row": [0, 1, 2], "c0": [2, 0, 1], "t1": ["a", None, ""]}))
    relations.renumber("staged", {"c0": np.array([0, 7, 5])})
    found = relations.take("SELECT * FROM staged ORDER BY row")
    assert found.to_pydict() == {"row": [0, 1, 2], "c0": [5, 0, 7], "t1": ["a", None, ""]}
