"""Writing by Spark's tasks: each writes a part of the output; parts are joined to one file, or moved."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from smalti.engine.backends.publication import Publication
from smalti.engine.backends.relations import link_bytes, open_link
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.parts import part_of
from smalti.engine.tables.reading import csv_text_batches
from smalti.engine.tables.writing import Files, csv_records, open_writer
from smalti.errors import InternalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCHEMA: Final = "part int, rows long, files int"


@dataclass(frozen=True, slots=True)
class _Part:
    """What one task wrote."""

    number: int
    rows: int
    files: int


def publish(frame: "DataFrame", publication: Publication, folder: Path, output: Path, link: Path) -> None:
    """Write the rows of an ordered frame, and the private link.

    Args:
        frame: its last column is the input row of each published one.
        publication: turns batches of it into published columns, and says the format and the parts.
        folder: an empty one that the tasks see.
        output: where the one file will be, which is not there yet; parts stand beside it.
        link: as `Relations.publish` says.
    """
    if publication.rows_per_part is not None:
        parts = write_parts(frame, publication, folder)
        _join_links(folder, parts, link)
        _move(publication, folder, parts, output)
        return
    records = Publication.of(publication.pieces, OutputFormat.CSV)  # what can be joined
    parts = write_parts(frame, records, folder)
    _join_links(folder, parts, link)
    join(publication, folder, parts, output)


def write_parts(frame: "DataFrame", publication: Publication, folder: Path) -> list[_Part]:
    """Write each partition of an ordered frame, beside the input rows that it comes from.

    Where the output is to be one file, as records to be joined; else as parts of the output. A file
    appears under its name by a rename, when all of its partition are whole: a task that is tried again
    writes the same bytes again.
    """
    is_in_parts = publication.rows_per_part is not None

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise InternalError("a task has no context")
        part, attempt = context.partitionId(), context.taskAttemptId()
        draft, links = (folder / f"{part}.{kind}.{attempt}" for kind in ("draft", "rows"))
        columns, rows = publication.columns if is_in_parts else None, 0
        with (
            closing(Files(draft, columns, publication.format, publication.rows_per_part)) as files,
            links.open("xb") as link,
        ):
            for batch in batches:
                for records, writer in files.divided(batch):
                    publication.write(records, writer)
                link.write(link_bytes(batch.column(batch.num_columns - 1)))
                rows += batch.num_rows
        for number, path in enumerate(files.paths):
            path.replace(folder / f"{part}-{number}")
        links.replace(folder / f"{part}.rows")
        yield pa.RecordBatch.from_pydict(
            {
                "part": pa.array([part], pa.int32()),
                "rows": pa.array([rows], pa.int64()),
                "files": pa.array([len(files.paths)], pa.int32()),
            }
        )

    written = frame.mapInArrow(write, _SCHEMA).toArrow().to_pylist()
    parts = (_Part(row["part"], row["rows"], row["files"]) for row in written)
    return sorted(parts, key=lambda part: part.number)


def _join_links(folder: Path, parts: list[_Part], link: Path) -> None:
    with open_link(link) as rows:
        for part in parts:
            with (folder / f"{part.number}.rows").open("rb") as piece:
                shutil.copyfileobj(piece, rows)


def _move(publication: Publication, folder: Path, parts: list[_Part], output: Path) -> None:
    """Bring the parts that have rows to their places; where none has, there is one without."""
    filled = [
        folder / f"{part.number}-{number}" for part in parts if part.rows for number in range(part.files)
    ]
    for number, path in enumerate(filled):
        path.replace(part_of(output, number, len(filled)))
    if not filled:
        publication.files(output).close()


def join(publication: Publication, folder: Path, parts: list[_Part], output: Path) -> None:
    """Join the parts to one file; each part is gone when it has been copied."""
    records = output if publication.format is OutputFormat.CSV else folder / "joined.csv"
    with records.open("xb") as file:
        file.write(csv_records([pa.array([name]) for name in publication.columns]))
        for part in parts:
            place = folder / f"{part.number}-0"
            with place.open("rb") as piece:
                shutil.copyfileobj(piece, file)
            place.unlink()
    if publication.format is not OutputFormat.CSV:
        _convert(publication, records, output)


def _convert(publication: Publication, records: Path, output: Path) -> None:
    with closing(open_writer(output, publication.columns, publication.format)) as writer:
        for batch in csv_text_batches(records, publication.columns):
            writer.write(batch)
