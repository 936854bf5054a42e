"""Input that Spark's tasks check and stage in parts: the rows and the errors of one reader."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smalti.engine.backends import spark_reading
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.spark import SparkBackend
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.reading import inspect, text_batches
from smalti.errors import DataError
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HARD = [
    ("1_000", "0x10", "1e10"),
    ('say "hi"', "two\nlines", "and\r\ntwo more"),
    ("", '""', " "),
    ("Ålesund", "日本", "\ufeffbom"),
    ("a,b", "''", "NULL"),
]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def hard_csv(path: Path, end: str = "\n", begin: bytes = b"") -> Path:
    rows = [HARD[i % len(HARD)] for i in range(60)]
    lines = ["x,y,z", *(",".join(map(quoted, row)) for row in rows), "plain,,last"]
    path.write_bytes(begin + end.join(lines).encode())
    return path


def source(path: Path, kind: OutputFormat = OutputFormat.CSV) -> Source:
    return Source(IRI("http://example.com/t"), path, kind, Description())


def staged(backend: SparkBackend, one: Source, workspace: Path) -> tuple[object, pa.Table]:
    workspace.mkdir()
    with closing(backend.open(one, workspace)) as table:
        rows = table.relations.take("SELECT * FROM staged ORDER BY row")
        return table.contents, rows


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges so small that records, quotes, line ends and characters lie across their borders."""
    monkeypatch.setattr(spark_reading, "RANGE_BYTES", 251)


@pytest.mark.parametrize(("end", "begin"), [("\n", b""), ("\r\n", b"\xef\xbb\xbf")])
def test_spark_reads_the_parts_of_a_file_as_one_reader_reads_it(
    spark: "SparkSession", tiny: None, tmp_path: Path, end: str, begin: bytes
) -> None:
    one = source(hard_csv(tmp_path / "t.csv", end, begin))
    contents, rows = staged(SparkBackend(spark), one, tmp_path / "work")
    whole = inspect(one)
    assert len(list((tmp_path / "work" / "staged").glob("*.parquet"))) > 5
    assert (contents.header, contents.rows, contents.digests) == (whole.header, whole.rows, whole.digests)
    there = text_batches(one, whole).read_all()
    assert [column.to_pylist() for column in rows.columns] == [c.to_pylist() for c in there.columns]


def test_spark_reads_the_row_groups_of_a_parquet_file(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spark_reading, "RANGE_BYTES", 1000)
    table = pa.table(
        {"a": list(range(1000)), "b": [f"text {i % 7}" if i % 5 else None for i in range(1000)]}
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    one = source(tmp_path / "t.parquet", OutputFormat.PARQUET)
    _, rows = staged(SparkBackend(spark), one, tmp_path / "work")
    assert len(list((tmp_path / "work" / "staged").glob("*.parquet"))) > 3
    assert rows.column("row").to_pylist() == list(range(1000))
    assert rows.column("t0").to_pylist() == [str(i) for i in range(1000)]
    assert rows.column("t1").to_pylist() == table.column("b").to_pylist()


BROKEN = {
    "few fields": b"1,2\n",
    "many fields": b"1,2,3,4\n",
    "stray quote": b'1,"2"3,4\n',
    "blank": b"\n",
    "nul": b"1,\0,3\n",
    "return": b"1,2\r,3\n",
    "latin-1": b"1,\xe9,3\n",
    "never closed": b'1,"2,3\n',
}


@pytest.mark.parametrize("name", BROKEN)
def test_spark_tells_the_same_of_a_broken_record(
    spark: "SparkSession", tiny: None, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y,z\n" + b"a,b,c\n" * 100 + BROKEN[name] + b"d,e,f\n" * 100)
    told = []
    for place, backend in (("here", LocalBackend()), ("there", SparkBackend(spark))):
        (tmp_path / place).mkdir()
        with pytest.raises(DataError) as caught:
            backend.open(source(path), tmp_path / place)
        told.append(str(caught.value))
    assert told[0] == told[1]


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"d,e,f\n")


def other(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"a,b,c\n", b'"\n,b"', 1))


@pytest.mark.parametrize("change", [longer, other, Path.unlink])
def test_an_input_that_changes_before_spark_stages_it_is_an_error(
    spark: "SparkSession", tiny: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    change: Callable[[Path], None],
) -> None:  # fmt: skip
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y,z\n" + b"a,b,c\n" * 100)
    real = spark_reading.stage

    def stage(*more: object) -> None:
        change(path)
        real(*more)  # type: ignore[arg-type]

    monkeypatch.setattr(spark_reading, "stage", stage)
    (tmp_path / "work").mkdir()
    with pytest.raises(DataError):
        SparkBackend(spark).open(source(path), tmp_path / "work")
