"""New policy documents and stored ones, read once each."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, TypeAlias

from sqlalchemy import Connection, Row, Select, select

from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import to_time
from smalti.engine.registry._hierarchies import Declarations, Vocabularies, declarations
from smalti.engine.registry.entries import StoredPolicy
from smalti.policy.model.meaning import is_generated, meaning_digest
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class NewPolicies:
    """The policies of a new document."""

    policies: tuple[Policy, ...]
    document: bytes
    name: str
    issuer: IRI
    parents: dict[IRI, int] = field(default_factory=dict)
    """The stored policies that they inherit from, by uid."""
    inherited: frozenset[IRI] = frozenset()
    """The uids that come from those."""

    @property
    def digest(self) -> str:
        return digest_of(self.document)

    @property
    def targets(self) -> list[IRI]:
        return sorted({target for policy in self.policies for target in policy.targets})

    @property
    def uids(self) -> frozenset[IRI]:
        """Those that the document itself gives."""
        return frozenset[IRI]().union(*map(uids_of, self.policies)) - self.inherited


@dataclass(frozen=True, slots=True)
class Claims:
    """The uids that a document uses, and the targets that it is about."""

    uids: frozenset[IRI]
    targets: list[IRI]
    digest: str
    issuer: IRI
    policies: tuple[Policy, ...] = ()

    @classmethod
    def of(cls, policy: Policy, issuer: IRI) -> "Claims":
        """What a policy claims; what it inherits is its parents' claim."""
        own = {rule.uid for rule in policy.rules if rule.where.document == policy.where.document}
        uids, targets = frozenset({policy.uid, *own}), sorted(policy.targets)
        return cls(uids, targets, policy.document_digest, issuer, (policy,))


def digest_of(document: bytes) -> str:
    return "sha256:" + sha256(document).hexdigest()


def uids_of(policy: Policy) -> frozenset[IRI]:
    """Of the policy and of its rules."""
    return frozenset({policy.uid, *(rule.uid for rule in policy.rules)})


_Words: TypeAlias = tuple[str, ...]
"""The vocabularies whose words a document may use (`Declared.key`)."""


@dataclass(slots=True)
class Reader:
    """Reads policy documents, each once; a stored one inherits from the parents that it was added with.

    Each is read with the words that its issuer's vocabularies declare now.
    """

    vocabularies: Vocabularies = field(default_factory=Vocabularies)
    _new: dict[tuple[str, str, _Words], NewPolicies] = field(default_factory=dict)
    """New documents without stored parents, by digest, name and words; a run asks several times."""
    _alone: dict[tuple[str, str, _Words], tuple[Policy, ...]] = field(default_factory=dict)
    """Documents without stored parents, by digest, name and words; nothing where one is not understood."""
    _by_entry: dict[tuple[int, str, str, _Words], Policy | None] = field(default_factory=dict)
    """By number, digest, uid and words: another file may have another policy under the number."""
    _meanings: dict[tuple[int, str, str, _Words], str | None] = field(default_factory=dict)
    """Likewise."""

    def new(self, connection: Connection, document: bytes, name: str, issuer: IRI) -> NewPolicies:
        """The policies of a document that is not stored yet; of a short form, its JSON-LD is stored.

        Raises:
            PolicyError: it has errors.
        """
        parents: dict[IRI, int] = {}
        inherited: set[IRI] = set()
        current = declarations(connection, self.vocabularies)
        declared = current.of(issuer)
        key = digest_of(document), name, declared.key
        if key in self._new:
            return replace(self._new[key], issuer=issuer)

        def stored(uid: IRI) -> Policy | None:
            entry = _parent(connection, uid, issuer)
            policy = None if entry is None else self.stored(connection, entry, current)
            if entry is not None and policy is not None:
                parents[uid] = entry
                inherited.update(uids_of(policy))
            return policy

        from smalti.policy.read.parse import (  # noqa: PLC0415 (slow; not every command needs it)
            json_ld_document,
            parse,
            require_bound,
        )

        parsed = parse(document, name, stored, declared.hierarchies)
        if not parsed.policies:
            require_bound(parsed)  # raises, with every problem of the document
        document = json_ld_document(document, name)
        new = NewPolicies(parsed.policies, document, name, issuer, parents, frozenset(inherited))
        if not parents:
            self._alone[digest_of(document), name, declared.key] = parsed.policies
            self._new[key] = new
        return new

    def in_force(self, connection: Connection, uid: IRI, issuer: IRI | None) -> Policy | None:
        """The policy in force with that uid: the issuer's own; where there is no issuer, the only one."""
        entry = _parent(connection, uid, issuer)
        return None if entry is None else self.stored(connection, entry)

    def stored(
        self, connection: Connection, entry: int, current: Declarations | None = None
    ) -> Policy | None:
        """A stored policy; None where this version of smalti does not understand it, or bytes changed.

        Args:
            connection: of the transaction.
            entry: its number.
            current: the words that policies may use now, where they have been read.
        """
        query = _with_content(select(db.policies).where(db.policies.c.id == entry))
        return self.row(connection, connection.execute(query).one(), current)

    def row(
        self, connection: Connection, row: Row[tuple[Any, ...]], current: Declarations | None = None
    ) -> Policy | None:
        """The policy of a row that has its document's content, too."""
        current = current or declarations(connection, self.vocabularies)
        key = (row.id, row.digest, row.uid, current.of(IRI(row.issuer)).key)
        if key not in self._by_entry:
            self._by_entry[key] = None  # a circle, which nothing that was added makes, is not understood
            policies = self._read(connection, row, current)
            self._by_entry[key] = next((policy for policy in policies if policy.uid == row.uid), None)
        return self._by_entry[key]

    def meaning(self, connection: Connection, entry: int) -> str | None:
        """The digest of what a stored policy means; None where it is not understood."""
        row = connection.execute(_with_content(select(db.policies).where(db.policies.c.id == entry))).one()
        current = declarations(connection, self.vocabularies)
        key = (row.id, row.digest, row.uid, current.of(IRI(row.issuer)).key)
        if key not in self._meanings:
            policy = self.row(connection, row, current)
            self._meanings[key] = None if policy is None else meaning_digest(policy)
        return self._meanings[key]

    def meanings_of(
        self, connection: Connection, digest: str, uid: IRI, issuers: Collection[IRI] | None
    ) -> frozenset[str | None]:
        """What a document's policy meant in each entry that was ever made of it, by some issuers or by any.

        Entries of one document differ by what it inherits. None: one of them is not understood.
        """
        query = select(db.policies).where(db.policies.c.digest == digest, db.policies.c.uid == uid)
        if issuers is not None:
            query = query.where(db.policies.c.issuer.in_(issuers))
        rows = connection.execute(query).all()
        return frozenset(self.meaning(connection, row.id) for row in rows)

    def twins(self, connection: Connection, policy: Policy) -> list[Row[tuple[Any, ...]]]:
        """The entries in force that say the same under the same uid, in other bytes: only laid out anew."""
        others = in_force().where(
            db.policies.c.uid == policy.uid, db.policies.c.digest != policy.document_digest
        )
        return self._same(connection, others, policy)

    def is_revoked(self, connection: Connection, policy: Policy, owners: Collection[IRI]) -> bool:
        """Whether an owner's policy was ended, in these bytes or in others that say the same.

        And no owner has it in force. What others put in force, or ended, says nothing about it.

        Args:
            connection: of the transaction.
            policy: as an owner says it. A uid that was made from the bytes does not make another policy
                of it.
            owners: of what it is about.
        """
        digest, uid = policy.document_digest, policy.uid
        theirs = db.policies.c.issuer.in_(owners)
        same_bytes = db.policies.c.digest == digest, db.policies.c.uid == uid
        if connection.execute(in_force().where(theirs, *same_bytes)).first() is not None:
            return False
        if any(row.issuer in owners for row in self.twins(connection, policy)):
            return False
        ended = select(db.policies).where(db.policies.c.revoked_at.is_not(None), theirs)
        if connection.execute(ended.where(*same_bytes)).first():
            return True
        named = db.policies.c.uid == uid
        if is_generated(uid):
            about = select(db.policy_targets.c.policy).where(db.policy_targets.c.target.in_(policy.targets))
            named = db.policies.c.id.in_(about)
        rows = self._same(connection, ended.where(named), policy)
        return any(row.uid == uid or is_generated(IRI(row.uid)) for row in rows)

    def _same(
        self, connection: Connection, query: Select[tuple[Any, ...]], policy: Policy
    ) -> list[Row[tuple[Any, ...]]]:
        rows = connection.execute(query.order_by(db.policies.c.id)).all()
        wanted = meaning_digest(policy) if rows else None
        return [row for row in rows if self.meaning(connection, row.id) == wanted]

    def _read(
        self, connection: Connection, row: Row[tuple[Any, ...]], current: Declarations
    ) -> tuple[Policy, ...]:
        from smalti.policy.read.parse import parse  # noqa: PLC0415 (slow; not every command needs it)

        if digest_of(row.content) != row.digest:
            return ()
        parents, declared = _parents_of_document(connection, row), current.of(IRI(row.issuer))

        def stored(uid: IRI) -> Policy | None:
            return self.stored(connection, parents[uid], current) if uid in parents else None

        if parents:
            # `parsed.policies` is empty where the document is not understood.
            return parse(row.content, row.name, stored, declared.hierarchies).policies
        key = (row.digest, row.name, declared.key)
        if key not in self._alone:
            self._alone[key] = parse(row.content, row.name, hierarchies=declared.hierarchies).policies
        return self._alone[key]


def _parent(connection: Connection, uid: IRI, issuer: IRI | None) -> int | None:
    """The entry of the policy in force with that uid: the issuer's own, never a stranger's.

    Where nobody says who the issuer is, nothing is decided: the only one with that uid.
    """
    rows = connection.execute(in_force().where(db.policies.c.uid == uid).order_by(db.policies.c.id)).all()
    candidates = rows if issuer is None else [row for row in rows if row.issuer == issuer]
    return candidates[-1].id if len({row.digest for row in candidates}) == 1 else None


def _parents_of_document(connection: Connection, entry: Row[tuple[Any, ...]]) -> dict[IRI, int]:
    """By uid: those of the entry, of its parents in the same document, and of its other policies.

    Only entries of the same issuer have a say: what another one's entry of these bytes inherits is that
    one's word.
    """
    query = (
        select(db.policy_parents, db.policies.c.digest)
        .join(db.policies, db.policies.c.id == db.policy_parents.c.policy)
        .where(db.policies.c.issuer == entry.issuer, db.policies.c.digest == entry.digest)
        .order_by(db.policies.c.id)
    )
    rows = connection.execute(query).all()
    parents: dict[int, dict[IRI, int]] = {}
    for row in rows:
        parents.setdefault(row.policy, {})[IRI(row.uid)] = row.parent
    of_document = {IRI(row.uid): row.parent for row in rows}
    waiting, seen = [entry.id], set[int]()
    nearest: dict[IRI, int] = {}
    while waiting:
        current = waiting.pop(0)
        if current in seen:
            continue
        seen.add(current)
        for uid, parent in parents.get(current, {}).items():
            nearest.setdefault(uid, parent)
            waiting.append(parent)
    return of_document | nearest


def in_force() -> Select[tuple[Any, ...]]:
    return select(db.policies).where(db.policies.c.revoked_at.is_(None))


def stored(
    connection: Connection, reader: Reader, query: Select[tuple[Any, ...]]
) -> tuple[StoredPolicy, ...]:
    """The stored policies that a query on their table selects, in the order in which they were added."""
    signed = db.policy_signatures.c.policy == db.policies.c.id
    full = _with_content(query).add_columns(db.policy_signatures.c.key)
    rows = connection.execute(full.outerjoin(db.policy_signatures, signed).order_by(db.policies.c.id)).all()
    current = declarations(connection, reader.vocabularies)
    return tuple(_to_stored(connection, reader, row, current) for row in rows)


def _with_content(query: Select[tuple[Any, ...]]) -> Select[tuple[Any, ...]]:
    return query.add_columns(db.documents.c.content).join(
        db.documents, db.documents.c.digest == db.policies.c.digest
    )


def _to_stored(
    connection: Connection, reader: Reader, row: Row[tuple[Any, ...]], current: Declarations
) -> StoredPolicy:
    targets = select(db.policy_targets.c.target).where(db.policy_targets.c.policy == row.id)
    return StoredPolicy(
        uid=IRI(row.uid),
        digest=row.digest,
        document=row.content,
        name=row.name,
        issuer=IRI(row.issuer),
        targets=frozenset(IRI(target) for target in connection.execute(targets).scalars()),
        policy=reader.row(connection, row, current),
        added_at=to_time(row.added_at),
        revoked_at=to_time(row.revoked_at) if row.revoked_at else None,
        signed_by=row.key,
    )
