"""Audits that run by themselves: each in a process and a private folder of its own.

The folder lies beside the registry. It holds how the process was started, what phase it is in, its last
words, and the checkpoint from which it can be taken up again: from when its model exists until that is
refused or registered (`checkpoint`). A process is alive exactly as long as it holds the lock of its folder,
so one that was killed is seen to be dead.
"""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from smalti.engine.binding.run_request import Watch
from smalti.engine.tables import locks
from smalti.engine.training.checkpoint import holds_model
from smalti.errors import BackendError, SmaltiError, UsageError

_PRIVATE: Final = 0o700
_STARTING_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05
_LINES: Final = 20
"""Of the last words that are shown."""


class JobState(StrEnum):
    """What a job is doing."""

    RUNNING = "running"
    ENDED = "ended"
    STOPPED = "stopped"
    DIED = "died"
    """Its process is gone without a word: `resume` takes it up again."""


@dataclass(frozen=True, slots=True)
class Status:
    """The last status of a job."""

    phase: str = ""
    since: str = ""
    """When the phase began, in UTC."""
    exit_code: int | None = None
    """Of the process, once it ended by itself."""
    was_stopped: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One audit."""

    name: str
    folder: Path
    arguments: tuple[str, ...]
    """Of `smalti run`."""
    workplace: str
    """The folder that it was started in, which relative paths are about."""
    started_at: datetime

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The job of a folder.

        Raises:
            UsageError: it is none.
        """
        try:
            record = json.loads((folder / "job.json").read_text(encoding="utf-8"))
            started_at = datetime.fromisoformat(record["started_at"])
            return cls(folder.name, folder, tuple(record["arguments"]), record["workplace"], started_at)
        except (OSError, ValueError, KeyError, TypeError):
            raise UsageError(
                str(folder), "not the folder of an audit", "a folder that `smalti audit start` created"
            ) from None

    @property
    def checkpoint(self) -> Path:
        """Where a training keeps what it has done."""
        return self.folder / "checkpoint"

    @property
    def status(self) -> Status:
        try:
            return Status(**json.loads((self.folder / "status.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return Status()

    @property
    def state(self) -> JobState:
        if locks.is_held(self.folder / "lock"):
            return JobState.RUNNING
        status = self.status
        if status.was_stopped:
            return JobState.STOPPED
        return JobState.DIED if status.exit_code is None else JobState.ENDED

    @property
    def last_words(self) -> str:
        """The last lines that the process printed."""
        try:
            lines = (self.folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-_LINES:])

    @contextmanager
    def worked_on(self) -> Iterator["Worker"]:
        """Hold the lock of this job until the end of the block.

        Raises:
            UsageError: another process is.
        """
        lock = locks.taken_from_lookers(self.folder / "lock")
        if lock is None:
            raise UsageError(f"audit {self.name}", "it is running already", "an audit that is not running")
        (self.folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
        # A shell starts what it puts into the background with this signal ignored, and so are its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        worker = Worker(self)
        try:
            yield worker
            worker.say(exit_code=worker.exit_code)
        except (KeyboardInterrupt, SystemExit):
            worker.say(was_stopped=True)
            raise
        except SmaltiError as error:
            worker.say(exit_code=error.exit_code)
            raise
        finally:
            os.close(lock)


class Worker(Watch):
    """Writes down each phase of a job as it begins."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._job = job
        self._status = Status()
        self.exit_code = 0
        """Of the process, where it ends by itself."""

    def phase(self, name: str) -> None:
        super().phase(name)
        self._write(Status(name, datetime.now(UTC).isoformat(timespec="seconds")))

    def say(self, *, exit_code: int | None = None, was_stopped: bool = False) -> None:
        """How the process ends."""
        status = self._status
        self._write(Status(status.phase, status.since, exit_code, was_stopped))

    @property
    def checkpoint(self) -> Path:
        """Where a training keeps what it has done."""
        return self._job.checkpoint

    def _write(self, status: Status) -> None:
        self._status = status
        draft = self._job.folder / "status.draft"
        draft.write_text(json.dumps(asdict(status)), encoding="utf-8")
        os.replace(draft, self._job.folder / "status.json")


@dataclass(frozen=True, slots=True)
class Jobs:
    """The audits of one registry."""

    folder: Path

    @classmethod
    def beside(cls, registry: Path | None) -> Self:
        """Those of a registry in a file; of one on a server, those in the working folder."""
        return cls(
            Path("smalti.audits").absolute()
            if registry is None
            else registry.with_name(registry.name + ".audits")
        )

    def all(self) -> tuple[Job, ...]:
        """Oldest first."""
        jobs = []
        for path in self.folder.glob("*"):
            with suppress(UsageError):  # one that is being made
                jobs.append(Job.at(path))
        return tuple(sorted(jobs, key=lambda job: job.started_at))

    def find(self, name: str) -> Job:
        """The job of a name, or of the only name that begins so.

        Raises:
            UsageError: there is none, or there are several.
        """
        jobs = [job for job in self.all() if name and job.name.startswith(name)]
        if len(jobs) != 1:
            raise UsageError(
                f"audit {name}",
                f"several audits in {self.folder.name} have names that begin so"
                if jobs
                else f"{self.folder.name}, beside the registry, has no audit of this name",
                "the name of an audit that was started with this registry",
                "`smalti audit list` shows them; name another registry with --registry",
            )
        return jobs[0]

    def start(self, arguments: Sequence[str]) -> Job:
        """Start an audit in a process of its own, which goes on when this one ends.

        Args:
            arguments: of `smalti run`.

        Raises:
            BackendError: the machine does not let it.
        """
        name = uuid.uuid4().hex[:8]
        job = Job(name, self.folder / name, tuple(arguments), os.getcwd(), datetime.now(UTC))
        try:
            self.folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            job.folder.mkdir(mode=_PRIVATE)
            record = {
                "arguments": list(job.arguments),
                "workplace": job.workplace,
                "started_at": job.started_at.isoformat(),
            }
            _write_privately(job.folder / "job.json", json.dumps(record))
        except OSError as error:
            raise BackendError(
                str(self.folder), f"the disk failed ({error.strerror})", "a folder that you may write to"
            ) from None
        _spawn(job)
        return job

    def resume(self, name: str) -> Job:
        """Resume an audit whose process is gone; completed work is not repeated.

        One that ended with an error can be taken up as long as it keeps a model, which was neither refused
        nor registered.

        Raises:
            UsageError: it is running, or came to its end.
        """
        job = self.find(name)
        is_open = job.state is JobState.ENDED and holds_model(job.checkpoint)
        if not is_open and job.state not in (JobState.DIED, JobState.STOPPED):
            raise UsageError(
                f"audit {job.name}",
                f"it is {job.state}",
                "an audit that died, was stopped, or ended with an error and keeps a model",
                "start another one",
            )
        _spawn(job)
        return job

    def stop(self, name: str) -> Job:
        """Let the process of an audit end as by Ctrl-C: it cleans up, and leaves no target.

        Raises:
            UsageError: it is not running.
        """
        job = self.find(name)
        if job.state is not JobState.RUNNING:
            raise UsageError(f"audit {job.name}", f"it is {job.state}", "a running audit")
        with suppress(ProcessLookupError):  # it came to its end just now
            os.kill(int((job.folder / "pid").read_text(encoding="utf-8")), signal.SIGINT)
        return job


def _write_privately(path: Path, text: str) -> None:
    """Write a new file for its owner alone: an address among a run's arguments can hold a secret."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _spawn(job: Job) -> None:
    """Start the process of a job, and wait until it holds the lock or is gone."""
    (job.folder / "status.json").unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "smalti",
        "--no-settings",
        "run",
        *job.arguments,
        "--job",
        str(job.folder),
    ]
    with (job.folder / "log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 (this very program)
            command, cwd=job.workplace, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    until = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < until and process.poll() is None and job.state is not JobState.RUNNING:
        time.sleep(_POLL_SECONDS)
