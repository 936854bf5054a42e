"""Find, add and end stored policies, inside a transaction."""

from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from smalti.engine.registry import _keys
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import Facts, claim_sources, insert_all, store_document, without_columns
from smalti.engine.registry._journal import note, tick
from smalti.engine.registry._policy_checks import OTHER_UID
from smalti.engine.registry._policy_documents import Claims, NewPolicies, Reader, in_force, uids_of
from smalti.errors import UsageError
from smalti.policy.model.model import Policy, PolicyType
from smalti.vocab.terms import IRI


def replaced(connection: Connection, reader: Reader, new: NewPolicies | Claims) -> tuple[int, ...]:
    """The entries in force under the uids of new policies, of other documents of the same issuer.

    Never another owner's: each owner's document is the owner's own. It ends when its issuer replaces it, or
    by a revocation that names it.

    Raises:
        UsageError: an Agreement would end something else than an Agreement of the same parties about the
            same targets. The other party may have chosen its uid, and would choose what ends.
    """
    entries: dict[int, None] = {}
    for policy in new.policies:
        query = in_force().where(
            db.policies.c.uid == policy.uid,
            db.policies.c.digest != new.digest,
            db.policies.c.issuer == new.issuer,
        )
        for row in connection.execute(query).all():
            _check_replaces(policy, reader.stored(connection, row.id))
            entries[row.id] = None
    return tuple(entries)


def check_ends(connection: Connection, ending: tuple[int, ...], digest: str | None, name: str) -> None:
    """Refuse to replace anything else than the document of a digest."""
    query = select(db.policies.c.digest).where(db.policies.c.id.in_(ending))
    if digest not in connection.execute(query).scalars().all():
        raise UsageError(
            name, "what it would replace was changed meanwhile", "the document that was in force",
            "read it again, and decide anew",
        )  # fmt: skip


def _check_replaces(policy: Policy, ended: Policy | None) -> None:
    if policy.type is PolicyType.AGREEMENT and (ended is None or _between(ended) != _between(policy)):
        raise UsageError(
            str(policy.where),
            f"the agreement has the uid `{policy.uid}` of a policy in force, and would end it",
            "at most an Agreement of the same parties about the same targets to replace",
            OTHER_UID,
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


def revocable(
    connection: Connection, facts: Facts, uid: IRI, party: IRI, issuer: IRI | None
) -> list[Row[tuple[Any, ...]]]:
    """The entries in force under a uid, of an issuer or of all, that a party may end.

    Raises:
        UsageError: there is none.
    """
    named = in_force().where(db.policies.c.uid == uid)
    rows = connection.execute(
        named if issuer is None else named.where(db.policies.c.issuer == issuer)
    ).all()
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
