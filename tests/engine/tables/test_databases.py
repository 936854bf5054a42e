"""Tables of databases and data frames: looked up by name, read only, canonical text."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import smalti as api
from smalti.engine.plan.plan import Plan, RespondentColumn
from smalti.engine.tables.addresses import (
    ArrowStream,
    Frame,
    ServedTable,
    TableIn,
    data_at,
    described_by,
)
from smalti.engine.tables.bringing import brought
from smalti.errors import BackendError, DataError, SmaltiError, UsageError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/table")
SECRET = "s3cr3tCANARY"


def read(data: Any, folder: Path) -> str:
    places = [folder / f"input{number}" for number in range(9)]
    source = brought(TARGET, data, next(place for place in places if not place.exists()))
    return source.path.read_text(encoding="utf-8")


def refusal(data: Any, folder: Path) -> str:
    with pytest.raises(SmaltiError) as refused:
        read(data, folder)
    assert "canary" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def duck(tmp_path: Path) -> Path:
    place = tmp_path / "t.duckdb"
    (tmp_path / "other.csv").write_text("a\ncanary\n")
    with duckdb.connect(str(place)) as connection:
        connection.execute("""CREATE TABLE "odd; ""name" (a INTEGER, b DATE, c TIMESTAMP, d TIMESTAMPTZ,
            e DECIMAL(8, 2), f DOUBLE, g VARCHAR, h BOOLEAN, i ENUM ('x', 'y'), j TIMESTAMP_NS)""")
        connection.execute("""INSERT INTO "odd; ""name" VALUES
            (1, '2024-01-31', '2024-01-31 09:30:00', '2024-01-31 09:30:00.25+01', 1.50, 2.5, 'a,"b',
             true, 'y', '2024-01-31 09:30:00.000000001'),
            (NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, NULL)""")
        connection.execute("CREATE VIEW inside AS SELECT * FROM (VALUES (2), (1)) AS t (a)")
        connection.execute(f"CREATE VIEW outside AS SELECT * FROM read_csv('{tmp_path}/other.csv')")
        connection.execute("CREATE SCHEMA s")
        connection.execute("CREATE TABLE s.deep (a INTEGER[])")
    return place


def test_a_table_of_duckdb(tmp_path: Path, duck: Path) -> None:
    data = data_at(f'{duck}#odd; "name', "data")
    assert data == TableIn(duck, 'odd; "name')
    assert read(data, tmp_path) == (
        "a,b,c,d,e,f,g,h,i,j\n"
        '1,2024-01-31,2024-01-31T09:30:00,2024-01-31T08:30:00.25Z,1.50,2.5,"a,""b",true,y,'
        "2024-01-31T09:30:00.000000001\n,,,,,,,,,\n"
    )
    assert read(TableIn(duck, "inside"), tmp_path) == "a\n1\n2\n"
    assert read(TableIn(duck, "main.inside"), tmp_path) == "a\n1\n2\n"


@pytest.mark.parametrize(
    ("kind", "outside", "inside"),
    [
        ("DATE", ["infinity", "0044-03-15 (BC)", "10000-01-01"], ["0001-01-01", "9999-12-31"]),
        ("TIMESTAMP", ["infinity", "-infinity"], ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]),
        ("TIMESTAMPTZ", ["infinity", "-infinity"], ["2024-01-01 00:00:00+00"]),
        ("TIMESTAMP_S", ["infinity"], ["9999-12-31 23:59:59"]),
        ("TIMESTAMP_NS", ["infinity", "-infinity"], ["2262-04-11 00:00:00"]),
        ("DOUBLE", ["nan", "inf", "-inf"], ["1e308", "-0.0"]),
        ("FLOAT", ["nan"], ["1"]),
    ],
)
def test_values_without_a_canonical_form_are_counted_and_refused(
    tmp_path: Path, kind: str, outside: list[str], inside: list[str]
) -> None:
    """DuckDB hands infinite dates out as the largest number of their type, which Arrow shows as a text."""
    place = tmp_path / "t.duckdb"
    with duckdb.connect(str(place)) as connection:
        for name, texts in (("bad", outside + inside), ("good", inside)):
            rows = ", ".join(f"('{text}'::{kind}, 1)" for text in texts)
            connection.execute(
                f"CREATE TABLE {name} AS SELECT * FROM (VALUES {rows}, (NULL, 2)) AS t (a, b)"
            )
    message = refusal(TableIn(place, "bad"), tmp_path)
    count = "1 of its values is" if len(outside) == 1 else f"{len(outside)} of its values are"
    assert f"t.duckdb#bad, column `a`: {count} " in message
    assert "column `b`" not in message
    assert read(TableIn(place, "good"), tmp_path).count("\n") == len(inside) + 2


def test_types_of_a_database_are_stated(tmp_path: Path, duck: Path) -> None:
    source = brought(TARGET, TableIn(duck, 'odd; "name'), tmp_path / "input")
    words = ["integer", "date", "dateTime", "dateTime", "decimal", "double", "-", "string", "-", "dateTime"]
    assert source.datatypes == tuple(None if word == "-" else Datatype(word) for word in words)
    assert source.originals == ("",)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (
            "SELECT * FROM canary",
            "there is no table of that name; expected a name in the catalogue, and no SQL",
        ),
        ("inside; DROP TABLE canary", "there is no table of that name"),
        ("insid", "Did you mean `inside`?"),
        ("outside", "t.duckdb#outside: the table or view cannot be read"),
        ("s.deep", "column `a`: the type `list<"),
    ],
)
def test_what_is_no_table(tmp_path: Path, duck: Path, table: str, problem: str) -> None:
    before = duck.read_bytes()
    assert problem in refusal(TableIn(duck, table), tmp_path)
    assert duck.read_bytes() == before


def test_several_tables_and_none_named(tmp_path: Path, duck: Path) -> None:
    message = refusal(duck, tmp_path)
    assert 't.duckdb: it has 4 tables; expected the name of one: `inside`, `odd; "name`' in message


def test_a_database_that_is_none(tmp_path: Path) -> None:
    for content in (
        b"",
        b"canary" * 100,
        b"SQLite format 3\0" + b"canary" * 100,
        b"\0" * 8 + b"DUCK" + b"x" * 99,
    ):
        place = tmp_path / "t.db"
        place.write_bytes(content)
        assert "t.db: " in refusal(place, tmp_path)


def test_a_table_of_sqlite(tmp_path: Path) -> None:
    place = tmp_path / "t.sqlite"
    with sqlite3.connect(place) as connection:
        connection.execute('CREATE TABLE "a b" (x INTEGER, y, z)')
        rows = [(1, "two, 2", None), (2.5, b"\x00\x01", "2024-01-31"), ("n", 3.0, 10**15)]
        connection.executemany('INSERT INTO "a b" VALUES (?, ?, ?)', rows)
    connection.close()
    assert read(place, tmp_path) == ('x,y,z\n1,"two, 2",\n2.5,AAE=,2024-01-31\nn,3,1000000000000000\n')
    assert read(TableIn(place, "a b"), tmp_path) == read(place, tmp_path)
    with sqlite3.connect(place) as connection:
        connection.execute("INSERT INTO \"a b\" VALUES (CAST(X'ff' AS TEXT), 1, 1)")
    connection.close()
    assert "t.sqlite#a b: the table cannot be read" in refusal(place, tmp_path)
    with sqlite3.connect(place) as connection:
        connection.execute('UPDATE "a b" SET x = 9e999')
    connection.close()
    assert "t.sqlite#a b, record 1: a number that is not finite" in refusal(place, tmp_path)


# --- Servers


@pytest.mark.parametrize("text", ["postgresql://u:{}@h/d#s.t", "postgresql+psycopg://u:{}@h/d#s.t"])
@pytest.mark.parametrize("password", [SECRET, f"{SECRET}#x", f"{SECRET}%23"])
def test_an_address_shows_no_password(text: str, password: str) -> None:
    data = data_at(text.format(password), "data")
    assert isinstance(data, ServedTable)
    assert (data.table, SECRET in data.uri, SECRET in repr(data)) == ("s.t", True, False)


@pytest.mark.parametrize("rest", ["127.0.0.1:1/d#t", "127.0.0.1:none/d#t", "[/d#t", "127.0.0.1:1/d"])
def test_a_server_that_does_not_answer(tmp_path: Path, rest: str) -> None:
    with pytest.raises((BackendError, UsageError)) as refused:
        read(data_at(f"postgresql://user:{SECRET}@{rest}", "data"), tmp_path)
    assert SECRET not in str(refused.value)
    assert "user" not in refused.value.where


def test_a_table_has_to_be_named_behind_the_mark() -> None:
    with pytest.raises(UsageError, match="no table is named"):
        data_at(f"postgresql://u:{SECRET}@h/d#", "data")


# --- Data frames


def frame() -> pa.Table:
    return pa.table(
        {
            "a": pa.array([1, None], pa.int64()),
            "b": pa.array([date(2024, 1, 31)] * 2),
            "c": pa.array([datetime(2024, 1, 31, 9, 30), datetime(2024, 1, 31, 9, 30, 1, 250000)]),
            "d": pa.array(
                [datetime(2024, 1, 31, 9, 30, tzinfo=UTC)] * 2, pa.timestamp("ms", "Europe/Rome")
            ),
            "e": pa.array([Decimal("1.50")] * 2),
            "f": pa.array(["x", None]).dictionary_encode(),
        }
    )


CONTENT = (
    "a,b,c,d,e,f\n1,2024-01-31,2024-01-31T09:30:00,2024-01-31T09:30:00Z,1.50,x\n"
    ",2024-01-31,2024-01-31T09:30:01.25,2024-01-31T09:30:00Z,1.50,\n"
)


def test_an_arrow_table(tmp_path: Path) -> None:
    assert isinstance(frame(), ArrowStream)
    assert read(Frame(frame()), tmp_path) == CONTENT
    assert read(Frame(frame().to_batches()[0]), tmp_path) == CONTENT


def test_a_pandas_frame(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "é"], "c": [1.5, float("nan"), 2.0]})
    assert read(Frame(table), tmp_path) == "a,b,c\n1,x,1.5\n2,,\n3,é,2\n"
    assert read(Frame(table[table["a"] > 1]), tmp_path) == "a,b,c\n2,,\n3,é,2\n"
    assert read(Frame(table.set_index("a")), tmp_path) == "b,c,a\nx,1.5,1\n,,2\né,2,3\n"


class Stream:
    """Anything that speaks Arrow's interface, as Polars does; its libraries are not needed."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self.columns = table, list(table.column_names)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_any_table_of_arrows_interface(tmp_path: Path) -> None:
    assert read(Frame(Stream(frame())), tmp_path) == CONTENT


def test_a_long_frame_is_written_in_pieces(tmp_path: Path) -> None:
    table = pa.table({"a": range(10_000)})
    assert read(Frame(table), tmp_path) == "a\n" + "".join(f"{n}\n" for n in range(10_000))


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns 1 and 2 have the same name"),
        (pd.DataFrame([[1, 2]], columns=["a", 7]), "the name of column 2 is no text"),
        (pd.DataFrame([[1]], columns=[("a", "b")]), "the name of column 1 is no text"),
        (pd.DataFrame({"a": [1, "canary"]}), "it cannot be handed over through Arrow"),
        (pd.DataFrame({"a": [["canary"]]}), "column `a`: the type `list<"),
        (pa.table([[1], [2]], ["a", "a"]), "columns 1 and 2 have the same name"),
        (pa.table({"": [1]}), "the name of column 1 is no text"),
        (frame().to_reader(), "a stream of batches can be read only once"),
    ],
    ids=range(8),
)  # fmt: skip
def test_frames_that_are_refused(tmp_path: Path, table: Any, problem: str) -> None:
    assert problem in refusal(Frame(table), tmp_path)


def described(folder: Path, url: str, **more: Any) -> Path:
    columns = [
        {"name": "who", "datatype": "string"},
        {"name": "born", "datatype": {"base": "date", "format": "dd.MM.yyyy"}},
    ]
    metadata = {
        "@context": "http://www.w3.org/ns/csvw", "url": url, "null": "k.A.", "smalti:respondent": "who",
        "tableSchema": {"columns": columns},
    }  # fmt: skip
    place = folder / "people-metadata.json"
    place.write_text(json.dumps(metadata | more), encoding="utf-8")
    return place


def test_a_frame_with_a_description_is_as_the_same_file(tmp_path: Path) -> None:
    rows = {"who": ["ann", "bob"], "born": ["31.01.1980", "k.A."]}
    data = described_by(Frame(pa.table(rows)), described(tmp_path, "people"))
    source = brought(TARGET, data, tmp_path / "input")
    (tmp_path / "people.csv").write_text("who,born\nann,31.01.1980\nbob,k.A.\n")
    described(tmp_path, "people.csv").rename(tmp_path / "people.csv-metadata.json")
    beside = brought(TARGET, tmp_path / "people.csv", tmp_path / "of-file")
    assert source.path.read_bytes() == beside.path.read_bytes() == b"who,born\nann,1980-01-31\nbob,\n"
    assert source.description == replace(beside.description, source="people-metadata.json")
    assert source.description.respondent == "who"
    wrong = Frame(pa.table(rows | {"born": ["canary", "k.A."]}), described(tmp_path, "people"))
    assert "data frame, record 1: the value of column `born` is of another format" in refusal(
        wrong, tmp_path
    )
    csv_alone = Frame(pa.table(rows), described(tmp_path, "people", dialect={"delimiter": ";"}))
    assert "it has a `dialect`, and the data is no CSV" in refusal(csv_alone, tmp_path)
    with pytest.raises(UsageError, match="whose description is the one beside it"):
        described_by(tmp_path / "people.csv", tmp_path / "people-metadata.json")


def test_a_run_takes_the_description_of_a_frame(tmp_path: Path) -> None:
    """Without it nobody says who the person is, and nothing is planned by people."""
    text = (
        "policy: http://example.com/p\nowner: http://example.com/o\nparty: http://example.com/o\n"
        f"target: {TARGET}\nmethod: k-anonymity\nk: 2\nquasi-identifiers: [born]\n"
        "identifiers: [who]\noutput: http://example.com/out\n"
    )
    (tmp_path / "p.yaml").write_text(text)
    table = pa.table({"who": ["ann", "bob"], "born": ["31.01.1980", "01.02.1980"]})
    planned = api.plan(
        tmp_path / "p.yaml", data={TARGET: table}, description=described(tmp_path, "people"),
        registry=tmp_path / "smalti.sqlite",
    ).plan  # fmt: skip
    assert isinstance(planned, Plan)
    assert planned.read.respondent == RespondentColumn("who")
    assert planned.column("born").datatype is Datatype.DATE


def test_a_frame_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the file has no header"):
        read(Frame(pa.table({})), tmp_path)


def test_equal_numbers_of_sqlite_are_one_text(tmp_path: Path) -> None:
    """Two texts would be two people."""
    place = tmp_path / "t.sqlite"
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE t (id)")
        connection.executemany("INSERT INTO t VALUES (?)", [(10**17,), (1e17,), (1e-5,), (0,), (-0.0,)])
    connection.close()
    assert read(place, tmp_path) == f"id\n{10**17}\n{10**17}\n0.00001\n0\n0\n"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_view_without_end_is_refused(kind: str, tmp_path: Path) -> None:
    place = tmp_path / f"t.{kind}"
    connect = sqlite3.connect if kind == "sqlite" else duckdb.connect
    with closing(connect(str(place))) as connection:  # type: ignore[operator]
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("CREATE VIEW plain AS SELECT * FROM t")
        endless = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT a FROM n"
        connection.execute(f"CREATE VIEW endless AS {endless}")
        connection.commit()
    assert "no recursive view" in refusal(TableIn(place, "endless"), tmp_path)
    assert read(TableIn(place, "t"), tmp_path) == "a\n1\n"


def test_numbers_that_duckdb_hands_out_as_others_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "t.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute("CREATE TABLE t (a UHUGEINT)")
        connection.execute(f"INSERT INTO t VALUES ({2**128 - 1})")
    assert "column `a`: the type `UHUGEINT` is not implemented" in refusal(place, tmp_path)


@pytest.mark.parametrize(
    "text", ["postgresql:/u:{}@h/db#t", " postgresql://u:{}@h/db#t", "jdbc:postgresql://u:{}@h/db"]
)
def test_a_mistyped_address_shows_no_password(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        data_at(text.format(SECRET), "data (--data)")
    assert SECRET not in str(refused.value)
    assert "PGPASSWORD" in str(refused.value)


def test_texts_of_polars_are_views(tmp_path: Path) -> None:
    texts = pa.array(["x", "y", None], pa.string_view())
    categories = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.uint32()), texts.slice(0, 2))
    images = pa.array([b"1", b"", None], pa.binary_view())
    table = pa.table({"a": texts, "b": categories, "c": images})
    assert read(Frame(table), tmp_path) == "a,b,c\nx,y,MQ==\ny,x,\n,,\n"
