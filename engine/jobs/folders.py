"""The private folder of a job: what its process says, and what it keeps.

It lies beside the registry, and stays on the machine of the worker that first had the job. It holds the
last words of the job's processes, how the last of them ended, reports for the owner of the data, and the
checkpoint from which a training can be taken up again: from when its model exists until that is refused or
registered. A process is alive exactly as long as it holds the lock of its folder.
"""

import os
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smalti.engine.binding.checkpoints import holds_work
from smalti.engine.registry.job_entries import JobResult
from smalti.engine.registry.registry import Registry
from smalti.engine.tables import locks
from smalti.errors import BackendError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_PRIVATE: Final = 0o700
_LINES: Final = 20
"""Of the last words that are shown."""
_ENDING_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Status:
    """What a process says of itself."""

    phase: str = ""
    since: datetime | None = None
    """When the phase began."""
    result: JobResult | None = None
    """Once it ended by itself."""
    error: str = ""
    """The error that it ended with."""
    was_stopped: bool = False
    was_cut_off: bool = False
    """Whether it was stopped because its worker was not heard of for too long."""


def folder_beside(registry: Registry) -> Path:
    """Where the folders of a registry's jobs are; of one on a server, in the working folder."""
    path = registry.path
    return Path("smalti.jobs").absolute() if path is None else path.with_name(path.name + ".jobs")


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The folder of one job."""

    path: Path

    def prepare(self) -> None:
        """Make the folder for an attempt, without what the one before said.

        Raises:
            BackendError: the disk.
        """
        try:
            self.path.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            self.path.mkdir(mode=_PRIVATE, exist_ok=True)
            self.clear()
            self.scratch.mkdir(mode=_PRIVATE)
            self._status.unlink(missing_ok=True)
            self.report.unlink(missing_ok=True)
        except OSError as error:
            raise BackendError(
                str(self.path), f"the disk failed ({error.strerror})", "a folder that you may write to"
            ) from None

    def clear(self) -> None:
        """Remove what only a living process needs."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        with suppress(OSError):
            self.process.unlink(missing_ok=True)

    @property
    def lock(self) -> Path:
        """Held by the process of the job."""
        return self.path / "lock"

    @property
    def process(self) -> Path:
        """The number of the process, and of its group."""
        return self.path / "pid"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def checkpoint(self) -> Path:
        """Where a training keeps what it has done."""
        return self.path / "checkpoint"

    @property
    def scratch(self) -> Path:
        """For temporary files of the process."""
        return self.path / "scratch"

    @property
    def report(self) -> Path:
        """Where a report is written that has no other place."""
        return self.path / "report.json"

    @property
    def _status(self) -> Path:
        return self.path / "status.json"

    @property
    def is_alive(self) -> bool:
        """Whether a process works here."""
        return locks.is_held(self.lock)

    @property
    def holds_work(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return holds_work(self.checkpoint)

    @property
    def status(self) -> Status:
        """What the process said last; empty where it said nothing."""
        try:
            return _statuses().validate_json(self._status.read_bytes())
        except (OSError, ValueError):
            return Status()

    def say(self, status: Status) -> None:
        """Write down the status, whole."""
        draft = self.path / "status.draft"
        draft.write_bytes(_statuses().dump_json(status))
        os.replace(draft, self._status)

    @property
    def last_words(self) -> str:
        """The last lines that processes printed."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-_LINES:])

    def kill(self) -> None:
        """End a process of an earlier attempt that is still there, with all that it started."""
        until = time.monotonic() + _ENDING_SECONDS
        while self.is_alive and time.monotonic() < until:
            with suppress(OSError, ValueError):
                os.killpg(int(self.process.read_text(encoding="utf-8")), signal.SIGKILL)
            time.sleep(_POLL_SECONDS)


@cache
def _statuses() -> "TypeAdapter[Status]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (imports Rust)

    return TypeAdapter(Status)
