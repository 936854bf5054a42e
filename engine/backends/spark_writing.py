"""Output that Spark's tasks write, a part each by the one writer; the parts are joined file by file."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from smalti.engine.backends.base import link_bytes, open_link
from smalti.engine.backends.publication import Publication
from smalti.engine.plan import OutputFormat
from smalti.engine.reading import csv_text_batches
from smalti.engine.writing import CsvWriter, csv_records, open_writer
from smalti.errors import InternalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCHEMA: Final = "part int, rows long"


@dataclass(frozen=True, slots=True)
class _Part:
    number: int
    rows: int


def publish(frame: "DataFrame", publication: Publication, folder: Path, output: Path, link: Path) -> None:
    """Write the rows of an ordered frame, and the private link beside them.

    Args:
        frame: its last column is the input row of each published one.
        publication: turns batches of it into published columns, and says the format.
        folder: an empty one that the tasks see.
        output: a file that does not exist yet.
        link: as `Relations.publish` says.
    """
    records = Publication.of(publication.pieces, OutputFormat.CSV)  # what can be joined
    join(publication, folder, write_parts(frame, records, folder), output, link)


def write_parts(frame: "DataFrame", publication: Publication, folder: Path) -> list[_Part]:
    """Write each partition of an ordered frame as CSV records, beside the input rows they come from.

    A part appears under its name by a rename, when it is whole: a task that is tried again writes the
    same bytes again.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise InternalError("a task has no context")
        part, attempt = context.partitionId(), context.taskAttemptId()
        records, links = (folder / f"{part}.{kind}.{attempt}" for kind in ("csv", "rows"))
        rows = 0
        with closing(CsvWriter(records, None)) as writer, links.open("xb") as link:
            for batch in batches:
                publication.write(batch, writer)
                link.write(link_bytes(batch.column(batch.num_columns - 1)))
                rows += batch.num_rows
        records.replace(folder / f"{part}.csv")
        links.replace(folder / f"{part}.rows")
        yield pa.RecordBatch.from_pydict(
            {"part": pa.array([part], pa.int32()), "rows": pa.array([rows], pa.int64())}
        )

    written = frame.mapInArrow(write, _SCHEMA).toArrow().to_pylist()
    return sorted((_Part(row["part"], row["rows"]) for row in written), key=lambda part: part.number)


def join(publication: Publication, folder: Path, parts: list[_Part], output: Path, link: Path) -> None:
    """Join the parts to one file, and their links; each part is gone when it has been copied."""
    total = sum(part.rows for part in parts)
    with open_link(link, total) as rows:
        for part in parts:
            with (folder / f"{part.number}.rows").open("rb") as piece:
                shutil.copyfileobj(piece, rows)
    records = output if publication.format is OutputFormat.CSV else folder / "joined.csv"
    with records.open("xb") as file:
        file.write(csv_records([pa.array([name]) for name in publication.columns]))
        for part in parts:
            place = folder / f"{part.number}.csv"
            with place.open("rb") as piece:
                shutil.copyfileobj(piece, file)
            place.unlink()
    if publication.format is not OutputFormat.CSV:
        _convert(publication, records, output)


def _convert(publication: Publication, records: Path, output: Path) -> None:
    with closing(open_writer(output, publication.columns, publication.format)) as writer:
        for batch in csv_text_batches(records, publication.columns):
            writer.write(batch)
