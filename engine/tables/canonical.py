"""Foreign data, brought once into the canonical form: the one CSV dialect, ISO dates, plain numbers.

Engines, verifier, plans and withdrawals read what stands in a run's private folder, so they know no other
form. Records keep their number and order. Canonical CSV and Parquet files are read where they are.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from smalti.engine.tables.arrow import ParquetReader
from smalti.engine.tables.description import ColumnDescription, Description, Foreign, MixedColumn, Source
from smalti.engine.tables.dialect import checked_names
from smalti.engine.tables.disk import private_folder, writing_copies
from smalti.engine.tables.foreign import CELL_KINDS, Plain, Reader, Records
from smalti.engine.tables.foreign_csv import CsvReader
from smalti.engine.tables.mixed_formats import refuse_misfit
from smalti.engine.tables.packing import opened
from smalti.engine.tables.proposing import with_proposals
from smalti.engine.tables.stores import Phase
from smalti.engine.tables.writing import csv_records
from smalti.errors import DataError
from smalti.transforms.base import Datatype

_CHUNK = 1 << 20
_REMEMBERED = 1 << 16
"""Texts of a column whose canonical ones are kept."""


def canonical(source: Source, folder: Path, phase: Phase = lambda _: None) -> Source:
    """The same source in the canonical form; itself where it already is.

    Args:
        source: as it is bound.
        folder: a private place for the copy, which does not exist yet.
        phase: notified when something is brought into another form.

    Raises:
        DataError: a record does not fit what the description says; it names record, column and reason, and
            no value.
        BackendError: the disk failed, or what is needed to read it is missing.
    """
    if source.foreign is None:
        return source
    phase("convert")
    place = private_folder(folder)
    if source.parts:
        place = private_folder(place / source.path.name)
    copies = tuple(place / _name_of(path, source.table) for path in source.paths)
    with with_proposals(source.paths, source.description.dialect):
        brought = [_brought(source, path, copy) for path, copy in zip(source.paths, copies, strict=True)]
    return replace(
        source,
        path=place if source.parts else copies[0],
        parts=copies if source.parts else (),
        foreign=None,
        originals=tuple(part.digest for part in brought),
        datatypes=brought[0].datatypes,
        mixed=brought[0].mixed,
    )


def _name_of(path: Path, table: str | None) -> str:
    """The name of a copy: that of the original, for messages."""
    return path.name if table is None else f"{path.name}#{file_safe(table)}"


def file_safe(table: str) -> str:
    """A table's name in letters that every file system takes."""
    return "".join(letter if letter.isalnum() or letter in "-_. #" else "_" for letter in table)[:60]


@dataclass(frozen=True, slots=True)
class _Brought:
    """What is known of a file once its copy is written."""

    digest: str
    """Of the original."""
    datatypes: tuple[Datatype | None, ...] = ()
    """What it states of its columns."""
    mixed: tuple[MixedColumn, ...] = ()
    """Columns whose cells are of several types; only of workbooks and databases, which are one file."""


def _brought(source: Source, path: Path, copy: Path) -> _Brought:
    """Write the copy of a file."""
    if source.foreign is Foreign.CSV and source.description.is_canonical:
        return _Brought(_unpacked(path, copy))
    before = _state(path)
    with _reader(source, path) as reader:
        mixed = write_canonical(reader, source.description, copy)
        brought = _Brought(reader.digest(), reader.datatypes, mixed)
    if _state(path) != before:
        raise DataError(
            path.name,
            "the file changed while it was read",
            "a file that does not change during a run",
            "run again",
        )
    return brought


@contextmanager
def _reader(source: Source, path: Path) -> Iterator[Reader]:
    """What reads a file as the foreign kind that it is."""
    match source.foreign:
        case Foreign.EXCEL:
            from smalti.engine.tables.excel import opened_sheet  # noqa: PLC0415 (few runs need it)

            dialect = source.description.dialect
            skipped = 0 if dialect is None else dialect.skipped_rows
            with opened_sheet(path, source.table, skipped) as sheet:
                yield sheet
        case Foreign.DATABASE:
            from smalti.engine.tables.database_files import opened_table  # noqa: PLC0415 (likewise)

            with opened_table(path, source.table) as table:
                yield table
        case Foreign.PARQUET:
            yield ParquetReader(path)
        case _:
            yield CsvReader(path, source.description)


def _state(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


def _unpacked(path: Path, copy: Path) -> str:
    with opened(path) as (file, stored), writing_copies(), copy.open("xb") as written:
        shutil.copyfileobj(file, written, _CHUNK)
        return stored.finish()


def write_canonical(reader: Reader, description: Description, copy: Path) -> tuple[MixedColumn, ...]:
    """Write what a reader yields as a canonical CSV file; the columns whose cells are of several types."""
    names = checked_names(reader.name, list(reader.header))
    columns = [
        _Column(description.column(name), stated, counts_kinds=reader.has_typed_cells)
        for name, stated in zip(names, reader.datatypes, strict=True)
    ]
    with writing_copies(), copy.open("xb") as file:
        file.write(csv_records([pa.array([name], pa.string()) for name in names]))
        for records in reader.records():
            _write(file, reader, records, columns)
    return tuple(mixed for column in columns if (mixed := column.mixed) is not None)


def _write(file: BinaryIO, reader: Reader, records: Records, columns: list["_Column"]) -> None:
    texts = [column.canonical(cells) for column, cells in zip(columns, records.columns, strict=True)]
    misfits = [(column.misfit, place) for place, column in enumerate(columns) if column.misfit is not None]
    if misfits:
        row, place = min(misfits)
        refuse_misfit(reader, records.first + row, place, columns[place].description)
    file.write(csv_records([pa.array(column, pa.string()) for column in texts]))


class _Column:
    """Brings the texts of a column into the canonical form, a batch at a time."""

    def __init__(
        self, description: ColumnDescription, stated: Datatype | None, *, counts_kinds: bool
    ) -> None:
        self.description = description
        self.misfit: int | None = None
        """Where in the batch the first text stands that is not of the declared format."""
        is_plain = stated is not None
        self._nulls = frozenset() if is_plain else description.nulls
        self._format = None if is_plain else description.format
        self._canonical: dict[str, str] = {}
        has_text = description.datatype in (None, Datatype.STRING)
        self._kinds: Counter[type] | None = Counter() if counts_kinds and has_text else None

    @property
    def mixed(self) -> MixedColumn | None:
        """The kinds of its cells so far; None where they are of one, or the datatype tells values apart."""
        if self._kinds is None or len(self._kinds) < 2:
            return None
        counts = tuple((CELL_KINDS[kind], count) for kind, count in self._kinds.most_common())
        return MixedColumn(self.description.name, counts)

    def canonical(self, cells: Sequence[str]) -> list[str]:
        """The canonical texts, up to the first misfit."""
        self.misfit = None
        if self._kinds is not None:
            self._kinds.update(
                type(cell) for cell in cells if cell and (type(cell) is not str or cell not in self._nulls)
            )
        if self._format is None and not self._nulls:
            return list(cells)
        texts: list[str] = []
        for cell in cells:
            text = cell if isinstance(cell, Plain) else self._text(cell)
            if text is None:
                self.misfit = len(texts)
                break
            texts.append(text)
        return texts

    def _text(self, cell: str) -> str | None:
        if (text := self._canonical.get(cell)) is not None:
            return text
        if cell in self._nulls or not cell:
            text = ""
        else:
            text = cell if self._format is None else self._format.canonical(cell)
        if text is not None and len(self._canonical) < _REMEMBERED:
            self._canonical[cell] = text
        return text
