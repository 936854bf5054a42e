"""Data files as batches of text, the same for every engine."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq

from smalti.engine.description import Source
from smalti.engine.dialect import LONGEST_RECORD, check_csv, checked_names, read_header
from smalti.engine.plan import OutputFormat
from smalti.errors import DataError
from smalti.transforms.base import Datatype

ROW = "row"
"""The name of the column with each row's number in the input, from 0."""
_BLOCK = 2 * LONGEST_RECORD


@dataclass(frozen=True, slots=True)
class Contents:
    """What a source holds, known after one pass over the file."""

    header: tuple[str, ...]
    rows: int
    digest: str
    """`sha256:` and hexadecimal digits, of the file's bytes."""
    datatypes: tuple[Datatype | None, ...]
    """By column, where the file itself states them (Parquet)."""


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
        return Contents(file.header, file.records, file.digest, (None,) * len(file.header))
    parquet = _open_parquet(source.path)
    schema = parquet.schema_arrow
    names = checked_names(source.path.name, schema.names)
    datatypes = tuple(_stated(source.path.name, field) for field in schema)
    return Contents(names, parquet.metadata.num_rows, _digest(source.path), datatypes)


def text_batches(source: Source, contents: Contents) -> pa.RecordBatchReader:
    """The rows in file order: column `row`, then `c0`, `c1`, ... as text; empty text is missing."""
    schema = pa.schema([(ROW, pa.int64()), *((f"c{i}", pa.string()) for i in range(len(contents.header)))])
    return pa.RecordBatchReader.from_batches(schema, _numbered(source, contents, schema))


def _numbered(source: Source, contents: Contents, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    first = 0
    if contents.rows == 0:
        return  # Arrow takes a header without a line end for no CSV at all
    batches = csv_text_batches if source.format is OutputFormat.CSV else _parquet_batches
    try:
        for batch in batches(source.path, contents.header):
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            columns = [_missing_if_empty(_without_nul(source.path.name, c)) for c in batch.columns]
            yield pa.RecordBatch.from_arrays([numbers, *columns], schema=schema)
            first += batch.num_rows
    except (pa.ArrowException, UnicodeError, OSError):
        raise DataError(
            source.path.name,
            "the file cannot be read as its format says",
            f"a {source.format} file that can be read",
            "check it, or export it again",
        ) from None
    if first != contents.rows:
        raise DataError(
            source.path.name,
            "the file changed while it was read",
            "a file that stays as it is",
            "run again",
        )


def csv_text_batches(path: Path, header: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The records of a CSV file that keeps to the dialect, as text; empty is missing."""
    reader = pv.open_csv(
        path,
        pv.ReadOptions(use_threads=True, block_size=_BLOCK),
        pv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pv.ConvertOptions(
            column_types={name: pa.string() for name in header},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    with reader:
        yield from reader


def _parquet_batches(path: Path, header: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    for batch in _open_parquet(path).iter_batches():
        yield pa.RecordBatch.from_arrays([_as_text(column) for column in batch.columns], names=list(header))


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        # Arrow writes other zones without a colon; the instant is the same in UTC.
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    return pc.cast(column, pa.string())


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


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def read_names(path: Path, file_format: OutputFormat) -> tuple[str, ...]:
    """The column names of a CSV or Parquet file."""
    if file_format is OutputFormat.CSV:
        return read_header(path)
    return tuple(_open_parquet(path).schema_arrow.names)
