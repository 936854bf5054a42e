"""How much files hold, packed or not, told before they are read."""

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pytest
from pyarrow import parquet

from smalti.engine.tables.sizes import is_larger

SIZE = 3_000_000
TEXT = b"a\n" + b"1\n" * (SIZE // 2 - 1)


def written(folder: Path, name: str) -> Path:
    """A file of a million equal values, or of as many bytes of text."""
    path, suffix = folder / name, Path(name).suffix.lower()
    if suffix in {".gz", ".zst"}:
        with pa.CompressedOutputStream(str(path), {".gz": "gzip", ".zst": "zstd"}[suffix]) as packed:
            packed.write(TEXT)
    elif suffix == ".xlsx":
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            archive.writestr("xl/worksheets/sheet1.xml", TEXT)
    elif suffix == ".parquet":
        parquet.write_table(pa.table({"a": pa.array([1]).take(pa.array([0] * SIZE))}), path)
    else:
        path.write_bytes(TEXT)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "A.CSV.GZ", "a.csv.zst", "a.xlsx", "a.parquet"])
def test_a_file_is_as_large_as_what_it_holds(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name)
    assert not is_larger(path, SIZE)
    assert is_larger(path, SIZE - 1)
    assert name == "a.csv" or path.stat().st_size < SIZE // 20


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst", "a.xlsx", "a.parquet"])
def test_what_cannot_be_unpacked_is_left_to_whoever_reads_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"nothing of that kind")
    assert not is_larger(path, 1000)
