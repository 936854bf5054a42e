"""The room of policies: who may add one, what is in force, and what a stored one says."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _assets, _keys, _policies, _policy_checks, _policy_documents
from smalti.engine.registry import _tables as db
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.entries import StoredPolicy, TargetVersion
from smalti.engine.registry.snapshot import Snapshot, VersionEntry
from smalti.engine.registry.views import Entry
from smalti.errors import InternalError
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class _Addition:
    """The result of the checks that a new document passed."""

    facts: _assets.Facts
    ending: tuple[int, ...]
    """The entries that it replaces."""
    signed: tuple[str, bytes] | None


@public_methods
@dataclass(frozen=True, slots=True)
class Policies:
    """The policy documents that were put in force, each stored separately."""

    _shared: Shared

    def add(
        self,
        document: bytes,
        name: str,
        issuer: IRI,
        signature: bytes | None,
        *,
        replaces: bool,
        instead_of: str | None = None,
    ) -> tuple[StoredPolicy, ...]:
        """See `Registry.add_policy`."""
        shared, reader = self._shared, self._shared.reader
        with shared.database.reading() as connection:
            new = reader.new(connection, document, name, issuer)

        def check(connection: Connection) -> _Addition:
            facts = shared.facts(connection)
            ending = _policies.replaced(connection, reader, new) if replaces else ()
            if instead_of not in (None, new.digest):
                _policies.check_ends(connection, ending, instead_of, name)
            _policy_checks.check_new(connection, reader, facts, new, ending)
            key = _keys.check_signature(connection, issuer, new.document, signature, name)
            return _Addition(facts, ending, _keys.signed(key, signature))

        def write(connection: Connection, checked: _Addition) -> tuple[StoredPolicy, ...]:
            for entry in checked.ending:
                _policies.end(connection, entry)
            _policies.add(connection, reader, checked.facts, new, checked.signed)
            return self._stored(
                connection, _policy_documents.in_force().where(db.policies.c.digest == new.digest)
            )

        stored = shared.database.change(check, write, looks_first=False)
        return tuple(policy for policy in stored if policy.issuer == issuer)

    def revoke(self, uid: IRI, party: IRI, issuer: IRI | None = None) -> tuple[StoredPolicy, ...]:
        """See `Registry.revoke_policy`."""

        def check(connection: Connection) -> list[Row[tuple[Any, ...]]]:
            return _policies.revocable(connection, self._shared.facts(connection), uid, party, issuer)

        def write(connection: Connection, rows: list[Row[tuple[Any, ...]]]) -> tuple[StoredPolicy, ...]:
            for row in rows:
                _policies.end(connection, row.id)
            ended = [row.id for row in rows]
            return self._stored(connection, select(db.policies).where(db.policies.c.id.in_(ended)))

        return self._shared.database.change(check, write)

    def listed(self) -> tuple[StoredPolicy, ...]:
        """All policies that were ever put in force, in that order."""
        with self._shared.database.reading() as connection:
            return self._stored(connection, select(db.policies))

    def about(self, target: IRI) -> tuple[StoredPolicy, ...]:
        """The policies in force that have a rule about the target, whoever issued them."""
        about = select(db.policy_targets.c.policy).where(db.policy_targets.c.target == target)
        with self._shared.database.reading() as connection:
            return self._stored(connection, _policy_documents.in_force().where(db.policies.c.id.in_(about)))

    def in_force(self, uid: IRI, issuer: IRI | None = None, target: IRI | None = None) -> Policy | None:
        """The policy in force with that uid, for reading a document that inherits from it.

        For reading only: decisions use a document as an owner resolves it (`submissions`).

        Args:
            uid: of the parent.
            issuer: who submits the document: the issuer's own policy, never a stranger's. None: the only
                one with that uid.
            target: what the document is to be run on: its owners' policy comes before the issuer's.
        """
        with self._shared.database.reading() as connection:
            facts = self._shared.facts(connection)
            owners = facts.full_owners(target) if target is not None else frozenset[IRI]()
            speakers = [issuer] if issuer in owners else [*sorted(owners), issuer]
            own = (self._shared.reader.in_force(connection, uid, speaker) for speaker in speakers)
            return next((policy for policy in own if policy is not None), None)

    def document(self, digest: str) -> bytes:
        """The bytes of a stored policy document.

        Raises:
            InternalError: there is none.
        """
        query = select(db.documents.c.content).where(db.documents.c.digest == digest)
        with self._shared.database.reading() as connection:
            content = connection.execute(query).scalar()
        if content is None:
            raise InternalError("a document that is in force is not stored")
        return bytes(content)

    def load(self, snapshot: Snapshot, keys: Iterable[int]) -> None:
        """Let a snapshot read entries that it has not read yet."""
        if missing := snapshot.missing(keys):
            with self._shared.database.reading() as connection:
                snapshot.load(connection, missing)

    def read_as(self, document: bytes, name: str, uid: IRI, issuer: IRI) -> Policy | None:
        """A policy of a document, with the parents that a party has in force; None: it has none such.

        Raises:
            PolicyError: the document has errors, or a parent is not in force by that party.
        """
        with self._shared.database.reading() as connection:
            new = self._shared.reader.new(connection, document, name, issuer)
        return next((added for added in new.policies if added.uid == uid), None)

    def is_revoked(self, policy: Policy, owners: Collection[IRI]) -> bool:
        """True if an owner revoked that policy, in any layout, and no owner has it in force."""
        with self._shared.database.reading() as connection:
            return self._shared.reader.is_revoked(connection, policy, owners)

    def uid_conflict(
        self, policy: Policy, issuer: IRI, *, replaces: bool = False
    ) -> _policy_checks.TakenUid | None:
        """A uid of an issuer's policy that another document uses, so that the two could be confused.

        Where it `replaces`, none of the issuer's own documents under the policy's uid is in its way.
        """
        claims = _policy_documents.Claims.of(policy, issuer)
        with self._shared.database.reading() as connection:
            facts = _assets.Facts(connection)
            ending = _policies.replaced(connection, self._shared.reader, claims) if replaces else ()
            return _policy_checks.uid_conflict(connection, self._shared.reader, facts, claims, ending)

    def meaning_of(self, snapshot: Snapshot, version: VersionEntry | TargetVersion) -> str | None:
        """The digest of what the policy of a version meant when it was made; None: it cannot be told.

        Of what an earlier smalti recorded it is told where all entries of the document by the owners of
        what it was made from, or else all by anybody, ever meant one thing.
        """
        if version.policy_meaning is not None:
            return version.policy_meaning
        owners, reader = _owners_of_inputs(snapshot, version), self._shared.reader
        with self._shared.database.reading() as connection:
            of = (connection, version.policy_digest, version.policy_uid)
            meanings = reader.meanings_of(*of, owners) or reader.meanings_of(*of, None)
        return next(iter(meanings)) if len(meanings) == 1 else None

    def entries_of(
        self, snapshot: Snapshot, version: VersionEntry | TargetVersion
    ) -> tuple[tuple[Entry, Policy | None], ...]:
        """The entries in force that say what the policy of a version said when it was made.

        Of owners of all that it was made from, under the policy's uid. Each with the policy; None where
        its document is the version's, and is not understood.
        """
        owners = _owners_of_inputs(snapshot, version)
        entries = [entry for entry in snapshot.entries_named(version.policy_uid) if entry.issuer in owners]
        self.load(snapshot, [entry.key for entry in entries])
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

    def _stored(self, connection: Connection, query: Select[tuple[Any, ...]]) -> tuple[StoredPolicy, ...]:
        return _policy_documents.stored(connection, self._shared.reader, query)


def _owners_of_inputs(snapshot: Snapshot, version: VersionEntry | TargetVersion) -> frozenset[IRI]:
    owners = [snapshot.full_owners(source.iri) for source in version.inputs]
    return frozenset.intersection(*owners) if owners else frozenset()
