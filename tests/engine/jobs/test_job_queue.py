"""The queue: claimed once, leased, fenced, stopped, retried. Run on PostgreSQL, too (`test_postgresql`)."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from job_worlds import CHECK, OTHER, PARTY, SHORT, claimed, submitted

from smalti.engine.jobs import queue
from smalti.engine.jobs.requests import CheckPolicies, JobKind
from smalti.engine.registry.job_entries import JobResult, JobState, Lease
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.vocab.terms import IRI

NOTHING = timedelta(0)
PLACE = Path("/nowhere")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def test_a_job_is_submitted_and_looked_at(registry: Registry) -> None:
    job = submitted(registry, priority=2, tries=3)
    assert (job.state, job.party, job.priority, job.tries, job.attempts) == (
        JobState.QUEUED,
        PARTY,
        2,
        3,
        0,
    )
    assert queue.request_of(job) == CHECK
    assert queue.job_of(registry, job.id) == queue.find(registry, job.id[:5]) == job
    other = queue.submit(registry, CHECK, party=OTHER)
    assert queue.jobs(registry) == (job, other)
    assert queue.jobs(registry, party=OTHER) == queue.jobs(registry, after=job.id) == (other,)
    assert queue.jobs(registry, kinds=[JobKind.RUN]) == queue.jobs(registry, after="wombat") == ()
    assert queue.jobs(registry, limit=1) == (job,)
    for look in (queue.job_of, queue.find, queue.stop, queue.retry):
        with pytest.raises(UsageError, match="no job of this id"):
            look(registry, "wombat")
    with pytest.raises(UsageError, match="no job of this id"):
        queue.find(registry, "")


def test_what_is_sent_twice_is_asked_once(registry: Registry) -> None:
    job = submitted(registry, job_id="mine")
    assert submitted(registry, job_id="mine") == job
    with pytest.raises(UsageError, match="something else than before"):
        queue.submit(registry, CheckPolicies(files=("/other",)), party=PARTY, job_id="mine")
    with pytest.raises(UsageError, match="something else than before"):
        queue.submit(registry, CHECK, party=OTHER, job_id="mine")
    assert queue.jobs(registry) == (job,)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", "é", "x" * 37, ".", "a\n"])
def test_an_id_is_the_name_of_a_folder(registry: Registry, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be an id"):
        submitted(registry, job_id=name)


@pytest.mark.parametrize("tries", [0, 101])
def test_tries_are_few(registry: Registry, tries: int) -> None:
    with pytest.raises(UsageError, match="out of range"):
        submitted(registry, tries=tries)


def test_jobs_are_begun_by_priority_then_as_they_came(registry: Registry) -> None:
    ids = [submitted(registry, priority=priority).id for priority in (1, 0, -1, 0)]
    assert [claimed(registry).id for _ in ids] == [ids[2], ids[1], ids[3], ids[0]]
    assert registry.jobs.claim("worker", PLACE, SHORT) is None


def test_one_job_may_be_asked_for(registry: Registry) -> None:
    submitted(registry, priority=-1)
    job = submitted(registry)
    taken = registry.jobs.claim("worker", PLACE, SHORT, job.id)
    assert taken is not None
    assert (taken.id, taken.state, taken.attempts, taken.worker) == (job.id, JobState.RUNNING, 1, "worker")
    assert (taken.was_lost, taken.folder) == (False, PLACE / job.id)
    assert registry.jobs.claim("worker", PLACE, SHORT, job.id) is None


def test_each_job_is_claimed_once_by_racing_workers(registry: Registry) -> None:
    ids = [submitted(registry).id for _ in range(12)]
    together = threading.Barrier(4)

    def take(name: str) -> list[str]:
        together.wait()
        taken = []
        while (job := registry.jobs.claim(name, PLACE, timedelta(minutes=1))) is not None:
            taken.append(job.id)
        return taken

    with ThreadPoolExecutor(4) as workers:
        taken = [job for each in workers.map(take, "abcd") for job in each]
    assert sorted(taken) == sorted(ids)


def test_a_lease_that_ran_out_is_taken_over_and_the_late_word_is_refused(registry: Registry) -> None:
    submitted(registry)
    first = claimed(registry, "first", NOTHING)
    lost = queue.job_of(registry, first.id)
    assert (lost.state, lost.reason) == (JobState.DIED, "its worker was lost")
    second = claimed(registry, "second")
    assert (second.attempts, second.was_lost, second.worker) == (2, True, "second")
    assert not registry.jobs.end(first.lease, JobState.DONE, "", JobResult(0))
    assert registry.jobs.beat(first.lease, SHORT, "late", None) is None
    assert queue.job_of(registry, first.id) == second
    assert registry.jobs.end(second.lease, JobState.DONE, "", JobResult(1, IRI("http://t")))
    ended = queue.job_of(registry, first.id)
    assert (ended.state, ended.result) == (JobState.DONE, JobResult(1, IRI("http://t")))
    assert not registry.jobs.end(second.lease, JobState.FAILED), "it ends once"
    assert not registry.jobs.end(Lease("wombat", 1), JobState.DONE)


def test_a_lease_that_is_renewed_is_not_taken_over(registry: Registry) -> None:
    submitted(registry)
    job = claimed(registry, lease=timedelta(seconds=0.3))
    for _ in range(3):
        time.sleep(0.15)
        renewed = registry.jobs.beat(job.lease, timedelta(seconds=5), "works", None)
        assert renewed is not None
        assert (renewed.phase, renewed.state) == ("works", JobState.RUNNING)
        assert registry.jobs.claim("other", PLACE, SHORT) is None
    times = [renewed.submitted_at, job.started_at, renewed.beat_at, renewed.lease_until]
    assert all(earlier < later for earlier, later in pairwise(filter(None, times)))


def test_what_waits_is_stopped_at_once_and_what_runs_is_told(registry: Registry) -> None:
    waiting = queue.stop(registry, submitted(registry).id)
    assert (waiting.state, waiting.reason) == (JobState.STOPPED, "it was told to stop")
    submitted(registry)
    running = claimed(registry)
    told = queue.stop(registry, running.id)
    assert (told.state, told.wants_stop) == (JobState.RUNNING, True)
    renewed = registry.jobs.beat(running.lease, SHORT, "", None)
    assert renewed is not None
    assert renewed.wants_stop
    assert registry.jobs.end(running.lease, JobState.STOPPED)
    with pytest.raises(UsageError, match="it is stopped; expected a job that is queued or running"):
        queue.stop(registry, running.id)
    submitted(registry)
    assert queue.stop(registry, claimed(registry, lease=NOTHING).id).state is JobState.STOPPED, (
        "nobody runs it"
    )


@pytest.mark.parametrize("state", list(JobState))
def test_what_came_to_nothing_is_retried(registry: Registry, state: JobState) -> None:
    submitted(registry)
    job = claimed(registry)
    if state is not JobState.RUNNING:
        assert registry.jobs.end(job.lease, state, "why", None)
    if state in {JobState.QUEUED, JobState.RUNNING, JobState.DONE}:
        with pytest.raises(UsageError, match=f"it is {state}; expected a job that failed"):
            queue.retry(registry, job.id)
        return
    again = queue.retry(registry, job.id)
    assert (again.state, again.reason, again.ended_at) == (JobState.QUEUED, "", None)
    assert (again.attempts, again.tries) == (1, 2)
    assert not registry.jobs.end(job.lease, JobState.DONE), "the former worker has nothing to say"
    assert claimed(registry).attempts == 2


def test_a_worker_has_a_name_of_its_own(registry: Registry) -> None:
    registry.jobs.enter("one", "a", "host", 1, timedelta(minutes=1), may_create=True)
    registry.jobs.enter("one", "a", "host", 1, timedelta(minutes=1), may_create=False)
    with pytest.raises(UsageError, match=r"worker one: a worker of this name runs on host \(process 1\)"):
        registry.jobs.enter("one", "b", "elsewhere", 2, SHORT, may_create=False)
    registry.jobs.enter("two", "b", "elsewhere", 2, NOTHING, may_create=False)
    registry.jobs.enter("two", "c", "elsewhere", 3, SHORT, may_create=False)
    assert [(each.name, each.process) for each in registry.jobs.workers()] == [("one", 1), ("two", 3)]
    registry.jobs.leave("two", "b")
    registry.jobs.leave("one", "a")
    assert [each.name for each in registry.jobs.workers()] == ["two"]


def test_a_job_is_followed_to_its_end(registry: Registry) -> None:
    submitted(registry)
    job = claimed(registry, lease=timedelta(minutes=1))
    seen = []
    for now in queue.follow(registry, job.id, every=0.001):
        seen.append((str(now.state), now.phase))
        if now.phase == "second":
            registry.jobs.end(job.lease, JobState.DONE, "", JobResult(0))
        elif now.state is JobState.RUNNING:
            registry.jobs.beat(job.lease, timedelta(minutes=1), "second" if now.phase else "first", None)
    assert seen == [("running", ""), ("running", "first"), ("running", "second"), ("done", "second")]
