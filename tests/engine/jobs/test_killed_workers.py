"""Workers with real processes that are killed at random moments: each job ends, or is begun again.

What is charged, is charged at most once for each attempt; nothing is published twice; nothing is left.
"""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "registry"))
import kind_worlds as world
import model_worlds
import postgresql_server
import pytest
from kind_worlds import OWNER, TARGET, USER, is_whole, leftovers

from smalti.engine.jobs import queue
from smalti.engine.jobs.folders import JobFolder
from smalti.engine.jobs.requests import Audit, Run
from smalti.engine.plan.kinds import Kind
from smalti.engine.registry.job_entries import JobState, StoredJob
from smalti.engine.registry.registry import Registry
from smalti.engine.tables import secret
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
    command = [sys.executable, "-m", "smalti", "worker", "--lease", str(_LEASE)]
    if "SMALTI_REGISTRY" not in os.environ:
        command += ["--registry", "r.sqlite"]
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


def request_in(folder: Path, name: str, kind: Kind) -> Run:
    place = folder / name
    place.mkdir()
    policy = world.write(place, kind)
    return Run(
        policy=str(policy), target=TARGET, data=str(place / "people.csv"), party=USER, owner=OWNER,
        out=str(place / "out"),
    )  # fmt: skip


def submit(folder: Path, name: str, kind: Kind, tries: int) -> StoredJob:
    return queue.submit(world.registry(folder), request_in(folder, name, kind), tries=tries)


def submit_audit(folder: Path, name: str) -> StoredJob:
    """A training of a model under an audit duty, which its model meets."""
    place = folder / name
    place.mkdir()
    model_worlds.people(place)
    model_worlds.policy(place, noise=False)
    request = Audit(
        policy=str(place / "policy.jsonld"), target=model_worlds.TARGET, data=str(place / "people.csv"),
        party=model_worlds.USER, owner=model_worlds.OWNER, out=str(place / "out"),
    )  # fmt: skip
    return queue.submit(world.registry(folder), request, tries=1)


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


@pytest.mark.slow
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
def test_eight_audits_and_eight_runs_on_two_workers(tmp_path: Path) -> None:
    jobs = {f"rows-{n}": submit(tmp_path, f"rows-{n}", Kind.ANONYMIZATION, 1) for n in range(4)}
    jobs |= {f"noisy-{n}": submit(tmp_path, f"noisy-{n}", Kind.PERTURBATION, 1) for n in range(4)}
    audits = {f"audit-{n}": submit_audit(tmp_path, f"audit-{n}") for n in range(8)}
    workers = [start(tmp_path, "--drain", "--parallel", "2", "--lease", "60") for _ in range(2)]
    assert [worker.process.wait(_PATIENCE) for worker in workers] == [0, 0]
    registry = world.registry(tmp_path)
    ended = [queue.job_of(registry, job.id) for job in (*jobs.values(), *audits.values())]
    assert [(job.state, job.attempts) for job in ended] == [(JobState.DONE, 1)] * 16
    assert len({job.worker for job in ended}) == 2
    assert len(registry.ledger.budget(IRI(TARGET)).charges) == 4
    for name in audits:
        out = tmp_path / name / "out"
        assert len([version for version in registry.outputs.all() if version.path == out]) == 1
        assert leftovers(tmp_path / name) == []
    check_all(tmp_path, jobs)


@pytest.mark.slow
def test_a_worker_on_postgresql_is_killed_and_another_one_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(secret.ENVIRONMENT, "a secret of more than thirty-two characters")
    with postgresql_server.running(postgresql_server.required()) as server:
        monkeypatch.setenv("SMALTI_REGISTRY", server.format("postgres"))
        registry = Registry.open(server.format("postgres"))
        jobs = [
            queue.submit(registry, request_in(tmp_path, name, Kind.ANONYMIZATION), tries=2) for name in "ab"
        ]
        first = start(tmp_path, "--parallel", "2")
        until = time.monotonic() + _PATIENCE
        while not any(job.phase for job in queue.jobs(registry)):
            assert time.monotonic() < until, first.words
            time.sleep(0.02)
        first.process.kill()
        first.process.wait()
        while any(job.state is JobState.RUNNING for job in queue.jobs(registry)):
            assert time.monotonic() < until
            time.sleep(0.1)
        second = start(tmp_path, "--drain")
        assert second.process.wait(_PATIENCE) == 0, second.words
        ended = [queue.job_of(registry, job.id) for job in jobs]
        assert [job.state for job in ended] == [JobState.DONE] * 2, [job.reason for job in ended]
        assert max(job.attempts for job in ended) == 2
        assert [len(job.result.versions) for job in ended if job.result] == [1, 1]
        assert {str(job.folder) for job in ended} == {f"{tmp_path}/smalti.jobs/{job.id}" for job in jobs}
        assert leftovers(tmp_path / "a") == leftovers(tmp_path / "b") == []
        registry.close()
