"""The files of a published table, as a source to read."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from smalti.engine.plan.files import PublishedFile
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.parts import KINDS
from smalti.errors import DataError, UsageError
from smalti.vocab.terms import IRI


def check_single_table(folder: Path, tables: Sequence[Sequence[str]]) -> None:
    """Refuse an output with several tables where one is to be read.

    Args:
        folder: of the output.
        tables: of each the names of its files; none where the output is one table.

    Raises:
        UsageError: there are several.
    """
    if tables:
        names = ", ".join(sorted(name for files in tables for name in files))
        raise UsageError(
            str(folder),
            "it holds several tables",
            f"one of its files: {names}",
            "name a file, not the folder",
        )


def source_of(folder: Path, files: Sequence[PublishedFile]) -> Source:
    """The files of a published table.

    Raises:
        UsageError: they are no table.
        DataError: one of them is missing, is a link or no regular file, or has another size.
    """
    kinds = {KINDS.get(Path(file.name).suffix) for file in files}
    if len(kinds) != 1 or (kind := kinds.pop()) is None:
        raise UsageError(
            str(folder),
            "it holds no table",
            "an output in CSV or Parquet",
            "the files of a model are read by other tools",
        )
    paths = tuple(folder / file.name for file in files)
    for place, file in zip(paths, files, strict=True):
        _check_file(place, file)
    if len(paths) == 1:
        return Source(IRI(""), paths[0], kind, Description())
    return Source(IRI(""), folder, kind, Description(), paths)


def _check_file(place: Path, file: PublishedFile) -> None:
    try:
        status = place.lstat()
    except OSError as error:
        raise _not_published(place, f"it cannot be read ({os.strerror(error.errno or 0)})") from None
    if not stat.S_ISREG(status.st_mode):
        problem = "it is a symbolic link" if stat.S_ISLNK(status.st_mode) else "it is not a file"
        raise _not_published(place, problem)
    if status.st_size != file.size:
        raise _not_published(place, "its size is not what its certificate states")


def _not_published(place: Path, problem: str) -> DataError:
    return DataError(
        str(place), problem, "a file as a run published it", "take the output from its source again"
    )
