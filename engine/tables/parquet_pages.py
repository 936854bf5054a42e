"""The memory that reading a Parquet file takes, from the headers of its pages.

A footer is a claim, and so is everything that it says of sizes. A page's own header says how much memory
is taken for it, whatever is in it, so these headers are looked at before anything of the file is read
(https://parquet.apache.org/docs/file-format/, "Data Pages"; the headers are Thrift's compact protocol).
A small file can hold much: a page that compresses well, one text that many rows refer to, or texts that
repeat the beginning of the one before. So the number of rows that are read at once follows from the
pages.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import pyarrow.parquet as pq

MOST_ROWS: Final = 1 << 16
"""That are read at once."""
_ROWS_TAKE: Final = 1 << 25
"""Bytes of the values of so many rows, about."""
MOST_PAGE_BYTES: Final = 1 << 29
"""That the pages of all columns, which are in memory at the same time, may take."""
LONGEST_FOOTER: Final = 1 << 23
_TAIL: Final = 8
_HEADER_BYTES: Final = (1 << 10, 1 << 16, 1 << 24)
"""Read for a page's header, one after the other where it is too little; Arrow takes no longer ones."""
_FIXED: Final = 16
_NUMBER: Final = 4

_BYTE_ARRAY, _FIXED_BYTES = 6, 7
_DECIMAL: Final = 5
_DICTIONARY_PAGE: Final = 2
_PLAIN_DICTIONARY, _DELTA_TEXTS, _RLE_DICTIONARY = 2, 7, 8

Value: TypeAlias = "int | bytes | list[Value] | Fields"
Fields: TypeAlias = "dict[int, Value]"
"""A struct of Thrift: values by the id of the field."""


class TooLargeError(ValueError):
    """A file would take more memory than anything that is read here may take."""


@dataclass(frozen=True, slots=True)
class Group:
    """How a row group is read."""

    rows_at_once: int
    dictionaries: tuple[str, ...]
    """The columns in which rows refer to the texts of a dictionary, and are to be read like that."""


def open_parquet_file(path: Path, dictionaries: tuple[str, ...] = ()) -> pq.ParquetFile:
    """A Parquet file, to be read as a stream and not a row group at a time.

    Raises:
        TooLargeError: its footer would take too much memory.
        pyarrow.ArrowException: it is none.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL, 0))
        length, magic = file.read(4), file.read(4)
        if magic == b"PAR1" and int.from_bytes(length, "little") > LONGEST_FOOTER:
            raise TooLargeError
    return pq.ParquetFile(path, read_dictionary=dictionaries, buffer_size=1 << 20, pre_buffer=False)


def groups(path: Path, numbers: Iterable[int]) -> Iterator[Group]:
    """How each of some row groups is to be read.

    The footer is read here and not by Arrow, whose view of a broken one ends the process.

    Raises:
        TooLargeError: a row group cannot be read in the memory that there is for it.
        ValueError: the footer or the headers of pages are none.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        footer = _footer(file, size)
        columns = [_Column.of(element) for element in _structs(footer, 2) if 5 not in element]
        row_groups = _structs(footer, 4)
        for number in numbers:
            if number >= len(row_groups):
                raise ValueError
            yield _group(file, size, columns, _structs(row_groups[number], 1))


def _footer(file: BinaryIO, size: int) -> Fields:
    file.seek(max(size - _TAIL, 0))
    length = int.from_bytes(file.read(4), "little")
    if length > LONGEST_FOOTER:
        raise TooLargeError
    file.seek(max(size - _TAIL - length, 0))
    try:
        return _read_struct(file.read(length), 0, 0)[0]
    except IndexError:
        raise ValueError from None


@dataclass(frozen=True, slots=True)
class _Column:
    """What the schema says of a column."""

    length: int
    """In bytes, of a type of fixed length."""
    is_decimal: bool

    @classmethod
    def of(cls, element: Fields) -> "_Column":
        logical = element.get(10)
        is_decimal = element.get(6) == _DECIMAL or (isinstance(logical, dict) and _DECIMAL in logical)
        return cls(_number(element, 2), is_decimal)


def _group(file: BinaryIO, size: int, columns: list[_Column], claimed: list[Fields]) -> Group:
    if len(columns) != len(claimed):
        raise ValueError
    chunks = [
        _chunk(file, size, _struct(chunk, 3), column)
        for chunk, column in zip(claimed, columns, strict=True)
    ]
    if sum(chunk.page_bytes for chunk in chunks) > MOST_PAGE_BYTES:
        raise TooLargeError
    row_bytes = sum(chunk.row_bytes for chunk in chunks)
    rows = max(1, min(MOST_ROWS, _ROWS_TAKE // max(row_bytes, 1)))
    return Group(rows, tuple(chunk.column for chunk in chunks if chunk.is_dictionary))


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column of a row group."""

    column: str
    page_bytes: int
    """That its dictionary and one of its pages take, as they stand in the file and as values."""
    row_bytes: int
    """That a row may take, on average over the rows of any page."""
    is_dictionary: bool


def _chunk(file: BinaryIO, size: int, claimed: Fields, column: _Column) -> _Chunk:
    kind = _number(claimed, 1)
    is_text = kind == _BYTE_ARRAY and not column.is_decimal
    largest = dictionary = 0
    row_bytes = column.length if kind == _FIXED_BYTES else _FIXED
    for page in _pages(file, size, claimed):
        if page.is_dictionary:
            dictionary = max(dictionary, page.bytes)
            continue
        largest = max(largest, page.bytes)
        if kind == _BYTE_ARRAY:
            row_bytes = max(row_bytes, _row_bytes(page, dictionary, is_text=is_text))
    names = claimed.get(3)
    if not isinstance(names, list):
        raise ValueError
    name = b".".join(part for part in names if isinstance(part, bytes)).decode()
    return _Chunk(name, 2 * (largest + dictionary), row_bytes, is_text and dictionary > 0)


@dataclass(frozen=True, slots=True)
class _Page:
    is_dictionary: bool
    bytes: int
    """In memory, compressed or not, whichever is more."""
    values: int
    encoding: int


def _row_bytes(page: _Page, dictionary: int, *, is_text: bool) -> int:
    if page.encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        return _NUMBER if is_text else max(dictionary, _NUMBER)
    if page.encoding == _DELTA_TEXTS:
        return page.bytes  # a text repeats the beginning of the one before it, which may be all of the page
    return -(-page.bytes // max(page.values, 1))


def _pages(file: BinaryIO, size: int, claimed: Fields) -> Iterator[_Page]:
    """The pages of a column of a row group, as far as they are read: up to the number of its values."""
    place, first = _number(claimed, 9), _number(claimed, 11)
    if 0 < first < place:
        place = first
    end = place + _number(claimed, 7)
    if not 0 <= place <= end <= size:
        raise ValueError
    values, most = 0, _number(claimed, 5)
    while values < most and place < end:
        header, length = _header(file, place)
        kind, uncompressed, compressed = (_number(header, field, -1) for field in (1, 2, 3))
        place += length + compressed
        if min(kind, compressed, uncompressed) < 0 or place > size:
            raise ValueError
        first_form, second_form = _struct(header, 5), _struct(header, 8)
        count = max(_number(first_form, 1), _number(second_form, 1))
        encoding = max(_number(first_form, 2), _number(second_form, 4))
        is_dictionary = kind == _DICTIONARY_PAGE
        yield _Page(is_dictionary, max(compressed, uncompressed), count, encoding)
        values += 0 if is_dictionary else count


def _header(file: BinaryIO, place: int) -> tuple[Fields, int]:
    """A page's header, and its length in bytes."""
    for most in _HEADER_BYTES:
        file.seek(place)
        data = file.read(most)
        try:
            return _read_struct(data, 0, 0)
        except IndexError:
            continue
    raise ValueError


# --- Thrift's compact protocol

_DEEPEST: Final = 12
_SIZES: Final = {1: 0, 2: 0, 3: 1, 7: 8}


def _number(fields: Fields, field: int, otherwise: int = 0) -> int:
    value = fields.get(field, otherwise)
    if not isinstance(value, int):
        raise ValueError
    return value


def _struct(fields: Fields, field: int) -> Fields:
    value = fields.get(field, {})
    if not isinstance(value, dict):
        raise ValueError
    return value


def _structs(fields: Fields, field: int) -> list[Fields]:
    values = fields.get(field, [])
    if not isinstance(values, list):
        raise ValueError
    return [value for value in values if isinstance(value, dict)]


def _read_struct(data: bytes, place: int, depth: int) -> tuple[Fields, int]:
    """A struct, and where it ends.

    Raises:
        IndexError: the data ends before it.
        ValueError: something stands there that no Parquet file has.
    """
    fields: Fields = {}
    field = 0
    while head := data[place]:
        place += 1
        if head >> 4:
            field += head >> 4
        else:
            field, place = _read_number(data, place)
        if field in fields or depth > _DEEPEST:
            raise ValueError  # of two values for one field, readers differ in which counts
        fields[field], place = _read_value(data, place, head & 15, depth)
    return fields, place + 1


def _read_value(data: bytes, place: int, kind: int, depth: int) -> tuple[Value, int]:
    match kind:
        case 1 | 2 | 3 | 7:  # true, false, a byte, a floating-point number: nobody asks for them
            return 0, place + _SIZES[kind]
        case 4 | 5 | 6:  # whole numbers of 16, 32 and 64 bits
            return _read_number(data, place)
        case 8:  # bytes
            length, place = _read_varint(data, place)
            if place + length > len(data):
                raise IndexError
            return data[place : place + length], place + length
        case 9 | 10:  # a list, a set
            return _read_list(data, place, depth + 1)
        case 12:  # a struct
            return _read_struct(data, place, depth + 1)
    raise ValueError


def _read_list(data: bytes, place: int, depth: int) -> tuple[Value, int]:
    kind, count = data[place] & 15, data[place] >> 4
    place += 1
    if count == 15:
        count, place = _read_varint(data, place)
    if place + count > len(data):
        raise IndexError
    values: list[Value] = []
    for _ in range(count):
        # In a list, a truth value takes a byte.
        value, place = _read_value(data, place, 3 if kind in (1, 2) else kind, depth)
        values.append(value)
    return values, place


def _read_number(data: bytes, place: int) -> tuple[int, int]:
    """A whole number with its sign, zigzag, and where it ends."""
    number, place = _read_varint(data, place)
    return (number >> 1) ^ -(number & 1), place


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
        if shift > 63:
            raise ValueError
