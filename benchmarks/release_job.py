"""A histogram and a grouped sum of one file, with differential privacy and without; answers as JSON.

    python benchmarks/release_job.py smalti local redrawn DATA
    python benchmarks/release_job.py plain spark transactions DATA

smalti: the release from the file to noisy values: read, check and stage the columns of the plan, bound
contributions, aggregate, draw. Policy, ledger and registry are not part of it. plain: the same two
queries by the engine's own reader and SQL, in the way that takes it least: DuckDB keeps the columns that
it has read, Spark reads twice.

The answers are exact, before noise, so that they can be compared; they stay within the bounds.
"""

# ruff: noqa: PLC0415 (each engine is imported only where it is measured)

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

Answers = dict[str, dict[str, int]]
"""Of `histogram` and `sum`, by label: rows, and units."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a kind of data."""

    histogram: str
    """The column that rows are counted by."""
    values: tuple[str, ...]
    measure: str
    upper: int
    """The greatest value; the least is 0."""
    places: int
    """Decimal places of the measure."""
    by: str
    groups: tuple[str, ...]
    respondent: str | None
    """The column; None where each row is another person."""
    rows: int
    """Of a respondent that count; more than any has, so that the answers are those without bounds."""
    most_groups: int

    @property
    def columns(self) -> list[str]:
        names = [self.histogram, self.measure, self.by, self.respondent]
        return list(dict.fromkeys(name for name in names if name is not None))


CATEGORIES = (
    "groceries", "restaurants", "clothing", "pharmacy", "electronics", "books", "travel",
    "medical supplies",
)  # fmt: skip
QUESTIONS = {
    "redrawn": Question(
        "education-num", tuple(map(str, range(1, 17))), "age", 120, 0, "sex", ("Female", "Male"), None, 1, 1
    ),
    "transactions": Question(
        "StoreCategory", CATEGORIES, "Amount", 2000, 2, "StoreCategory", CATEGORIES, "CustomerID", 14, 8
    ),
}


# --- smalti


def with_smalti(engine: str, question: Question, data: Path) -> tuple[Answers, dict[str, float]]:
    """The answers, and the seconds of each phase."""
    from smalti.engine.backends.base import Backend
    from smalti.engine.releases.aggregate import aggregate
    from smalti.engine.releases.draw import draw
    from smalti.engine.tables.sources import bind
    from smalti.vocab.terms import IRI

    def backend() -> Backend:
        if engine == "local":
            from smalti.engine.backends.local import LocalBackend

            return LocalBackend()
        from smalti.engine.backends.spark import SparkBackend

        return SparkBackend()

    plan, clock = _plan(question), [time.perf_counter()]
    with tempfile.TemporaryDirectory(dir=data.parent) as folder:
        source = bind(IRI("http://example.com/data"), data)
        with closing(backend().open(source, Path(folder), question.columns)) as table:
            clock.append(time.perf_counter())
            exact = [aggregate(plan, statistic, table) for statistic in plan.statistics]
            clock.append(time.perf_counter())
    for statistic, values in zip(plan.statistics, exact, strict=True):
        draw(plan, statistic, values)
    clock.append(time.perf_counter())
    answers = {
        statistic.name: {
            labels[0]: amount[0] for labels, amount in zip(values.groups, values.amounts[0], strict=True)
        }
        for statistic, values in zip(plan.statistics, exact, strict=True)
    }
    spent = [after - before for before, after in pairwise(clock)]
    return answers, dict(zip(("read", "aggregate", "draw"), spent, strict=True))


def _plan(question: Question):
    from smalti.engine.plan.losses import PlannedLoss
    from smalti.engine.plan.plan import OneRowEach, OutputFormat, RespondentColumn
    from smalti.engine.plan.reads import BoundContributions, Key, Measure, Mechanism, ReadColumn, ReadRows
    from smalti.engine.releases.plan import (
        Part,
        Quantity,
        ReleasePlan,
        Statistic,
        StatisticKind,
        WriteTable,
    )
    from smalti.transforms.base import Datatype
    from smalti.transforms.sensitivity import NeighboringRelation
    from smalti.vocab.terms import IRI

    def part(quantity: Quantity, scale: float) -> tuple[Part, ...]:
        return (Part(quantity, Mechanism.LAPLACE, scale),)

    def column(name: str) -> ReadColumn:
        is_number = name == question.measure
        return ReadColumn(
            name, IRI(f"http://example.com/{name}"), _number() if is_number else Datatype.STRING
        )

    def _number() -> Datatype:
        return Datatype.DECIMAL if question.places else Datatype.INTEGER

    unit = Decimal(1).scaleb(-question.places)
    measured = Measure(question.measure, Decimal(0), Decimal(question.upper), unit, Decimal(0))
    counted, grouped = Key(question.histogram, question.values), Key(question.by, question.groups)
    rows = float(question.rows)
    most = float(measured.most) * rows
    return ReleasePlan(
        ReadRows(
            IRI("http://example.com/data"),
            tuple(map(column, question.columns)),
            RespondentColumn(question.respondent) if question.respondent else OneRowEach(is_declared=True),
        ),
        BoundContributions(NeighboringRelation.ADD_OR_REMOVE_ONE, question.rows, question.most_groups),
        (
            Statistic("histogram", StatisticKind.HISTOGRAM, (counted,), part(Quantity.ROWS, 2 * rows)),
            Statistic("sum", StatisticKind.SUM, (grouped,), part(Quantity.SUM, 2 * most), measured),
        ),
        PlannedLoss(Decimal(1), Decimal(0), 0.7310586, 0.4621172, "1", "0"),
        WriteTable(IRI("http://example.com/out"), OutputFormat.CSV, Decimal("0.95")),
    )


# --- Without privacy


def with_plain(engine: str, question: Question, data: Path) -> tuple[Answers, dict[str, float]]:
    """The answers of the engine's own reader and SQL."""
    run = {"local": _in_duckdb, "spark": _in_spark}[engine]
    counts, sums = run(question, data)
    unit = 10**question.places
    return {
        "histogram": {str(label): int(number) for label, number in counts},
        "sum": {str(label): int(number * unit) for label, number in sums},
    }, {}


Pairs = list[tuple[object, Decimal]]


def _queries(question: Question, quote: Callable[[str], str]) -> tuple[str, str]:
    by, group = quote(question.histogram), quote(question.by)
    number = f"CAST({quote(question.measure)} AS DECIMAL(18, {question.places}))"
    return (
        f"SELECT {by}, count(*) FROM kept GROUP BY {by}",
        f"SELECT {group}, sum({number}) FROM kept GROUP BY {group}",
    )


def _in_duckdb(question: Question, data: Path) -> tuple[Pairs, Pairs]:
    import duckdb

    def quote(name: str) -> str:
        return f'"{name}"'

    listed = ", ".join(quote(name) for name in question.columns if name != question.respondent)
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(
            f"CREATE TEMP TABLE kept AS SELECT {listed} FROM read_csv('{data}', header = true)"
        )
        counts, sums = (connection.execute(query).fetchall() for query in _queries(question, quote))
    return counts, sums


def _in_spark(question: Question, data: Path) -> tuple[Pairs, Pairs]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory(dir=data.parent) as scratch:
        session = (
            SparkSession.builder.master("local[*]")
            .appName("plain")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.local.dir", scratch)
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        names = [name for name in question.columns if name != question.respondent]
        # Not cached: reading two columns twice takes it less than keeping three.
        session.read.csv(data.as_uri(), header=True).select(names).createTempView("kept")
        counts, sums = (
            [tuple(row) for row in session.sql(query).collect()]
            for query in _queries(question, lambda name: f"`{name}`")
        )
        session.stop()
    return counts, sums


def main() -> None:
    """Answer as the command line says."""
    what, engine, kind, data = sys.argv[1:]
    answer = {"smalti": with_smalti, "plain": with_plain}[what]
    answers, phases = answer(engine, QUESTIONS[kind], Path(data).resolve())
    print(json.dumps({"answers": answers, "phases": phases}))


if __name__ == "__main__":
    main()
