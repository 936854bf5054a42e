"""Input that Spark's tasks read: checked by ranges of bytes, staged in parts, each by the one reader."""

import os
import secrets
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from smalti.engine.backends.spark_session import described, is_local, without_values
from smalti.engine.description import Source
from smalti.engine.dialect import RangeFacts, join_ranges, read_header, scan_range
from smalti.engine.plan import OutputFormat
from smalti.engine.reading import ROW, Contents, file_digest, inspect, row_groups, text_batches
from smalti.errors import BackendError, SmaltiError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGE_BYTES: Final = 1 << 26
"""Of a file that one task checks and stages; a file that is not longer is read on the driver."""
_PROBES_PER_CORE: Final = 2


def check_shared(session: "SparkSession", source: Source, workspace: Path) -> None:
    """See that the tasks of a cluster read the same input and the same folder as this process.

    Raises:
        BackendError: they do not.
    """
    context = session.sparkContext
    if is_local(str(context.master)):
        return
    token, probes = secrets.token_hex(16), workspace / "probes"
    probes.mkdir()
    (probes / "driver").write_text(token)
    input_file, size = str(source.path.absolute()), _size(source)

    def look(numbers: Iterable[int]) -> Iterable[bool]:
        try:
            sees = (probes / "driver").read_text() == token and os.stat(input_file).st_size == size
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
        "move input and output there, or use --engine local",
    )


def inspect_by_ranges(session: "SparkSession", source: Source) -> Contents:
    """What a source holds, as `inspect` says it; ranges of a long CSV file are checked by tasks."""
    if source.format is not OutputFormat.CSV or _size(source) <= RANGE_BYTES:
        return inspect(source)
    try:
        return _inspect_by_ranges(session, source)
    except SmaltiError:
        raise
    except Exception as error:
        inspect(source)  # what a task raises cannot be told; if the file was the reason, this tells
        raise without_values(error) from None


def _size(source: Source) -> int:
    try:
        return source.path.stat().st_size
    except OSError:
        return 0  # the reader says more


def _inspect_by_ranges(session: "SparkSession", source: Source) -> Contents:
    header = read_header(source.path)
    fields, path = len(header), str(source.path.absolute())
    size = source.path.stat().st_size

    def scan(begin: int) -> RangeFacts:
        with open(path, "rb", buffering=0) as file:
            return scan_range(file, begin, min(begin + RANGE_BYTES, size), fields)

    begins = range(0, size, RANGE_BYTES)
    with ThreadPoolExecutor(1) as pool, described(session, "check the input"):
        digest = pool.submit(file_digest, source.path)
        ranges = session.sparkContext.parallelize(begins, len(begins)).map(scan).collect()
        parts = join_ranges(source.path.name, ranges, fields)
        rows = sum(part.records for part in parts)
        return Contents(header, rows, digest.result(), (None,) * fields, tuple(parts))


@dataclass(frozen=True, slots=True)
class _Share:
    """What one task stages."""

    number: int
    contents: Contents
    groups: tuple[int, ...] | None
    """Of a Parquet file, its row groups."""


def stage(session: "SparkSession", source: Source, contents: Contents, folder: Path) -> None:
    """Write a source's rows as Parquet files: `row`, and of each column its texts (`t0`, `t1`, ...).

    Raises:
        DataError: the file cannot be read as its format says.
    """
    folder.mkdir()
    shares = _shares(source, contents)
    if len(shares) <= 1:
        for share in shares:
            _stage(source, share, folder)
        if not shares:
            _stage(source, _Share(0, contents, None), folder)
        return
    try:
        with described(session, "stage the input"):
            tasks = session.sparkContext.parallelize(shares, len(shares))
            tasks.foreach(lambda share: _stage(source, share, folder))
    except Exception as error:
        for _ in text_batches(source, contents):
            pass  # as above: reading again tells what is wrong with the file
        raise without_values(error) from None


def _shares(source: Source, contents: Contents) -> list[_Share]:
    if source.format is OutputFormat.CSV:
        parts = contents.parts
        return [_Share(i, replace(contents, parts=(part,)), None) for i, part in enumerate(parts)]
    sizes = row_groups(source.path)
    groups: list[list[int]] = []
    reached = RANGE_BYTES
    for group, size in enumerate(sizes):
        if reached >= RANGE_BYTES:
            groups.append([])
            reached = 0
        groups[-1].append(group)
        reached += size
    return [_Share(i, contents, tuple(some)) for i, some in enumerate(groups)]


def _stage(source: Source, share: _Share, folder: Path) -> None:
    """Write one share; it appears under its name when it is whole, and a second attempt writes the same."""
    reader = text_batches(source, share.contents, share.groups)
    schema = staged_schema(len(share.contents.header))
    draft = folder / f".{share.number}-{secrets.token_hex(8)}"
    with pq.ParquetWriter(draft, schema) as writer:
        for batch in reader:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
    draft.replace(folder / f"{share.number}.parquet")


def staged_schema(columns: int) -> pa.Schema:
    """Of the relation `staged` as it begins."""
    return pa.schema([(ROW, pa.int64()), *((f"t{i}", pa.string()) for i in range(columns))])
