"""Disks that fill, folders that are swapped, umasks that leave everything open, while a run publishes."""

import os
import resource
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from double_world import OWNER, TARGET, write

import smalti
from smalti.engine.binding.run_request import Watch
from smalti.engine.registry import commit
from smalti.engine.registry.commit import recover
from smalti.engine.registry.intents import Intents
from smalti.engine.registry.registry import Registry
from smalti.errors import SmaltiError

ROWS = [(str(i), str(i % 9), str(i % 3)) for i in range(40)]


def run(folder: Path, out: str = "out", watch: Watch | None = None) -> smalti.Outcome:
    return smalti.run(
        folder / "policy.jsonld",
        data={TARGET: folder / "people.csv"},
        party=OWNER,
        out=folder / out,
        registry=folder / "registry.sqlite",
        watch=watch,
    )


class Doing(Watch):
    """Does something as a phase begins."""

    def __init__(self, phase: str, what: Callable[[], object]) -> None:
        super().__init__()
        self._phase, self._what = phase, what

    def phase(self, name: str) -> None:
        if name == self._phase:
            self._what()
        super().phase(name)


# --- A disk that fills during the commit


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file grow beyond a size: writing fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [0, 100_000])
@pytest.mark.parametrize(("place", "name"), [(commit, "_move"), (Intents, "begin"), (Intents, "finish")])
def test_a_disk_that_fills_during_the_commit_leaves_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, size: int
) -> None:
    write(tmp_path, ROWS)
    real = getattr(place, name)

    def on_full_disk(*arguments: Any, **more: Any) -> Any:
        with files_of_at_most(size):
            return real(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, on_full_disk)
        try:
            run(tmp_path)
            is_said = True
        except SmaltiError:
            is_said = False
    with closing(Registry.open(tmp_path / "registry.sqlite")) as registry:
        recover(registry)
        assert registry.intents.pending() == ()
        versions = [one.path.name for one in registry.all_versions()]
        assert versions == ["out"] * (tmp_path / "out").exists()
        assert versions or not is_said
        for one in versions:
            smalti.verify(tmp_path / one, registry=registry)
    assert not list(tmp_path.glob(".smalti-*"))


# --- Links where the output is to be


@pytest.mark.parametrize("phase", ["verify", "register"])
def test_a_parent_that_is_swapped_for_a_link_publishes_nothing(tmp_path: Path, phase: str) -> None:
    write(tmp_path, ROWS)
    (tmp_path / "parent").mkdir()
    (tmp_path / "elsewhere").mkdir()

    def swap() -> None:
        (tmp_path / "parent").rename(tmp_path / "moved")
        (tmp_path / "parent").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(SmaltiError):
        run(tmp_path, "parent/out", Doing(phase, swap))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert smalti.Registry.open(tmp_path / "registry.sqlite").all_versions() == ()


@pytest.mark.parametrize("to", ["elsewhere", "nowhere"])
def test_a_link_that_appears_where_the_output_is_to_be_is_not_followed(tmp_path: Path, to: str) -> None:
    write(tmp_path, ROWS)
    (tmp_path / "elsewhere").mkdir()
    watch = Doing("register", lambda: (tmp_path / "out").symlink_to(tmp_path / to))
    with pytest.raises(SmaltiError, match="it exists already"):
        run(tmp_path, watch=watch)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not (tmp_path / "nowhere").exists()
    assert smalti.Registry.open(tmp_path / "registry.sqlite").all_versions() == ()


# --- Who can read what a run leaves, and has while it works


def readable_by_others(folder: Path) -> set[str]:
    """What others can reach and read, below a folder that they can look into."""
    found = set()
    for entry in folder.iterdir():
        mode = stat.S_IMODE(entry.lstat().st_mode)
        if mode & 0o077:
            found |= {entry.name} | (readable_by_others(entry) if entry.is_dir() else set())
    return found


@pytest.mark.parametrize("umask", [0, 0o022], ids=oct)
def test_nothing_private_is_readable_by_others_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    write(tmp_path, ROWS)
    given = readable_by_others(tmp_path)
    seen: set[str] = set()

    class Looking(Watch):
        def phase(self, name: str) -> None:
            seen.update(readable_by_others(tmp_path))
            super().phase(name)

    before = os.umask(umask)
    try:
        run(tmp_path, watch=Looking())
        with closing(Registry.open(tmp_path / "registry.sqlite")) as registry:
            smalti.decide(party=OWNER, action="read", target=TARGET, registry=registry)
            with registry._database.writing():
                seen |= readable_by_others(tmp_path)
            workspace = tmp_path / "work"
            workspace.mkdir()
            smalti.verify(tmp_path / "out", registry=registry, workspace=workspace)
    finally:
        os.umask(before)
    assert {one.name for one in tmp_path.glob("registry.sqlite*")} >= {
        "registry.sqlite",
        "registry.sqlite.secret",
        "registry.sqlite.decisions.jsonl",
    }
    seen |= readable_by_others(tmp_path)
    assert seen - given == {"out", "Published.csv", "certificate.jsonld", "work"}
