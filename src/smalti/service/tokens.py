"""Bearer tokens of one issuer: JSON Web Tokens, signed with the one configured algorithm.

Nothing in a token chooses how it is checked: its header names a key of the issuer's set at most.
"""

import http.client
import json
import logging
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from smalti.engine.tables.sending import NoRedirections
from smalti.errors import BackendError, UsageError
from smalti.service.configuration import TokenIssuer
from smalti.service.problems import RefusedError

_LEEWAY: Final = 60
"""Seconds by which clocks may differ."""
_FRESH: Final = 600.0
"""Seconds for which keys count without being read again."""
_LEAST: Final = 30.0
"""Seconds between two readings, whatever tokens name."""
OUTLASTING: Final = 3600.0
"""Seconds for which keys count that cannot be read again, as the issuer may have removed one of them."""
_LARGEST: Final = 1 << 20
_LONGEST: Final = 16_384
"""Characters of a token."""
_TIMEOUT: Final = 10.0
_LOG: Final = logging.getLogger("smalti.service")


def unauthenticated(why: str) -> RefusedError:
    """The answer to somebody who is not recognised."""
    return RefusedError(401, "unauthenticated", why, headers={"WWW-Authenticate": 'Bearer realm="smalti"'})


@dataclass(slots=True)
class Tokens:
    """Checks the tokens of an issuer; for several threads."""

    issuer: TokenIssuer
    _keys: KeySet = field(init=False, repr=False)
    _read_at: float = field(init=False, default=0.0)
    """When they were to be read last."""
    _confirmed_at: float = field(init=False, default=0.0)
    """When they were read last."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        self._keys = self._read()
        self._read_at = self._confirmed_at = time.monotonic()

    def subject(self, token: str) -> str:
        """The subject of a valid token.

        Raises:
            RefusedError: it is not valid, by 401, and its own words are not repeated; or the issuer's keys
                could not be read for too long, by 503.
        """
        if len(token) > _LONGEST:
            raise unauthenticated("the token is too long")
        try:
            return self._checked(token, self._current())
        except (InvalidKeyIdError, ValueError):  # a key that is not in the set
            self._refresh()
        try:
            return self._checked(token, self._counting())
        except (InvalidKeyIdError, ValueError):
            raise unauthenticated("the token is not signed by a key of the issuer") from None

    def _checked(self, token: str, keys: KeySet) -> str:
        algorithm = self.issuer.algorithm
        try:
            decoded = jwt.decode(
                token, keys, algorithms=[algorithm], registry=JWSRegistry(algorithms=[algorithm])
            )
            jwt.JWTClaimsRegistry(
                leeway=_LEEWAY,
                iss={"essential": True, "value": self.issuer.issuer},
                aud={"essential": True, "value": self.issuer.audience},
                exp={"essential": True},
                sub={"essential": True},
            ).validate(decoded.claims)
        except InvalidKeyIdError:
            raise
        except JoseError as error:
            raise unauthenticated(f"the token is not valid ({error.error})") from None
        except (
            TypeError,
            AttributeError,
            LookupError,
            RecursionError,
        ):  # parts of other types than JOSE has
            raise unauthenticated("the token is not valid (malformed)") from None
        subject = decoded.claims["sub"]
        if not isinstance(subject, str) or not subject:
            raise unauthenticated("the token has no subject")
        return subject

    def _current(self) -> KeySet:
        if time.monotonic() - self._confirmed_at > _FRESH:
            self._refresh()
        return self._counting()

    def _counting(self) -> KeySet:
        """The last keys.

        Raises:
            RefusedError: they were read too long ago.
        """
        if time.monotonic() - self._confirmed_at > OUTLASTING:
            raise RefusedError(
                503, "machine-error", "the keys of the issuer of tokens could not be read for too long"
            )
        return self._keys

    def _refresh(self) -> None:
        """Read the keys again, unless that was just done; where it fails, the last ones count for a while.

        Nobody waits for another one who does: the last keys count meanwhile.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            if time.monotonic() - self._read_at < _LEAST:
                return
            self._read_at = time.monotonic()
            self._keys = self._read()
            self._confirmed_at = time.monotonic()
        except (UsageError, BackendError) as error:
            _LOG.warning("the last keys of the issuer of tokens count on: %s", error.problem)
        finally:
            self._lock.release()

    def _read(self) -> KeySet:
        place = self.issuer.keys
        content = _fetched(place) if "://" in place else _content(Path(place))
        try:
            keys = KeySet.import_key_set(json.loads(content))
        except (JoseError, ValueError, TypeError, KeyError):
            keys = KeySet([])
        public = [key for key in keys.keys if key.key_type != "oct" and not key.is_private]
        if not public or len(public) < len(keys.keys):
            raise UsageError(
                place, "these are not public keys", "a JWKS document with public keys alone", "correct it"
            )
        return keys


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()[: _LARGEST + 1]
    except OSError:
        raise UsageError(
            str(path), "the file cannot be read", "a JWKS document", "check the path"
        ) from None


def _fetched(address: str) -> bytes:
    """The keys from the configured address, which is https; redirections to others are not followed.

    A thread bounds the time of all of it, since the limits of sockets are for each piece.
    """
    contents: list[bytes] = []

    def fetch() -> None:
        opener = urllib.request.build_opener(NoRedirections)
        with (
            suppress(OSError, http.client.HTTPException),
            opener.open(address, timeout=_TIMEOUT) as answer,
        ):
            contents.append(answer.read(_LARGEST + 1))

    thread = threading.Thread(target=fetch, daemon=True)
    thread.start()
    thread.join(_TIMEOUT)
    if not contents:
        raise BackendError(
            address, "the keys of the issuer of tokens cannot be fetched", "a JWKS document",
            "check the address and its certificate (SSL_CERT_FILE names another authority), or name a file",
        )  # fmt: skip
    return contents[0]
