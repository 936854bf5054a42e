"""The verifier's own reader of Parquet: a bounded piece of a file at a time, whatever it says of itself.

How many rows are read at once follows from the pages (`parquet_pages`); what they say is read here.
"""

import binascii
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.engine.tables.parquet_pages import groups, open_parquet_file
from smalti.engine.verify.columns import TEXT, ArrowArray, Batch, Codes, Numbered, numbered, pc

_PIECE_BYTES: Final = 1 << 24
"""Of the texts of a piece; more where one row is longer."""


class NotPlainTextError(Exception):
    """A column that must hold text holds something else, or empty texts."""


def parquet_names(path: Path) -> tuple[str, ...]:
    """The names in a file's footer.

    Raises:
        ValueError: the footer is too large (pyarrow.ArrowException: the file is no Parquet).
    """
    with open_parquet_file(path) as file:
        return tuple(file.schema_arrow.names)


def parquet_batches(
    path: Path, header: tuple[str, ...], wanted: Sequence[str], most_rows: int, *, must_be_text: bool
) -> Iterator[Batch]:
    """All rows, with the wanted columns; at least one batch, which may have none.

    Args:
        path: the file.
        header: the names that it must have, in their order.
        wanted: some of them.
        most_rows: in a batch.
        must_be_text: whether its columns may only hold texts, and nulls for what is missing.

    Raises:
        NotPlainTextError: they hold something else.
        ValueError: its names are others, or it takes too much memory to be read (pyarrow.ArrowException:
            it is no Parquet).
    """
    with open_parquet_file(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
    if tuple(schema.names) != header or len(set(header)) != len(header):
        raise ValueError
    if must_be_text and not all(_is_text(schema.field(name).type) for name in wanted):
        raise NotPlainTextError
    is_empty = True
    numbers = range(metadata.num_row_groups)
    for number, group in zip(numbers, groups(path, numbers), strict=True):
        rows = min(most_rows, group.rows_at_once)
        with open_parquet_file(path, group.dictionaries) as file:
            for part in file.iter_batches(rows, row_groups=[number], columns=list(wanted)):
                for piece in _in_pieces(_in_plain_types(part)):
                    batch = _batch(piece, wanted)
                    if must_be_text and _has_empty_texts(piece, wanted):
                        raise NotPlainTextError
                    is_empty = False
                    yield batch
    if is_empty:
        yield _batch(schema.empty_table(), wanted)


def _in_plain_types(part: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows without views, whose lengths Arrow does not compute."""
    fields = [
        field.with_type(pa.large_string() if pa.types.is_string_view(field.type) else pa.large_binary())
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type)
        else field
        for field in part.schema
    ]
    return part.cast(pa.schema(fields))


def _in_pieces(part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    ends = np.cumsum(sum((_lengths(column) for column in part.columns), np.zeros(part.num_rows, np.int64)))
    turns = np.flatnonzero(np.diff(ends // _PIECE_BYTES, prepend=0))
    for first, after in zip((0, *turns), (*turns, part.num_rows), strict=True):
        if first < after:
            yield part.slice(first, after - first)


def _lengths(column: ArrowArray) -> Codes:
    """By row, the bytes of its text; of columns of other types nothing."""
    if not _is_text(_kind(column)) and not _is_binary(_kind(column)):
        return np.zeros(len(column), np.int64)
    if pa.types.is_dictionary(column.type):
        lengths = pc.take(pc.binary_length(column.dictionary), column.indices)
    else:
        lengths = pc.binary_length(column)
    sizes: Codes = pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return sizes


def _kind(column: ArrowArray) -> ArrowArray:
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _is_text(kind: ArrowArray) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: ArrowArray) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _has_empty_texts(part: pa.RecordBatch, wanted: Sequence[str]) -> bool:
    return any(
        bool((_lengths(part.column(name)) == 0)[_present(part.column(name))].any()) for name in wanted
    )


def _present(column: ArrowArray) -> ArrowArray:
    return pc.is_valid(column).to_numpy(zero_copy_only=False)


def _batch(part: pa.RecordBatch | pa.Table, wanted: Sequence[str]) -> Batch:
    columns = {name: _numbered(part.column(name)) for name in wanted}
    return Batch(columns, np.ones(part.num_rows, np.int64))


def _numbered(column: ArrowArray) -> Numbered:
    if not isinstance(column, pa.DictionaryArray):
        return numbered(_as_written(column))
    # The dictionary also has the texts of other rows: only those that stand here are taken from it.
    missing = len(column.dictionary)
    places = pc.fill_null(column.indices, missing).to_numpy(zero_copy_only=False)
    used, place = np.unique(places, return_inverse=True)
    distinct = numbered(
        _as_written(column.dictionary.take(pa.array(used, mask=used == missing))).cast(TEXT)
    )
    return Numbered(distinct.numbers[place], distinct.texts)


def _as_written(column: ArrowArray) -> ArrowArray:
    """A column whose cast to text is as the engine writes it: times in UTC, decimals in full, base64."""
    if pa.types.is_timestamp(column.type) and column.type.tz:
        return column.cast(pa.timestamp(column.type.unit, tz="UTC"))
    if pa.types.is_decimal(column.type):
        return pa.array(
            [None if value is None else f"{value:f}" for value in column.to_pylist()], pa.string()
        )
    if _is_binary(column.type):
        return pa.array([_base64(value) for value in column.to_pylist()], pa.string())
    return column


def _base64(value: bytes | None) -> str | None:
    return None if value is None else binascii.b2a_base64(value, newline=False).decode("ascii")
