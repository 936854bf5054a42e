"""The room of the data market's own hierarchies, and of the authorities that owners trust."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _assets, _authorities, _hierarchies, _policy_documents
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.entries import StoredHierarchy
from smalti.errors import UsageError
from smalti.policy.decide.hierarchies import Hierarchies as Words
from smalti.vocab.terms import IRI

_NOBODY: Final = frozenset[IRI]()


@public_methods
@dataclass(frozen=True, slots=True)
class Hierarchies:
    """The hierarchies of parties, assets, actions and purposes, and the authorities that owners trust."""

    _shared: Shared

    def trust(self, owner: IRI, authority: IRI, by: IRI) -> None:
        """See `Registry.trust_authority`."""
        _authorities.check_speaks_for_themselves(owner, by, "whose vocabularies count for this owner")

        def write(connection: Connection, _: None) -> None:
            _authorities.trust(connection, owner, authority)

        self._shared.database.change(unchecked, write)

    def distrust(self, owner: IRI, authority: IRI, by: IRI) -> None:
        """See `Registry.distrust_authority`."""
        _authorities.check_speaks_for_themselves(owner, by, "whose vocabularies count for this owner")

        def check(connection: Connection) -> None:
            _authorities.check_is_trusted(connection, owner, authority)

        def write(connection: Connection, _: None) -> None:
            _authorities.distrust(connection, owner, authority)

        self._shared.database.change(check, write)

    def trusted(self, owner: IRI) -> frozenset[IRI]:
        """Whose hierarchies count for an owner's targets, besides the owner's own."""
        with self._shared.database.reading() as connection:
            return _authorities.trusted(connection).get(owner, frozenset())

    def counting_for(self, issuer: IRI | None, target: IRI | None = None) -> Words:
        """The profiles, actions and operands that a document may use.

        For reading only: decisions use a document as an owner resolves it (`submissions`).

        Args:
            issuer: who submits it: those that this party added, or trusts; None: shipped ones.
            target: what it is to be run on: where the issuer does not own it, those of its owners.
        """
        with self._shared.database.reading() as connection:
            current = _hierarchies.declarations(connection, self._shared.vocabularies)
            if not current.stored:
                return current.of(None).hierarchies
            owners = _NOBODY if target is None else self._shared.facts(connection).full_owners(target)
            if owners and issuer not in owners:
                return current.of_all(owners).hierarchies
            return current.of(issuer).hierarchies

    def add(self, document: bytes, name: str, party: IRI) -> StoredHierarchy:
        """See `Registry.add_hierarchy`."""
        vocabulary = _hierarchies.read_new(document, name)

        def check(connection: Connection) -> None:
            stored = _hierarchies.in_force(connection)
            _hierarchies.check_name(stored, name, party)
            _hierarchies.check_profiles(stored, name, vocabulary, party, self._shared.vocabularies)
            trusted = _authorities.trusted(connection).get(party, _NOBODY)
            _hierarchies.check_standard(stored, name, vocabulary, party, trusted, self._shared.vocabularies)
            if vocabulary.functions:
                ever, vocabularies = _hierarchies.listed(connection), self._shared.vocabularies
                _hierarchies.check_functions(ever, name, vocabulary, party, vocabularies)
            _hierarchies.check_assets(_assets.Facts(connection), name, vocabulary, party)

        def write(connection: Connection, _: None) -> tuple[StoredHierarchy, ...]:
            _hierarchies.store(connection, document, _policy_documents.digest_of(document), name, party)
            return _hierarchies.in_force(connection)

        stored = self._shared.database.change(check, write)
        return next(hierarchy for hierarchy in stored if hierarchy.name == name)

    def remove(self, name: str, party: IRI) -> None:
        """See `Registry.remove_hierarchy`."""

        def check(connection: Connection) -> None:
            stored = _hierarchies.in_force(connection)
            if name not in {hierarchy.name for hierarchy in stored}:
                raise UsageError(name, "no such hierarchy is in force", "the name of a stored hierarchy")
            _hierarchies.check_name(stored, name, party)

        def write(connection: Connection, _: None) -> None:
            _hierarchies.end(connection, name)

        self._shared.database.change(check, write)

    def listed(self) -> tuple[StoredHierarchy, ...]:
        """All versions of all hierarchies, in the order in which they were added."""
        with self._shared.database.reading() as connection:
            return _hierarchies.listed(connection)
