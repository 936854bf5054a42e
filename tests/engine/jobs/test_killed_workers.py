"""Workers with real processes that are killed at random moments: each job ends, or is begun again.

What is charged, is charged at most once for each attempt; nothing is published twice; nothing is left.
"""

import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import kind_worlds as world
import pytest
from kind_worlds import OWNER, TARGET, USER, is_whole, leftovers

from smalti.engine.jobs import queue
from smalti.engine.jobs.folders import JobFolder
from smalti.engine.jobs.requests import Run
from smalti.engine.plan.kinds import Kind
from smalti.engine.registry.job_entries import JobState, StoredJob
from smalti.vocab.terms import IRI

_LEASE = 4.0
"""Seconds; machines that test are slow."""
_PATIENCE = 240.0


@dataclass
class Worker:
    """The process of a worker, and what it says."""

    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def words(self) -> str:
        return self.log.read_text()


def start(folder: Path, *options: str) -> Worker:
    log = folder / f"worker-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "smalti", "worker", "--registry", "r.sqlite", "--lease", str(_LEASE)]
    with log.open("wb") as file:
        process = subprocess.Popen([*command, *options], cwd=folder, stdout=file, stderr=file)
    return Worker(process, log)


def drain(folder: Path) -> None:
    """Let a worker do what waits, once all leases have run out."""
    registry = world.registry(folder)
    until = time.monotonic() + _PATIENCE
    while any(job.state is JobState.RUNNING for job in queue.jobs(registry)):
        assert time.monotonic() < until
        time.sleep(0.1)
    worker = start(folder, "--drain")
    assert worker.process.wait(_PATIENCE) == 0, worker.words


def submit(folder: Path, name: str, kind: Kind, tries: int) -> StoredJob:
    place = folder / name
    place.mkdir()
    policy = world.write(place, kind)
    request = Run(
        policy=str(policy), target=TARGET, data=str(place / "people.csv"), party=USER, owner=OWNER,
        out=str(place / "out"),
    )  # fmt: skip
    return queue.submit(world.registry(folder), request, tries=tries)


def check_all(folder: Path, jobs: dict[str, StoredJob]) -> None:
    registry = world.registry(folder)
    versions, charges = registry.outputs.all(), registry.ledger.budget(IRI(TARGET)).charges
    ended = {name: queue.job_of(registry, job.id) for name, job in jobs.items()}
    for name, job in ended.items():
        place = folder / name / "out"
        own = [version for version in versions if version.path == place]
        if job.state is JobState.DONE:
            assert is_whole(place)
            assert job.result is not None
            assert [version.iri for version in own] == list(job.result.versions)
        else:
            assert job.state in {JobState.DIED, JobState.FAILED}, job
            assert job.reason
            assert not place.exists()
            assert own == []
        assert leftovers(folder / name) == []
        if job.folder is not None:
            left = {path.name for path in job.folder.iterdir()}
            assert left <= {"lock", "log", "status.json"}, left
            assert not JobFolder(job.folder).is_alive
    charged = {charge.run for charge in charges}
    assert len(charged) == len(charges)
    noisy = [job for name, job in ended.items() if name.startswith("noisy")]
    assert len(charges) <= sum(job.attempts for job in noisy)
    assert {version.run for version in versions if version.path.parent.name.startswith("noisy")} <= charged


def kill_at_random(folder: Path, jobs: dict[str, StoredJob], kills: int, seed: int) -> None:
    moments = random.Random(seed)
    registry = world.registry(folder)
    for _ in range(kills):
        worker = start(folder, "--drain", "--parallel", "2")
        # Half of them while jobs run, the others at any time.
        until = time.monotonic() + 60
        if moments.random() < 0.5:
            while worker.is_alive and time.monotonic() < until:
                if any(job.phase and job.state is JobState.RUNNING for job in queue.jobs(registry)):
                    break
                time.sleep(0.02)
        time.sleep(moments.uniform(0, 2.5))
        worker.process.send_signal(signal.SIGKILL)
        worker.process.wait()
    drain(folder)
    check_all(folder, jobs)


def test_workers_are_killed_at_random_moments(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print("seed", seed)
    jobs = {"rows": submit(tmp_path, "rows", Kind.ANONYMIZATION, 9)}
    jobs["noisy"] = submit(tmp_path, "noisy", Kind.PERTURBATION, 1)
    kill_at_random(tmp_path, jobs, 2, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_workers_are_killed_at_fifty_random_moments(tmp_path: Path, seed: int) -> None:
    kinds = {"rows": Kind.ANONYMIZATION, "noisy": Kind.PERTURBATION, "noisy-2": Kind.PERTURBATION}
    jobs = {name: submit(tmp_path, name, kind, 1 + seed % 3) for name, kind in kinds.items()}
    kill_at_random(tmp_path, jobs, 5, seed)


@pytest.mark.slow
def test_eight_runs_on_two_workers(tmp_path: Path) -> None:
    jobs = {f"rows-{n}": submit(tmp_path, f"rows-{n}", Kind.ANONYMIZATION, 1) for n in range(4)}
    jobs |= {f"noisy-{n}": submit(tmp_path, f"noisy-{n}", Kind.PERTURBATION, 1) for n in range(4)}
    workers = [start(tmp_path, "--drain", "--parallel", "2", "--lease", "60") for _ in range(2)]
    assert [worker.process.wait(_PATIENCE) for worker in workers] == [0, 0]
    registry = world.registry(tmp_path)
    ended = [queue.job_of(registry, job.id) for job in jobs.values()]
    assert [(job.state, job.attempts) for job in ended] == [(JobState.DONE, 1)] * 8
    assert len({job.worker for job in ended}) == 2
    assert len(registry.ledger.budget(IRI(TARGET)).charges) == 4
    check_all(tmp_path, jobs)
