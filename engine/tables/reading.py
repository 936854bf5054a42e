"""Data files as batches of text, the same for every engine."""

import codecs
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import SEEK_CUR
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import Source
from smalti.engine.tables.dialect import Part, changed, check_csv, checked_names, read_header
from smalti.engine.tables.parquet import open_parquet, parquet_batches, stated_datatype
from smalti.engine.tables.records import LONGEST_RECORD
from smalti.errors import DataError, InternalError
from smalti.transforms.base import Datatype

ROW = "row"
"""The name of the column with each row's number in the input, from 0."""
_BLOCK = 1 << 21
"""Bytes that are parsed at once; small enough to stay in a cache."""


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Consecutive row groups of a Parquet file."""

    numbers: tuple[int, ...]
    first: int
    """The number of the first row, from 0."""
    records: int
    file: int = 0
    """Which of the source's files it is."""


@dataclass(frozen=True, slots=True)
class FileContents:
    """The contents of one file of a source."""

    header: tuple[str, ...]
    digest: str
    """`sha256:` and hexadecimal digits, of the file's bytes."""
    datatypes: tuple[Datatype | None, ...]
    """By column, where the file itself states them (Parquet)."""
    parts: tuple[Part | RowGroups, ...]
    """Where its rows stand; rows are numbered from 0."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a source, known after one pass over its files."""

    header: tuple[str, ...]
    rows: int
    digests: tuple[str, ...]
    """`sha256:` and hexadecimal digits, of each file's bytes, in their order."""
    datatypes: tuple[Datatype | None, ...]
    """By column, where the files themselves state them (Parquet)."""
    parts: tuple[Part | RowGroups, ...] = ()
    """Where the rows stand, in their order."""
    originals: tuple[str, ...] = ()
    """The digest of what each file was brought from; none, or an empty one, where there is nothing."""

    @property
    def telling_digests(self) -> tuple[str, ...]:
        """Of the files that have rows; of all where none has: by a bare header nothing is recognised.

        Data is recognised by its canonical content, and by what that was brought from: another description
        of the same bytes does not make other data of them.
        """
        filled = sorted({part.file for part in self.parts if part.records}) or range(len(self.digests))
        return tuple(digest for number in filled for digest in self._digests_of(number))

    def _digests_of(self, number: int) -> tuple[str, ...]:
        original = self.originals[number] if self.originals else ""
        return (self.digests[number], original) if original else (self.digests[number],)

    def record(self, row: int) -> tuple[int, int]:
        """Which of the source's files a row is from, and its number there, from 1 after the header."""
        part = next(part for part in self.parts if part.first <= row < part.first + part.records)
        before = min(other.first for other in self.parts if other.file == part.file)
        return part.file, row - before + 1


def inspect(source: Source) -> Contents:
    """Check that each file can be read as its format says, and that all have the same columns.

    Raises:
        DataError: where it is not so; nothing of its values is repeated.
    """
    return join_files(source, (inspect_file(path, source.format) for path in source.paths))


def inspect_file(path: Path, file_format: OutputFormat) -> FileContents:
    """The contents of one file.

    Raises:
        DataError: it cannot be read as its format says; nothing of its values is repeated.
    """
    try:
        return _inspect_csv(path) if file_format is OutputFormat.CSV else _inspect_parquet(path)
    except OSError:
        raise DataError(
            path.name,
            "the file cannot be read",
            "a readable file on a working disk",
            "check its permissions",
        ) from None


def _inspect_csv(path: Path) -> FileContents:
    file = check_csv(path)
    return FileContents(file.header, file.digest, (None,) * len(file.header), file.parts)


def _inspect_parquet(path: Path) -> FileContents:
    parquet = open_parquet(path)
    schema, metadata = parquet.schema_arrow, parquet.metadata
    names = checked_names(path.name, schema.names)
    datatypes = tuple(stated_datatype(path.name, field) for field in schema)
    whole = RowGroups(tuple(range(metadata.num_row_groups)), 0, metadata.num_rows)
    return FileContents(names, file_digest(path), datatypes, (whole,) if whole.numbers else ())


def join_files(source: Source, files: Iterable[FileContents]) -> Contents:
    """The contents of all files of a source, as one table.

    Args:
        source: of which they are.
        files: all of them, in their order.

    Raises:
        DataError: a file has not the columns of the first one; it names both the file and the column.
    """
    if source.foreign is not None:
        raise InternalError("a source was not brought into the canonical form")
    parts: list[Part | RowGroups] = []
    digests: list[str] = []
    first: FileContents | None = None
    rows = 0
    for number, contents in enumerate(files):
        first = first or contents
        _check_columns(source, number, first, contents)
        digests.append(contents.digest)
        parts += [replace(part, first=rows + part.first, file=number) for part in contents.parts]
        rows += sum(part.records for part in contents.parts)
    if first is None:
        raise InternalError("a source without files")
    datatypes = source.datatypes or first.datatypes
    return Contents(first.header, rows, tuple(digests), datatypes, tuple(parts), source.originals)


def _check_columns(source: Source, number: int, first: FileContents, contents: FileContents) -> None:
    """Refuse a file without the columns of the first one, in their order and of their types."""
    problem = _other_columns(source, first, contents)
    if problem is not None:
        raise DataError(
            source.paths[number].name,
            problem,
            f"the columns of `{source.paths[0].name}`, in the same order and of the same types",
            "export all files alike, and move files that do not belong to the table elsewhere",
        )


def _other_columns(source: Source, first: FileContents, contents: FileContents) -> str | None:
    there = f"`{source.paths[0].name}`"
    described = {column.name for column in source.description.columns}

    def name_of(place: int, name: str) -> str:
        # Where a header is missing, its names are values of the first record.
        is_known = source.format is OutputFormat.PARQUET or name in described
        return f"column {place}" + (f" (`{name}`)" if is_known else "")

    for place, name in enumerate(first.header, 1):
        if name not in contents.header:
            return f"{name_of(place, name)} of {there} is missing"
    for place, name in enumerate(contents.header, 1):
        if name not in first.header:
            return f"{name_of(place, name)} is not in {there}"
    for place, (name, before) in enumerate(zip(contents.header, first.header, strict=True), 1):
        if name != before:
            return f"{name_of(place, name)} is column {first.header.index(name) + 1} in {there}"
    for place, (is_now, was) in enumerate(zip(contents.datatypes, first.datatypes, strict=True)):
        if is_now is not was:
            name = first.header[place]
            return f"{name_of(place + 1, name)} is {_stated(is_now)}, and {_stated(was)} in {there}"
    return None


def _stated(datatype: Datatype | None) -> str:
    return "text" if datatype is None else f"of type {datatype}"


def text_batches(
    source: Source, contents: Contents, places: Sequence[int] | None = None
) -> pa.RecordBatchReader:
    """The rows in their order: column `row`, then `c0`, `c1`, ... as text; empty text is missing.

    A source may be read in parts, by several readers: give each of them the `contents` with its own
    `parts`. The number of a row is that in the whole table.

    Args:
        source: the files.
        contents: what they hold.
        places: of the columns that are wanted, ascending, at least one; None: all.
    """
    places = range(len(contents.header)) if places is None else places
    schema = pa.schema([(ROW, pa.int64()), *((f"c{i}", pa.string()) for i in places)])
    return pa.RecordBatchReader.from_batches(schema, _numbered(source, contents, schema, places))


def _numbered(
    source: Source, contents: Contents, schema: pa.Schema, places: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    for part in contents.parts:
        path = source.paths[part.file]
        try:
            for first, batch in _counted(path.name, _batches(path, contents.header, part, places), part):
                numbers = pa.array(np.arange(first, first + batch.num_rows))
                yield pa.RecordBatch.from_arrays([numbers, *batch.columns], schema=schema)
        except (pa.ArrowException, UnicodeError, OSError):
            raise DataError(
                path.name,
                "the file cannot be read as its format says",
                f"a {source.format} file that can be read",
                "check it, or export it again",
            ) from None


def _batches(
    path: Path, header: tuple[str, ...], part: Part | RowGroups, places: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """Some columns of the rows of a part of a file, as batches of text."""
    if isinstance(part, RowGroups):
        return parquet_batches(path, header, part.numbers, places)
    if path.stat().st_size != part.size:
        raise changed(path.name)
    return csv_text_batches(path, header, part, places)


def _counted(
    name: str, batches: Iterator[pa.RecordBatch], part: Part | RowGroups
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The batches of a part with the number of their first row."""
    number = part.first
    for batch in batches:
        yield number, batch
        number += batch.num_rows
    if number != part.first + part.records:
        raise changed(name)


def csv_text_batches(
    path: Path, header: tuple[str, ...], part: Part | None = None, places: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a CSV file in the dialect, or of a part of it, as text; empty is missing.

    With `places`, those columns only; whole records are looked at all the same.
    """
    reading = pv.ReadOptions(block_size=2 * LONGEST_RECORD)
    parsing = pv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    converting = pv.ConvertOptions(
        column_types={name: pa.string() for name in header},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        check_utf8=False,  # `_Blocks` does it, at a tenth of the cost
    )
    if places is not None and len(places) < len(header):
        converting.include_columns = [header[place] for place in places]
    if part is not None:
        reading.column_names, reading.skip_rows = header, 1
        reading.block_size = max(_BLOCK, 2 * part.longest)
        parsing.newlines_in_values = part.has_inner_lines
        parsing.quote_char = '"' if part.has_quotes else False
    with (
        _Blocks(path, part) as blocks,
        pv.open_csv(pa.PythonFile(blocks, "r"), reading, parsing, converting) as reader,
    ):
        yield from reader


class _Blocks(io.RawIOBase):
    """The bytes of a file, or of a part of it and the line end before it, as Arrow can take them.

    Arrow loses the LF of a CRLF that stands in quotes where one block ends between the two, so none does.
    Without the line end, which is skipped as a record, it would take U+FEFF in the first field for the
    byte order mark of a file.
    """

    def __init__(self, path: Path, part: Part | None) -> None:
        self._file = path.open("rb", buffering=0)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._left: int | None = None
        if part is not None:
            self._left = part.end - self._file.seek(part.begin - 1)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        wanted = size if self._left is None else min(size, self._left)
        data = self._file.read(wanted)
        if len(data) == wanted and data.endswith(b"\r") and len(data) > 1:
            self._file.seek(-1, SEEK_CUR)
            data = data[:-1]
        if self._left is not None:
            self._left -= len(data)
        self._check_utf8(data)
        return data

    def _check_utf8(self, data: bytes) -> None:
        is_cut = bool(self._decoder.getstate()[0])
        if is_cut or not data.isascii():
            self._decoder.decode(data, final=not data)

    def close(self) -> None:
        self._file.close()
        super().close()


def file_digest(path: Path) -> str:
    """`sha256:` and hexadecimal digits, of a file's bytes."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def read_names(path: Path, file_format: OutputFormat) -> tuple[str, ...]:
    """The column names of a CSV or Parquet file."""
    if file_format is OutputFormat.CSV:
        return read_header(path)
    return tuple(open_parquet(path).schema_arrow.names)
