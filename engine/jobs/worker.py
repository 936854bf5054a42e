"""A worker: takes jobs of a registry, each into a process of its own, and says what becomes of them.

Any number of workers share a registry. Each renews the leases of its jobs; one that does not hear from the
registry any more ends its processes before the leases run out, and a process whose worker is gone ends by
itself. So no job has two processes, however a worker ends.
"""

import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Final

from smalti.engine.jobs.attempts import Attempt, Ending, settle_lost, settle_published
from smalti.engine.jobs.errands import Errand
from smalti.engine.jobs.queue import request_of
from smalti.engine.registry.job_entries import JobState, StoredJob
from smalti.engine.registry.registry import Registry
from smalti.errors import RegistryError, SmaltiError

LEASE: Final = timedelta(seconds=60)
KILL_AFTER: Final = timedelta(seconds=30)
MOST_ATTEMPTS: Final = 20
"""At work that keeps a checkpoint, and whose workers were lost."""
_RENEWALS: Final = 6
"""Of a lease before it runs out."""
_OWN_STATES: Final = frozenset({JobState.RUNNING, JobState.DIED})
_TURN_SECONDS: Final = 0.1
_LOOK_SECONDS: Final = 0.5
"""Between two looks into the queue."""


class Until(Enum):
    """When a worker ends by itself."""

    STOPPED = "stopped"
    """Never."""
    EMPTY = "empty"
    """When nothing waits, and nothing runs any more."""
    FIRST = "first"
    """After one job; at once where nothing waits."""


def own_name() -> str:
    """A name for a worker that no other one has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerChoices:
    """How a worker works."""

    location: str
    """Of the registry, for the processes: a path, absolute, or an address."""
    folder: Path
    """Where private folders of jobs are made, absolute."""
    name: str
    parallel: int = 1
    """The most jobs at once."""
    lease: timedelta = LEASE
    kill_after: timedelta = KILL_AFTER
    """How long a process that is told to stop may take."""
    events: str | None = None
    """As in `Errand`."""


@dataclass(slots=True)
class Worker:
    """One worker of a registry."""

    registry: Registry
    choices: WorkerChoices
    say: Callable[[str], None]
    """Called with one line for each event; none holds a data value."""
    _running: list[Attempt] = field(default_factory=list)
    _token: str = field(default_factory=lambda: secrets.token_hex(8))
    _is_told: bool = False
    _begun: int = 0
    _renewed: float = 0.0
    _looked: float = 0.0
    """When nothing was seen to wait."""
    _heeded: float = 0.0
    """When it was last seen who is to be stopped."""
    _answered: float = 0.0
    """When the registry last did."""
    _is_cut_off: bool = False

    def tell_to_stop(self) -> None:
        """Begin no further job, end those that run, and return from `work`. May be called by a signal."""
        self._is_told = True

    def work(self, until: Until = Until.STOPPED, job_id: str | None = None) -> None:
        """Work until told to stop, or as long as `until` says.

        Jobs that run when it is told to stop are ended as `smalti jobs stop` ends them. They are queued
        again where they kept a checkpoint or may be tried again, and stopped otherwise.

        Args:
            until: when to end by itself.
            job_id: the id of the one job that it may take; None: any.

        Raises:
            UsageError: another worker has its name.
            RegistryError: the registry did not answer for the time of a lease; its processes are ended.
        """
        self._enter()
        try:
            while not self._is_told and self._is_needed(until, job_id):
                time.sleep(_TURN_SECONDS)
        finally:
            self._end_all()
            with suppress(RegistryError):
                self.registry.jobs.leave(self.choices.name, self._token)

    # --- Turns

    def _enter(self) -> None:
        choices = self.choices
        host, process = socket.gethostname(), os.getpid()
        is_first = not self._answered
        self.registry.jobs.enter(
            choices.name, self._token, host, process, choices.lease, may_create=is_first
        )
        self._renewed = self._answered = time.monotonic()

    def _is_needed(self, until: Until, job_id: str | None) -> bool:
        """Do what there is to do now; False: there is nothing left that it should wait for."""
        try:
            if self._is_due():
                self._stay()
            self._tend()
            has_seen_all = self._begin_jobs(until, job_id)
        except RegistryError as error:
            self._bear(error)
            return True
        self._answered, self._is_cut_off = time.monotonic(), False
        return until is Until.STOPPED or bool(self._running) or not has_seen_all

    def _is_due(self) -> bool:
        return time.monotonic() - self._renewed > self.choices.lease.total_seconds() / _RENEWALS

    def _stay(self) -> None:
        """Keep the worker's name and the leases of its jobs."""
        self._enter()
        for attempt in list(self._running):
            self._beat(attempt)

    def _bear(self, error: RegistryError) -> None:
        """Go on without the registry, but no longer than leases last.

        Raises:
            RegistryError: that is over.
        """
        for attempt in self._running:
            attempt.press()
        if time.monotonic() - self._answered > self.choices.lease.total_seconds():
            raise error
        if not self._is_cut_off:
            self._is_cut_off = True
            self.say(f"{error}; trying again until the lease runs out")

    # --- Beginning

    def _begin_jobs(self, until: Until, job_id: str | None) -> bool:
        """Take jobs as long as there are any, and room for them; whether nothing waits for it any more."""
        if until is Until.FIRST and self._begun:
            return True
        if len(self._running) >= self.choices.parallel:
            return False
        if self._begun and time.monotonic() - self._looked < _LOOK_SECONDS:
            return False
        choices = self.choices
        job = self.registry.jobs.claim(choices.name, choices.folder, choices.lease, job_id)
        if job is None:
            self._looked = time.monotonic()
            return True
        self._begun += 1
        self._begin(job)
        return False

    def _begin(self, job: StoredJob) -> None:
        try:
            request = request_of(job)
            ending = (
                settle_lost(self.registry, job, request, MOST_ATTEMPTS)
                if job.was_lost and job.folder is not None
                else None
            )
            if ending is None and self._is_still_own(job):
                attempt = Attempt.begin(job, self._errand(job), self.choices.kill_after)
                self._running.append(attempt)
                self.say(f"job {job.id}: {job.kind} begins (attempt {job.attempts})")
            if ending is None:
                return
        except RegistryError:
            raise
        except SmaltiError as error:
            ending = Ending(JobState.FAILED, str(error))
        self._record(job, ending)

    def _is_still_own(self, job: StoredJob) -> bool:
        """Renew the lease after what was done about a lost worker, which may have taken a while."""
        lease = self.choices.lease
        return not job.was_lost or self.registry.jobs.beat(job.lease, lease, "", None) is not None

    def _errand(self, job: StoredJob) -> Errand:
        lease = self.choices.lease
        folder = job.folder or self.choices.folder
        return Errand(
            self.choices.location, job.lease, folder, job.request, lease * 2 / 3, lease / 6,
            self.choices.events,
        )  # fmt: skip

    # --- Looking after what runs

    def _tend(self) -> None:
        for attempt in list(self._running):
            if not attempt.is_alive:
                self._finish(attempt, worker_stops=False)
                continue
            attempt.press()
            status = attempt.folder.status
            if (status.phase, status.since) != (attempt.status.phase, attempt.status.since):
                attempt.status = status
                self._beat(attempt)
        if time.monotonic() - self._heeded > _LOOK_SECONDS:
            self._heeded = time.monotonic()
            for attempt in list(self._running):
                self._heed(attempt, self.registry.jobs.get(attempt.job.id))

    def _beat(self, attempt: Attempt) -> None:
        status = attempt.status
        lease, phase = attempt.job.lease, status.phase
        job = self.registry.jobs.beat(lease, self.choices.lease, phase, status.since)
        if job is not None:
            attempt.renew()
        self._heed(attempt, job)

    def _heed(self, attempt: Attempt, job: StoredJob | None) -> None:
        """Stop an attempt that is told to, and kill one that is somebody else's."""
        # A lease that has run out, and that nobody else took, is renewed.
        is_own = job is not None and job.lease == attempt.job.lease
        if job is None or not is_own or job.state not in _OWN_STATES:
            attempt.kill()
            attempt.clear()
            self._running.remove(attempt)
            self.say(f"job {attempt.job.id}: somebody else has it by now; its process was killed")
        elif job.wants_stop:
            attempt.is_asked_for = True
            attempt.stop()

    def _finish(self, attempt: Attempt, *, worker_stops: bool) -> None:
        attempt.clear()
        status = attempt.folder.status
        if status.phase != attempt.status.phase:
            self.registry.jobs.beat(attempt.job.lease, self.choices.lease, status.phase, status.since)
        ending = attempt.ending(worker_stops=worker_stops)
        if ending.result is None:
            request = request_of(attempt.job)
            ending = settle_published(self.registry, attempt.job, request) or ending
        self._record(attempt.job, ending)
        self._running.remove(attempt)

    def _record(self, job: StoredJob, ending: Ending) -> None:
        is_recorded = self.registry.jobs.end(job.lease, ending.state, ending.reason, ending.result)
        words = f"{ending.state}, {ending.reason}" if ending.reason else f"{ending.state}"
        self.say(f"job {job.id}: {words if is_recorded else 'somebody else has it by now'}")

    # --- Ending

    def _end_all(self) -> None:
        """End the processes that are left; their jobs are recorded as far as the registry answers."""
        for attempt in self._running:
            attempt.stop()
        while any(attempt.is_alive for attempt in self._running):
            for attempt in self._running:
                attempt.press()
            with suppress(RegistryError):
                if self._is_due():
                    self._stay()
            time.sleep(_TURN_SECONDS)
        for attempt in list(self._running):
            with suppress(RegistryError):
                self._finish(attempt, worker_stops=True)
