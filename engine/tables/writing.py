"""The one writer of published tables: CSV in the one dialect, or Parquet."""

import hashlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.parquet import raw_batches
from smalti.engine.tables.parts import MOST_PARTS, part_of, too_many_parts
from smalti.engine.tables.reading import read_names
from smalti.errors import InternalError

_TEXT = pa.large_string()
_CHUNK = 1 << 20


def csv_records(columns: list[pa.Array]) -> bytes:
    r"""Rows of text columns as CSV records that end with LF.

    Quotes stand only where a field needs them; a missing value is an empty field, and a quoted empty
    field where it is the only one of its record, for a blank line is no record.

    Args:
        columns: texts, or dictionaries of texts, whose texts are then looked at once.

    >>> csv_records([pa.array(["a,b", None]), pa.array(["x", "1"])])
    b'"a,b",x\n,1\n'
    """
    return csv_lines([_field(column) for column in columns])


def joined_fields(columns: list[pa.Array]) -> pa.Array:
    """The CSV text of several neighbouring columns of each row, for `csv_lines`.

    >>> joined_fields([pa.array(["a,b", None]), pa.array(["x", "1"])]).to_pylist()
    ['"a,b",x', ',1']
    """
    return pc.binary_join_element_wise(*(_decoded(_field(column)) for column in columns), _text(","))


def csv_lines(pieces: list[pa.Array]) -> bytes:
    r"""Rows of pieces that `joined_fields` made, or dictionaries of them, as `csv_records` writes them.

    >>> joined = joined_fields([pa.array(["a", None]), pa.array(["x", "1"])])
    >>> csv_lines([pa.DictionaryArray.from_arrays([0, 1, 1], joined), pa.array(["p", "q", "r"])])
    b'a,x,p\n,1,q\n,1,r\n'
    """
    return bytes(_lines(pieces))


def _lines(pieces: list[pa.Array]) -> memoryview:
    if not pieces or len(pieces[0]) == 0:
        return memoryview(b"")
    *others, last = pieces
    end = _ended if others else _never_blank
    texts = [*map(_decoded, others), _decoded(_each_text(end, last))]
    lines = texts[0] if not others else pc.binary_join_element_wise(*texts, _text(","))
    begins = _offsets(lines)
    return memoryview(lines.buffers()[2])[begins[0] : begins[-1]]


def _ended(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(texts, _text("\n"), _text(""))


def _never_blank(texts: pa.Array) -> pa.Array:
    return _ended(pc.if_else(pc.equal(texts, _text("")), _text('""'), texts))


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, _TEXT)


def _field(column: pa.Array) -> pa.Array:
    """A column with quotes where they are needed, and empty texts where there is none."""
    column = _each_text(_quoted, column)
    if not pa.types.is_dictionary(column.type):
        return pc.fill_null(column, _text(""))
    if column.indices.null_count:
        texts = pa.concat_arrays([column.dictionary, pa.array([""], _TEXT)])
        column = pa.DictionaryArray.from_arrays(pc.fill_null(column.indices, len(texts) - 1), texts)
    return column


def _each_text(change: Callable[[pa.Array], pa.Array], column: pa.Array) -> pa.Array:
    """Change the texts of a column, or of its dictionary if that is the shorter of the two."""
    if not pa.types.is_dictionary(column.type) or len(column.dictionary) > len(column):
        return change(_decoded(column))
    indices = pc.cast(column.indices, pa.int32())
    return pa.DictionaryArray.from_arrays(indices, change(pc.cast(column.dictionary, _TEXT)))


def _decoded(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return pc.cast(column, _TEXT)


def _quoted(texts: pa.Array) -> pa.Array:
    """Texts as fields: with quotes where they are needed."""
    needs = _need_quotes(texts)
    if needs.any():
        mask, quote = pa.array(needs), _text('"')
        doubled = pc.replace_substring(texts.filter(mask), '"', '""')
        quoted = pc.binary_join_element_wise(quote, doubled, quote, _text(""))
        texts = pc.replace_with_mask(texts, mask, quoted)
    return pc.fill_null(texts, _text(""))


def _need_quotes(texts: pa.Array) -> NDArray[np.bool_]:
    needs = np.zeros(len(texts), np.bool_)
    content = texts.buffers()[2]
    if content is None or not len(texts):
        return needs
    begins = _offsets(texts)
    byte = np.frombuffer(content, np.uint8)[begins[0] : begins[-1]]
    for mark in b'",\r\n':
        places = np.flatnonzero(byte == mark) + begins[0]
        needs[np.searchsorted(begins, places, side="right") - 1] = True
    return needs


def _offsets(texts: pa.Array) -> NDArray[np.int64]:
    """Where each text begins in the array's data buffer, and where the last one ends."""
    return np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]


class TableWriter(ABC):
    """Writes rows in the order given; to be used in `contextlib.closing`."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows of text columns, or of dictionaries of texts."""

    @abstractmethod
    def close(self) -> None: ...


class CsvWriter(TableWriter):
    """The header, then records."""

    def __init__(self, path: Path, columns: tuple[str, ...] | None) -> None:
        """Begin a file; without `columns`, a part without header that is joined to others later."""
        self._file: BinaryIO = path.open("xb")
        if columns is not None:
            self._file.write(_header(columns))

    def write(self, batch: pa.RecordBatch) -> None:
        self.write_pieces([_field(column) for column in batch.columns])

    def write_pieces(self, pieces: list[pa.Array]) -> None:
        """Append rows as `csv_lines` makes them of their pieces."""
        self._file.write(_lines(pieces))

    def close(self) -> None:
        self._file.close()


class ParquetWriter(TableWriter):
    """All columns as text, null for missing."""

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        self._schema = pa.schema([(name, pa.string()) for name in columns])
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [pc.cast(column, pa.string()) for column in batch.columns]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def open_writer(path: Path, columns: tuple[str, ...], output_format: OutputFormat) -> TableWriter:
    """A writer for a new file; FileExistsError if there is one."""
    if output_format is OutputFormat.CSV:
        return CsvWriter(path, columns)
    return ParquetWriter(path, columns)


class Files:
    """The files of one table, one after another; to be used in `contextlib.closing`."""

    def __init__(
        self, output: Path, columns: tuple[str, ...] | None, output_format: OutputFormat, rows: int | None
    ) -> None:
        """Begin the first file.

        Args:
            output: where the one file stands; parts stand beside it (`parts.part_of`).
            columns: each file begins with their names; None: of a CSV file, records alone.
            output_format: of each file.
            rows: at most so many in each part; None: there is one file.
        """
        self._output, self._columns, self._format, self._rows = output, columns, output_format, rows
        self._paths: list[Path] = []
        self._room = 0
        self._writer = self._begun()

    @property
    def paths(self) -> tuple[Path, ...]:
        """Those that were begun so far, in their order."""
        return tuple(self._paths)

    def divided(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, TableWriter]]:
        """The rows of a batch, each with the writer of the file that they belong to."""
        reached = 0
        while reached < batch.num_rows:
            if self._room == 0:
                self._writer.close()
                self._writer = self._begun()
            some = batch.slice(reached, self._room)
            self._room -= some.num_rows
            reached += some.num_rows
            yield some, self._writer

    def _begun(self) -> TableWriter:
        number = len(self._paths)
        if number == MOST_PARTS:
            raise too_many_parts(self._output)
        path = self._output if self._rows is None else part_of(self._output, number)
        self._paths.append(path)
        self._room = self._rows or sys.maxsize
        if self._columns is None:
            return CsvWriter(path, None)
        return open_writer(path, self._columns, self._format)

    def close(self) -> None:
        self._writer.close()


def content_digest(paths: Sequence[Path], output_format: OutputFormat) -> str:
    """The digest of a table's content: of its CSV in the one dialect, whatever its format and files.

    Args:
        paths: of the files as they were written, in their order.
        output_format: of each.

    Returns:
        `sha256:` and hexadecimal digits.
    """
    header = _header(read_names(paths[0], output_format))
    digest = hashlib.sha256(header)
    for path in paths:
        records = (
            _csv_content(path, header) if output_format is OutputFormat.CSV else _parquet_content(path)
        )
        for some in records:
            digest.update(some)
    return f"sha256:{digest.hexdigest()}"


def digest_of_tables(digests: Sequence[str]) -> str:
    """The digest of the content of several tables, from that of each, in their order."""
    return f"sha256:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"


def _header(columns: Sequence[str]) -> bytes:
    return csv_records([pa.array([name]) for name in columns])


def _csv_content(path: Path, header: bytes) -> Iterator[bytes]:
    with path.open("rb") as file:
        if file.read(len(header)) != header:
            raise InternalError("a file was not written by the one writer")
        while content := file.read(_CHUNK):
            yield content


def _parquet_content(path: Path) -> Iterator[bytes]:
    for batch in raw_batches(path):
        yield csv_records(batch.columns)
