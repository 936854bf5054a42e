"""Tables of Arrow as canonical text: what databases, data frames and Parquet files are read through."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.tables.foreign import Reader, Records
from smalti.engine.tables.parquet import as_text, open_parquet, parquet_batches, stated_datatype
from smalti.engine.tables.reading import file_digest
from smalti.errors import DataError
from smalti.transforms.base import Datatype

_ZEROS: Final = r"(\.[0-9]*?)0+(Z?)$"
_BARE_POINT: Final = r"\.(Z?)$"


class ArrowReader(Reader):
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
        self._name, self._batches = name, batches
        self._header = tuple(map(str, schema.names))
        self._datatypes = tuple(stated_datatype(name, field) for field in schema)

    @property
    def name(self) -> str:
        return self._name

    @property
    def header(self) -> tuple[str, ...]:
        return self._header

    @property
    def datatypes(self) -> tuple[Datatype | None, ...]:
        return self._datatypes

    def records(self) -> Iterator[Records]:
        first = 1
        try:
            for batch in self._batches():
                if batch.num_rows:
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


class ParquetReader(Reader):
    """A Parquet file, with the texts that it has for every engine."""

    def __init__(self, path: Path) -> None:
        """Look at the columns' types.

        Raises:
            DataError: it is no Parquet file, or a column is of a type that is not read.
        """
        schema = open_parquet(path).schema_arrow
        self._path, self._header = path, tuple(schema.names)
        self._datatypes = tuple(stated_datatype(path.name, field) for field in schema)

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def header(self) -> tuple[str, ...]:
        return self._header

    @property
    def datatypes(self) -> tuple[Datatype | None, ...]:
        return self._datatypes

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
