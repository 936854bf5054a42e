"""Audits in processes of their own: started, listed, followed, stopped, killed and taken up again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import shell
from model_worlds import OUTPUT, OWNER, TARGET, USER, numbers_of, people, policy, registry

from smalti.cli import workers
from smalti.engine.jobs import queue
from smalti.engine.jobs.folders import JobFolder
from smalti.engine.jobs.requests import Audit
from smalti.engine.jobs.worker import LEASE
from smalti.engine.registry.attempts import AttemptState
from smalti.engine.registry.job_entries import JobResult, JobState, StoredJob
from smalti.engine.registry.registry import Registry
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


def started(folder: Path, out: str = "out", **said: object) -> StoredJob:
    people(folder)
    policy(folder, noise=False, **said)  # type: ignore[arg-type]
    return begun(folder, out)


def begun(folder: Path, out: str) -> StoredJob:
    told = command(
        folder, "audit", "start", "policy.jsonld", "--data", f"{TARGET}=people.csv", "--as", USER,
        "--owner", OWNER, "--registry", "r.sqlite", "--out", out, "--format", "json",
    )  # fmt: skip
    (one,) = json.loads(told)["audits"]
    return queue.job_of(registry(folder), one["audit"])


def now(folder: Path, job: StoredJob) -> StoredJob:
    return queue.job_of(registry(folder), job.id)


def place(job: StoredJob) -> JobFolder:
    assert job.folder is not None
    return JobFolder(job.folder)


def all_states(folder: Path) -> list[JobState]:
    return [job.state for job in queue.jobs(registry(folder))]


def wait(what: str, holds: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < until, f"never saw: {what}"
        time.sleep(0.02)


def states(folder: Path) -> list[AttemptState]:
    return [one.state for one in registry(folder).attempts(IRI(OUTPUT))]


@pytest.mark.slow
def test_an_audit_is_started_listed_and_followed_to_its_end(tmp_path: Path) -> None:
    job = started(tmp_path)
    listed = shell.smalti("audit", "list", "--registry", "r.sqlite", "--format", "json", cwd=tmp_path).json
    assert [one["audit"] for one in listed["audits"]] == [job.id]
    followed = shell.smalti("audit", "follow", job.id[:4], "--registry", "r.sqlite", cwd=tmp_path)
    assert followed.code == 0, followed.out
    assert f"audit {job.id}: ended" in followed.out
    assert states(tmp_path) == [AttemptState.MET]
    (version,) = registry(tmp_path).versions(IRI(OUTPUT))
    ended = now(tmp_path, job)
    assert (ended.state, ended.party, ended.attempts) == (JobState.DONE, USER, 1)
    assert ended.result == JobResult(0, IRI(OUTPUT), (version.iri,), tmp_path / "out")
    folder = place(job)
    assert not folder.checkpoint.exists()
    assert {path.name for path in folder.path.iterdir()} == {"lock", "log", "status.json", "worker.log"}
    for word in ("stop", "resume"):
        refused = shell.smalti("audit", word, job.id, "--registry", "r.sqlite", cwd=tmp_path)
        assert refused.code == 2
        assert "it is ended" in refused.message


@pytest.mark.slow
def test_several_audits_run_at_once_and_are_attempts_of_their_own(tmp_path: Path) -> None:
    people(tmp_path)
    policy(tmp_path, noise=False, attacks=["lira-online", "loss"])
    with ThreadPoolExecutor(2) as commands:
        starts = [commands.submit(begun, tmp_path, out) for out in ("one", "two")]
        wait("both run", lambda: all_states(tmp_path) == [JobState.RUNNING] * 2)
        both = [start.result() for start in starts]
    for one in both:
        followed = shell.smalti("audit", "follow", one.id, "--registry", "r.sqlite", cwd=tmp_path)
        assert followed.code == 0, followed.out
    attempts = registry(tmp_path).attempts(IRI(OUTPUT))
    assert sorted(one.number for one in attempts) == [1, 2]
    versions = registry(tmp_path).versions(IRI(OUTPUT))
    assert {one.path.name for one in versions} == {"one", "two"}
    assert [one.number for one in versions] == [1, 2]


@pytest.mark.slow
def test_a_killed_audit_is_taken_up_again_and_trains_nothing_twice(tmp_path: Path) -> None:
    job = started(tmp_path, attacks=["lira-online", "loss"])
    folder = place(job)
    wait("the model was kept", (folder.checkpoint / "state.json").exists)
    os.kill(int(folder.process.read_text()), signal.SIGKILL)
    wait("the process is gone", lambda: now(tmp_path, job).state is JobState.DIED)
    assert states(tmp_path) == [AttemptState.BEGUN]
    assert not registry(tmp_path).versions(IRI(OUTPUT))
    kept = (folder.checkpoint / "target.safetensors").read_bytes()

    command(tmp_path, "audit", "resume", job.id, "--registry", "r.sqlite")
    wait("it is attacked", lambda: now(tmp_path, job).phase == "train shadow models")
    shell.smalti("audit", "stop", job.id, "--registry", "r.sqlite", cwd=tmp_path)
    wait("it is stopped", lambda: now(tmp_path, job).state is JobState.STOPPED)
    assert states(tmp_path) == [AttemptState.STOPPED]
    assert not (tmp_path / "out").exists()

    command(tmp_path, "audit", "resume", job.id, "--registry", "r.sqlite")
    followed = shell.smalti("audit", "follow", job.id, "--registry", "r.sqlite", cwd=tmp_path)
    assert followed.code == 0, followed.out
    assert states(tmp_path) == [AttemptState.MET]
    (version,) = registry(tmp_path).versions(IRI(OUTPUT))
    made = (version.path / version.files[0].name).read_bytes()
    assert numbers_of(made) == numbers_of(kept)


@pytest.mark.parametrize("keeps_model", [True, False])
def test_an_audit_that_ended_with_an_error_is_taken_up_while_it_keeps_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeps_model: bool
) -> None:
    resumed: list[str] = []

    def start(_: Registry, place: str, job: StoredJob) -> StoredJob:
        resumed.append(f"{place} {job.id} {job.state}")
        return job

    monkeypatch.setattr(workers, "start_worker", start)
    opened = registry(tmp_path)
    request = Audit(policy="/p.jsonld", target=TARGET, data="/people.csv", party=USER, out="/out")
    job = failed(opened, queue.submit(opened, request), tmp_path / "r.sqlite.jobs")
    place(job).checkpoint.mkdir(parents=True)
    if keeps_model:
        (place(job).checkpoint / "state.json").write_text("{}")
    ran = shell.smalti("audit", "resume", job.id, "--registry", "r.sqlite", cwd=tmp_path)
    if keeps_model:
        assert (ran.code, resumed) == (0, [f"r.sqlite {job.id} queued"]), ran.err
        return
    assert ran.code == 2
    assert "it is ended" in ran.message
    assert resumed == []


def failed(opened: Registry, job: StoredJob, folder: Path) -> StoredJob:
    """The same job, after a worker had it."""
    claimed = opened.jobs.claim("worker", folder, LEASE)
    assert claimed is not None
    assert opened.jobs.end(claimed.lease, JobState.FAILED, "the disk: it is full", JobResult(3))
    return queue.job_of(opened, job.id)


@pytest.mark.slow
def test_an_audit_whose_worker_is_killed_is_taken_up_with_its_model(tmp_path: Path) -> None:
    people(tmp_path)
    policy(tmp_path, noise=False, attacks=["lira-online", "loss"])
    command(
        tmp_path, "jobs", "submit", "--registry", "r.sqlite", "--id", "job", "audit", "policy.jsonld",
        "--data", f"{TARGET}=people.csv", "--as", USER, "--owner", OWNER, "--out", "out",
    )  # fmt: skip
    working = [sys.executable, "-m", "smalti", "worker", "--registry", "r.sqlite", "--lease", "5"]
    worker = subprocess.Popen(working, cwd=tmp_path, stderr=subprocess.DEVNULL)
    folder = JobFolder(tmp_path / "r.sqlite.jobs" / "job")
    wait("the model was kept", (folder.checkpoint / "state.json").exists)
    kept = (folder.checkpoint / "target.safetensors").read_bytes()
    worker.kill()
    worker.wait()
    job = queue.job_of(registry(tmp_path), "job")
    wait("the lease has run out", lambda: now(tmp_path, job).state is JobState.DIED)
    wait("its process is gone, too", lambda: not folder.is_alive)
    assert not (tmp_path / "out").exists()
    command(tmp_path, *working[3:], "--drain")
    ended = now(tmp_path, job)
    assert (ended.state, ended.attempts, ended.tries) == (JobState.DONE, 2, 1)
    assert states(tmp_path) == [AttemptState.MET]
    (version,) = registry(tmp_path).versions(IRI(OUTPUT))
    made = (version.path / version.files[0].name).read_bytes()
    assert numbers_of(made) == numbers_of(kept)
    assert not folder.checkpoint.exists()
