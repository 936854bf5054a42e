"""Tables of Arrow as canonical text: what databases, data frames and Parquet files are read through."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.tables.foreign import Records, TypedReader, outside
from smalti.engine.tables.parquet import as_text, open_parquet, parquet_batches, stated_datatype
from smalti.engine.tables.reading import file_digest
from smalti.errors import DataError, raise_all

_ZEROS: Final = r"(\.[0-9]*?)0+(Z?)$"
_BARE_POINT: Final = r"\.(Z?)$"
_UNITS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY: Final = 86_400
_FIRST_SECOND: Final = -719_162 * _DAY
"""Of the year 1, counted from 1970."""
_END_SECOND: Final = 2_932_897 * _DAY
"""Of the year 9999, which is the first that does not belong to it."""
_LARGEST: Final = 2**63 - 1


class ArrowReader(TypedReader):
    """A table that Arrow batches yield; date-times are written as ISO 8601 with a `T`."""

    def __init__(
        self, name: str, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]
    ) -> None:
        """Look at the columns' types.

        Args:
            name: of the table, for messages.
            schema: of the batches.
            batches: yields all rows, each time anew.

        Raises:
            DataError: a column is of a type that is not read.
        """
        super().__init__(
            name,
            tuple(map(str, schema.names)),
            tuple(stated_datatype(name, field) for field in schema),
        )
        self._batches = batches

    def records(self) -> Iterator[Records]:
        first, unread = 1, [0] * len(self._header)
        try:
            for batch in self._batches():
                unread = [
                    before + outside_of(column)
                    for before, column in zip(unread, batch.columns, strict=True)
                ]
                if batch.num_rows and not any(unread):
                    columns = tuple(_texts(column) for column in batch.columns)
                    yield Records(first, columns)
                first += batch.num_rows
        except (pa.ArrowException, UnicodeError):
            raise DataError(
                self._name,
                "the table cannot be read",
                "a table whose values fit their types",
                "export it as CSV",
            ) from None
        raise_all([
            outside(self._name, name, count, datatype)
            for name, count, datatype in zip(self._header, unread, self._datatypes, strict=True)
            if count
        ])  # fmt: skip


class ParquetReader(TypedReader):
    """A Parquet file, with the texts that it has for every engine."""

    def __init__(self, path: Path) -> None:
        """Look at the columns' types.

        Raises:
            DataError: it is no Parquet file, or a column is of a type that is not read.
        """
        schema = open_parquet(path).schema_arrow
        super().__init__(
            path.name, tuple(schema.names), tuple(stated_datatype(path.name, field) for field in schema)
        )
        self._path = path

    def records(self) -> Iterator[Records]:
        first = 1
        places = range(len(self._header))
        for batch in parquet_batches(self._path, self._header, None, places):
            if batch.num_rows:
                yield Records(
                    first, tuple(pc.fill_null(column, "").to_pylist() for column in batch.columns)
                )
            first += batch.num_rows

    def digest(self) -> str:
        return file_digest(self._path)


def outside_of(column: pa.Array) -> int:
    """How many values have no canonical text: numbers that are not finite, days beyond the years 1 to 9999.

    Databases write an infinite date as the largest number that its type holds.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_floating(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return 0
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(kind):
        is_outside = pc.invert(pc.is_finite(pc.cast(column, pa.float64())))
    else:
        if pa.types.is_date32(kind):
            column, second = pc.cast(column, pa.int32()), Fraction(1, _DAY)
        else:
            second = Fraction(1000 if pa.types.is_date64(kind) else _UNITS[kind.unit])
        numbers = pc.cast(column, pa.int64())
        least = max(_FIRST_SECOND * second, Fraction(1 - _LARGEST))
        end = min(_END_SECOND * second, Fraction(_LARGEST))
        is_outside = pc.or_(pc.less(numbers, int(least)), pc.greater_equal(numbers, int(end)))
    return pc.sum(is_outside).as_py() or 0


def _texts(column: pa.Array) -> list[str]:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_date64(kind):
        column = pc.cast(column, pa.date32())
    text = as_text(column)
    if pa.types.is_timestamp(kind):
        text = pc.replace_substring(text, " ", "T")
        text = pc.replace_substring_regex(text, _ZEROS, r"\1\2")
        text = pc.replace_substring_regex(text, _BARE_POINT, r"\1")
    texts: list[str] = pc.fill_null(text, "").to_pylist()
    return texts
