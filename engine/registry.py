"""The registry: whose data is what, which policies are in force, what was made from what.

Facts go in and out as frozen values. Each policy document stays apart, as its bytes; an index of parsed
policies is kept in memory. All claims hold within one registry that its users trust: parties are
asserted by the caller, and authentication belongs to whatever embeds this.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from sqlalchemy import Connection, Insert, Row, Select, delete, func, insert, select, update

from smalti.engine import _database as db
from smalti.engine.certificate import OwnerReport, PublishedFile
from smalti.engine.entries import (
    VERSION_PREFIX,
    Asset,
    AssetKind,
    Input,
    Intent,
    NewVersion,
    OutputColumn,
    StoredPolicy,
    TargetVersion,
)
from smalti.engine.plan import OutputFormat, Respondent
from smalti.errors import PolicyError, RegistryError, UsageError
from smalti.policy.model import Policy
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class _Details:
    files: tuple[PublishedFile, ...]
    columns: tuple[OutputColumn, ...]
    respondent: Respondent
    rule_purposes: frozenset[IRI] | None


@dataclass(slots=True)
class Registry:
    """The registry at one place. Safe to use from several processes, and from several threads."""

    _database: db.Database
    _parsed: dict[tuple[str, str], tuple[Policy, ...]] = field(default_factory=dict, repr=False)
    """By digest and name of the document; nothing where it is not understood."""

    @classmethod
    def open(cls, location: Path | str) -> Self:
        """The registry at a path, or at an SQLAlchemy address when the text holds `://`.

        Nothing is made: a missing file reads as an empty registry, and the first write makes it.
        """
        is_address = isinstance(location, str) and "://" in location
        return cls(db.Database(location if is_address else Path(location)))

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

    # --- Assets and owners

    def assets(self) -> tuple[Asset, ...]:
        """Everything that the registry knows, sorted by IRI."""
        with self._database.reading() as connection:
            rows = connection.execute(select(db.assets).order_by(db.assets.c.iri)).all()
        return tuple(_asset(row) for row in rows)

    def asset(self, iri: IRI) -> Asset | None:
        """The asset, or None if the registry does not know it."""
        with self._database.reading() as connection:
            return _find_asset(connection, iri)

    def owners(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset, or any source that it was made from; they may prohibit.

        Empty for what the registry does not know.
        """
        with self._database.reading() as connection:
            return _owners(connection, iri)

    def full_owners(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset and, for an output, each source that it was made from; they may permit."""
        with self._database.reading() as connection:
            return _full_owners(connection, iri)

    def add_owner(self, iri: IRI, new: IRI, *, by: IRI) -> None:
        """Make somebody an owner of a source, on the word of an owner.

        Raises:
            UsageError: unknown or not a source, or `by` is no owner; nothing was changed.
        """
        self._require_owner_of_source(iri, by)
        with self._database.writing() as connection:
            self._check_owner_of_source(connection, iri, by)
            if new not in _owners(connection, iri):
                connection.execute(insert(db.owners).values(iri=iri, party=new))

    def remove_owner(self, iri: IRI, party: IRI, *, by: IRI) -> None:
        """Take ownership of a source away; their policies about it no longer count.

        Raises:
            UsageError: as `add_owner`, or `party` is no owner, or the last one; nothing was changed.
        """
        self._require_owner_of_source(iri, by)
        with self._database.writing() as connection:
            self._check_owner_of_source(connection, iri, by)
            present = _owners(connection, iri)
            if party not in present:
                raise UsageError(str(iri), f"{party} does not own it", "an owner", "")
            if len(present) == 1:
                raise UsageError(
                    str(iri), "it would have no owner", "at least one owner", "add another owner first"
                )
            where = (db.owners.c.iri == iri) & (db.owners.c.party == party)
            connection.execute(delete(db.owners).where(where))

    def _require_owner_of_source(self, iri: IRI, party: IRI) -> None:
        # Refused here, before a write would make the file; checked again inside the transaction.
        with self._database.reading() as connection:
            self._check_owner_of_source(connection, iri, party)

    def _check_owner_of_source(self, connection: Connection, iri: IRI, party: IRI) -> None:
        asset = _find_asset(connection, iri)
        if asset is None:
            raise UsageError(
                str(iri), "the registry does not know it", "a known source", "add a policy about it first"
            )
        if asset.kind is AssetKind.OUTPUT:
            raise UsageError(
                str(iri),
                "it is an output: whoever owns its inputs owns it",
                "a source",
                "change the owners of its inputs",
            )
        if party not in _owners(connection, iri):
            raise UsageError(str(iri), f"{party} does not own it", "an owner", "ask one of its owners")

    # --- Policies

    def add_policy(self, document: bytes, name: str, issuer: IRI) -> tuple[StoredPolicy, ...]:
        """Put each policy of a document in force, on the word of its issuer.

        The issuer must own each target that the registry knows. A target that it does not know becomes
        known, with the issuer as its owner: within one trusted registry the first word counts. What is
        in force already stays as it is; what was revoked is put in force again.

        Args:
            document: the bytes of the policy document.
            name: of the document, for messages.
            issuer: who adds it; asserted by the caller.

        Raises:
            PolicyError: the document has errors, or one of its rules names an assigner who is no owner.
            UsageError: the issuer does not own a target, or a uid is used by another document.
        """
        policies = self._parse_new(document, name)
        with self._database.reading() as connection:
            _check_new_policies(connection, policies, issuer)
        with self._database.writing() as connection:
            _check_new_policies(connection, policies, issuer)
            for target in sorted({target for policy in policies for target in policy.targets}):
                _claim_source(connection, target, issuer)
            for policy in policies:
                _store_policy(connection, policy, document, name, issuer)
            found = self._stored(connection, _in_force().where(db.policies.c.digest == _digest(document)))
        return tuple(stored for stored in found if stored.issuer == issuer)

    def revoke_policy(self, uid: IRI, party: IRI) -> tuple[StoredPolicy, ...]:
        """End a policy, whoever put it in force, and with it what was implied by it.

        Args:
            uid: of the policy.
            party: its issuer, or somebody who owns all of its targets; asserted by the caller.

        Returns:
            The entries that were ended.

        Raises:
            UsageError: no such policy is in force, or the party may not end it; nothing was changed.
        """
        with self._database.reading() as connection:
            self._check_revocation(connection, uid, party)
        with self._database.writing() as connection:
            ended = self._check_revocation(connection, uid, party)
            now = datetime.now(UTC)
            where = (db.policies.c.uid == uid) & db.policies.c.revoked_at.is_(None)
            connection.execute(update(db.policies).where(where).values(revoked_at=_text(now)))
        return tuple(replace(stored, revoked_at=now) for stored in ended)

    def list_policies(self) -> tuple[StoredPolicy, ...]:
        """All policies that were ever put in force, in the order in which they were."""
        with self._database.reading() as connection:
            return self._stored(connection, select(db.policies))

    def policies_about(self, target: IRI) -> tuple[StoredPolicy, ...]:
        """The policies in force that have a rule about the target, whoever issued them."""
        about = select(db.policy_targets.c.policy).where(db.policy_targets.c.target == target)
        with self._database.reading() as connection:
            return self._stored(connection, _in_force().where(db.policies.c.id.in_(about)))

    def is_in_force(self, digest: str, uid: IRI) -> bool:
        """True if somebody put that policy of that document in force, and nobody ended it."""
        with self._database.reading() as connection:
            return _is_in_force(connection, digest, uid)

    def is_revoked(self, digest: str, uid: IRI) -> bool:
        """True if that policy of that document was ended and not put in force again."""
        with self._database.reading() as connection:
            return _is_revoked(connection, digest, uid)

    def uid_conflict(self, policy: Policy) -> IRI | None:
        """A uid of the policy or of its rules that another document in force uses, if there is one."""
        with self._database.reading() as connection:
            return _uid_conflict(connection, (policy,))

    def _check_revocation(self, connection: Connection, uid: IRI, party: IRI) -> tuple[StoredPolicy, ...]:
        found = self._stored(connection, _in_force().where(db.policies.c.uid == uid))
        if not found:
            raise UsageError(str(uid), "no such policy is in force", "the uid of a stored policy")
        for stored in found:
            owns_all = all(party in _full_owners(connection, target) for target in stored.targets)
            if party != stored.issuer and not owns_all:
                raise UsageError(
                    str(uid),
                    f"{party} may not revoke it",
                    "its issuer, or an owner of all its targets",
                    "ask its issuer",
                )
        return found

    def _parse_new(self, document: bytes, name: str) -> tuple[Policy, ...]:
        from smalti.policy.parse import parse, require  # noqa: PLC0415 (slow; not every command needs it)

        parsed = parse(document, name)
        if not parsed.policies:
            require(parsed)  # raises, with every problem of the document
        self._parsed[_digest(document), name] = parsed.policies
        return parsed.policies

    def _policy(self, digest: str, uid: IRI, document: bytes, name: str) -> Policy | None:
        key = (digest, name)
        if key not in self._parsed:
            try:
                self._parse_new(document, name)
            except PolicyError:
                # Written by another version of smalti: what is not understood denies.
                self._parsed[key] = ()
        return next((policy for policy in self._parsed.get(key, ()) if policy.uid == uid), None)

    def _stored(self, connection: Connection, query: Select[tuple[Any, ...]]) -> tuple[StoredPolicy, ...]:
        query = query.add_columns(db.documents.c.content).join(
            db.documents, db.documents.c.digest == db.policies.c.digest
        )
        rows = connection.execute(query.order_by(db.policies.c.id)).all()
        return tuple(self._stored_policy(connection, row) for row in rows)

    def _stored_policy(self, connection: Connection, row: Row[tuple[Any, ...]]) -> StoredPolicy:
        targets = select(db.policy_targets.c.target).where(db.policy_targets.c.policy == row.id)
        return StoredPolicy(
            uid=IRI(row.uid),
            digest=row.digest,
            document=row.content,
            name=row.name,
            issuer=IRI(row.issuer),
            targets=frozenset(IRI(target) for target in connection.execute(targets).scalars()),
            policy=self._policy(row.digest, IRI(row.uid), row.content, row.name),
            added_at=_time(row.added_at),
            revoked_at=_time(row.revoked_at) if row.revoked_at else None,
        )

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

    def _versions(self, query: Select[tuple[Any, ...]]) -> tuple[TargetVersion, ...]:
        ordered = query.order_by(db.versions.c.target, db.versions.c.number)
        with self._database.reading() as connection:
            return tuple(_version(connection, row) for row in connection.execute(ordered).all())

    def check_record(self, record: NewVersion) -> None:
        """Ask before a run is published whether it can be recorded; `finish` checks it again.

        Raises:
            UsageError: the output's IRI is taken, or the policy no longer counts.
        """
        policy = self._record_policy(record)
        with self._database.reading() as connection:
            _check_record(connection, record, policy)

    def check_output(self, output: IRI, inputs: Sequence[IRI], bound_by: IRI) -> None:
        """Ask, before any work, whether an output may have this IRI.

        Raises:
            UsageError: it stands for its input, for a source in use, or for other people's data.
        """
        with self._database.reading() as connection:
            _check_output_iri(connection, output, inputs, bound_by)

    def _record_policy(self, record: NewVersion) -> Policy:
        if _digest(record.document) != record.policy_digest:
            raise RegistryError(record.document_name, "the document is not the one that permitted the run")
        found = self._policy(record.policy_digest, record.policy_uid, record.document, record.document_name)
        if found is None:
            raise RegistryError(
                record.document_name,
                "the policy that permitted the run cannot be read",
                "a document that this smalti understands",
                "use the smalti that made the run",
            )
        return found

    # --- Intents: used by `commit`

    def begin(self, intent: Intent) -> None:
        """Write down that a run is about to publish; durable when this returns."""
        with self._database.writing() as connection:
            connection.execute(
                insert(db.intents).values(
                    run=intent.run,
                    stage=str(intent.stage),
                    out=str(intent.out),
                    record=_new_version_adapter().dump_json(replace(intent.record, document=b"")).decode(),
                    document=intent.record.document,
                    created_at=_text(datetime.now(UTC)),
                )
            )

    def intents(self) -> tuple[Intent, ...]:
        """The runs that began to publish and have not been ended, oldest first."""
        query = select(db.intents).order_by(db.intents.c.created_at, db.intents.c.run)
        with self._database.reading() as connection:
            return tuple(_intent(row) for row in connection.execute(query).all())

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
            connection.execute(delete(db.intents).where(db.intents.c.run == run))

    def finish(self, intent: Intent) -> TargetVersion | None:
        """Turn an intent into a version, in one transaction: owners, policy, certificate, lineage.

        Returns:
            The version; None if somebody else ended the intent.

        Raises:
            UsageError: it may not be recorded (see `check_record`); nothing was changed.
        """
        record = intent.record
        policy = self._record_policy(record)
        with self._database.writing() as connection:
            ended = connection.execute(delete(db.intents).where(db.intents.c.run == intent.run))
            if ended.rowcount == 0:
                return None
            _check_record(connection, record, policy)
            for source in record.inputs:
                _claim_source(connection, source.iri, record.bound_by)
            _admit_output(connection, record.target)
            if not _is_in_force(connection, record.policy_digest, record.policy_uid):
                _store_policy(connection, policy, record.document, record.document_name, record.issuer)
            row = _insert_version(connection, intent)
            return _version(connection, row)


# --- Assets, inside a transaction


def _find_asset(connection: Connection, iri: IRI) -> Asset | None:
    row = connection.execute(select(db.assets).where(db.assets.c.iri == iri)).first()
    return None if row is None else _asset(row)


def _asset(row: Row[tuple[Any, ...]]) -> Asset:
    return Asset(IRI(row.iri), AssetKind(row.kind), _time(row.registered_at))


def _claim_source(connection: Connection, iri: IRI, owner: IRI) -> None:
    if _find_asset(connection, iri) is None:
        values = {"iri": iri, "kind": AssetKind.SOURCE, "registered_at": _text(datetime.now(UTC))}
        connection.execute(insert(db.assets).values(values))
        connection.execute(insert(db.owners).values(iri=iri, party=owner))


def _admit_output(connection: Connection, iri: IRI) -> None:
    """Make the IRI an output; its owners follow from its inputs from now on."""
    if _find_asset(connection, iri) is None:
        values = {"iri": iri, "kind": AssetKind.OUTPUT, "registered_at": _text(datetime.now(UTC))}
        connection.execute(insert(db.assets).values(values))
    connection.execute(update(db.assets).where(db.assets.c.iri == iri).values(kind=AssetKind.OUTPUT))
    connection.execute(delete(db.owners).where(db.owners.c.iri == iri))


def _owners(connection: Connection, iri: IRI) -> frozenset[IRI]:
    return frozenset[IRI]().union(*_owner_sets(connection, iri))


def _full_owners(connection: Connection, iri: IRI) -> frozenset[IRI]:
    sets = _owner_sets(connection, iri)
    return frozenset.intersection(*sets) if sets else frozenset()


def _owner_sets(connection: Connection, iri: IRI) -> list[frozenset[IRI]]:
    """The owners of each source that the asset comes from, itself where it is a source."""
    waiting, seen, found = [iri], {iri}, []
    while waiting:
        current = waiting.pop()
        asset = _find_asset(connection, current)
        if asset is None:
            found.append(frozenset[IRI]())
        elif asset.kind is AssetKind.SOURCE:
            query = select(db.owners.c.party).where(db.owners.c.iri == current)
            found.append(frozenset(IRI(party) for party in connection.execute(query).scalars()))
        else:
            inputs = _inputs_of_all_versions(connection, current) - seen
            waiting.extend(inputs)
            seen |= inputs
    return found


def _inputs_of_all_versions(connection: Connection, target: IRI) -> set[IRI]:
    made = db.versions.c.id == db.lineage.c.version
    query = select(db.lineage.c.input).distinct().join(db.versions, made)
    found = connection.execute(query.where(db.versions.c.target == target)).scalars()
    return {IRI(iri) for iri in found}


# --- Policies, inside a transaction


def _check_new_policies(connection: Connection, policies: tuple[Policy, ...], issuer: IRI) -> None:
    for policy in policies:
        for target in sorted(policy.targets):
            _check_is_no_version(connection, policy, target)
            owners = _full_owners_or(connection, target, issuer)
            if issuer not in owners:
                raise UsageError(
                    str(policy.where),
                    f"{issuer} does not own `{target}`",
                    "a policy about targets that its issuer owns",
                    "ask an owner of the target to add it",
                )
            _check_assigners(policy, target, owners)
    if (uid := _uid_conflict(connection, policies)) is not None:
        raise UsageError(
            str(policies[0].where),
            f"the uid `{uid}` is used by another document",
            "uids that no other document in force uses",
            "give it another uid, or revoke the other document first",
        )


def _check_is_no_version(connection: Connection, policy: Policy, target: IRI) -> None:
    run = target.removeprefix(VERSION_PREFIX)
    version = connection.execute(select(db.versions.c.target).where(db.versions.c.run == run)).first()
    if version is not None and run != target:
        raise UsageError(
            str(policy.where),
            f"`{target}` is one version of `{version.target}`",
            "policies about an output, which hold for all of its versions",
            "write the output's IRI",
        )


def _check_assigners(policy: Policy, target: IRI, owners: frozenset[IRI]) -> None:
    for rule in (*policy.permissions, *policy.prohibitions):
        stranger = next((party.iri for party in rule.assigners if party.iri not in owners), None)
        if target in {one.iri for one in rule.targets} and stranger is not None:
            raise PolicyError(
                str(rule.where),
                f"the assigner `{stranger}` does not own `{target}`",
                "an owner of the target, or no assigner",
                "mend the assigner, or ask an owner to make them one",
            )


def _uid_conflict(connection: Connection, policies: tuple[Policy, ...]) -> IRI | None:
    # Policies are never merged, but two documents that share a uid would speak for each other wherever
    # a uid is all that is named: in a request, in a revocation, in a certificate.
    uids = {uid for policy in policies for uid in _uids(policy)}
    query = (
        select(db.policy_uids.c.uid)
        .join(db.policies, db.policies.c.id == db.policy_uids.c.policy)
        .where(db.policies.c.revoked_at.is_(None))
        .where(db.policies.c.digest != policies[0].document_digest)
        .where(db.policy_uids.c.uid.in_(sorted(uids)))
    )
    found = connection.execute(query.order_by(db.policy_uids.c.uid)).scalar()
    return None if found is None else IRI(found)


def _uids(policy: Policy) -> set[IRI]:
    return {policy.uid, *(rule.uid for rule in (*policy.permissions, *policy.prohibitions))}


def _store_policy(connection: Connection, policy: Policy, document: bytes, name: str, issuer: IRI) -> None:
    digest = _digest(document)
    same = _in_force().where(db.policies.c.digest == digest, db.policies.c.uid == policy.uid)
    if connection.execute(same.where(db.policies.c.issuer == issuer)).first() is not None:
        return
    known = select(db.documents.c.digest).where(db.documents.c.digest == digest)
    if connection.execute(known).first() is None:
        connection.execute(insert(db.documents).values(digest=digest, content=document))
    values = {"uid": policy.uid, "digest": digest, "name": name, "issuer": issuer}
    added = insert(db.policies).values(**values, added_at=_text(datetime.now(UTC)))
    (key,) = connection.execute(added).inserted_primary_key or (None,)
    targets = ({"policy": key, "target": target} for target in policy.targets)
    uids = ({"policy": key, "uid": uid} for uid in _uids(policy))
    _insert_all(connection, insert(db.policy_targets), targets)
    _insert_all(connection, insert(db.policy_uids), uids)


def _insert_all(connection: Connection, statement: Insert, rows: Iterable[dict[str, Any]]) -> None:
    if values := list(rows):
        connection.execute(statement, values)


def _in_force() -> Select[tuple[Any, ...]]:
    return select(db.policies).where(db.policies.c.revoked_at.is_(None))


def _is_in_force(connection: Connection, digest: str, uid: IRI) -> bool:
    query = _in_force().where(db.policies.c.digest == digest, db.policies.c.uid == uid)
    return connection.execute(query).first() is not None


def _is_revoked(connection: Connection, digest: str, uid: IRI) -> bool:
    query = select(db.policies.c.id).where(db.policies.c.digest == digest, db.policies.c.uid == uid)
    return connection.execute(query).first() is not None and not _is_in_force(connection, digest, uid)


# --- Versions and intents, inside a transaction


def _check_record(connection: Connection, record: NewVersion, policy: Policy) -> None:
    _check_output_iri(connection, record.target, [i.iri for i in record.inputs], record.bound_by)
    _check_input_versions(connection, record)
    if _is_in_force(connection, record.policy_digest, record.policy_uid):
        return
    if _is_revoked(connection, record.policy_digest, record.policy_uid):
        raise UsageError(
            str(record.policy_uid),
            "the policy was revoked",
            "a policy in force",
            "add it again, as an owner",
        )
    if any(record.issuer not in _full_owners_or(connection, i.iri, record.bound_by) for i in record.inputs):
        raise UsageError(
            str(record.policy_uid),
            f"{record.issuer} does not own what it is about",
            "a policy of an owner",
            "ask an owner of the inputs to add it",
        )
    if (uid := _uid_conflict(connection, (policy,))) is not None:
        raise UsageError(
            str(policy.where),
            f"the uid `{uid}` is used by another document",
            "uids that no other document in force uses",
            "give it another uid",
        )


def _check_output_iri(connection: Connection, output: IRI, inputs: Sequence[IRI], bound_by: IRI) -> None:
    """An output never takes over an IRI that stands for other people's data, or for a source in use."""
    asset = _find_asset(connection, output)
    if output in inputs and (asset is None or asset.kind is AssetKind.SOURCE):
        raise _taken(output, "it is the IRI of its input")
    if asset is None:
        return
    used = select(db.lineage.c.version).where(db.lineage.c.input == output)
    if asset.kind is AssetKind.SOURCE and connection.execute(used).first() is not None:
        raise _taken(output, "it is the IRI of a source")
    owners = [_full_owners_or(connection, iri, bound_by) for iri in inputs]
    if not _owners(connection, output) <= frozenset.intersection(*owners):
        raise _taken(output, "it belongs to somebody else")


def _full_owners_or(connection: Connection, iri: IRI, owner: IRI) -> frozenset[IRI]:
    is_known = _find_asset(connection, iri) is not None
    return _full_owners(connection, iri) if is_known else frozenset({owner})


def _taken(output: IRI, problem: str) -> UsageError:
    return UsageError(
        str(output),
        f"the output cannot be registered: {problem}",
        "an IRI that is free, or that is an output of the same owners",
        "name another `output` in the policy",
    )


def _check_input_versions(connection: Connection, record: NewVersion) -> None:
    for given in record.inputs:
        if given.version is None:
            continue
        query = select(db.versions.c.id).where(db.versions.c.target == given.iri)
        if connection.execute(query.where(db.versions.c.number == given.version)).first() is None:
            raise UsageError(
                str(given.iri),
                f"it has no version {given.version}",
                "a registered version of the input",
                "",
            )


def _insert_version(connection: Connection, intent: Intent) -> Row[tuple[Any, ...]]:
    record = intent.record
    last = select(func.max(db.versions.c.number)).where(db.versions.c.target == record.target)
    number = (connection.execute(last).scalar() or 0) + 1
    details = _Details(record.files, record.columns, record.respondent, record.rule_purposes)
    values = {name: getattr(record, name) for name in _PLAIN}
    added = insert(db.versions).values(
        **values,
        format=record.format.value,
        number=number,
        run=intent.run,
        path=str(intent.out),
        created_at=_text(record.created_at),
        report=record.report.to_json(),
        details=_details_adapter().dump_json(details).decode(),
    )
    (key,) = connection.execute(added).inserted_primary_key or (None,)
    _insert_all(
        connection,
        insert(db.lineage),
        (
            {"version": key, "position": position, "input": source.iri, "input_version": source.version}
            for position, source in enumerate(record.inputs)
        ),
    )
    return connection.execute(select(db.versions).where(db.versions.c.id == key)).one()


_PLAIN: Final = (
    "target",
    "output_digest",
    "plan",
    "plan_digest",
    "policy_digest",
    "policy_uid",
    "rule_uid",
    "party",
    "purpose",
    "certificate",
)


def _version(connection: Connection, row: Row[tuple[Any, ...]]) -> TargetVersion:
    query = select(db.lineage).where(db.lineage.c.version == row.id).order_by(db.lineage.c.position)
    inputs = connection.execute(query).all()
    details = _details_adapter().validate_json(row.details)
    return TargetVersion(
        **{name: getattr(row, name) for name in _PLAIN},
        format=OutputFormat(row.format),
        files=details.files,
        rule_purposes=details.rule_purposes,
        inputs=tuple(Input(IRI(found.input), found.input_version) for found in inputs),
        columns=details.columns,
        respondent=details.respondent,
        created_at=_time(row.created_at),
        report=OwnerReport.from_json(row.report),
        number=row.number,
        run=row.run,
        path=Path(row.path),
    )


def _intent(row: Row[tuple[Any, ...]]) -> Intent:
    record = _new_version_adapter().validate_json(row.record)
    record = replace(record, document=row.document)
    return Intent(row.run, Path(row.stage), Path(row.out), record)


@cache
def _new_version_adapter() -> "TypeAdapter[NewVersion]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for what waits as JSON)

    return TypeAdapter(NewVersion)


@cache
def _details_adapter() -> "TypeAdapter[_Details]":
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for what waits as JSON)

    return TypeAdapter(_Details)


def _digest(document: bytes) -> str:
    return "sha256:" + sha256(document).hexdigest()


def _text(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
