"""The one writer: the same bytes for texts, dictionaries of texts, and pieces that were joined before."""

import csv
import io
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.tables.writing import CsvWriter, csv_lines, csv_records, joined_fields

Rows = list[list[str | None]]

FIELD = st.one_of(st.none(), st.text(st.sampled_from('",\r\n ;ab1é🜁'), max_size=4))


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    width = draw(st.integers(1, 5))
    distinct = draw(st.lists(st.lists(FIELD, min_size=width, max_size=width), min_size=1, max_size=5))
    return draw(st.lists(st.sampled_from(distinct), max_size=12))


@st.composite
def arrays(draw: st.DrawFn, texts: list[str | None]) -> pa.Array:
    """A column in one of the forms in which engines may have it."""
    around = draw(st.sampled_from([[], ["x,"], [None]]))
    column = pa.array([*around, *texts, *around], draw(st.sampled_from([pa.string(), pa.large_string()])))
    form = draw(
        st.sampled_from(["texts", "dictionary", "dictionary with a missing text", "long dictionary"])
    )
    if form == "dictionary":
        column = column.dictionary_encode()
    elif form == "dictionary with a missing text":
        column = column.dictionary_encode("encode")
    elif form == "long dictionary":
        unused = pa.array([f'"{number}"' for number in range(20)], column.type)
        numbers = pa.array(range(20, 20 + len(column)), pa.int8())
        column = pa.DictionaryArray.from_arrays(numbers, pa.concat_arrays([unused, column]))
    return column.slice(len(around), len(texts))


def expected(rows: Rows) -> bytes:
    """RFC 4180 with quotes only where they are needed."""

    def field(text: str | None) -> str:
        if not text:
            return '""' if len(rows[0]) == 1 else ""
        return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in '",\r\n') else text

    return "".join(",".join(map(field, row)) + "\n" for row in rows).encode()


def columns_of(rows: Rows) -> list[list[str | None]]:
    return [list(column) for column in zip(*rows, strict=True)]


@settings(max_examples=examples(150, full=3000))
@given(tables(), st.data())
def test_every_form_of_a_column_gives_the_same_bytes(rows: Rows, data: st.DataObject) -> None:
    columns = [data.draw(arrays(column)) for column in columns_of(rows)]
    assert csv_records(columns) == expected(rows)


@settings(max_examples=examples(100, full=2000))
@given(tables(), st.lists(st.integers(1, 4), max_size=3), st.data())
def test_pieces_that_were_joined_before_give_the_same_bytes(
    rows: Rows, cuts: list[int], data: st.DataObject
) -> None:
    if not rows:
        assert csv_lines([]) == b""
        return
    distinct = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    codes = pa.array([distinct.index(row) for row in rows], pa.int32())
    columns = [data.draw(arrays(column)) for column in columns_of(distinct)]
    ends = sorted({0, len(columns), *(cut for cut in cuts if cut < len(columns))})
    pieces = []
    for begin, end in pairwise(ends):
        joined = joined_fields(columns[begin:end])
        as_dictionary = pa.DictionaryArray.from_arrays(codes, joined)
        pieces.append(as_dictionary if data.draw(st.booleans()) else joined.take(codes))
    assert csv_lines(pieces) == expected(rows)


@settings(max_examples=examples(100, full=2000))
@given(tables())
def test_pythons_writer_agrees(rows: Rows) -> None:
    # Before 3.13 it leaves a lone CR unquoted.
    rows = [[text and text.replace("\r", "") for text in row] for row in rows]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    columns = [pa.array(column, pa.string()) for column in columns_of(rows)]
    assert csv_records(columns) == text.getvalue().encode()


@settings(max_examples=examples(50))
@given(tables())
def test_the_writer_takes_columns_and_pieces(rows: Rows) -> None:
    columns = [pa.array(column, pa.string()) for column in columns_of(rows)]
    if not columns:
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "t.csv"
        with closing(CsvWriter(place, ("a", "b,c"))) as writer:
            writer.write(pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))]))
            writer.write_pieces([joined_fields([column]) for column in columns])
        assert place.read_bytes() == b'a,"b,c"\n' + 2 * expected(rows)


def test_what_stands_beside_a_slice_is_not_written() -> None:
    column = pa.array(['"', "a", ",", None, "b"])
    assert csv_records([column.slice(1, 1), column.slice(4)]) == b"a,b\n"
    assert csv_records([column.slice(3, 1)]) == b'""\n'
    assert csv_records([column.slice(5)]) == b""
    assert csv_records([pa.array([None, None], pa.string())] * 2) == b",\n,\n"


def test_a_dictionary_as_large_as_its_numbers_allow() -> None:
    texts = pa.array([str(number) for number in range(128)])
    numbers = pa.array([*range(128), None], pa.int8())
    written = csv_records([pa.DictionaryArray.from_arrays(numbers, texts)] * 2)
    assert written == b"".join(b"%d,%d\n" % (number, number) for number in range(128)) + b",\n"
