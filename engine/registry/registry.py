"""The registry: whose data is what, which policies are in force, what was made from what.

Facts go in and out as frozen values. Each policy document stays apart, as its bytes; decisions come from
an index in memory that follows what is stored (`snapshot`). All claims hold within one registry that its
users trust: parties are asserted by the caller, and authentication belongs to whatever embeds this.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Any, Self

from sqlalchemy import Connection, Row, Select, select

from smalti.engine.arguments import public_methods
from smalti.engine.plan.known_columns import NO_COLUMNS, KnownColumns
from smalti.engine.registry import (
    _assets,
    _audits,
    _authorities,
    _budgets,
    _hierarchies,
    _keys,
    _policies,
    _recorded_columns,
    _versions,
    _withdrawals,
)
from smalti.engine.registry import _tables as db
from smalti.engine.registry._database import Database
from smalti.engine.registry._journal import moment
from smalti.engine.registry.attempts import Attempt, AttemptState
from smalti.engine.registry.budget import Budget, Ceiling, Charge, EpsilonDelta
from smalti.engine.registry.decision_log import DecisionLog
from smalti.engine.registry.entries import (
    VERSION_PREFIX,
    Asset,
    Intent,
    NewVersion,
    RecordedPlan,
    StoredHierarchy,
    StoredPolicy,
    TargetVersion,
    TrustedKey,
)
from smalti.engine.registry.signatures import read_public_key
from smalti.engine.registry.snapshot import Entry, Made, Snapshot
from smalti.engine.tables.secret import load_secret
from smalti.engine.tables.withdrawn import NOBODY, Withdrawn, keyed_with, stored_digests
from smalti.errors import InternalError, PolicyError, RegistryError, UsageError
from smalti.policy.decide.table_columns import spellings
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


@public_methods
@dataclass(slots=True)
class Registry:
    """The registry at one place. Safe to use from several processes, and from several threads.

    Whoever holds this object is trusted: it tells all that is recorded, parties, paths and owners' figures
    among it. What a party may be shown is for the caller to choose, as `smalti targets` does.
    """

    _database: Database
    decision_log: DecisionLog | None = None
    """Where each decision is written down; None: nowhere."""
    _reader: _policies.Reader = field(default_factory=_policies.Reader, repr=False)
    _vocabularies: _hierarchies.Vocabularies = field(default_factory=_hierarchies.Vocabularies, repr=False)
    _snapshot: Snapshot | None = field(default=None, repr=False)
    _lock: RLock = field(default_factory=RLock, repr=False)

    @classmethod
    def open(cls, location: Path | str, *, log_decisions: bool = True) -> Self:
        """The registry at a path, or at the address of a PostgreSQL database when the text holds `://`.

        Nothing is made: a missing file reads as an empty registry, and the first write makes it. An older
        registry is mended when it is first used.

        Args:
            location: a path, or an address such as `postgresql://host/database`.
            log_decisions: whether each decision is written down (see `decision_log`).
        """
        is_address = isinstance(location, str) and "://" in location
        database = Database(location if is_address else Path(location))
        return cls(database, DecisionLog.of(database.path) if log_decisions else None)

    @property
    def path(self) -> Path | None:
        """The registry's file, absolute; None on a database server."""
        return self._database.path

    @property
    def name(self) -> str:
        """How the user gave the place, without passwords; for messages."""
        return self._database.name

    @property
    def exists(self) -> bool:
        """False while nothing has been written."""
        return self._database.exists

    def close(self) -> None:
        """Close the connections to a database server; done anyway once the registry is used no more."""
        self._database.close()

    # --- What decisions are made from

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """What the registry says now, for one thread at a time.

        Raises:
            RegistryError: the registry cannot be read.
        """
        with self._lock:
            revision = self._database.revision()
            if self._snapshot is None or self._snapshot.revision != revision:
                known, self._snapshot = self._snapshot, None  # what is followed in part is of no use
                with self._database.reading() as connection:
                    if known is None or not known.is_followed_by(connection):
                        known = Snapshot(self._reader, self._vocabularies)
                    known.follow(connection)
                self._snapshot = known
            yield self._snapshot

    def read_policies(self, snapshot: Snapshot, keys: Iterable[int]) -> None:
        """Let a snapshot read entries that it has not read yet."""
        if missing := snapshot.missing(keys):
            with self._database.reading() as connection:
                snapshot.load(connection, missing)

    # --- Assets and owners

    def assets(self) -> tuple[Asset, ...]:
        """Everything that the registry knows, sorted by IRI."""
        with self._database.reading() as connection:
            rows = connection.execute(select(db.assets).order_by(db.assets.c.iri)).all()
        return tuple(_assets.to_asset(row) for row in rows)

    def asset(self, iri: IRI) -> Asset | None:
        """The asset, or None if the registry does not know it."""
        with self._database.reading() as connection:
            return _assets.find_asset(connection, iri)

    def is_known(self, iri: IRI) -> bool:
        """Whether it is an asset, or a collection with a member that somebody owns."""
        with self._database.reading() as connection:
            facts = self._facts(connection)
            return facts.is_known(iri) or bool(facts.owners(iri))

    def known_columns(self, snapshot: Snapshot, target: IRI) -> KnownColumns:
        """The columns that a target is known to have, from its versions and from what was made of it.

        What was recorded under another spelling of its IRI counts, where that is not somebody else's.
        """
        found, owners = NO_COLUMNS, snapshot.owners(target)
        for name in spellings(target):
            if owners and not snapshot.owners(name) <= owners:
                continue
            recorded = snapshot.recorded_columns(name)
            if recorded is None:
                with self._database.reading() as connection:
                    recorded = _recorded_columns.recorded_columns(connection, name)
                snapshot.remember_columns(recorded)
            found |= recorded.known(owners)
        return found

    def tables_with_column(self, snapshot: Snapshot, column: IRI) -> frozenset[IRI]:
        """The targets of which a run that was registered read a column of that IRI, in any spelling."""
        tables = frozenset[IRI]()
        for name in spellings(column):
            found = snapshot.tables_with_column(name)
            if found is None:
                with self._database.reading() as connection:
                    found = _recorded_columns.tables_with_column(connection, name)
                snapshot.remember_tables(name, found)
            tables |= found
        return tables

    def plan_of(self, version: Made) -> RecordedPlan | None:
        """The plan of a version, as it was recorded."""
        with self._database.reading() as connection:
            return _versions.recorded_plan(connection, version.target, version.number)

    def is_another_table(self, iri: IRI, table: IRI) -> bool:
        """Whether an IRI is that of other data than a table's column, by the word of the table's owners."""
        with self.snapshot() as snapshot:
            return snapshot.is_another_table(iri, table)

    def owners(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset, or any source that it was made from; they may prohibit.

        Empty for what the registry does not know. Of a collection: who owns any member, too.
        """
        with self._database.reading() as connection:
            return self._facts(connection).owners(iri)

    def full_owners(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset and, for an output, each source that it was made from; they may permit.

        Of a collection: who owns each member, too.
        """
        with self._database.reading() as connection:
            return self._facts(connection).full_owners(iri)

    def add_owner(self, iri: IRI, new: IRI, *, by: IRI) -> None:
        """Make somebody an owner of a source, on the word of an owner.

        Raises:
            UsageError: unknown or not a source, or `by` is no owner; nothing was changed.
        """
        # Refused before a write would make the file, here and below; checked again inside it.
        with self._database.reading() as connection:
            _assets.check_owner_of_source(connection, iri, by)
        with self._database.writing() as connection:
            _assets.add_owner(connection, iri, new, by)

    def remove_owner(self, iri: IRI, party: IRI, *, by: IRI) -> None:
        """Take ownership of a source away; their policies about it no longer count.

        Raises:
            UsageError: as `add_owner`, or `party` is no owner, or the last one; nothing was changed.
        """
        with self._database.reading() as connection:
            _assets.check_owner_of_source(connection, iri, by)
        with self._database.writing() as connection:
            _assets.remove_owner(connection, iri, party, by)

    def _claim(self, connection: Connection, source: IRI, inputs: Iterable[str], by: IRI) -> None:
        """Make whoever bound a source to data its owner, where it has none; the first one stays it.

        Raises:
            UsageError: somebody else owns it, and it was never read with these digests.
        """
        facts = self._facts(connection)
        _check_binds(facts, source, by)
        is_owner = by in facts.full_owners_or(source, by)
        # Others may run an owner's policy on what an owner bound (`binding`).
        if not is_owner and not _versions.was_read(connection, source, inputs):
            raise UsageError(
                str(source),
                f"{by} does not own it, and may not say what data it is",
                "the data that an owner bound to it before",
                "let an owner bind it (--owner), or run it on what an owner ran it on",
            )
        if is_owner:
            _check_not_of_others(facts, source, _budgets.known_as(connection, inputs), by)
        _assets.claim_sources(connection, [source], by)

    def _facts(self, connection: Connection) -> _assets.Facts:
        """About assets, with the memberships and the declared columns that count now."""
        stored = _hierarchies.in_force(connection)
        plain = _assets.Facts(connection)
        if not stored:
            return plain
        members = _hierarchies.memberships(plain, stored, self._vocabularies)
        return _assets.Facts(connection, members, _hierarchies.columns(plain, stored, self._vocabularies))

    # --- Policies

    def add_policy(
        self,
        document: bytes,
        name: str,
        issuer: IRI,
        *,
        signature: bytes | None = None,
        replaces: bool = False,
    ) -> tuple[StoredPolicy, ...]:
        """Put each policy of a document in force, on the word of its issuer.

        The issuer must own each target that the registry knows. A target that it does not know becomes
        known, with the issuer as its owner: within one trusted registry the first word counts. (A
        collection of a hierarchy in force stays as it is, and may be anybody's target: policies about it
        count for those of its members that their issuer owns.) What is in force already stays as it is;
        what was revoked is put in force again. A document that says the same as one of the issuer's under
        the same uid, and was only laid out anew, takes its place. Parents must be in force, and are
        recorded: when one of them ends, the policy may prohibit only.

        Args:
            document: the bytes of the policy document.
            name: of the document, for messages.
            issuer: who adds it; asserted by the caller.
            signature: a detached JWS of the document's bytes (see `signatures`); needed once a key is
                trusted for the issuer.
            replaces: end what is in force under the same policy uids at once, where the issuer may.

        Raises:
            PolicyError: the document has errors, or one of its rules names an assigner who is no owner.
            UsageError: the issuer does not own a target, a uid is used by another document, a parent is
                not in force, or the signature is missing or wrong. Nothing was changed.
        """
        with self._database.reading() as connection:
            new = self._reader.new(connection, document, name, issuer)
            if not self.exists:  # refused before a write would make the file
                _keys.check_signature(connection, issuer, document, signature, name)
                _policies.check_new(connection, self._reader, self._facts(connection), new)
        with self._database.writing() as connection:
            facts = self._facts(connection)
            if replaces:
                _policies.end_replaced(connection, facts, new)
            _policies.check_new(connection, self._reader, facts, new)
            key = _keys.check_signature(connection, issuer, document, signature, name)
            _policies.add(connection, self._reader, facts, new, _signed(key, signature))
            found = self._stored(connection, _policies.in_force().where(db.policies.c.digest == new.digest))
        return tuple(stored for stored in found if stored.issuer == issuer)

    def revoke_policy(self, uid: IRI, party: IRI) -> tuple[StoredPolicy, ...]:
        """End a policy, and with it what was implied by it.

        Every entry under the uid that the party may end is ended: as its issuer, or as somebody who owns
        all of its targets, of each of which its issuer owns a part. Other policies under the uid stay.

        Args:
            uid: of the policy.
            party: who revokes it; asserted by the caller.

        Returns:
            The entries that were ended.

        Raises:
            UsageError: no such policy is in force, or the party may end none; nothing was changed.
        """
        with self._database.reading() as connection:
            self._revocable(connection, uid, party)
        with self._database.writing() as connection:
            rows = self._revocable(connection, uid, party)
            for row in rows:
                _policies.end(connection, row.id)
            ended = [row.id for row in rows]
            return self._stored(connection, select(db.policies).where(db.policies.c.id.in_(ended)))

    def list_policies(self) -> tuple[StoredPolicy, ...]:
        """All policies that were ever put in force, in the order in which they were."""
        with self._database.reading() as connection:
            return self._stored(connection, select(db.policies))

    def policies_about(self, target: IRI) -> tuple[StoredPolicy, ...]:
        """The policies in force that have a rule about the target, whoever issued them."""
        about = select(db.policy_targets.c.policy).where(db.policy_targets.c.target == target)
        with self._database.reading() as connection:
            return self._stored(connection, _policies.in_force().where(db.policies.c.id.in_(about)))

    def policy_in_force(
        self, uid: IRI, issuer: IRI | None = None, target: IRI | None = None
    ) -> Policy | None:
        """The policy in force with that uid, for reading a document that inherits from it.

        For looking only: what counts is what a document says in the name of an owner (`submissions`).

        Args:
            uid: of the parent.
            issuer: who submits the document: the issuer's own policy, never a stranger's. None: the only
                one with that uid.
            target: what the document is to be run on: its owners' policy comes before the issuer's.
        """
        with self._database.reading() as connection:
            owners = self._facts(connection).full_owners(target) if target is not None else frozenset[IRI]()
            speakers = [issuer] if issuer in owners else [*sorted(owners), issuer]
            found = (self._reader.in_force(connection, uid, speaker) for speaker in speakers)
            return next((policy for policy in found if policy is not None), None)

    def document(self, digest: str) -> bytes:
        """The bytes of a stored policy document.

        Raises:
            InternalError: there is none.
        """
        query = select(db.documents.c.content).where(db.documents.c.digest == digest)
        with self._database.reading() as connection:
            content = connection.execute(query).scalar()
        if content is None:
            raise InternalError("a document that is in force is not stored")
        return bytes(content)

    def read_as(self, document: bytes, name: str, uid: IRI, issuer: IRI) -> Policy | None:
        """A policy of a document, with the parents that a party has in force; None: it has none such.

        Raises:
            PolicyError: the document has errors, or a parent is not in force by that party.
        """
        with self._database.reading() as connection:
            new = self._reader.new(connection, document, name, issuer)
        return next((found for found in new.policies if found.uid == uid), None)

    def is_revoked(self, policy: Policy, owners: Collection[IRI]) -> bool:
        """True if one of some owners ended that policy, in whatever layout, and none has it in force."""
        with self._database.reading() as connection:
            return self._reader.is_revoked(connection, policy, owners)

    def meaning_of(self, snapshot: Snapshot, version: Made | TargetVersion) -> str | None:
        """The digest of what the policy of a version meant when it was made; None: it cannot be told.

        Of what an earlier smalti recorded it is told where all entries of the document by the owners of
        what it was made from, or else all by anybody, ever meant one thing.
        """
        if version.policy_meaning is not None:
            return version.policy_meaning
        owners = _owners_of_inputs(snapshot, version)
        with self._database.reading() as connection:
            of = (connection, version.policy_digest, version.policy_uid)
            found = self._reader.meanings_of(*of, owners) or self._reader.meanings_of(*of, None)
        return next(iter(found)) if len(found) == 1 else None

    def entries_of(
        self, snapshot: Snapshot, version: Made | TargetVersion
    ) -> tuple[tuple[Entry, Policy | None], ...]:
        """The entries in force that say what the policy of a version said when it was made.

        Of owners of all that it was made from, under the policy's uid. Each with the policy; None where
        its document is the version's, and is not understood.
        """
        owners = _owners_of_inputs(snapshot, version)
        entries = [one for one in snapshot.entries_named(version.policy_uid) if one.issuer in owners]
        self.read_policies(snapshot, [entry.key for entry in entries])
        meaning = self.meaning_of(snapshot, version) if entries else None
        return tuple(
            (entry, policy)
            for entry in entries
            if (
                entry.digest == version.policy_digest
                if (policy := snapshot.policy(entry)) is None
                else snapshot.meaning(entry) == meaning
            )
        )

    def uid_conflict(self, policy: Policy, issuer: IRI) -> IRI | None:
        """A uid of a policy of that issuer's that another document uses so that they could be confused."""
        with self._database.reading() as connection:
            facts = _assets.Facts(connection)
            return _policies.uid_conflict(
                connection, self._reader, facts, _policies.Claims.of(policy, issuer)
            )

    def check_signature(self, document: bytes, signature: bytes | None, issuer: IRI, name: str) -> None:
        """Refuse a document that must be signed and is not, or whose signature is wrong.

        Raises:
            UsageError: as `add_policy`.
        """
        with self._database.reading() as connection:
            _keys.check_signature(connection, issuer, document, signature, name)

    def _revocable(self, connection: Connection, uid: IRI, party: IRI) -> list[Row[tuple[Any, ...]]]:
        rows = connection.execute(_policies.in_force().where(db.policies.c.uid == uid)).all()
        if not rows:
            raise UsageError(str(uid), "no such policy is in force", "the uid of a stored policy")
        facts = self._facts(connection)
        found = [row for row in rows if _policies.may_end(facts, row, party)]
        if not found:
            raise UsageError(
                str(uid),
                f"{party} may not revoke it",
                "its issuer, or an owner of all its targets",
                "ask its issuer",
            )
        return found

    def _stored(self, connection: Connection, query: Select[tuple[Any, ...]]) -> tuple[StoredPolicy, ...]:
        return _policies.stored(connection, self._reader, query)

    # --- Keys that sign policies

    def trust_key(self, owner: IRI, public_key_pem: bytes, *, by: IRI) -> TrustedKey:
        """Trust a key to sign for an owner; from then on that owner's policies must be signed.

        The first key is taken on trust: nothing proves that it is the owner's. What was in force before
        stays in force.

        Args:
            owner: whose policies it signs.
            public_key_pem: an Ed25519 public key.
            by: who says so: the owner; asserted by the caller.

        Raises:
            UsageError: `by` is somebody else, or it is no such key; nothing was changed.
        """
        _check_speaks_for_themselves(owner, by, "which keys sign for them")
        key = read_public_key(public_key_pem, f"the key of {owner}")
        with self._database.writing() as connection:
            _keys.trust(connection, owner, key)
            found = [known for known in _keys.listed(connection) if known.is_trusted]
        return next(known for known in found if (known.owner, known.thumbprint) == (owner, key.thumbprint))

    def revoke_key(self, owner: IRI, thumbprint: str, *, by: IRI) -> None:
        """Trust a key no longer: what it signed may prohibit only, until it is signed anew.

        Raises:
            UsageError: `by` is somebody else, or no such key is trusted; nothing was changed.
        """
        _check_speaks_for_themselves(owner, by, "which keys sign for them")
        with self._database.reading() as connection:
            _keys.check_is_trusted(connection, owner, thumbprint)
        with self._database.writing() as connection:
            _keys.revoke(connection, owner, thumbprint)

    def list_keys(self) -> tuple[TrustedKey, ...]:
        """All keys that were ever trusted, in the order in which they were."""
        with self._database.reading() as connection:
            return _keys.listed(connection)

    # --- The data market's own hierarchies, and whose count

    def trust_authority(self, owner: IRI, authority: IRI, *, by: IRI) -> None:
        """Let an authority's hierarchies count for what an owner owns, as if the owner had added them.

        For decisions about a target only hierarchies count that each of its owners added, or trusts: who
        belongs to a group decides who is meant by a policy.

        Args:
            owner: whose targets they count for.
            authority: who adds hierarchies, such as the operator of a data market.
            by: who says so: the owner; asserted by the caller.

        Raises:
            UsageError: `by` is somebody else; nothing was changed.
        """
        _check_speaks_for_themselves(owner, by, "whose vocabularies count for them")
        with self._database.writing() as connection:
            _authorities.trust(connection, owner, authority)

    def distrust_authority(self, owner: IRI, authority: IRI, *, by: IRI) -> None:
        """Let an authority's hierarchies count no longer.

        Raises:
            UsageError: `by` is somebody else, or it was not trusted; nothing was changed.
        """
        _check_speaks_for_themselves(owner, by, "whose vocabularies count for them")
        with self._database.reading() as connection:
            _authorities.check_is_trusted(connection, owner, authority)
        with self._database.writing() as connection:
            _authorities.distrust(connection, owner, authority)

    def trusted_authorities(self, owner: IRI) -> frozenset[IRI]:
        """Whose hierarchies count for an owner's targets, besides the owner's own."""
        with self._database.reading() as connection:
            return _authorities.trusted(connection).get(owner, frozenset())

    def add_hierarchy(self, document: bytes, name: str, party: IRI) -> StoredHierarchy:
        """Put a hierarchy in force, in place of the party's former one of that name.

        That an asset belongs to a collection is its owner's word. Groups of parties, actions and purposes
        count for targets whose owners added them, or trust the party (`trust_authority`).

        Args:
            document: Turtle (see `policy.decide.hierarchies.read`).
            name: under which it is stored and replaced.
            party: who adds it; asserted by the caller.

        Raises:
            PolicyError: something in it is not understood, or it redefines a standard term.
            UsageError: it speaks of assets that the party does not own wholly, or somebody else has a
                hierarchy of that name. Nothing was changed.
        """
        vocabulary = _hierarchies.read_new(document, name)
        with self._database.reading() as connection:
            _hierarchies.check_name(_hierarchies.in_force(connection), name, party)
            _hierarchies.check_assets(_assets.Facts(connection), name, vocabulary, party)
        with self._database.writing() as connection:
            _hierarchies.check_name(_hierarchies.in_force(connection), name, party)
            _hierarchies.check_assets(_assets.Facts(connection), name, vocabulary, party)
            _hierarchies.store(connection, document, _policies.digest_of(document), name, party)
            stored = _hierarchies.in_force(connection)
            # Raises where they redefine a standard term taken together; nothing is stored then.
            _hierarchies.combined(stored, self._facts(connection).memberships, self._vocabularies)
        return next(found for found in stored if found.name == name)

    def remove_hierarchy(self, name: str, party: IRI) -> None:
        """Take a hierarchy out of force.

        Raises:
            UsageError: there is none of that name, or somebody else added it; nothing was changed.
        """
        with self._database.reading() as connection:
            stored = _hierarchies.in_force(connection)
        if name not in {found.name for found in stored}:
            raise UsageError(name, "no such hierarchy is in force", "the name of a stored hierarchy")
        with self._database.writing() as connection:
            _hierarchies.check_name(_hierarchies.in_force(connection), name, party)
            _hierarchies.end(connection, name)

    def list_hierarchies(self) -> tuple[StoredHierarchy, ...]:
        """All versions of all hierarchies, in the order in which they were added."""
        with self._database.reading() as connection:
            return _hierarchies.listed(connection)

    # --- Respondents who withdrew

    def withdraw(
        self, target: IRI, respondents: Iterable[str], *, by: IRI, column: str | None = None
    ) -> int:
        """Leave respondents out of every later run on a target, and on what is made from it.

        Kept as keyed digests under the registry's secret, never in clear; who is on the list stays on it.

        Args:
            target: a source, or an output that still tells whom its rows are about.
            respondents: their values in the respondent column, as the data writes them.
            by: an owner; asserted by the caller.
            column: the name of the respondent column; None: the one that runs on the target counted by.
                A later run that counts people by another column is refused.

        Returns:
            How many are on the target's list now; for its owner.

        Raises:
            UsageError: `by` is no owner, or the target does not tell respondents; nothing was changed.
        """
        with self._database.reading() as connection:
            _withdrawals.check(connection, self._facts(connection), target, by)
            _withdrawals.column_of(connection, target, column)
        keyed = keyed_with(load_secret(self.path))
        digests = [stored_digests([respondent], keyed) for respondent in respondents]
        with self._database.writing() as connection:
            _withdrawals.check(connection, self._facts(connection), target, by)
            _withdrawals.add(
                connection, target, _withdrawals.column_of(connection, target, column), digests
            )
            return _withdrawals.count(connection, target)

    def withdrawn(
        self,
        target: IRI,
        version: int | None = None,
        *,
        at: datetime | None = None,
        since: datetime | None = None,
    ) -> Withdrawn:
        """Who withdrew from the data behind a target, and could still be in it (see `withdrawn`).

        Args:
            target: whose owner, or the owner of something that it was made from, listed them.
            version: where the target is an output, the one that is read; who had withdrawn before it was
                made is not in it.
            at: as the list was then; None: as it is now.
            since: who withdrew then or later; None: ever.
        """
        until, first = (None if time is None else _assets.to_text(time) for time in (at, since))
        window = _withdrawals.Window(since=first, until=until)
        with self._database.reading() as connection:
            found = _withdrawals.listed(connection, target, version, window)
        if not found.digests:
            return NOBODY
        keyed = keyed_with(load_secret(self.path))
        return Withdrawn(found.digests, found.columns, keyed, found.count)

    def count_withdrawn(self, target: IRI, *, by: IRI) -> int:
        """How many respondents are on a target's own list; for its owners alone.

        Raises:
            UsageError: `by` is no owner.
        """
        with self._database.reading() as connection:
            if by not in self._facts(connection).owners_on_record(target):
                raise UsageError(
                    str(target), f"{by} does not own it", "an owner of the target", "ask one of its owners"
                )
            return _withdrawals.count(connection, target)

    def moment(self) -> datetime:
        """A time after all that was written so far, and before whatever is written next.

        By the registry's clock, which never goes back: those of the machines that use it may differ.
        """
        with self._database.reading() as connection:
            return moment(connection)

    # --- Budgets of releases

    def charge(
        self,
        charge: Charge,
        ceiling: Ceiling,
        memberships: Iterable[tuple[IRI, IRI]] = (),
        *,
        bound_by: IRI | None = None,
        said_by: IRI | None = None,
    ) -> bool:
        """Charge a release, if it fits: before anything random is drawn for it, and once for each draw.

        All releases about the same respondents add up, whoever made them and under whatever rule: those on
        the target, on what it was made from or consists of, on what was made from that, and on the same
        bytes under other IRIs. Nothing ever takes a charge back, a crash after it neither. Of several
        processes that race for the last of a budget exactly one gets it. All of it holds within one
        registry, which its users trust.

        Args:
            charge: what the release loses.
            ceiling: of the permission that it relies on (`ceilings.declared_ceiling`); bounds the sum of
                all charges, also of those under other permissions.
            memberships: what the policy says of assets and the collections that they belong to.
            bound_by: who bound the target to data; owns it from now on where nobody did. None: nobody has.
            said_by: the owner whose word the policy is, and the memberships; None: `bound_by`.

        Returns:
            Whether it was charged; durable when this returns. False: it does not fit, and never will;
            nothing was changed.

        Raises:
            InternalError: the run was charged before.
            PlanError: earlier releases were made for another neighbouring relation; nothing was changed.
            UsageError: somebody else owns the target by now; nothing was changed.
            RegistryError: the registry cannot be written; it may have been charged, and nothing may be
                drawn.
        """
        # Sums only grow: what does not fit now need not wait for the other writers.
        with self._database.reading() as connection:
            assets = self._same_respondents(connection, (charge.target,), memberships, bound_by, said_by)
            if not _budgets.fits(connection, charge, ceiling, assets):
                return False
        with self._database.writing() as connection:
            assets = self._same_respondents(connection, (charge.target,), memberships, bound_by, said_by)
            if not _budgets.fits(connection, charge, ceiling, assets):
                return False
            if bound_by is not None:
                self._claim(connection, charge.target, charge.inputs, bound_by)
            _budgets.add(connection, charge, assets)
        return True

    def spent(self, targets: Iterable[IRI]) -> EpsilonDelta:
        """What has been charged about the respondents of some targets together; the owners' figure."""
        with self._database.reading() as connection:
            return _budgets.spent(connection, self._same_respondents(connection, targets))

    def budget(self, target: IRI) -> Budget:
        """All that has been charged about a target's respondents: figures of its owners.

        For whoever releases; whoever shows it to people asks `owners_budget`.

        Args:
            target: a source, an output, or a version of one; of what nobody knows there is none.
        """
        with self._database.reading() as connection:
            return _budgets.budget(connection, self._same_respondents(connection, (target,)))

    def same_respondents(self, targets: Iterable[IRI]) -> frozenset[IRI]:
        """The assets that share a ledger with some targets, these too; also by files of the same bytes."""
        with self._database.reading() as connection:
            assets = self._same_respondents(connection, targets)
            return assets | _budgets.joined(connection, assets)

    def owners_budget(self, target: IRI, *, by: IRI) -> Budget:
        """The same, for its owners.

        Args:
            target: likewise.
            by: an owner of it or of a part of it; asserted by the caller.

        Raises:
            UsageError: the registry does not know the target, or `by` does not own it.
        """
        with self._database.reading() as connection:
            _budgets.check_owner(self._facts(connection), target, by)
            return _budgets.budget(connection, self._same_respondents(connection, (target,)))

    def _same_respondents(
        self,
        connection: Connection,
        targets: Iterable[IRI],
        memberships: Iterable[tuple[IRI, IRI]] = (),
        by: IRI | None = None,
        said_by: IRI | None = None,
    ) -> frozenset[IRI]:
        """The assets that the ledgers of some targets are found by.

        What belongs together is the word of its owners, here as everywhere: nobody else joins a ledger. A
        policy says it in its issuer's name, and not in that of other owners of its target.
        """
        plain, targets = _assets.Facts(connection), tuple(targets)
        speakers = _speakers(plain, targets, by)
        if speakers is not None and said_by is not None:
            speakers &= {said_by}
        said = (pair for pair in memberships if speakers is None or _may_say(plain, pair, speakers))
        # Also by memberships that have ended: what is one ledger stays one.
        pairs = (*_hierarchies.ever_said(plain, self._vocabularies, by), *said)
        facts = _assets.Facts(connection, pairs)
        return frozenset[IRI]().union(*(_budgets.assets_of(facts, target) for target in targets))

    # --- Audits

    def begin_attempt(
        self,
        attempt: Attempt,
        memberships: Iterable[tuple[IRI, IRI]] = (),
        *,
        said_by: IRI | None = None,
    ) -> Attempt:
        """Write down that a model is about to be trained under an audit duty; nothing takes it back.

        Who bound its target to data owns that from now on, where nobody did.

        Args:
            attempt: its number is not looked at.
            memberships: what the policy says of assets and the collections that they belong to.
            said_by: the owner whose word the policy is; None: who bound the target.

        Returns:
            The attempt, with its number among all at models of the same data (see `charge`).

        Raises:
            UsageError: somebody else owns the target by now; nothing may be trained.
            RegistryError: the registry cannot be written; nothing may be trained.
        """
        with self._database.writing() as connection:
            self._claim(connection, attempt.target, attempt.inputs, attempt.bound_by)
            of = (attempt.target,)
            assets = self._same_respondents(connection, of, memberships, attempt.bound_by, said_by)
            return _audits.begin(connection, attempt, assets)

    def end_attempt(self, run: str, state: AttemptState, figures: str = "") -> None:
        """Write down what became of an attempt.

        Raises:
            InternalError: it has ended, or never began.
            RegistryError: the registry cannot be written.
        """
        with self._database.writing() as connection:
            _audits.end(connection, run, state, figures)

    def attempts(self, target: IRI | None = None) -> tuple[Attempt, ...]:
        """Attempts to learn from a target, or to make it; oldest first. Figures for its owners alone.

        Args:
            target: None: all of the registry.
        """
        with self._database.reading() as connection:
            return _audits.attempts(connection, target)

    # --- Versions

    def versions(self, target: IRI) -> tuple[TargetVersion, ...]:
        """The versions of an output, or the one version that the IRI names; oldest first."""
        of_target = db.versions.c.target == target
        if target.startswith(VERSION_PREFIX):
            of_target |= db.versions.c.run == target.removeprefix(VERSION_PREFIX)
        return self._versions(select(db.versions).where(of_target))

    def all_versions(self) -> tuple[TargetVersion, ...]:
        """The versions of all outputs, sorted by output and number."""
        return self._versions(select(db.versions))

    def affected_by(self, policy: IRI) -> tuple[TargetVersion, ...]:
        """The versions that were made under a policy, and all that was made from them in turn.

        Args:
            policy: its uid, whatever its document; whether it is in force or not.

        Raises:
            UsageError: no policy with that uid was ever put in force.
        """
        with self._database.reading() as connection:
            if not _policies.is_known(connection, policy):
                raise UsageError(
                    str(policy),
                    "no such policy was ever put in force",
                    "the uid of a stored policy",
                    "`smalti policy list` shows them",
                )
        versions = self.all_versions()
        found = {version.iri: version for version in versions if version.policy_uid == policy}
        while True:
            read = {(version.target, version.number) for version in found.values()}
            new = [
                version
                for version in versions
                if version.iri not in found
                and any((given.iri, given.version) in read for given in version.inputs)
            ]
            if not new:
                return tuple(version for version in versions if version.iri in found)
            found |= {version.iri: version for version in new}

    def _versions(self, query: Select[tuple[Any, ...]]) -> tuple[TargetVersion, ...]:
        with self._database.reading() as connection:
            return _versions.versions(connection, query)

    def check_record(self, record: NewVersion) -> None:
        """Ask before a run is published whether it can be recorded; `finish` checks it again.

        Raises:
            UsageError: the output's IRI is taken, the policy no longer counts, or somebody withdrew.
        """
        with self._database.reading() as connection:
            self._check_record(connection, record)

    def check_spelling(self, target: IRI) -> None:
        """Refuse another spelling of an asset that is known.

        Raises:
            UsageError: so it is.
        """
        with self._database.reading() as connection:
            _assets.check_spelling(self._facts(connection), target)

    def check_output(self, output: IRI, inputs: Sequence[IRI], bound_by: IRI, issuer: IRI) -> None:
        """Ask, before any work, whether an output may have this IRI.

        Args:
            output: the IRI.
            inputs: what it will be made from.
            bound_by: who says what data the inputs are.
            issuer: the owner whose word the policy is that names the output.

        Raises:
            UsageError: it stands for its input, for a source in use, or for other people's data.
        """
        said = _versions.SaidBy(issuer, bound_by)
        with self._database.reading() as connection:
            _versions.check_output_iri(connection, self._facts(connection), output, inputs, said)

    def _check_record(
        self, connection: Connection, record: NewVersion
    ) -> tuple[_policies.NewPolicies, tuple[str, bytes] | None] | None:
        """What the policy brings, with its signature; None where its issuer has it in force already."""
        if _policies.digest_of(record.document) != record.policy_digest:
            raise RegistryError(record.document_name, "the document is not the one that permitted the run")
        facts = self._facts(connection)
        for one in record.inputs:
            _check_binds(facts, one.iri, record.bound_by)
        _check_still_binds(connection, facts, record)
        _versions.check_record(connection, facts, record)
        _check_nobody_withdrew(connection, record)
        if self._is_still_in_force(connection, record):
            return None
        new = self._read_anew(connection, record)
        _versions.check_may_be_stored(connection, self._reader, facts, record, new)
        key = _keys.check_signature(
            connection, record.issuer, record.document, record.signature, record.document_name
        )
        return new, _signed(key, record.signature)

    def _is_still_in_force(self, connection: Connection, record: NewVersion) -> bool:
        """Whether the issuer has the policy of a run in force, and it says what it said when it ran."""
        query = _policies.in_force().where(
            db.policies.c.digest == record.policy_digest,
            db.policies.c.uid == record.policy_uid,
            db.policies.c.issuer == record.issuer,
        )
        return any(
            self._reader.meaning(connection, row.id) == record.policy_meaning
            and _policies.parents_stand(connection, row.id)
            and _policies.key_stands(connection, row.id)
            for row in connection.execute(query).all()
        )

    def _read_anew(self, connection: Connection, record: NewVersion) -> _policies.NewPolicies:
        """The policy of a run, which its issuer submitted, if it says what it said when it ran."""
        try:
            new = self._reader.new(connection, record.document, record.document_name, record.issuer)
        except PolicyError:  # a parent has ended
            new = None
        policies = () if new is None else new.policies
        policy = next((found for found in policies if found.uid == record.policy_uid), None)
        is_its_own = record.issuer == record.bound_by
        if (
            new is None
            or policy is None
            or not is_its_own
            or meaning_digest(policy) != record.policy_meaning
        ):
            raise UsageError(
                str(record.policy_uid),
                "the policy was revoked, or what it inherits was replaced",
                "a policy that says what it said when the run began",
                "add it again, as an owner, and run it again",
            )
        return replace(new, policies=(policy,))

    # --- Intents: used by `commit`

    def begin(self, intent: Intent) -> None:
        """Write down that a run is about to publish; durable when this returns."""
        with self._database.writing() as connection:
            _versions.begin(connection, intent)

    def intents(self) -> tuple[Intent, ...]:
        """The runs that began to publish and have not been ended, oldest first."""
        query = select(db.intents).order_by(db.intents.c.created_at, db.intents.c.run)
        with self._database.reading() as connection:
            return tuple(_versions.to_intent(row) for row in connection.execute(query).all())

    def is_pending(self, run: str) -> bool:
        """True if a run began to publish and has not been ended, by itself or by somebody else."""
        query = select(db.intents.c.run).where(db.intents.c.run == run)
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def places(self) -> frozenset[Path]:
        """The folders in which outputs were published, or were about to be."""
        published, begun = select(db.versions.c.path), select(db.intents.c.out)
        with self._database.reading() as connection:
            found = connection.execute(published.union(begun)).scalars().all()
        return frozenset(Path(path).parent for path in found)

    def abandon(self, run: str) -> None:
        """Forget an intent; whatever it left on disk is gone already."""
        with self._database.writing() as connection:
            _versions.end_intent(connection, run)

    def finish(self, intent: Intent, check: Callable[[NewVersion], None]) -> TargetVersion | None:
        """Turn an intent into a version, in one transaction: owners, policy, certificate, lineage.

        Args:
            intent: of the run.
            check: asked inside of the transaction, in which nobody else writes; raises what keeps the run
                from being recorded (`authority.check_still_permitted`).

        Returns:
            The version; None if somebody else ended the intent.

        Raises:
            UsageError: it may not be recorded (see `check_record`); nothing was changed.
        """
        record = intent.record
        with self._database.writing() as connection:
            if not _versions.end_intent(connection, intent.run):
                return None
            brought = self._check_record(connection, record)
            check(record)
            _assets.claim_sources(connection, [one.iri for one in record.inputs], record.bound_by)
            _assets.admit_output(connection, record.target)
            if brought is not None:
                new, signed = brought
                _policies.store(connection, new, new.policies[0], dict(new.parents), signed)
            inputs = [one.hmac for one in record.report.inputs]
            _budgets.note_read(connection, [one.iri for one in record.inputs], inputs)
            return _versions.insert_version(connection, intent)


def _speakers(facts: _assets.Facts, targets: Iterable[IRI], by: IRI | None) -> frozenset[IRI] | None:
    """Who may say what belongs to some targets: their owners; None where nobody is known to own one."""
    found: set[IRI] = set()
    for target in targets:
        if facts.is_known(target):
            found |= facts.full_owners(target)
        elif by is None:
            return None
        else:
            found.add(by)
    return frozenset(found)


def _may_say(facts: _assets.Facts, pair: tuple[IRI, IRI], speakers: frozenset[IRI]) -> bool:
    """Whether one of them owns both, as far as anybody does."""
    return any(all(party in facts.full_owners_or(asset, party) for asset in pair) for party in speakers)


def _check_not_of_others(facts: _assets.Facts, source: IRI, known_as: Iterable[IRI], by: IRI) -> None:
    """Refuse data that was learned from, or released about, under somebody else's IRI (`binding`)."""
    owned = [iri for iri in known_as if facts.is_known(iri)]
    if owned and source not in owned and not any(by in facts.full_owners(iri) for iri in owned):
        raise UsageError(
            str(source),
            "this data is known under another IRI, which somebody else owns",
            "the IRI under which its owner's policies speak of it",
            "ask its owner",
        )


def _check_binds(facts: _assets.Facts, iri: IRI, by: IRI) -> None:
    """Refuse to make somebody the owner of a collection whose members belong to others."""
    if facts.is_open(iri) and by not in facts.full_owners(iri):
        raise UsageError(
            str(iri),
            f"{by} does not own all that belongs to it, and may not say what data it is",
            "an owner of each member",
            "let the owner bind it (--owner)",
        )


def _owners_of_inputs(snapshot: Snapshot, version: Made | TargetVersion) -> frozenset[IRI]:
    owners = [snapshot.full_owners(given.iri) for given in version.inputs]
    return frozenset.intersection(*owners) if owners else frozenset()


def _check_still_binds(connection: Connection, facts: _assets.Facts, record: NewVersion) -> None:
    """Refuse what somebody bound as an owner who owns it no longer, unless an owner bound the same."""
    inputs = [one.hmac for one in record.report.inputs]
    for given in record.inputs:
        is_theirs = record.bound_by in facts.full_owners_or(given.iri, record.bound_by)
        if not is_theirs and (
            record.binds_as_owner or not _versions.was_read(connection, given.iri, inputs)
        ):
            raise UsageError(
                str(given.iri),
                f"{record.bound_by} does not own it any more, and said what data it is",
                "the data that an owner bound to it",
                "let an owner bind it (--owner)",
            )


def _signed(key: str | None, signature: bytes | None) -> tuple[str, bytes] | None:
    return None if key is None or signature is None else (key, signature)


def _check_speaks_for_themselves(owner: IRI, by: IRI, what: str) -> None:
    if owner != by:
        raise UsageError(str(owner), f"{by} may not say {what}", "the owner", "let them do it")


def _check_nobody_withdrew(connection: Connection, record: NewVersion) -> None:
    """Refuse a run during which somebody withdrew: it would publish them, and nobody would notice later."""
    if record.started_at is None:
        return
    window = _withdrawals.Window(since=_assets.to_text(record.started_at))
    for given in record.inputs:
        if _withdrawals.listed(connection, given.iri, given.version, window).digests:
            raise UsageError(
                str(given.iri),
                "respondents withdrew during the run",
                "the list as it is now",
                "run it again",
            )
