"""The commit: all or nothing, also when the process is killed at any point."""

import os
import pickle
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from smalti.engine.registry import commit
from smalti.engine.registry.intents import Intents
from smalti.engine.registry.registry import Registry
from smalti.errors import BackendError, GuaranteeError, InternalError, RegistryError, UsageError

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from forked import run_forked
from registry_world import OUTPUT, OWNER

SCRIPT = str(Path(world.__file__))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_publishes_its_output_and_nothing_else(registry: Registry, tmp_path: Path) -> None:
    made = world.run(registry, tmp_path / "out")
    registry.close()
    assert names(tmp_path) == ["out", "r.sqlite"]
    assert names(tmp_path / "out") == [commit.CERTIFICATE_NAME, "data.csv"]
    assert (tmp_path / "out" / "data.csv").read_bytes() == world.CONTENT
    assert (tmp_path / "out" / commit.CERTIFICATE_NAME).read_text() == made.certificate
    assert registry.intents.pending() == ()


def test_the_stage_is_private_and_the_output_is_not(registry: Registry, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with commit.staging(registry, tmp_path / "out") as stage:
            assert stat.S_IMODE(stage.folder.stat().st_mode) == 0o700
            assert not registry.exists
            (stage.output / "data.csv").touch(mode=0o600)
            (stage.output / "data.csv").write_bytes(world.CONTENT)
            commit.publish(registry, stage, world.new_version(stage.version))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o640}


@pytest.mark.parametrize("kind", ["empty", "full", "file", "dangling"])
def test_an_existing_out_is_refused_before_anything(registry: Registry, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    if kind == "dangling":
        out.symlink_to(tmp_path / "nowhere")
    elif kind == "file":
        out.touch()
    else:
        out.mkdir()
        if kind == "full":
            (out / "mine").touch()
    with pytest.raises(UsageError, match="it exists already") as caught:
        world.run(registry, out)
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args
    assert names(tmp_path) == ["out"]


def test_an_out_without_a_parent_is_refused(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        world.run(registry, tmp_path / "no" / "out")
    assert names(tmp_path) == []


def test_an_out_that_appears_meanwhile_is_never_replaced(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = commit._move

    def late(stage: commit.Stage) -> None:
        stage.out.mkdir()
        real(stage)

    monkeypatch.setattr(commit, "_move", late)
    with pytest.raises(UsageError, match="it exists already"):
        world.run(registry, tmp_path / "out")
    assert names(tmp_path / "out") == []
    assert registry.versions(OUTPUT) == registry.intents.pending() == ()


@pytest.mark.parametrize("change", ["changed", "extra", "missing", "symlink"])
def test_staged_bytes_are_those_that_were_checked(registry: Registry, tmp_path: Path, change: str) -> None:
    with commit.staging(registry, tmp_path / "out") as stage:
        data = stage.output / "data.csv"
        data.write_bytes(world.CONTENT + (b"x" if change == "changed" else b""))
        if change == "extra":
            (stage.output / "more.csv").touch()
        elif change == "missing":
            data.unlink()
        elif change == "symlink":
            data.rename(stage.spill / "data.csv")
            data.symlink_to(stage.spill / "data.csv")
        with pytest.raises(GuaranteeError, match="not those that were checked"):
            commit.publish(registry, stage, world.new_version(stage.version))
    assert names(tmp_path) == []


def test_the_certificate_is_the_runs_own(registry: Registry, tmp_path: Path) -> None:
    with commit.staging(registry, tmp_path / "out") as stage:
        (stage.output / "data.csv").write_bytes(world.CONTENT)
        with pytest.raises(InternalError):
            commit.publish(registry, stage, world.new_version(world.uid("another")))
    assert names(tmp_path) == []


def test_the_registry_is_never_inside_the_output(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="would contain or replace the registry"):
        world.run(Registry.open(tmp_path / "out" / "r.sqlite"), tmp_path / "out")
    assert names(tmp_path) == []


def test_the_private_link_can_be_a_folder(registry: Registry, tmp_path: Path) -> None:
    with commit.staging(registry, tmp_path / "out") as stage:
        stage.link.mkdir()
        (stage.link / "part").touch()
        commit.forget_link(stage)
        commit.forget_link(stage)
        assert not stage.link.exists()


@pytest.mark.parametrize("failing", ["_sync_tree", "_move", "begin", "finish", "after"])
def test_a_failure_leaves_nothing(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(*_: Any) -> None:
        if failing.startswith("_"):
            raise OSError(28, "No space left on device")
        raise RegistryError("r.sqlite", "it failed")

    owner: Any = commit if failing.startswith("_") else Intents
    if failing != "after":
        monkeypatch.setattr(owner, failing, fail)
        with pytest.raises(BackendError if owner is commit else RegistryError):
            world.run(registry, tmp_path / "out")
        assert registry.versions(OUTPUT) == registry.intents.pending() == ()
        assert set(names(tmp_path)) <= {"r.sqlite"}
        return
    real = Intents.finish

    def interrupted(self: Intents, intent: Any, check: Any) -> Any:
        real(self, intent, check)
        raise KeyboardInterrupt

    monkeypatch.setattr(Intents, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.run(registry, tmp_path / "out")
    # What was recorded stays, even if the run never learned of it.
    assert len(registry.versions(OUTPUT)) == 1
    assert (tmp_path / "out" / "data.csv").read_bytes() == world.CONTENT


# --- Killed

BEFORE_RECORD = [
    "commit.forget_link:before",
    "os.link:before",
    "os.link:after",
    "Intents.begin:before",
    "Intents.begin:after",
    "commit._move:before",
    "os.rename:before",
]
AFTER_MOVE = ["os.rename:after", "Intents.finish:before", "Intents.finish:after"]


def kill(folder: Path, point: str) -> None:
    ended = run_forked(world.main, "kill", folder, point, folder=folder)
    assert ended.code == -signal.SIGKILL, ended.err.decode()


@pytest.mark.parametrize("point", BEFORE_RECORD + AFTER_MOVE)
def test_a_killed_run_is_all_or_nothing(registry: Registry, tmp_path: Path, point: str) -> None:
    kill(tmp_path, point)
    recovered = commit.recover(registry)
    versions = registry.versions(OUTPUT)
    is_done = point in AFTER_MOVE
    assert len(versions) == is_done
    assert (tmp_path / "out").exists() == is_done
    assert registry.intents.pending() == ()
    if is_done:
        assert recovered in ((), versions)
        assert names(tmp_path / "out") == [commit.CERTIFICATE_NAME, "data.csv"]
        assert (tmp_path / "out" / "data.csv").read_bytes() == world.CONTENT
        assert registry.owners(OUTPUT) == {OWNER}
    assert commit.recover(registry) == ()
    made = world.run(registry, tmp_path / ("again" if is_done else "out"))
    assert made.number == len(versions) + 1
    assert not [name for name in names(tmp_path) if name.startswith(".smalti-")]


def test_recovery_removes_its_own_incomplete_output_only(registry: Registry, tmp_path: Path) -> None:
    kill(tmp_path, "os.rename:after")
    (tmp_path / "out" / "data.csv").write_bytes(b"damaged")
    assert commit.recover(registry) == ()
    assert names(tmp_path) == ["r.sqlite"]
    kill(tmp_path, "commit._move:before")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    assert commit.recover(registry) == ()
    assert names(tmp_path / "out") == ["mine"]
    assert registry.intents.pending() == ()


def test_a_policy_revoked_before_recovery_takes_the_output_with_it(
    registry: Registry, tmp_path: Path
) -> None:
    registry.add_policy(world.SOURCE_POLICY, "anon", OWNER)
    kill(tmp_path, "Intents.finish:before")
    registry.revoke_policy(world.uid("anon"), OWNER)
    assert commit.recover(registry) == ()
    assert names(tmp_path) == ["r.sqlite"]


def test_recovery_of_a_missing_registry_makes_nothing(registry: Registry, tmp_path: Path) -> None:
    assert commit.recover(registry) == ()
    assert names(tmp_path) == []


# --- Alive


def test_a_live_stage_is_left_alone_and_a_dead_one_is_not(registry: Registry, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, SCRIPT, "hold", str(tmp_path), ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"staged\n"
        (stage,) = tmp_path.glob(".smalti-*")
        world.run(registry, tmp_path / "out")
        commit.recover(registry)
        assert stage.exists()
        holder.kill()
        holder.wait()
        commit.recover(registry)
        assert not stage.exists()


def test_a_live_publication_is_left_alone(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_move, real_finish, other = commit._move, Intents.finish, Registry.open(tmp_path / "r.sqlite")

    def move(stage: commit.Stage) -> None:
        assert commit.recover(other) == ()
        real_move(stage)
        assert commit.recover(other) == ()
        assert len(other.intents.pending()) == 1

    monkeypatch.setattr(commit, "_move", move)
    assert world.run(registry, tmp_path / "out").number == 1
    assert Intents.finish is real_finish


def test_a_sweep_takes_only_stages_of_its_own(tmp_path: Path) -> None:
    name = ".smalti-00000000-0000-0000-0000-000000000000"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").touch()
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".smalti-notes").mkdir()
    commit.sweep(tmp_path)
    assert names(tmp_path) == [name, ".smalti-notes", "elsewhere"]
    assert names(tmp_path / "elsewhere") == ["mine"]
