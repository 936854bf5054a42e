"""Jobs for tests, and a process that stands for theirs."""

import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from smalti.engine.jobs import attempts, queue
from smalti.engine.jobs.requests import CheckPolicies
from smalti.engine.jobs.worker import Worker, WorkerChoices
from smalti.engine.registry.job_entries import StoredJob
from smalti.engine.registry.registry import Registry
from smalti.vocab.terms import IRI

PARTY, OTHER = IRI("http://example.com/party/a"), IRI("http://example.com/party/b")
CHECK = CheckPolicies(files=("/policy.jsonld",))
SHORT = timedelta(seconds=3)
STUB = """
import json, os, signal, sys, time
errand = json.loads(sys.stdin.readline())
folder = errand["folder"]
def say(**status):
    with open(folder + "/draft", "w") as file:
        json.dump(status, file)
    os.replace(folder + "/draft", folder + "/status.json")
phase = {"phase": "works", "since": "2026-01-01T00:00:00Z"}
say(**phase)
"""
"""What each of the processes below begins with."""
DONE = STUB + "say(result={'exit_code': 0}, **phase)"
WAITS = STUB + "time.sleep(60)"
CLEANS_UP = STUB + (
    "def stop(*_):\n    say(was_stopped=True, **phase)\n    sys.exit(3)\n"
    "signal.signal(signal.SIGTERM, stop)\ntime.sleep(60)"
)
STUBBORN = STUB + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsay(phase='deaf')\ntime.sleep(60)"
DIES = STUB + "os.kill(os.getpid(), signal.SIGKILL)"


def instead(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let a script be the process of each job."""
    monkeypatch.setattr(attempts, "command", lambda: [sys.executable, "-c", script])


def submitted(registry: Registry, **choices: object) -> StoredJob:
    return queue.submit(registry, CHECK, party=PARTY, **choices)  # type: ignore[arg-type]


def claimed(registry: Registry, worker: str = "worker", lease: timedelta = SHORT) -> StoredJob:
    job = registry.jobs.claim(worker, Path("/nowhere"), lease)
    assert job is not None
    return job


class Turns:
    """Calls a function in each turn of a worker, in place of its wait.

    All threads share `time.sleep`: those of others, such as a Spark session's, wait as ever.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, turn: Callable[[], None]) -> None:
        from smalti.engine.jobs import worker  # noqa: PLC0415

        self._sleep = worker.time.sleep
        self._turn = turn
        self._thread = threading.get_ident()
        monkeypatch.setattr(worker.time, "sleep", self._pause)

    def _pause(self, seconds: float) -> None:
        if threading.get_ident() != self._thread:
            self._sleep(seconds)
            return
        self._turn()
        self._sleep(min(seconds, 0.02))


def worker_of(folder: Path, registry: Registry, said: list[str], **choices: object) -> Worker:
    settings = {"name": "worker", "lease": SHORT} | choices
    place = str(folder / "r.sqlite")
    return Worker(
        registry,
        WorkerChoices(location=place, folder=folder / "r.sqlite.jobs", **settings),  # type: ignore[arg-type]
        said.append,
    )
