"""Who is signed in: sessions in the registry, each bound to a key that is still in force.

A session ends after a time without a request, after a longer time in any case, when its user signs out, and
with the request after its key was revoked. Of its token only a digest is kept. All processes of a service
have the same sessions.
"""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from smalti.engine.registry.access import KEY_PREFIX, digest_of_key
from smalti.engine.registry.sessions import SessionLimits, StoredSessions
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
"""Sessions of a registry; the one that was quiet for longest gives way to a new one."""
LIMITS: Final = SessionLimits(QUIET, LONGEST, MOST_OF_KEY, MOST)
_NOTED: Final = 30.0
"""Seconds within which a further request of a session is not noted: it may end so much earlier."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of a registry's pages; for several threads, and for several processes."""

    authentication: Authentication
    clock: Callable[[], float] = time.time

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
        token = secrets.token_urlsafe(32)
        self._stored.begin(_digest(token), digest, self.clock(), LIMITS)
        return token

    def asker(self, token: str | None, *, renews: bool = True) -> Asker:
        """Who is signed in.

        Args:
            token: of the session.
            renews: whether this is a request, after which the time without one begins anew; False: a look
                at a session by what lasts, such as a stream of events.

        Raises:
            RefusedError: nobody is, or no more (401).
        """
        if not token:
            raise unauthenticated("sign in")
        key = self._stored.key_of(_digest(token), self.clock(), LIMITS, pause=_NOTED if renews else LONGEST)
        if key is None:
            raise unauthenticated("sign in")
        try:
            return self.authentication.asker_of_key(key)
        except RefusedError:
            self.end(token)
            raise

    def end(self, token: str | None) -> None:
        """End a session, if it has not ended."""
        if token:
            self._stored.end(_digest(token))

    @property
    def _stored(self) -> StoredSessions:
        return self.authentication.registry.sessions


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
