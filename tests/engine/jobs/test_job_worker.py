"""What a worker does with processes that end, do not end, or are killed; with a registry that is gone."""

import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import kind_worlds as world
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from job_worlds import (
    CLEANS_UP,
    DIES,
    DONE,
    SHORT,
    STUB,
    STUBBORN,
    WAITS,
    Turns,
    claimed,
    instead,
    submitted,
    worker_of,
)

from smalti.engine.jobs import queue
from smalti.engine.jobs.folders import JobFolder
from smalti.engine.jobs.requests import Run
from smalti.engine.jobs.worker import Until
from smalti.engine.plan.kinds import Kind
from smalti.engine.registry.job_entries import JobResult, JobState, StoredJob
from smalti.engine.registry.registry import Registry
from smalti.errors import RegistryError, UsageError


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def state(registry: Registry, job: StoredJob) -> JobState:
    return queue.job_of(registry, job.id).state


def place(registry: Registry, job: StoredJob) -> JobFolder:
    folder = queue.job_of(registry, job.id).folder
    assert folder is not None
    return JobFolder(folder)


def drained(folder: Path, registry: Registry, **choices: object) -> list[str]:
    said: list[str] = []
    worker_of(folder, registry, said, **choices).work(Until.EMPTY)
    return said


def test_jobs_are_done_and_leave_their_last_words_alone(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, DONE + "\nprint('last words', flush=True)\nopen(os.environ['TMPDIR'] + '/x', 'w')")
    jobs = [submitted(registry) for _ in range(3)]
    said = drained(tmp_path, registry, parallel=2)
    assert [state(registry, job) for job in jobs] == [JobState.DONE] * 3
    assert sorted(said)[:2] == [
        f"job {min(job.id for job in jobs)}: {word}" for word in ("check begins (attempt 1)", "done")
    ]
    folder = place(registry, jobs[0])
    assert {path.name for path in folder.path.iterdir()} == {"log", "status.json"}
    assert (folder.path.stat().st_mode & 0o777, folder.log.stat().st_mode & 0o777) == (0o700, 0o600)
    assert queue.last_words(queue.job_of(registry, jobs[0].id)) == "last words"
    assert registry.jobs.workers() == ()


def test_no_more_jobs_run_at_once_than_may(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, STUB + "time.sleep(0.3)\nsay(result={'exit_code': 0})")
    jobs, most = [submitted(registry) for _ in range(5)], 0

    def count() -> None:
        nonlocal most
        most = max(most, [state(registry, job) for job in jobs].count(JobState.RUNNING))

    Turns(monkeypatch, count)
    drained(tmp_path, registry, parallel=2)
    assert most == 2
    assert {state(registry, job) for job in jobs} == {JobState.DONE}


def test_a_worker_may_do_one_job(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, DONE)
    jobs = [submitted(registry) for _ in range(2)]
    worker_of(tmp_path, registry, []).work(Until.FIRST)
    assert [state(registry, job) for job in jobs] == [JobState.DONE, JobState.QUEUED]
    worker_of(tmp_path, registry, []).work(Until.EMPTY, job_id=jobs[0].id)
    assert state(registry, jobs[1]) is JobState.QUEUED


@pytest.mark.parametrize("tries", [1, 2])
def test_a_process_that_is_killed_is_told_and_tried_again_where_it_may(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    instead(monkeypatch, DIES)
    job = submitted(registry, tries=tries)
    drained(tmp_path, registry)
    ended = queue.job_of(registry, job.id)
    assert (ended.state, ended.reason) == (JobState.DIED, "its process was killed by signal 9")
    assert (ended.attempts, ended.phase) == (tries, "works")


@pytest.mark.parametrize(("script", "seconds"), [(CLEANS_UP, 30.0), (STUBBORN, 0.1)])
def test_a_job_is_stopped_and_killed_if_it_does_not_listen(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch, script: str, seconds: float
) -> None:
    instead(monkeypatch, script)
    job = submitted(registry, tries=9)

    def stop() -> None:
        now = queue.job_of(registry, job.id)
        if now.phase == ("deaf" if script == STUBBORN else "works") and not now.wants_stop:
            queue.stop(registry, job.id)

    Turns(monkeypatch, stop)
    drained(tmp_path, registry, kill_after=timedelta(seconds=seconds))
    ended = queue.job_of(registry, job.id)
    assert (ended.state, ended.reason) == (JobState.STOPPED, "it was told to stop")
    assert (ended.attempts, ended.wants_stop) == (1, False)
    assert not place(registry, job).scratch.exists()


@pytest.mark.parametrize(
    ("tries", "keeps", "expected"),
    [(1, False, JobState.STOPPED), (2, False, JobState.QUEUED), (1, True, JobState.QUEUED)],
)
def test_a_worker_that_is_told_to_stop_ends_its_jobs(
    tmp_path: Path,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    tries: int,
    keeps: bool,
    expected: JobState,
) -> None:
    instead(monkeypatch, CLEANS_UP)
    job = submitted(registry, tries=tries)
    waiting = submitted(registry)
    worker = worker_of(tmp_path, registry, [])

    def stop() -> None:
        if queue.job_of(registry, job.id).phase:
            if keeps:
                keep_checkpoint(place(registry, job))
            worker.tell_to_stop()

    Turns(monkeypatch, stop)
    worker.work()
    ended = queue.job_of(registry, job.id)
    assert (ended.state, ended.reason) == (expected, "its worker was stopped")
    assert state(registry, waiting) is JobState.QUEUED


def keep_checkpoint(folder: JobFolder) -> None:
    folder.checkpoint.mkdir(parents=True, exist_ok=True)
    (folder.checkpoint / "state.json").write_text("{}")


@pytest.mark.parametrize(
    ("tries", "keeps", "wants_stop", "expected"),
    [
        (1, False, False, (JobState.DIED, "its worker was lost")),
        (2, False, False, (JobState.DONE, "")),
        (1, True, False, (JobState.DONE, "")),
        (2, True, True, (JobState.STOPPED, "it was told to stop")),
    ],
)
def test_the_job_of_a_worker_that_was_lost(
    tmp_path: Path,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    tries: int,
    keeps: bool,
    wants_stop: bool,
    expected: tuple[JobState, str],
) -> None:
    instead(monkeypatch, DONE)
    job = submitted(registry, tries=tries)
    lost = registry.jobs.claim("lost", tmp_path / "r.sqlite.jobs", SHORT)
    assert lost is not None
    if wants_stop:
        queue.stop(registry, job.id)
    assert registry.jobs.beat(lost.lease, timedelta(0), "worked", None) is not None
    if keeps:
        keep_checkpoint(place(registry, job))
    drained(tmp_path, registry)
    ended = queue.job_of(registry, job.id)
    assert (ended.state, ended.reason) == expected
    assert not registry.jobs.end(lost.lease, JobState.FAILED)


@pytest.mark.parametrize("is_lost", [False, True])
def test_what_was_published_before_its_process_died_is_done(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch, is_lost: bool
) -> None:
    instead(monkeypatch, DIES)
    policy = world.write(tmp_path, Kind.ANONYMIZATION)
    request = Run(
        policy=str(policy), target=world.TARGET, data=str(tmp_path / "people.csv"), party=world.USER,
        owner=world.OWNER, out=str(tmp_path / "out"),
    )  # fmt: skip
    job = queue.submit(registry, request, tries=9)
    if is_lost:
        assert registry.jobs.claim("lost", tmp_path / "r.sqlite.jobs", timedelta(0)) is not None
    version = world.run(tmp_path, Kind.ANONYMIZATION).version
    assert version is not None
    drained(tmp_path, registry)
    ended = queue.job_of(registry, job.id)
    assert ended.state is JobState.DONE
    assert ended.result == JobResult(0, version.target, (version.iri,), tmp_path / "out")


def test_a_job_that_somebody_else_has_is_killed(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, WAITS)
    job = submitted(registry)
    said: list[str] = []

    def take_over() -> None:
        now = queue.job_of(registry, job.id)
        if now.phase and now.worker == "worker":
            assert registry.jobs.beat(now.lease, timedelta(0), "", None) is not None
            claimed(registry, "other", timedelta(minutes=1))

    Turns(monkeypatch, take_over)
    worker_of(tmp_path, registry, said).work(Until.EMPTY)
    assert said[-1] == f"job {job.id}: somebody else has it by now; its process was killed"
    now = queue.job_of(registry, job.id)
    assert (now.state, now.worker, now.attempts) == (JobState.RUNNING, "other", 2)


def test_two_workers_with_one_name(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.jobs.enter("worker", "token", "host", 7, SHORT, may_create=True)
    with pytest.raises(UsageError, match=r"runs on host \(process 7\); expected a name that no other"):
        worker_of(tmp_path, registry, []).work(Until.EMPTY)
    assert [each.process for each in registry.jobs.workers()] == [7], "that one keeps it"


def test_a_worker_that_lost_its_registry_ends_its_processes(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, STUB + "open(folder + '/pid', 'w').write(str(os.getpid()))\ntime.sleep(60)")
    job = submitted(registry)
    said: list[str] = []
    process = 0

    def lose() -> None:
        nonlocal process
        file = tmp_path / "r.sqlite"
        if not process and file.exists() and queue.job_of(registry, job.id).phase:
            process = int(place(registry, job).process.read_text())
            for path in tmp_path.glob("r.sqlite*"):
                if path.is_file():
                    path.unlink()

    Turns(monkeypatch, lose)
    with pytest.raises(RegistryError, match="the registry is gone"):
        worker_of(tmp_path, registry, said, lease=timedelta(seconds=1)).work()
    assert "trying again until the lease runs out" in said[-1]
    with pytest.raises(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
    assert not (tmp_path / "r.sqlite").exists(), "no other registry took its place"


def test_a_worker_does_nothing_with_a_registry_of_a_newer_version(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, DONE)
    job = submitted(registry)
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("UPDATE smalti_meta SET value = '99' WHERE key = 'schema'")
    for opened in (registry, Registry.open(tmp_path / "r.sqlite")):
        with pytest.raises(RegistryError, match="schema version 99; expected version 8"):
            worker_of(tmp_path, opened, []).work(Until.EMPTY)
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection:
        assert connection.execute("SELECT id, state FROM jobs").fetchall() == [(job.id, "queued")]


def test_a_request_of_a_newer_version_fails_with_its_reason(tmp_path: Path, registry: Registry) -> None:
    job = submitted(registry)
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        document = json.dumps({"kind": "divine", "files": []})
        connection.execute("UPDATE jobs SET request = ?", (document,))
    drained(tmp_path, registry)
    ended = queue.job_of(registry, job.id)
    assert ended.state is JobState.FAILED
    assert "it is no kind of job" in ended.reason


def test_a_folder_that_cannot_be_made_fails_the_job(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, DONE)
    job = submitted(registry)
    (tmp_path / "r.sqlite.jobs").write_text("a file")
    drained(tmp_path, registry)
    ended = queue.job_of(registry, job.id)
    assert ended.state is JobState.FAILED
    assert "the disk failed" in ended.reason
