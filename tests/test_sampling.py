"""Samples in files and from commands: read in blocks, and refused with a reason."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smalti.errors import DataError, SmaltiError, UsageError
from smalti.sampling import FromCommand, FromFile, sampler_from
from smalti.transforms.generative.sampler import Form, samples

ROWS = {"age": ["31", "4", None], "ill": ["yes", "no", "no"]}
WRITE = "import sys, numpy; numpy.save(sys.argv[1], numpy.arange(2 * int(sys.argv[2])).reshape(-1, 2))"


def written(path: Path) -> Path:
    match path.suffix:
        case ".csv":
            path.write_text("age,ill\n31,yes\n4,no\n,no\n")
        case ".parquet":
            pq.write_table(pa.table(ROWS), path)
        case _:
            np.save(path, np.arange(12).reshape(3, 2, 2))
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_tables_are_read_as_text(tmp_path: Path, name: str) -> None:
    file = FromFile(written(tmp_path / name), "ill")
    assert file.form == Form(("age", "ill"), None, "ill")
    assert file.read().to_pydict() == ROWS
    (block,) = samples(file, file.form, 2)
    assert block.to_pydict() == {"age": ["31", "4"], "ill": ["yes", "no"]}


def test_an_array_has_its_labels_beside_it(tmp_path: Path) -> None:
    file = FromFile(written(tmp_path / "a.npy"))
    assert file.form == Form.of_arrays((2, 2))
    np.save(tmp_path / "a.labels.npy", np.array([3, 1, 3]))
    assert file.form == Form.of_arrays((2, 2), has_labels=True)
    assert file.read().to_pydict() == {
        "values": [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], "label": ["3", "1", "3"]
    }  # fmt: skip


def test_a_command_writes_what_is_then_read_and_removed(tmp_path: Path) -> None:
    script = tmp_path / "it writes.py"
    script.write_text(WRITE + "; open(sys.argv[3], 'w').write(sys.argv[1])")
    sampler = sampler_from(f"'{sys.executable}' '{script}' {{file}}.npy {{number}} '{tmp_path}/note'", None)
    assert isinstance(sampler, FromCommand)
    (block,) = samples(sampler, Form.of_arrays((2,)), 3)
    assert block.to_pydict() == {"values": [[0, 1], [2, 3], [4, 5]]}
    assert not Path((tmp_path / "note").read_text()).exists()


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("{python} -c raise(SystemExit(3)) {file}", DataError, "exit code 3"),
        ("{python} -c pass {file}", DataError, "it wrote no {file}"),
        ("/no/such/program {file}", UsageError, "cannot be started"),
        ("no.npy", UsageError, "no such file"),
        ("objects.npy", DataError, "without Python objects"),
        ("list.npy", DataError, "no array of numbers"),
    ],
)
def test_what_cannot_be_sampled_ends_clearly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, kind: type[SmaltiError], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("objects.npy", np.array([{}, {}], object), allow_pickle=True)
    np.save("list.npy", np.arange(3))
    sampler = sampler_from(text.replace("{python}", sys.executable), None)
    with pytest.raises(kind, match=problem):
        next(samples(sampler, Form.of_arrays((2,)), 3))
