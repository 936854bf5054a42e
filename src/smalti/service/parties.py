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
WATCHERS: Final = READERS | OPERATORS
"""Who may see jobs: their own, and operators all."""
ASKERS: Final = frozenset({Role.PARTY, Role.GATEWAY})
"""Who may ask for decisions in AuthZEN's form."""
EVERYBODY: Final = frozenset(Role) - {Role.RECIPIENT}
CONTROL_PLANES: Final = frozenset({Role.CONTROL_PLANE})
DOWNLOADERS: Final = frozenset({Role.PARTY, Role.RECIPIENT})


@dataclass(frozen=True, slots=True)
class Asker:
    """A party that was recognised; nothing in a request changes it."""

    party: IRI
    roles: frozenset[Role]
    flow: str | None = None
    """The one data flow whose output it may have; None: it is no key of a data flow."""

    @classmethod
    def of(cls, entry: AccessEntry) -> "Asker":
        """Whom an entry of the registry recognises."""
        return cls(entry.party, entry.roles, entry.label if Role.RECIPIENT in entry.roles else None)

    @property
    def is_party(self) -> bool:
        return Role.PARTY in self.roles

    @property
    def audits(self) -> bool:
        return Role.AUDITOR in self.roles

    @property
    def asks_for_others(self) -> bool:
        return Role.GATEWAY in self.roles
