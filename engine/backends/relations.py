"""Named relations inside an engine: the steps that DuckDB and Spark carry out alike."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.backends.publication import Publication
from smalti.errors import InternalError


class Relations(ABC):
    """Named relations inside an engine.

    Queries keep to the SQL that DuckDB and Spark read alike: integers, texts compared bytewise,
    `GROUP BY`, `JOIN`, `UNION ALL`, and no expression on which engines differ (casts of texts,
    division, floats). So each step is written once, and the engines only carry it out.
    """

    @abstractmethod
    def make(self, name: str, query: str, *, is_lasting: bool = True) -> None:
        """Keep the rows of a query under a name; an earlier relation of that name is gone.

        One that is not lasting may be carried out again instead, from the same relations.
        """

    @abstractmethod
    def give(self, name: str, table: pa.Table) -> None:
        """Keep a table of ours under a name."""

    @abstractmethod
    def take(self, query: str) -> pa.Table:
        """The rows of a query, all of them here."""

    @abstractmethod
    def map_nodes(
        self, name: str, source: str, function: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> None:
        """Keep under a name what a function makes of the rows of each node of a relation.

        Args:
            name: of the new relation.
            source: a relation with a column `node`.
            function: from all rows of one node to rows of the schema; it may run anywhere, more than once.
            schema: of what it makes.
        """

    @abstractmethod
    def renumber(self, name: str, numbers: Mapping[str, NDArray[np.int64]]) -> None:
        """Give columns other numbers; there may be any number of columns.

        Args:
            name: of the relation.
            numbers: by column: by the number that stands there, from 0, the one that takes its place.
        """

    @abstractmethod
    def drop(self, name: str) -> None:
        """Drop a relation."""

    def step(self, name: str) -> AbstractContextManager[object]:
        """Name the jobs of a block, for engines that show their jobs to operators."""
        return nullcontext()

    @abstractmethod
    def matching(self, column: str, pattern: str) -> str:
        """A condition: the column's text matches a regular expression as a whole."""

    @abstractmethod
    def publish(self, query: str, publication: Publication, output: Path, link: Path) -> None:
        """Write the rows of an ordered query as the publication says, and the private link.

        Args:
            query: its last column is the input row of each published one.
            publication: turns batches of it into published columns, and says the format and the parts.
            output: where the one file will be, which is not there yet; parts stand beside it.
            link: a `.npy` file of int64: the input row of each published row, from 0.
        """

    @abstractmethod
    def close(self) -> None:
        """Release everything; the workspace is removed by its owner."""


def renumbered(batch: pa.RecordBatch, numbers: Mapping[str, NDArray[np.int64]]) -> pa.RecordBatch:
    """A batch with other numbers, as `Relations.renumber` says."""
    columns = [
        pa.array(numbers[field.name][column.to_numpy()], field.type) if field.name in numbers else column
        for field, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


@contextmanager
def open_link(path: Path) -> Iterator[BinaryIO]:
    """A new link file, to which `link_bytes` of the published rows are written, all in their order.

    Not a memory map: on a full disk that would end the process without a message.
    """
    with path.open("xb") as file:
        _write_header(file, 0)
        start = file.tell()
        yield file
        rows = (file.tell() - start) // 8
        file.seek(0)
        _write_header(file, rows)
        if file.tell() != start:
            raise InternalError("the header of a link has another length than it had")


def _write_header(file: BinaryIO, rows: int) -> None:
    # NumPy leaves room in it for larger numbers of rows.
    form = {"descr": "<i8", "fortran_order": False, "shape": (rows,)}
    np.lib.format.write_array_header_1_0(file, form)


def link_bytes(rows: pa.Array) -> bytes:
    """Input rows as they stand in a link file."""
    content: bytes = rows.to_numpy().astype("<i8").tobytes()
    return content
