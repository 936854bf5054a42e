"""One attempt at a job: its process, and what becomes of it."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from smalti.engine.jobs.errands import COMMAND, RENEWAL, Errand
from smalti.engine.jobs.folders import JobFolder, Status
from smalti.engine.jobs.requests import Audit, JobRequest, Run
from smalti.engine.registry.commit import recover, sweep
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.job_entries import JobResult, JobState, StoredJob
from smalti.engine.registry.registry import Registry
from smalti.errors import BackendError


def command() -> list[str]:
    """Of the process of a job, whatever the job."""
    return [sys.executable, "-m", "smalti", "--no-settings", COMMAND]


@dataclass(frozen=True, slots=True)
class Ending:
    """What an attempt came to."""

    state: JobState
    reason: str = ""
    result: JobResult | None = None


@dataclass(slots=True)
class Attempt:
    """A process that works on a job."""

    job: StoredJob
    folder: JobFolder
    process: "subprocess.Popen[bytes]"
    kill_after: timedelta
    """How long it may take to end once it is told to."""
    status: Status = field(default_factory=Status)
    """What was last heard of it."""
    is_asked_for: bool = False
    """Whether who asked for the job told it to stop."""
    _stopping_since: float | None = None

    @classmethod
    def begin(cls, job: StoredJob, errand: Errand, kill_after: timedelta) -> "Attempt":
        """Start the process.

        Raises:
            BackendError: the machine does not let it.
        """
        folder = JobFolder(errand.folder)
        folder.prepare()
        environment = os.environ | {"TMPDIR": str(folder.scratch)}
        try:
            with open(folder.log, "ab", opener=_privately) as log:
                process = subprocess.Popen(  # noqa: S603 (this very program)
                    command(), cwd=folder.path, env=environment, stdin=subprocess.PIPE, stdout=log,
                    stderr=log, start_new_session=True, bufsize=0,
                )  # fmt: skip
        except OSError as error:
            raise BackendError(
                str(folder.path), f"no process could be started ({error.strerror})", "a machine with room"
            ) from None
        attempt = cls(job, folder, process, kill_after)
        attempt._say(errand.to_line())
        return attempt

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def renew(self) -> None:
        """Let the process go on for another while."""
        self._say(RENEWAL)

    def stop(self) -> None:
        """Tell the process to clean up and end; once."""
        if self._stopping_since is None:
            self._stopping_since = time.monotonic()
            with suppress(OSError):
                self.process.terminate()

    def press(self) -> None:
        """Kill what does not end by itself."""
        since = self._stopping_since
        if since is not None and time.monotonic() - since > self.kill_after.total_seconds():
            self.kill()

    def kill(self) -> None:
        """Kill the process, and all that it started."""
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def clear(self) -> None:
        """Remove what the process needed, once it is gone."""
        self.process.wait()
        self.kill()  # what it started, and left
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        self.folder.clear()

    def ending(self, *, worker_stops: bool) -> Ending:
        """What became of a process that is gone.

        Args:
            worker_stops: whether the worker itself was told to stop, and ended it.
        """
        status, may_try_again = self.folder.status, self.job.attempts < self.job.tries
        if status.result is not None:
            state = JobState.FAILED if status.error else JobState.DONE
            return Ending(state, status.error, status.result)
        if self.is_asked_for:
            return Ending(JobState.STOPPED, "it was told to stop")
        if worker_stops:
            again = may_try_again or self.folder.holds_work
            return Ending(JobState.QUEUED if again else JobState.STOPPED, "its worker was stopped")
        if status.was_cut_off:
            again = may_try_again or self.folder.holds_work
            return Ending(
                JobState.QUEUED if again else JobState.DIED, "its worker was too slow to renew it"
            )
        if status.was_stopped:
            return Ending(JobState.STOPPED, "its process was told to stop")
        code = self.process.returncode
        how = (
            f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}, without a word"
        )
        return Ending(JobState.QUEUED if may_try_again else JobState.DIED, f"its process {how}")

    def _say(self, line: bytes) -> None:
        if self.process.stdin is not None:
            with suppress(OSError):  # it is gone, which is seen elsewhere
                self.process.stdin.write(line)


def settle_lost(registry: Registry, job: StoredJob, request: JobRequest, most: int) -> Ending | None:
    """Tidy up after the worker of a job that was lost, and see whether there is anything left to do.

    Args:
        registry: of the job.
        job: as it was taken over.
        request: of it.
        most: attempts at work that keeps a checkpoint.

    Returns:
        What the lost attempt came to; None: the job is to be begun again.

    Raises:
        RegistryError: it cannot be read or written.
    """
    folder = JobFolder(job.folder or Path())
    folder.kill()
    folder.clear()
    if (ending := settle_published(registry, job, request)) is not None:
        return ending
    if job.wants_stop:
        return Ending(JobState.STOPPED, "it was told to stop")
    if job.attempts <= job.tries or (folder.holds_work and job.attempts <= most):
        return None
    return Ending(JobState.DIED, "its worker was lost")


def settle_published(registry: Registry, job: StoredJob, request: JobRequest) -> Ending | None:
    """End what a process left that is gone without a word, and see whether it had published before.

    Raises:
        RegistryError: it cannot be read or written.
    """
    recover(registry)
    if not isinstance(request, Run | Audit):
        return None
    sweep(Path(request.out).parent)
    versions = _published(registry, job, request)
    if not versions:
        return None
    listed = tuple(version.iri for version in versions)
    return Ending(JobState.DONE, "", JobResult(0, versions[0].target, listed, versions[0].path))


def _published(registry: Registry, job: StoredJob, request: Run | Audit) -> list[TargetVersion]:
    """The versions that the attempts at a job registered: a folder is published to once."""
    place, since = Path(request.out), job.submitted_at
    return [
        version
        for version in registry.outputs.all()
        if version.path == place and version.party == request.party
        and version.recorded_at is not None and version.recorded_at >= since
    ]  # fmt: skip


def _privately(path: str, flags: int) -> int:
    """Open a file that its owner alone may read."""
    return os.open(path, flags, 0o600)
