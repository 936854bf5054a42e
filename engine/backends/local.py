"""The embedded engine: relational steps in DuckDB, in memory; spills to a private folder when it must."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar, Final

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.backends.base import Backend
from smalti.engine.backends.numbering import Numberings, numbered_batches, probe, renewed
from smalti.engine.backends.publication import Publication
from smalti.engine.backends.relations import Relations, link_bytes, open_link, renumbered
from smalti.engine.backends.staged import STAGED, StagedColumn, StagedTable, staged_places
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import Contents, inspect, text_batches
from smalti.errors import BackendError

_BATCH_ROWS: Final = 1 << 17
_COPIED_ROWS: Final = 1 << 14
MEMORY_LIMIT: Final = "2GB"
"""Of DuckDB's tables and buffers: beyond it, steps spill to disk."""


class LocalBackend(Backend):
    """Embedded, no Java."""

    name: ClassVar[str] = "local"

    def __init__(self, fragments: int | None = None) -> None:
        """Choose the most kernels among which tuples are divided; None: by the number of tuples."""
        self._fragments = fragments

    def open(self, source: Source, workspace: Path, columns: Collection[str] | None = None) -> StagedTable:
        contents = inspect(source)
        relations = LocalRelations(workspace)
        try:
            staged = relations.stage(source, contents, staged_places(contents, columns))
            return StagedTable(contents, relations, staged, self._fragments)
        except BaseException:
            relations.close()
            raise


class LocalRelations(Relations):
    """Relations in a DuckDB of their own."""

    def __init__(self, workspace: Path) -> None:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": str(workspace / "spill"),
            "memory_limit": MEMORY_LIMIT,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
        }
        try:
            # Tables in memory spill to the workspace when they reach the limit.
            self._connection = duckdb.connect(config=settings)
            # It goes to standard output, where answers in JSON go.
            self._connection.execute("SET enable_progress_bar = false")
        except duckdb.Error:
            raise BackendError(
                str(workspace), "the engine does not start", "a writable folder with free space"
            ) from None

    def stage(self, source: Source, contents: Contents, places: Sequence[int]) -> list[StagedColumn | None]:
        """Copy the source's rows into the relation `staged`, with the columns at some places."""
        numberings, reader = probe(text_batches(source, contents, places))
        while not self._is_staged(source, contents, reader, numberings):
            numberings, reader = renewed(numberings), text_batches(source, contents, places)
        columns: list[StagedColumn | None] = [None] * len(contents.header)
        for place, numbering in zip(places, numberings, strict=True):
            as_text = numbering is None
            columns[place] = StagedColumn(None if numbering is None else numbering.texts, has_text=as_text)
        return columns

    def _is_staged(
        self, source: Source, contents: Contents, reader: pa.RecordBatchReader, numberings: Numberings
    ) -> bool:
        """Copy the rows; no where a column turns out to be too varied for numbers."""
        self._connection.register("incoming", numbered_batches(reader, numberings))
        try:
            self._run(f"CREATE OR REPLACE TABLE {STAGED} AS SELECT * FROM incoming")
        except BackendError:
            if any(numbering is not None and numbering.is_too_varied for numbering in numberings):
                return False
            # DuckDB hides what the reader raised. If the file was the reason, reading it again tells.
            for _ in text_batches(source, contents):
                pass
            raise
        finally:
            self._connection.unregister("incoming")
        return True

    def copy_texts(self, name: str, source: Source, contents: Contents) -> None:
        """Keep the rows of a source under a name, all columns as texts: `row`, `c0`, `c1`, ..."""
        self._connection.register("incoming", text_batches(source, contents))
        try:
            self._run(f"CREATE TABLE {name} AS SELECT * FROM incoming")
        finally:
            self._connection.unregister("incoming")

    def counts(self, name: str, place: int) -> tuple[int, int, int]:
        """Of a column of copied texts: different ones, rows with one, rows whose text others have, too."""
        counted = self.take(
            "SELECT count(*) AS different, CAST(coalesce(sum(n), 0) AS BIGINT) AS filled,"
            " CAST(coalesce(sum(CASE WHEN n > 1 THEN n ELSE 0 END), 0) AS BIGINT) AS repeated"
            f" FROM (SELECT count(*) AS n FROM {name} WHERE c{place} IS NOT NULL GROUP BY c{place}) AS t"
        )
        (row,) = counted.to_pylist()
        return row["different"], row["filled"], row["repeated"]

    def make(self, name: str, query: str, *, is_lasting: bool = True) -> None:
        del is_lasting  # it costs little to keep them all
        self._run(f"CREATE TABLE making AS {query}")
        self._rename(name)

    def give(self, name: str, table: pa.Table) -> None:
        self.drop(name)
        self._connection.register("given", table)
        self._run(f"CREATE TABLE {name} AS SELECT * FROM given")
        self._connection.unregister("given")

    def take(self, query: str) -> pa.Table:
        with _translated():
            return self._connection.sql(query).to_arrow_table()

    def map_nodes(
        self, name: str, source: str, function: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> None:
        self.give(name, schema.empty_table())
        nodes = self.take(f"SELECT DISTINCT node FROM {source}").column("node").to_pylist()
        for node in nodes:
            rows = function(self.take(f"SELECT * FROM {source} WHERE node = {node}"))
            self._connection.register("given", rows)
            self._run(f"INSERT INTO {name} SELECT * FROM given")
            self._connection.unregister("given")

    def renumber(self, name: str, numbers: Mapping[str, NDArray[np.int64]]) -> None:
        with _translated(), closing(self._connection.cursor()) as reading:
            # Not by joins: their cost, and the memory that each takes, grow faster than their number.
            reader = reading.sql(f"SELECT * FROM {name}").to_arrow_reader(_COPIED_ROWS)
            batches = (renumbered(batch, numbers) for batch in reader)
            self._connection.register("given", pa.RecordBatchReader.from_batches(reader.schema, batches))
            self._connection.execute("CREATE TABLE making AS SELECT * FROM given")
            self._connection.unregister("given")
        self._rename(name)

    def _rename(self, name: str) -> None:
        self.drop(name)
        self._run(f"ALTER TABLE making RENAME TO {name}")

    def drop(self, name: str) -> None:
        self._run(f"DROP TABLE IF EXISTS {name}")

    def matching(self, column: str, pattern: str) -> str:
        return f"regexp_full_match({column}, '{pattern}')"

    def publish(self, query: str, publication: Publication, output: Path, link: Path) -> None:
        # Errors of the query come up while its batches are taken, and those of the disk in the writer.
        with _translated():
            self._publish(query, publication, output, link)

    def _publish(self, query: str, publication: Publication, output: Path, link: Path) -> None:
        with (
            closing(publication.files(output)) as files,
            open_link(link) as places,
        ):
            for batch in self._connection.sql(query).to_arrow_reader(_BATCH_ROWS):
                for rows_written, writer in files.divided(batch):
                    publication.write(rows_written, writer)
                places.write(link_bytes(batch.column(batch.num_columns - 1)))

    def close(self) -> None:
        self._connection.close()

    def _run(self, query: str) -> None:
        with _translated():
            self._connection.execute(query)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        raise
    except (duckdb.Error, pa.ArrowException, OSError):
        # DuckDB's own message may quote data.
        raise BackendError(
            "local engine",
            "a step failed",
            "enough free memory and disk in the folder of the output",
            "free some space, or use --engine spark",
        ) from None
