"""The room of jobs: a queue that any number of workers share.

A worker claims a job by one statement, and holds it by a lease that it renews. A lease that ran out is
void: the next worker that looks takes the job over, under the next attempt's number, and what the former
one says of it from then on is refused. Times of leases are by the database server's clock; of a registry in
a file, by this machine's.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import to_text, to_time
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._journal import wall_clock
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.job_entries import JobResult, JobState, Lease, NewJob, StoredJob, StoredWorker
from smalti.errors import RegistryError, UsageError
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_C: Final = db.jobs.c
_QUEUED: Final = JobState.QUEUED.value
_RUNNING: Final = JobState.RUNNING.value
_MOST: Final = 1000
"""Jobs of one page."""
_STOPPABLE: Final = "a job that is queued or running"
_REPEATABLE: Final = "a job that failed, was stopped or died"


@public_methods
@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs of one registry; none is ever removed."""

    _shared: Shared

    # --- For those who ask

    def add(self, new: NewJob) -> StoredJob:
        """Queue a job.

        Returns:
            The job; the earlier one, unchanged, where the same was asked for under the same id.

        Raises:
            UsageError: something else was asked for under its id; nothing was changed.
        """

        def write(connection: Connection, _: None) -> StoredJob:
            now = _clock(connection)
            row = connection.execute(select(db.jobs).where(_C.id == new.id)).first()
            if row is None:
                values = asdict(new) | _BLANK | {"submitted_at": to_text(now)}
                row = connection.execute(insert(db.jobs).values(values).returning(db.jobs)).one()
            elif (row.kind, row.request, row.party) != (new.kind, new.request, new.party):
                raise UsageError(
                    f"job {new.id}", "it asks for something else than before", "the same request",
                    "ask under an id of its own",
                )  # fmt: skip
            return _to_job(row, now)

        return self._shared.database.change(unchecked, write)

    def get(self, name: str) -> StoredJob | None:
        """The job of an id, or None."""
        with self._shared.database.reading() as connection:
            row = connection.execute(select(db.jobs).where(_C.id == name)).first()
            return None if row is None else _to_job(row, _clock(connection))

    def matching(self, beginning: str) -> tuple[StoredJob, ...]:
        """The jobs whose ids begin so; two at most."""
        if not beginning:
            return ()
        starts = _C.id.startswith(beginning, autoescape=True)
        query = select(db.jobs).where(starts).order_by(_C.number).limit(2)
        with self._shared.database.reading() as connection:
            now = _clock(connection)
            return tuple(_to_job(row, now) for row in connection.execute(query).all())

    def listed(
        self,
        *,
        party: IRI | None = None,
        kinds: Sequence[str] = (),
        after: str | None = None,
        limit: int = _MOST,
    ) -> tuple[StoredJob, ...]:
        """Jobs in the order in which they came.

        Args:
            party: who asked for them; None: all of the registry.
            kinds: of them; none: all.
            after: the id of the job that the page begins after; an unknown one gives an empty page.
            limit: of the page.
        """
        query = select(db.jobs).order_by(_C.number).limit(limit)
        if party is not None:
            query = query.where(_C.party == party)
        if kinds:
            query = query.where(_C.kind.in_(kinds))
        if after is not None:
            query = query.where(_C.number > select(_C.number).where(_C.id == after).scalar_subquery())
        with self._shared.database.reading() as connection:
            now = _clock(connection)
            return tuple(_to_job(row, now) for row in connection.execute(query).all())

    def stop(self, name: str) -> StoredJob:
        """Stop a job: at once where nobody runs it, else its worker is told to.

        Raises:
            UsageError: there is none, or it is over.
        """

        def write(connection: Connection, _: None) -> StoredJob:
            now = _clock(connection)
            nobody = (_C.state == _QUEUED) | _is_lost(now)
            ended: dict[str, Any] = {
                "state": JobState.STOPPED.value,
                "reason": "it was told to stop",
                "lease_until": None,
            }
            ended |= {"ended_at": to_text(now)}
            running = _C.state == _RUNNING
            if not _change(connection, name, nobody, ended):
                _required_change(connection, name, running, {"wants_stop": 1}, now, _STOPPABLE)
            return _required(connection, name, now)

        return self._shared.database.change(unchecked, write)

    def retry(self, name: str) -> StoredJob:
        """Queue a job again that failed, was stopped or died.

        Raises:
            UsageError: there is none, it is under way, or it came to its end.
        """

        def write(connection: Connection, _: None) -> StoredJob:
            now = _clock(connection)
            ended = [state.value for state in (JobState.FAILED, JobState.STOPPED, JobState.DIED)]
            again = {"state": _QUEUED, "tries": _C.attempts + 1, "lease_until": None}
            blank = {"wants_stop": 0, "reason": "", "result": None, "phase": "", "ended_at": None}
            may = _C.state.in_(ended) | _is_lost(now)
            _required_change(connection, name, may, again | blank, now, _REPEATABLE)
            return _required(connection, name, now)

        return self._shared.database.change(unchecked, write)

    # --- For workers

    def claim(
        self, worker: str, folder: Path, lease: timedelta, job_id: str | None = None
    ) -> StoredJob | None:
        """Take the next job that is queued, or whose lease has run out, by one statement.

        Args:
            worker: who takes it.
            folder: where the worker keeps private folders of jobs, absolute; that of a job stays there.
            lease: how long it is theirs.
            job_id: the id of the job that it has to be; None: any.

        Returns:
            None where there is none.
        """
        with self._shared.database.reading() as connection:  # so that who waits writes nothing
            if connection.execute(_next(_clock(connection), job_id)).first() is None:
                return None

        def write(connection: Connection, _: None) -> StoredJob | None:
            now = _clock(connection)
            query = _next(now, job_id).with_for_update(skip_locked=True).scalar_subquery()
            values = {
                "state": _RUNNING,
                "attempts": _C.attempts + 1,
                "worker": worker,
                "folder": func.coalesce(_C.folder, literal(f"{folder}{os.sep}").concat(_C.id)),
                "was_lost": case((_C.state == _RUNNING, 1), else_=0),
                "lease_until": to_text(now + lease),
                "beat_at": to_text(now),
                "started_at": to_text(now),
                "ended_at": None,
                "phase": "",
                "phase_since": None,
            }
            taken = update(db.jobs).where(_C.number == query).values(values).returning(db.jobs)
            row = connection.execute(taken).first()
            return None if row is None else _to_job(row, now)

        return self._shared.database.change(unchecked, write)

    def beat(self, lease: Lease, until: timedelta, phase: str, since: datetime | None) -> StoredJob | None:
        """Renew a lease, and say what phase the job is in.

        Args:
            lease: of the worker.
            until: how long from now.
            phase: that the job is in.
            since: when the phase began.

        Returns:
            The job; None where it is somebody else's by now, or over: its process has to end.
        """
        self._check_exists()

        def write(connection: Connection, _: None) -> StoredJob | None:
            now = _clock(connection)
            values: dict[str, object] = {"lease_until": to_text(now + until), "beat_at": to_text(now)}
            values |= {"phase": phase, "phase_since": None if since is None else to_text(since)}
            return _fenced(connection, lease, values, now)

        return self._shared.database.change(unchecked, write)

    def end(self, lease: Lease, state: JobState, reason: str = "", result: JobResult | None = None) -> bool:
        """Say how an attempt ended; `QUEUED`: it is to be begun again.

        Returns:
            False where the job is somebody else's by now, or over; nothing was changed.
        """
        self._check_exists()

        def write(connection: Connection, _: None) -> bool:
            now = _clock(connection)
            over = None if state is JobState.QUEUED else to_text(now)
            values: dict[str, object] = {"state": state.value, "reason": reason, "ended_at": over}
            values |= {"lease_until": None, "wants_stop": 0}
            values["result"] = None if result is None else _results().dump_json(result).decode()
            return _fenced(connection, lease, values, now) is not None

        return self._shared.database.change(unchecked, write)

    # --- Workers

    def enter(
        self, name: str, token: str, host: str, process: int, lease: timedelta, *, may_create: bool
    ) -> None:
        """Take a worker's name, or keep it.

        Args:
            name: of the worker.
            token: of its process alone.
            host: the machine that it runs on.
            process: its number there.
            lease: how long the name is its own.
            may_create: whether to make a registry where there is none.

        Raises:
            UsageError: another worker has it.
            RegistryError: the registry is gone, or of another version by now.
        """
        if not may_create:
            self._check_exists()
        self._shared.database.check_again()

        def write(connection: Connection, _: None) -> None:
            now = _clock(connection)
            row = connection.execute(select(db.workers).where(db.workers.c.name == name)).first()
            if row is not None and row.token != token and to_time(row.lease_until) > now:
                raise UsageError(
                    f"worker {name}",
                    f"a worker of this name runs on {row.host} (process {row.process})",
                    "a name that no other worker of the registry has",
                    "leave --name out, or choose another; the name of a worker that was killed is free"
                    " again when its lease has run out",
                )
            gone = (db.workers.c.name == name) | (db.workers.c.lease_until < to_text(now))
            connection.execute(delete(db.workers).where(gone))
            values = {"name": name, "token": token, "host": host, "process": process}
            values["lease_until"] = to_text(now + lease)
            connection.execute(insert(db.workers).values(values))

        self._shared.database.change(unchecked, write)

    def leave(self, name: str, token: str) -> None:
        """Give a worker's name back."""
        self._check_exists()

        def write(connection: Connection, _: None) -> None:
            own = (db.workers.c.name == name) & (db.workers.c.token == token)
            connection.execute(delete(db.workers).where(own))

        self._shared.database.change(unchecked, write)

    def workers(self) -> tuple[StoredWorker, ...]:
        """The workers that did not give their names back, by name."""
        with self._shared.database.reading() as connection:
            now = _clock(connection)
            rows = connection.execute(select(db.workers).order_by(db.workers.c.name)).all()
        return tuple(
            StoredWorker(row.name, row.host, row.process, until, until > now)
            for row in rows
            for until in (to_time(row.lease_until),)
        )

    def _check_exists(self) -> None:
        """Refuse to make a registry anew for a job of one that is gone."""
        database = self._shared.database
        if not database.exists:
            raise RegistryError(
                database.name, "the registry is gone", "the registry that the worker was started with",
                "restore it from a backup, then start the worker again",
            )  # fmt: skip


_BLANK: Final[dict[str, object]] = {
    "state": _QUEUED,
    "attempts": 0,
    "worker": "",
    "was_lost": 0,
    "wants_stop": 0,
    "phase": "",
    "reason": "",
}


def _clock(connection: Connection) -> datetime:
    """The time that leases are measured by."""
    if connection.dialect.name == "sqlite":
        return wall_clock()
    time: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return time.astimezone(UTC)


def _is_lost(now: datetime) -> ColumnElement[bool]:
    return (_C.state == _RUNNING) & (_C.lease_until < to_text(now))


def _next(now: datetime, job_id: str | None) -> Any:
    query = select(_C.number).where(or_(_C.state == _QUEUED, _is_lost(now)))
    if job_id is not None:
        query = query.where(_C.id == job_id)
    return query.order_by(_C.priority, _C.number).limit(1)


def _change(connection: Connection, name: str, may: ColumnElement[bool], values: dict[str, Any]) -> bool:
    """Change the job of an id where it is in such a state; False where it is not."""
    changed = connection.execute(update(db.jobs).where(_C.id == name, may).values(values))
    return changed.rowcount == 1


def _fenced(
    connection: Connection, lease: Lease, values: dict[str, object], now: datetime
) -> StoredJob | None:
    """Change a job for whoever began its last attempt, and nobody else."""
    own = (_C.id == lease.job, _C.attempts == lease.attempt, _C.state == _RUNNING)
    row = connection.execute(update(db.jobs).where(*own).values(values).returning(db.jobs)).first()
    return None if row is None else _to_job(row, now)


def _required(connection: Connection, name: str, now: datetime) -> StoredJob:
    row = connection.execute(select(db.jobs).where(_C.id == name)).first()
    if row is None:
        raise UsageError(
            f"job {name}", "the registry has no job of this id", "the id of a job",
            "`smalti jobs list` shows them",
        )  # fmt: skip
    return _to_job(row, now)


def _required_change(
    connection: Connection,
    name: str,
    may: ColumnElement[bool],
    values: dict[str, Any],
    now: datetime,
    expected: str,
) -> None:
    if not _change(connection, name, may, values):
        job = _required(connection, name, now)
        raise UsageError(f"job {name}", f"it is {job.state}", expected)


@cache
def _results() -> "TypeAdapter[JobResult]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (imports Rust)

    return TypeAdapter(JobResult)


def _to_job(row: Row[tuple[Any, ...]], now: datetime) -> StoredJob:
    times = {
        name: None if (value := getattr(row, name)) is None else to_time(value)
        for name in ("lease_until", "beat_at", "phase_since", "started_at", "ended_at")
    }
    state, until = JobState(row.state), times["lease_until"]
    is_lost = state is JobState.RUNNING and until is not None and until < now
    return StoredJob(
        id=row.id,
        kind=row.kind,
        request=row.request,
        party=None if row.party is None else IRI(row.party),
        priority=row.priority,
        tries=row.tries,
        state=JobState.DIED if is_lost else state,
        attempts=row.attempts,
        worker=row.worker,
        was_lost=bool(row.was_lost),
        wants_stop=bool(row.wants_stop),
        folder=None if row.folder is None else Path(row.folder),
        phase=row.phase,
        reason="its worker was lost" if is_lost else row.reason,
        result=None if row.result is None else _results().validate_json(row.result),
        submitted_at=to_time(row.submitted_at),
        **times,
    )
