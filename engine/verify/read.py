"""The verifier's own reader: published and original files, batch by batch.

Both files are read again from the disk, by the one dialect (UTF-8, RFC 4180 quoting, a header, every
column text, empty and quoted-empty missing), with the digest of exactly the bytes that were parsed: a
CSV file is hashed while it is taken apart, a Parquet file while it is copied to the private place where
it is read then. Some batches are in memory at a time, never the file.
"""

import csv
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, Final

import numpy as np
import pyarrow as pa

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.verify.columns import (
    Batch,
    Coded,
    Codes,
    Table,
    broken,
    gathered,
)
from smalti.engine.verify.csv import BLOCK, CsvStream, csv_header, parse_distinct_records, parse_records
from smalti.engine.verify.form import CsvForm
from smalti.engine.verify.parquet import NotPlainTextError, parquet_batches, parquet_names
from smalti.errors import BackendError, DataError, GuaranteeError, SmaltiError

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
class _Files:
    """One table, in a file or in several."""

    path: Path
    """The file, or the folder of the parts."""
    format: OutputFormat
    parts: tuple[Path, ...] = ()
    """In the order of their rows; none where `path` is the file."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order of their rows."""
        return self.parts or (self.path,)


class Output(_Files):
    """What a run wrote."""

    __slots__ = ()

    @classmethod
    def in_folder(cls, folder: Path, file_format: OutputFormat) -> "Output":
        """All that is in a folder, in the bytewise order of names."""
        return cls(folder, file_format, tuple(sorted(folder.iterdir(), key=os.fsencode)))


class Original(_Files):
    """The owner's data that a run read."""

    __slots__ = ()


class Reading:
    """Files as they are read: their batches once, in order; then digests of the bytes that were parsed."""

    def __init__(
        self, files: Output | Original, header: Sequence[str], problem: Callable[[str], SmaltiError]
    ) -> None:
        """Begin; `problem` is what to raise of a file that cannot be read, by its name."""
        self._files = files
        self._names = tuple(header)
        self._problem = problem
        self._form = CsvForm(len(self._names)) if isinstance(files, Output) else None
        self.digests: tuple[str, ...] = ()
        """SHA-256 of each file in hexadecimal digits, once all batches were taken."""

    def batches(self, wanted: Sequence[str], folder: Path | None, block: int = BLOCK) -> Iterator[Batch]:
        """All records, with the wanted columns.

        Args:
            wanted: names of columns.
            folder: a private place for what does not fit into memory; None: one is made.
            block: bytes, or records of Parquet, that are parsed together.

        Raises:
            SmaltiError: the problem that this was made with: a file cannot be read, its header is
                another, or it does not have the form of its kind.
            BackendError: the operating system refuses.
        """
        for path in self._files.paths:
            try:
                if self._files.format is OutputFormat.CSV:
                    yield from self._csv(path, wanted, block)
                else:
                    with tempfile.NamedTemporaryFile(dir=folder) as copy:
                        self.digests += (_copied(path, copy),)
                        yield from self._parquet(path, wanted, Path(copy.name), min(block, _BATCH_ROWS))
            except OSError as error:
                raise _refused(path, error) from None
            except (pa.ArrowException, UnicodeDecodeError, csv.Error, KeyError, ValueError):
                raise self._problem(path.name) from None
        if self._form is not None and self._files.format is OutputFormat.CSV:
            self._form.finish(self._names)

    def _csv(self, path: Path, wanted: Sequence[str], block: int) -> Iterator[Batch]:
        stream = CsvStream(path, block)
        if self._form is not None:
            self._form.begin(path.name)
            for batch, marks in stream.batches(self._names, partial(parse_distinct_records, wanted=wanted)):
                self._form.add(batch, marks)
                yield batch
            if stream.has_byte_order_mark:
                raise broken(path.name, "it begins with a byte order mark", "the header at the first byte")
            self._form.end(stream.header, ends_with_line_end=stream.ends_with_line_end)
        else:
            yield from stream.batches(self._names, partial(parse_records, wanted=wanted))
        self.digests += (stream.digest,)

    def _parquet(self, path: Path, wanted: Sequence[str], copy: Path, rows: int) -> Iterator[Batch]:
        is_output = isinstance(self._files, Output)
        try:
            yield from parquet_batches(copy, self._names, wanted, rows, must_be_text=is_output)
        except NotPlainTextError:
            raise broken(
                path.name, "a column is not text, or has empty texts", "text columns, missing as null"
            ) from None


def open_original(original: Original, header: Sequence[str]) -> Reading:
    """The owner's files, to be read; a problem with one is a DataError.

    A Parquet column of another type than text is cast by Arrow (`1`, `1.5`, `true`, `2020-01-31`,
    `2020-01-31 10:00:00`). An empty text is missing in either format.

    Args:
        original: the files.
        header: the plan's columns.
    """

    def problem(name: str) -> DataError:
        return DataError(
            name,
            "the original cannot be read again as the plan says",
            "the file that the run read, unchanged: UTF-8, RFC 4180, a header with the plan's columns",
        )

    return Reading(original, header, problem)


def read_original(original: Original, header: Sequence[str], wanted: Sequence[str]) -> Table:
    """The wanted columns of the owner's files in memory; see `open_original`.

    Raises:
        DataError: a file cannot be read, or its header is not the plan's.
        BackendError: the operating system refuses.
    """
    reading = open_original(original, header)
    columns, rows = gathered(reading.batches(wanted, None))
    return Table(columns, rows, reading.digests)


def read_output(output: Output, header: Sequence[str], forbidden: Sequence[str]) -> Reading:
    """The published files, to be read; their form is checked meanwhile.

    Form: the header is exactly `header`; CSV has LF line ends, and quotes either where they are
    needed or everywhere, in all files alike, so that they tell nothing about the original; Parquet holds
    text columns only, with missing values as null. A problem with it is a GuaranteeError.

    Args:
        output: the published files.
        header: the promised columns, in order.
        forbidden: columns that must not be published; only these may be named in a message.

    Raises:
        GuaranteeError: a forbidden column is there.
        BackendError: the operating system refuses.
    """
    for path in output.paths:
        present = [name for name in _header(path, output.format) if name in forbidden]
        if present:
            raise broken(
                path.name, f"it contains `{'`, `'.join(present)}`", "no column that the plan drops"
            )

    def problem(name: str) -> GuaranteeError:
        return broken(name, "it cannot be read, or its columns are not the plan's", "the plan's columns")

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


def _header(path: Path, file_format: OutputFormat) -> tuple[str, ...]:
    try:
        if file_format is OutputFormat.CSV:
            return csv_header(path)
        return parquet_names(path)
    except OSError as error:
        raise _refused(path, error) from None
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
