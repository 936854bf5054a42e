"""From a request's Authorization header to a party; the one place where anybody is recognised."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from smalti.engine.registry.access import KEY_PREFIX, digest_of_key
from smalti.engine.registry.registry import Registry
from smalti.service.parties import EVERYBODY, Asker
from smalti.service.problems import RefusedError
from smalti.service.tokens import Tokens, unauthenticated
from smalti.vocab.terms import IRI

_SCHEME: Final = "bearer"


@dataclass(frozen=True, slots=True)
class PassingKey:
    """A key that is kept nowhere, and ends with the process."""

    digest: str
    asker: Asker


@dataclass(slots=True)
class Authentication:
    """Recognises who asks; for several threads. What is revoked counts no more with the next request."""

    registry: Registry
    """One of its own where it is a file, since a file's revision is not for several threads at once."""
    tokens: Tokens | None = None
    passing: PassingKey | None = None
    _of_key: Mapping[str, Asker] = field(default_factory=dict)
    """By the key's digest, which nobody can choose: how long it takes to find one tells nothing."""
    _of_subject: Mapping[tuple[str, str], Asker] = field(default_factory=dict)
    """By issuer and subject."""
    _revision: object = None
    _lock: Lock = field(default_factory=Lock, repr=False)

    def asker(self, authorization: str | None) -> Asker:
        """Who asks.

        Args:
            authorization: the header's value.

        Raises:
            RefusedError: nobody is recognised (401), or the subject of a valid token is not mapped (403).
        """
        scheme, _, credentials = (authorization or "").partition(" ")
        credentials = credentials.strip()
        if scheme.lower() != _SCHEME or not credentials:
            raise unauthenticated("send `Authorization: Bearer` with a key or a token")
        if credentials.startswith(KEY_PREFIX):
            return self.asker_of_key(digest_of_key(credentials))
        if self.tokens is None:
            raise unauthenticated("no issuer of tokens is configured, and this is no key")
        return self._asker_of_subject(self.tokens.issuer.issuer, self.tokens.subject(credentials))

    def check(self) -> None:
        """Read who may ask, if that changed.

        Raises:
            RegistryError: the registry cannot be read.
        """
        self._follow()

    def asker_of_key(self, digest: str) -> Asker:
        """Who asks with the key of a digest.

        Raises:
            RefusedError: no such key is in force (401).
        """
        if self.passing is not None and hmac.compare_digest(digest, self.passing.digest):
            return self.passing.asker
        self._follow()
        if (asker := self._of_key.get(digest)) is not None:
            return asker
        raise unauthenticated("the key is not in force")

    def _asker_of_subject(self, issuer: str, subject: str) -> Asker:
        self._follow()
        if (asker := self._of_subject.get((issuer, subject))) is not None:
            return asker
        raise RefusedError(
            403,
            "subject-not-mapped",
            "ask the operator to map it: smalti access map-subject ISSUER SUBJECT",
        )

    def _follow(self) -> None:
        """Read who may ask, if that changed."""
        access = self.registry.access
        with self._lock:
            revision = access.revision()
            if revision == self._revision:
                return
            entries = [entry for entry in access.listed() if entry.is_in_force]
            self._of_key = {entry.digest: Asker.of(entry) for entry in entries if entry.digest is not None}
            self._of_subject = {
                (entry.issuer, entry.subject): Asker.of(entry)
                for entry in entries
                if entry.issuer is not None and entry.subject is not None
            }
            self._revision = revision


def passing_key(party: IRI, key: str) -> PassingKey:
    """A key for one process alone, which may do all that a single user needs."""
    return PassingKey(digest_of_key(key), Asker(party, EVERYBODY))
