"""Tables of several files: the files of a folder that form a table, and the names of an output's parts.

Each file has the same columns, and the rows follow each other in the bytewise order of the files' names.
"""

import os
from pathlib import Path
from typing import Final

from smalti.engine.plan.plan import OutputFormat
from smalti.errors import BackendError, UsageError

CERTIFICATE_NAME: Final = "certificate.jsonld"
"""The certificate's file in a published folder."""
METADATA_SUFFIX: Final = "-metadata.json"
"""What the name of a description ends in, after that of the file or folder which it describes."""
KINDS: Final = {".csv": OutputFormat.CSV, ".parquet": OutputFormat.PARQUET}
PACKINGS: Final = {".gz": "gzip", ".zst": "zstd"}
"""What packed files are unpacked by, by the end of their names."""
WORKBOOKS: Final = frozenset({".xlsx"})
"""What the name of a workbook ends in, whose sheets are tables."""
DATABASES: Final = frozenset({".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3"})
"""What the name of a database file ends in."""
CONTAINERS: Final = WORKBOOKS | DATABASES
"""What a table is chosen in by its name."""
FILES: Final = "a name that ends in .csv, .csv.gz, .csv.zst, .parquet, .xlsx, .duckdb or .sqlite"
"""The names of files that are read, for messages."""
_PACKED: Final = (".gz", ".zip", ".bz2", ".xz", ".zst")
_WAYS_OUT: Final = {
    ".xls": "save it as .xlsx, or as CSV",
    ".xlsm": "save it as .xlsx, without macros",
    ".xlsb": "save it as .xlsx, or as CSV",
    ".ods": "save it as .xlsx, or as CSV",
    ".tsv": 'rename it to end in .csv, and declare "delimiter": "\\t" in its description',
    ".txt": "rename it to end in .csv, and declare its delimiter in its description",
}
_DIGITS: Final = 5


def files_in(folder: Path) -> tuple[OutputFormat, tuple[Path, ...]]:
    """The files of a table that is a folder, in their order, and what kind all of them are.

    Passed over: what is hidden, files whose names begin with `_` (`_SUCCESS`), descriptions, and the
    certificate of a published folder. INVARIANT: nothing else is: a folder such as `_delta_log` says that
    the files beside it do not mean what they hold.

    Raises:
        UsageError: there is none, or something else is in the folder.
    """
    try:
        with os.scandir(folder) as opened:
            entries = sorted(opened, key=lambda entry: os.fsencode(entry.name))
        kinds = {Path(entry): _kind_of(folder, entry) for entry in entries if not _is_passed_over(entry)}
    except OSError:
        raise UsageError(
            str(folder), "the folder cannot be read", "a folder that you may read", "check its permissions"
        ) from None
    if not kinds:
        raise UsageError(
            str(folder),
            "the folder contains no table",
            "files that end in .csv or .parquet",
            "check the path",
        )
    if len(set(kinds.values())) > 1:
        raise UsageError(
            str(folder),
            "it contains both CSV and Parquet files",
            "files of one format, which form one table",
            "move the others elsewhere, or bind a single file",
        )
    return next(iter(kinds.values())), tuple(kinds)


def kind_of(name: str) -> OutputFormat | None:
    """What a file is by its name, packed or not; None for anything else, and for what holds several tables.

    >>> str(kind_of("visits.CSV.gz"))
    'csv'
    """
    path = Path(name)
    if path.suffix.lower() in PACKINGS:
        return OutputFormat.CSV if Path(path.stem).suffix.lower() == ".csv" else None
    return KINDS.get(path.suffix.lower())


def way_out_for(name: str) -> str:
    """What can be done about a file whose name ends in nothing that is read."""
    suffix = Path(name).suffix.lower()
    return "unpack it" if suffix in _PACKED else _WAYS_OUT.get(suffix, "rename or convert it")


def _is_passed_over(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith("."):
        return True
    is_ours = entry.name == CERTIFICATE_NAME or entry.name.endswith(METADATA_SUFFIX)
    return entry.is_file(follow_symlinks=False) and (is_ours or entry.name.startswith("_"))


def _kind_of(folder: Path, entry: "os.DirEntry[str]") -> OutputFormat:
    kind = kind_of(entry.name)
    if kind is not None and entry.is_file(follow_symlinks=False):
        return kind
    if entry.is_symlink():
        problem = f"`{entry.name}` in it is a symbolic link"
    elif entry.is_dir():
        problem = f"`{entry.name}` in it is a folder"
    else:
        problem = f"`{entry.name}` in it has an unknown file type"
    raise UsageError(
        str(folder),
        problem,
        "the files of one table, all ending in .csv or all in .parquet",
        "unpack it"
        if Path(entry.name).suffix.lower() in _PACKED
        else "move files that do not belong to the table elsewhere",
    )


MOST_PARTS: Final = 10**5
"""Of an output whose parts are named before it is known how many there are."""


def part_of(output: Path, number: int, parts: int = MOST_PARTS) -> Path:
    """Where a part of an output stands; names are ordered as their numbers are.

    Args:
        output: where the output would stand as one file.
        number: from 0.
        parts: at least as many as there are; decides how many digits a number has.

    >>> part_of(Path("out/table.csv"), 7).name
    'table-00007.csv'
    """
    digits = max(_DIGITS, len(str(parts - 1)))
    return output.with_name(f"{output.stem}-{number:0{digits}}{output.suffix}")


def too_many_parts(output: Path) -> BackendError:
    """The error for an output with more parts than names of this many digits can number."""
    return BackendError(
        output.stem,
        "it has too many parts",
        f"at most {MOST_PARTS}",
        "allow more rows in each with --rows-per-part",
    )
