"""Charges and the ledgers that they add up in, inside a transaction.

A ledger is about one set of respondents. Its members are assets, and the bytes of files by their keyed
digests; whatever is charged about one of them is charged in it. A release joins the ledgers of its target,
of everything that the target was made from or consists of, and of the bytes that were read, and so does a
training that is to be audited: so the ledgers are the transitive closure over assets and digests. Data that
a registered run read under an IRI are members beside that IRI. Ledgers are only ever joined, never parted,
and charges are only ever added.
"""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, insert, select, union, update

from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import Facts, insert_all, to_text, to_time
from smalti.engine.registry.budget import Budget, Ceiling, Charge, EpsilonDelta, other_relation, total
from smalti.engine.registry.entries import VERSION_PREFIX
from smalti.errors import InternalError, UsageError
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

_BYTES: Final = "bytes "
"""Before the digest of a file that is a member; no IRI has a space."""
_AT_ONCE: Final = 500
"""Members in one query."""


def assets_of(facts: Facts, target: IRI) -> frozenset[IRI]:
    """The assets whose respondents a target may have.

    Args:
        facts: about assets; with every membership that was ever in force, so that none which ends parts
            what is one ledger.
        target: a source, an output or a version of one; itself where nobody knows it.

    Returns:
        The target (of a version its output), what it was made from or consists of, and so on; and the
        collections of any of these about which something was released, or a model was to be audited.
    """
    start = _unversioned(facts.connection, target)
    waiting, reached = [start], {start}
    while waiting:
        current = waiting.pop()
        new = (facts.inputs(current) | facts.members(current)) - reached
        reached |= new
        waiting += new
    return frozenset(reached | _counted_wholes(facts, reached))


def _counted_wholes(facts: Facts, reached: set[IRI]) -> set[IRI]:
    """The collections of any of these assets that were charged or trained on before that was known.

    Another collection is not counted: its members may be different people's.
    """
    wholes: set[IRI] = set()
    waiting = list(reached)
    while waiting:
        current = waiting.pop()
        new = {whole for member, whole in facts.memberships if member == current} - wholes - reached
        wholes |= new
        waiting += new
    counted: set[IRI] = set()
    for start in range(0, len(wholes), _AT_ONCE):
        some = sorted(wholes)[start : start + _AT_ONCE]
        targets = (
            select(table.c.target).where(table.c.target.in_(some)) for table in (db.charges, db.audits)
        )
        counted.update(map(IRI, facts.connection.execute(union(*targets)).scalars()))
    return counted


def _unversioned(connection: Connection, iri: IRI) -> IRI:
    if not iri.startswith(VERSION_PREFIX):
        return iri
    run = iri.removeprefix(VERSION_PREFIX)
    target = connection.execute(select(db.versions.c.target).where(db.versions.c.run == run)).scalar()
    return iri if target is None else IRI(target)


# --- Asking


def check_owner(facts: Facts, target: IRI, by: IRI) -> None:
    """Refuse figures to a party who owns no part of a target."""
    asset = _unversioned(facts.connection, target)
    if not facts.is_known(asset) and not facts.members(asset):
        raise UsageError(
            str(target), "the registry does not know it", "a known target", "add a policy about it first"
        )
    if by not in facts.owners_on_record(asset):
        raise UsageError(
            str(target), f"{by} does not own it", "an owner of the target", "ask one of its owners"
        )


def spent(connection: Connection, assets: Iterable[IRI]) -> EpsilonDelta:
    """What has been charged about any of these assets, each charge once; see `Budget.spent`."""
    wanted = frozenset(assets)
    ledgers = _ledgers(connection, wanted)
    return _sum(ledgers) if len(_relations(ledgers)) < 2 else budget(connection, wanted).spent


def budget(connection: Connection, assets: Iterable[IRI]) -> Budget:
    """The same, with each charge."""
    ledgers = [row.id for row in _ledgers(connection, assets)]
    in_them = (
        select(db.charges)
        .join(db.ledger_members, db.ledger_members.c.member == db.charges.c.target)
        .where(db.ledger_members.c.ledger.in_(ledgers))
        .order_by(db.charges.c.id)
    )
    rows = connection.execute(in_them).all()
    members = (
        select(db.charge_members.c.charge, db.charge_members.c.member)
        .join(db.ledger_members, db.ledger_members.c.member == db.charge_members.c.member)
        .where(db.ledger_members.c.ledger.in_(ledgers), db.charge_members.c.member.startswith(_BYTES))
        .order_by(db.charge_members.c.member)
    )
    inputs: dict[int, list[str]] = {}
    for charge, member in connection.execute(members).all():
        inputs.setdefault(charge, []).append(member.removeprefix(_BYTES))
    return Budget(tuple(_to_charge(row, tuple(inputs.get(row.id, ()))) for row in rows))


def fits(connection: Connection, new: Charge, ceiling: Ceiling, assets: Iterable[IRI]) -> bool:
    """Whether a release is admitted, on top of all that has been charged; once not, then never.

    Raises:
        InternalError: the run has been charged.
        PlanError: what was charged so far is about another neighbouring relation.
    """
    charged = select(db.charges.c.id).where(db.charges.c.run == new.run)
    if connection.execute(charged).first() is not None:
        raise InternalError("a run was to be charged twice")
    ledgers = _ledgers(connection, _members(new, assets))
    relations = _relations(ledgers)
    if relations - {new.neighbors}:
        raise other_relation(new.target, relations)
    return ceiling.admits(_sum(ledgers) + new.spent)


# --- Charging


def add(connection: Connection, new: Charge, assets: Iterable[IRI]) -> None:
    """Record a charge that `fits`, and add it to the one ledger of its respondents."""
    members = _members(new, assets)
    ledger = _join(connection, members)
    values = _to_values(new) | {"target": _unversioned(connection, new.target)}
    (key,) = connection.execute(insert(db.charges).values(values)).inserted_primary_key or (None,)
    insert_all(
        connection, insert(db.charge_members), ({"charge": key, "member": member} for member in members)
    )
    row = connection.execute(select(db.ledgers).where(db.ledgers.c.id == ledger)).one()
    sums = _sum([row]) + new.spent
    _set(connection, ledger, sums, _relations([row]) | {new.neighbors})


def note_read(connection: Connection, assets: Iterable[IRI], inputs: Iterable[str]) -> None:
    """Note that a run read these bytes under these IRIs: their respondents are the same ones.

    Args:
        connection: of the transaction.
        assets: the inputs of the run, or all whose respondents those may have.
        inputs: keyed digests of their files.
    """
    members = _as_members(assets, inputs)
    if len(members) > 1:
        _join(connection, members)


def known_as(connection: Connection, inputs: Iterable[str]) -> frozenset[IRI]:
    """The assets whose respondents are those of some files, by their keyed digests."""
    return _members_of(connection, _as_members((), inputs))


def joined(connection: Connection, assets: Iterable[IRI]) -> frozenset[IRI]:
    """The assets that some assets were found to share a ledger with; empty before any was noted."""
    return _members_of(connection, _as_members(assets, ()))


def _members_of(connection: Connection, some: Iterable[str]) -> frozenset[IRI]:
    ledgers = [row.id for row in _ledgers(connection, some)]
    members = select(db.ledger_members.c.member).where(db.ledger_members.c.ledger.in_(ledgers))
    joined_members = connection.execute(members).scalars()
    return frozenset(IRI(member) for member in joined_members if not member.startswith(_BYTES))


def _members(charge: Charge, assets: Iterable[IRI]) -> list[str]:
    return _as_members(assets, charge.inputs)


def _as_members(assets: Iterable[IRI], inputs: Iterable[str]) -> list[str]:
    return sorted({*assets, *(_BYTES + digest for digest in inputs)})


def _ledgers(connection: Connection, members: Iterable[str]) -> list[Row[tuple[Any, ...]]]:
    """The ledgers with any of these members, each once."""
    wanted, ledgers_by_id = sorted(set(members)), {}
    for start in range(0, len(wanted), _AT_ONCE):
        some = db.ledger_members.c.member.in_(wanted[start : start + _AT_ONCE])
        ledgers = select(db.ledger_members.c.ledger).where(some)
        for row in connection.execute(select(db.ledgers).where(db.ledgers.c.id.in_(ledgers))).all():
            ledgers_by_id[row.id] = row
    return [ledgers_by_id[key] for key in sorted(ledgers_by_id)]


def _join(connection: Connection, members: list[str]) -> int:
    """The one ledger of these members; joins the ledgers that have some of them, and loses no charge."""
    ledgers = _ledgers(connection, members)
    if ledgers:
        kept, others = ledgers[0].id, [row.id for row in ledgers[1:]]
    else:
        values = {"epsilon": "0", "delta": "0", "neighbors": ""}
        (kept,) = connection.execute(insert(db.ledgers).values(values)).inserted_primary_key or (None,)
        others = []
    if others:
        moved = update(db.ledger_members).where(db.ledger_members.c.ledger.in_(others))
        connection.execute(moved.values(ledger=kept))
        _set(connection, kept, _sum(ledgers), _relations(ledgers))
        connection.execute(delete(db.ledgers).where(db.ledgers.c.id.in_(others)))
    present: set[str] = set()
    for start in range(0, len(members), _AT_ONCE):
        some = db.ledger_members.c.member.in_(members[start : start + _AT_ONCE])
        present.update(connection.execute(select(db.ledger_members.c.member).where(some)).scalars())
    new = ({"member": member, "ledger": kept} for member in members if member not in present)
    insert_all(connection, insert(db.ledger_members), new)
    return int(kept)


def _set(
    connection: Connection, ledger: int, sums: EpsilonDelta, relations: frozenset[NeighboringRelation]
) -> None:
    values = {
        "epsilon": str(sums.epsilon),
        "delta": str(sums.delta),
        "neighbors": " ".join(sorted(relations)),
    }
    connection.execute(update(db.ledgers).where(db.ledgers.c.id == ledger).values(values))


def _relations(ledgers: Iterable[Row[tuple[Any, ...]]]) -> frozenset[NeighboringRelation]:
    """The neighbouring relations of the charges in ledgers."""
    return frozenset(NeighboringRelation(name) for row in ledgers for name in row.neighbors.split())


def _sum(ledgers: Iterable[Row[tuple[Any, ...]]]) -> EpsilonDelta:
    return total(EpsilonDelta(Decimal(row.epsilon), Decimal(row.delta)) for row in ledgers)


# --- Rows


def _to_values(charge: Charge) -> dict[str, Any]:
    selection = charge.selection_delta
    return {
        "run": charge.run,
        "epsilon": str(charge.epsilon),
        "delta": str(charge.delta),
        "selection_delta": None if selection is None else str(selection),
        "pure": str(charge.loss.pure),
        "mu_squared": str(charge.loss.mu_squared),
        "neighbors": str(charge.neighbors),
        "party": charge.party,
        "purpose": charge.purpose,
        "policy_uid": charge.policy_uid,
        "rule_uid": charge.rule_uid,
        "plan_digest": charge.plan_digest,
        "charged_at": to_text(charge.time),
    }


def _to_charge(row: Row[tuple[Any, ...]], inputs: tuple[str, ...]) -> Charge:
    return Charge(
        run=row.run,
        target=IRI(row.target),
        inputs=inputs,
        epsilon=Decimal(row.epsilon),
        delta=Decimal(row.delta),
        loss=PrivacyLoss(Fraction(row.pure), Fraction(row.mu_squared)),
        neighbors=NeighboringRelation(row.neighbors),
        selection_delta=None if row.selection_delta is None else Decimal(row.selection_delta),
        party=IRI(row.party),
        purpose=None if row.purpose is None else IRI(row.purpose),
        policy_uid=IRI(row.policy_uid),
        rule_uid=IRI(row.rule_uid),
        plan_digest=row.plan_digest,
        time=to_time(row.charged_at),
    )
