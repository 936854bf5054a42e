"""The room of sessions of the service's pages: who is signed in, for all processes of the service.

Of a session's token and of its key only digests are kept, so that a copy of the registry signs nobody in.
Times are seconds of the service's clock since 1970. What a session may do is nothing of the registry:
whoever asks looks up the key that it was begun with.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _tables as db
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._shared import Shared

_MILLISECONDS: Final = 1000


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """When sessions end, and how many there may be."""

    quiet: float
    """Seconds without a request."""
    longest: float
    """Seconds since the beginning."""
    of_key: int
    """Sessions of one key; the one that was quiet for longest gives way to a new one."""
    most: int
    """Sessions of all keys; likewise."""


@public_methods
@dataclass(frozen=True, slots=True)
class StoredSessions:
    """Sessions by the digest of their token."""

    _shared: Shared

    def begin(self, token: str, key: str, now: float, limits: SessionLimits) -> None:
        """Note a session; those that ended, and those above the limits, are removed.

        Args:
            token: the digest of its token.
            key: the digest of the key that it is begun with.
            now: the time.
            limits: of sessions.
        """

        def write(connection: Connection, _: None) -> None:
            connection.execute(delete(db.sessions).where(_is_over(now, limits)))
            _make_room(connection, db.sessions.c.key == key, limits.of_key)
            _make_room(connection, db.sessions.c.key.is_not(None), limits.most)
            times = {"begun_at": _stored(now), "seen_at": _stored(now)}
            connection.execute(insert(db.sessions).values(token=token, key=key, **times))

        self._shared.database.change(unchecked, write)

    def key_of(self, token: str, now: float, limits: SessionLimits, *, pause: float) -> str | None:
        """The digest of the key of a session that has not ended; its time without a request begins anew.

        Args:
            token: the digest of its token.
            now: the time.
            limits: of sessions.
            pause: seconds within which a further request is not noted, so that few requests write.
        """
        lasting = select(db.sessions).where(db.sessions.c.token == token, ~_is_over(now, limits))
        with self._shared.database.reading() as connection:
            row = connection.execute(lasting).first()
        if row is None:
            return None
        if _stored(now) - row.seen_at >= _stored(pause):
            self._note(token, now)
        key: str = row.key
        return key

    def end(self, token: str) -> None:
        """Remove the session of a token's digest, if there is one."""
        self._remove(db.sessions.c.token == token)

    def sweep(self, before: float, *, removes: bool) -> int:
        """How many were begun before a time, by which all have ended; they are removed if asked for."""
        old = db.sessions.c.begun_at < _stored(before)
        with self._shared.database.reading() as connection:
            counted = select(func.count()).select_from(db.sessions).where(old)
            count: int = connection.execute(counted).scalar() or 0
        if removes and count:
            self._remove(old)
        return count

    def _note(self, token: str, now: float) -> None:
        def write(connection: Connection, _: None) -> None:
            seen = update(db.sessions).where(db.sessions.c.token == token)
            connection.execute(seen.values(seen_at=_stored(now)))

        self._shared.database.change(unchecked, write)

    def _remove(self, which: ColumnElement[bool]) -> None:
        def write(connection: Connection, _: None) -> None:
            connection.execute(delete(db.sessions).where(which))

        self._shared.database.change(unchecked, write)


def _make_room(connection: Connection, which: ColumnElement[bool], most: int) -> None:
    """Remove the quietest of some sessions until there is room for one more."""
    counted = select(func.count()).select_from(db.sessions).where(which)
    if (above := (connection.execute(counted).scalar() or 0) - most + 1) > 0:
        quietest = select(db.sessions.c.token).where(which).order_by(db.sessions.c.seen_at).limit(above)
        connection.execute(delete(db.sessions).where(db.sessions.c.token.in_(quietest)))


def _is_over(now: float, limits: SessionLimits) -> ColumnElement[bool]:
    return or_(
        db.sessions.c.seen_at <= _stored(now - limits.quiet),
        db.sessions.c.begun_at <= _stored(now - limits.longest),
    )


def _stored(seconds: float) -> int:
    return round(seconds * _MILLISECONDS)
