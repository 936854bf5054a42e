"""Files of models that were made to take memory, to reach other files, or to run code. Real libraries."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx_files as onnx
import pytest
import skops.io
from onnx_files import field, node, table, tensor
from sklearn.linear_model import LogisticRegression

from smalti.errors import DataError
from smalti.transforms.membership.model_files import ModelForm, load_classifier

FORM = ModelForm(2, ("0", "1", "2"))
RECORDS = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [-1.0, 0.5]])
GOOD = skops.io.dumps(LogisticRegression().fit(RECORDS, [0, 1, 2, 1]))
INT64 = 7
TAKEN, GIVEN = field(11, table("x", "n", 2)), field(12, table("y", "n", 3))


# --- ONNX


def sizes(*values: int) -> bytes:
    """A tensor of whole numbers, named `s`."""
    numbers = np.array(values, "<i8")
    return field(1, len(values)) + field(2, INT64) + field(8, "s") + field(9, numbers.tobytes())


def shaped(*shape: int) -> bytes:
    """Weights that say a shape, and hold six numbers."""
    dims = b"".join(field(1, size % (1 << 64)) for size in shape)
    return dims + field(2, onnx.FLOAT) + field(8, "w") + field(9, bytes(24))


def blown_up(by: bytes) -> bytes:
    """A graph that adds the sum of something large to what it gives."""
    graph = (
        by + node("ReduceSum", ["c"], "r") + node("MatMul", ["x", "w"], "z") + node("Add", ["z", "r"], "y")
    )
    return onnx.model(graph + field(5, tensor("w", onnx.WEIGHTS)) + TAKEN + GIVEN)


def nested(depth: int) -> bytes:
    graph = b""
    for _ in range(depth):
        branch = field(5, field(1, "then_branch") + field(20, 5) + field(6, graph))
        graph = field(1, field(4, "If") + branch)
    return onnx.model(graph + TAKEN + GIVEN)


def operator(name: str, domain: str) -> bytes:
    return field(1, field(1, "z") + field(2, "y") + field(4, name) + field(7, domain))


HOSTILE_GRAPHS = {
    "a shape of 4 TiB": onnx.softmax_regression(weights=shaped(1 << 20, 1 << 20)),
    "a negative shape": onnx.softmax_regression(weights=shaped(-1, 3)),
    "8 TiB of a constant": blown_up(node("ConstantOfShape", ["s"], "c") + field(5, sizes(1 << 41))),
    "records repeated": blown_up(node("Tile", ["x", "s"], "c") + field(5, sizes(1 << 20, 1 << 20))),
    "60 graphs in each other": nested(60),
    "5000 graphs in each other": nested(5000),
    "an operator of nobody": onnx.softmax_regression(last=operator("Evil", "com.evil")),
    "an operator in Python": onnx.softmax_regression(last=operator("PythonOp", "com.microsoft")),
}


@pytest.mark.parametrize("name", HOSTILE_GRAPHS)
def test_a_hostile_graph_is_refused_before_or_when_it_is_asked(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(HOSTILE_GRAPHS[name])
    with pytest.raises(DataError):
        load_classifier(path, FORM).confidences(RECORDS)


# --- skops, and the arrays of NumPy in it


def npy(shape: tuple[int, ...], kind: str = "<f8", content: bytes = b"") -> bytes:
    said = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    said += b" " * (-(len(said) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said + content


def entries() -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(GOOD)) as packed:
        yield from ((name, packed.read(name)) for name in packed.namelist())


FIRST = next(name for name, _ in entries() if name.endswith(".npy"))
Change = Callable[[str, bytes], bytes]


def with_array(array: bytes) -> Change:
    return lambda name, content: array if name == FIRST else content


def with_schema(change: Callable[[str], str]) -> Change:
    return lambda name, content: change(content.decode()).encode() if name == "schema.json" else content


def runs(path: Path) -> bytes:
    """A pickle that makes a file."""
    return f"cpathlib\nPath.touch\n(cpathlib\nPath\n(S'{path}'\ntRtR.".encode()


def deep(levels: int) -> Change:
    return with_schema(lambda text: f'{text[:-1]}, "deep": {"[" * levels}{"]" * levels}}}')


HOSTILE_ARCHIVES: dict[str, Callable[[Path], Change]] = {
    "an array of 8 TiB": lambda _: with_array(npy((1 << 40,))),
    "an array of a negative size": lambda _: with_array(npy((-1, 3))),
    "an array of objects": lambda folder: with_array(npy((1,), "|O", runs(folder / "escaped"))),
    "a header that is code": lambda _: with_array(npy((1,)).replace(b"'<f8'", b"exit")),
    "another file as an array": lambda _: with_schema(
        lambda text: text.replace(FIRST, "../../../etc/passwd")
    ),
    "nothing but depth": lambda _: deep(100_000),
}


def packed(folder: Path, change: Change, more: tuple[str, ...] = ()) -> Path:
    path = folder / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in entries():
            written.writestr(name, change(name, content))
        for name in more:
            written.writestr(name, "x")
    return path


@pytest.mark.parametrize("name", HOSTILE_ARCHIVES)
def test_a_hostile_archive_is_refused(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path, HOSTILE_ARCHIVES[name](tmp_path))
    with pytest.raises(DataError):
        load_classifier(path, FORM)
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_unpacked_to_a_disk(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    path = packed(
        inside, lambda _, content: content, ("../escaped", str(tmp_path / "absolute"), "/tmp/../escaped")
    )
    load_classifier(path, FORM)
    assert sorted(tmp_path.rglob("*")) == [inside, path]


@pytest.mark.parametrize("levels", [100, 950, 980, 985, 990, 1000])
def test_a_deep_schema_ends_in_no_fault_of_ours(tmp_path: Path, levels: int) -> None:
    path = packed(tmp_path, deep(levels))
    try:
        load_classifier(path, FORM)
    except DataError as error:
        refused = str(error)
    else:
        refused = ""
    assert "not an estimator that can be read" in refused or not refused


def test_what_these_files_are_made_of_can_be_read(tmp_path: Path) -> None:
    assert load_classifier(packed(tmp_path, lambda _, content: content), FORM).confidences(
        RECORDS
    ).shape == (4, 3)
    assert json.loads(dict(entries())["schema.json"])
