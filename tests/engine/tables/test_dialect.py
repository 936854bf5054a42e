"""The one CSV dialect: what is refused, what is read, and that both ends agree on every text."""

import csv
import io
import tempfile
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables import dialect, reading
from smalti.engine.tables.description import Description, Source
from smalti.engine.tables.dialect import check_csv, read_header
from smalti.engine.tables.reading import inspect, text_batches
from smalti.engine.tables.records import LONGEST_RECORD
from smalti.engine.tables.writing import CsvWriter, csv_records, open_writer
from smalti.errors import DataError
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import infer_datatype
from smalti.vocab.terms import IRI

Row = list[str]
CHUNKS = [1, 2, 3, 5, 1 << 24]
BOM = b"\xef\xbb\xbf"


@pytest.fixture(params=CHUNKS)
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So that each boundary between chunks falls everywhere once."""
    monkeypatch.setattr(dialect, "_CHUNK", request.param)
    return int(request.param)


def write(folder: Path, content: bytes) -> Path:
    place = folder / "t.csv"
    place.write_bytes(content)
    return place


def texts(place: Path) -> tuple[tuple[str, ...], list[list[str | None]]]:
    """A file as the engines take it: the header, and rows in which None is missing."""
    source = Source(IRI("http://example.com/t"), place, OutputFormat.CSV, Description())
    contents = inspect(source)
    table = text_batches(source, contents).read_all()
    assert table.column(0).to_pylist() == list(range(contents.rows))
    columns = [column.to_pylist() for column in table.columns[1:]]
    return contents.header, [list(row) for row in zip(*columns, strict=True)]


# --- What is refused

BAD: dict[str, tuple[bytes, str, str]] = {
    "few fields": (b"a,b\n1,2\n3\n5,6\n", "record 2", "1 fields; expected 2, as in the header"),
    "many fields": (b"a,b\n1,2\n3,4,5\n", "record 2", "3 fields; expected 2"),
    "few in the last, without a line end": (b"a,b\n1,2\n3", "record 2", "1 fields"),
    "many in the last, without a line end": (b"a,b\n1,2\n3,4,", "record 2", "3 fields"),
    "fields behind a quoted line end": (b'a,b\n"1\n,",2\n3\n', "record 2", "1 fields"),
    "blank first": (b"a,b\n\n1,2\n", "record 1", "a blank line"),
    "blank last": (b"a,b\n1,2\n\n", "record 2", "a blank line"),
    "blank with CRLF": (b"a,b\r\n1,2\r\n\r\n3,4\r\n", "record 2", "a blank line"),
    "blank in one column": (b"a\n1\n\n2\n", "record 2", "a blank line"),
    "blank in one column, CRLF": (b"a\r\n1\r\n\r\n2\r\n", "record 2", "a blank line"),
    "quote inside": (b'a,b\n1,2"3\n', "record 1", "a quote inside a field"),
    "quote after text": (b'a,b\n1,2"\n', "record 1", "a quote inside a field"),
    "text after a quote": (b'a,b\n1,"2"3\n', "record 1", "a quote inside a field"),
    "space before a quote": (b'a,b\n1, "2"\n', "record 1", "a quote inside a field"),
    "space after a quote": (b'a,b\n"1" ,2\n', "record 1", "a quote inside a field"),
    "doubled outside quotes": (b'a,b\n1,2""3\n', "record 1", "a quote inside a field"),
    "backslash before a quote": (b'a,b\n1,"2\\"3"\n', "record 1", "a quote inside a field"),
    "quote in the header": (b'a,b"c\n1,2\n', "the header", "a quote inside a field"),
    "open at the end": (b'a,b\n1,2\n3,"4\n', "record 2", "a quoted field is not closed"),
    "open over records": (b'a,b\n1,2\n3,"4\n5,6\n7,8\n', "record 2", "a quoted field is not closed"),
    "open and nothing": (b'a,b\n1,2\n3,"', "record 2", "a quoted field is not closed"),
    "lone return": (b"a,b\n1,2\r3,4\n", "record 1", "a carriage return without a line feed"),
    "returns only": (b"a,b\r1,2\r", "the header", "a carriage return without a line feed"),
    "return at the very end": (b"a,b\n1,2\r", "record 1", "a carriage return without a line feed"),
    "return in a field": (b"a,b\n1\r,2\n", "record 1", "a carriage return without a line feed"),
    "two returns": (b"a,b\r\n1,2\r\r\n", "record 1", "a carriage return without a line feed"),
    "NUL": (b"a,b\n1,2\n3,\0\n", "record 2", "a NUL byte"),
    "NUL in quotes": (b'a,b\n1,2\n3,"\0"\n', "record 2", "a NUL byte"),
    "latin-1": (b"a,b\n1,2\n3,\xe9\n4,5\n", "record 2", "bytes that are not UTF-8"),
    "latin-1 in quotes, after a line end": (b'a,b\n1,2\n"3\n",\xe9\n', "record 2", "not UTF-8"),
    "cut in a character": (b"a,b\n1,2\n3,\xe2\x82", "record 2", "not UTF-8"),
    "cut, then a record": (b"a,b\n1,\xe2\x82\n3,4\n", "record 1", "not UTF-8"),
    "surrogate": (b"a,b\n1,2\n3,\xed\xa0\x80\n", "record 2", "not UTF-8"),
    "overlong": (b"a,b\n1,2\n3,\xc0\x80\n", "record 2", "not UTF-8"),
    "latin-1 in the header": (b"a,\xe9\n1,2\n", "the header", "not UTF-8"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), "the header", "not UTF-8"),
    "the rest of a character first": (b"\x80a,b\n1,2\n", "the header", "not UTF-8"),
    "the rest of a character after the mark": (BOM + b"\x80a,b\n1,2\n", "the header", "not UTF-8"),
    "header open": (b'a,"b\n1,2\n', "the header", "is not closed"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_named(tmp_path: Path, chunk: int, name: str) -> None:
    content, place, problem = BAD[name]
    with pytest.raises(DataError) as caught:
        check_csv(write(tmp_path, content))
    assert caught.value.where == f"t.csv, {place}"
    assert problem in str(caught.value)
    assert caught.value.expected
    assert caught.value.way_out


@pytest.mark.parametrize(
    "faults",
    [
        (b"3\n", b'5,6"\n', "1 fields"),
        (b"\n", b"3,4,5\n", "a blank line"),
        (b"3,4\r5\n", b'5,6"\n', "a carriage return"),
        (b'3,4"\n', b"5,6\r7\n", "a quote"),
        (b"3\n", b"5,\xff\n", "1 fields"),
        (b"3,\0\n", b"5\n", "a NUL byte"),
        (b"3,4,5\n", b"5,\0\n", "3 fields"),
        (b"3,4\n", b'5,"6\n', ""),
    ],
)
def test_the_first_bad_record_is_the_one_that_is_named(
    tmp_path: Path, chunk: int, faults: tuple[bytes, bytes, str]
) -> None:
    first, second, problem = faults
    with pytest.raises(DataError) as caught:
        check_csv(write(tmp_path, b"a,b\n1,2\n" + first + b"1,2\n" + second + b"1,2\n"))
    assert caught.value.where == ("t.csv, record 2" if problem else "t.csv, record 4")
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file has no header"),
        (BOM, "the file has no header"),
        (b"\n1,2\n", "the file has no header"),
        (b"a,,b\n", "has no name in the header"),
        (b",\n", "has no name in the header"),
        (b'""\n', "has no name in the header"),
        (b"a,b,a\n", "columns 1 and 3 have the same name"),
        (b'a,"a"\n', "columns 1 and 2 have the same name"),
    ],
)
def test_a_header_that_names_nothing_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    for call in (check_csv, read_header):
        with pytest.raises(DataError, match=problem):
            call(write(tmp_path, content))


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_header_that_never_ends_is_refused_whatever_its_size(tmp_path: Path, end: bytes) -> None:
    for size in (10, 200_000, 3 << 20):
        place = write(tmp_path, b'a,"b' + b"\nx,y" * (size // 4) + end)
        with pytest.raises(DataError, match="the header"):
            check_csv(place)


# --- What is read

GOOD: dict[str, tuple[bytes, list[list[str | None]]]] = {
    "plain": (b"a,b\n1,2\n", [["1", "2"]]),
    "no records": (b"a,b\n", []),
    "no records, no line end": (b"a,b", []),
    "no line end": (b"a,b\n1,2", [["1", "2"]]),
    "no line end, quoted": (b'a,b\n1,"2"', [["1", "2"]]),
    "no line end, missing": (b"a,b\n1,", [["1", None]]),
    "CRLF": (b"a,b\r\n1,2\r\n3,4\r\n", [["1", "2"], ["3", "4"]]),
    "CRLF, no line end": (b"a,b\r\n1,2", [["1", "2"]]),
    "mixed line ends": (b"a,b\n1,2\r\n3,4\n", [["1", "2"], ["3", "4"]]),
    "line end inside": (b'a,b\n"1\n2",3\n', [["1\n2", "3"]]),
    "CRLF inside": (b'a,b\r\n"1\r\n2",3\r\n', [["1\r\n2", "3"]]),
    "return inside": (b'a,b\n"1\r2",3\n', [["1\r2", "3"]]),
    "blank line inside": (b'a,b\n"1\n\n2",3\n', [["1\n\n2", "3"]]),
    "quotes inside": (b'a,b\n"1""2",""""\n', [['1"2', '"']]),
    "quotes and line end": (b'a,b\n"""\n""",","\n', [['"\n"', ","]]),
    "comma inside": (b'a,b\n"1,2",","\n', [["1,2", ","]]),
    "missing": (b"a,b\n,\n", [[None, None]]),
    "missing, quoted": (b'a,b\n"",""\n', [[None, None]]),
    "one column": (b"a\n1\n2\n", [["1"], ["2"]]),
    "one column, missing": (b'a\n""\n1\n""\n', [[None], ["1"], [None]]),
    "one column, missing last": (b'a\n1\n""', [["1"], [None]]),
    "mark": (BOM + b"a,b\n1,2\n", [["1", "2"]]),
    "mark, quoted header": (BOM + b'"a","b"\n1,2\n', [["1", "2"]]),
    "quoted header": (b'"a","b"\n1,2\n', [["1", "2"]]),
    "blanks stay": (b"a,b\n 1, 2 \n", [[" 1", " 2 "]]),
    "words of other readers stay": (b"a,b\nNULL,NaN\nnull,NA\n", [["NULL", "NaN"], ["null", "NA"]]),
    "true stays": (b"a,b\ntrue,False\n", [["true", "False"]]),
    "no comments": (b"a,b\n#1,2\n", [["#1", "2"]]),
    "no escapes": (b"a,b\n1\\,2\n", [["1\\", "2"]]),
    "other separators stay": (b"a,b\n1;2,3\t4\n", [["1;2", "3\t4"]]),
    "far letters": ("a,b\nÅ,🜁\n".encode(), [["Å", "🜁"]]),
    "line separators of Unicode": ("a,b\n\u2028,\u0085\n".encode(), [["\u2028", "\u0085"]]),
    "a second mark is text": (BOM + b"a,b\n" + BOM + b"1,2\n", [["\ufeff1", "2"]]),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_file_of_the_dialect_is_read_as_it_is(tmp_path: Path, chunk: int, name: str) -> None:
    content, expected = GOOD[name]
    place = write(tmp_path, content)
    found = check_csv(place)
    assert found.records == len(expected)
    assert found.header == tuple("ab"[: len(found.header)])
    assert texts(place) == (found.header, expected)


def test_names_may_be_anything_distinct(tmp_path: Path) -> None:
    names = ("a b", "A B", "a,b", 'a"b', "a\nb", "row", "c0", "é", "1")
    place = write(tmp_path, csv_records([pa.array([name]) for name in names]))
    assert read_header(place) == names
    assert texts(place) == (names, [])


def test_a_record_may_be_longer_than_a_chunk_and_than_the_parsers_block(tmp_path: Path) -> None:
    long = "x" * 300_000 + "\n" + '"' * 10
    place = write(tmp_path, csv_records([pa.array(["a", long, "1"]), pa.array(["b", "2", long])]))
    assert texts(place)[1] == [[long, "2"], ["1", long]]


def test_what_another_process_appends_meanwhile_is_an_error(tmp_path: Path) -> None:
    place = write(tmp_path, b"a,b\n1,2\n")
    source = Source(IRI("http://example.com/t"), place, OutputFormat.CSV, Description())
    contents = inspect(source)
    with place.open("ab") as file:
        file.write(b"3,4\n")
    with pytest.raises(DataError, match="the file changed while it was read"):
        text_batches(source, contents).read_all()


# --- Properties

FIELD = st.text(
    st.one_of(st.sampled_from("\",\r\n \t\\'ab1"), st.characters(exclude_categories=["Cs"])), max_size=6
).filter(lambda text: "\0" not in text)


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    """A header of distinct names, then records."""
    width = draw(st.integers(1, 4))
    names = draw(st.lists(FIELD.filter(bool), min_size=width, max_size=width, unique=True))
    record = st.lists(FIELD, min_size=width, max_size=width)
    return [names, *draw(st.lists(record, max_size=8))]


def without_marks(table: list[Row]) -> bool:
    return not any(name.startswith("\ufeff") for name in table[0])


def missing(rows: list[Row]) -> list[list[str | None]]:
    return [[field or None for field in row] for row in rows]


@settings(max_examples=examples(75, full=1500))
@given(
    tables().filter(without_marks),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.booleans(),
    st.sampled_from([3, 4, 7, 1 << 24]),
)
def test_what_pythons_writer_writes_is_read_exactly(
    table: list[Row], ends: str, quoting: int, has_mark: bool, size: int
) -> None:
    # Before 3.13, Python's writer quotes a lone CR or LF only where it is part of the line end.
    safe = [[field.replace("\r", "") if ends == "\n" else field for field in row] for row in table]
    if len(set(safe[0])) < len(safe[0]) or not all(safe[0]) or not without_marks(safe):
        return
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=ends, quoting=quoting).writerows(safe)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialect, "_CHUNK", size)
        place = write(Path(folder), BOM * has_mark + text.getvalue().encode())
        header, rows = texts(place)
    assert list(header) == safe[0]
    assert rows == missing(safe[1:])


@settings(max_examples=examples(50, full=1500))
@given(tables().filter(without_marks), st.sampled_from([1, 2, 7, 1 << 24]))
def test_what_we_write_is_accepted_and_reads_back_equal(table: list[Row], size: int) -> None:
    names, *rows = table
    columns = [pa.array([row[i] or None for row in rows], pa.string()) for i in range(len(names))]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialect, "_CHUNK", size)
        place = Path(folder) / "t.csv"
        with closing(open_writer(place, tuple(names), OutputFormat.CSV)) as writer:
            writer.write(pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(names))]))
        assert check_csv(place).records == len(rows)
        assert texts(place) == (tuple(names), missing(rows))
        with place.open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file, strict=True)) == table


@settings(max_examples=examples(100))
@given(tables().filter(without_marks), st.integers(0, 8))
def test_parts_written_one_after_the_other_are_the_whole(table: list[Row], at: int) -> None:
    _, *rows = table
    columns = [pa.array(list(column), pa.string()) for column in zip(*rows, strict=True)] if rows else []
    parts = [[column.slice(0, at) for column in columns], [column.slice(at) for column in columns]]
    assert b"".join(map(csv_records, parts)) == csv_records(columns)


@settings(max_examples=examples(150))
@given(st.binary(max_size=40).map(lambda tail: b"a,b\n" + tail), st.sampled_from([1, 2, 3, 1 << 24]))
def test_chunks_make_no_difference(content: bytes, size: int) -> None:
    """Whatever the bytes: accepted or refused for the same reason, wherever a chunk ends."""

    def outcome(chunk_size: int) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dialect, "_CHUNK", chunk_size)
            try:
                return check_csv(place)
            except DataError as error:
                return error.args

    with tempfile.TemporaryDirectory() as folder:
        place = write(Path(folder), content)
        assert outcome(size) == outcome(1 << 25)


@settings(max_examples=examples(200))
@given(st.text(st.sampled_from('",\n\r1x'), max_size=14))
def test_what_is_accepted_is_read_as_pythons_strict_reader_does(tail: str) -> None:
    content = "a,b\n" + tail
    with tempfile.TemporaryDirectory() as folder:
        place = write(Path(folder), content.encode())
        try:
            found = check_csv(place)
        except DataError:
            return
        expected = list(csv.reader(io.StringIO(content, newline=""), strict=True))
        assert found.records == len(expected) - 1
        assert texts(place)[1] == missing(expected[1:])


# --- Texts that other readers take for numbers


@pytest.mark.parametrize(
    "text", ["1_000", "0x10", "1e10", " 12", "12 ", "007", "+1", "1.", ".5", "١٢", "1,000", "Infinity", "-"]
)
def test_a_text_that_only_resembles_a_number_stays_a_text(tmp_path: Path, text: str) -> None:
    place = write(tmp_path, csv_records([pa.array(["a", text, "1"]), pa.array(["b", "1", "2"])]))
    _, rows = texts(place)
    assert rows == [[text, "1"], ["1", "2"]]
    assert infer_datatype(pa.array([text, "1"]), None) is Datatype.STRING


def test_numbers_and_dates_are_inferred_from_texts_that_are_all_such() -> None:
    for values, datatype in (
        (["1", "-20", "0"], Datatype.INTEGER),
        (["1", "2.50"], Datatype.DECIMAL),
        (["2020-01-31"], Datatype.DATE),
        (["2020"], Datatype.INTEGER),
        (["2020-01-31", "2020-02-31"], Datatype.STRING),
        ([], Datatype.STRING),
    ):
        assert infer_datatype(pa.array(values, pa.string()), None) is datatype


def test_the_rows_are_numbered_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_BLOCK", 64)
    place = tmp_path / "t.csv"
    with closing(CsvWriter(place, ("a", "b"))) as writer:
        for number in range(200):
            texts_ = pa.array(["x\ny" if number % 7 else None], pa.string())
            writer.write(pa.record_batch({"c0": pa.array([str(number)]), "c1": texts_}))
    _, rows = texts(place)
    assert rows == [[str(n), "x\ny" if n % 7 else None] for n in range(200)]


@pytest.mark.parametrize("chunk", [1 << 24, 1 << 20])
def test_a_record_that_no_reader_takes_whole_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(dialect, "_CHUNK", chunk)
    path = tmp_path / "long.csv"
    for size, is_refused in ((LONGEST_RECORD - 10, False), (LONGEST_RECORD + 1, True)):
        path.write_bytes(b"a,b\n1,2\n3," + b"x" * size + b"\n5,6\n")
        if is_refused:
            with pytest.raises(DataError, match="record 2: a record is longer than 8 MiB"):
                dialect.check_csv(path)
        else:
            assert dialect.check_csv(path).records == 3
            source = Source(IRI("http://x.org/t"), path, OutputFormat.CSV, Description())
            reader = reading.text_batches(source, reading.inspect(source))
            assert sum(batch.num_rows for batch in reader) == 3
