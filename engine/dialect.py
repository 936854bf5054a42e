r"""The one CSV dialect, and the check that a file keeps to it.

UTF-8 (a byte order mark is allowed), RFC 4180: comma, double quote, doubled quotes inside quoted
fields, records end with LF or CRLF, a header with distinct names. No sniffing, no escapes, no
comments. Empty and quoted-empty fields are both missing. A file with anything else in it (another
encoding, a stray quote, a blank line, a record with too few or too many fields, a NUL byte, a lone
CR, a record of more than 8 MiB) is refused as a whole, on every engine: CSV readers differ in what
they make of such records.
"""

import codecs
import csv
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smalti.errors import DataError

LONGEST_RECORD = 1 << 23
"""Bytes; every reader takes the file in larger blocks than this."""
_TOO_LONG = ("a record is longer than 8 MiB", "shorter records")
_CHUNK = 1 << 24
_LONGEST_HEADER = 1 << 20
_BOM = b"\xef\xbb\xbf"
_QUOTE, _COMMA, _LF, _CR, _NUL = 34, 44, 10, 13, 0
_LONE_RETURN = ("a carriage return stands alone", "LF or CRLF at the end of a record")
_WAY_OUT = "correct the file, or export it again as RFC 4180 CSV in UTF-8"


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file that keeps to the dialect."""

    header: tuple[str, ...]
    records: int
    """Records after the header."""
    digest: str
    """`sha256:` and hexadecimal digits, of all bytes."""


def check_csv(path: Path) -> CsvFile:
    """Read the whole file once and refuse it if a record breaks the dialect.

    Memory does not grow with the file.

    Raises:
        DataError: names the first record that breaks the dialect, and how; no value.
    """
    header = read_header(path)
    checker = _Checker(path.name, len(header))
    digest = hashlib.sha256()
    with path.open("rb") as file:
        start = file.read(len(_BOM))
        digest.update(start)
        checker.feed(start.removeprefix(_BOM))
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            checker.feed(chunk)
    checker.finish()
    return CsvFile(header, checker.records - 1, f"sha256:{digest.hexdigest()}")


def read_header(path: Path) -> tuple[str, ...]:
    """The column names.

    Raises:
        DataError: the file is empty, or names are missing, repeated or not UTF-8.
    """
    with path.open("rb") as file:
        start = file.read(_LONGEST_HEADER).removeprefix(_BOM)
    try:
        text = start.decode("utf-8", errors="ignore" if len(start) >= _LONGEST_HEADER - 3 else "strict")
        names = next(csv.reader(io.StringIO(text, newline=""), strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        # The whole-file check below says more precisely what is wrong.
        names = _readable_names(path.name, start.decode("utf-8", errors="replace"))
    return checked_names(path.name, names)


def _readable_names(name: str, text: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline="")), [])
    except csv.Error:
        raise DataError(
            f"{name}, the header",
            "a column's name is too long, or its quotes are never closed",
            f"names of at most {csv.field_size_limit()} characters",
            _WAY_OUT,
        ) from None


def checked_names(name: str, names: list[str]) -> tuple[str, ...]:
    """The column names of a file, each there and each once.

    Raises:
        DataError: they are not.
    """
    if not names:
        raise DataError(name, "the file has no header", "a first record with the column names", _WAY_OUT)
    if any(not column for column in names):
        raise DataError(name, "the header has a column without a name", "a name for each column", _WAY_OUT)
    repeated = [i for i, column in enumerate(names) if column in names[:i]]
    if repeated:
        # Not by name: where the header is missing, these are values of the first record.
        first, second = names.index(names[repeated[0]]) + 1, repeated[0] + 1
        raise DataError(
            name,
            f"columns {first} and {second} have the same name in the header",
            "a header with distinct column names",
            _WAY_OUT,
        )
    return tuple(names)


class _Checker:
    """The dialect as a check over chunks; vectorised, with the state between chunks in fields."""

    def __init__(self, name: str, fields: int) -> None:
        self.name = name
        self.fields = fields
        self.records = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._inside = 0
        self._commas = 0
        self._length = 0
        self._last = _LF
        self._held = b""

    def feed(self, chunk: bytes) -> None:
        # One byte is held back, so that each byte is seen together with the one after it.
        data = self._held + chunk
        self._decode(chunk, self._held)
        self._held = data[-1:]
        self._scan(np.frombuffer(data, np.uint8))

    def finish(self) -> None:
        end = np.frombuffer(self._held + bytes([_LF]), np.uint8)
        ends_in_line = bool(self._held) and not (self._held == b"\n" and not self._inside)
        self._decode(b"", self._held, final=True)
        if self._held:
            self._scan(end)
        if self._inside:
            self._refuse(self.records, "a quoted field is never closed", "a closing quote")
        if self._held == b"\r":
            self._refuse(self.records, *_LONE_RETURN)
        if ends_in_line:
            self._scan(np.array([_LF, _LF], np.uint8))

    def _decode(self, chunk: bytes, held: bytes, final: bool = False) -> None:
        waiting = len(self._decoder.getstate()[0])
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            readable = held + chunk[: max(error.start - waiting, 0)]
            self._scan(np.frombuffer(readable + b"?", np.uint8))
            self._refuse(self.records, "bytes that are not UTF-8", "UTF-8")

    def _scan(self, data: NDArray[np.uint8]) -> None:
        """Check all bytes of `data` but the last, which is there to be looked ahead at."""
        if len(data) < 2:
            return
        byte, following = data[:-1], data[1:]
        previous = np.concatenate((np.array([self._last], np.uint8), byte[:-1]))
        quote = byte == _QUOTE
        inside = ((np.cumsum(quote) - quote + self._inside) & 1).astype(np.bool_)
        end = (byte == _LF) & ~inside
        fault = _first_fault(byte, previous, following, quote, inside)
        stop = len(byte) if fault is None else fault.position
        self._check_records(end[:stop], ((byte == _COMMA) & ~inside)[:stop], byte[:stop])
        if fault is not None:
            self._refuse(self.records, fault.problem, fault.expected)
        self._inside = (self._inside + int(np.count_nonzero(quote))) & 1
        self._last = int(byte[-1])

    def _check_records(
        self, end: NDArray[np.bool_], comma: NDArray[np.bool_], byte: NDArray[np.uint8]
    ) -> None:
        ends = np.flatnonzero(end)
        commas = np.concatenate(([0], np.cumsum(comma)))
        begins = np.concatenate(([0], ends + 1))
        counts = np.diff(commas[begins])
        lengths = np.diff(begins) - 1
        if len(ends):
            counts[0] += self._commas
            lengths[0] += self._length
            before = np.where(ends > 0, byte[ends - 1], self._last)
            lengths -= before == _CR
            self._check_counts(counts, lengths)
            self._commas = self._length = 0
            self.records += len(ends)
        self._commas += int(commas[-1] - commas[begins[-1]])
        self._length += len(byte) - int(begins[-1])
        if self._length > LONGEST_RECORD:
            self._refuse(self.records, *_TOO_LONG)

    def _check_counts(self, counts: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        wrong = (lengths <= 0) | (counts != self.fields - 1) | (lengths > LONGEST_RECORD)
        if not wrong.any():
            return
        first = int(np.argmax(wrong))
        if lengths[first] > LONGEST_RECORD:
            self._refuse(self.records + first, *_TOO_LONG)
        if lengths[first] <= 0:
            self._refuse(self.records + first, "a blank line", "no blank lines")
        found = int(counts[first]) + 1
        self._refuse(self.records + first, f"{found} fields", f"{self.fields}, as in the header")

    def _refuse(self, record: int, problem: str, expected: str) -> None:
        place = "the header" if record == 0 else f"record {record}"
        raise DataError(f"{self.name}, {place}", problem, expected, _WAY_OUT)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A byte that no record may have."""

    position: int
    problem: str
    expected: str


def _first_fault(
    byte: NDArray[np.uint8],
    previous: NDArray[np.uint8],
    following: NDArray[np.uint8],
    quote: NDArray[np.bool_],
    inside: NDArray[np.bool_],
) -> _Fault | None:
    opening, closing = quote & ~inside, quote & inside
    bad_opening = opening & ~np.isin(previous, (_COMMA, _LF, _QUOTE))
    bad_closing = closing & ~np.isin(following, (_COMMA, _LF, _CR, _QUOTE))
    lone_return = (byte == _CR) & ~inside & (following != _LF)
    faults = [
        _Fault(int(np.argmax(found)), problem, expected)
        for found, problem, expected in (
            (bad_opening | bad_closing, "a quote stands inside a field", "quotes around whole fields only"),
            (lone_return, *_LONE_RETURN),
            (byte == _NUL, "a NUL byte", "text"),
        )
        if found.any()
    ]
    return min(faults, key=lambda fault: fault.position, default=None)
