"""The verifier's own parser of CSV: blocks of whole records, parsed beside each other, in their order.

A published file is ordered by what it publishes, so equal records follow each other: of equal lines
next to each other, only the first is parsed, and counted as often as it stands there.
"""

import csv
import hashlib
import io
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from smalti.engine.verify.columns import Batch, Codes, numbered, pc

BLOCK: Final = 1 << 24
"""Bytes that are read at once, and parsed together; more where a record is longer."""
_LONGEST_HEADER: Final = 1 << 20
_PARSERS: Final = 2
_AHEAD: Final = 3
_SCANNED: Final = 1 << 18
_BOM: Final = b"\xef\xbb\xbf"
Parsed = TypeVar("Parsed")
_QUOTE: Final = 34
_LINE_END: Final = 10
_SEPARATORS: Final = np.frombuffer(b",\r\n", np.uint8)


@dataclass(frozen=True, slots=True)
class Block:
    """Whole records behind the header's."""

    data: bytearray
    """The header, and the records."""
    start: int
    """Where the records start."""
    end: int

    def has(self, mark: bytes) -> bool:
        """Whether it is somewhere in the header or the records."""
        return self.data.find(mark, 0, self.end) >= 0

    def count(self, mark: bytes) -> int:
        """How often it is in the records."""
        return self.data.count(mark, self.start, self.end)

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The records."""
        return np.frombuffer(self.data, np.uint8)[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Marks:
    """How often each mark stands in some bytes."""

    quotes: int
    returns: int
    commas: int
    has_stray_quotes: bool = False
    """Whether a quotation mark neither opens nor closes a field, and is not doubled inside of one."""

    @classmethod
    def of(cls, record: bytes) -> "Marks":
        return cls(record.count(b'"'), record.count(b"\r"), record.count(b","))


class CsvStream:
    """The records of a CSV file, read once and in order; hashed meanwhile."""

    def __init__(self, path: Path, block: int = BLOCK) -> None:
        self._path = path
        self._block = block
        self._hash = hashlib.sha256()
        self.header = b""
        """The header's record as it stands there, without a byte order mark."""
        self.has_byte_order_mark = False
        self.ends_with_line_end = False
        self._free: list[bytearray] = []
        """Blocks that are done with; new memory costs more than reading into it."""

    @property
    def digest(self) -> str:
        """Of all bytes, in hexadecimal digits; once all blocks were taken."""
        return self._hash.hexdigest()

    def batches(self, names: tuple[str, ...], parse: Callable[[Block], Parsed]) -> Iterator[Parsed]:
        """What `parse`, called in other threads, makes of each block.

        Raises:
            ValueError: the header is another; or as `parse`.
        """
        with ThreadPoolExecutor(_PARSERS) as parsers, closing(self._blocks(names)) as blocks:
            pending: deque[tuple[Block, Future[Parsed]]] = deque()
            try:
                for block in blocks:
                    pending.append((block, parsers.submit(parse, block)))
                    if len(pending) == _AHEAD:
                        oldest, parsing = pending.popleft()
                        yield parsing.result()
                        self._free.append(oldest.data)  # hashed as well, for others were read since
                while pending:
                    yield pending.popleft()[1].result()
            finally:
                for _, parsing in pending:
                    parsing.cancel()

    def _blocks(self, names: tuple[str, ...]) -> Generator[Block, None, None]:
        """At least one, so that the header is always parsed."""
        with self._path.open("rb") as file, ThreadPoolExecutor(1) as hasher:
            first = _first_record(file)
            self.has_byte_order_mark = first.startswith(_BOM)
            self.header = first.removeprefix(_BOM)
            _check_header(self.header, names)
            hashed = hasher.submit(self._hash.update, first)
            self.ends_with_line_end = first.endswith(b"\n")
            start, rest, is_first = len(self.header), b"", True
            left = os.fstat(file.fileno()).st_size - len(first)
            while True:
                filled = start + len(rest)
                # One byte more than there should be: only a read of nothing shows the end.
                data = self._space(filled + max(min(self._block, left + 1), len(rest), 1))
                memoryview(data)[:filled] = self.header + rest
                read = file.readinto(memoryview(data)[filled:])
                if read == 0:
                    break
                left -= read
                hashed.result()
                hashed = hasher.submit(self._hash.update, memoryview(data)[filled : filled + read])
                self.ends_with_line_end = data[filled + read - 1] == _LINE_END
                end = _end_of_records(data, start, filled + read)
                rest = bytes(memoryview(data)[end : filled + read])
                if end > start:
                    is_first = False
                    yield Block(data, start, end)
            hashed.result()
            if rest:
                yield Block(data, start, filled)
            elif is_first:  # a header that ends with the file is a record, too
                alone = self.header.removesuffix(b"\n") + b"\n"
                yield Block(bytearray(alone), len(alone), len(alone))

    def _space(self, size: int) -> bytearray:
        if self._free and len(self._free[-1]) >= size:
            return self._free.pop()
        return bytearray(size + size // 8)


def _first_record(file: io.BufferedReader) -> bytes:
    record = file.readline(_LONGEST_HEADER)
    while record.count(b'"') % 2 and len(record) < _LONGEST_HEADER:
        line = file.readline(_LONGEST_HEADER)
        if not line:
            break
        record += line
    return record


def _check_header(record: bytes, names: tuple[str, ...]) -> None:
    """That it is one record, with these distinct names.

    Raises:
        ValueError: it is another, or no UTF-8.
    """
    if csv_names(record) != names or len(set(names)) != len(names):
        raise ValueError


def csv_names(record: bytes) -> tuple[str, ...]:
    """The names in a header; none where it is not one record.

    Raises:
        ValueError: no UTF-8.
        csv.Error: no CSV.
    """
    records = list(csv.reader(io.StringIO(record.decode(), newline=""), strict=True))
    return tuple(records[0]) if len(records) == 1 else ()


def csv_header(path: Path) -> tuple[str, ...]:
    """The names in a file's header, as `csv_names`."""
    with path.open("rb") as file:
        return csv_names(_first_record(file).removeprefix(_BOM))


def _end_of_records(data: bytearray, start: int, stop: int) -> int:
    """Where the last whole record ends: behind a line end that is not inside quotes; `start` if none."""
    end = data.rfind(b"\n", start, stop) + 1
    if end == 0 or data.find(b'"', start, end) < 0 or data.count(b'"', start, end) % 2 == 0:
        return max(end, start)
    part = np.frombuffer(data, np.uint8)[start:end]
    ends = _line_ends(part)
    outside = ends[~_are_quoted(part, ends)]
    return start + int(outside[-1]) if len(outside) else start


def _line_ends(part: NDArray[np.uint8]) -> Codes:
    """The places behind each line end."""
    ends = [
        np.flatnonzero(part[begin : begin + _SCANNED] == _LINE_END) + (begin + 1)
        for begin in range(0, len(part), _SCANNED)
    ]
    return np.concatenate(ends) if ends else np.empty(0, np.int64)


def _are_quoted(part: NDArray[np.uint8], ends: Codes) -> NDArray[np.bool_]:
    """Whether each place is inside quotes, where the first byte is not."""
    inside: NDArray[np.bool_] = np.searchsorted(np.flatnonzero(part == _QUOTE), ends) % 2 == 1
    return inside


def parse_records(block: Block, wanted: Sequence[str]) -> Batch:
    """All records of a block.

    Raises:
        pyarrow.ArrowInvalid: they are no CSV.
    """
    table = _parsed(memoryview(block.data)[: block.end], wanted, has_quotes=block.has(b'"'))
    return _batch(table, np.ones(table.num_rows, np.int64))


def parse_distinct_records(block: Block, wanted: Sequence[str]) -> tuple[Batch, Marks]:
    """As `parse_records`, with one record for equal lines next to each other; and the marks of all.

    Raises:
        pyarrow.ArrowInvalid: they are no CSV.
    """
    lines = _distinct_lines(block)
    if lines is not None:
        data = block.data[: block.start] + lines.text
        table = _parsed(memoryview(data), wanted, has_quotes=block.has(b'"'))
        if table.num_rows == len(lines.repeats):
            return _batch(table, lines.repeats), lines.marks
    strays = _has_stray_quotes(block.bytes)
    marks = Marks(block.count(b'"'), block.count(b"\r"), block.count(b","), strays)
    return parse_records(block, wanted), marks


def _has_stray_quotes(part: NDArray[np.uint8]) -> bool:
    """Whether in some records a quotation mark is neither at an end of a field nor doubled inside.

    A parser can read `"a,"b` as it reads `"a,b"`: as many marks, and the same value.
    """
    places = np.flatnonzero(part == _QUOTE)
    around = np.concatenate(([_LINE_END], part, [_LINE_END]))
    before, after = around[places], around[places + 2]
    follows = np.diff(places, prepend=-2) == 1
    is_followed = np.append(follows[1:], False)
    opens = np.isin(before, _SEPARATORS) | follows
    closes = np.isin(after, _SEPARATORS) | is_followed
    is_opening = np.arange(len(places)) % 2 == 0
    return bool((is_opening & ~opens).any() or (~is_opening & ~closes).any() or len(places) % 2)


@dataclass(frozen=True, slots=True)
class _Lines:
    text: memoryview
    repeats: Codes
    marks: Marks
    """Of all lines, not of these alone."""


def _distinct_lines(block: Block) -> _Lines | None:
    """Each line once where equal ones follow each other; None where a line may not be a record."""
    part = block.bytes
    if len(part) == 0 or part[-1] != _LINE_END or block.has(b"\r"):
        return None
    ends = _line_ends(part)
    has_quotes = block.has(b'"')
    if has_quotes and _are_quoted(part, ends).any():
        return None
    offsets = np.concatenate((np.zeros(1, np.int64), ends))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(part)]
    runs = pc.run_end_encode(pa.Array.from_buffers(pa.large_binary(), len(ends), buffers))
    repeats = np.diff(runs.run_ends.to_numpy(), prepend=0).astype(np.int64)
    _, places, text = runs.values.buffers()
    end = int(np.frombuffer(places, np.int64)[len(repeats)])
    quotes = block.count(b'"') if has_quotes else 0
    commas = int(pc.count_substring(runs.values, ",").to_numpy() @ repeats)
    kept = memoryview(text)[:end]
    strays = has_quotes and _has_stray_quotes(np.frombuffer(kept, np.uint8))
    return _Lines(kept, repeats, Marks(quotes, 0, commas, strays))


def _parsed(data: memoryview, wanted: Sequence[str], *, has_quotes: bool) -> pa.Table:
    return pa.csv.read_csv(
        pa.BufferReader(pa.py_buffer(data)),
        read_options=pa.csv.ReadOptions(block_size=len(data) + 1, use_threads=False),
        parse_options=pa.csv.ParseOptions(
            quote_char='"' if has_quotes else False, newlines_in_values=has_quotes, ignore_empty_lines=False
        ),
        convert_options=pa.csv.ConvertOptions(
            check_utf8=False,  # the distinct texts are checked afterwards
            column_types=dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.binary())),
            include_columns=list(wanted),
            null_values=[],
            strings_can_be_null=False,
        ),
    )


def _batch(table: pa.Table, repeats: Codes) -> Batch:
    return Batch({name: numbered(table.column(name)) for name in table.column_names}, repeats)
