"""The one writer of published tables: CSV in the one dialect, or Parquet."""

import hashlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from smalti.engine.plan import OutputFormat

_NEEDS_QUOTES = '[",\r\n]'


def csv_records(columns: list[pa.Array]) -> bytes:
    r"""Rows of text columns as CSV records that end with LF.

    Quotes stand only where a field needs them; a missing value is an empty field, and a quoted empty
    field where it is the only one of its record, for a blank line is no record.

    >>> csv_records([pa.array(["a,b", None]), pa.array(["x", "1"])])
    b'"a,b",x\n,1\n'
    """
    if not columns or len(columns[0]) == 0:
        return b""
    empty = '""' if len(columns) == 1 else ""
    fields = [pc.cast(_field(column, empty), pa.large_string()) for column in columns]
    fields[-1] = pc.binary_join_element_wise(fields[-1], pa.scalar("\n", pa.large_string()), _text(""))
    lines = pc.binary_join_element_wise(*fields, _text(","))
    return _content(lines)


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())


def _field(column: pa.Array, empty: str) -> pa.Array:
    needs = pc.fill_null(pc.match_substring_regex(column, _NEEDS_QUOTES), False)
    if pc.any(needs).as_py():
        doubled = pc.replace_substring(column, '"', '""')
        quoted = pc.binary_join_element_wise('"', doubled, '"', "")
        column = pc.if_else(needs, quoted, column)
    return pc.fill_null(column, empty)


def _content(lines: pa.Array) -> bytes:
    """The texts of an array one after the other: its data buffer, as far as the array reaches."""
    offsets = memoryview(lines.buffers()[1]).cast("q")
    start, end = offsets[lines.offset], offsets[lines.offset + len(lines)]
    content: bytes = lines.buffers()[2].to_pybytes()
    return content[start:end]


class TableWriter(ABC):
    """Writes rows in the order given; to be used in `contextlib.closing`."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows of text columns."""

    @abstractmethod
    def close(self) -> None: ...


class CsvWriter(TableWriter):
    """The header, then records."""

    def __init__(self, path: Path, columns: tuple[str, ...] | None) -> None:
        """Begin a file; without `columns`, a part without header that is joined to others later."""
        self._file: BinaryIO = path.open("xb")
        if columns is not None:
            self._file.write(csv_records([pa.array([name]) for name in columns]))

    def write(self, batch: pa.RecordBatch) -> None:
        self._file.write(csv_records(batch.columns))

    def close(self) -> None:
        self._file.close()


class ParquetWriter(TableWriter):
    """All columns as text, null for missing."""

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        self._schema = pa.schema([(name, pa.string()) for name in columns])
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [pc.cast(column, pa.string()) for column in batch.columns]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def open_writer(path: Path, columns: tuple[str, ...], output_format: OutputFormat) -> TableWriter:
    """A writer for a new file; FileExistsError if there is one."""
    if output_format is OutputFormat.CSV:
        return CsvWriter(path, columns)
    return ParquetWriter(path, columns)


def content_digest(path: Path, output_format: OutputFormat) -> str:
    """The digest of a table's content: of its CSV in the one dialect, whatever the format it is in.

    Returns:
        `sha256:` and hexadecimal digits.
    """
    if output_format is OutputFormat.CSV:
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    parquet = pq.ParquetFile(path)
    digest = hashlib.sha256(csv_records([pa.array([name]) for name in parquet.schema_arrow.names]))
    for batch in parquet.iter_batches():
        digest.update(csv_records(batch.columns))
    return f"sha256:{digest.hexdigest()}"
