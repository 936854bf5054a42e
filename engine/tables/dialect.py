r"""The one CSV dialect, and the check that a file keeps to it.

UTF-8 (a byte order mark is allowed), RFC 4180: comma, double quote, doubled quotes inside quoted
fields, records end with LF or CRLF, a header with distinct names. No sniffing, no escapes, no
comments. Empty and quoted-empty fields are both missing. A file with anything else in it (another
encoding, a stray quote, a blank line, a record with too few or too many fields, a NUL byte, a lone
CR, a record of more than 8 MiB) is refused as a whole, on every engine: CSV readers differ in what
they make of such records.
"""

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from smalti.engine.tables.records import LINE_END, Marks, Piece, Window, ended, join
from smalti.errors import DataError, InternalError

_CHUNK = 1 << 20
_AFTER = 3  # as much of a character as may stand behind a chunk
_LONGEST_HEADER = 1 << 20
_BOM = b"\xef\xbb\xbf"
WAY_OUT = "correct the file, or export it again as RFC 4180 CSV in UTF-8"
NAMES_WAY_OUT = (
    "name it, or leave the column out (pandas: `to_csv(index=False)`; R: `row.names = FALSE`); or name all"
    ' columns in a description whose `dialect` has "header": false and "skipRows": 1'
)
"""Of errors about the way in which a file is written."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive records of a file that keeps to the dialect."""

    begin: int
    """The file offset of the first byte of the first one."""
    end: int
    """The file offset behind the last one."""
    first: int
    """The number of the first one, from 0 after the header of the table's first file."""
    records: int
    """At least one."""
    size: int
    """Bytes of the file."""
    longest: int
    """Bytes of the file's longest record."""
    has_quotes: bool
    """Whether the file has any."""
    has_inner_lines: bool
    """Whether a line ends inside quotes somewhere in the file."""
    file: int = 0
    """Which file it is, where a table has several."""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file that keeps to the dialect."""

    header: tuple[str, ...]
    records: int
    """Records after the header."""
    digest: str
    """`sha256:` and hexadecimal digits, of all bytes."""
    parts: tuple[Part, ...]
    """One, with all records after the header; none where there are none."""


@dataclass(frozen=True, slots=True)
class RangeFacts:
    """The contents of a range of a file's bytes, for `join_ranges`."""

    begin: int
    end: int
    size: int
    """Bytes of the file, as far as it could be read."""
    pieces: tuple[Piece, ...]
    """By whether the range begins inside quotes; the first range of a file does not."""


def check_csv(path: Path) -> CsvFile:
    """Read the whole file once and refuse it if a record breaks the dialect.

    Memory does not grow with the file.

    Raises:
        DataError: names the first record that breaks the dialect, and how; no value.
    """
    header = read_header(path)
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        facts = _scan(file, 0, file.seek(0, os.SEEK_END), len(header), digest)
    parts = join_ranges(path.name, [facts], len(header))
    return CsvFile(
        header, sum(part.records for part in parts), f"sha256:{digest.hexdigest()}", tuple(parts)
    )


def scan_range(file: BinaryIO, begin: int, end: int, fields: int) -> RangeFacts:
    """Read a range of a file; it may begin and end anywhere: in a record, in quotes, in a character.

    Args:
        file: open for reading bytes, and able to seek.
        begin: the file offset of its first byte.
        end: the file offset behind its last byte.
        fields: the number of columns in the file's header.
    """
    return _scan(file, begin, end, fields)


def join_ranges(name: str, facts: Iterable[RangeFacts], fields: int) -> list[Part]:
    """The records that begin in each range, in the file's order; nothing of ranges in which none begins.

    Args:
        name: the file's, for messages.
        facts: of ranges that cover the whole file, each byte once.
        fields: the number of columns in the file's header.

    Raises:
        DataError: names the first record that breaks the dialect, and how, as `check_csv` does; or says
            that the file changed between the reads.
    """
    ranges = sorted(facts, key=lambda range_facts: (range_facts.begin, range_facts.end))
    _check_cover(name, ranges)
    whole, starts = LINE_END, list[tuple[int, int]]()
    for range_facts in ranges:
        piece = range_facts.pieces[whole.is_inside]
        starts += _first_record(whole, range_facts, piece)
        whole = _accepted(name, join(whole, piece, fields))
    whole = _accepted(name, ended(whole, fields))
    size, records = ranges[-1].size if ranges else 0, whole.ends - 2
    return [
        Part(begin, end, first, after - first, size, whole.longest, whole.has_quotes, whole.has_inner_lines)
        for (begin, first), (end, after) in pairwise([*starts, (size, records)])
    ]


def _check_cover(name: str, ranges: list[RangeFacts]) -> None:
    sizes = {facts.size for facts in ranges}
    if len(sizes) > 1 or any(facts.end > facts.size for facts in ranges):
        raise changed(name)
    ends = [0, *(facts.end for facts in ranges)]
    if [facts.begin for facts in ranges] != ends[:-1] or ends[-1] not in {0, *sizes}:
        raise InternalError("ranges do not cover a file")


def _first_record(before: Piece, facts: RangeFacts, piece: Piece) -> list[tuple[int, int]]:
    """Where the first record that begins in a range begins, and its number; the header is none."""
    first = before.ends - 2
    if first >= 0 and not before.tail.length and facts.begin < facts.end:
        return [(facts.begin, first)]
    if piece.first_end is not None and piece.first_end < facts.end:
        return [(piece.first_end, first + 1)]
    return []


def _accepted(name: str, whole: Piece) -> Piece:
    if whole.fault is None:
        return whole
    # The end of the line before the header counts, too.
    record = whole.fault.record - 1
    place = "the header" if record == 0 else f"record {record}"
    raise DataError(f"{name}, {place}", whole.fault.problem, whole.fault.expected, WAY_OUT)


def changed(name: str) -> DataError:
    """The error for a file that is not what it was when it was checked."""
    return DataError(
        name, "the file changed while it was read", "a file that does not change during a run", "run again"
    )


def _scan(
    file: BinaryIO, begin: int, end: int, fields: int, digest: "hashlib._Hash | None" = None
) -> RangeFacts:
    size, text = file.seek(0, os.SEEK_END), _begin_of_text(file)
    reached = max(begin, text)
    windows = _windows(file, reached, end, text)
    if digest is not None:
        digest.update(_BOM[:text])
        windows = _hashed(windows, digest)
    pieces = [Piece(is_inside) for is_inside in ((False,) if begin <= text else (False, True))]
    for window in windows:
        marks = Marks(window)
        pieces = [
            piece if piece.fault else join(piece, marks.piece(fields, is_inside=piece.is_inside), fields)
            for piece in pieces
        ]
        reached += window.length
        if all(piece.fault for piece in pieces):
            return RangeFacts(begin, end, size, tuple(pieces))
    return RangeFacts(begin, end, size if reached >= end else reached, tuple(pieces))


def _begin_of_text(file: BinaryIO) -> int:
    file.seek(0)
    return len(_BOM) if file.read(len(_BOM)) == _BOM else 0


def _windows(file: BinaryIO, begin: int, end: int, text: int) -> Iterator[Window]:
    """A range of a file, as far as the file has it; the text begins at `text`."""
    for place in range(begin, end, _CHUNK):
        length, before = min(_CHUNK, end - place), 0 if place == text else 1
        file.seek(place - before)
        data = file.read(before + length + _AFTER)
        if len(data) < before + length:
            return
        yield Window(data if before else b"\n" + data, place, length)


def _hashed(windows: Iterator[Window], digest: "hashlib._Hash") -> Iterator[Window]:
    """The same windows; they are hashed on another core while they are looked at."""
    with ThreadPoolExecutor(1) as pool:
        for window in windows:
            hashing = pool.submit(digest.update, window.body)
            yield window
            hashing.result()


def read_header(path: Path) -> tuple[str, ...]:
    """The column names.

    Raises:
        DataError: the file is empty, or names are missing, repeated or not UTF-8.
    """
    with path.open("rb") as file:
        start = file.read(_LONGEST_HEADER).removeprefix(_BOM)
    is_cut = len(start) >= _LONGEST_HEADER - 3
    try:
        text = io.StringIO(start.decode("utf-8", errors="ignore" if is_cut else "strict"), newline="")
        names = next(csv.reader(text, strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        # The whole-file check below says more precisely what is wrong.
        names = _readable_names(path.name, start.decode("utf-8", errors="replace"))
        return _distinct_names(path.name, names)
    if is_cut and not text.read(1):
        raise _too_long(path.name)
    return checked_names(path.name, names)


def _readable_names(name: str, text: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline="")), [])
    except csv.Error:
        raise DataError(
            f"{name}, the header",
            "a column's name is too long, or its closing quote is missing",
            f"names of at most {csv.field_size_limit()} characters",
            WAY_OUT,
        ) from None


def checked_names(name: str, names: list[str]) -> tuple[str, ...]:
    """The column names of a file, each there and each once, and fit for the header of a CSV file.

    Raises:
        DataError: they are not; it names columns by their places.
    """
    distinct = _distinct_names(name, names)
    for place, column in enumerate(names, 1):
        problem = _unfit(column)
        if problem:
            # Whichever columns are published, the first of them begins a file of ours.
            raise DataError(
                f"{name}, column {place}", *problem, "rename the column, and export the file again"
            )
    if sum(len(column.encode()) + column.count('"') + len('"",') for column in names) > _LONGEST_HEADER:
        raise _too_long(name)
    return distinct


def _unfit(column: str) -> tuple[str, str] | None:
    """Why a name cannot be the first of a CSV file that is read as it was written, and what could."""
    if column.startswith("\ufeff"):
        return (
            "its name begins with U+FEFF, which is a byte order mark at the beginning of a file",
            "a name without it, and at most one mark before the header",
        )
    if "\0" in column:
        return "its name contains a NUL character", "text"
    if len(column) > csv.field_size_limit():
        return "its name is too long", f"names of at most {csv.field_size_limit()} characters"
    return None


def _too_long(name: str) -> DataError:
    return DataError(
        f"{name}, the header",
        "it is too long",
        "at most 1 MiB, with a comma and quotes for each name",
        WAY_OUT,
    )


def _distinct_names(name: str, names: list[str]) -> tuple[str, ...]:
    """The column names of a file, each there and each once."""
    if not names:
        raise DataError(name, "the file has no header", "a first record with the column names", WAY_OUT)
    if "" in names:
        raise DataError(
            name,
            f"column {names.index('') + 1} has no name in the header",
            "a name for each column",
            NAMES_WAY_OUT,
        )
    repeated = [i for i, column in enumerate(names) if column in names[:i]]
    if repeated:
        # Not by name: where the header is missing, these are values of the first record.
        first, second = names.index(names[repeated[0]]) + 1, repeated[0] + 1
        raise DataError(
            name,
            f"columns {first} and {second} have the same name in the header",
            "a header with distinct column names",
            WAY_OUT,
        )
    return tuple(names)
