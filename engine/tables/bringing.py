"""From a target and its data, wherever that is, to a source in the canonical form: the one way in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.addresses import Frame, Location, ServedTable, TableIn
from smalti.engine.tables.canonical import canonical, file_safe, write_canonical
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.disk import private_folder
from smalti.engine.tables.foreign import Reader
from smalti.engine.tables.sources import bind, read_description
from smalti.engine.tables.stores import Phase, StoredObject, fetched
from smalti.errors import DataError
from smalti.vocab.terms import IRI

_CANONICAL = ".canonical"
"""No object of a store has this name, for its end says nothing of its kind."""


def brought(target: IRI, data: Location, folder: Path, phase: Phase = lambda _: None) -> Source:
    """Bind a target to data, fetched and brought into the canonical form where it is not.

    Args:
        target: the IRI.
        data: where it is.
        folder: a private place for copies, which does not exist yet; who made what it is in removes it.
        phase: told what is done.

    Raises:
        UsageError: there is no such data, or it is of no kind that is read.
        DataError: it, or its description, cannot be read.
        BackendError: the machine, a store or a server.
    """
    if isinstance(data, ServedTable | Frame):
        return _from_memory(target, data, folder, phase)
    if isinstance(data, StoredObject):
        source = bind(target, fetched(data, folder, phase))
    else:
        source = bound(target, data)
    if source.foreign is None:
        return source
    return canonical(source, private_folder(folder) / _CANONICAL, phase)


def bound(target: IRI, data: Path | TableIn) -> Source:
    """Bind a target to data on this machine, which may still be foreign.

    Raises:
        UsageError, DataError: as `bind`.
    """
    return bind(target, data.path, data.table) if isinstance(data, TableIn) else bind(target, data)


def _from_memory(target: IRI, data: ServedTable | Frame, folder: Path, phase: Phase) -> Source:
    phase("fetch")
    place = private_folder(folder)
    with _reader(data) as reader:
        description = _description_of(data, reader.name)
        copy = place / file_safe(reader.name)
        write_canonical(reader, description, copy)
        return Source(target, copy, OutputFormat.CSV, description, datatypes=reader.datatypes)


def _description_of(data: ServedTable | Frame, name: str) -> Description:
    """The description that was named with the data; empty where there is none.

    Raises:
        UsageError, DataError: it cannot be read, has a dialect, or is about another table of the server.
    """
    if data.description is None:
        return Description()
    description, url = read_description(data.description)
    if description.dialect is not None:
        raise DataError(
            description.source, "it has a `dialect`, and the data is no CSV", "no `dialect`", "leave it out"
        )
    table = name.rpartition("#")[2]
    if isinstance(data, ServedTable) and url not in (data.table, table):
        raise DataError(
            description.source,
            f"it describes `{url}`",
            f"`{data.table or table}` as its `url`",
            "correct `url`, or name the description of the table that is meant",
        )
    return description


@contextmanager
def _reader(data: ServedTable | Frame) -> Iterator[Reader]:
    if isinstance(data, Frame):
        from smalti.engine.tables.frames import reader_of  # noqa: PLC0415 (few runs need it)

        yield reader_of(data)
        return
    from smalti.engine.tables.database_servers import opened_table  # noqa: PLC0415 (likewise)

    with opened_table(data) as reader:
        yield reader
