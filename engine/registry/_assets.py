"""Assets, owners and lineage, inside a transaction."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, Insert, Row, delete, insert, select, update

from smalti.engine.registry import _tables as db
from smalti.engine.registry import ownership
from smalti.engine.registry._journal import note, note_all, tick
from smalti.engine.registry.entries import Asset, AssetKind
from smalti.errors import UsageError
from smalti.policy.decide.table_columns import tables_of
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.iris import accepted_spelling, is_plain, misspelt_iri
from smalti.vocab.terms import IRI

Pairs = tuple[tuple[IRI, IRI], ...]
"""Of a member and the collection that it belongs to."""

_NOBODY: Final[frozenset[IRI]] = frozenset()
_AT_ONCE: Final = 500
"""Assets in one query."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about assets in the tables, in the form that `ownership` needs."""

    connection: Connection
    memberships: Pairs = ()
    columns: Pairs = ()
    """Of tables, and the columns that their owners' vocabularies declare."""
    _members: dict[IRI, frozenset[IRI]] = field(default_factory=dict)
    _fetched: dict[IRI, tuple[AssetKind | None, frozenset[IRI]]] = field(default_factory=dict)
    """Kind and direct owners, fetched together; outdated once they change."""
    _encoded: dict[IRI, frozenset[IRI]] = field(default_factory=dict)
    """As `encoded`, with one key more once they were read."""

    def __post_init__(self) -> None:
        for member, collection in self.memberships:
            spelled = normalised_column(collection)
            self._members[spelled] = self._members.get(spelled, _NOBODY) | {member}

    def fetch(self, iris: Iterable[IRI]) -> None:
        """Fetch many assets in a few queries."""
        wanted = sorted(set(iris))
        kinds: dict[str, AssetKind] = {}
        parties: dict[str, set[IRI]] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            for row in self.connection.execute(select(db.assets).where(db.assets.c.iri.in_(some))).all():
                kinds[row.iri] = AssetKind(row.kind)
            for row in self.connection.execute(select(db.owners).where(db.owners.c.iri.in_(some))).all():
                parties.setdefault(row.iri, set()).add(IRI(row.party))
        for iri in wanted:
            self._fetched[iri] = kinds.get(iri), frozenset(parties.get(iri, ()))

    def kind(self, iri: IRI) -> AssetKind | None:
        if iri in self._fetched:
            return self._fetched[iri][0]
        asset = find_asset(self.connection, iri)
        return asset.kind if asset else None

    def direct_owners(self, iri: IRI) -> frozenset[IRI]:
        if iri in self._fetched:
            return self._fetched[iri][1]
        query = select(db.owners.c.party).where(db.owners.c.iri == iri)
        return frozenset(IRI(party) for party in self.connection.execute(query).scalars())

    def inputs(self, output: IRI) -> frozenset[IRI]:
        is_version = db.versions.c.id == db.lineage.c.version
        query = select(db.lineage.c.input).distinct().join(db.versions, is_version)
        inputs = self.connection.execute(query.where(db.versions.c.target == output)).scalars()
        return frozenset(IRI(iri) for iri in inputs)

    def members(self, collection: IRI) -> frozenset[IRI]:
        return self._members.get(normalised_column(collection), _NOBODY)

    def encoded(self, spelled: IRI) -> frozenset[IRI]:
        if not self._encoded:
            self._encoded[IRI("")] = _NOBODY  # read
            for iri in map(IRI, self.connection.execute(select(db.assets.c.iri)).scalars()):
                if not is_plain(iri):
                    same = normalised_column(iri)
                    self._encoded[same] = self._encoded.get(same, _NOBODY) | {iri}
        return self._encoded.get(spelled, _NOBODY)

    def without_members(self) -> "Facts":
        return Facts(self.connection)

    def owners(self, iri: IRI) -> frozenset[IRI]:
        return ownership.owners(self, iri)

    def full_owners(self, iri: IRI) -> frozenset[IRI]:
        return ownership.full_owners(self, iri)

    def owners_on_record(self, iri: IRI) -> frozenset[IRI]:
        return ownership.owners_on_record(self, iri)

    def full_owners_or(self, iri: IRI, owner: IRI) -> frozenset[IRI]:
        """The full owners; `owner` where nobody owns it yet."""
        return self.full_owners(iri) if self.is_owned(iri) else frozenset({owner})

    def is_known(self, iri: IRI) -> bool:
        return self.kind(iri) is not None

    def is_owned(self, iri: IRI) -> bool:
        """Whether it is registered, also in another spelling, or may be a column of a registered table."""
        return self.is_known(iri) or bool(self.tables(iri) or ownership.spelled_otherwise(self, iri))

    def tables(self, iri: IRI) -> frozenset[IRI]:
        """The known tables that it may be a column of."""
        return ownership.tables(self, iri)

    def is_open(self, iri: IRI) -> bool:
        """True for a collection of a hierarchy in force that is not registered as an asset."""
        if normalised_column(iri) not in self._members:
            return False
        return not (self.is_known(iri) or ownership.spelled_otherwise(self, iri))


def find_asset(connection: Connection, iri: IRI) -> Asset | None:
    row = connection.execute(select(db.assets).where(db.assets.c.iri == iri)).first()
    return None if row is None else to_asset(row)


def to_asset(row: Row[tuple[Any, ...]]) -> Asset:
    return Asset(IRI(row.iri), AssetKind(row.kind), to_time(row.registered_at))


def claim_sources(connection: Connection, iris: Iterable[IRI], owner: IRI) -> None:
    """Register unknown assets as sources of an owner."""
    facts = Facts(connection)
    facts.fetch(iris)
    new = [iri for iri in sorted(set(iris)) if not facts.is_known(iri)]
    written: dict[IRI, IRI] = {}
    for iri in new:
        check_spelling(facts, iri)
        if (other := written.setdefault(normalised_column(iri), iri)) != iri:
            raise _spelled_otherwise(iri, other)
    now = tick(connection)
    assets = ({"iri": iri, "kind": AssetKind.SOURCE, "registered_at": now} for iri in new)
    insert_all(connection, insert(db.assets), assets)
    insert_all(connection, insert(db.owners), ({"iri": iri, "party": owner} for iri in new))
    note_all(connection, "asset", new)


def check_spelling(facts: Facts, iri: IRI) -> None:
    """Refuse another spelling of a registered IRI: ledgers and withdrawals go by one spelling.

    Raises:
        UsageError: it is another spelling of a registered IRI, or one that no document may use.
    """
    if not facts.is_known(iri) and (problem := misspelt_iri(iri)):
        raise UsageError(
            str(iri), problem, "one spelling for each asset", f"use `{accepted_spelling(iri)}`"
        )
    spellings = () if facts.is_known(iri) else sorted(ownership.spelled_otherwise(facts, iri))
    if spellings:
        raise _spelled_otherwise(iri, spellings[0])


def _spelled_otherwise(iri: IRI, registered: IRI) -> UsageError:
    return UsageError(
        str(iri),
        f"it is another spelling of the registered IRI `{registered}`",
        "one spelling for each asset",
        f"use `{registered}`",
    )


def without_columns(facts: Facts, iris: Collection[IRI]) -> list[IRI]:
    """The IRIs that cannot be columns, of one another or of registered tables: a column is not an asset."""
    return [iri for iri in iris if facts.tables(iri) == _NOBODY and set(iris).isdisjoint(tables_of(iri))]


def admit_output(connection: Connection, iri: IRI) -> None:
    """Register the IRI as an output; from now on its owners follow from its inputs."""
    if find_asset(connection, iri) is None:
        values = {"iri": iri, "kind": AssetKind.OUTPUT, "registered_at": tick(connection)}
        connection.execute(insert(db.assets).values(values))
    connection.execute(update(db.assets).where(db.assets.c.iri == iri).values(kind=AssetKind.OUTPUT))
    connection.execute(delete(db.owners).where(db.owners.c.iri == iri))
    note(connection, "asset", iri)


def add_owner(connection: Connection, iri: IRI, new: IRI) -> None:
    """Add an owner of a source."""
    if new not in Facts(connection).direct_owners(iri):
        connection.execute(insert(db.owners).values(iri=iri, party=new))
        note(connection, "asset", iri)


def check_may_go(connection: Connection, iri: IRI, party: IRI) -> None:
    """Refuse to remove a party who is not an owner, or the last owner of a source."""
    present = Facts(connection).direct_owners(iri)
    if party not in present:
        raise UsageError(str(iri), f"{party} does not own it", "an owner", "")
    if len(present) == 1:
        raise UsageError(
            str(iri), "it would be left without an owner", "at least one owner", "add another owner first"
        )


def remove_owner(connection: Connection, iri: IRI, party: IRI) -> None:
    """Remove an owner of a source."""
    connection.execute(delete(db.owners).where((db.owners.c.iri == iri) & (db.owners.c.party == party)))
    note(connection, "asset", iri)


def check_owner_of_source(connection: Connection, iri: IRI, party: IRI) -> None:
    """Refuse a change of owners if the asset is not a source or the party does not own it."""
    asset = find_asset(connection, iri)
    if asset is None:
        raise UsageError(
            str(iri), "the registry does not know it", "a known source", "add a policy about it first"
        )
    if asset.kind is AssetKind.OUTPUT:
        raise UsageError(
            str(iri),
            "it is an output, which the owners of its inputs own",
            "a source",
            "change the owners of its inputs",
        )
    if party not in Facts(connection).direct_owners(iri):
        raise UsageError(str(iri), f"{party} does not own it", "an owner", "ask one of its owners")


# --- Helpers of the modules that work inside a transaction


def insert_all(connection: Connection, statement: Insert, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows, of which there may be none."""
    if values := list(rows):
        connection.execute(statement, values)


def store_document(connection: Connection, digest: str, content: bytes) -> None:
    """Keep the bytes of a document, once."""
    same = select(db.documents.c.digest).where(db.documents.c.digest == digest)
    if connection.execute(same).first() is None:
        connection.execute(insert(db.documents).values(digest=digest, content=content))


def to_text(time: datetime) -> str:
    """A time as the tables store it: in UTC, so that texts sort as times."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def to_time(text: str) -> datetime:
    return datetime.fromisoformat(text)
