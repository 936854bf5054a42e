"""The database and caches that the rooms of a registry share."""

from dataclasses import dataclass, field

from sqlalchemy import Connection

from smalti.engine.registry import _hierarchies
from smalti.engine.registry._assets import Facts
from smalti.engine.registry._database import Database
from smalti.engine.registry._policy_documents import Reader


@dataclass(frozen=True, slots=True)
class Shared:
    """One database, and caches of its documents."""

    database: Database
    reader: Reader = field(default_factory=Reader, repr=False)

    @property
    def vocabularies(self) -> _hierarchies.Vocabularies:
        """What the documents of hierarchies say."""
        return self.reader.vocabularies

    def facts(self, connection: Connection) -> Facts:
        """About assets, with the memberships and the declared columns that count now."""
        stored = _hierarchies.in_force(connection)
        plain = Facts(connection)
        if not stored:
            return plain
        members = _hierarchies.memberships(plain, stored, self.vocabularies)
        return Facts(connection, members, _hierarchies.columns(plain, stored, self.vocabularies))
