"""Imports between rooms only point downwards, and each heavy library has one door."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHARED = {"errors"}  # smalti.errors: the one leaf that every room may import
MAY_IMPORT = {
    "vocab": set(),
    "policy": {"vocab"},
    "transforms": {"vocab"},
    "engine": {"vocab", "policy", "transforms"},
}
HEAVY = {"duckdb", "pyspark", "sqlalchemy"}


def dotted_name(path: Path) -> tuple[str, ...]:
    """Return the module that a file is, as users import it, in parts."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1:] if parts[0] == "src" else ("smalti", *parts)


def imports(path: Path) -> Iterator[str]:
    """Yield the full dotted name of everything that a file imports, also inside functions."""
    parts = dotted_name(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(parts[: len(parts) - node.level]) if node.level else ""
            stem = ".".join(filter(None, (base, node.module or "")))
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def source_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def every_import(*folders: str) -> Iterator[tuple[str, str]]:
    for path in source_files(*folders):
        for name in imports(path):
            yield str(path.relative_to(ROOT)), name


def room_of(name: str) -> str | None:
    """Return the room (or the name in the front door) behind an import of smalti, else None."""
    if name != "smalti" and not name.startswith("smalti."):
        return None
    return [*name.split("."), "<front door>"][1]


def test_rooms_import_only_the_rooms_below_them() -> None:
    wrong = [
        f"{path} imports {name}"
        for room, below in MAY_IMPORT.items()
        for path, name in every_import(room)
        if (found := room_of(name)) is not None and found not in below | SHARED | {room}
    ]
    assert wrong == []


def test_errors_are_a_leaf() -> None:
    path = ROOT / "src" / "smalti" / "errors.py"
    assert [name for name in imports(path) if room_of(name)] == []


def test_only_the_spark_backend_imports_pyspark() -> None:
    wrong = {
        path
        for path, name in every_import(*MAY_IMPORT, "src")
        if name.split(".")[0] in {"pyspark", "py4j"} and not path.startswith("engine/backends/spark")
    }
    assert wrong == set()


@pytest.mark.parametrize("room", ["vocab", "policy", "transforms"])
def test_only_the_engine_knows_databases_and_clusters(room: str) -> None:
    wrong = [f"{path} imports {name}" for path, name in every_import(room) if name.split(".")[0] in HEAVY]
    assert wrong == []


def test_the_verifier_shares_no_code_with_what_it_verifies() -> None:
    files = [
        path for path in source_files("engine") if path.relative_to(ROOT).parts[1].startswith("verify")
    ]
    assert files
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imports(path)
        if name.startswith("smalti.transforms")
        and name != "smalti.transforms.base"
        and not name.startswith("smalti.transforms.base.")
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from .. import transforms", "smalti.transforms"),
        ("from ..transforms.base import Guarantee", "smalti.transforms.base.Guarantee"),
        ("def f():\n    from smalti import cli", "smalti.cli"),
        ("import smalti.engine as e", "smalti.engine"),
    ],
)
def test_imports_are_found_in_every_form(tmp_path: Path, monkeypatch, text: str, found: str) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "policy" / "model.py"
    path.parent.mkdir()
    path.write_text(text)
    assert list(imports(path)) == [found]
