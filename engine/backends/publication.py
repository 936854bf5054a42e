"""Published rows as pieces: neighbouring columns that are looked up together, by their rank."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.writing import CsvWriter, Files, TableWriter, joined_fields

Integers = NDArray[np.int64]

_LARGEST: Final = 1 << 62
_MOST_BYTES: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring published columns."""

    columns: tuple[str, ...]
    values: pa.Table | None
    """By rank, what the columns say; None for one column that comes as its own text."""


def ranked(rows: pa.Table) -> tuple[Integers, pa.Table]:
    """The rank of each row among the distinct rows, and these in order: bytewise, missing first."""
    ranks = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        by_column = _ranks(column)
        ranks = np.unique(ranks * (int(by_column.max(initial=0)) + 1) + by_column, return_inverse=True)[1]
    _, first = np.unique(ranks, return_index=True)
    return ranks, rows.take(pa.array(first))


def _ranks(column: pa.ChunkedArray) -> Integers:
    """By row, the rank of its text among the column's; 0 where it is missing."""
    encoded = pc.dictionary_encode(column.combine_chunks())
    texts = encoded.dictionary
    # Arrow compares texts by their bytes.
    rank = np.empty(len(texts) + 1, np.int64)
    rank[pc.sort_indices(texts).to_numpy()] = np.arange(1, len(texts) + 1)
    rank[len(texts)] = 0
    ranks: Integers = rank[pc.fill_null(encoded.indices, len(texts)).to_numpy(zero_copy_only=False)]
    return ranks


@dataclass(frozen=True, slots=True)
class Publication:
    """How batches of an ordered query become published columns.

    A query's batch holds either one key that packs the ranks of all pieces, or for each piece a column
    of its own, and at last the input row.
    """

    pieces: tuple[Piece, ...]
    format: OutputFormat
    fields: tuple[pa.Array | None, ...]
    """For CSV, by rank what each piece's fields are, joined; None where its column comes as text."""
    rows_at_once: int
    """As many as can be written together without taking much memory: a label can be long."""
    rows_per_part: int | None = None
    """At most so many in each file; None: there is one file."""

    @classmethod
    def of(
        cls, pieces: Sequence[Piece], output_format: OutputFormat, rows_per_part: int | None = None
    ) -> "Publication":
        """Join the fields of neighbouring columns once, where records of them are to be written."""
        is_csv = output_format is OutputFormat.CSV
        fields = tuple(
            joined_fields([column.combine_chunks() for column in piece.values.columns])
            if is_csv and piece.values is not None
            else None
            for piece in pieces
        )
        longest = sum(_longest(piece.values) for piece in pieces if piece.values is not None)
        at_once = max(1, _MOST_BYTES // max(longest, 1))
        return cls(tuple(pieces), output_format, fields, at_once, rows_per_part)

    @property
    def columns(self) -> tuple[str, ...]:
        """The published columns, in order."""
        return tuple(name for piece in self.pieces for name in piece.columns)

    @property
    def _sizes(self) -> list[int] | None:
        """The number of ranks of each piece, where one key holds all of them."""
        sizes = [max(piece.values.num_rows, 1) for piece in self.pieces if piece.values is not None]
        if len(sizes) < len(self.pieces) or int(np.prod(np.array(sizes, object))) > _LARGEST:
            return None
        return sizes

    def ordering(self, columns: Sequence[str]) -> tuple[str, str]:
        """What to select, and to order by, given each piece's rank or text in SQL."""
        sizes = self._sizes
        if sizes is None:
            names = [f"p{i}" for i in range(len(columns))]
            selected = ", ".join(f"{column} AS {p}" for column, p in zip(columns, names, strict=True))
            return selected, ", ".join(f"{p} ASC NULLS FIRST" for p in names)
        key = f"CAST({columns[0]} AS BIGINT)"
        for column, size in zip(columns[1:], sizes[1:], strict=True):
            key = f"({key} * {size} + {column})"
        return f"{key} AS p0", "p0 ASC"

    def files(self, output: Path) -> Files:
        """The files that the rows are written to; `output` is where one file stands."""
        return Files(output, self.columns, self.format, self.rows_per_part)

    def write(self, batch: pa.RecordBatch, writer: TableWriter) -> None:
        """Write the rows of a batch."""
        for first in range(0, batch.num_rows, self.rows_at_once):
            self._write(batch.slice(first, self.rows_at_once), writer)

    def _write(self, batch: pa.RecordBatch, writer: TableWriter) -> None:
        ranks = self._ranks_of(batch)
        if isinstance(writer, CsvWriter):
            pieces = zip(self.fields, ranks, strict=True)
            writer.write_pieces([_fields(joined, column) for joined, column in pieces])
            return
        columns: list[pa.Array] = []
        for piece, column in zip(self.pieces, ranks, strict=True):
            columns += [column] if piece.values is None else piece.values.take(column).columns
        writer.write(pa.table(columns, names=list(self.columns)).combine_chunks().to_batches()[0])

    def _ranks_of(self, batch: pa.RecordBatch) -> list[pa.Array]:
        sizes = self._sizes
        if sizes is None:
            return [
                column if piece.values is None else column.cast(pa.int32())
                for column, piece in zip(batch.columns[:-1], self.pieces, strict=True)
            ]
        rest = batch.column(0).to_numpy()
        ranks: list[Integers] = []
        for size in reversed(sizes[1:]):
            rest, rank = np.divmod(rest, size)
            ranks.append(rank)
        return [pa.array(rank.astype(np.int32)) for rank in (rest, *reversed(ranks))]


def _longest(values: pa.Table) -> int:
    """At least as many bytes as the longest row of texts has."""
    lengths = [pc.max(pc.binary_length(column)).as_py() or 0 for column in values.columns]
    return sum(lengths) + len(lengths)


def _fields(joined: pa.Array | None, column: pa.Array) -> pa.Array:
    return joined_fields([column]) if joined is None else pa.DictionaryArray.from_arrays(column, joined)
