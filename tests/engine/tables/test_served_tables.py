"""Tables of a real PostgreSQL server, read as canonical text; skipped without the server's programs."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "registry"))
import postgresql_server

import smalti
from smalti.engine.tables.addresses import data_at, described_by
from smalti.engine.tables.bringing import brought
from smalti.errors import DataError, SmaltiError, UsageError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

pytestmark = pytest.mark.slow
TARGET = IRI("http://example.com/table")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_server.running(postgresql_server.required()) as address:
        with psycopg.connect(address.format("postgres"), autocommit=True) as connection:
            connection.execute(
                'CREATE TABLE "Odd; name" (a INTEGER, b DATE, c TIMESTAMP, d TIMESTAMPTZ, e NUMERIC(8, 2),'
                " f DOUBLE PRECISION, g TEXT, h BOOLEAN, i BYTEA)"
            )
            connection.execute(
                """INSERT INTO "Odd; name" VALUES
                    (2, '2024-01-31', '2024-01-31 09:30', '2024-01-31 09:30:00.25+01', 1.50, 2.5,
                     'a,"b', true, '\\x0001'),
                    (1, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL)"""
            )
            connection.execute("CREATE SCHEMA s")
            connection.execute("CREATE TABLE s.deep (a INTEGER[])")
            connection.execute("INSERT INTO s.deep VALUES ('{1}')")
            connection.execute("CREATE VIEW s.sorted AS SELECT * FROM (VALUES (2), (1)) AS t (a)")
            connection.execute(
                "CREATE TABLE endless (a DATE, b TIMESTAMP, c TIMESTAMPTZ, d REAL, e NUMERIC)"
            )
            connection.execute(
                "INSERT INTO endless VALUES ('infinity', '-infinity', 'infinity', 'NaN', 'NaN'),"
                " ('0044-03-15 BC', '9999-12-31 23:59:59.999999', '2024-01-31 00:00Z', '-Infinity', 1),"
                " ('0001-01-01', NULL, NULL, NULL, NULL)"
            )
            connection.execute("CREATE TABLE padded (a CHAR(6), b VARCHAR(6))")
            connection.execute("INSERT INTO padded VALUES ('x', 'y ')")
        yield address.format("postgres")


def test_a_table(server: str, tmp_path: Path) -> None:
    source = brought(TARGET, data_at(f"{server}#Odd; name", "data"), tmp_path / "input")
    assert source.path.read_text(encoding="utf-8") == (
        "a,b,c,d,e,f,g,h,i\n1,,,,,,,,\n"
        '2,2024-01-31,2024-01-31T09:30:00,2024-01-31T08:30:00.25Z,1.50,2.5,"a,""b",true,AAE=\n'
    )
    words = ("integer", "date", "dateTime", "dateTime", "decimal", "double", None, "string", None)
    assert source.datatypes == tuple(None if word is None else Datatype(word) for word in words)


def test_a_view_of_a_schema_is_sorted(server: str, tmp_path: Path) -> None:
    source = brought(TARGET, data_at(f"{server}#s.sorted", "data"), tmp_path / "input")
    assert source.path.read_text(encoding="utf-8") == "a\n1\n2\n"


def test_blanks_that_fill_a_column_are_no_part_of_its_values(server: str, tmp_path: Path) -> None:
    """People are listed without them, also those who withdrew."""
    source = brought(TARGET, data_at(f"{server}#padded", "data"), tmp_path / "input")
    assert source.path.read_text(encoding="utf-8") == "a,b\nx,y \n"


def test_values_without_a_canonical_form_are_counted_and_refused(server: str, tmp_path: Path) -> None:
    with pytest.raises(SmaltiError) as refused:
        brought(TARGET, data_at(f"{server}#endless", "data"), tmp_path / "input")
    problems = str(refused.value)
    for name, count in (
        ("a", "2 of its values are"),
        ("b", "1 of its values is"),
        ("d", "2 of its values"),
    ):
        assert f"postgresql#endless, column `{name}`: {count}" in problems
    for name in "ce":
        assert f"postgresql#endless, column `{name}`: 1 of its values is" in problems


def test_a_description_of_a_table(server: str, tmp_path: Path) -> None:
    place = tmp_path / "padded-metadata.json"
    metadata = {
        "@context": "http://www.w3.org/ns/csvw", "null": "y ", "smalti:respondent": "a",
        "tableSchema": {"columns": [{"name": "a"}, {"name": "b", "datatype": "string"}]},
    }  # fmt: skip
    for url, table in (("padded", "padded"), ("public.padded", "public.padded")):
        place.write_text(json.dumps(metadata | {"url": url}))
        data = described_by(data_at(f"{server}#{table}", "data"), place)
        source = brought(TARGET, data, tmp_path / url)
        assert source.path.read_text(encoding="utf-8") == "a,b\nx,\n"
        assert source.description.respondent == "a"
    place.write_text(json.dumps(metadata | {"url": "other"}))
    with pytest.raises(DataError, match="it describes `other`; expected `padded` as its `url`"):
        brought(TARGET, described_by(data_at(f"{server}#padded", "data"), place), tmp_path / "other")


@pytest.mark.parametrize("table", ["sorted", "Odd; nam", "SELECT 1", 's.deep"; DROP TABLE s.deep; --'])
def test_what_is_no_table(server: str, tmp_path: Path, table: str) -> None:
    with pytest.raises(
        UsageError, match="there is no table of that name; expected a name in the catalogue"
    ):
        brought(TARGET, data_at(f"{server}#{table}", "data"), tmp_path / "input")


def test_a_type_that_is_not_read(server: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="postgresql#deep, record 1: column 1 has a type that is not read"):
        brought(TARGET, data_at(f"{server}#s.deep", "data"), tmp_path / "input")


def test_init_describes_a_table_of_a_server(server: str, tmp_path: Path) -> None:
    """Its description stands beside the policy, and is what `--description` takes."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (who TEXT, came TEXT, illness TEXT)")
        connection.execute(
            "INSERT INTO visits SELECT 'p' || i, (i % 28 + 1) || '.01.2024', 'i' || i % 3"
            " FROM generate_series(10, 40) AS i"
        )
    data = f"{server}#visits"
    written = smalti.init(
        data, respondent="who", quasi_identifiers=["came"], sensitive=["illness"], k=3, out=tmp_path
    )
    assert written.description == tmp_path / "visits-metadata.json"
    assert written.names_description
    description = json.loads(written.description.read_text())
    assert description["url"] == "visits"
    place = brought(
        TARGET, described_by(data_at(data, "data"), written.description), tmp_path / "input"
    ).path
    assert "2024-01-" in place.read_text()
