"""Create a registry's tables, and migrate an older registry to the current version.

A step uses only the tables, rows and texts as they were when it was written: what they mean today may
change, and the migration of an old registry must not.
"""

import json
from typing import Final

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    delete,
    insert,
    inspect,
    select,
    text,
    update,
)

from smalti.engine.registry import _tables as db

SCHEMA_VERSION: Final = 8
MENDABLE_VERSIONS: Final = frozenset({"1", "2", "3", "4", "5", "6", "7"})
_AT_ONCE: Final = 500
"""Values in one query."""

_VERSION_3: Final = MetaData()
_ledgers: Final = Table(
    "ledgers",
    _VERSION_3,
    Column("id", Integer, primary_key=True),
    Column("epsilon", Text),
    Column("delta", Text),
    Column("neighbors", Text),
)
_ledger_members: Final = Table(
    "ledger_members", _VERSION_3, Column("member", Text, primary_key=True), Column("ledger", Integer)
)


def create_schema(connection: Connection) -> None:
    """Create missing tables; a registry without a version gets the current one."""
    db.metadata.create_all(connection)
    if not schema_version(connection):
        connection.execute(insert(db.meta).values(key="schema", value=str(SCHEMA_VERSION)))


def schema_version(connection: Connection) -> str:
    """The version that the registry states; empty if it states none."""
    return connection.execute(select(db.meta.c.value).where(db.meta.c.key == "schema")).scalar() or ""


def mend(connection: Connection) -> None:
    """Migrate an older registry to this version: its tables stay, and missing ones are added."""
    version = schema_version(connection)
    if version not in MENDABLE_VERSIONS:
        return  # another process was first
    db.metadata.create_all(connection)
    if version == "1":
        connection.execute(
            text("INSERT INTO policy_iris (policy, iri) SELECT policy, target FROM policy_targets")
        )
    if version in {"1", "2"}:
        _fill_ledgers(connection)
    present = {column["name"] for column in inspect(connection).get_columns("versions")}
    for column, kind in (("policy_meaning", "VARCHAR(80)"), ("recorded_at", "VARCHAR(40)")):
        if column not in present:
            connection.execute(text(f"ALTER TABLE versions ADD COLUMN {column} {kind}"))
    _start_clock(connection)
    connection.execute(update(db.meta).where(db.meta.c.key == "schema").values(value=str(SCHEMA_VERSION)))


# --- Version 3: ledgers


def _fill_ledgers(connection: Connection) -> None:
    """Note what earlier runs read, registered before ledgers existed; nothing was charged then."""
    assets: dict[int, set[str]] = {}
    for row in connection.execute(text("SELECT version, input FROM lineage")).all():
        assets.setdefault(row.version, set()).add(row.input)
    for row in connection.execute(text("SELECT id, report FROM versions")).all():
        digests = {f"bytes {file['hmac']}" for file in json.loads(row.report)["inputs"]}
        members = sorted(assets.get(row.id, set()) | digests)
        if len(members) > 1:
            _join_ledgers(connection, members)


def _join_ledgers(connection: Connection, members: list[str]) -> None:
    """Let members have one ledger, with all that theirs had before."""
    ledger_of = _ledger_of_each(connection, members)
    if ledgers := sorted(set(ledger_of.values())):
        kept, *others = ledgers
    else:
        values = {"epsilon": "0", "delta": "0", "neighbors": ""}
        (kept,) = connection.execute(insert(_ledgers).values(values)).inserted_primary_key or (0,)
        others = []
    if others:
        moved = update(_ledger_members).where(_ledger_members.c.ledger.in_(others))
        connection.execute(moved.values(ledger=kept))
        connection.execute(delete(_ledgers).where(_ledgers.c.id.in_(others)))
    if new := [{"member": member, "ledger": kept} for member in members if member not in ledger_of]:
        connection.execute(insert(_ledger_members), new)


def _ledger_of_each(connection: Connection, members: list[str]) -> dict[str, int]:
    """The ledgers of those members that have one."""
    ledgers: dict[str, int] = {}
    for start in range(0, len(members), _AT_ONCE):
        some = _ledger_members.c.member.in_(members[start : start + _AT_ONCE])
        query = select(_ledger_members.c.member, _ledger_members.c.ledger).where(some)
        ledgers.update({row.member: row.ledger for row in connection.execute(query).all()})
    return ledgers


# --- Version 5: one clock


def _start_clock(connection: Connection) -> None:
    """Begin after all that earlier versions wrote, each by the clock of its machine."""
    written = (
        "SELECT max(registered_at) FROM assets",
        "SELECT max(added_at) FROM hierarchies",
        "SELECT max(withdrawn_at) FROM withdrawals",
        "SELECT max(created_at) FROM versions",
    )
    times = [connection.execute(text(query)).scalar() for query in written]
    last = connection.execute(text("SELECT value FROM smalti_meta WHERE key = 'clock'")).scalar()
    if (earlier := [time for time in times if time is not None]) and last is None:
        connection.execute(insert(db.meta).values(key="clock", value=max(earlier)))
