"""Parquet in: each type as the text that the plan and the verifier read, zones among them."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smalti.engine.tables import reading
from smalti.engine.tables.description import Source
from smalti.engine.tables.sources import bind
from smalti.engine.verify.read import Original, read_original
from smalti.errors import DataError
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/t")


def source_of(table: pa.Table, folder: Path) -> Source:
    pq.write_table(table, folder / "t.parquet")
    return bind(TARGET, folder / "t.parquet")


def texts(source: Source) -> list[list[str | None]]:
    contents = reading.inspect(source)
    table = reading.text_batches(source, contents).read_all()
    return [column.to_pylist() for column in table.columns[1:]]


def test_each_type_is_read_as_its_text(tmp_path: Path) -> None:
    rome = timezone(timedelta(hours=1))
    moment = datetime(2024, 1, 1, 6, 0, 0, 123, rome)
    table = pa.table(
        {
            "whole": pa.array([1, None], pa.int16()),
            "exact": pa.array(["1.50", None]).cast(pa.decimal128(10, 2)),
            "day": pa.array([datetime(2024, 2, 29).date(), None], pa.date32()),
            "time": pa.array([moment, None], pa.timestamp("us", "Europe/Rome")),
            "flag": pa.array([True, None]),
            "text": pa.array(["a", ""]).dictionary_encode(),
            "bytes": pa.array([b"\xff\x00wombat", b""]),
            "same bytes": pa.array([b"\x01", None], pa.large_binary()).dictionary_encode(),
        }
    )
    source = source_of(table, tmp_path)
    assert texts(source) == [
        ["1", None], ["1.50", None], ["2024-02-29", None], ["2024-01-01 05:00:00.000123Z", None],
        ["true", None], ["a", None], ["/wB3b21iYXQ=", None], ["AQ==", None],
    ]  # fmt: skip
    assert datetime.fromisoformat("2024-01-01 05:00:00.000123Z") == moment.astimezone(UTC)
    names = table.column_names
    seen = read_original(Original(source.path, source.format), names, names)
    for name, column in zip(names, texts(source), strict=True):
        coded = seen.columns[name]
        values = [*coded.values.to_pylist(), None]
        assert [values[code] for code in coded.codes.tolist()] == column


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("ms", "2024-11-14 10:19:00.000"),
        ("us", "2024-11-14 10:19:00.000000"),
        ("ns", "2024-11-14 10:19:00.000000000"),
    ],
)
def test_a_timestamp_has_as_many_digits_of_a_second_as_its_unit(
    tmp_path: Path, unit: str, text: str
) -> None:
    column = pa.array([datetime(2024, 11, 14, 10, 19)], pa.timestamp(unit))
    assert texts(source_of(pa.table({"time": column}), tmp_path)) == [[text]]


def test_nested_columns_are_refused(tmp_path: Path) -> None:
    source = source_of(pa.table({"a": pa.array([[1]])}), tmp_path)
    with pytest.raises(DataError, match="is not implemented"):
        reading.inspect(source)


def test_a_name_twice_and_a_nul_are_refused(tmp_path: Path) -> None:
    twice = source_of(pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["a", "a"]), tmp_path)
    with pytest.raises(DataError, match="distinct column names"):
        reading.inspect(twice)
    nul = source_of(pa.table({"a": ["x\0y"]}), tmp_path)
    with pytest.raises(DataError, match="NUL"):
        texts(nul)
