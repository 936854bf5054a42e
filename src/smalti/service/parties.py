"""Who asks, as far as keys and tokens prove it."""

from dataclasses import dataclass
from typing import Final

from smalti.engine.registry.access import AccessEntry, Role
from smalti.vocab.terms import IRI

ANYBODY: Final[frozenset[Role]] = frozenset()
"""The roles of an operation that needs nobody to be recognised."""
PARTIES: Final = frozenset({Role.PARTY})
READERS: Final = frozenset({Role.PARTY, Role.AUDITOR})
OPERATORS: Final = frozenset({Role.OPERATOR})
ASKERS: Final = frozenset({Role.PARTY, Role.GATEWAY})
"""Who may ask for decisions in AuthZEN's form."""
EVERYBODY: Final = frozenset(Role)


@dataclass(frozen=True, slots=True)
class Asker:
    """A party that was recognised; nothing in a request changes it."""

    party: IRI
    roles: frozenset[Role]

    @classmethod
    def of(cls, entry: AccessEntry) -> "Asker":
        """Whom an entry of the registry recognises."""
        return cls(entry.party, entry.roles)

    @property
    def is_party(self) -> bool:
        return Role.PARTY in self.roles

    @property
    def audits(self) -> bool:
        return Role.AUDITOR in self.roles

    @property
    def asks_for_others(self) -> bool:
        return Role.GATEWAY in self.roles
