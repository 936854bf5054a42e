"""The data market's own hierarchies, inside a transaction.

Groups of parties, actions and purposes are the word of whoever may write the registry: nothing here asks
whether somebody may say that a party belongs to a group, so whatever embeds this must restrict who adds
hierarchies. That an asset belongs to a collection is the word of its owner alone, because policies about
the collection are about the asset from then on.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from smalti.engine.registry import _authorities, ownership
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import Facts, Pairs, find_asset, store_document, to_time
from smalti.engine.registry._journal import note, tick
from smalti.engine.registry.entries import StoredHierarchy
from smalti.errors import PolicyError, RegistryError, UsageError
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies, Vocabulary
from smalti.policy.decide.hierarchy import Relations
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """The documents of hierarchies, each read once."""

    _read: dict[str, Vocabulary] = field(default_factory=dict)
    _together: dict[tuple[str, ...], Hierarchies] = field(default_factory=dict)
    """By the digests of documents: what policies may use by them."""

    def of(self, stored: StoredHierarchy) -> Vocabulary:
        """What a stored document says.

        Raises:
            RegistryError: this version of smalti does not understand it: nothing can be decided then.
        """
        if stored.digest not in self._read:
            try:
                self._read[stored.digest] = _read(stored.document, stored.name, is_stored=True)
            except PolicyError:
                raise RegistryError(
                    stored.name,
                    "this version of smalti does not understand the hierarchy",
                    "the smalti that added it, or a newer one",
                    "remove it, and add it again",
                ) from None
        return self._read[stored.digest]

    def declared(self, counting: Iterable[StoredHierarchy]) -> "Declared":
        """What policies may use by some documents beside the standard words."""
        changing = {stored.digest: stored for stored in counting if self.of(stored).changes_policies}
        key = tuple(sorted(changing))
        if key not in self._together:
            own = [self.of(changing[digest]) for digest in key]
            plain = [replace(vocabulary, assets=Relations(), columns=()) for vocabulary in own]
            self._together[key] = STANDARD.with_all(*plain)
        return Declared(key, self._together[key] if key else STANDARD)


@dataclass(frozen=True, slots=True)
class Declared:
    """The words that the policies of one party may use."""

    key: tuple[str, ...]
    """The digests of the documents that declare some; equal ones declare the same."""
    hierarchies: Hierarchies


@dataclass(frozen=True, slots=True)
class Declarations:
    """The words that each party's policies may use: by its own documents, and those of whom it trusts."""

    stored: tuple[StoredHierarchy, ...]
    """In force."""
    trusted: Mapping[IRI, frozenset[IRI]]
    """By owner."""
    vocabularies: Vocabularies

    def of(self, issuer: IRI | None) -> Declared:
        """What a party's policies may use; None: anybody's."""
        return self.of_all(() if issuer is None else (issuer,))

    def of_all(self, parties: Collection[IRI]) -> Declared:
        """What policies may use by what any of some parties declares, or trusts."""
        speakers = frozenset(parties).union(*(self.trusted.get(party, ()) for party in parties))
        return self.vocabularies.declared(stored for stored in self.stored if stored.party in speakers)


def declarations(connection: Connection, vocabularies: Vocabularies) -> Declarations:
    """The words that each party's policies may use now."""
    stored = in_force(connection)
    return Declarations(stored, _authorities.trusted(connection) if stored else {}, vocabularies)


def check_profiles(
    in_force: Iterable[StoredHierarchy], name: str, new: Vocabulary, party: IRI, vocabularies: Vocabularies
) -> None:
    """Refuse a profile that another party has declared."""
    for stored in in_force:
        theirs = frozenset[IRI]() if stored.party == party else vocabularies.of(stored).profiles
        for profile in sorted(theirs & new.profiles):
            raise UsageError(
                name,
                f"it claims the profile `{profile}`, which {stored.party} has declared",
                "a profile with an IRI of your own",
                f"use another IRI; in this registry the word is that of {stored.party}",
            )


def check_standard(
    in_force: Iterable[StoredHierarchy],
    name: str,
    new: Vocabulary,
    party: IRI,
    trusted: Collection[IRI],
    vocabularies: Vocabularies,
) -> None:
    """Refuse what would change a standard word together with the party's own, or what it trusts.

    What others say of the same words refuses nothing: it counts only for whom it is trusted by, and who
    trusts both sides gets no permission by either (`Hierarchies.with_all`).

    Raises:
        PolicyError: it would together with the party's own words.
        UsageError: it would together with a document of somebody whom the party trusts.
    """
    others = [stored for stored in in_force if stored.name != name]
    own = [vocabularies.of(stored) for stored in others if stored.party == party]
    together = STANDARD.with_(*own, new)
    for stored in others:
        if stored.party in trusted and stored.party != party:
            try:
                together.with_(vocabularies.of(stored))
            except PolicyError:
                raise UsageError(
                    name,
                    f"together with {stored.name} of {stored.party}, it would change a standard word",
                    "words that agree with those of the parties whom the adding party trusts",
                    f"leave it out, or distrust the vocabularies of {stored.party}",
                ) from None


def check_functions(
    ever_stored: Iterable[StoredHierarchy],
    name: str,
    new: Vocabulary,
    party: IRI,
    vocabularies: Vocabularies,
) -> None:
    """Refuse a property of rules that the party has declared as a case of another one.

    Policies that use it would change from rules of one party to rules of everybody.
    """
    for stored in ever_stored:
        before = dict(vocabularies.of(stored).functions) if stored.party == party else {}
        for word, whole in new.functions:
            if before.get(word, whole) != whole:
                raise UsageError(
                    name,
                    f"it declares `{word}` as a case of `{whole}`, and {stored.name} of `{before[word]}`",
                    "one meaning of a word for all time: policies that use it are stored",
                    "declare another word",
                )


def read_new(document: bytes, name: str) -> Vocabulary:
    """What a new document says.

    Raises:
        PolicyError: something in it is not understood, or it gives one asset two names.
    """
    vocabulary = _read(document, name)
    if vocabulary.assets.exact:
        left, right = vocabulary.assets.exact[0]
        raise PolicyError(
            name,
            f"it declares the assets `{left}` and `{right}` to be the same",
            "one IRI for each asset: policies and owners are recorded under it",
            "remove the statement",
        )
    return vocabulary


def check_name(in_force: Iterable[StoredHierarchy], name: str, party: IRI) -> None:
    """Refuse a name under which somebody else has a hierarchy in force."""
    for stored in in_force:
        if stored.name == name and stored.party != party:
            raise UsageError(
                name,
                f"{stored.party} has added a hierarchy of that name",
                "an unused name",
                "choose another name, or ask them to remove it",
            )


def check_assets(facts: ownership.Facts, name: str, vocabulary: Vocabulary, party: IRI) -> None:
    """Refuse a hierarchy about assets that other parties own."""
    for table, column in vocabulary.columns:
        if party not in ownership.full_owners(facts, table):
            raise UsageError(
                name,
                f"{party} does not own `{table}`, and may not declare its column `{column}`",
                "registered tables that the party fully owns",
                "ask its owner to declare it; if nobody owns it, add a policy about it first",
            )
    for member, collection in vocabulary.assets.broader:
        for asset in (member, collection):
            is_open = asset == collection and _is_nobodys(facts, asset)
            if not is_open and party not in ownership.full_owners(facts, asset):
                raise UsageError(
                    name,
                    f"{party} does not own `{asset}`, and may not declare memberships of it",
                    "registered assets that the party fully owns",
                    "ask its owner to add the membership; if nobody owns it, add a policy about it first",
                )


def memberships(
    facts: ownership.Facts, in_force: Iterable[StoredHierarchy], vocabularies: Vocabularies
) -> Pairs:
    """The memberships of assets that count now.

    Args:
        facts: about owners; without any memberships.
        in_force: the hierarchies in force.
        vocabularies: what each of them says.
    """
    counting: dict[tuple[IRI, IRI], None] = {}
    for stored in in_force:
        for pair in vocabularies.of(stored).assets.broader:
            if _counts(facts, pair, stored.party):
                counting[pair] = None
    return tuple(counting)


def columns(
    facts: ownership.Facts, in_force: Iterable[StoredHierarchy], vocabularies: Vocabularies
) -> Pairs:
    """The columns of tables that count now: their owners' word."""
    counting = {
        (table, column): None
        for stored in in_force
        for table, column in vocabularies.of(stored).columns
        if stored.party in ownership.full_owners_on_record(facts, table)
    }
    return tuple(counting)


def _counts(facts: ownership.Facts, pair: tuple[IRI, IRI], party: IRI) -> bool:
    # Whose a collection is that is no asset was asked when it was said.
    assets = (asset for asset in pair if asset == pair[0] or facts.kind(asset) is not None)
    return all(party in ownership.full_owners_on_record(facts, asset) for asset in assets)


def _is_nobodys(facts: ownership.Facts, collection: IRI) -> bool:
    """Whether it is neither an asset nor another spelling of one."""
    return facts.kind(collection) is None and not ownership.spelled_otherwise(facts, collection)


def ever_said(facts: Facts, vocabularies: Vocabularies, by: IRI | None) -> Pairs:
    """The memberships of assets that some hierarchy ever stated, whether or not it is in force.

    Of a collection that was nobody's then, they count only where it became the party's own: another owner
    did not say that.

    Args:
        facts: about owners; without any memberships.
        vocabularies: what each of them says.
        by: who is about to bind what nobody owns; None: nobody is.
    """
    pairs = (
        pair
        for stored in listed(facts.connection)
        for pair in vocabularies.of(stored).assets.broader
        if _was_theirs(facts, pair[1], stored, by)
    )
    return tuple(dict.fromkeys(pairs))


def _was_theirs(facts: Facts, collection: IRI, stored: StoredHierarchy, by: IRI | None) -> bool:
    asset = find_asset(facts.connection, collection)
    if asset is None:
        return stored.removed_at is None or by in (None, stored.party)
    if asset.registered_at < stored.added_at:
        return True  # it was looked at when it was added (`check_assets`)
    return stored.party in ownership.full_owners_on_record(facts, collection)


def combined(
    stored: Iterable[StoredHierarchy], pairs: Pairs, vocabularies: Vocabularies, of_tables: Pairs = ()
) -> Hierarchies:
    """The standard hierarchies with the data market's own.

    Of assets, with these memberships alone; of tables, with these columns alone. What their parties say of
    actions or purposes is disputed where it contradicts itself (`Hierarchies.with_all`).
    """
    own = []
    for hierarchy in stored:
        vocabulary = vocabularies.of(hierarchy)
        own.append(replace(vocabulary, assets=Relations(), columns=()))
    assets = Relations(broader=pairs)
    if not own and not pairs and not of_tables:
        return STANDARD
    return STANDARD.with_all(*own, Vocabulary(assets=assets, columns=of_tables))


def store(connection: Connection, document: bytes, digest: str, name: str, party: IRI) -> None:
    """Put a hierarchy in force in place of the one of that name."""
    end(connection, name)
    last = select(func.max(db.hierarchies.c.number)).where(db.hierarchies.c.name == name)
    number = (connection.execute(last).scalar() or 0) + 1
    store_document(connection, digest, document)
    values = {
        "name": name,
        "number": number,
        "digest": digest,
        "party": party,
        "added_at": tick(connection),
    }
    connection.execute(insert(db.hierarchies).values(values))
    note(connection, "hierarchy", name)


def end(connection: Connection, name: str) -> None:
    """Take the hierarchy of that name out of force, if there is one."""
    where = (db.hierarchies.c.name == name) & db.hierarchies.c.removed_at.is_(None)
    connection.execute(update(db.hierarchies).where(where).values(removed_at=tick(connection)))
    note(connection, "hierarchy", name)


def in_force(connection: Connection) -> tuple[StoredHierarchy, ...]:
    return _stored(connection, _all().where(db.hierarchies.c.removed_at.is_(None)))


def listed(connection: Connection) -> tuple[StoredHierarchy, ...]:
    return _stored(connection, _all())


def _all() -> Select[tuple[Any, ...]]:
    return select(db.hierarchies, db.documents.c.content).join(
        db.documents, db.documents.c.digest == db.hierarchies.c.digest
    )


def _stored(connection: Connection, query: Select[tuple[Any, ...]]) -> tuple[StoredHierarchy, ...]:
    rows = connection.execute(query.order_by(db.hierarchies.c.id)).all()
    return tuple(_to_stored(row) for row in rows)


def _to_stored(row: Row[tuple[Any, ...]]) -> StoredHierarchy:
    removed_at = to_time(row.removed_at) if row.removed_at else None
    added_at, party = to_time(row.added_at), IRI(row.party)
    return StoredHierarchy(row.name, row.number, row.digest, row.content, party, added_at, removed_at)


def _read(document: bytes, name: str, *, is_stored: bool = False) -> Vocabulary:
    from smalti.policy.read.vocabularies import read_vocabulary  # noqa: PLC0415 (it needs rdflib)

    return read_vocabulary(document, name, is_stored=is_stored)
