"""A real run that is killed at any point: the next command finds all of its output, or nothing.

Also the script of the child process, which is the whole command line with one function that kills.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from shell import OUTPUT, listing, request, small_policy, small_table, smalti

from smalti import cli
from smalti.engine import binding as engine_binding
from smalti.engine import commit, execute
from smalti.engine import run as engine_run
from smalti.engine._database import Database
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.registry import Registry
from smalti.engine.writing import CsvWriter
from smalti.vocab.terms import IRI

POINTS: dict[str, tuple[Any, str]] = {
    "decide": (engine_run, "decide"),
    "stage": (commit, "_make_stage"),
    "open": (LocalBackend, "open"),
    "compile": (engine_run, "compile_plan"),
    "frequencies": (StagedTable, "frequencies"),
    "kernel": (execute, "partition"),
    "writer": (CsvWriter, "__init__"),
    "rows": (CsvWriter, "write_pieces"),
    "written": (StagedTable, "write"),
    "verify": (engine_run, "verify_run"),
    "secret": (engine_binding, "load_secret"),
    "link": (commit, "forget_link"),
    "sync": (commit, "_sync_tree"),
    "registry": (Database, "_create"),
    "intent": (Registry, "begin"),
    "move": (commit, "_move"),
    "rename": (os, "rename"),
    "finish": (Registry, "finish"),
    "sweep": (shutil, "rmtree"),
}
BEFORE_PUBLICATION = [
    "decide:before",
    "stage:before",
    "stage:after",
    "open:after",
    "compile:after",
    "frequencies:after",
    "kernel:after",
    "writer:after",
    "rows:before",
    "rows:after",
    "written:after",
    "verify:after",
    "secret:after",
    "link:after",
    "sync:after",
    "registry:after",
    "intent:before",
    "intent:after",
    "move:before",
    "rename:before",
]
AFTER_PUBLICATION = ["rename:after", "move:after", "finish:before", "finish:after", "sweep:before"]


def prepare(folder: Path) -> list[str | Path]:
    data, policy = small_table(folder), small_policy(folder)
    return ["run", policy, *request(data), "--out", "out"]


def kill(folder: Path, point: str, arguments: list[str | Path]) -> None:
    done = subprocess.run(
        [sys.executable, __file__, point, *map(str, arguments)],
        cwd=folder, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert done.stdout == b""


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".smalti*")]


def is_whole(folder: Path) -> bool:
    """Say whether an output is there with all of its files; with some of them is never right."""
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    assert names in (set(), {"anonCustomer.csv", "certificate.jsonld"})
    return bool(names)


def _points() -> list[object]:
    """All for `make test-full`; otherwise each third one, and all around the publication."""
    last = BEFORE_PUBLICATION[-4:]
    return [
        pytest.param(point, marks=[] if i % 3 == 0 or point in last else pytest.mark.slow)
        for i, point in enumerate(BEFORE_PUBLICATION)
    ] + list(AFTER_PUBLICATION)


@pytest.mark.parametrize("point", _points())
def test_a_killed_run_is_found_whole_or_not_at_all(tmp_path: Path, point: str) -> None:
    arguments = prepare(tmp_path)
    before = listing(tmp_path)
    kill(tmp_path, point, arguments)
    is_done = point in AFTER_PUBLICATION

    found = smalti("targets", "--format", "json", cwd=tmp_path)
    assert found.code == 0, found
    assert [(one["target"], one["version"]) for one in found.json] == [(OUTPUT, 1)] * is_done
    assert is_whole(tmp_path / "out") == is_done
    assert Registry.open(tmp_path / "smalti.sqlite").intents() == ()
    known = {"out/", "out/anonCustomer.csv", "out/certificate.jsonld", "smalti.sqlite"}
    left = {name for name in listing(tmp_path).keys() - before.keys() if not name.startswith(".smalti")}
    assert left <= known | {"smalti.sqlite.secret"}
    if is_done:
        assert smalti("verify", "out", "--data", "people.csv", cwd=tmp_path).code == 0
        assert leftovers(tmp_path) == []

    arguments[-1] = "again" if is_done else "out"
    again = smalti(*arguments, "--format", "json", cwd=tmp_path)
    assert again.code == 0, again
    assert again.json["version"] == 1 + is_done
    assert is_whole(tmp_path / arguments[-1])
    assert leftovers(tmp_path) == []
    assert smalti("verify", arguments[-1], "--data", "people.csv", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    "point",
    [
        "rows:after",
        "rename:after",
        *(pytest.param(point, marks=pytest.mark.slow) for point in ("intent:after", "rename:before")),
    ],
)
def test_any_command_ends_what_was_left(tmp_path: Path, point: str) -> None:
    for number, command in enumerate((["policy", "list"], ["policy", "owners"], ["verify", OUTPUT])):
        folder = tmp_path / str(number)
        folder.mkdir()
        arguments = prepare(folder)
        # The place of outputs is known from the run before.
        arguments[-1] = "first"
        assert smalti(*arguments, cwd=folder).code == 0
        arguments[-1] = "out"
        kill(folder, point, arguments)
        assert smalti(*command, cwd=folder).code == 0
        versions = Registry.open(folder / "smalti.sqlite").versions(IRI(OUTPUT))
        assert len(versions) == 1 + (point in AFTER_PUBLICATION)
        assert is_whole(folder / "out") == (point in AFTER_PUBLICATION)
        assert leftovers(folder) == []


def test_a_run_killed_again_and_again_leaves_no_more_than_one_killed_once(tmp_path: Path) -> None:
    arguments = prepare(tmp_path)
    for point in ("rows:after", "verify:after", "intent:after", "rename:before"):
        kill(tmp_path, point, arguments)
    assert smalti(*arguments, "--format", "json", cwd=tmp_path).json["version"] == 1
    assert leftovers(tmp_path) == []


def _main(point: str, arguments: list[str]) -> None:
    name, when = point.split(":")
    owner, attribute = POINTS[name]
    real = getattr(owner, attribute)

    def killing(*given: Any, **named: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        real(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, attribute, killing)
    sys.argv = ["smalti", *arguments]
    cli.main()


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
