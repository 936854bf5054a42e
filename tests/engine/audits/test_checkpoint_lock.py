"""One run at a time works with a checkpoint. Processes are real; about 1 s of CPU in all."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from model_worlds import people, registry, run

from smalti.engine.tables import locks
from smalti.engine.training.checkpoint import Checkpoint
from smalti.errors import BackendError, UsageError

HOLDS = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
"""A program that holds a lock until it is told to end; it needs nothing of smalti to begin quickly."""


@contextmanager
def held_by_another(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-S", "-c", HOLDS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoint:
    (tmp_path / "kept").mkdir(mode=0o700)
    return Checkpoint(tmp_path / "kept", registry(tmp_path))


def test_a_run_is_kept_out_while_another_process_works_with_its_checkpoint(
    tmp_path: Path, kept: Checkpoint
) -> None:
    data = people(tmp_path)
    with held_by_another(tmp_path / "kept" / "lock"):
        with pytest.raises(UsageError) as caught:
            run(tmp_path, data, checkpoint=tmp_path / "kept")
        assert "another run is working with this checkpoint" in str(caught.value)
        assert "name another folder" in str(caught.value)
        assert not registry(tmp_path).attempts()
        assert not (tmp_path / "out").exists()


def test_a_process_that_was_killed_holds_nothing(tmp_path: Path, kept: Checkpoint) -> None:
    with held_by_another(tmp_path / "kept" / "lock") as other:
        with pytest.raises(UsageError, match="another run"), kept.held():
            pass
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        with kept.held():
            assert locks.taken(tmp_path / "kept" / "lock") is None
    with kept.held():
        pass


def test_what_is_forgotten_leaves_no_lock_and_can_be_begun_again(tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path / "kept", registry(tmp_path))
    for _ in range(2):
        with kept.held():
            assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
            kept.forget()
            assert not (tmp_path / "kept").exists()
    with Checkpoint(None, registry(tmp_path)).held():
        assert not (tmp_path / "kept").exists()


def test_a_lock_on_a_file_that_is_gone_is_none(tmp_path: Path) -> None:
    path, real = tmp_path / "lock", os.stat

    def removed(where: Path) -> os.stat_result:
        path.unlink()
        return real(where)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locks.os, "stat", removed)
        assert locks.taken(path) is None, "whoever held it removed it between the opening and the locking"
    lock = locks.taken(path)
    assert lock is not None
    os.close(lock)


def test_a_link_is_no_lock(tmp_path: Path, kept: Checkpoint) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "kept" / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BackendError), kept.held():
        pass
