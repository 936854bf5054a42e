"""The verifier's own reader: published and original files, batch by batch.

Both files are read again from the disk, by the one dialect (UTF-8, RFC 4180 quoting, a header, every
column text, empty and quoted-empty missing), with the digest of exactly the bytes that were parsed: a
CSV file is hashed while it is taken apart, a Parquet file while it is copied to the private place where
it is read then. Some batches are in memory at a time, never the file.
"""

import csv
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from smalti.engine.plan import OutputFormat
from smalti.engine.verify_columns import (
    ArrowArray,
    Batch,
    Coded,
    Codes,
    Table,
    broken,
    gathered,
    numbered,
    pc,
)
from smalti.engine.verify_csv import BLOCK, CsvStream, csv_header, parse_distinct_records, parse_records
from smalti.engine.verify_form import CsvForm
from smalti.errors import BackendError, DataError, SmaltiError

__all__ = [
    "Coded",
    "Codes",
    "Link",
    "Original",
    "Output",
    "Reading",
    "Table",
    "read_original",
    "read_output",
]

_BATCH_ROWS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Output:
    """What a run wrote."""

    path: Path
    format: OutputFormat


@dataclass(frozen=True, slots=True)
class Original:
    """The owner's data that a run read."""

    path: Path
    format: OutputFormat


class Reading:
    """A file as it is read: its batches once, in order; then the digest of the bytes that were parsed."""

    def __init__(self, file: Output | Original, header: Sequence[str], problem: SmaltiError) -> None:
        self._file = file
        self._names = tuple(header)
        self._problem = problem
        self.digest = ""
        """SHA-256 in hexadecimal digits, once all batches were taken."""

    def batches(self, wanted: Sequence[str], folder: Path | None, block: int = BLOCK) -> Iterator[Batch]:
        """All records, with the wanted columns.

        Args:
            wanted: names of columns.
            folder: a private place for what does not fit into memory; None: one is made.
            block: bytes, or records of Parquet, that are parsed together.

        Raises:
            SmaltiError: the problem that this was made with: the file cannot be read, its header is
                another, or it does not have the form of its kind.
            BackendError: the operating system refuses.
        """
        is_csv = self._file.format is OutputFormat.CSV
        try:
            if is_csv:
                yield from self._csv(wanted, block)
            else:
                with tempfile.NamedTemporaryFile(dir=folder) as copy:
                    self.digest = _copied(self._file.path, copy)
                    yield from self._parquet(wanted, Path(copy.name), min(block, _BATCH_ROWS))
        except OSError as error:
            raise _refused(self._file.path, error) from None
        except (pa.ArrowException, UnicodeDecodeError, csv.Error, KeyError, ValueError):
            raise self._problem from None

    def _csv(self, wanted: Sequence[str], block: int) -> Iterator[Batch]:
        stream = CsvStream(self._file.path, block)
        if isinstance(self._file, Output):
            form = CsvForm(self._file.path.name, len(self._names))
            for batch, marks in stream.batches(self._names, partial(parse_distinct_records, wanted=wanted)):
                form.add(batch, marks)
                yield batch
            form.finish(self._names, stream.header, ends_with_line_end=stream.ends_with_line_end)
        else:
            yield from stream.batches(self._names, partial(parse_records, wanted=wanted))
        self.digest = stream.digest

    def _parquet(self, wanted: Sequence[str], copy: Path, rows: int) -> Iterator[Batch]:
        with pa.parquet.ParquetFile(copy, pre_buffer=False) as file:
            if tuple(file.schema_arrow.names) != self._names or len(set(self._names)) != len(self._names):
                raise ValueError
            for part in file.iter_batches(rows, columns=list(wanted)):
                if isinstance(self._file, Output) and not all(map(_is_plain_text, part.columns)):
                    raise broken(
                        self._file.path.name,
                        "a column is not text, or has empty texts",
                        "text columns, missing as null",
                    )
                yield _batch_of(part, wanted)
            if file.metadata.num_rows == 0:
                yield _batch_of(file.read(columns=list(wanted)), wanted)


def open_original(original: Original, header: Sequence[str]) -> Reading:
    """The owner's file, to be read; a problem with it is a DataError.

    A Parquet column of another type than text is cast by Arrow (`1`, `1.5`, `true`, `2020-01-31`,
    `2020-01-31 10:00:00`). An empty text is missing in either format.

    Args:
        original: the file.
        header: the plan's columns.
    """
    problem = DataError(
        original.path.name,
        "the original cannot be read again as the plan says",
        "the file that the run read, unchanged: UTF-8, RFC 4180, a header with the plan's columns",
    )
    return Reading(original, header, problem)


def read_original(original: Original, header: Sequence[str], wanted: Sequence[str]) -> Table:
    """The wanted columns of the owner's file in memory; see `open_original`.

    Raises:
        DataError: the file cannot be read, or its header is not the plan's.
        BackendError: the operating system refuses.
    """
    reading = open_original(original, header)
    columns, rows = gathered(reading.batches(wanted, None))
    return Table(columns, rows, reading.digest)


def read_output(output: Output, header: Sequence[str], forbidden: Sequence[str]) -> Reading:
    """The published file, to be read; its form is checked meanwhile.

    Form: the header is exactly `header`; CSV has LF line ends, and quotes either where they are
    needed or everywhere, so that they tell nothing about the original; Parquet holds text columns
    only, with missing values as null. A problem with it is a GuaranteeError.

    Args:
        output: the published file.
        header: the promised columns, in order.
        forbidden: columns that must not be published; only these may be named in a message.

    Raises:
        GuaranteeError: a forbidden column is there.
        BackendError: the operating system refuses.
    """
    where = output.path.name
    present = [name for name in _header(output) if name in forbidden]
    if present:
        raise broken(where, f"it holds `{'`, `'.join(present)}`", "no column that the plan drops")
    problem = broken(where, "it cannot be read, or its columns are not the plan's", "the plan's columns")
    return Reading(output, header, problem)


class Link:
    """The link from published rows to input records: a `.npy` file, one dimension of int64."""

    def __init__(self, path: Path) -> None:
        """Look at the file's header.

        Raises:
            GuaranteeError: the file is something else; without a link nothing can be shown.
            BackendError: the operating system refuses.
        """
        self._path = path
        try:
            with path.open("rb") as file:
                self.rows, self._offset = _array_in(file)
                if path.stat().st_size != self._offset + self.rows * 8:
                    raise ValueError
        except OSError as error:
            raise _refused(path, error) from None
        except (ValueError, EOFError):
            raise broken(path.name, "the link cannot be read", "a one-dimensional int64 array") from None

    def part(self, start: int, rows: int) -> Codes:
        """The input records, from 0, of so many published rows.

        Raises:
            BackendError: the operating system refuses.
        """
        try:
            return np.fromfile(self._path, np.int64, rows, offset=self._offset + start * 8)
        except OSError as error:
            raise _refused(self._path, error) from None


def _array_in(file: BinaryIO) -> tuple[int, int]:
    """The length of a one-dimensional array of int64, and where it begins in its file."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError
    shape, _, datatype = np.lib.format.read_array_header_1_0(file)
    if len(shape) != 1 or datatype != np.int64:
        raise ValueError
    return shape[0], file.tell()


def _refused(path: Path, error: OSError) -> BackendError:
    return BackendError(path.name, f"cannot be opened: {error.strerror or 'input/output error'}")


def _header(output: Output) -> tuple[str, ...]:
    try:
        if output.format is OutputFormat.CSV:
            return csv_header(output.path)
        return tuple(pa.parquet.read_schema(output.path).names)
    except OSError as error:
        raise _refused(output.path, error) from None
    except (pa.ArrowException, ValueError, csv.Error):
        return ()


def _copied(path: Path, copy: IO[bytes]) -> str:
    """Copy a file, and return the digest of its bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(BLOCK):
            digest.update(data)
            copy.write(data)
    copy.flush()
    return digest.hexdigest()


def _batch_of(part: pa.RecordBatch | pa.Table, wanted: Sequence[str]) -> Batch:
    columns = {name: numbered(_as_written(part.column(name))) for name in wanted}
    return Batch(columns, np.ones(part.num_rows, np.int64))


def _is_plain_text(column: ArrowArray) -> bool:
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return is_text and not bool(pc.any(pc.equal(column, ""), min_count=0).as_py())


def _as_written(column: ArrowArray) -> ArrowArray:
    """A column whose cast to text is as the engine writes it: times in UTC, decimals in full."""
    if pa.types.is_timestamp(column.type) and column.type.tz:
        return column.cast(pa.timestamp(column.type.unit, tz="UTC"))
    if pa.types.is_decimal(column.type):
        return pa.array([None if one is None else f"{one:f}" for one in column.to_pylist()], pa.string())
    return column
