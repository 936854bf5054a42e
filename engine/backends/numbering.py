"""The numbers of a column's distinct texts, assigned while its batches are read."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.tables.reading import ROW
from smalti.transforms.problem import MISSING

MOST_TEXTS: Final = 1 << 17
"""A column with more distinct texts is staged as texts."""
_MOST_CHARACTERS: Final = 1 << 26
"""Of distinct texts together; a column with more is staged as texts, which can spill."""
_MANY_ROWS: Final = 1 << 12
"""Of so many rows, at most half may have different texts, or the column is staged as texts."""
_PROBED: Final = 4
"""Batches that are looked at before it is decided which columns to number."""


class TooVariedError(Exception):
    """A column has too many distinct texts to be numbered."""


class Numbering:
    """The numbers of one column's texts, in the order of their first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._rows = self._characters = 0
        self.is_too_varied = False
        """Whether numbering was given up."""

    @property
    def texts(self) -> pa.Array:
        """By number, from 1."""
        return pa.array(list(self._numbers), pa.string())

    def number(self, texts: pa.Array) -> pa.Array:
        """The numbers of a batch's texts; `MISSING` where there is none.

        Raises:
            TooVariedError: there are too many.
        """
        encoded = pc.dictionary_encode(texts)
        distinct = encoded.dictionary.to_pylist()
        numbers = self._numbers
        by_place = [*map(numbers.get, distinct)]
        if None in by_place:
            for place, text in enumerate(distinct):
                if by_place[place] is None:
                    by_place[place] = numbers[text] = len(numbers) + 1
                    self._characters += len(text)
        self._rows += len(texts)
        are_too_many = len(numbers) > MOST_TEXTS or self._characters > _MOST_CHARACTERS
        if are_too_many or (self._rows >= _MANY_ROWS and 2 * len(numbers) > self._rows):
            self.is_too_varied = True
            raise TooVariedError
        by_code = np.array([*by_place, MISSING], np.int32)
        indices = pc.fill_null(encoded.indices, len(distinct)).to_numpy(zero_copy_only=False)
        return pa.array(by_code[indices])


Numberings = Sequence[Numbering | None]
"""For each column its numbering; None where it is staged as texts."""


def probe(reader: pa.RecordBatchReader) -> tuple[list[Numbering | None], pa.RecordBatchReader]:
    """Fresh numberings of the columns that some first batches do not show to be too varied.

    Returns:
        The numberings, and a reader of the same batches, those that were looked at among them.
    """
    numberings = [Numbering() for _ in reader.schema.names[1:]]
    probed = list(islice(reader, _PROBED))
    for batch in probed:
        for numbering, column in zip(numberings, batch.columns[1:], strict=True):
            if not numbering.is_too_varied:
                try:
                    numbering.number(column)
                except TooVariedError:
                    continue
    again = pa.RecordBatchReader.from_batches(reader.schema, chain(probed, reader))
    return renewed(numberings), again


def renewed(numberings: Numberings) -> list[Numbering | None]:
    """Fresh numberings of the columns that were not found to be too varied."""
    return [None if old is None or old.is_too_varied else Numbering() for old in numberings]


def numbered_batches(reader: pa.RecordBatchReader, numberings: Numberings) -> pa.RecordBatchReader:
    """Batches of `row`, and for each column `c...` its numbers, so named, or its texts (`t...`).

    The reader raises `TooVariedError` where a column cannot be numbered.
    """
    fields = [
        pa.field(f"t{name[1:]}", pa.string()) if numbering is None else pa.field(name, pa.int32())
        for name, numbering in zip(reader.schema.names[1:], numberings, strict=True)
    ]
    schema = pa.schema([pa.field(ROW, pa.int64()), *fields])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = zip(numberings, batch.columns[1:], strict=True)
            staged = [
                column if numbering is None else numbering.number(column) for numbering, column in columns
            ]
            yield pa.RecordBatch.from_arrays([batch.column(0), *staged], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
