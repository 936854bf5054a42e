"""Indexes of the policies in force, one for each set of hierarchies."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.index import PolicyIndex
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Entry:
    """A policy in force, not yet parsed."""

    key: int
    uid: IRI
    digest: str
    issuer: IRI
    signed_by: str | None
    parents: tuple[int, ...]
    iris: tuple[IRI, ...]
    """The assets that it is about."""


@dataclass(slots=True)
class _Placed:
    """A policy in an index, with the entries that say it."""

    policy: Policy
    issuers: dict[int, IRI] = field(default_factory=dict)
    """By entry."""


class View:
    """An index of the policies that requests needed so far, under one set of hierarchies."""

    def __init__(self, hierarchies: Hierarchies) -> None:
        self.hierarchies = hierarchies
        self.index = PolicyIndex(hierarchies)
        self._placed: dict[tuple[str, IRI], list[_Placed]] = {}
        self._keys: set[int] = set()

    def without(self, keys: Iterable[int]) -> list[int]:
        """Those entries that were not placed yet, in order."""
        return sorted(set(keys) - self._keys)

    def place(self, entry: Entry, policy: Policy) -> None:
        """Put a policy that was read into the index; one that is in it already counts once."""
        self._keys.add(entry.key)
        same = self._placed.setdefault((entry.digest, entry.uid), [])
        placed = next((candidate for candidate in same if candidate.policy == policy), None)
        if placed is None:
            placed = _Placed(policy)
            same.append(placed)
            self.index.add(policy)
        placed.issuers[entry.key] = entry.issuer

    def remove(self, entry: Entry) -> None:
        """Forget an entry."""
        self._keys.discard(entry.key)
        same = self._placed.get((entry.digest, entry.uid), [])
        for placed in [candidate for candidate in same if entry.key in candidate.issuers]:
            del placed.issuers[entry.key]
            if not placed.issuers:
                same.remove(placed)
                self.index.remove(placed.policy)

    def issuers(self, policy: Policy) -> Iterator[tuple[int, IRI]]:
        """The entries that say a policy of the index, each with its issuer."""
        for placed in self._placed.get((policy.document_digest, policy.uid), ()):
            if placed.policy is policy:
                yield from placed.issuers.items()

    @contextmanager
    def also(self, policy: Policy) -> Iterator[None]:
        """The index, for a moment, with one more policy; one that it has already counts once."""
        size = self.index.size
        self.index.add(policy)
        try:
            yield
        finally:
            if self.index.size > size:
                self.index.remove(policy)
