"""Data frames in memory: whatever hands out Arrow's stream of batches, as pandas, Polars and Arrow do."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from smalti.engine.tables.addresses import Frame
from smalti.engine.tables.arrow import ArrowReader
from smalti.engine.tables.foreign import RECORDS_AT_ONCE, Reader
from smalti.errors import DataError, UsageError

NAME: Final = "data frame"
"""Of a data frame in messages."""
_INDEX: Final = "__index_level_"
"""What begins the columns that pandas makes of an index without a name."""


def reader_of(data: Frame) -> Reader:
    """What reads a data frame.

    An index of pandas is a column if it has a name, and is left out otherwise.

    Raises:
        UsageError: a column's name is no text, or stands twice; or it can be read only once.
        DataError: a column is of a type that is not read.
    """
    table = data.table
    if isinstance(table, pa.RecordBatchReader):
        raise UsageError(
            "data (--data)", "a stream of batches can be read only once", "a table", "call its `read_all()`"
        )
    _check_names(_names(table))
    schema = _stream(table).schema
    _check_names(schema.names)
    wanted = [place for place, name in enumerate(schema.names) if not name.startswith(_INDEX)]

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _stream(table):
            columns = batch.select(wanted)
            for first in range(0, batch.num_rows, RECORDS_AT_ONCE):
                yield columns.slice(first, RECORDS_AT_ONCE)

    return ArrowReader(NAME, pa.schema([schema.field(place) for place in wanted]), batches)


def _names(table: Any) -> list[object]:
    """The names of the columns as the frame has them, before Arrow makes texts of them."""
    names = getattr(table, "column_names", None)
    return list(getattr(table, "columns", ()) if names is None else names)


def _check_names(names: list[object]) -> None:
    for place, name in enumerate(names, 1):
        if not isinstance(name, str) or not name:
            raise UsageError(
                NAME,
                f"the name of column {place} is no text",
                "texts as column names",
                "rename the columns",
            )
        if name in names[: place - 1]:
            first = names.index(name) + 1
            raise UsageError(
                NAME,
                f"columns {first} and {place} have the same name",
                "distinct column names",
                "rename one",
            )


def _stream(table: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(table)
    except Exception:  # of any library; its message may quote a value
        raise DataError(
            NAME,
            "it cannot be handed over through Arrow",
            "columns that hold values of one type each",
            "convert columns of mixed types, for example to text",
        ) from None
