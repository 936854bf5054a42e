"""Where data is: a file, a table in one, an object of a store, a table of a server, a data frame."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol, TypeAlias, runtime_checkable

from smalti.engine.tables.parts import CONTAINERS
from smalti.engine.tables.stores import StoredObject, located
from smalti.errors import UsageError

SERVERS: Final = ("postgresql", "postgresql+psycopg")
"""The schemes of servers whose tables are read."""
_SERVED: Final = re.compile(rf"(?i:({'|'.join(map(re.escape, SERVERS))}))://")


_SECRET: Final = re.compile(r":/+[^/@\s]*:[^@\s]*@")


@runtime_checkable
class ArrowStream(Protocol):
    """A table in memory that hands itself out by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@dataclass(frozen=True, slots=True)
class TableIn:
    """A sheet of a workbook, or a table of a database file."""

    path: Path
    table: str


@dataclass(frozen=True, slots=True)
class ServedTable:
    """A table of a server."""

    uri: str = field(repr=False)
    """Without the table; may hold a password."""
    table: str | None = field(repr=False)
    """As it was named; None: the only one."""
    shown: str = "postgresql"
    """For messages."""
    description: Path | None = None
    """Of its CSVW description, where there is one."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A table in memory."""

    table: ArrowStream = field(repr=False)
    description: Path | None = None
    """Likewise."""


Location: TypeAlias = Path | TableIn | StoredObject | ServedTable | Frame


def described_by(data: Location, description: Path | None) -> Location:
    """The same data with the file of its description.

    Raises:
        UsageError: the data stands in files, whose description is found beside them.
    """
    if description is None:
        return data
    if not isinstance(data, ServedTable | Frame):
        raise UsageError(
            "description (--description)",
            "the data is a file, whose description is the one beside it",
            "a table of PostgreSQL, or a data frame",
            "put it beside the file, as FILE-metadata.json, or bind the description itself",
        )
    return replace(data, description=description)


def data_at(text: str, where: str) -> Location:
    """Where data is, by its path or address.

    Args:
        text: a path, with `#` and a name behind it for a sheet or a table; or an address.
        where: the argument that it comes from, for messages.

    Raises:
        UsageError: it is an address of another kind.
    """
    if (served := _SERVED.match(text)) is not None:
        address, mark, table = text.rpartition("#")
        if mark and not table:
            raise UsageError(where, "no table is named behind `#`", "postgresql://HOST/DATABASE#TABLE")
        if not mark:
            address = text
        return ServedTable(address, table if mark else None, served[1].lower().partition("+")[0])
    is_address = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None
    if not is_address and _SECRET.search(text) is not None and not Path(text).exists():
        raise UsageError(
            where,
            "it looks like an address with a password, of no form that is read",
            "postgresql://USER@HOST/DATABASE#TABLE, with the password in PGPASSWORD; or a path",
            "write it without the password",
        )
    if not is_address and (split := table_in(text)) is not None:
        return TableIn(Path(split[0]), split[1])
    return located(text, where)


def table_in(text: str) -> tuple[str, str] | None:
    """A path and the name of a table in it, where a text names both.

    >>> table_in("data/hospital.xlsx#May 2024"), table_in("a#b.csv")
    (('data/hospital.xlsx', 'May 2024'), None)
    """
    path, mark, table = text.partition("#")
    while mark:
        if Path(path).suffix.lower() in CONTAINERS and table and not Path(text).exists():
            return path, table
        more, mark, table = table.partition("#")
        path = f"{path}#{more}"
    return None
