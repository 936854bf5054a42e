"""The embedded engine: relational steps in DuckDB, staged in a private file, spilling where it must."""

from contextlib import closing
from pathlib import Path
from typing import ClassVar

import duckdb
import numpy as np
import pyarrow as pa

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
from smalti.engine.plan import Plan, RespondentColumn
from smalti.engine.reading import Contents, inspect, text_batches
from smalti.engine.writing import open_writer
from smalti.errors import BackendError
from smalti.policy.model import LogicalOperator

_BATCH_ROWS = 1 << 17


class LocalBackend(Backend):
    """Embedded, no Java."""

    name: ClassVar[str] = "local"

    def open(self, source: Source, workspace: Path) -> "LocalTable":
        contents = inspect(source)
        try:
            connection = duckdb.connect(
                str(workspace / "staged.duckdb"),
                config={"temp_directory": str(workspace / "spill"), "autoinstall_known_extensions": False},
            )
        except duckdb.Error:
            raise BackendError(
                str(workspace), "the staging file cannot be made", "a writable folder with free space"
            ) from None
        table = LocalTable(connection, contents)
        try:
            table.stage(source)
        except BaseException:
            connection.close()
            raise
        return table


class LocalTable(BoundTable):
    """A table `staged(row, c0, c1, ...)` of texts, with one column for each of the file's.

    Columns go by number, for DuckDB's names ignore case.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, contents: Contents) -> None:
        self.contents = contents
        self._connection = connection
        self._rows = contents.rows
        self._tests = 0

    def stage(self, source: Source) -> None:
        """Copy the file's rows into the staging table."""
        reader = text_batches(source, self.contents)
        self._connection.register("incoming", reader)
        try:
            self._run("CREATE TABLE staged AS SELECT * FROM incoming")
        except BackendError:
            # DuckDB hides what the reader raised. If the file was the reason, reading it again tells.
            for _ in text_batches(source, self.contents):
                pass
            raise
        self._connection.unregister("incoming")

    def keep(self, test: RowTest) -> None:
        self._delete(f"NOT {self._condition(test)}")

    def leave_out(self, test: RowTest) -> None:
        self._delete(self._condition(test))

    def _delete(self, condition: str) -> None:
        self._run(f"DELETE FROM staged WHERE {condition}")  # noqa: S608
        self._rows = self._number("SELECT count(*) FROM staged")

    def _condition(self, test: RowTest) -> str:
        """A test in SQL, true or false for each row; its texts go into tables of their own."""
        if isinstance(test, Listed):
            self._tests += 1
            name = f"test{self._tests}"
            self._connection.register(name, pa.table({"t": test.texts}))
            return f"coalesce({self._c(test.column)} IN (SELECT t FROM {name}), false)"  # noqa: S608
        parts = [self._condition(inner) for inner in test.tests]
        if test.operator is LogicalOperator.XONE:
            return f"({' + '.join(f'{part}::INTEGER' for part in parts)} = 1)"
        joint = " OR " if test.operator is LogicalOperator.OR else " AND "
        return f"({joint.join(parts)})"

    def texts(self, column: str) -> pa.Array:
        c = self._c(column)
        found = self._arrow(f"SELECT DISTINCT {c} AS t FROM staged WHERE {c} IS NOT NULL")  # noqa: S608
        return found.column("t").combine_chunks()

    def repeats(self, column: str) -> bool:
        c = self._c(column)
        return self._one(f"SELECT count({c}) > count(DISTINCT {c}) FROM staged")  # noqa: S608

    def misses(self, column: str) -> bool:
        return self._one(f"SELECT count(*) > count({self._c(column)}) FROM staged")  # noqa: S608

    def matches(self, column: str, pattern: str) -> bool:
        c = self._c(column)
        query = f"SELECT coalesce(bool_and(regexp_full_match({c}, ?)), true) FROM staged"  # noqa: S608
        return self._one(query, pattern)

    def frequencies(self, plan: Plan) -> Frequencies:
        names = plan.apply.transform.quasi_identifiers
        columns = ", ".join(self._c(name) for name in names)
        same = " AND ".join(f"s.{self._c(n)} IS NOT DISTINCT FROM t.{self._c(n)}" for n in names)
        self._run(
            f"CREATE TABLE tuples AS SELECT row_number() OVER () - 1 AS tuple, * FROM "  # noqa: S608
            f"(SELECT {columns}, count(*) AS n FROM staged GROUP BY ALL)"
        )
        self._run(
            f"CREATE TABLE membership AS SELECT s.row, t.tuple FROM staged s JOIN tuples t ON {same}"  # noqa: S608
        )
        found = self._arrow("SELECT * FROM tuples ORDER BY tuple")
        tuples = found.select([self._c(name) for name in names]).rename_columns(list(names))
        rows = found.column("n").to_numpy().astype(np.int64)
        return Frequencies(tuples, rows, self._respondents(plan), self._sensitive(plan))

    def _respondents(self, plan: Plan) -> pa.Table | None:
        respondent = plan.read.respondent
        if not isinstance(respondent, RespondentColumn):
            return None
        return self._arrow(
            f"SELECT DISTINCT m.tuple, s.{self._c(respondent.column)} AS respondent "  # noqa: S608
            "FROM staged s JOIN membership m USING (row)"
        )

    def _sensitive(self, plan: Plan) -> tuple[pa.Table, ...]:
        respondent = plan.read.respondent
        who = ""
        if isinstance(respondent, RespondentColumn):
            who = f", s.{self._c(respondent.column)} AS respondent"
        return tuple(
            self._arrow(
                f"SELECT DISTINCT m.tuple, s.{self._c(name)} AS value{who} "  # noqa: S608
                "FROM staged s JOIN membership m USING (row)"
            )
            for name in plan.apply.transform.sensitive
        )

    def write(self, plan: Plan, recoding: Recoding, output: Path, link: Path) -> None:
        classes = pa.table({"tuple": np.arange(len(recoding.classes)), "class": recoding.classes})
        names = [f"l{i}" for i in range(recoding.labels.num_columns)]
        labels = recoding.labels.rename_columns(names).append_column(
            "class", pa.array(np.arange(recoding.labels.num_rows))
        )
        self._connection.register("classes", classes)
        self._connection.register("labels", labels)
        columns = [
            f"s.{self._c(name)}" if place is None else f"l.l{place}"
            for name, place in published_columns(plan)
        ]
        order = ", ".join(f"{i + 1} ASC NULLS FIRST" for i in range(len(columns)))
        selected = ", ".join(f"{column} AS p{i}" for i, column in enumerate(columns))
        query = (
            f"SELECT {selected}, s.row FROM staged s JOIN membership m USING (row) "  # noqa: S608
            f"JOIN classes k USING (tuple) JOIN labels l USING (class) ORDER BY {order}"
        )
        self._write(query, plan, output, link)

    def _write(self, query: str, plan: Plan, output: Path, link: Path) -> None:
        # Errors of the query come up while its batches are taken, and those of the disk in the writer.
        try:
            self._write_batches(query, plan, output, link)
        except (duckdb.Error, pa.ArrowException, OSError):
            raise self._failed() from None

    def _write_batches(self, query: str, plan: Plan, output: Path, link: Path) -> None:
        with (
            closing(open_writer(output, plan.write.columns, plan.write.format)) as writer,
            open_link(link, self._rows) as rows,
        ):
            for batch in self._connection.sql(query).to_arrow_reader(_BATCH_ROWS):
                writer.write(batch.select(range(batch.num_columns - 1)))
                rows.write(link_bytes(batch.column(batch.num_columns - 1)))

    def close(self) -> None:
        self._connection.close()

    def _c(self, column: str) -> str:
        return f"c{self.contents.header.index(column)}"

    def _run(self, query: str) -> None:
        try:
            self._connection.execute(query)
        except duckdb.Error:
            raise self._failed() from None

    def _one(self, query: str, *parameters: str) -> bool:
        return bool(self._number(query, *parameters))

    def _number(self, query: str, *parameters: str) -> int:
        try:
            ((found,),) = self._connection.execute(query, list(parameters)).fetchall()
        except duckdb.Error:
            raise self._failed() from None
        return int(found)

    def _arrow(self, query: str) -> pa.Table:
        try:
            return self._connection.sql(query).to_arrow_table()
        except duckdb.Error:
            raise self._failed() from None

    def _failed(self) -> BackendError:
        # DuckDB's own message may quote data.
        return BackendError(
            "local engine",
            "a step failed",
            "enough free memory and disk in the folder of the output",
            "free some space, or use --engine spark",
        )
