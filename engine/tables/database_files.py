"""Tables of database files, of DuckDB and SQLite; opened for reading, and without any other file."""

import math
import sqlite3
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from smalti.engine.tables.arrow import ArrowReader
from smalti.engine.tables.catalogue import Name, chosen, quoted
from smalti.engine.tables.foreign import (
    RECORDS_AT_ONCE,
    Number,
    Plain,
    Reader,
    Records,
    misfit,
    plain_number,
)
from smalti.errors import DataError, UsageError

_SQLITE: Final = b"SQLite format 3\0"
_DUCKDB: Final = b"DUCK"
_ENCRYPTED: Final = "an unencrypted database that no other program has open for writing"
_SETTINGS: Final[dict[str, Any]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}


@contextmanager
def opened_table(path: Path, table: str | None) -> Iterator[Reader]:
    """A table of a database file.

    Args:
        path: of the file.
        table: `table` or `schema.table`; None: the only one.

    Raises:
        UsageError: there is no such table, or several and none is named.
        DataError: it is no database file that is read, or a column is of a type that is not.
    """
    with path.open("rb") as file:
        start = file.read(16)
    if start == _SQLITE:
        with _sqlite(path, table) as reader:
            yield reader
    elif start[8:12] == _DUCKDB:
        with _duckdb(path, table) as reader:
            yield reader
    else:
        raise DataError(
            path.name, "not a database file that is read", "a file of DuckDB or SQLite", "export it"
        )


@contextmanager
def _duckdb(path: Path, table: str | None) -> Iterator[Reader]:
    import duckdb  # noqa: PLC0415 (few sources need it, and it loads slowly)

    try:
        connection = duckdb.connect(str(path), read_only=True, config=_SETTINGS)
    except duckdb.Error:
        raise _unreadable(path, "DuckDB") from None
    with closing(connection):
        try:
            connection.execute("SET lock_configuration = true")
            names = _names_in_duckdb(connection)
        except duckdb.Error:
            raise _unreadable(path, "DuckDB") from None
        (schema, name), is_view = _chosen_of(path, names, "main", table)
        if is_view and _has_recursive_views(connection):
            raise _no_rows(f"{path.name}#{name}")
        # A view has no order of its own.
        query = f"SELECT * FROM {quoted(schema, name)}{' ORDER BY ALL' if is_view else ''}"

        def batches() -> Iterator[Any]:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows = connection.sql(query).to_arrow_reader(RECORDS_AT_ONCE)
                yield from rows
            except duckdb.Error:
                raise _no_rows(f"{path.name}#{name}") from None

        try:
            empty = connection.sql(f"SELECT * FROM {quoted(schema, name)} LIMIT 0")
            _check_types(f"{path.name}#{name}", empty)
            empty = empty.to_arrow_table()
        except duckdb.Error:
            raise _no_rows(f"{path.name}#{name}") from None
        yield ArrowReader(f"{path.name}#{name}", empty.schema, batches)


def _check_types(where: str, table: Any) -> None:
    """Refuse numbers that DuckDB hands out as 128 bits with a sign: the largest come out negative."""
    for name, kind in zip(table.columns, table.types, strict=True):
        if str(kind) == "UHUGEINT":
            raise DataError(
                f"{where}, column `{name}`",
                "the type `UHUGEINT` is not implemented",
                "a type that is listed in docs/descriptions.md",
                "cast it to text in a view",
            )


def _no_rows(where: str) -> DataError:
    return DataError(
        where,
        "the table or view cannot be read",
        "a table, or a view of tables of the same file, and no recursive view in it",
        "copy its rows into a table",
    )


def _has_recursive_views(connection: Any) -> bool:
    """Whether a view of the file may have rows without end."""
    views = "SELECT 1 FROM duckdb_views() WHERE NOT internal AND sql LIKE '%WITH RECURSIVE %' LIMIT 1"
    return bool(connection.execute(views).fetchall())


def _names_in_duckdb(connection: Any) -> dict[Name, bool]:
    rows = connection.execute(
        "SELECT table_schema, table_name, table_type = 'VIEW' FROM information_schema.tables"
        " WHERE table_catalog = current_database()"
    ).fetchall()
    return {(schema, name): bool(is_view) for schema, name, is_view in rows}


@contextmanager
def _sqlite(path: Path, table: str | None) -> Iterator[Reader]:
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
    except sqlite3.Error:
        raise _unreadable(path, "SQLite") from None
    with closing(connection):
        try:
            connection.execute("PRAGMA query_only = true")
            connection.execute("PRAGMA trusted_schema = false")
            connection.set_authorizer(_without_recursion)
            rows = connection.execute(
                "SELECT name, type = 'view' FROM sqlite_schema WHERE type IN ('table', 'view')"
                " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            ).fetchall()
        except sqlite3.Error:
            raise _unreadable(path, "SQLite") from None
        names = {("main", name): bool(is_view) for name, is_view in rows}
        (_, name), is_view = _chosen_of(path, names, "main", table)
        try:
            yield _SqliteTable(f"{path.name}#{name}", connection, name, is_view=is_view)
        except sqlite3.Error:
            raise DataError(
                f"{path.name}#{name}",
                "the table cannot be read",
                "text in UTF-8, an intact file, and no recursive view",
                "copy its rows into a table, or export it",
            ) from None


def _without_recursion(action: int, *_: str | None) -> int:
    """A view that is defined by itself may have rows without end."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_RECURSIVE else sqlite3.SQLITE_OK


def _chosen_of(path: Path, names: dict[Name, bool], default: str, table: str | None) -> tuple[Name, bool]:
    name = chosen(path.name, names, default, table)
    return name, names[name]


def _unreadable(path: Path, kind: str) -> UsageError:
    return UsageError(
        path.name,
        f"it cannot be opened as a file of {kind}",
        _ENCRYPTED,
        "close the other program, or export the table",
    )


class _SqliteTable(Reader):
    """A table of SQLite, whose values have types of their own, whatever their column says."""

    def __init__(self, name: str, connection: sqlite3.Connection, table: str, *, is_view: bool) -> None:
        self._name, self._connection = name, connection
        self._query = f"SELECT * FROM {quoted('main', table)}"
        described = connection.execute(f"{self._query} LIMIT 0").description
        self._header = tuple(column[0] for column in described)
        if is_view:  # it has no order of its own
            self._query += f" ORDER BY {', '.join(str(place) for place in range(1, len(self._header) + 1))}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def header(self) -> tuple[str, ...]:
        return self._header

    @property
    def has_typed_cells(self) -> bool:
        return True

    def records(self) -> Iterator[Records]:
        first = 1
        with closing(self._connection.execute(self._query)) as cursor:
            while rows := cursor.fetchmany(RECORDS_AT_ONCE):
                texts = [
                    [self._text(first + number, cell) for cell in row] for number, row in enumerate(rows)
                ]
                yield Records(first, tuple(zip(*texts, strict=True)))
                first += len(rows)

    def _text(self, record: int, cell: object) -> str:
        match cell:
            case None:
                return ""
            case str():
                return cell
            case bytes():
                return Plain(b64encode(cell).decode())
            case float() if not math.isfinite(cell):
                raise misfit(
                    self._name,
                    record,
                    "a number that is not finite",
                    "finite numbers",
                    "make it missing (NULL)",
                )
            case float() | int():
                return Number(plain_number(cell))
        raise misfit(self._name, record, "a value of an unknown type", "texts, numbers and bytes")
