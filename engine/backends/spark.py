"""Apache Spark: the same relational steps as DataFrame operations; the only module that imports pyspark.

The input is checked and staged by the reader that the local engine uses, the kernel runs on the
driver over the frequency table, and each partition of the ordered result is written by the one
writer and joined to the others file by file.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from smalti.engine.backends.base import (
    Backend,
    BoundTable,
    Frequencies,
    Listed,
    Recoding,
    RowTest,
    link_bytes,
    open_link,
    published_columns,
)
from smalti.engine.description import Source
from smalti.engine.needs import INSTALL_JAVA, INSTALL_SPARK, OLDEST_JAVA
from smalti.engine.plan import OutputFormat, Plan, RespondentColumn
from smalti.engine.reading import Contents, csv_text_batches, inspect, text_batches
from smalti.engine.writing import CsvWriter, csv_records, open_writer
from smalti.errors import BackendError, InternalError, SmaltiError
from smalti.policy.model import LogicalOperator

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PART_SCHEMA = "part int, rows long"
# Without an appender Spark takes its own default instead, and logs.
_QUIET = """appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""
_QUOTING_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


class SparkBackend(Backend):
    """Runs plans on a Spark session: the one given, the active one, or a local one made for the run."""

    name: ClassVar[str] = "spark"

    def __init__(self, session: "SparkSession | None" = None) -> None:
        self._given = session

    def open(self, source: Source, workspace: Path) -> "SparkTable":
        contents = inspect(source)
        session, is_ours = self._session(workspace)
        try:
            staged = workspace / "staged.parquet"
            _stage(source, contents, staged)
            frame = session.read.parquet(staged.as_uri())
            return SparkTable(session, frame, contents, workspace, is_ours)
        except BaseException as error:
            if is_ours:
                session.stop()
            raise _without_values(error) from None

    def _session(self, workspace: Path) -> tuple["SparkSession", bool]:
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise BackendError(
                "spark engine",
                "PySpark is not installed",
                "the extra `spark`",
                INSTALL_SPARK,
            ) from None
        session = self._given or SparkSession.getActiveSession()
        if session is None:
            return _local_session(workspace), True
        if not _is_local(session):
            raise BackendError(
                "spark engine",
                "running on a cluster is not implemented yet: the input is staged on the driver's disk",
                "a session with master local[...]",
                "run without a session, or with a local one",
            )
        return session, False


@contextmanager
def _this_python() -> Iterator[None]:
    """Let a session that begins use this interpreter for its workers; PySpark asks the environment then."""
    name = "PYSPARK_PYTHON"
    before = os.environ.get(name)
    os.environ[name] = sys.executable
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _is_local(session: "SparkSession") -> bool:
    try:
        master = str(session.sparkContext.master)
    except Exception:  # Spark Connect has no context, and says so in ways that differ between versions
        return False
    return master.startswith("local")


def _local_session(workspace: Path) -> "SparkSession":
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    quiet = workspace / "log4j2.properties"
    quiet.write_text(_QUIET)
    settings = {
        "spark.master": "local[*]",
        "spark.app.name": "smalti",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet.as_uri()}",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(workspace / "spark"),
        "spark.sql.warehouse.dir": str(workspace / "warehouse"),
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Spark's log and its error pages may quote rows.
        "spark.log.level": "OFF",
        "spark.sql.debug.maxToStringFields": "0",
    }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _this_python():
            return builder.getOrCreate()
    except (PySparkException, RuntimeError, OSError):
        raise BackendError(
            "spark engine",
            "the Java side does not start",
            f"a Java runtime {OLDEST_JAVA} or newer",
            f"{INSTALL_JAVA}, or use --engine local",
        ) from None


def _stage(source: Source, contents: Contents, path: Path) -> None:
    reader = text_batches(source, contents)
    with pq.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _without_values(error: BaseException) -> BaseException:
    """Spark's exceptions carry stack traces and sometimes rows; say only that a step failed."""
    if isinstance(error, SmaltiError | InternalError) or not isinstance(error, Exception):
        return error
    return BackendError(
        "spark engine",
        "a step failed",
        "a running Spark, with enough memory and disk",
        "look at Spark's own log, or use --engine local",
    )


@contextmanager
def _translated() -> Iterator[None]:
    from pyspark.logger import PySparkLogger

    # PySpark logs the message of some exceptions before anybody can catch them.
    loggers = [PySparkLogger.getLogger(name) for name in _QUOTING_LOGGERS]
    states = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    except Exception as error:
        raise _without_values(error) from None
    finally:
        for logger, state in zip(loggers, states, strict=True):
            logger.disabled = state


class SparkTable(BoundTable):
    """A DataFrame of texts `row, c0, c1, ...`, staged as Parquet in the workspace."""

    def __init__(
        self,
        session: "SparkSession",
        frame: "DataFrame",
        contents: Contents,
        workspace: Path,
        is_ours: bool,
    ) -> None:
        self.contents = contents
        self._session, self._frame = session, frame
        self._workspace, self._is_ours = workspace, is_ours
        self._tuples: DataFrame | None = None
        self._kept = 0

    def keep(self, test: RowTest) -> None:
        with _translated():
            frame, condition = self._flagged(self._frame, test)
            self._stage_again(frame.where(condition))

    def leave_out(self, test: RowTest) -> None:
        with _translated():
            frame, condition = self._flagged(self._frame, test)
            self._stage_again(frame.where(~condition))

    def _stage_again(self, frame: "DataFrame") -> None:
        """Write the rows that are left, so that no later step tests them again."""
        self._kept += 1
        place = (self._workspace / f"kept{self._kept}.parquet").as_uri()
        frame.select(*self._frame.columns).write.parquet(place)
        self._frame = self._session.read.schema(self._frame.schema).parquet(place)

    def _flagged(self, frame: "DataFrame", test: RowTest) -> "tuple[DataFrame, Column]":
        """The rows with a flag for each list of a test, and the test in terms of the flags."""
        from pyspark.sql import functions as f

        if isinstance(test, Listed):
            flag = f"flag{len(frame.columns)}"
            listed = pa.table({"t": test.texts, flag: pa.array([True] * len(test.texts), pa.bool_())})
            texts = self._session.createDataFrame(listed)
            joined = frame.join(texts, frame[self._c(test.column)] == texts["t"], "left").drop("t")
            return joined, f.coalesce(f.col(flag), f.lit(False))
        conditions = []
        for inner in test.tests:
            frame, condition = self._flagged(frame, inner)
            conditions.append(condition)
        if test.operator is LogicalOperator.XONE:
            return frame, reduce(lambda a, b: a + b, (c.cast("int") for c in conditions)) == 1
        if test.operator is LogicalOperator.OR:
            return frame, reduce(lambda a, b: a | b, conditions)
        return frame, reduce(lambda a, b: a & b, conditions)

    def texts(self, column: str) -> pa.Array:
        c = self._c(column)
        found = self._arrow(self._frame.select(c).where(self._frame[c].isNotNull()).distinct())
        return found.column(0).combine_chunks()

    def repeats(self, column: str) -> bool:
        from pyspark.sql import functions as f

        c = self._c(column)
        return self._truth(self._frame.agg(f.count(c) > f.count_distinct(f.col(c))))

    def misses(self, column: str) -> bool:
        from pyspark.sql import functions as f

        return self._truth(self._frame.agg(f.count("*") > f.count(self._c(column))))

    def matches(self, column: str, pattern: str) -> bool:
        from pyspark.sql import functions as f

        c = self._c(column)
        # Java's `$` also matches before a final line end; \z does not.
        fits = f.col(c).rlike(rf"\A(?:{pattern})\z")
        return self._truth(self._frame.agg(f.coalesce(f.bool_and(fits), f.lit(True))))

    def frequencies(self, plan: Plan) -> Frequencies:
        with _translated():
            return self._frequencies(plan)

    def _frequencies(self, plan: Plan) -> Frequencies:
        names = plan.apply.transform.quasi_identifiers
        columns = [self._c(name) for name in names]
        counted = self._arrow(self._frame.groupBy(*columns).count())
        numbered = counted.drop_columns("count").append_column("tuple", pa.array(np.arange(len(counted))))
        self._tuples = self._session.createDataFrame(numbered)
        tuples = numbered.select(columns).rename_columns(list(names))
        rows = counted.column("count").to_numpy().astype(np.int64)
        member = self._with_tuples(columns)
        return Frequencies(tuples, rows, self._respondents(plan, member), self._sensitive(plan, member))

    def _with_tuples(self, columns: list[str]) -> "DataFrame":
        staged, tuples = self._frame, self._tuples
        if tuples is None:
            raise InternalError("rows were asked for before their frequencies")
        same: Column = reduce(lambda a, b: a & b, (staged[c].eqNullSafe(tuples[c]) for c in columns))
        return staged.join(tuples, same).select(*(staged[c] for c in staged.columns), tuples["tuple"])

    def _respondents(self, plan: Plan, member: "DataFrame") -> pa.Table | None:
        respondent = plan.read.respondent
        if not isinstance(respondent, RespondentColumn):
            return None
        c = self._c(respondent.column)
        pairs = member.select("tuple", member[c].alias("respondent")).distinct()
        return self._arrow(pairs)

    def _sensitive(self, plan: Plan, member: "DataFrame") -> tuple[pa.Table, ...]:
        respondent = plan.read.respondent
        who: list[Column] = []
        if isinstance(respondent, RespondentColumn):
            who = [member[self._c(respondent.column)].alias("respondent")]
        return tuple(
            self._arrow(member.select("tuple", member[self._c(name)].alias("value"), *who).distinct())
            for name in plan.apply.transform.sensitive
        )

    def write(self, plan: Plan, recoding: Recoding, output: Path, link: Path) -> None:
        parts = self._workspace / "parts"
        with _translated():
            parts.mkdir()
            written = _write_parts(self._ordered(plan, recoding), str(parts))
            _join(plan, parts, written, output, link)

    def _ordered(self, plan: Plan, recoding: Recoding) -> "DataFrame":
        from pyspark.sql import functions as f

        columns = [self._c(name) for name in plan.apply.transform.quasi_identifiers]
        names = [f"l{i}" for i in range(recoding.labels.num_columns)]
        by_tuple = recoding.labels.rename_columns(names).take(pa.array(recoding.classes))
        numbered = by_tuple.append_column("tuple", pa.array(np.arange(len(recoding.classes))))
        labels = self._session.createDataFrame(numbered)
        joined = self._with_tuples(columns).join(labels, "tuple")
        published = [
            f.col(self._c(name) if place is None else f"l{place}").alias(f"p{i}")
            for i, (name, place) in enumerate(published_columns(plan))
        ]
        order = [f.col(f"p{i}").asc_nulls_first() for i in range(len(published))]
        return joined.select(*published, "row").orderBy(*order)

    def close(self) -> None:
        if self._is_ours:
            self._session.stop()

    def _c(self, column: str) -> str:
        return f"c{self.contents.header.index(column)}"

    def _arrow(self, frame: "DataFrame") -> pa.Table:
        with _translated():
            return frame.toArrow()

    def _truth(self, frame: "DataFrame") -> bool:
        return bool(self._arrow(frame).column(0)[0].as_py())


@dataclass(frozen=True, slots=True)
class _Part:
    number: int
    rows: int


def _write_parts(frame: "DataFrame", folder: str) -> list[_Part]:
    """Write each partition of an ordered frame as CSV records, beside the input rows they come from.

    A part appears under its name by a rename, when it is whole: a task that is tried again writes the
    same bytes again.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise InternalError("a task has no context")
        part, attempt = context.partitionId(), context.taskAttemptId()
        records, links = (Path(folder) / f"{part}.{kind}.{attempt}" for kind in ("csv", "rows"))
        rows = 0
        with closing(CsvWriter(records, None)) as writer, links.open("xb") as link:
            for batch in batches:
                last = batch.num_columns - 1
                writer.write(batch.select(range(last)))
                link.write(link_bytes(batch.column(last)))
                rows += batch.num_rows
        records.replace(Path(folder) / f"{part}.csv")
        links.replace(Path(folder) / f"{part}.rows")
        yield pa.RecordBatch.from_pydict(
            {"part": pa.array([part], pa.int32()), "rows": pa.array([rows], pa.int64())}
        )

    written = frame.mapInArrow(write, _PART_SCHEMA).toArrow().to_pylist()
    return sorted((_Part(row["part"], row["rows"]) for row in written), key=lambda part: part.number)


def _join(plan: Plan, folder: Path, parts: list[_Part], output: Path, link: Path) -> None:
    total = sum(part.rows for part in parts)
    with open_link(link, total) as rows:
        for part in parts:
            with (folder / f"{part.number}.rows").open("rb") as piece:
                shutil.copyfileobj(piece, rows)
    records = output if plan.write.format is OutputFormat.CSV else folder / "joined.csv"
    with records.open("xb") as file:
        file.write(csv_records([pa.array([name]) for name in plan.write.columns]))
        for part in parts:
            with (folder / f"{part.number}.csv").open("rb") as piece:
                shutil.copyfileobj(piece, file)
    if plan.write.format is not OutputFormat.CSV:
        _convert(plan, records, output)


def _convert(plan: Plan, records: Path, output: Path) -> None:
    with closing(open_writer(output, plan.write.columns, plan.write.format)) as writer:
        for batch in csv_text_batches(records, plan.write.columns):
            writer.write(batch)
