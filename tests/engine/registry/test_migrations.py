"""Older registries are mended by steps that know only what was true when they were written."""

import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world

from smalti.engine.jobs.queue import submit
from smalti.engine.jobs.requests import CheckPolicies
from smalti.engine.registry._migrations import SCHEMA_VERSION
from smalti.engine.registry.access import Role
from smalti.engine.registry.data_flows import FlowState, NewFlow
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.vocab.terms import IRI

LATER_THAN_VERSION_2 = ("charge_members", "charges", "ledger_members", "ledgers", "audits")
READ = {
    "1": (["http://example.com/a"], ["hmac-sha256:a"]),
    "2": (["http://example.com/b"], ["hmac-sha256:b"]),
    "3": (["http://example.com/c"], ["hmac-sha256:c"]),
    "4": (["http://example.com/a", "http://example.com/b"], ["hmac-sha256:d"]),
    "5": (["http://example.com/e"], []),
}
"""What the runs of an old registry read: assets, and digests of files."""


def make_old(path: Path) -> None:
    """A registry of version 2 with a run for each of `READ`, all like the one that is in it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.row_factory = sqlite3.Row
        (row,) = connection.execute("SELECT * FROM versions").fetchall()
        connection.execute("DELETE FROM lineage")
        connection.execute("DELETE FROM versions")
        for number, (assets, digests) in READ.items():
            report = json.dumps({"inputs": [{"hmac": digest} for digest in digests]})
            new = dict(row) | {"id": number, "number": number, "run": number, "report": report}
            marks = ", ".join(f":{name}" for name in new)
            connection.execute(f"INSERT INTO versions ({', '.join(new)}) VALUES ({marks})", new)
            for position, asset in enumerate(assets):
                connection.execute("INSERT INTO lineage VALUES (?, ?, ?, NULL)", (number, position, asset))
        for table in LATER_THAN_VERSION_2:
            connection.execute(f"DROP TABLE {table}")
        for column in ("policy_meaning", "recorded_at"):
            connection.execute(f"ALTER TABLE versions DROP COLUMN {column}")
        connection.execute("DELETE FROM smalti_meta WHERE key = 'clock'")
        connection.execute("UPDATE smalti_meta SET value = '2' WHERE key = 'schema'")


def test_runs_of_version_2_share_ledgers_by_what_they_read(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    registry = Registry.open(path)
    world.run(registry, tmp_path / "out")
    make_old(path)
    Registry.open(path).assets()  # mends it
    with closing(sqlite3.connect(path)) as connection:
        ledgers = connection.execute(
            "SELECT id, epsilon, delta, neighbors FROM ledgers ORDER BY id"
        ).fetchall()
        members = dict(connection.execute("SELECT member, ledger FROM ledger_members").fetchall())
        (clock,) = connection.execute("SELECT value FROM smalti_meta WHERE key = 'clock'").fetchone()
        (last,) = connection.execute(
            "SELECT max(time) FROM "
            "(SELECT registered_at AS time FROM assets UNION SELECT created_at FROM versions)"
        ).fetchone()
    assert ledgers == [(1, "0", "0", ""), (3, "0", "0", "")]
    assert members == {
        "http://example.com/a": 1,
        "http://example.com/b": 1,
        "http://example.com/c": 3,
        "bytes hmac-sha256:a": 1,
        "bytes hmac-sha256:b": 1,
        "bytes hmac-sha256:c": 3,
        "bytes hmac-sha256:d": 1,
    }
    assert clock == last


LATER_THAN_VERSION_5 = ("jobs", "workers")


def test_a_registry_of_version_5_takes_jobs_and_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    version = world.run(Registry.open(path), tmp_path / "out")
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in LATER_THAN_VERSION_5:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE smalti_meta SET value = '5' WHERE key = 'schema'")
    registry = Registry.open(path)
    job = submit(registry, CheckPolicies(files=("/policy.jsonld",)))
    assert registry.jobs.listed() == (job,)
    assert registry.versions(version.target) == (version,)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT value FROM smalti_meta WHERE key = 'schema'").fetchone() == (
            str(SCHEMA_VERSION),
        )
        made = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    assert made >= {*LATER_THAN_VERSION_5, "ix_jobs_state", "ix_jobs_party"}


def test_a_registry_of_version_6_takes_data_flows_and_keeps_its_jobs_and_keys(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    registry = Registry.open(path)
    job = submit(registry, CheckPolicies(files=("/policy.jsonld",)))
    _, entry = registry.access.add_key(IRI("http://example.com/party/owner"), [Role.PARTY])
    registry.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE data_flows")
        connection.execute("UPDATE smalti_meta SET value = '6' WHERE key = 'schema'")
    registry = Registry.open(path)
    new = NewFlow(
        key="k", id="1", party=entry.party, counterparty=IRI("http://example.com/party/b"),
        target=IRI("http://example.com/t"), policy=IRI("http://example.com/p"), rule=None,
        callback="https://plane.example",
    )  # fmt: skip
    flow = registry.flows.add(new)
    assert registry.flows.get(entry.party, "1") == flow
    assert (registry.jobs.listed(), registry.access.listed()) == ((job,), (entry,))
    registry.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT value FROM smalti_meta WHERE key = 'schema'").fetchone() == (
            str(SCHEMA_VERSION),
        )
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    assert names >= {"data_flows", "ix_data_flows_state", "ix_data_flows_out", "ix_data_flows_call_at"}


def test_a_data_flow_leaves_no_terminal_state_and_is_moved_by_one_alone(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    new = NewFlow(
        key="k", id="1", party=IRI("urn:x:a"), counterparty=IRI("urn:x:b"), target=IRI("urn:x:t"),
        policy=IRI("urn:x:p"), rule=None, callback="https://plane.example",
    )  # fmt: skip
    registry.flows.add(new)
    with pytest.raises(UsageError):
        registry.flows.add(replace(new, key="other"))
    first = registry.flows.move("k", [FlowState.PREPARED], FlowState.STARTING)
    assert first is not None
    assert registry.flows.move("k", [FlowState.PREPARED], FlowState.STARTING) is None
    over = registry.flows.move("k", [FlowState.STARTING], FlowState.TERMINATED, {"call": "errored"})
    assert over is not None
    assert registry.flows.move("k", [FlowState.STARTED], FlowState.SUSPENDED) is None
    assert registry.flows.take_call(over, timedelta(0))
    assert not registry.flows.take_call(over, timedelta(0)), "somebody else took it"
    (due,) = registry.flows.due()
    registry.flows.end_call(due)
    assert registry.flows.due() == ()
