"""From a path to a source: its files, and the description beside them."""

import os
from dataclasses import replace
from pathlib import Path

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.parts import KINDS, METADATA_SUFFIX, files_in, is_packed
from smalti.errors import DataError, UsageError
from smalti.vocab.terms import IRI


def bind(target: IRI, path: Path) -> Source:
    """Bind a target to a CSV or Parquet file, to a folder of them, or to CSVW metadata that names either.

    Raises:
        UsageError: there is no such file, it is a pipe or a device, its name ends in nothing known, or the
            folder holds something else than one table (see `parts.files_in`).
        DataError: the description cannot be used.
    """
    if path.is_dir():
        path = Path(os.path.abspath(path))  # `.` has no name
    elif path.name.endswith(METADATA_SUFFIX):
        description, url = read_description(path)
        return _bound(target, path.parent / url, description)
    source = _bound(target, path, Description())
    metadata = path.parent / f"{path.name}{METADATA_SUFFIX}"
    if not metadata.exists():
        return source
    description, url = read_description(metadata)
    if url != path.name:
        raise DataError(
            metadata.name, f"it describes `{url}`", f"`{path.name}` as its `url`", "correct `url`"
        )
    return replace(source, description=description)


def _bound(target: IRI, path: Path, description: Description) -> Source:
    if path.is_dir():
        kind, parts = files_in(path)
        return Source(target, path, kind, description, parts)
    return Source(target, path, _format_of(path), description)


def _format_of(path: Path) -> OutputFormat:
    if not path.is_file():
        problem, way_out = "there is no such file", "check the path"
        if path.exists():  # a pipe, or a device
            problem, way_out = "not a regular file or folder", "write the data to a file first"
        raise UsageError(
            str(path), problem, "a CSV, Parquet or CSVW metadata file, or a folder of parts", way_out
        )
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(
            str(path),
            "unknown file type",
            "a name that ends in .csv or .parquet",
            "unpack it" if is_packed(path.name) else "rename or convert it",
        )
    return kind


def read_description(path: Path) -> tuple[Description, str]:
    """The description in a CSVW metadata file, and the name of the file that it is about.

    Raises:
        DataError: it is no JSON, breaks the schema, or says something that is not understood.
    """
    from smalti.engine.tables.csvw import read_metadata  # noqa: PLC0415 (only for tables with a description)

    return read_metadata(path)
