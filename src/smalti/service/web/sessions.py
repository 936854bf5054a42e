"""Who is signed in: sessions of this process, each bound to a key that is still in force.

A session ends after a time without a request, after a longer time in any case, with the process, when its
user signs out, and with the request after its key was revoked. Of its token only a digest is kept.
"""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from smalti.engine.registry.access import KEY_PREFIX, digest_of_key
from smalti.service.authentication import Authentication
from smalti.service.parties import Asker
from smalti.service.problems import RefusedError
from smalti.service.tokens import unauthenticated

QUIET: Final = 1800.0
"""Seconds without a request after which a session ends."""
LONGEST: Final = 28_800.0
"""Seconds after which it ends in any case."""
MOST_OF_KEY: Final = 20
"""Sessions of one key, likewise."""
MOST: Final = 10_000
"""Sessions of a process; the one that was quiet for longest gives way to a new one."""


@dataclass(slots=True)
class _Session:
    key: str
    """The digest of the key that it was begun with."""
    begun: float
    seen: float


@dataclass(slots=True)
class Sessions:
    """The sessions of one process; for several threads."""

    authentication: Authentication
    clock: Callable[[], float] = time.monotonic
    _sessions: dict[str, _Session] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def begin(self, key: str) -> str:
        """Begin a session with a key.

        Returns:
            Its token, which is kept nowhere.

        Raises:
            RefusedError: it is no key that is in force (401).
        """
        if not key.startswith(KEY_PREFIX):
            raise unauthenticated("this is no key")
        digest = digest_of_key(key)
        self.authentication.asker_of_key(digest)
        token, now = secrets.token_urlsafe(32), self.clock()
        with self._lock:
            self._sweep(now)
            own = [token for token, session in self._sessions.items() if session.key == digest]
            if len(own) >= MOST_OF_KEY:
                del self._sessions[min(own, key=lambda token: self._sessions[token].seen)]
            self._sessions[_digest(token)] = _Session(digest, now, now)
        return token

    def asker(self, token: str | None) -> Asker:
        """Who is signed in.

        Raises:
            RefusedError: nobody is, or no more (401).
        """
        now = self.clock()
        with self._lock:
            session = self._sessions.get(_digest(token or ""))
            if session is None or not _lasts(session, now):
                raise unauthenticated("sign in")
            session.seen = now
        try:
            return self.authentication.asker_of_key(session.key)
        except RefusedError:
            self.end(token)
            raise

    def end(self, token: str | None) -> None:
        """End a session, if it has not ended."""
        with self._lock:
            self._sessions.pop(_digest(token or ""), None)

    def _sweep(self, now: float) -> None:
        for token in [token for token, session in self._sessions.items() if not _lasts(session, now)]:
            del self._sessions[token]
        if len(self._sessions) >= MOST:
            quietest = min(self._sessions, key=lambda token: self._sessions[token].seen)
            del self._sessions[quietest]


def _lasts(session: _Session, now: float) -> bool:
    return now - session.seen < QUIET and now - session.begun < LONGEST


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
