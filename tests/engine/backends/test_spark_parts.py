"""Tables of several files on Spark: read by tasks as the one file that they make, and written as parts."""

import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shell import CUSTOMER, HEADER, OWNER, USER, small_policy

import smalti
from smalti.engine.backends import spark_reading
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.spark import SparkBackend
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import inspect, text_batches
from smalti.engine.tables.sources import bind
from smalti.errors import DataError
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = IRI("http://example.com/t")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges so small that some files have several, and that some ranges are of several files."""
    monkeypatch.setattr(spark_reading, "RANGE_BYTES", 251)


def folder_of(place: Path, files: list[bytes]) -> Path:
    place.mkdir()
    for number, content in enumerate(files):
        (place / f"{number:03}.csv").write_bytes(content)
    return place


def staged(spark: "SparkSession", source: Source, workspace: Path) -> pa.Table:
    workspace.mkdir()
    with closing(SparkBackend(spark).open(source, workspace)) as table:
        assert replace(table.contents, parts=()) == replace(inspect(source), parts=())
        assert len(list((workspace / "staged").glob("*.parquet"))) > 3
        return table.relations.take("SELECT * FROM staged ORDER BY row")


def test_spark_reads_several_csv_files_as_the_local_engine_does(
    spark: "SparkSession", tiny: None, tmp_path: Path
) -> None:
    header = b"x,y\n"
    files = [
        b"\xef\xbb\xbf" + header + b"1,one\n" * 90 + b'2,"two\n"',
        header,
        *(header + b"%d,some\n" % number for number in range(40)),
        header.replace(b"\n", b"\r\n") + b'3,"three\r\n"\r\n' * 60,
        header + b'4,"4\n"\n' * 50 + b"5,",
    ]
    source = bind(T, folder_of(tmp_path / "t", files))
    there, here = staged(spark, source, tmp_path / "work"), text_batches(source, inspect(source)).read_all()
    assert [column.to_pylist() for column in there.columns] == [c.to_pylist() for c in here.columns]


def test_spark_reads_several_parquet_files_as_the_local_engine_does(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spark_reading, "RANGE_BYTES", 1000)
    table = pa.table({"x": list(range(900)), "y": [f"t{i % 7}" if i % 5 else None for i in range(900)]})
    (tmp_path / "t").mkdir()
    for number, (first, rows) in enumerate([(0, 400), (400, 0), (400, 10), (410, 490)]):
        pq.write_table(table.slice(first, rows), tmp_path / "t" / f"{number}.parquet", row_group_size=100)
    found = staged(spark, bind(T, tmp_path / "t"), tmp_path / "work")
    assert found.column("row").to_pylist() == list(range(900))
    assert found.column("t0").to_pylist() == [str(i) for i in range(900)]
    assert found.column("t1").to_pylist() == table.column("y").to_pylist()


GOOD = b"x,y\n" + b"1,2\n" * 90


@pytest.mark.parametrize(
    "files",
    [
        [GOOD, b"x\n1\n", b""],
        [GOOD, b"x,y,z\n1,2,3\n"],
        [GOOD, b"y,x\n1,2\n", b"x,y\n1\n"],
        [GOOD, GOOD + b"3\n", b"y,x\n1,2\n"],
        [GOOD, b"", b"x\n"],
        [GOOD, b'x,y\n1,"', GOOD],
    ],
    ids=["missing", "unexpected", "order", "record first", "empty", "open quote"],
)
def test_spark_tells_the_same_of_the_first_file_that_is_wrong(
    spark: "SparkSession", tiny: None, tmp_path: Path, files: list[bytes]
) -> None:
    source, told = bind(T, folder_of(tmp_path / "t", files)), []
    for place, backend in (("here", LocalBackend()), ("there", SparkBackend(spark))):
        (tmp_path / place).mkdir()
        with pytest.raises(DataError) as caught:
            backend.open(source, tmp_path / place)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert told[0].startswith("001.csv")


def test_spark_tells_the_same_of_another_parquet_type(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t" / "0.parquet")
    pq.write_table(pa.table({"x": ["1"]}), tmp_path / "t" / "1.parquet")
    for backend in (LocalBackend(), SparkBackend(spark)):
        with pytest.raises(DataError, match=r"1\.parquet: column 1 \(`x`\) is text, and of type integer"):
            backend.open(bind(T, tmp_path / "t"), tmp_path)


@pytest.mark.parametrize("change", ["gone", "longer"])
def test_spark_finds_a_file_that_changes_before_it_is_staged(
    spark: "SparkSession", tiny: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: str
) -> None:
    folder = folder_of(tmp_path / "t", [GOOD, GOOD])
    real = spark_reading.stage

    def stage(*more: object) -> None:
        if change == "gone":
            (folder / "001.csv").unlink()
        else:
            (folder / "001.csv").write_bytes(GOOD + b"1,2\n")
        real(*more)  # type: ignore[arg-type]

    monkeypatch.setattr(spark_reading, "stage", stage)
    (tmp_path / "work").mkdir()
    with pytest.raises(DataError, match=r"001\.csv"):
        SparkBackend(spark).open(bind(T, folder), tmp_path / "work")


# --- Output


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, chance = tmp_path_factory.mktemp("people") / "people", random.Random(3)
    lines = [
        f"p{n},{chance.randrange(90)},{chance.choice(('Rome', 'Oslo', 'Bern'))},{chance.choice('abc')}\n"
        for n in range(600)
    ]
    header = ",".join(HEADER) + "\n"
    return folder_of(folder, [(header + "".join(lines[i : i + 200])).encode() for i in (0, 200, 400)])


def run(engine: object, folder: Path, data: Path, out: str, **more: object) -> TargetVersion:
    outcome = smalti.run(
        small_policy(folder), data={CUSTOMER: data}, party=USER, owner=OWNER, purpose="marketing",
        out=folder / out, registry=folder / "r.sqlite", engine=engine, **more,
    )  # type: ignore[misc, arg-type]  # fmt: skip
    assert outcome.version is not None
    return outcome.version


@pytest.mark.parametrize("output_format", ["csv", "parquet"])
def test_spark_writes_parts_of_the_same_content(
    spark: "SparkSession", people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output_format: str
) -> None:
    monkeypatch.setattr("smalti.engine.backends.spark._ROWS_PER_PARTITION", 100)
    # So few bytes would be one task's, and one part.
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    here = run("local", tmp_path, people, "here", output_format=output_format)
    there = run(
        SparkBackend(spark), tmp_path, people, "there", output_format=output_format, rows_per_part=70
    )
    assert there.output_digest == here.output_digest
    assert len(there.files) >= 9
    sizes = []
    for file in there.files:
        part = bind(T, there.path / file.name)
        sizes.append(inspect(part).rows)
    assert sum(sizes) == 600
    assert min(sizes) > 0
    assert max(sizes) <= 70
    assert [file.name for file in there.files] == sorted(file.name for file in there.files)
    seen = smalti.verify(there.path, registry=tmp_path / "r.sqlite", data=people)
    assert seen.is_repeated
    assert not list(tmp_path.glob(".smalti-*"))


def test_spark_writes_one_part_where_no_row_is_left(spark: "SparkSession", tmp_path: Path) -> None:
    from smalti.engine.backends import spark_writing  # noqa: PLC0415
    from smalti.engine.backends.publication import Piece, Publication  # noqa: PLC0415
    from smalti.engine.plan.plan import OutputFormat  # noqa: PLC0415

    publication = Publication.of([Piece(("x",), None)], OutputFormat.CSV, 5)
    frame = spark.createDataFrame([], "p0 string, row bigint")
    (tmp_path / "parts").mkdir()
    spark_writing.publish(frame, publication, tmp_path / "parts", tmp_path / "t.csv", tmp_path / "link.npy")
    (written,) = tmp_path.glob("t*.csv")
    assert (written.name, written.read_bytes()) == ("t-00000.csv", b"x\n")
