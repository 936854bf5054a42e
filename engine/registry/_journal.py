"""The clock of a registry, and its ordered journal of changes, which indexes follow."""

import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import Connection, insert, select, update

from smalti.engine.registry import _tables as db

CLOCK: Final = "clock"
_LEAST: Final = timedelta(microseconds=1)

Revision = tuple[int, str]
"""The number and the token of the last change."""
NO_REVISION: Final[Revision] = (0, "")


def wall_clock() -> datetime:
    """This machine's time; several machines that use one registry need not agree on it."""
    return datetime.now(UTC)


def tick(connection: Connection) -> str:
    """The time of a writing transaction, later than all that the registry holds, as its tables hold it.

    These times decide which of two events came first, even where the clocks of machines differ. So where
    this machine's clock is behind the last recorded time, the time continues from that one.
    """
    last, now = last_tick(connection), wall_clock()
    time = now if last is None else max(now, last + 2 * _LEAST)
    value = time.astimezone(UTC).isoformat(timespec="microseconds")
    row = db.meta.c.key == CLOCK
    if last is None:
        connection.execute(insert(db.meta).values(key=CLOCK, value=value))
    else:
        connection.execute(update(db.meta).where(row).values(value=value))
    return value


def last_tick(connection: Connection) -> datetime | None:
    """The time of the last write; None: nothing was written, or an earlier smalti wrote it."""
    value = connection.execute(select(db.meta.c.value).where(db.meta.c.key == CLOCK)).scalar()
    return None if value is None else datetime.fromisoformat(value)


def moment(connection: Connection) -> datetime:
    """A time after all that the registry holds, and before whatever is written next."""
    last = last_tick(connection)
    return wall_clock() if last is None else last + _LEAST


def note(connection: Connection, kind: str, subject: str) -> None:
    """Record a change for the indexes that follow; part of the transaction."""
    note_all(connection, kind, [subject])


def note_all(connection: Connection, kind: str, subjects: Iterable[str]) -> None:
    """Record changes of several subjects of one kind."""
    rows = [{"kind": kind, "subject": subject, "token": secrets.token_hex(8)} for subject in subjects]
    if rows:
        connection.execute(insert(db.changes), rows)


def last_revision(connection: Connection) -> Revision:
    """The last change; `NO_REVISION` where there is none."""
    query = select(db.changes.c.id, db.changes.c.token).order_by(db.changes.c.id.desc()).limit(1)
    last = connection.execute(query).first()
    return NO_REVISION if last is None else (last.id, last.token)
