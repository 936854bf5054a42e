"""Imports between rooms only point downwards, and each heavy library has one door."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from generators.architecture import FLOORS, MAY_IMPORT, arrows, dotted_name, imports, upward

from smalti.engine.binding.capability import capability_of
from smalti.engine.plan.kinds import TABLE, Entry, kind_of, plan_class

ROOT = Path(__file__).parents[1]
SHARED = {"errors"}  # smalti.errors: the one leaf that every room may import
HEAVY = {"duckdb", "pyspark", "sqlalchemy"}


def source_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def every_import(*folders: str) -> Iterator[tuple[str, str]]:
    for path in source_files(*folders):
        for name in imports(path, ROOT):
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
    assert [name for name in imports(path, ROOT) if room_of(name)] == []


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
        for name in imports(path, ROOT)
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
def test_imports_are_found_in_every_form(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "policy" / "model.py"
    path.parent.mkdir()
    path.write_text(text)
    assert list(imports(path, tmp_path)) == [found]


# --- Rooms inside of the engine


def test_each_module_of_the_engine_stands_in_a_room() -> None:
    flat = {path.name for path in (ROOT / "engine").glob("*.py")}
    assert flat == {"__init__.py", "arguments.py"}
    assert {path.parent.name for path in (ROOT / "engine").rglob("*/__init__.py")} == FLOORS.keys()


def test_rooms_of_the_engine_import_downwards() -> None:
    assert upward(arrows(ROOT)) == set()


KINDS = {"anonymization", "releases", "perturbation", "training"}
VIEWS = re.compile(r"src/smalti/(console_|comparing|auditing|estimating|budgeting|cli_|api|reports/)")


def test_no_capability_knows_another() -> None:
    wrong = {(room, other) for room, other in arrows(ROOT) if {room, other} <= KINDS}
    assert wrong == set()


def test_only_the_table_names_the_rooms_of_capabilities() -> None:
    """The driver, and what asks over all kinds, finds them by the table."""
    allowed = {("src", "smalti"), *(("engine", room) for room in KINDS)}
    wrong = [
        f"{path} imports {name}"
        for path, name in every_import("engine")
        if name.split(".")[2:3]
        and name.startswith("smalti.engine.")
        and name.split(".")[2] in KINDS
        and Path(path).parts[:2] not in allowed
    ]
    assert [one for one in wrong if not one.startswith("engine/run/case_files.py imports")] == []


def dispatches(tree: ast.AST) -> Iterator[str]:
    """Names of plans, guarantees and reports that code asks for the class of."""
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            asked = node.args[1:]
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        for part in asked:
            names = {one.id for one in ast.walk(part) if isinstance(one, ast.Name)}
            yield from (name for name in names if re.search(r"\w*(Plan|Guarantee|Report)$", name))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("isinstance(made, ReleasePlan)", ["ReleasePlan"]),
        ("isinstance(made, int | Plan)", ["Plan"]),
        ("match g:\n    case LocalGuarantee():\n        pass", ["LocalGuarantee"]),
        ("isinstance(made, Planned)", []),
    ],
)
def test_dispatch_is_found(text: str, found: list[str]) -> None:
    assert list(dispatches(ast.parse(text))) == found


def test_nothing_outside_of_a_capability_asks_for_the_class_of_a_plan() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in source_files("engine", "src")
        if path.relative_to(ROOT).parts[1] not in KINDS and not VIEWS.match(str(path.relative_to(ROOT)))
        for name in dispatches(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert wrong == []


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.kind)
def test_the_table_holds_for_each_capability(entry: Entry) -> None:
    assert capability_of(entry.kind).kind is plan_class(entry.kind).kind is entry.kind
    assert kind_of(entry.action, entry.method) is entry.kind


def test_the_map_names_files_that_are_there() -> None:
    named = re.findall(
        r"`([a-z_]+/[A-Za-z0-9_./-]+)`", (ROOT / "docs" / "architecture.md").read_text("utf-8")
    )
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_map_names_each_room() -> None:
    rooms = re.findall(r"`([a-z]+)/`", (ROOT / "docs" / "architecture.md").read_text("utf-8"))
    assert FLOORS.keys() <= set(rooms)


# --- Files


def imported_files() -> dict[str, set[str]]:
    """The modules that each module imports; what an `__init__.py` re-exports is passed over."""
    files = {".".join(dotted_name(path, ROOT)): path for path in source_files(*MAY_IMPORT, "src")}
    found: dict[str, set[str]] = {name: set() for name in files}
    for name, path in files.items():
        for imported in imports(path, ROOT):
            other = imported if imported in files else imported.rpartition(".")[0]
            if other in files and other != name:
                found[name].add(other)
    return found


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = imported_files()
    assert sum(map(len, graph.values())) > 1000, "imports are found"
    TopologicalSorter(graph).prepare()  # raises CycleError, which names one
    graph["smalti.errors"].add(next(name for name, others in graph.items() if "smalti.errors" in others))
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
