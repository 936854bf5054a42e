"""Audits in processes of their own: started, listed, followed, stopped, killed and taken up again."""

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import shell
from model_worlds import OUTPUT, OWNER, TARGET, USER, numbers_of, people, policy, registry

from smalti.engine.registry.attempts import AttemptState
from smalti.engine.tables import locks
from smalti.engine.training import jobs as job_module
from smalti.engine.training.jobs import Job, Jobs, JobState
from smalti.errors import BackendError, UsageError
from smalti.vocab.terms import IRI

_PATIENCE = 90.0
"""Seconds; the machine is shared."""


def command(folder: Path, *arguments: str) -> str:
    """A command in a process of its own, as from a script: it ignores Ctrl-C there."""
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "smalti", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def started(folder: Path, out: str = "out", **said: object) -> Job:
    people(folder)
    policy(folder, noise=False, **said)  # type: ignore[arg-type]
    return begun(folder, out)


def begun(folder: Path, out: str) -> Job:
    told = command(
        folder, "audit", "start", "policy.jsonld", "--data", f"{TARGET}=people.csv", "--as", USER,
        "--owner", OWNER, "--registry", "r.sqlite", "--out", out, "--format", "json",
    )  # fmt: skip
    (one,) = json.loads(told)["audits"]
    return jobs(folder).find(one["audit"])


def jobs(folder: Path) -> Jobs:
    return Jobs.beside(folder / "r.sqlite")


def wait(what: str, holds: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < until, f"never saw: {what}"
        time.sleep(0.02)


def states(folder: Path) -> list[AttemptState]:
    return [one.state for one in registry(folder).attempts(IRI(OUTPUT))]


def test_an_audit_is_started_listed_and_followed_to_its_end(tmp_path: Path) -> None:
    job = started(tmp_path)
    listed = shell.smalti("audit", "list", "--registry", "r.sqlite", "--format", "json", cwd=tmp_path).json
    assert [one["audit"] for one in listed["audits"]] == [job.name]
    followed = shell.smalti("audit", "follow", job.name[:4], "--registry", "r.sqlite", cwd=tmp_path)
    assert followed.code == 0, followed.out
    assert f"audit {job.name}: ended" in followed.out
    assert states(tmp_path) == [AttemptState.MET]
    assert len(registry(tmp_path).versions(IRI(OUTPUT))) == 1
    assert not job.checkpoint.exists()
    for refuse in (jobs(tmp_path).stop, jobs(tmp_path).resume):
        with pytest.raises(UsageError, match="it is ended"):
            refuse(job.name)


@pytest.mark.slow
def test_several_audits_run_at_once_and_are_attempts_of_their_own(tmp_path: Path) -> None:
    people(tmp_path)
    policy(tmp_path, noise=False, attacks=["lira-online", "loss"])
    with ThreadPoolExecutor(2) as commands:
        starts = [commands.submit(begun, tmp_path, out) for out in ("one", "two")]
        wait("both run", lambda: [one.state for one in jobs(tmp_path).all()] == [JobState.RUNNING] * 2)
        both = [start.result() for start in starts]
    for one in both:
        followed = shell.smalti("audit", "follow", one.name, "--registry", "r.sqlite", cwd=tmp_path)
        assert followed.code == 0, followed.out
    attempts = registry(tmp_path).attempts(IRI(OUTPUT))
    assert sorted(one.number for one in attempts) == [1, 2]
    versions = registry(tmp_path).versions(IRI(OUTPUT))
    assert {one.path.name for one in versions} == {"one", "two"}
    assert [one.number for one in versions] == [1, 2]


@pytest.mark.slow
def test_a_killed_audit_is_taken_up_again_and_trains_nothing_twice(tmp_path: Path) -> None:
    job = started(tmp_path, attacks=["lira-online", "loss"])
    wait("the model was kept", (job.checkpoint / "state.json").exists)
    os.kill(int((job.folder / "pid").read_text()), signal.SIGKILL)
    wait("the process is gone", lambda: job.state is JobState.DIED)
    assert states(tmp_path) == [AttemptState.BEGUN]
    assert not registry(tmp_path).versions(IRI(OUTPUT))
    kept = (job.checkpoint / "target.safetensors").read_bytes()

    command(tmp_path, "audit", "resume", job.name, "--registry", "r.sqlite")
    wait("it is attacked", lambda: job.status.phase == "train shadow models")
    jobs(tmp_path).stop(job.name)
    wait("it is stopped", lambda: job.state is JobState.STOPPED)
    assert states(tmp_path) == [AttemptState.STOPPED]
    assert not (tmp_path / "out").exists()

    command(tmp_path, "audit", "resume", job.name, "--registry", "r.sqlite")
    followed = shell.smalti("audit", "follow", job.name, "--registry", "r.sqlite", cwd=tmp_path)
    assert followed.code == 0, followed.out
    assert states(tmp_path) == [AttemptState.MET]
    (version,) = registry(tmp_path).versions(IRI(OUTPUT))
    made = (version.path / version.files[0].name).read_bytes()
    assert numbers_of(made) == numbers_of(kept)


@pytest.mark.parametrize("keeps_model", [True, False])
def test_an_audit_that_ended_with_an_error_is_taken_up_while_it_keeps_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeps_model: bool
) -> None:
    spawned: list[Job] = []
    monkeypatch.setattr(job_module, "_spawn", spawned.append)
    job = jobs(tmp_path).start([])
    job.checkpoint.mkdir(mode=0o700)
    if keeps_model:
        (job.checkpoint / "state.json").write_text("{}")
    failed = BackendError("the disk", "it is full", "a disk with room")
    with pytest.raises(BackendError), job.worked_on():
        raise failed
    assert (job.state, job.status.exit_code) == (JobState.ENDED, failed.exit_code)
    if keeps_model:
        assert jobs(tmp_path).resume(job.name) == job
        return
    with pytest.raises(UsageError, match="it is ended"):
        jobs(tmp_path).resume(job.name)


@pytest.fixture
def idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job that came to its end."""
    monkeypatch.setattr(job_module, "_spawn", lambda _: None)
    job = jobs(tmp_path).start([])
    with job.worked_on():
        assert job.state is JobState.RUNNING
    return job


def test_who_looks_at_a_job_does_not_see_another_one_who_does(idle: Job) -> None:
    with (idle.folder / "lock").open("r+b") as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        assert idle.state is JobState.ENDED


def test_who_looks_at_a_job_keeps_nobody_from_it(idle: Job) -> None:
    with (idle.folder / "lock").open("r+b") as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        threading.Timer(0.05, fcntl.flock, (looked_at, fcntl.LOCK_UN)).start()
        with idle.worked_on():
            assert idle.state is JobState.RUNNING


def test_a_job_has_one_process(idle: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_LOOKING_SECONDS", 0.05)
    with idle.worked_on(), pytest.raises(UsageError, match="it is running already"), idle.worked_on():
        pass


def test_what_a_job_was_started_with_is_for_its_owner_alone(idle: Job) -> None:
    assert stat.S_IMODE((idle.folder / "job.json").stat().st_mode) == 0o600


def test_a_job_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.sqlite.audits" / "wombat").mkdir(parents=True)
    assert jobs(tmp_path).all() == ()
    with pytest.raises(UsageError, match="no audit of this name"):
        jobs(tmp_path).find("wombat")
    with pytest.raises(UsageError, match="not the folder of an audit"):
        Job.at(tmp_path)
