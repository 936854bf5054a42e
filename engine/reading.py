"""Data files as batches of text, the same for every engine."""

import codecs
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from os import SEEK_CUR
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq

from smalti.engine._records import LONGEST_RECORD
from smalti.engine.description import Source
from smalti.engine.dialect import Part, changed, check_csv, checked_names, read_header
from smalti.engine.plan import OutputFormat
from smalti.errors import DataError
from smalti.transforms.base import Datatype

ROW = "row"
"""The name of the column with each row's number in the input, from 0."""
_PLAIN_SCALE = 6
"""Arrow writes decimals of at most so many places without an exponent."""
_BLOCK = 1 << 21
"""Bytes that are parsed at once; small enough to stay in a cache."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a source holds, known after one pass over the file."""

    header: tuple[str, ...]
    rows: int
    digest: str
    """`sha256:` and hexadecimal digits, of the file's bytes."""
    datatypes: tuple[Datatype | None, ...]
    """By column, where the file itself states them (Parquet)."""
    parts: tuple[Part, ...] = ()
    """Where the rows stand in a CSV file, in its order."""


def inspect(source: Source) -> Contents:
    """Check that a file can be read as its format says.

    Raises:
        DataError: where it cannot; nothing of its values is repeated.
    """
    try:
        return _inspect(source)
    except OSError:
        raise DataError(
            source.path.name,
            "the file cannot be read",
            "a file that you may read, on a disk that works",
            "check its permissions",
        ) from None


def _inspect(source: Source) -> Contents:
    if source.format is OutputFormat.CSV:
        file = check_csv(source.path)
        return Contents(file.header, file.records, file.digest, (None,) * len(file.header), file.parts)
    parquet = _open_parquet(source.path)
    schema = parquet.schema_arrow
    names = checked_names(source.path.name, schema.names)
    datatypes = tuple(_stated(source.path.name, field) for field in schema)
    return Contents(names, parquet.metadata.num_rows, file_digest(source.path), datatypes)


def text_batches(
    source: Source, contents: Contents, groups: tuple[int, ...] | None = None
) -> pa.RecordBatchReader:
    """The rows in file order: column `row`, then `c0`, `c1`, ... as text; empty text is missing.

    A file may be read in parts, by several readers: for CSV, give each of them the `contents` with its
    own `parts`; for Parquet, consecutive row `groups`. The number of a row is that in the whole file.
    """
    schema = pa.schema([(ROW, pa.int64()), *((f"c{i}", pa.string()) for i in range(len(contents.header)))])
    return pa.RecordBatchReader.from_batches(schema, _numbered(source, contents, schema, groups))


def _numbered(
    source: Source, contents: Contents, schema: pa.Schema, groups: tuple[int, ...] | None
) -> Iterator[pa.RecordBatch]:
    try:
        for first, batch in _batches(source, contents, groups):
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            yield pa.RecordBatch.from_arrays([numbers, *batch.columns], schema=schema)
    except (pa.ArrowException, UnicodeError, OSError):
        raise DataError(
            source.path.name,
            "the file cannot be read as its format says",
            f"a {source.format} file that can be read",
            "check it, or export it again",
        ) from None


def _batches(
    source: Source, contents: Contents, groups: tuple[int, ...] | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches of text with the number of their first row."""
    if source.format is not OutputFormat.CSV:
        first, rows = 0, contents.rows
        if groups is not None:
            first, rows = _rows_of(source.path, groups)
        batches = _parquet_batches(source.path, contents.header, groups)
        yield from _counted(source.path.name, batches, first, rows)
    for part in contents.parts:
        if source.path.stat().st_size != part.size:
            raise changed(source.path.name)
        batches = csv_text_batches(source.path, contents.header, part)
        yield from _counted(source.path.name, batches, part.first, part.records)


def _counted(
    name: str, batches: Iterator[pa.RecordBatch], first: int, rows: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    number = first
    for batch in batches:
        yield number, batch
        number += batch.num_rows
    if number != first + rows:
        raise changed(name)


def csv_text_batches(
    path: Path, header: tuple[str, ...], part: Part | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a CSV file in the dialect, or of a part of it, as text; empty is missing."""
    reading = pv.ReadOptions(block_size=2 * LONGEST_RECORD)
    parsing = pv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    converting = pv.ConvertOptions(
        column_types={name: pa.string() for name in header},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        check_utf8=False,  # `_Blocks` does it, at a tenth of the cost
    )
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


def row_groups(path: Path) -> tuple[int, ...]:
    """The bytes of each row group of a Parquet file, before compression."""
    metadata = _open_parquet(path).metadata
    return tuple(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


def _rows_of(path: Path, groups: tuple[int, ...]) -> tuple[int, int]:
    """The number of the first row of some row groups, and how many rows they have."""
    metadata = _open_parquet(path).metadata
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return sum(rows[: groups[0]]), sum(rows[group] for group in groups)


def _parquet_batches(
    path: Path, header: tuple[str, ...], groups: tuple[int, ...] | None
) -> Iterator[pa.RecordBatch]:
    for batch in _open_parquet(path).iter_batches(row_groups=groups):
        columns = [_missing_if_empty(_without_nul(path.name, _as_text(column))) for column in batch.columns]
        yield pa.RecordBatch.from_arrays(columns, names=list(header))


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        # Arrow writes other zones without a colon; the instant is the same in UTC.
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    if pa.types.is_decimal(column.type) and not 0 <= column.type.scale <= _PLAIN_SCALE:
        return _plain_decimals(column)
    return pc.cast(column, pa.string())


def _plain_decimals(column: pa.Array) -> pa.Array:
    """Decimals without an exponent, which Arrow writes where there are many places."""
    encoded = column.dictionary_encode()
    texts = pa.array([format(value, "f") for value in encoded.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(encoded.indices, texts).dictionary_decode()


def _without_nul(name: str, column: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring(column, "\0")).as_py():
        raise DataError(name, "a value holds a NUL character", "text", "remove it")
    return column


def _missing_if_empty(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _open_parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError):
        raise DataError(path.name, "the file is no Parquet file", "Parquet", "export it again") from None


def _stated(name: str, field: pa.Field) -> Datatype | None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return None
    for test, datatype in (
        (pa.types.is_integer, Datatype.INTEGER),
        (pa.types.is_decimal, Datatype.DECIMAL),
        (pa.types.is_floating, Datatype.DOUBLE),
        (pa.types.is_date, Datatype.DATE),
        (pa.types.is_timestamp, Datatype.DATETIME),
        (pa.types.is_boolean, Datatype.STRING),
    ):
        if test(kind):
            return datatype
    raise DataError(
        f"{name}, column `{field.name}`",
        f"the Parquet type `{kind}` is not implemented",
        "text, numbers, booleans, dates or timestamps",
        "cast or drop the column first",
    )


def file_digest(path: Path) -> str:
    """`sha256:` and hexadecimal digits, of a file's bytes."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def read_names(path: Path, file_format: OutputFormat) -> tuple[str, ...]:
    """The column names of a CSV or Parquet file."""
    if file_format is OutputFormat.CSV:
        return read_header(path)
    return tuple(_open_parquet(path).schema_arrow.names)
