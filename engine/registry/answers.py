"""The room of answers to requests that have a key of their own, so that a repeated one does nothing twice.

A request is begun before any work and ended with its answer. Where the process ends in between, nobody
knows how far the work came: the request stays begun until its day is over.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import to_time
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._journal import tick
from smalti.engine.registry._shared import Shared
from smalti.vocab.terms import IRI

KEPT: Final = timedelta(days=1)
"""How long an answer is kept at the least."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What became of an earlier request with the same key of the same party."""

    request: str
    """The digest of that request."""
    status: int | None
    """Of its answer; None: it has not ended."""
    headers: str
    """As they were kept; empty where it has not ended."""
    body: bytes


@public_methods
@dataclass(frozen=True, slots=True)
class Answers:
    """Answers by party and key."""

    _shared: Shared

    def begin(self, party: IRI, key: str, request: str) -> StoredAnswer | None:
        """Note that a request begins; older answers are removed.

        Args:
            party: who asks.
            key: the requester's own.
            request: its digest.

        Returns:
            The earlier request with that key; None: there is none, and this one is noted.
        """

        def write(connection: Connection, _: None) -> StoredAnswer | None:
            now = tick(connection)
            old = (to_time(now) - KEPT).isoformat(timespec="microseconds")
            connection.execute(delete(db.answers).where(db.answers.c.begun_at < old))
            row = connection.execute(select(db.answers).where(*_of(party, key))).first()
            if row is not None:
                return _to_answer(row)
            values = {"party": party, "key": key, "request": request, "begun_at": now}
            connection.execute(insert(db.answers).values(values))
            return None

        return self._shared.database.change(unchecked, write)

    def end(self, party: IRI, key: str, status: int, headers: str, body: bytes) -> None:
        """Keep the answer to a request that was begun."""

        def write(connection: Connection, _: None) -> None:
            values = {"status": status, "headers": headers, "body": body}
            connection.execute(update(db.answers).where(*_of(party, key)).values(values))

        self._shared.database.change(unchecked, write)

    def forget(self, party: IRI, key: str) -> None:
        """Let a request be made again: it changed nothing."""

        def write(connection: Connection, _: None) -> None:
            connection.execute(delete(db.answers).where(*_of(party, key)))

        self._shared.database.change(unchecked, write)

    def sweep(self, before: datetime, *, removes: bool) -> int:
        """How many requests were begun before a time, at least a day ago; they are removed if asked for."""
        old = db.answers.c.begun_at < before.astimezone(UTC).isoformat(timespec="microseconds")

        def write(connection: Connection, _: None) -> None:
            connection.execute(delete(db.answers).where(old))

        with self._shared.database.reading() as connection:
            count = (
                connection.execute(select(func.count()).select_from(db.answers).where(old)).scalar() or 0
            )
        if removes and count:
            self._shared.database.change(unchecked, write)
        return int(count)


def _of(party: IRI, key: str) -> tuple[Any, ...]:
    return db.answers.c.party == party, db.answers.c.key == key


def _to_answer(row: Row[tuple[Any, ...]]) -> StoredAnswer:
    return StoredAnswer(row.request, row.status, row.headers or "", bytes(row.body or b""))
