"""Add, end, find and read stored policies, inside a transaction."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Row, Select, insert, select, update

from smalti.engine.registry import _keys
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import (
    Facts,
    claim_sources,
    insert_all,
    store_document,
    to_time,
    without_columns,
)
from smalti.engine.registry._hierarchies import Declarations, Vocabularies, declarations
from smalti.engine.registry._journal import note, tick
from smalti.engine.registry._recorded_columns import tables_with_column
from smalti.engine.registry.entries import VERSION_PREFIX, StoredPolicy
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.table_columns import tables_of
from smalti.policy.lint.check_dataset import all_rules
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.meaning import is_generated, meaning_digest
from smalti.policy.model.model import Policy, PolicyType, Rule
from smalti.vocab.terms import IRI

_MAX_PARAMETERS: Final = 500
"""In one statement."""


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


# --- Reading


_Words: TypeAlias = tuple[str, ...]
"""The vocabularies whose words a document may use (`Declared.key`)."""


@dataclass(slots=True)
class Reader:
    """Reads policy documents, each once; a stored one inherits from the parents that it was added with.

    Each is read with the words that its issuer's vocabularies declare now.
    """

    vocabularies: Vocabularies = field(default_factory=Vocabularies)
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

        declared = current.of(issuer)
        parsed = parse(document, name, stored, declared.hierarchies)
        if not parsed.policies:
            require_bound(parsed)  # raises, with every problem of the document
        document = json_ld_document(document, name)
        if not parents:
            self._alone[digest_of(document), name, declared.key] = parsed.policies
        return NewPolicies(parsed.policies, document, name, issuer, parents, frozenset(inherited))

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


# --- Adding


def check_new(
    connection: Connection, reader: Reader, facts: Facts, new: NewPolicies, ending: Collection[int]
) -> None:
    """Refuse policies that the issuer may not add.

    Args:
        connection: of the transaction.
        reader: of stored policies.
        facts: about the assets, with the memberships in force.
        new: what would be added.
        ending: the entries that it would replace.

    Raises:
        PolicyError: a rule names an assigner who is no owner.
        UsageError: the issuer does not own a target, a uid is taken, or a parent has ended.
    """
    facts.fetch(new.targets)
    for policy in new.policies:
        for target in sorted(policy.targets):
            _check_target(connection, facts, policy, target, new.issuer)
    for uid, parent in new.parents.items():
        stands = connection.execute(in_force().where(db.policies.c.id == parent)).first() is not None
        if parent in ending or not stands:
            raise UsageError(new.name, f"its parent `{uid}` has ended", "a parent in force", "try again")
    if (taken := uid_conflict(connection, reader, facts, new, ending)) is not None:
        raise _taken(taken, new)


def _taken(uid: IRI, new: NewPolicies) -> UsageError:
    is_agreement = any(policy.type is PolicyType.AGREEMENT for policy in new.policies)
    return UsageError(
        str(new.policies[0].where),
        f"the uid `{uid}` is used by another document",
        "uids that no other document in force uses, of this issuer or about these targets",
        _OTHER_UID
        if is_agreement
        else "replace the other document with `smalti policy add --replace`, or use another uid",
    )


def _check_target(connection: Connection, facts: Facts, policy: Policy, target: IRI, issuer: IRI) -> None:
    for whole in (target, *tables_of(target)):
        _check_is_no_version(connection, policy, whole)
    owners = frozenset({issuer}) if facts.is_open(target) else facts.full_owners_or(target, issuer)
    for table in tables_of(target):
        # Whoever owns a table says what is forbidden of its columns, whatever else their IRIs stand for.
        if facts.is_known(table) or table in policy.targets:
            owners |= facts.full_owners_or(table, issuer)
    if all(target not in {asset.iri for asset in rule.targets} for rule in _granting(policy)):
        owners |= _owners_of_tables_with(connection, facts, target)
    if issuer not in owners:
        raise UsageError(
            str(policy.where),
            f"{issuer} does not own `{target}`",
            "a policy about targets that its issuer owns",
            "ask an owner of the target to add it",
        )
    for rule, nested, assigner in assigned(policy):
        if assigner not in owners and target in {asset.iri for asset in rule.targets}:
            raise PolicyError(
                str(nested.where),
                f"the assigner `{assigner}` does not own `{target}`",
                "an owner of the target, or no assigner",
                "correct the assigner, or ask an owner to add it as an owner",
            )


def _granting(policy: Policy) -> tuple[Rule, ...]:
    return (*policy.permissions, *policy.obligations)


def _owners_of_tables_with(connection: Connection, facts: Facts, column: IRI) -> frozenset[IRI]:
    """Who owns a table that has a column of that IRI: they may forbid its use, whoever owns the IRI.

    Nobody, where it may be a column of somebody's table by its IRI: descriptions and vocabularies of other
    people's tables have nothing to say about it. A request about the IRI itself is none about their table,
    so that such a policy has no say in it.
    """
    if facts.tables(column):
        return frozenset()
    name = normalised_column(column)
    declaring = [table for table, declared in facts.columns if normalised_column(declared) == name]
    tables = (*declaring, *tables_with_column(connection, column))
    return frozenset[IRI]().union(*map(facts.full_owners, tables))


def assigned(policy: Policy) -> Iterator[tuple[Rule, Rule, IRI]]:
    """Each assigner of a rule, or of what is nested in it, who must own what the outer rule is about.

    Yields:
        The outer rule, the one that names the assigner (it, or a duty or a remedy of it), and the assigner.
    """
    for rule in policy.rules:
        yield from (
            (rule, nested, party.iri) for nested in all_rules((rule,)) for party in nested.assigners
        )


def _check_is_no_version(connection: Connection, policy: Policy, target: IRI) -> None:
    if not target.startswith(VERSION_PREFIX):
        return
    run = target.removeprefix(VERSION_PREFIX)
    version = connection.execute(select(db.versions.c.target).where(db.versions.c.run == run)).first()
    if version is not None:
        raise UsageError(
            str(policy.where),
            f"`{target}` is one version of `{version.target}`",
            "policies about an output, which hold for all of its versions",
            "use the output's IRI",
        )


def uid_conflict(
    connection: Connection,
    reader: Reader,
    facts: Facts,
    new: "NewPolicies | Claims",
    ending: Collection[int] = (),
) -> IRI | None:
    """A uid of the document that another one in force uses so that the two could be taken for each other.

    That is so when both are by one issuer, or when both issuers own a target that both are about. A uid
    is all that a request or a revocation names, and each looks only at such policies. Nobody else's
    document stands in an owner's way: a stranger who uses the owner's uid first keeps nothing from them.
    Nor does a policy that says the same and was only laid out otherwise: it is the same one. Nor do entries
    that are `ending`.
    """
    targets = set(new.targets)
    same = {row.id for policy in new.policies for row in reader.twins(connection, policy)}.union(ending)
    for entry, issuer, taken in _users_of(connection, sorted(new.uids), new.digest):
        if entry in same:
            continue
        if issuer == new.issuer:
            return taken
        about = select(db.policy_targets.c.target).where(db.policy_targets.c.policy == entry)
        for target in targets & set(connection.execute(about).scalars()):
            owners = facts.without_members().owners(IRI(target)) or {new.issuer}
            if {issuer, new.issuer} <= owners:
                return taken
    return None


def _users_of(connection: Connection, uids: list[IRI], digest: str) -> Iterator[tuple[int, IRI, IRI]]:
    """The entries of other documents in force that use one of some uids: entry, issuer and uid."""
    query = (
        select(db.policies.c.id, db.policies.c.issuer, db.policy_uids.c.uid.label("taken"))
        .join(db.policy_uids, db.policies.c.id == db.policy_uids.c.policy)
        .where(db.policies.c.revoked_at.is_(None), db.policies.c.digest != digest)
        .order_by(db.policy_uids.c.uid, db.policies.c.id)
    )
    for start in range(0, len(uids), _MAX_PARAMETERS):
        some = uids[start : start + _MAX_PARAMETERS]
        for row in connection.execute(query.where(db.policy_uids.c.uid.in_(some))).all():
            yield row.id, IRI(row.issuer), IRI(row.taken)


def replaced(
    connection: Connection, reader: Reader, facts: Facts, new: NewPolicies | Claims
) -> tuple[int, ...]:
    """The entries in force under the uids of new policies, of other documents, that the issuer may end.

    Raises:
        UsageError: an Agreement would end something else than an Agreement of the same parties about the
            same targets. The other party may have chosen its uid, and would choose what ends.
    """
    entries: dict[int, None] = {}
    for policy in new.policies:
        query = in_force().where(db.policies.c.uid == policy.uid, db.policies.c.digest != new.digest)
        for row in connection.execute(query).all():
            if may_end(facts, row, new.issuer):
                _check_replaces(policy, reader.stored(connection, row.id))
                entries[row.id] = None
    return tuple(entries)


_OTHER_UID: Final = "agree under another uid, which the other side may choose, and nothing in force has"


def _check_replaces(policy: Policy, ended: Policy | None) -> None:
    if policy.type is PolicyType.AGREEMENT and (ended is None or _between(ended) != _between(policy)):
        raise UsageError(
            str(policy.where),
            f"the agreement has the uid `{policy.uid}` of a policy in force, and would end it",
            "at most an Agreement of the same parties about the same targets to replace",
            _OTHER_UID,
        )


def _between(policy: Policy) -> tuple[object, ...]:
    """Whether a policy is an Agreement, what it is about, and between whom it is."""
    assigners = frozenset(party.iri for rule in policy.rules for party in rule.assigners)
    assignees = frozenset(party.iri for rule in policy.rules for party in rule.assignees)
    return policy.type, policy.targets, assigners, assignees


def add(
    connection: Connection,
    reader: Reader,
    facts: Facts,
    new: NewPolicies,
    signature: tuple[str, bytes] | None,
) -> None:
    """Put the policies of a document in force, in the place of the issuer's that say the same.

    Args:
        connection: of the transaction.
        reader: of stored policies.
        facts: about the assets, with the memberships in force.
        new: what was checked.
        signature: the thumbprint of the key and the signature, where there is one.
    """
    claimed = [target for target in without_columns(facts, new.targets) if not facts.is_open(target)]
    claim_sources(connection, claimed, new.issuer)
    entries = dict(new.parents)
    for policy in _parents_first(new.policies):
        for row in reader.twins(connection, policy):
            if row.issuer == new.issuer:
                end(connection, row.id)
        entries[policy.uid] = store(connection, new, policy, entries, signature)


def _parents_first(policies: tuple[Policy, ...]) -> list[Policy]:
    ordered: list[Policy] = []
    waiting = list(policies)
    while waiting:
        names = {policy.uid for policy in waiting}
        ready = [policy for policy in waiting if names.isdisjoint(policy.inherits)] or waiting
        ordered += ready
        waiting = [policy for policy in waiting if policy not in ready]
    return ordered


def store(
    connection: Connection,
    new: NewPolicies,
    policy: Policy,
    entries: dict[IRI, int],
    signature: tuple[str, bytes] | None,
) -> int:
    """The entry of a policy; one that is in force with the same parents and signing key stays as it is."""
    parents = {uid: entries[uid] for uid in policy.inherits if uid in entries}
    digest = new.digest
    same = in_force().where(db.policies.c.digest == digest, db.policies.c.uid == policy.uid)
    for row in connection.execute(same.where(db.policies.c.issuer == new.issuer)).all():
        if _parents(connection, row.id) == parents and _is_as_good(connection, row.id, signature):
            return int(row.id)
        end(connection, row.id)
    store_document(connection, digest, new.document)
    values = {"uid": policy.uid, "digest": digest, "name": new.name, "issuer": new.issuer}
    (key,) = connection.execute(
        insert(db.policies).values(**values, added_at=tick(connection))
    ).inserted_primary_key or (0,)
    _store_facts(connection, key, policy, new.inherited)
    rows = ({"policy": key, "uid": uid, "parent": parent} for uid, parent in parents.items())
    insert_all(connection, insert(db.policy_parents), rows)
    if signature is not None:
        thumbprint, text = signature
        signed = {"policy": key, "key": thumbprint, "signature": text.decode("ascii", errors="replace")}
        connection.execute(insert(db.policy_signatures).values(signed))
    note(connection, "policy", str(key))
    return int(key)


def _store_facts(connection: Connection, key: int, policy: Policy, inherited: frozenset[IRI]) -> None:
    iris = policy.targets.union(
        *((membership.member, membership.collection) for membership in policy.memberships)
    )
    targets = ({"policy": key, "target": target} for target in policy.targets)
    spoken_of = ({"policy": key, "iri": iri} for iri in iris)
    uids = ({"policy": key, "uid": uid} for uid in uids_of(policy) - inherited)
    insert_all(connection, insert(db.policy_targets), targets)
    insert_all(connection, insert(db.policy_iris), spoken_of)
    insert_all(connection, insert(db.policy_uids), uids)


def _parents(connection: Connection, entry: int) -> dict[IRI, int]:
    rows = connection.execute(select(db.policy_parents).where(db.policy_parents.c.policy == entry)).all()
    return {IRI(row.uid): row.parent for row in rows}


def _is_as_good(connection: Connection, entry: int, signature: tuple[str, bytes] | None) -> bool:
    query = select(db.policy_signatures.c.key).where(db.policy_signatures.c.policy == entry)
    return signature is None or connection.execute(query).scalar() == signature[0]


# --- Ending


def end(connection: Connection, entry: int) -> None:
    """Take an entry out of force."""
    connection.execute(
        update(db.policies).where(db.policies.c.id == entry).values(revoked_at=tick(connection))
    )
    note(connection, "policy", str(entry))


def revocable(connection: Connection, facts: Facts, uid: IRI, party: IRI) -> list[Row[tuple[Any, ...]]]:
    """The entries in force under a uid that a party may end.

    Raises:
        UsageError: there is none.
    """
    rows = connection.execute(in_force().where(db.policies.c.uid == uid)).all()
    if not rows:
        raise UsageError(str(uid), "no such policy is in force", "the uid of a stored policy")
    revocable_rows = [row for row in rows if may_end(facts, row, party)]
    if not revocable_rows:
        raise UsageError(
            str(uid),
            f"{party} may not revoke it",
            "its issuer, or an owner of all its targets",
            "ask its issuer",
        )
    return revocable_rows


def may_end(facts: Facts, row: Row[tuple[Any, ...]], party: IRI) -> bool:
    """Whether a party may end an entry: as its issuer, or as an owner of all its targets.

    Not where its issuer owns no part of a target: then it is about a column of the issuer's table, which
    the owner of its IRI has no say in.
    """
    if party == row.issuer:
        return True
    query = select(db.policy_targets.c.target).where(db.policy_targets.c.policy == row.id)
    targets = [IRI(target) for target in facts.connection.execute(query).scalars()]
    return bool(targets) and all(
        party in facts.full_owners(target) and row.issuer in facts.owners(target) for target in targets
    )


# --- Queries


def in_force() -> Select[tuple[Any, ...]]:
    return select(db.policies).where(db.policies.c.revoked_at.is_(None))


def parents_stand(connection: Connection, entry: int) -> bool:
    """Whether all that an entry inherits from is in force."""
    query = select(db.policies.c.id, db.policies.c.revoked_at).join(
        db.policy_parents, db.policy_parents.c.parent == db.policies.c.id
    )
    rows = connection.execute(query.where(db.policy_parents.c.policy == entry)).all()
    return all(
        row.revoked_at is None
        and key_stands(connection, row.id)
        and (row.id == entry or parents_stand(connection, row.id))
        for row in rows
    )


def key_stands(connection: Connection, entry: int) -> bool:
    """Whether the key that signed an entry, if one did, still signs for its issuer."""
    query = (
        select(db.policies.c.issuer, db.policy_signatures.c.key)
        .join(db.policy_signatures, db.policy_signatures.c.policy == db.policies.c.id)
        .where(db.policies.c.id == entry)
    )
    signed = connection.execute(query).first()
    return signed is None or (IRI(signed.issuer), signed.key) in _keys.trusted(connection)


def is_known(connection: Connection, uid: IRI) -> bool:
    """Whether a policy with that uid was ever put in force."""
    return connection.execute(select(db.policies.c.id).where(db.policies.c.uid == uid)).first() is not None


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
