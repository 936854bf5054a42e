"""Tables of PostgreSQL, by address: looked up in the catalogue, and read in one snapshot.

An address may hold a password. It is shown nowhere, and what a driver says is not passed on, for it may
quote it.
"""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from smalti.engine.tables.addresses import ServedTable
from smalti.engine.tables.catalogue import chosen
from smalti.engine.tables.foreign import (
    RECORDS_AT_ONCE,
    Plain,
    Reader,
    Records,
    TypedReader,
    misfit,
    outside,
    plain_number,
)
from smalti.errors import BackendError, UsageError, install_line, raise_all
from smalti.transforms.base import Datatype

_DATATYPES: dict[str, Datatype] = {
    "int": Datatype.INTEGER,
    "Decimal": Datatype.DECIMAL,
    "float": Datatype.DOUBLE,
    "date": Datatype.DATE,
    "datetime": Datatype.DATETIME,
    "bool": Datatype.STRING,
}


@contextmanager
def opened_table(data: ServedTable) -> Iterator[Reader]:
    """A table or view of a server.

    Raises:
        UsageError: the address is not understood, or there is no such table.
        DataError: a column is of a type that is not read.
        BackendError: the server does not answer, denies access, or the driver is not installed.
    """
    import sqlalchemy as sql  # noqa: PLC0415 (few sources need it)
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (likewise)

    try:
        address = sql.make_url(data.uri)
        engine = sql.create_engine(
            address.set(drivername="postgresql+psycopg"), hide_parameters=True, poolclass=sql.NullPool
        )
    except ImportError:
        raise BackendError(
            data.shown, "the driver of PostgreSQL is not installed", "psycopg", install_line("postgresql")
        ) from None
    except (SQLAlchemyError, ValueError):
        raise UsageError(
            data.shown,
            "the address is not understood",
            "postgresql://USER@HOST/DATABASE#TABLE",
            "correct it",
        ) from None
    try:
        with engine.connect() as connection:
            options = {
                "isolation_level": "REPEATABLE READ",
                "postgresql_readonly": True,
                "stream_results": True,
            }
            yield _Served(data.shown, connection.execution_options(**options), data.table)
    except SQLAlchemyError:
        raise BackendError(
            data.shown,
            "the server does not answer, or denies access",
            "a server that can be reached, and a user who may read the table",
            "check address, network and rights",
        ) from None
    finally:
        engine.dispose()


class _Served(TypedReader):
    """A table of a server; its rows are ordered by their values, for it has no order of its own."""

    def __init__(self, where: str, connection: Any, wanted: str | None) -> None:
        import sqlalchemy as sql  # noqa: PLC0415 (likewise)

        self._connection = connection
        catalogue = sql.inspect(connection)
        default = catalogue.default_schema_name
        schemas = [
            name
            for name in catalogue.get_schema_names()
            if name not in ("information_schema", "pg_catalog")
        ]
        names = {
            (schema, name)
            for schema in schemas
            for list_names in (catalogue.get_table_names, catalogue.get_view_names)
            for name in list_names(schema=schema)
        }
        schema, name = chosen(where, names, default, wanted)
        self._table = sql.Table(name, sql.MetaData(), schema=schema, autoload_with=connection)
        columns = self._table.columns
        super().__init__(
            f"postgresql#{name}",
            tuple(column.name for column in columns),
            tuple(_datatype(column.type) for column in columns),
        )
        self._padded = frozenset(
            place
            for place, column in enumerate(self._table.columns)
            if isinstance(column.type, sql.CHAR) and not isinstance(column.type, sql.VARCHAR)
        )
        """Columns that PostgreSQL fills with blanks, no part of their values (its manual, 8.3)."""

    def records(self) -> Iterator[Records]:
        import sqlalchemy as sql  # noqa: PLC0415 (likewise)

        self._refuse_outside()
        first, query = (
            1,
            sql.select(self._table).order_by(*self._table.primary_key.columns, *self._table.columns),
        )
        for rows in self._connection.execute(query).partitions(RECORDS_AT_ONCE):
            texts = [
                [self._text(first + number, place, cell) for place, cell in enumerate(row)]
                for number, row in enumerate(rows)
            ]
            yield Records(first, tuple(zip(*texts, strict=True)))
            first += len(rows)

    def _refuse_outside(self) -> None:
        """Refuse values that Python has no type for, on which the driver stops; the server counts them."""
        import sqlalchemy as sql  # noqa: PLC0415 (likewise)

        conditions = [
            (column.name, datatype, condition)
            for column, datatype in zip(self._table.columns, self._datatypes, strict=True)
            if (condition := _is_outside(column, datatype)) is not None
        ]
        if not conditions:
            return
        counted = (sql.func.count().filter(condition) for _, _, condition in conditions)
        row = self._connection.execute(sql.select(*counted).select_from(self._table)).one()
        raise_all([
            outside(self._name, name, count, datatype)
            for (name, datatype, _), count in zip(conditions, row, strict=True)
            if count
        ])  # fmt: skip

    def _text(self, record: int, place: int, cell: object) -> str:
        text = canonical_text(cell)
        if text is not None and place in self._padded:
            return text.rstrip(" ")
        if text is None:
            raise misfit(
                self._name,
                record,
                f"column {place + 1} has a type that is not read",
                "texts, numbers, dates, date-times, bytes, and true or false",
                "make a view that casts or drops the column",
            )
        return text


def _is_outside(column: Any, datatype: Datatype | None) -> Any:
    """The condition that a value has no canonical text; None for a type all of whose values have one."""
    import sqlalchemy as sql  # noqa: PLC0415 (likewise)

    if datatype in (Datatype.DOUBLE, Datatype.DECIMAL):
        return sql.cast(column, sql.Text).in_(["NaN", "Infinity", "-Infinity"])
    if datatype is Datatype.DATE:
        return sql.not_(column.between(date.min, date.max))
    if datatype is Datatype.DATETIME:
        if getattr(column.type, "timezone", False):  # the driver shows them in the zone of the session
            a_day = timedelta(days=1)
            first, last = (end.replace(tzinfo=UTC) for end in (datetime.min + a_day, datetime.max - a_day))
        else:
            first, last = datetime.min, datetime.max
        return sql.not_(column.between(first, last))
    return None


def _datatype(kind: Any) -> Datatype | None:
    try:
        return _DATATYPES.get(kind.python_type.__name__)
    except NotImplementedError:
        return None


def canonical_text(cell: object) -> str | None:  # noqa: PLR0911 (one for each type)
    """The canonical text of a value that a driver yields; None for a type that is not read.

    >>> canonical_text(Decimal("1.50")), canonical_text(datetime(2024, 1, 31, 9, 30))
    ('1.50', '2024-01-31T09:30:00')
    """
    match cell:
        case None:
            return ""
        case str():
            return cell
        case bool():
            return Plain("true" if cell else "false")
        case int() | float():
            return Plain(plain_number(cell))
        case Decimal():
            return Plain(format(cell, "f"))
        case datetime():
            return Plain(_moment(cell))
        case date():
            return Plain(cell.isoformat())
        case UUID():
            return str(cell)
        case bytes() | memoryview():
            return Plain(b64encode(bytes(cell)).decode())
    return None


def _moment(moment: datetime) -> str:
    zone = "" if moment.tzinfo is None else "Z"
    plain = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    text = plain.isoformat()
    return (text.rstrip("0") if "." in text else text) + zone
