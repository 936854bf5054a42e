"""The process of a job: reads what to do from its worker, does it, and writes down how it ended."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from smalti.cli.interrupts import check
from smalti.cli.leash import channel_of_worker, leashed, read_errand
from smalti.cli.options import MACHINE
from smalti.cli.progress import CommandWatch, watching
from smalti.cli.startup import let_pandas_in
from smalti.engine.jobs.errands import Errand
from smalti.engine.jobs.folders import JobFolder, Status
from smalti.engine.jobs.requests import JobRequest, PolicyOnData, from_json
from smalti.engine.registry.job_entries import JobResult, JobState
from smalti.engine.registry.registry import Registry
from smalti.engine.tables import locks
from smalti.errors import RegistryError, SmaltiError, UsageError, unforeseen

if TYPE_CHECKING:
    from smalti.engine.registry.job_entries import Lease


def work() -> int:
    """Do what a worker says on standard input; the exit code."""
    channel = channel_of_worker()
    errand = read_errand(channel)
    folder = JobFolder(errand.folder)
    with _held(folder), leashed(channel, errand) as is_cut_off:
        watch = JobWatch(folder, Registry.open(errand.registry, log_decisions=False), errand.lease)
        return _performed(errand, folder, watch, is_cut_off)


def _performed(errand: Errand, folder: JobFolder, watch: "JobWatch", is_cut_off: threading.Event) -> int:
    from smalti.cli.performing import perform

    request = from_json(errand.request)
    if isinstance(request, PolicyOnData) and request.engine == "spark":
        let_pandas_in()
    if errand.events is not None:
        from smalti.cli.runs import tell_runs

        tell_runs(watch, errand.events)
    try:
        check_files(watch.registry, request)
        with watching(watch):
            result = perform(request, errand.registry, folder.report)
    except (KeyboardInterrupt, click.exceptions.Abort):
        watch.end(was_stopped=True, was_cut_off=is_cut_off.is_set())
        raise
    except SmaltiError as error:
        watch.end(JobResult(error.exit_code), str(error))
        raise
    except Exception as error:
        fault = unforeseen(error)
        watch.end(JobResult(MACHINE), str(fault))
        raise fault from None
    watch.end(result)
    return result.exit_code


def check_files(registry: Registry, request: JobRequest) -> None:
    """Refuse files that were bound by name, and in whose places links stand by now.

    Raises:
        UsageError: likewise.
    """
    from smalti.describing import check_as_bound

    stated = [getattr(request, field.name) for field in fields(request)]
    places = {text for value in stated for text in (value if isinstance(value, tuple) else (value,))}
    for bound in registry.bindings.in_force():
        if str(bound.place) in places:
            check_as_bound(bound)


class JobWatch(CommandWatch):
    """Writes down each phase of a job as it begins, unless the job is somebody else's by then."""

    def __init__(self, folder: JobFolder, registry: Registry, lease: "Lease") -> None:
        super().__init__()
        self._folder, self.registry, self._lease = folder, registry, lease
        self._status = Status()
        self.checkpoint = folder.checkpoint

    def phase(self, name: str) -> None:
        """A phase begins.

        Raises:
            KeyboardInterrupt: another worker took the job over, or it was told to stop.
        """
        check()
        self._check_is_own()
        super().phase(name)
        self._write(Status(name, datetime.now(UTC)))

    def end(
        self,
        result: JobResult | None = None,
        error: str = "",
        *,
        was_stopped: bool = False,
        was_cut_off: bool = False,
    ) -> None:
        """How the process ends."""
        ended = replace(self._status, result=result, error=error)
        self._write(replace(ended, was_stopped=was_stopped, was_cut_off=was_cut_off))

    def _check_is_own(self) -> None:
        # INVARIANT: nothing is registered by an attempt that another one has followed. The last phase of a
        # run begins before it publishes.
        with suppress(RegistryError):  # then the leash ends it
            job = self.registry.jobs.get(self._lease.job)
            if job is None or job.lease != self._lease or job.state is JobState.QUEUED:
                raise KeyboardInterrupt

    def _write(self, status: Status) -> None:
        self._status = status
        self._folder.say(status)


@contextmanager
def _held(folder: JobFolder) -> Iterator[None]:
    """Hold the lock of the folder until the end of the block.

    Raises:
        UsageError: another process does.
    """
    lock = locks.taken_from_lookers(folder.lock)
    if lock is None:
        raise UsageError(str(folder.path), "a process works in it already", "a job that is not running")
    folder.process.write_text(str(os.getpid()), encoding="utf-8")
    try:
        yield
    finally:
        os.close(lock)
