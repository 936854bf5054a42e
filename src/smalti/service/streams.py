"""Event streams that are open: so many of a party, and so many in one process.

Each looks for news twice a second, so that too many of them would keep everybody else from an answer.
"""

from dataclasses import dataclass, field
from threading import Lock
from typing import Final
from weakref import WeakSet

from smalti.service.problems import RefusedError
from smalti.vocab.terms import IRI

OF_PARTY: Final = 20
MOST: Final = 100
_AGAIN: Final = "10"
"""Seconds after which somebody may try again."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Stream:
    """One stream that is open. It is counted no more once nobody holds it, also if it never began."""

    party: IRI


@dataclass(slots=True)
class Streams:
    """The open streams of a process; for several threads."""

    of_party: int = OF_PARTY
    most: int = MOST
    _open: WeakSet[Stream] = field(default_factory=WeakSet)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def begin(self, party: IRI) -> Stream:
        """Count a stream of a party, until `end`.

        Raises:
            RefusedError: the party, or all together, have as many as there may be (429).
        """
        with self._lock:
            own = sum(stream.party == party for stream in self._open)
            if own >= self.of_party or len(self._open) >= self.most:
                raise RefusedError(
                    429, "too-many-requests", "too many streams of events are open; close one",
                    headers={"Retry-After": _AGAIN},
                )  # fmt: skip
            stream = Stream(party)
            self._open.add(stream)
            return stream

    def end(self, stream: Stream) -> None:
        """Count a stream no more."""
        with self._lock:
            self._open.discard(stream)
