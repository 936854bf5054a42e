"""The part of a registry that decisions need, in memory; it follows changes by this and other processes.

One cheap query tells whether anything changed; then only the changes are read. A policy is parsed when a
request is first about one of its assets, so that a registry of many policies answers at once.

Which hierarchies count depends on what is requested: those that its owners added, or authorities that they
trust. So policies are looked up in a `View`, of which there is one for each set of hierarchies.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, select

from smalti.engine.registry import _authorities, _hierarchies, _keys, ownership
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import Pairs
from smalti.engine.registry._journal import NO_REVISION, Revision, last_revision
from smalti.engine.registry._policy_checks import assigned
from smalti.engine.registry._policy_documents import Reader
from smalti.engine.registry._recorded_columns import RecordedColumns
from smalti.engine.registry.ceilings import speaks_of_budget
from smalti.engine.registry.entries import AssetKind, Input, StoredHierarchy, version_iri
from smalti.engine.registry.owned_assets import NONE, Assets, TrustingAssets
from smalti.engine.registry.views import Entry, View
from smalti.policy.decide.decision import Reason, Request
from smalti.policy.decide.index import Standing
from smalti.policy.decide.table_columns import Requested, spellings, tables_of
from smalti.policy.model.column_iris import is_below, normalised_column
from smalti.policy.model.iris import normalised_iri
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI

_AT_ONCE: Final = 500
"""Rows by their keys, in one query."""


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """The part of a version that decisions need."""

    target: IRI
    number: int
    iri: IRI
    policy_digest: str
    policy_uid: IRI
    rule_uid: IRI
    party: IRI
    """On whose behalf the run was made."""
    inputs: tuple[Input, ...]
    policy_meaning: str | None = None
    """Of the policy as its owner resolved it then; None: it was recorded by an earlier smalti."""
    issuer: IRI | None = None
    """Whose word the policy was, which names the output; None: it was recorded by an earlier smalti."""
    bound_by: IRI | None = None
    """Who said what data the inputs are; None likewise."""
    counts_rows: bool = False
    """Nothing was declared about its respondents: what it counted are rows."""
    whole: IRI | None = None
    """The output that it is one of several tables of; None: it is one by itself."""


class Snapshot:
    """The part of a registry that decisions need, at one revision. Not for several threads."""

    def __init__(self, reader: Reader, vocabularies: _hierarchies.Vocabularies) -> None:
        self.revision: Revision | None = None
        """None: nothing was read so far."""
        self._reader, self._vocabularies = reader, vocabularies
        self._assets = Assets()
        self._versions: dict[IRI, dict[int, VersionEntry]] = {}
        self._version_of: dict[IRI, VersionEntry] = {}
        self._stored_hierarchies: tuple[StoredHierarchy, ...] = ()
        self._trusted: frozenset[tuple[IRI, str]] = frozenset()
        self._authorities: dict[IRI, frozenset[IRI]] = {}
        """By the owner who trusts them."""
        self._declarations = self._now_declared()
        """The words that policies may use."""
        self._pairs: Pairs = ()
        """The memberships of assets that count."""
        self._columns: Pairs = ()
        """The columns of tables that count."""
        self._built: tuple[Pairs, Pairs, tuple[StoredHierarchy, ...]] = ((), (), ())
        """What the views were made from."""
        self._views: dict[tuple[tuple[str, int], ...], View] = {}
        """By the names and numbers of the hierarchies that count."""
        self._entries: dict[int, Entry] = {}
        self._named: dict[IRI, set[int]] = {}
        """Entries by the uid of their policy."""
        self._meanings: dict[int, str] = {}
        self._columns_about: dict[IRI, dict[IRI, set[int]]] = {}
        """Likewise, by the tables that what a policy speaks of may be columns of."""
        self._about: dict[IRI, dict[IRI, set[int]]] = {}
        """What a policy speaks of, its issuer, its entries."""
        self._policies: dict[int, Policy | None] = {}
        """Those that were read; None where it is not understood."""
        self._unread: set[int] = set()
        self._not_understood: set[int] = set()
        self._ended: dict[int, Reason] = {}
        """Why entries that were read may prohibit only, whoever asks."""
        self._budgeted: set[int] = set()
        """Those that were read and depend on what has been charged."""
        self._fragile: set[int] = set()
        """Those whose standing rests on more than their issuer."""
        self._ownership: dict[IRI, tuple[frozenset[IRI], frozenset[IRI]]] = {}
        self._recorded_columns: dict[IRI, RecordedColumns] = {}
        self._tables_with: dict[IRI, frozenset[IRI]] = {}
        """The tables of which runs read a column, by its IRI."""
        self._data_below: dict[IRI, set[IRI]] = {}
        """What has data, by the tables that its IRI may name a column of."""
        self._read_from: set[IRI] = set()
        """What versions were made from."""
        self._data_said_by: dict[IRI, set[IRI | None]] = {}
        """Who said that there is data under an IRI, by a policy with that output or by binding it; None: it
        was recorded by an earlier smalti."""

    # --- Questions

    def is_known(self, iri: IRI) -> bool:
        return iri in self._assets.kinds

    def owners(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset or a part of it."""
        return self._owners(iri)[0]

    def full_owners(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset and each part of it."""
        return self._owners(iri)[1]

    def _owners(self, iri: IRI) -> tuple[frozenset[IRI], frozenset[IRI]]:
        owner_sets = self._ownership.get(iri)
        if owner_sets is None:
            owner_sets = ownership.owners(self._assets, iri), ownership.full_owners(self._assets, iri)
            if any(owner_sets):  # what nobody knows is as much as requests make up
                self._ownership[iri] = owner_sets
        return owner_sets

    def versions(self, target: IRI) -> tuple[VersionEntry, ...]:
        """The versions of an output, or the one version that the IRI names; oldest first."""
        if (version := self._version_of.get(target)) is not None:
            return (version,)
        return tuple(self._versions.get(target, {}).values())

    def number_made(self, party: IRI, targets: Iterable[IRI]) -> int:
        """How many versions were made on behalf of a party from a target, a part of one, or its whole."""
        near = {normalised_column(asset) for target in targets for asset in self.related(target)}
        name = normalised_iri(party)
        return sum(
            version.whole is None  # its tables were made with it
            and normalised_iri(version.party) == name
            and any(normalised_column(source.iri) in near for source in version.inputs)
            for version in self._version_of.values()
        )

    def recorded_columns(self, target: IRI) -> RecordedColumns | None:
        """What runs recorded of a target's columns; None: not asked for since the last version."""
        return self._recorded_columns.get(target) if self.is_known(target) else RecordedColumns(target)

    def tables_with_column(self, column: IRI) -> frozenset[IRI] | None:
        """Of which a run read it; None: not asked for since the last version."""
        if not self._version_of or not any(map(self.is_known, spellings(column))):
            return NONE  # nobody owns it, so that nobody permits anything of it
        return self._tables_with.get(column)

    def remember_tables(self, column: IRI, tables: frozenset[IRI]) -> None:
        """Keep what was read, until another version is made."""
        self._tables_with[column] = tables

    def remember_columns(self, columns: RecordedColumns) -> None:
        """Keep what was read, until another version is made."""
        self._recorded_columns[columns.table] = columns

    def version(self, source: Input) -> VersionEntry | None:
        """The version that was read as an input, where it is one."""
        return self._versions.get(source.iri, {}).get(source.version or 0)

    def is_used(self, uid: IRI) -> bool:
        """Whether a policy in force has that uid, by whatever document."""
        return uid in self._named

    def entries_named(self, uid: IRI) -> list[Entry]:
        """The entries in force of policies with that uid, by whatever document."""
        return [self._entries[key] for key in sorted(self._named.get(uid, ()))]

    def meaning(self, entry: Entry) -> str | None:
        """The digest of what an entry that was read means; None where it is not understood."""
        policy = self._policies.get(entry.key)
        if policy is None:
            return None
        if entry.key not in self._meanings:
            self._meanings[entry.key] = meaning_digest(policy)
        return self._meanings[entry.key]

    def policy(self, entry: Entry) -> Policy | None:
        """The policy, once `missing` has named it and `load` has read it."""
        return self._policies.get(entry.key)

    def why_it_ended(self, entry: Entry) -> Reason | None:
        """Why an entry may prohibit only, whoever asks; once it was read."""
        return self._ended.get(entry.key)

    def standing(
        self, view: View, policy: Policy, owners: frozenset[IRI], full_owners: frozenset[IRI]
    ) -> Standing:
        """Whether a policy of a view's index may permit, may only prohibit, or does not count.

        Args:
            view: that the request is judged in.
            policy: as its index holds it.
            owners: who owns a part of what is requested; they may prohibit.
            full_owners: who owns all of it; they may permit.
        """
        standing = Standing.NONE
        for key, issuer in view.issuers(policy):
            if issuer in full_owners and key not in self._ended:
                return Standing.FULL
            if issuer in owners:
                standing = Standing.PROHIBITS
        return standing

    # --- Whose hierarchies count

    def authorities(self, targets: Iterable[IRI], binder: IRI | None = None) -> frozenset[IRI]:
        """Whose hierarchies of parties, actions and purposes count for a permission about some targets.

        The owners of all of each target, and whoever each owner of a part of it trusts in that.

        Args:
            targets: of a request.
            binder: who is taken as the owner of what nobody knows.
        """
        bound = NONE if binder is None else self.authorities_of(binder)
        sets = [self._trusted_for(target)[1] if self.owners(target) else bound for target in targets]
        return frozenset.intersection(*sets) if sets else NONE

    def any_authorities(self, targets: Iterable[IRI]) -> frozenset[IRI]:
        """Whose hierarchies count for a prohibition: whoever owns a part, and whom such an owner trusts."""
        return NONE.union(*(self._trusted_for(target)[0] for target in targets))

    def authorities_of(self, owner: IRI) -> frozenset[IRI]:
        """An owner, and whom that one trusts."""
        return frozenset({owner}) | self._authorities.get(owner, NONE)

    def _trusted_for(self, target: IRI) -> tuple[frozenset[IRI], frozenset[IRI]]:
        if not self._authorities:
            return self._owners(target)
        trusting = TrustingAssets(self._assets, self._authorities)
        return ownership.owners(trusting, target), ownership.full_owners(trusting, target)

    def view(self, authorities: frozenset[IRI]) -> View:
        """Policies under the hierarchies that some parties added."""
        counting = tuple(stored for stored in self._stored_hierarchies if stored.party in authorities)
        key = tuple((stored.name, stored.number) for stored in counting) if counting else ()
        if key not in self._views:
            combined = _hierarchies.combined(counting, self._pairs, self._vocabularies, self._columns)
            self._views[key] = View(combined)
        return self._views[key]

    def place(self, view: View, keys: Iterable[int]) -> None:
        """Let a view look up entries that were read."""
        for key in view.without(keys):
            if (policy := self._policies.get(key)) is not None:
                view.place(self._entries[key], policy)

    def has_data(self, iri: IRI) -> bool:
        """Whether it is an output, or something was made from it."""
        return self._assets.kind(iri) is AssetKind.OUTPUT or iri in self._read_from

    def is_another_table(self, iri: IRI, table: IRI) -> bool:
        """Whether an IRI is that of other data than a table's column, by the word of the table's owners.

        Data that somebody else has under it does not tell what the table's owners mean by it; nor what one
        of several owners has there, what another one means.
        """
        owners = self.owners(table)
        said_by = self._data_said_by.get(iri, set())
        is_said = self.has_data(iri) and not said_by.isdisjoint((*owners, None))
        return is_said and len(owners) == 1 and self.owners(iri) == owners

    def whole_of(self, iri: IRI) -> IRI | None:
        """The output that an IRI is one of several tables of; None: it is something else."""
        wholes = {version.whole for version in self._versions.get(iri, {}).values()}
        return wholes.pop() if len(wholes) == 1 else None

    def is_part(self, iri: IRI, table: IRI) -> bool:
        """Whether an IRI is one of several tables of an output, and of nothing else."""
        return self.whole_of(iri) == table

    def data_below(self, table: IRI) -> Iterable[IRI]:
        """What has data of its own, and an IRI that may be that of a column of a table."""
        return (iri for spelling in spellings(table) for iri in self._data_below.get(spelling, ()))

    def related(self, iri: IRI) -> frozenset[IRI]:
        """Whatever shares a part with the asset by the hierarchies, itself included."""
        assets = self.view(NONE).hierarchies.assets
        concept = assets.concept(iri)
        if not (assets.directly_broader(concept) or assets.directly_narrower(concept)):
            return frozenset({iri})
        return assets.related(iri) | {iri}

    def requested(self, request: Request) -> Requested:
        """The targets of a request, with their tables and columns: where a rule may touch them."""
        return Requested(request, self.view(NONE).hierarchies)

    def tables(self, iri: IRI) -> frozenset[IRI]:
        """The known tables that an IRI may name a column of."""
        return ownership.tables(self._assets, iri)

    def spelled_otherwise(self, iri: IRI) -> frozenset[IRI]:
        """The known assets of which an IRI is another spelling."""
        return ownership.spelled_otherwise(self._assets, iri)

    def known_above(self, iri: IRI) -> list[IRI]:
        """The assets that an IRI lies below, and names no column of."""
        names = [name.lower() for name in spellings(iri)]
        assets = ((asset, asset.lower()) for asset in self._assets.kinds)
        near = (asset for asset, stem in assets if any(name.startswith(stem) for name in names))
        return [asset for asset in dict.fromkeys(near) if is_below(asset, iri)]

    def wholes(self, iri: IRI) -> frozenset[IRI]:
        """An asset, and the collections that it belongs to."""
        return self.view(NONE).hierarchies.assets.broader(iri) | {iri}

    def spoken_of_below(self, wholes: Iterable[IRI]) -> list[IRI]:
        """The IRIs, in all spellings, that policies in force speak of and that lie below some assets."""
        names = {name.lower(): whole for whole in wholes for name in spellings(whole)}
        near = (iri for iri in self._about if iri.lower().startswith(tuple(names)))
        return [iri for iri in near if any(is_below(whole, iri) for whole in names.values())]

    def about(self, iris: Iterable[IRI]) -> Iterator[tuple[IRI, set[int]]]:
        """Each issuer with entries that speak of one of these."""
        for iri in iris:
            yield from self._about.get(iri, {}).items()

    def touching(self, requested: Requested) -> Iterator[tuple[IRI, set[int]]]:
        """Each issuer with entries that speak of what is requested, of its tables, or of its columns."""
        yield from self.about(requested.sought.union(requested.targets))
        for table in requested.sought_tables:
            yield from self._columns_about.get(table, {}).items()

    def entry(self, key: int) -> Entry:
        return self._entries[key]

    def exceptional(self, sets: Iterable[set[int]]) -> list[Entry]:
        """Those entries, among ones that were read, that are not understood or have ended."""
        odd = self._not_understood | self._ended.keys()
        exceptional = odd & frozenset[int]().union(*sets) if odd else ()
        return [self._entries[key] for key in sorted(exceptional)]

    def speak_of_budgets(self, sets: Iterable[set[int]]) -> bool:
        """Whether some of those entries, which were read, depend on what has been charged."""
        return bool(self._budgeted) and any(not self._budgeted.isdisjoint(keys) for keys in sets)

    # --- Reading policies when they are asked for

    def missing(self, keys: Iterable[int]) -> set[int]:
        """Those entries that were not read yet."""
        return self._unread.intersection(keys) if self._unread else set()

    def load(self, connection: Connection, keys: Iterable[int]) -> None:
        """Read entries."""
        for key in sorted(set(keys)):
            self._policies[key] = policy = self._reader.stored(connection, key, self._declarations)
            self._unread.discard(key)
            if policy is None:
                self._not_understood.add(key)
            if policy is not None and speaks_of_budget(policy):
                self._budgeted.add(key)
            if policy is not None:
                self._admit_read(self._entries[key], policy)

    def _admit_read(self, entry: Entry, policy: Policy) -> None:
        """Check whether a policy that was read still stands."""
        if self._may_fall(entry, policy):
            self._fragile.add(entry.key)
        self._judge(entry, policy)

    def _judge(self, entry: Entry, policy: Policy) -> None:
        self._ended.pop(entry.key, None)
        if (reason := self._why_it_ended(entry, policy)) is not None:
            self._ended[entry.key] = reason

    def _remove(self, entry: Entry) -> None:
        self._ended.pop(entry.key, None)
        self._fragile.discard(entry.key)
        for view in self._views.values():
            view.remove(entry)

    def _why_it_ended(self, entry: Entry, policy: Policy) -> Reason | None:
        if (ended := self._ended_parent(entry)) is not None:
            text = f"its parent {ended} was revoked or replaced: it may only prohibit"
        elif self._is_distrusted(entry):
            text = "the key that signed it is no longer trusted: it may only prohibit"
        elif (stranger := self._stranger(entry, policy)) is not None:
            text = f"its assigner {stranger[0]} does not own `{stranger[1]}`: it may only prohibit"
        else:
            return None
        return Reason(text, entry.uid)

    def _is_distrusted(self, entry: Entry) -> bool:
        return entry.signed_by is not None and (entry.issuer, entry.signed_by) not in self._trusted

    def _ended_parent(self, entry: Entry) -> str | None:
        for key in entry.parents:
            parent = self._entries.get(key)
            if parent is None:
                return "policy"
            if self._is_distrusted(parent):
                return f"`{parent.uid}`"
            if parent is not entry and self._ended_parent(parent) is not None:
                return f"`{parent.uid}`, or a parent of that,"
        return None

    def _stranger(self, entry: Entry, policy: Policy) -> tuple[IRI, IRI] | None:
        """An assigner who does not own what the rule is about; the issuer is held against each request."""
        for rule, _, assigner in assigned(policy):
            for target in rule.targets:
                if assigner != entry.issuer and assigner not in self.full_owners(target.iri):
                    return assigner, target.iri
        return None

    # --- Following the registry

    def is_followed_by(self, connection: Connection) -> bool:
        """Whether the registry went on from this revision, and is no other one, such as an older copy."""
        if self.revision in {None, NO_REVISION}:
            return self.revision is None
        number, token = self.revision or NO_REVISION
        query = select(db.changes.c.token).where(db.changes.c.id == number)
        return connection.execute(query).scalar() == token

    def follow(self, connection: Connection) -> None:
        """Read the changes since the last revision; everything if nothing was read so far."""
        revision, changed = last_revision(connection), None
        if self.revision is not None:
            since = select(db.changes).where(db.changes.c.id > self.revision[0])
            changed = {(row.kind, row.subject) for row in connection.execute(since).all()}
        self._follow_assets(connection, changed)
        self._follow_versions(connection, changed)
        if changed is None or any(kind == "hierarchy" for kind, _ in changed):
            self._stored_hierarchies = _hierarchies.in_force(connection)
        if changed is None or any(kind == "key" for kind, _ in changed):
            self._trusted = _keys.trusted(connection)
        if changed is None or any(kind == "authority" for kind, _ in changed):
            self._authorities = _authorities.trusted(connection)
        self._follow_policies(connection, changed)
        self._follow_words()
        self._settle()
        self.revision = revision

    def _follow_assets(self, connection: Connection, changed: set[tuple[str, str]] | None) -> None:
        iris = _subjects(changed, "asset")
        for row in _rows(connection, select(db.assets), db.assets.c.iri, iris):
            self._assets.admit(IRI(row.iri), AssetKind(row.kind))
        owners: dict[IRI, set[IRI]] = {IRI(iri): set() for iri in iris or ()}
        for row in _rows(connection, select(db.owners), db.owners.c.iri, iris):
            owners.setdefault(IRI(row.iri), set()).add(IRI(row.party))
        self._assets.owners.update((iri, frozenset(parties)) for iri, parties in owners.items())

    def _follow_versions(self, connection: Connection, changed: set[tuple[str, str]] | None) -> None:
        keys = _keys_of(changed, "version")
        inputs: dict[int, list[Input]] = {}
        lineage = select(db.lineage).order_by(db.lineage.c.version, db.lineage.c.position)
        for row in _rows(connection, lineage, db.lineage.c.version, keys):
            inputs.setdefault(row.version, []).append(Input(IRI(row.input), row.input_version))
        query = select(*(db.versions.c[name] for name in _VERSION)).order_by(
            db.versions.c.target, db.versions.c.number
        )
        for row in _rows(connection, query, db.versions.c.id, keys):
            self._recorded_columns.clear()
            self._tables_with.clear()
            version = _version_entry(row, tuple(inputs.get(row.id, ())))
            self._versions.setdefault(version.target, {})[version.number] = version
            self._version_of[version.iri] = version
            inputs_so_far = self._assets.made_from.get(version.target, NONE)
            self._assets.made_from[version.target] = inputs_so_far | {
                source.iri for source in version.inputs
            }
            self._read_from.update(source.iri for source in version.inputs)
            sayings = (
                (version.target, version.issuer),
                *((source.iri, version.bound_by) for source in version.inputs),
            )
            for iri, party in sayings:
                self._data_said_by.setdefault(iri, set()).add(party)
            for iri in (version.target, *(source.iri for source in version.inputs)):
                for table in tables_of(iri):
                    self._data_below.setdefault(table, set()).add(iri)

    def _follow_policies(self, connection: Connection, changed: set[tuple[str, str]] | None) -> None:
        keys = _keys_of(changed, "policy")
        for key in keys or ():
            self._forget(key)
        parents: dict[int, list[int]] = {}
        for row in _rows(connection, select(db.policy_parents), db.policy_parents.c.policy, keys):
            parents.setdefault(row.policy, []).append(row.parent)
        iris: dict[int, list[IRI]] = {}
        for row in _rows(connection, select(db.policy_iris), db.policy_iris.c.policy, keys):
            iris.setdefault(row.policy, []).append(IRI(row.iri))
        signed = db.policy_signatures.c.policy == db.policies.c.id
        columns = [db.policies.c[name] for name in ("id", "uid", "digest", "issuer")]
        query = select(*columns, db.policy_signatures.c.key).outerjoin(db.policy_signatures, signed)
        in_force = query.where(db.policies.c.revoked_at.is_(None))
        for row in _rows(connection, in_force, db.policies.c.id, keys):
            parents_and_iris = tuple(parents.get(row.id, ())), tuple(iris.get(row.id, ()))
            self._admit(
                Entry(row.id, IRI(row.uid), row.digest, IRI(row.issuer), row.key, *parents_and_iris)
            )

    def _follow_words(self) -> None:
        """Forget what was read of policies whose issuers' vocabularies declare other words by now."""
        before, self._declarations = self._declarations, self._now_declared()
        if before == self._declarations or not (before.stored or self._stored_hierarchies):
            return
        changed = {
            issuer
            for issuer in {entry.issuer for entry in self._entries.values()}
            if before.of(issuer).key != self._declarations.of(issuer).key
        }
        for entry in [entry for entry in self._entries.values() if entry.issuer in changed]:
            self._forget(entry.key)
            self._admit(entry)

    def _now_declared(self) -> _hierarchies.Declarations:
        return _hierarchies.Declarations(self._stored_hierarchies, self._authorities, self._vocabularies)

    def _admit(self, entry: Entry) -> None:
        self._entries[entry.key] = entry
        self._unread.add(entry.key)
        self._named.setdefault(entry.uid, set()).add(entry.key)
        for iri in entry.iris:
            for table, about in _places(iri, self._about, self._columns_about):
                about.setdefault(table, {}).setdefault(entry.issuer, set()).add(entry.key)

    def _forget(self, key: int) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._remove(entry)
        self._policies.pop(key, None)
        self._unread.discard(key)
        self._not_understood.discard(key)
        self._budgeted.discard(key)
        self._meanings.pop(key, None)
        _discard(self._named, entry.uid, key)
        for iri in entry.iris:
            for place, about in _places(iri, self._about, self._columns_about):
                if entry.issuer in about.get(place, {}):
                    _discard(about[place], entry.issuer, key)
                    if not about[place]:
                        del about[place]

    def _settle(self) -> None:
        """Recompute what follows from the facts: memberships, owners, and which policies stand."""
        self._ownership.clear()
        self._assets.collected = {}
        pairs = _hierarchies.memberships(self._assets, self._stored_hierarchies, self._vocabularies)
        for member, collection in pairs:
            spelled = normalised_column(collection)
            self._assets.collected[spelled] = self._assets.collected.get(spelled, NONE) | {member}
        self._pairs = pairs
        self._columns = _hierarchies.columns(self._assets, self._stored_hierarchies, self._vocabularies)
        if (pairs, self._columns, self._stored_hierarchies) != self._built:
            self._built = (pairs, self._columns, self._stored_hierarchies)
            self._views = {}
        for key in self._fragile:
            if (policy := self._policies[key]) is not None:
                self._judge(self._entries[key], policy)

    @staticmethod
    def _may_fall(entry: Entry, policy: Policy) -> bool:
        """Whether its standing rests on more than its issuer."""
        return (
            bool(entry.parents)
            or entry.signed_by is not None
            or any(assigner != entry.issuer for _, _, assigner in assigned(policy))
        )


_VERSION: Final = (
    "id", "target", "number", "run", "policy_digest", "policy_uid", "rule_uid", "party",
    "policy_meaning", "details",
)  # fmt: skip


def _version_entry(row: Row[tuple[Any, ...]], inputs: tuple[Input, ...]) -> VersionEntry:
    details = json.loads(row.details)
    described = details.get("input_table") or {}
    return VersionEntry(
        target=IRI(row.target),
        number=row.number,
        iri=version_iri(row.run),
        policy_digest=row.policy_digest,
        policy_uid=IRI(row.policy_uid),
        rule_uid=IRI(row.rule_uid),
        party=IRI(row.party),
        inputs=inputs,
        policy_meaning=row.policy_meaning,
        issuer=details.get("issuer"),
        bound_by=described.get("said_by"),
        counts_rows=details["respondent"].get("is_declared") is False,
        whole=details.get("whole"),
    )


def _subjects(changed: set[tuple[str, str]] | None, kind: str) -> list[str] | None:
    return (
        None
        if changed is None
        else sorted(subject for changed_kind, subject in changed if changed_kind == kind)
    )


def _keys_of(changed: set[tuple[str, str]] | None, kind: str) -> list[int] | None:
    subjects = _subjects(changed, kind)
    return None if subjects is None else sorted(map(int, subjects))


def _rows(
    connection: Connection, query: Select[Any], column: Any, keys: list[Any] | None
) -> Iterator[Row[tuple[Any, ...]]]:
    """The rows with one of these keys; all of them where there is no list."""
    if keys is None:
        yield from connection.execute(query).all()
        return
    for start in range(0, len(keys), _AT_ONCE):
        yield from connection.execute(query.where(column.in_(keys[start : start + _AT_ONCE]))).all()


def _places(
    iri: IRI, about: dict[IRI, dict[IRI, set[int]]], columns_about: dict[IRI, dict[IRI, set[int]]]
) -> Iterator[tuple[IRI, dict[IRI, dict[IRI, set[int]]]]]:
    """Where an entry that speaks of an IRI is looked up."""
    yield from ((spelling, about) for spelling in spellings(iri))
    yield from ((table, columns_about) for table in tables_of(iri))


def _discard(sets: dict[Any, set[int]], name: Any, key: int) -> None:
    sets[name].discard(key)
    if not sets[name]:
        del sets[name]
