"""A registry of every earlier schema becomes one of this version, with its rows; a newer one is refused.

`schemas/` has what the tables of earlier commits made, with two rows in each table (their commit stands in
the first line). Where a schema changed within its version, both are there.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from shell import CUSTOMER, OWNER, smalti

from smalti.engine.registry._migrations import MENDABLE_VERSIONS, SCHEMA_VERSION
from smalti.engine.registry.registry import Registry
from smalti.vocab.terms import IRI

SCHEMAS = {file.stem: file for file in sorted(Path(__file__).with_name("schemas").glob("*.sql"))}
FILLED = frozenset({"ledgers", "ledger_members", "policy_iris"})
"""Tables to which the migration adds rows, beside those that they have."""
NEWER = (
    ["targets", "list"],
    ["policy", "list"],
    ["keys", "list"],
    ["access", "list"],
    ["jobs", "list"],
    ["audit", "list"],
    ["vocabulary", "list"],
    ["budget", "show", CUSTOMER, "--as", OWNER],
    ["decide", "--as", OWNER, "--action", "read", "--target", CUSTOMER],
    ["access", "new-key", "--as", OWNER],
    ["worker", "--once"],
    ["registry", "backup", "copy"],
    ["serve", "--address", "127.0.0.1:0"],
)


def schema_of(place: Path) -> dict[str, Any]:
    """Columns, indexes and constraints of all tables; the order of columns does not count."""
    shape = {}
    with closing(sqlite3.connect(place)) as connection:
        tables = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for table, text in tables:
            columns = {row[1:] for row in connection.execute(f"PRAGMA table_info({table})")}
            foreign = {row[2:] for row in connection.execute(f"PRAGMA foreign_key_list({table})")}
            indexes = {
                (tuple(row[2] for row in connection.execute(f"PRAGMA index_info({name})")), unique, origin)
                for _, name, unique, origin, _ in connection.execute(f"PRAGMA index_list({table})")
            }
            shape[table] = columns, foreign, indexes, "AUTOINCREMENT" in text
    return shape


def rows_of(
    place: Path, columns: dict[str, list[str]] | None = None
) -> dict[str, tuple[list[str], set[Any]]]:
    """The rows of each table, in certain columns; in all of them where none are stated."""
    contents = {}
    with closing(sqlite3.connect(place)) as connection:
        tables = columns or {
            name: []
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
        }
        for table, names in tables.items():
            shown = names or [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rows = connection.execute(f"SELECT {', '.join(shown)} FROM {table}").fetchall()
            contents[table] = shown, set(rows)
    return contents


def test_every_earlier_schema_has_its_fixture() -> None:
    assert {name.partition("-")[0] for name in SCHEMAS} == MENDABLE_VERSIONS
    assert {int(version) for version in MENDABLE_VERSIONS} == set(range(1, SCHEMA_VERSION))


@pytest.mark.parametrize("name", SCHEMAS)
def test_it_becomes_this_version_and_keeps_its_rows(tmp_path: Path, name: str) -> None:
    place, fresh = tmp_path / "old.sqlite", tmp_path / "fresh.sqlite"
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.executescript(SCHEMAS[name].read_text(encoding="utf-8"))
    before = rows_of(place)
    Registry.open(fresh).answers.begin(IRI(OWNER), "key", "request")
    Registry.open(place).access.listed()
    assert schema_of(place) == schema_of(fresh)
    after = rows_of(place, {table: names for table, (names, _) in before.items()})
    version = {("schema", name.partition("-")[0])}
    for table, (_, rows) in before.items():
        now = after[table][1]
        if table in FILLED | {"smalti_meta"}:
            assert rows - version <= now, table
        else:
            assert rows == now, table
    assert ("schema", str(SCHEMA_VERSION)) in after["smalti_meta"][1]
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_newer_schema_is_refused_by_every_command_and_not_changed(tmp_path: Path) -> None:
    place = tmp_path / "smalti.sqlite"
    registry = Registry.open(place)
    registry.answers.begin(IRI(OWNER), "key", "request")
    registry.close()
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("UPDATE smalti_meta SET value = '99' WHERE key = 'schema'")
    before = rows_of(place)
    for command in NEWER:
        done = smalti(*command, "--registry", str(place), cwd=tmp_path)
        assert done.code == 3, (command, done.out, done.err)
        assert f"schema version 99; expected version {SCHEMA_VERSION}" in done.err, command
    assert rows_of(place) == before
