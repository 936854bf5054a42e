"""From a path to a source: its files, and the description beside them."""

import os
from dataclasses import replace
from pathlib import Path

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.csvw_dialect import Dialect
from smalti.engine.tables.description import Description, Foreign, Source
from smalti.engine.tables.parts import (
    CONTAINERS,
    FILES,
    METADATA_SUFFIX,
    PACKINGS,
    WORKBOOKS,
    files_in,
    kind_of,
    way_out_for,
)
from smalti.errors import DataError, UsageError
from smalti.vocab.terms import IRI


def bind(target: IRI, path: Path, table: str | None = None) -> Source:
    """Bind a target to a file, to a folder of files, or to CSVW metadata that names either.

    What it is bound to may still have to be brought into the canonical form (`Source.foreign`).

    Args:
        target: the IRI.
        path: of a CSV or Parquet file, a workbook, a database file, a folder of CSV or Parquet files, or
            metadata.
        table: the name of the sheet or table in the file; None: its only one, or what the metadata names.

    Raises:
        UsageError: there is no such file, it is a pipe or a device, its name ends in nothing known, or the
            folder holds something else than one table (see `parts.files_in`).
        DataError: the description cannot be used.
    """
    if path.is_dir():
        path = Path(os.path.abspath(path))  # `.` has no name
    elif path.name.endswith(METADATA_SUFFIX):
        description, url = read_description(path)
        name, described = split_url(url)
        return _bound(target, path.parent / name, description, described)
    metadata = path.parent / f"{path.name}{METADATA_SUFFIX}"
    if not metadata.exists():
        return _bound(target, path, Description(), table)
    bare = _bound(target, path, Description(), table)
    description, url = read_description(metadata)
    name, described = split_url(url)
    if name != path.name or (described is not None and table not in (None, described)):
        expected = path.name if table is None else f"{path.name}#{table}"
        raise DataError(
            metadata.name,
            f"it describes `{url}`",
            f"`{expected}` as its `url`",
            "correct `url`, or bind the description of the table that is meant",
        )
    return _bound(target, path, description, bare.table or described)


def described(source: Source, description: Description) -> Source:
    """A source with another description.

    Raises:
        DataError: the description has a dialect, and the data is no CSV.
    """
    if source.foreign is None and source.originals:  # it is in the canonical form already
        return replace(source, description=description)
    return _bound(source.target, source.path, description, source.table)


def split_url(url: str) -> tuple[str, str | None]:
    """The file that a description is about, and the sheet or table in it, where it names one.

    >>> split_url("hospital.xlsx#Visits")
    ('hospital.xlsx', 'Visits')
    """
    name, mark, table = url.partition("#")
    if mark and table and Path(name).suffix.lower() in CONTAINERS:
        return name, table
    return url, None


def _bound(target: IRI, path: Path, description: Description, table: str | None = None) -> Source:
    parts: tuple[Path, ...] = ()
    if path.is_dir():
        kind, parts = files_in(path)
    else:
        kind = _format_of(path)
    foreign = _foreign(path, parts or (path,), kind, description)
    _check_dialect(foreign, description)
    if foreign is not None:
        kind = OutputFormat.CSV
    return Source(target, path, kind, description, parts, foreign, table)


def _check_dialect(foreign: Foreign | None, description: Description) -> None:
    dialect = description.dialect
    if dialect is None or foreign is Foreign.CSV:
        return
    if foreign is not Foreign.EXCEL:
        raise DataError(
            description.source, "it has a `dialect`, and the data is no CSV", "no `dialect`", "leave it out"
        )
    if replace(dialect, skipped_rows=0) != Dialect():
        raise DataError(
            description.source,
            "its `dialect` says how a CSV file is written, and the data is a sheet",
            "a `dialect` of `skipRows` alone",
            "leave the other members out",
        )


def _foreign(
    path: Path, files: tuple[Path, ...], kind: OutputFormat, description: Description
) -> Foreign | None:
    """What it has to be brought from; None where it is canonical."""
    suffix = path.suffix.lower()
    if suffix in CONTAINERS and path.is_file():
        return Foreign.EXCEL if suffix in WORKBOOKS else Foreign.DATABASE
    is_packed = any(file.suffix.lower() in PACKINGS for file in files)
    if not is_packed and description.is_canonical:
        return None
    return Foreign.CSV if kind is OutputFormat.CSV else Foreign.PARQUET


def _format_of(path: Path) -> OutputFormat:
    if not path.is_file():
        problem, way_out = "there is no such file", "check the path"
        if path.exists():  # a pipe, or a device
            problem, way_out = "not a regular file or folder", "write the data to a file first"
        raise UsageError(
            str(path), problem, "a CSV, Parquet or CSVW metadata file, or a folder of parts", way_out
        )
    if path.suffix.lower() in CONTAINERS:
        return OutputFormat.CSV
    kind = kind_of(path.name)
    if kind is None:
        raise UsageError(str(path), "unknown file type", FILES, way_out_for(path.name))
    return kind


def read_description(path: Path) -> tuple[Description, str]:
    """The description in a CSVW metadata file, and the name of the file that it is about.

    Raises:
        DataError: it is no JSON, breaks the schema, or says something that is not understood.
    """
    from smalti.engine.tables.csvw import read_metadata  # noqa: PLC0415 (only for tables with a description)

    return read_metadata(path)
