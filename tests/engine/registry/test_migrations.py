"""Older registries are mended by steps that know only what was true when they were written."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world

from smalti.engine.jobs.queue import submit
from smalti.engine.jobs.requests import CheckPolicies
from smalti.engine.registry.registry import Registry

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
        assert connection.execute("SELECT value FROM smalti_meta WHERE key = 'schema'").fetchone() == ("6",)
        made = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    assert made >= {*LATER_THAN_VERSION_5, "ix_jobs_state", "ix_jobs_party"}
