"""The contents of a piece of a CSV file, and how pieces are joined.

A piece may begin anywhere: inside a record, inside quotes, inside a character. What it holds is counted
for a given beginning (inside quotes or not), 64 bytes at a time: the bytes that matter are bits of
words, as in Langdale and Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 28 (2019), 3.1.
"""

import codecs
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

import numpy as np
from numpy.typing import NDArray

LONGEST_RECORD: Final = 1 << 23
"""Bytes, without the line end; every reader takes the file in larger blocks than this."""

Words = NDArray[np.uint64]
"""A bit for each byte of a piece, the first one in the lowest bit of the first word."""
Numbers = NDArray[np.int64]

_QUOTE, _COMMA, _LF, _CR = b'",\n\r'


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive bytes of a file, read with the byte before them and the three after them."""

    data: bytes
    """The byte before (LF at the beginning of the text), the window, and what the file has after it."""
    begin: int
    """The file offset of its first byte."""
    length: int
    """In bytes, without those around it."""

    @property
    def body(self) -> memoryview:
        return memoryview(self.data)[1 : 1 + self.length]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Part of a record, as seen from one piece."""

    commas: int = 0
    """Between fields."""
    length: int = 0
    """In bytes, without the line end; -1 where the piece begins between the CR and the LF of one."""

    def __add__(self, other: "Fragment") -> "Fragment":
        return Fragment(self.commas + other.commas, self.length + other.length)


@dataclass(frozen=True, slots=True)
class Fault:
    """The first thing in a piece that breaks the dialect."""

    record: int
    """Record ends before it."""
    length: int
    """Bytes of its record that stand in the piece before it."""
    problem: str
    expected: str


_LONE_RETURN: Final = ("a carriage return without a line feed", "LF or CRLF at the end of a record")
_TOO_LONG: Final = ("a record is longer than 8 MiB", "shorter records")
_NEVER_CLOSED: Final = ("a quoted field is not closed", "a closing quote")


@dataclass(frozen=True, slots=True)
class Piece:
    """The contents of a piece, given whether it begins inside quotes; nothing after its fault counts."""

    is_inside: bool
    """Whether it ends inside quotes."""
    ends: int = 0
    """Ends of records."""
    head: Fragment = Fragment()
    """Up to the first end of a record; all of it where there is none."""
    tail: Fragment = Fragment()
    """Behind the last end of a record; all of it where there is none."""
    first_end: int | None = None
    """The file offset behind the first end of a record."""
    longest: int = 0
    """Bytes of the longest record that stands in it as a whole."""
    has_quotes: bool = False
    has_inner_lines: bool = False
    """Whether a line ends inside quotes."""
    fault: Fault | None = None


LINE_END: Final = Piece(is_inside=False, ends=1)
"""What stands before the first record of a file, and behind a last one that has no line end."""


def join(left: Piece, right: Piece, fields: int) -> Piece:
    """Two consecutive pieces joined to one; the record across their border is checked.

    Args:
        left: a piece.
        right: the next one, for the beginning that `left.is_inside` says.
        fields: the number of fields that each record must have.
    """
    if left.fault is not None:
        return left
    across = left.tail + right.head
    fault = None if right.fault is None else _behind(left, right.fault)
    is_whole = left.ends > 0 and right.ends > 0
    if is_whole:
        fault = _broken(left.ends, across, fields) or fault
    return Piece(
        is_inside=right.is_inside,
        ends=left.ends + right.ends,
        head=left.head if left.ends else across,
        tail=right.tail if right.ends else across,
        first_end=right.first_end if left.first_end is None else left.first_end,
        longest=max(left.longest, right.longest, across.length if is_whole else 0),
        has_quotes=left.has_quotes or right.has_quotes,
        has_inner_lines=left.has_inner_lines or right.has_inner_lines,
        fault=fault,
    )


def ended(whole: Piece, fields: int) -> Piece:
    """What a file holds, given what stands in it up to its last byte."""
    if whole.is_inside:
        return join(whole, Piece(is_inside=True, fault=Fault(0, 0, *_NEVER_CLOSED)), fields)
    return join(whole, LINE_END, fields) if whole.tail.length else whole


def _behind(left: Piece, fault: Fault) -> Fault:
    """A fault as seen from the beginning of the piece before."""
    record, length = left.ends + fault.record, fault.length
    if not fault.record:
        length += left.tail.length
    if length > LONGEST_RECORD:
        return Fault(record, length, *_TOO_LONG)
    return replace(fault, record=record, length=length)


def _broken(record: int, whole: Fragment, fields: int) -> Fault | None:
    """What is wrong with a record of which all is known."""
    if whole.length > LONGEST_RECORD:
        return Fault(record, 0, *_TOO_LONG)
    if whole.length <= 0:
        return Fault(record, 0, "a blank line", "no blank lines")
    if whole.commas != fields - 1:
        return Fault(record, 0, f"{whole.commas + 1} fields", f"{fields}, as in the header")
    return None


class Marks:
    """Where the bytes that the dialect knows stand in a window."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._bytes = np.frombuffer(window.data, np.uint8)
        self._comma, self._line_feed = self._where(_COMMA), self._where(_LF)
        # Most windows have neither, and looking for a byte that is not there costs next to nothing.
        self._has_quotes, self._has_returns = b'"' in window.data, b"\r" in window.data
        none = np.zeros(len(self._comma), np.uint64)
        self._quote = self._where(_QUOTE) if self._has_quotes else none
        self._return = self._where(_CR) if self._has_returns else none

    def _where(self, byte: int) -> Words:
        length = self._window.length
        packed = np.packbits(self._bytes[1 : 1 + length] == byte, bitorder="little")
        words = np.zeros(-(-length // 64) * 8, np.uint8)
        words[: len(packed)] = packed
        return words.view("<u8")

    def piece(self, fields: int, *, is_inside: bool) -> Piece:
        """The window as a piece that begins inside quotes, or not; each record must have `fields`."""
        inside = self._inside(is_inside)
        commas = self._comma & ~inside
        ends = _positions(self._line_feed & ~inside)
        ranks, all_commas = _ranks(commas, ends)
        fault = self._first_fault(inside)
        if fault is not None:
            ends = ends[: np.searchsorted(ends, fault.position)]
        last = int(ends[-1]) + 1 if len(ends) else 0
        tail = Fragment(
            all_commas - (int(ranks[len(ends) - 1]) if len(ends) else 0), self._window.length - last
        )
        piece = Piece(
            is_inside=is_inside != bool(np.bitwise_xor.reduce(_count_bits(self._quote)) & 1),
            head=tail,
            tail=tail,
            has_quotes=self._has_quotes,
            has_inner_lines=bool(((self._line_feed | self._return) & inside).any()),
            fault=None if fault is None else fault.of_record(len(ends), last),
        )
        return self._with_records(piece, ends, ranks[: len(ends)], fields) if len(ends) else piece

    def _with_records(self, piece: Piece, ends: Numbers, ranks: Numbers, fields: int) -> Piece:
        """Add the head, and the records that stand in the window as a whole."""
        # `ends` counts from the window's first byte, `_bytes` from the byte before it.
        returns = (self._bytes[ends] == _CR).astype(np.int64)
        commas, lengths = np.diff(ranks), np.diff(ends) - 1 - returns[1:]
        wrong = np.flatnonzero((commas != fields - 1) | (lengths <= 0) | (lengths > LONGEST_RECORD))
        fault = piece.fault
        if len(wrong):
            first = int(wrong[0])
            fault = _broken(first + 1, Fragment(int(commas[first]), int(lengths[first])), fields)
        return replace(
            piece,
            ends=len(ends),
            head=Fragment(int(ranks[0]), int(ends[0] - returns[0])),
            first_end=self._window.begin + int(ends[0]) + 1,
            longest=int(lengths.max(initial=0)),
            fault=fault,
        )

    def _inside(self, is_inside: bool) -> Words:
        """The bytes that an odd number of quotes comes before: what is quoted, and the closing quotes."""
        if not self._has_quotes:
            return np.negative(np.full(len(self._quote), is_inside, np.uint64))
        odd = self._quote.copy()
        for shift in (1, 2, 4, 8, 16, 32):
            odd ^= odd << np.uint64(shift)
        carried = np.bitwise_xor.accumulate(odd >> np.uint64(63))
        start = np.uint64(is_inside)
        begins_odd = np.concatenate(([start], carried[:-1] ^ start))
        return odd ^ self._quote ^ np.negative(begins_odd)

    def _first_fault(self, inside: Words) -> "_Found | None":
        data, after = self._window.data, self._window.data[1 + self._window.length :][:1]
        nul = data.find(b"\0", 1, 1 + self._window.length)
        faults = [
            _Found(_not_utf8(self._window), "bytes that are not UTF-8", "UTF-8"),
            _Found(nul - 1 if nul > 0 else -1, "a NUL byte", "text"),
        ]
        if self._has_quotes:
            stray = _first(self._stray_quotes(inside, after))
            faults.append(_Found(stray, "a quote inside a field", "quotes around whole fields only"))
        if self._has_returns:
            ends = self._before(self._line_feed, last=after == b"\n")
            faults.append(_Found(_first(self._return & ~inside & ~ends), *_LONE_RETURN))
        return min((fault for fault in faults if fault.position >= 0), key=_Found.place, default=None)

    def _stray_quotes(self, inside: Words, after: bytes) -> Words:
        """Quotes that neither begin nor end a field, and are no part of a doubled one."""
        separators = self._comma | self._line_feed | self._quote
        opening = self._after(separators, first=self._window.data[:1] in b',\n"')
        # At the end of the file nothing comes after, and a field may end there.
        closing = self._before(separators | self._return, last=after in b',\n"\r')
        return self._quote & ~((opening & ~inside) | (closing & inside))

    @staticmethod
    def _after(words: Words, *, first: bool) -> Words:
        """The bytes right after one of these; `first` says it of the window's first byte."""
        shifted: Words = words << np.uint64(1)
        shifted[1:] |= words[:-1] >> np.uint64(63)
        shifted[0] |= np.uint64(first)
        return shifted

    def _before(self, words: Words, *, last: bool) -> Words:
        """The bytes right before one of these; `last` says it of the window's last byte."""
        shifted: Words = words >> np.uint64(1)
        shifted[:-1] |= words[1:] << np.uint64(63)
        end = self._window.length - 1
        shifted[end >> 6] |= np.uint64(last) << np.uint64(end & 63)
        return shifted


@dataclass(frozen=True, slots=True)
class _Found:
    """Bytes that no record may have."""

    position: int
    """In the window; -1 where there are none."""
    problem: str
    expected: str

    def place(self) -> int:
        return self.position

    def of_record(self, number: int, begin: int) -> Fault:
        """As a fault of the record that begins there."""
        return Fault(number, self.position - begin, self.problem, self.expected)


def _first(words: Words) -> int:
    """The first byte whose bit is set; -1 where there is none."""
    there = np.flatnonzero(words)
    if not len(there):
        return -1
    word = int(words[there[0]])
    return int(there[0]) * 64 + (word & -word).bit_length() - 1


def _positions(words: Words) -> Numbers:
    """The bytes whose bits are set."""
    packed = words.view(np.uint8)
    there = np.flatnonzero(packed != 0)
    bits = np.flatnonzero(np.unpackbits(packed[there], bitorder="little").view(np.bool_))
    positions: Numbers = there[bits >> 3] * 8 + (bits & 7)
    return positions


def _ranks(words: Words, positions: Numbers) -> tuple[Numbers, int]:
    """For each position the number of bits that are set up to it, and the number of all of them."""
    counts = np.zeros(len(words) + 1, np.int64)
    np.cumsum(_count_bits(words), out=counts[1:])
    place = positions >> 6
    up_to = words[place] << (63 - (positions & 63)).astype(np.uint64)
    return counts[place] + _count_bits(up_to), int(counts[-1])


def _add_bits(words: Words) -> NDArray[np.uint8]:
    """The number of bits set in each word: Warren, "Hacker's Delight", 2nd edition, figure 5-2."""
    pairs = words - ((words >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = np.uint64(0x3333333333333333)
    pairs = (pairs & fours) + ((pairs >> np.uint64(2)) & fours)
    eights = (pairs + (pairs >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    counts: NDArray[np.uint8] = ((eights * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.uint8)
    return counts


_count_bits: Callable[[Words], NDArray[np.uint8]] = getattr(np, "bitwise_count", _add_bits)
"""NumPy has it from 2.0 on."""


def _not_utf8(window: Window) -> int:
    """Where in the window the first bytes stand that are not UTF-8; -1 where all are.

    A window answers for the characters that begin in it; one that is cut at its end is looked at whole.
    """
    if window.data.isascii():
        return -1
    first, last = _character(window.data, 1), _character(window.data, 1 + window.length)
    try:
        codecs.utf_8_decode(memoryview(window.data)[first:last], "strict", True)
    except UnicodeDecodeError as error:
        return first + error.start - 1
    return -1


def _character(data: bytes, place: int) -> int:
    """The first place from `place` on where a character may begin: behind the rest of another one."""
    if data[place - 1] < 0x80:
        return place
    rest = takewhile(lambda byte: byte & 0xC0 == 0x80, data[place : place + 3])
    return place + sum(1 for _ in rest)
