"""How much a file of a table holds, told before it is read."""

from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

import pyarrow as pa

from smalti.engine.tables.packing import opened
from smalti.engine.tables.parts import PACKINGS, WORKBOOKS
from smalti.errors import DataError

_CHUNK: Final = 1 << 20


def is_larger(path: Path, most: int) -> bool:
    """Whether a file holds more than so many bytes, unpacked.

    What cannot be unpacked is not larger: whoever reads it says what is wrong. Of Parquet each value counts
    as a byte at least, since a page may hold one value a million times. Of database files the size on disk
    counts, and what they pack inside does not.

    Args:
        path: of the file; kinds are told by names, as when it is read.
        most: bytes; a packed file is unpacked so far.

    Raises:
        OSError: it cannot be read.
    """
    suffix = path.suffix.lower()
    if path.stat().st_size > most:
        return True
    try:
        if suffix in PACKINGS:
            return _unpacks_to_more(path, most)
        if suffix in WORKBOOKS:
            with ZipFile(path) as archive:
                return sum(part.file_size for part in archive.infolist()) > most
        if suffix == ".parquet":
            return _bytes_of_parquet(path) > most
    except (DataError, BadZipFile, ValueError, NotImplementedError, pa.ArrowException):
        return False
    return False


def _unpacks_to_more(path: Path, most: int) -> bool:
    size = 0
    with opened(path) as (file, _):
        while size <= most and (block := file.read(_CHUNK)):
            size += len(block)
    return size > most


def _bytes_of_parquet(path: Path) -> int:
    from pyarrow import parquet  # noqa: PLC0415 (few files need it)

    metadata = parquet.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    stored = sum(int(group.total_byte_size) for group in groups)
    return max(stored, int(metadata.num_rows) * int(metadata.num_columns))
