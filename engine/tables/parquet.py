"""Parquet files as batches of text: what each type is written as, a bounded piece of the file at a time."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from smalti.engine.tables.parquet_pages import (
    LONGEST_FOOTER,
    MOST_PAGE_BYTES,
    TooLargeError,
    groups,
    open_parquet_file,
)
from smalti.engine.tables.records import LONGEST_RECORD
from smalti.errors import DataError
from smalti.transforms.base import Datatype

_PLAIN_SCALE = 6
"""Arrow writes decimals of at most so many places without an exponent."""
_BATCH_BYTES: Final = 1 << 24
"""Of the texts of a batch; more where one record is longer."""


def row_groups(path: Path) -> tuple[int, ...]:
    """The bytes of each row group of a Parquet file, before compression, as its footer states them."""
    metadata = open_parquet(path).metadata
    return tuple(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


def rows_of(path: Path, group_numbers: tuple[int, ...]) -> tuple[int, int]:
    """The number of the first row of some row groups, and how many rows they have."""
    metadata = open_parquet(path).metadata
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return sum(rows[: group_numbers[0]]), sum(rows[group] for group in group_numbers)


def parquet_batches(
    path: Path, header: tuple[str, ...], group_numbers: tuple[int, ...] | None, places: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """The rows of a file, or of some of its row groups, as columns of text; an empty text is missing.

    Memory does not grow with the file, nor with what it says of itself.

    Args:
        path: the file.
        header: the names of all its columns.
        group_numbers: of its row groups; None: all.
        places: of the columns that are wanted.

    Raises:
        DataError: a record is longer than 8 MiB, a text holds a NUL character, what must be in memory
            at a time is too large, or pages are broken.
        pyarrow.ArrowException: the file is not what its footer says.
    """
    for batch in raw_batches(path, group_numbers, LONGEST_RECORD):
        columns = [
            _missing_if_empty(_without_nul(path.name, as_text(batch.column(place)))) for place in places
        ]
        yield pa.RecordBatch.from_arrays(columns, names=[header[place] for place in places])


def raw_batches(
    path: Path, group_numbers: tuple[int, ...] | None = None, longest: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The same rows in the file's types; texts may be dictionaries, which have texts of other rows, too.

    Args:
        path: the file.
        group_numbers: of its row groups; None: all.
        longest: bytes of the texts of a record; None: any number.

    Raises:
        DataError: as `parquet_batches`, but for NUL characters.
        pyarrow.ArrowException: the file is not what its footer says.
    """
    metadata = open_parquet(path).metadata
    numbers = range(metadata.num_row_groups) if group_numbers is None else group_numbers
    try:
        for number, group in zip(numbers, groups(path, numbers), strict=True):
            with open_parquet_file(path, group.dictionaries) as file:
                for batch in file.iter_batches(group.rows_at_once, row_groups=[number]):
                    yield from _in_pieces(path.name, batch, longest)
    except TooLargeError:
        raise _too_large(path) from None
    except (ValueError, KeyError):
        raise DataError(
            path.name,
            "the file cannot be read as its format says",
            "a readable Parquet file",
            "check it, or export it again",
        ) from None


def _in_pieces(name: str, batch: pa.RecordBatch, longest: int | None) -> Iterator[pa.RecordBatch]:
    """A batch in as many pieces as its texts are long."""
    lengths = text_bytes(batch)
    if longest is not None and lengths.max(initial=0) > longest:
        raise DataError(name, "a record is longer than 8 MiB", "shorter records", "export it again")
    ends = np.cumsum(lengths)
    first = 0
    while first < batch.num_rows:
        most = ends[first] - lengths[first] + _BATCH_BYTES
        after = max(first + 1, int(np.searchsorted(ends, most, side="right")))
        yield batch.slice(first, after - first)
        first = after


def text_bytes(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """How many bytes the texts of each row have; columns of other types count for nothing."""
    sizes = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if _is_text(kind):
            sizes += _lengths(column)
        elif _is_binary(kind):
            sizes += (_lengths(column) + 2) // 3 * 4
    return sizes


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _without_views(column: pa.Array) -> pa.Array:
    """The same values in a type that Arrow computes with: it has few functions for views."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(column.indices, _without_views(column.dictionary))
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(kind) else column


def _lengths(column: pa.Array) -> NDArray[np.int64]:
    column = _without_views(column)
    if pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column.dictionary).take(column.indices)
    else:
        lengths = pc.binary_length(column)
    present: NDArray[np.int64] = pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return present


def as_text(column: pa.Array) -> pa.Array:
    """The texts of a column of any type that `stated_datatype` accepts; a missing value stays missing."""
    column = _without_views(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        # Arrow writes other zones without a colon; the instant is the same in UTC.
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    if pa.types.is_decimal(column.type) and not 0 <= column.type.scale <= _PLAIN_SCALE:
        return _plain_decimals(column)
    if _is_binary(column.type):
        return pa.array(
            [None if value is None else b64encode(value).decode() for value in column.to_pylist()],
            pa.string(),
        )
    return pc.cast(column, pa.string())


def _plain_decimals(column: pa.Array) -> pa.Array:
    """Decimals without an exponent, which Arrow writes where there are many places."""
    encoded = column.dictionary_encode()
    texts = pa.array([format(value, "f") for value in encoded.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(encoded.indices, texts).dictionary_decode()


def _without_nul(name: str, column: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring(column, "\0")).as_py():
        raise DataError(name, "a value contains a NUL character", "text", "remove it")
    return column


def _missing_if_empty(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def open_parquet(path: Path) -> pq.ParquetFile:
    """A Parquet file, of which nothing but the footer has been read.

    Raises:
        DataError: it is none, or its footer is too large.
    """
    try:
        file = open_parquet_file(path)
        file.schema_arrow.names  # noqa: B018 (that they are UTF-8)
        return file
    except TooLargeError:
        raise _too_large(path) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise DataError(path.name, "not a Parquet file", "Parquet", "export it again") from None


def _too_large(path: Path) -> DataError:
    return DataError(
        path.name,
        "reading the file takes too much memory at a time",
        f"pages of at most {MOST_PAGE_BYTES >> 20} MiB together, over all columns, and a footer of at most"
        f" {LONGEST_FOOTER >> 20} MiB",
        "export it again with smaller pages, or with fewer columns",
    )


def stated_datatype(name: str, field: pa.Field) -> Datatype | None:
    """What a column's type says of its texts; None where that is nothing.

    Raises:
        DataError: a column of that type is not read.
    """
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if _is_text(kind):
        return None
    if _is_binary(kind):
        return Datatype.STRING  # in base64, as XML Schema's `base64Binary`
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
        f"the type `{kind}` is not implemented",
        "text, bytes, numbers, booleans, dates or timestamps",
        "cast or drop the column first",
    )
