"""Jobs as a registry keeps them: what is to be done is a text to it, which `engine.jobs` understands."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from smalti.vocab.terms import IRI


class JobState(StrEnum):
    """What becomes of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    """It came to its end, whatever that is: a denial and findings are results (`JobResult.exit_code`)."""
    FAILED = "failed"
    """It ended with an error, which `StoredJob.reason` says."""
    STOPPED = "stopped"
    DIED = "died"
    """Its process or its worker is gone without a word."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens by itself."""
        return self not in _UNDER_WAY


_UNDER_WAY: Final = frozenset({JobState.QUEUED, JobState.RUNNING})


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended by itself."""

    exit_code: int
    """As the command line's: 0 done, 1 findings or a denial, 2 wrong usage, 3 the machine."""
    target: IRI | None = None
    """The output that it added a version to."""
    versions: tuple[IRI, ...] = ()
    """The versions that it registered."""
    out: Path | None = None
    """The folder that was published."""
    report: Path | None = None
    """A file with figures for the owner of the data, in JSON."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's hold on a job: whoever has an earlier attempt than the last may change nothing."""

    job: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job that is asked for."""

    id: str
    """Opaque; nobody else's."""
    kind: str
    request: str
    """As JSON."""
    party: IRI | None = None
    """Who asked; asserted by the caller. None: nobody said."""
    priority: int = 0
    """Smaller ones are begun first, and equal ones in the order in which they came."""
    tries: int = 1
    """How often it may be begun where it dies before its end. One that kept a checkpoint is taken up again
    all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJob(NewJob):
    """A job, as it was when it was asked for."""

    state: JobState
    """`DIED`, too, where the registry says that it runs, and its lease has run out."""
    attempts: int
    """How often it was begun."""
    submitted_at: datetime
    worker: str = ""
    """Who had it last."""
    folder: Path | None = None
    """Its private folder, on the machine of the worker that first had it."""
    lease_until: datetime | None = None
    """While it runs."""
    beat_at: datetime | None = None
    """When its worker was last heard of."""
    was_lost: bool = False
    """Whether its last attempt began because the worker of the one before was lost."""
    wants_stop: bool = False
    """Whether it was told to stop, and its worker has not done so yet."""
    phase: str = ""
    phase_since: datetime | None = None
    reason: str = ""
    """Why it failed, stopped or died; holds no data value."""
    result: JobResult | None = None
    """Once it has ended by itself."""
    started_at: datetime | None = None
    """When the last attempt began."""
    ended_at: datetime | None = None

    @property
    def lease(self) -> Lease:
        """The hold of whoever began the last attempt."""
        return Lease(self.id, self.attempts)


@dataclass(frozen=True, slots=True)
class StoredWorker:
    """A worker of a registry."""

    name: str
    host: str
    process: int
    lease_until: datetime
    is_alive: bool
    """Whether it was heard of within its lease."""
