"""Requests with an Idempotency-Key: what was answered once is answered again, and not done again."""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from smalti.engine.registry.registry import Registry
from smalti.service.operations import Answer
from smalti.service.problems import RefusedError
from smalti.vocab.terms import IRI

HEADER: Final = "idempotency-key"
_LONGEST: Final = 200
"""Characters of a key."""


@dataclass(frozen=True, slots=True)
class Once:
    """One request that has a key."""

    registry: Registry
    party: IRI
    key: str
    request: str
    """Its digest."""

    def begin(self) -> Answer | None:
        """Note that it begins.

        Returns:
            The answer that the same request had; None: it is the first one.

        Raises:
            RefusedError: the key belongs to another request, or the same has not ended.
        """
        earlier = self.registry.answers.begin(self.party, self.key, self.request)
        if earlier is None:
            return None
        if earlier.request != self.request:
            raise RefusedError(422, "key-reused", "choose another `Idempotency-Key` for another request")
        if earlier.status is None:
            raise RefusedError(
                409, "in-progress",
                "wait for its answer; if the service was stopped meanwhile, look at what there is",
            )  # fmt: skip
        media_type, headers = json.loads(earlier.headers)
        return Answer(earlier.body, media_type, earlier.status, headers | {"Idempotency-Replayed": "true"})

    def end(self, answer: Answer) -> None:
        """Keep the answer; of a failure of the machine, nothing: it may be tried again."""
        if answer.status >= 500 or not isinstance(answer.content, bytes):
            self.registry.answers.forget(self.party, self.key)
            return
        headers = json.dumps([answer.media_type, dict(answer.headers)])
        self.registry.answers.end(self.party, self.key, answer.status, headers, answer.content)


def checked_key(key: str) -> str:
    """A key, as the header has it.

    Raises:
        RefusedError: it is empty, too long, or has other than printable ASCII characters.
    """
    if not key or len(key) > _LONGEST or not key.isascii() or not key.isprintable():
        raise RefusedError(
            400, "bad-request", f"`Idempotency-Key` has 1 to {_LONGEST} printable characters of ASCII"
        )
    return key


def request_digest(*parts: bytes) -> str:
    """One digest of the parts of a request, which no other split of the same bytes has."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
