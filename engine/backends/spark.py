"""Apache Spark: the same relational steps as SQL on a session; pyspark is imported in `spark*.py` only."""

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.backends import spark_reading, spark_writing
from smalti.engine.backends.base import Backend
from smalti.engine.backends.publication import Publication
from smalti.engine.backends.relations import Relations, renumbered
from smalti.engine.backends.spark_session import (
    check_settings,
    described,
    session,
    translated,
    without_values,
)
from smalti.engine.backends.staged import (
    MOST_FACTS,
    STAGED,
    StagedColumn,
    StagedTable,
    staged_places,
)
from smalti.engine.tables.description import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEW_ROWS: Final = 1 << 20
"""With fewer, one kernel takes them all."""
_FRAGMENTS_PER_CORE: Final = 2
_ROWS_PER_PARTITION: Final = 1 << 17


class SparkBackend(Backend):
    """Runs plans on a Spark session: the one given, the active one, or one made for the run."""

    name: ClassVar[str] = "spark"

    def __init__(
        self,
        session: "SparkSession | None" = None,
        fragments: int | None = None,
        *,
        master: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Choose where to run.

        Args:
            session: it is used, and not stopped; None: the active one, or one that is made for the run.
            fragments: the most kernels among which tuples are divided; None: one for few rows, and else
                two for each core.
            master: of a session made for the run; None: this machine, or what `spark-submit` says.
            settings: of a session made for the run.

        Raises:
            UsageError: a setting would let rows into a log, or take another interpreter.
        """
        check_settings(settings or {})
        self._given, self._fragments = session, fragments
        self._master, self._settings = master, dict(settings or {})

    def open(self, source: Source, workspace: Path, columns: Collection[str] | None = None) -> StagedTable:
        with session(self._given, self._master, self._settings, workspace) as (running, is_ours):
            try:
                return self._open(source, workspace, columns, running, is_ours)
            except BaseException as error:
                raise without_values(error) from None

    def _open(
        self,
        source: Source,
        workspace: Path,
        wanted: Collection[str] | None,
        running: "SparkSession",
        is_ours: bool,
    ) -> StagedTable:
        with translated():
            spark_reading.check_shared(running, source, workspace)
            contents = spark_reading.inspect_by_ranges(running, source)
            cores = running.sparkContext.defaultParallelism
            staged = workspace / "staged"
            places = staged_places(contents, wanted)
            spark_reading.stage(running, source, contents, places, staged)
        relations = SparkRelations(running, workspace, is_ours, contents.rows)
        relations.read(STAGED, staged, spark_reading.staged_schema(places))
        fragments = self._fragments
        if fragments is None:
            fragments = 1
            if contents.rows >= FEW_ROWS:
                fragments = max(_FRAGMENTS_PER_CORE * cores, contents.rows // MOST_FACTS)
        as_text = StagedColumn(None, has_text=True)
        columns = [as_text if place in places else None for place in range(len(contents.header))]
        return StagedTable(contents, relations, columns, fragments)


class SparkRelations(Relations):
    """Relations as temporary views of a session of their own, kept in Parquet files in the workspace."""

    def __init__(self, session: "SparkSession", workspace: Path, is_ours: bool, rows: int) -> None:
        self._root = session
        # Views and settings of a new session are not seen by others; the context is shared.
        self._session = session.newSession()
        self._workspace = workspace
        self._is_ours = is_ours
        self._made = 0
        self._folders: dict[str, Path] = {}
        self._step = ""
        for key, value in self._settings(rows).items():
            self._session.conf.set(key, value)

    def _settings(self, rows: int) -> dict[str, str]:
        """As many partitions as the rows ask for; adaptive execution joins what turns out to be small."""
        cores = self._root.sparkContext.defaultParallelism
        partitions = min(cores, 1 + rows // _ROWS_PER_PARTITION)
        if rows > cores * _ROWS_PER_PARTITION:
            partitions = max(_FRAGMENTS_PER_CORE * cores, rows // _ROWS_PER_PARTITION)
        return {
            "spark.sql.shuffle.partitions": str(partitions),
            # It makes a job of each stage; a small table is in one partition anyhow.
            "spark.sql.adaptive.enabled": "true" if partitions > 1 else "false",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
        }

    def make(self, name: str, query: str, *, is_lasting: bool = True) -> None:
        with self._job(name):
            frame = self._session.sql(query)
            if is_lasting:
                self._keep(name, frame)
            else:
                self._show(name, frame)

    def _keep(self, name: str, frame: "DataFrame") -> None:
        self._made += 1
        folder = self._workspace / f"made{self._made}"
        frame.write.parquet(folder.as_uri())
        self._show(name, self._session.read.schema(frame.schema).parquet(folder.as_uri()))
        self._forget(name)
        self._folders[name] = folder

    def _forget(self, name: str) -> None:
        if folder := self._folders.pop(name, None):
            shutil.rmtree(folder, ignore_errors=True)

    def map_nodes(
        self, name: str, source: str, function: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> None:
        from pyspark.sql.pandas.types import from_arrow_schema

        def checked(rows: pa.Table) -> pa.Table:
            return function(rows).cast(schema)

        with self._job(name):
            grouped = self._session.table(source).groupBy("node")
            self._keep(name, grouped.applyInArrow(checked, from_arrow_schema(schema)))

    def renumber(self, name: str, numbers: Mapping[str, NDArray[np.int64]]) -> None:
        def all_renumbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return (renumbered(batch, numbers) for batch in batches)

        with self._job(name):
            frame = self._session.table(name)
            self._keep(name, frame.mapInArrow(all_renumbered, frame.schema))

    def _show(self, name: str, frame: "DataFrame") -> None:
        frame.createOrReplaceTempView(name)

    def read(self, name: str, folder: Path, schema: pa.Schema) -> None:
        """Keep Parquet files under a name; they are gone when it is made anew."""
        from pyspark.sql.pandas.types import from_arrow_schema

        with translated():
            self._show(name, self._session.read.schema(from_arrow_schema(schema)).parquet(folder.as_uri()))
            self._folders[name] = folder

    def give(self, name: str, table: pa.Table) -> None:
        with translated():
            self._show(name, self._session.createDataFrame(table))

    def take(self, query: str) -> pa.Table:
        with self._job("look"):
            return self._session.sql(query).toArrow()

    def drop(self, name: str) -> None:
        with translated():
            self._session.catalog.dropTempView(name)
            self._forget(name)

    def matching(self, column: str, pattern: str) -> str:
        # Java's `$` also matches before a final line end; \z does not.
        return rf"{column} RLIKE r'\A(?:{pattern})\z'"

    def publish(self, query: str, publication: Publication, output: Path, link: Path) -> None:
        parts = self._workspace / "parts"
        with self._job("publish"):
            parts.mkdir()
            spark_writing.publish(self._session.sql(query), publication, parts, output, link)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        before, self._step = self._step, f"{name}: "
        try:
            yield
        finally:
            self._step = before

    @contextmanager
    def _job(self, what: str) -> Iterator[None]:
        with translated(), described(self._session, f"{self._step}{what}"):
            yield

    def close(self) -> None:
        if self._is_ours:
            self._root.stop()
