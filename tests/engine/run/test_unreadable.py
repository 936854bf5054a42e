"""Files that may not be read, tried by a process without the rights of a superuser, who may read all."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shell import CUSTOMER, HEADER, describe, listing, request, small_policy, small_rows, small_table

ENGINES = [
    pytest.param((), id="local"),
    pytest.param(("--engine", "spark"), id="spark", marks=[pytest.mark.spark, pytest.mark.slow]),
]
_DROP_FROM_BOUNDS, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2
_LIBC = ctypes.CDLL(None, use_errno=True)


def without_override() -> None:
    """Give up the superuser's right to pass over the permissions of files, for what is executed next."""
    for right in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
        if os.geteuid() == 0 and _LIBC.prctl(_DROP_FROM_BOUNDS, right, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def plain(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """A command of a user with no more rights than those of the files' owner."""
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False, preexec_fn=without_override,
        env=os.environ | {"TMPDIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip


def as_plain_user(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return plain(folder, "-m", "smalti", *arguments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of this user; skipped where the superuser's rights cannot be given up."""
    probe = unreadable(small_table(tmp_path))
    try:
        reading = plain(tmp_path, "-c", f"open({str(probe)!r})")
    except subprocess.SubprocessError:
        pytest.skip("the superuser's rights cannot be given up here")
    assert "PermissionError" in reading.stderr
    probe.chmod(0o600)
    return tmp_path


def unreadable(place: Path) -> Path:
    place.chmod(0)
    return place


def as_parquet(folder: Path) -> Path:
    columns = map(list, zip(*small_rows(), strict=True))
    pq.write_table(pa.table(dict(zip(HEADER, columns, strict=True))), folder / "people.parquet")
    return folder / "people.parquet"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("write", [small_table, pytest.param(as_parquet, marks=pytest.mark.slow)])
def test_data_that_may_not_be_read(folder: Path, write: Any, engine: tuple[str, ...]) -> None:
    policy, data = small_policy(folder), write(folder)
    content = data.read_bytes()
    unreadable(data)
    for command in (["run", policy, *request(data), "--out", "out"], ["plan", policy, *request(data)]):
        ran = as_plain_user(folder, *command, *engine)
        assert ran.returncode == 1, ran.stderr
        assert f"{data.name}: " in ran.stderr
        assert "; expected " in ran.stderr
        assert not any(value in ran.stderr for value in ("Traceback", "flu", "Oslo"))
    data.chmod(0o600)
    assert data.read_bytes() == content
    assert not (folder / "out").exists()
    assert not list(folder.glob(".smalti-*"))


def test_a_csv_file_says_that_it_is_its_permissions(folder: Path) -> None:
    data = unreadable(small_table(folder))
    ran = as_plain_user(folder, "plan", small_policy(folder), "--data", f"{CUSTOMER}={data}")
    assert "the file cannot be read" in ran.stderr
    assert "permissions" in " ".join(ran.stderr.split())


def test_a_description_that_may_not_be_read(folder: Path) -> None:
    data = small_table(folder)
    data.chmod(0o644)
    unreadable(describe(data, HEADER))
    ran = as_plain_user(folder, "plan", small_policy(folder), "--data", f"{CUSTOMER}={data}")
    assert ran.returncode == 2, ran.stderr
    assert "people.csv-metadata.json: the file cannot be read" in ran.stderr


def test_what_may_be_read_is_run(folder: Path) -> None:
    policy, data = small_policy(folder), small_table(folder)
    before = listing(folder)
    ran = as_plain_user(folder, "run", policy, *request(data), "--out", "out")
    assert ran.returncode == 0, ran.stderr
    assert set(before) < set(listing(folder))
