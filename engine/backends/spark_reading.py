"""Reading by Spark's tasks: input is checked by ranges of bytes, and staged in parts."""

import os
import secrets
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from smalti.engine.backends.spark_session import described, is_local, without_values
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import Source
from smalti.engine.tables.dialect import Part, RangeFacts, join_ranges, read_header, scan_range
from smalti.engine.tables.parquet import row_groups, rows_of
from smalti.engine.tables.reading import (
    ROW,
    Contents,
    FileContents,
    RowGroups,
    file_digest,
    inspect,
    join_files,
    text_batches,
)
from smalti.errors import BackendError, SmaltiError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGE_BYTES: Final = 1 << 26
"""Of the files that one task checks and stages; a table that is not larger is read on the driver."""
_PROBES_PER_CORE: Final = 2
T = TypeVar("T")


def check_shared(session: "SparkSession", source: Source, workspace: Path) -> None:
    """Check that the tasks of a cluster read the same input and the same folder as this process.

    Raises:
        BackendError: they do not.
    """
    context = session.sparkContext
    if is_local(str(context.master)):
        return
    token, probes = secrets.token_hex(16), workspace / "probes"
    probes.mkdir()
    (probes / "driver").write_text(token)
    sizes = _sizes(source)

    def look(numbers: Iterable[int]) -> Iterable[bool]:
        try:
            sees = (probes / "driver").read_text() == token
            sees = sees and all(os.stat(path).st_size == size for path, size in sizes)
            for number in numbers:
                (probes / f"{number}-{socket.gethostname()}-{os.getpid()}").touch()
            yield sees
        except OSError:
            yield False

    count = _PROBES_PER_CORE * context.defaultParallelism
    try:
        with described(session, "see that all workers read the same files"):
            seen = context.parallelize(range(count), count).mapPartitions(look).collect()
    except Exception:
        raise _not_shared() from None
    if not all(seen) or len(list(probes.iterdir())) <= count:
        raise _not_shared()


def _not_shared() -> BackendError:
    return BackendError(
        "spark engine",
        "the workers of the cluster do not see the input and the folder of the output",
        "a file system that this machine and all workers share, under the same paths, and the same "
        "Python environment on each of them",
        "move input and output there (for `plan` and `verify`, name a folder there with --workspace),"
        " or use --engine local",
    )


def inspect_by_ranges(session: "SparkSession", source: Source) -> Contents:
    """What a source holds, as `inspect` says it; ranges of long CSV files are checked by tasks."""
    if source.format is not OutputFormat.CSV or sum(size for _, size in _sizes(source)) <= RANGE_BYTES:
        return inspect(source)
    try:
        return _inspect_by_ranges(session, source)
    except SmaltiError:
        raise
    except Exception as error:
        inspect(source)  # what a task raises cannot be told; if the file was the reason, this tells
        raise without_values(error) from None


def _sizes(source: Source) -> list[tuple[str, int]]:
    """The files under their absolute paths, with their sizes; none where one cannot be looked at."""
    try:
        return [(str(path.absolute()), path.stat().st_size) for path in source.paths]
    except OSError:
        return []  # the reader says more


@dataclass(frozen=True, slots=True)
class _Range:
    """Some bytes of a file, and how many columns its header has."""

    path: str
    begin: int
    end: int
    fields: int
    file: int


def _inspect_by_ranges(session: "SparkSession", source: Source) -> Contents:
    headers, problem = _headers(source)
    ranges: list[_Range] = []
    for file, (header, (path, size)) in enumerate(zip(headers, _sizes(source), strict=False)):
        ranges += [
            _Range(path, begin, min(begin + RANGE_BYTES, size), len(header), file)
            for begin in range(0, size, RANGE_BYTES)
        ]
    tasks = _in_groups([(piece, piece.end - piece.begin) for piece in ranges])
    with ThreadPoolExecutor(1) as pool, described(session, "check the input"):
        digests = [pool.submit(file_digest, path) for path in source.paths[: len(headers)]]
        scanned = session.sparkContext.parallelize(tasks, len(tasks)).flatMap(_scanned).collect()
        facts: dict[int, list[RangeFacts]] = {}
        for file, range_facts in scanned:
            facts.setdefault(file, []).append(range_facts)

        def files() -> Iterator[FileContents]:
            for file, header in enumerate(headers):
                parts = join_ranges(source.paths[file].name, facts.get(file, []), len(header))
                yield FileContents(header, digests[file].result(), (None,) * len(header), tuple(parts))
            if problem is not None:
                raise problem

        return join_files(source, files())


def _headers(source: Source) -> tuple[list[tuple[str, ...]], SmaltiError | None]:
    """The headers of the files up to the first that has none, and what is wrong with that one."""
    headers: list[tuple[str, ...]] = []
    try:
        for path in source.paths:
            headers.append(read_header(path))
    except SmaltiError as problem:
        return headers, problem
    return headers, None


def _scanned(ranges: list[_Range]) -> list[tuple[int, RangeFacts]]:
    facts = []
    for piece in ranges:
        with open(piece.path, "rb", buffering=0) as file:
            facts.append((piece.file, scan_range(file, piece.begin, piece.end, piece.fields)))
    return facts


def _in_groups(sized: Iterable[tuple[T, int]]) -> list[list[T]]:
    """Neighbours together, as long as one task takes them."""
    groups: list[list[T]] = []
    reached = 0
    for item, size in sized:
        if not groups or reached + size > RANGE_BYTES:
            groups.append([])
            reached = 0
        groups[-1].append(item)
        reached += size
    return groups


@dataclass(frozen=True, slots=True)
class _Share:
    """What one task stages."""

    number: int
    contents: Contents
    places: tuple[int, ...]


def stage(
    session: "SparkSession", source: Source, contents: Contents, places: tuple[int, ...], folder: Path
) -> None:
    """Write a source's rows as Parquet files: `row`, and the texts of the columns at some places (`t...`).

    Raises:
        DataError: a file cannot be read as its format says.
    """
    folder.mkdir()
    shares = _shares(source, contents, places)
    # A task has a working folder of its own.
    there = replace(source, path=source.path.absolute(), parts=tuple(map(Path.absolute, source.parts)))
    if len(shares) == 1:
        _stage(there, shares[0], folder)
        return
    try:
        with described(session, "stage the input"):
            tasks = session.sparkContext.parallelize(shares, len(shares))
            tasks.foreach(lambda share: _stage(there, share, folder))
    except Exception as error:
        for _ in text_batches(source, contents):
            pass  # as above: reading again tells what is wrong with the file
        raise without_values(error) from None


def _shares(source: Source, contents: Contents, places: tuple[int, ...]) -> list[_Share]:
    """At least one."""
    pieces = [piece for part in contents.parts for piece in _pieces(source, part)]
    groups = _in_groups(pieces) or [[]]
    return [
        _Share(i, replace(contents, digests=(), parts=tuple(some)), places) for i, some in enumerate(groups)
    ]


def _pieces(source: Source, part: Part | RowGroups) -> Iterator[tuple[Part | RowGroups, int]]:
    """What may be staged by different tasks, with its bytes."""
    if isinstance(part, Part):
        yield part, part.end - part.begin
        return
    path = source.paths[part.file]
    sizes = row_groups(path)
    for numbers in _in_groups([(number, sizes[number]) for number in part.numbers]):
        before, rows = rows_of(path, tuple(numbers))
        size = sum(sizes[number] for number in numbers)
        yield RowGroups(tuple(numbers), part.first + before, rows, part.file), size


def _stage(source: Source, share: _Share, folder: Path) -> None:
    """Write one share; it appears under its name when it is whole, and a second attempt writes the same."""
    reader = text_batches(source, share.contents, share.places)
    schema = staged_schema(share.places)
    draft = folder / f".{share.number}-{secrets.token_hex(8)}"
    with pq.ParquetWriter(draft, schema) as writer:
        for batch in reader:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
    draft.replace(folder / f"{share.number}.parquet")


def staged_schema(places: Iterable[int]) -> pa.Schema:
    """Of the relation `staged` as it begins."""
    return pa.schema([(ROW, pa.int64()), *((f"t{i}", pa.string()) for i in places)])
