"""The room of assets and their owners."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _assets
from smalti.engine.registry import _tables as db
from smalti.engine.registry._claims import has_others_below
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.entries import Asset
from smalti.vocab.terms import IRI


@public_methods
@dataclass(frozen=True, slots=True)
class Owners:
    """The registered assets and their owners."""

    _shared: Shared

    def assets(self) -> tuple[Asset, ...]:
        """All registered assets, sorted by IRI."""
        with self._shared.database.reading() as connection:
            rows = connection.execute(select(db.assets).order_by(db.assets.c.iri)).all()
        return tuple(_assets.to_asset(row) for row in rows)

    def asset(self, iri: IRI) -> Asset | None:
        """The asset, or None if the registry does not know it."""
        with self._shared.database.reading() as connection:
            return _assets.find_asset(connection, iri)

    def is_known(self, iri: IRI) -> bool:
        """Whether it is an asset, or a collection with a member that somebody owns."""
        with self._shared.database.reading() as connection:
            facts = self._shared.facts(connection)
            return facts.is_known(iri) or bool(facts.owners(iri))

    def of(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset, or any source that it was made from; they may prohibit.

        Empty for what the registry does not know. Of a collection: who owns any member, too.
        """
        with self._shared.database.reading() as connection:
            return self._shared.facts(connection).owners(iri)

    def full(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset and, for an output, each source that it was made from; they may permit.

        Of a collection: who owns each member, too.
        """
        with self._shared.database.reading() as connection:
            return self._shared.facts(connection).full_owners(iri)

    def on_record(self, iri: IRI) -> frozenset[IRI]:
        """The same as `of`, whatever somebody has registered above the asset since."""
        with self._shared.database.reading() as connection:
            return self._shared.facts(connection).owners_on_record(iri)

    def has_others_below(self, iri: IRI, party: IRI) -> bool:
        """Whether an asset that a party does not own lies below an IRI (`_claims.has_others_below`)."""
        with self._shared.database.reading() as connection:
            return has_others_below(connection, self._shared.facts(connection), iri, party)

    def add(self, iri: IRI, new: IRI, by: IRI) -> None:
        """See `Registry.add_owner`."""

        def check(connection: Connection) -> None:
            _assets.check_owner_of_source(connection, iri, by)

        def write(connection: Connection, _: None) -> None:
            _assets.add_owner(connection, iri, new)

        self._shared.database.change(check, write)

    def remove(self, iri: IRI, party: IRI, by: IRI) -> None:
        """See `Registry.remove_owner`."""

        def check(connection: Connection) -> None:
            _assets.check_owner_of_source(connection, iri, by)
            _assets.check_may_go(connection, iri, party)

        def write(connection: Connection, _: None) -> None:
            _assets.remove_owner(connection, iri, party)

        self._shared.database.change(check, write)

    def check_spelling(self, target: IRI) -> None:
        """Refuse another spelling of a registered asset.

        Raises:
            UsageError: it is another spelling of a registered asset.
        """
        with self._shared.database.reading() as connection:
            _assets.check_spelling(self._shared.facts(connection), target)
