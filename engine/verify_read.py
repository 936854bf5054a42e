"""The verifier's own reader: published and original files, as columns of codes.

Both files are read again from the disk, by the one dialect (UTF-8, RFC 4180 quoting, a header, every
column text, empty and quoted-empty missing), with the digest of exactly the bytes that were parsed: a
CSV file is hashed while the parser takes it, a Parquet file is held in memory.
"""

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from smalti.engine.plan import OutputFormat
from smalti.errors import BackendError, DataError, GuaranteeError, SmaltiError

Codes = NDArray[np.int64]
MISSING = -1

ArrowArray = Any
"""A pyarrow array or chunked array; their stubs know neither dictionaries nor mixed calls."""
pc: Any = pyarrow.compute

_BLOCK = 1 << 24
_LARGEST_BLOCK = (1 << 31) - 1
_TEXT = pa.large_string()


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as distinct texts and, for each row, the number of its text."""

    codes: Codes
    """One for each row; -1 is a missing value."""
    values: ArrowArray
    """The distinct texts, none of them missing."""

    def rows(self, numbers: Codes) -> "Coded":
        """The same column with these rows, in this order."""
        return Coded(self.codes[numbers], self.values)

    def in_terms_of(self, other: "Coded") -> Codes:
        """This column's codes in the numbering of `other`; -2 for texts that `other` lacks."""
        found = pc.fill_null(pc.index_in(self.values, value_set=other.values), -2)
        numbers = np.append(found.to_numpy(zero_copy_only=False).astype(np.int64), MISSING)
        return numbers[self.codes]


@dataclass(frozen=True, slots=True)
class Table:
    """A file that was read."""

    columns: dict[str, Coded]
    rows: int
    digest: str
    """SHA-256 of the bytes that were parsed, in hexadecimal digits."""


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


def read_original(original: Original, header: Sequence[str], wanted: Sequence[str]) -> Table:
    """Read the wanted columns of the owner's file.

    A Parquet column of another type than text is cast by Arrow (`1`, `1.5`, `true`, `2020-01-31`,
    `2020-01-31 10:00:00`). An empty text is missing in either format.

    Raises:
        DataError: the file cannot be read, or its header is not the plan's.
        BackendError: the operating system refuses.
    """
    problem = DataError(
        original.path.name,
        "the original cannot be read again as the plan says",
        "the file that the run read, unchanged: UTF-8, RFC 4180, a header with the plan's columns",
    )
    return _read(original.path, original.format, tuple(header), wanted, problem).table


def read_output(output: Output, header: Sequence[str], forbidden: Sequence[str]) -> Table:
    """Read the published file and check its form.

    Form: the header is exactly `header`; CSV has LF line ends, and quotes either where they are
    needed or everywhere, so that they tell nothing about the original; Parquet holds text columns
    only, with missing values as null.

    Args:
        output: the published file.
        header: the promised columns, in order.
        forbidden: columns that must not be published; only these may be named in a message.

    Raises:
        GuaranteeError: the file cannot be read, or does not have that form.
        BackendError: the operating system refuses.
    """
    where = output.path.name
    present = [name for name in _header(output) if name in forbidden]
    if present:
        raise broken(where, f"it holds `{'`, `'.join(present)}`", "no column that the plan drops")
    problem = broken(where, "it cannot be read, or its columns are not the plan's", "the plan's columns")
    found = _read(output.path, output.format, tuple(header), header, problem)
    if output.format is OutputFormat.CSV:
        _check_csv_form(where, found, tuple(header))
    elif not found.seen.is_plain_text:
        raise broken(where, "a column is not text, or has empty texts", "text columns, missing as null")
    return found.table


def broken(where: str, problem: str, expected: str) -> GuaranteeError:
    """The error of a promise that the published bytes do not keep."""
    way_out = "do not publish this output; report the fault to the developers of smalti"
    return GuaranteeError(where, f"a promise is broken: {problem}", expected, way_out)


def read_link(path: Path) -> Codes:
    """Read the link from published rows to input records: a `.npy` file, one dimension of int64.

    Raises:
        GuaranteeError: the file is something else; without a link nothing can be shown.
        BackendError: the operating system refuses.
    """
    try:
        link = np.load(path, allow_pickle=False)
    except OSError as error:
        raise _refused(path, error) from None
    except (ValueError, EOFError):
        link = None
    if not isinstance(link, np.ndarray) or link.ndim != 1 or link.dtype != np.int64:
        raise broken(path.name, "the link cannot be read", "a one-dimensional int64 array") from None
    return link


@dataclass(slots=True)
class _Seen:
    """How a file looks, gathered while it is read."""

    quotes: int = 0
    returns: int = 0
    commas: int = 0
    is_plain_text: bool = True
    """False for a Parquet file with a column of another type, or with an empty text."""
    last: bytes = b""


@dataclass(frozen=True, slots=True)
class _Found:
    table: Table
    seen: _Seen


class _HashedFile:
    """A file that hashes what is read from it; each byte is read once, in order."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._hash = hashlib.sha256()
        self.seen = _Seen()
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        self.seen.quotes += data.count(b'"')
        self.seen.returns += data.count(b"\r")
        self.seen.commas += data.count(b",")
        self.seen.last = data[-1:] or self.seen.last
        return data

    def digest(self) -> str:
        while self.read(_BLOCK):
            pass
        return self._hash.hexdigest()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        """The parser must not close it: the digest is taken afterwards."""

    def release(self) -> None:
        self.closed = True
        self._file.close()


def _refused(path: Path, error: OSError) -> BackendError:
    return BackendError(path.name, f"cannot be opened: {error.strerror or 'input/output error'}")


def _read(
    path: Path, form: OutputFormat, header: tuple[str, ...], wanted: Sequence[str], problem: SmaltiError
) -> _Found:
    read = _read_csv if form is OutputFormat.CSV else _read_parquet
    try:
        return read(path, header, wanted)
    except OSError as error:
        raise _refused(path, error) from None
    except (pa.ArrowException, UnicodeDecodeError, csv.Error, KeyError, ValueError):
        raise problem from None


def _header(output: Output) -> tuple[str, ...]:
    try:
        if output.format is OutputFormat.CSV:
            return _csv_header(output.path)
        return tuple(pa.parquet.read_schema(output.path).names)
    except OSError as error:
        raise _refused(output.path, error) from None
    except (pa.ArrowException, ValueError, csv.Error):
        return ()


def _csv_header(path: Path) -> tuple[str, ...]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return tuple(next(csv.reader(file, strict=True), ()))


def _read_csv(path: Path, header: tuple[str, ...], wanted: Sequence[str]) -> _Found:
    _check_names(_csv_header(path), header)
    if path.stat().st_size <= _BLOCK:
        return _parse_csv(path, header, wanted, _BLOCK)
    try:
        return _parse_csv(path, header, wanted, _BLOCK)
    except pa.ArrowInvalid:  # perhaps a record longer than a block
        return _parse_csv(path, header, wanted, min(path.stat().st_size + 1, _LARGEST_BLOCK))


def _parse_csv(path: Path, header: tuple[str, ...], wanted: Sequence[str], block: int) -> _Found:
    file = _HashedFile(path)
    try:
        table = pa.csv.read_csv(
            cast("IO[bytes]", file),
            read_options=pa.csv.ReadOptions(block_size=block),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.dictionary(pa.int32(), pa.string())),
                include_columns=list(wanted),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        return _Found(_coded(table, file.digest()), file.seen)
    finally:
        file.release()


def _read_parquet(path: Path, header: tuple[str, ...], wanted: Sequence[str]) -> _Found:
    data = path.read_bytes()
    file = pa.parquet.ParquetFile(pa.BufferReader(data))
    _check_names(file.schema_arrow.names, header)
    table = file.read(columns=list(wanted))
    seen = _Seen(is_plain_text=all(map(_is_plain_text, table.columns)))
    return _Found(_coded(table, hashlib.sha256(data).hexdigest()), seen)


def _is_plain_text(column: ArrowArray) -> bool:
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return is_text and not bool(pc.any(pc.equal(column, ""), min_count=0).as_py())


def _check_names(found: Sequence[str], header: tuple[str, ...]) -> None:
    if tuple(found) != header or len(set(header)) != len(header):
        raise ValueError


def _coded(table: pa.Table, digest: str) -> Table:
    columns = {name: _coded_column(table.column(name)) for name in table.column_names}
    return Table(columns, table.num_rows, digest)


def _coded_column(column: ArrowArray) -> Coded:
    if pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type):
        whole = column.unify_dictionaries().combine_chunks()
    else:
        if pa.types.is_timestamp(column.type) and column.type.tz:
            column = column.cast(pa.timestamp(column.type.unit, tz="UTC"))
        whole = column.cast(_TEXT).combine_chunks().dictionary_encode()
    values = whole.dictionary.cast(_TEXT)
    codes = pc.fill_null(whole.indices, MISSING).to_numpy(zero_copy_only=False).astype(np.int64)
    return _without_empty(codes, values)


def _without_empty(codes: Codes, values: ArrowArray) -> Coded:
    """The same column with the empty text as the missing value."""
    empty = pc.index(values, pa.scalar("", _TEXT)).as_py()
    if empty < 0:
        return Coded(codes, values)
    shifted = np.where(codes == empty, MISSING, codes - (codes > empty))
    return Coded(shifted, values.filter(pc.not_equal(values, "")))


def _check_csv_form(where: str, found: _Found, header: tuple[str, ...]) -> None:
    table, seen = found.table, found.seen
    if seen.last != b"\n" or seen.returns != _occurrences(table, header, "\r"):
        raise broken(where, "its line ends are not those of the dialect", "LF after every record")
    if seen.commas != (len(header) - 1) * (table.rows + 1) + _occurrences(table, header, ","):
        raise broken(where, "it has records with too few fields", "all fields of every record")
    if seen.quotes and seen.quotes not in _uniform_quotes(table, header):
        raise broken(
            where,
            "its fields are quoted in more than one way, which can tell originals apart",
            "quotes where they are needed, or around every field",
        )


def _occurrences(table: Table, header: tuple[str, ...], mark: str) -> int:
    count = sum(name.count(mark) for name in header)
    for column in table.columns.values():
        count += _weighted(column, pc.count_substring(column.values, mark))
    return count


def _weighted(column: Coded, weights: ArrowArray) -> int:
    """The sum of the texts' weights over the rows."""
    rows = np.bincount(column.codes + 1, minlength=len(column.values) + 1)[1:]
    return int(rows @ weights.to_numpy(zero_copy_only=False).astype(np.int64))


def _uniform_quotes(table: Table, header: tuple[str, ...]) -> set[int]:
    """The numbers of quotation marks that the uniform ways of quoting need."""
    special = '[,"\r\n]'
    needed = sum(
        _weighted(column, pc.match_substring_regex(column.values, special))
        for column in table.columns.values()
    )
    present = sum(int((column.codes >= 0).sum()) for column in table.columns.values())
    every = table.rows * len(header)
    blank = every - present if len(header) == 1 else 0
    in_header = sum(any(mark in name for mark in ',"\r\n') for name in header)
    inner = _occurrences(table, header, '"')
    fields = product({needed, needed + blank, present, every}, {in_header, len(header)})
    return {2 * (inner + body + head) for body, head in fields}
