"""Work that reads data through while somebody waits: few at once, and one for each party.

What computes in the threads that answer requests would otherwise keep everybody else from an answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from smalti.service.problems import RefusedError
from smalti.vocab.terms import IRI

MOST: Final = 2
"""At once, of all parties; several processes share it, and each has one at the least."""
_AGAIN: Final = "5"
"""Seconds after which somebody may try again."""


@dataclass(slots=True)
class Looks:
    """The parties for whom data is read at the moment; for several threads."""

    most: int = MOST
    """At once, in this process."""
    _parties: set[IRI] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @contextmanager
    def of(self, party: IRI) -> Iterator[None]:
        """Read data for a party within the block.

        Raises:
            RefusedError: that is being done for it already, or for as many as there may be (429).
        """
        with self._lock:
            if party in self._parties or len(self._parties) >= self.most:
                raise RefusedError(
                    429, "too-many-requests", "data is being read for others, or for you; try again soon",
                    headers={"Retry-After": _AGAIN},
                )  # fmt: skip
            self._parties.add(party)
        try:
            yield
        finally:
            with self._lock:
                self._parties.discard(party)
