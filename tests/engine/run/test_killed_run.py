"""A real run that is killed at any point: the next command finds all of its output, or nothing."""

import signal
from pathlib import Path

import pytest
from forked import run_forked
from killed_command import run_and_kill
from shell import OUTPUT, listing, request, small_policy, small_table, smalti

from smalti.engine.registry.registry import Registry
from smalti.vocab.terms import IRI

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
    ended = run_forked(run_and_kill, point, [str(argument) for argument in arguments], folder=folder)
    assert ended.code == -signal.SIGKILL, ended.err.decode()
    assert ended.out == b""


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
    assert Registry.open(tmp_path / "smalti.sqlite").intents.pending() == ()
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
