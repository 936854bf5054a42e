"""Workbooks: cells by their types, and everything else refused by its name."""

import io
import json
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from smalti.engine.tables import excel
from smalti.engine.tables.addresses import TableIn, data_at
from smalti.engine.tables.bringing import brought
from smalti.errors import DataError, SmaltiError, UsageError
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/table")


def workbook(folder: Path, *rows: list[Any], change: Callable[[Any], None] = lambda _: None) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    change(book)
    place = folder / "t.xlsx"
    book.save(place)
    return place


def content(place: Path, table: str | None = None) -> str:
    data = place if table is None else TableIn(place, table)
    return brought(TARGET, data, place.parent / "input").path.read_text(encoding="utf-8")


def refusal(place: Path, table: str | None = None) -> str:
    with pytest.raises(SmaltiError) as refused:
        content(place, table)
    assert "canary" not in str(refused.value)
    return str(refused.value)


def test_cells_are_written_by_their_types(tmp_path: Path) -> None:
    rows = [
        ["a", "b"],
        ["x, y", 7],
        [None, 70.25],
        [True, 71.0],
        [date(2024, 1, 31), datetime(2024, 1, 31, 9, 30)],
        [datetime(2024, 1, 31), 1e-7],
        ["007", datetime(2024, 1, 31, 9, 30, 1, 500000)],
    ]
    assert content(workbook(tmp_path, *rows)) == (
        'a,b\n"x, y",7\n,70.25\ntrue,71\n2024-01-31,2024-01-31T09:30:00\n2024-01-31T00:00:00,0.0000001\n'
        "007,2024-01-31T09:30:01.5\n"
    )


def test_rows_behind_the_table_are_no_records(tmp_path: Path) -> None:
    def bold(book: Any) -> None:
        book.active["B9"].font = openpyxl.styles.Font(bold=True)

    assert content(workbook(tmp_path, ["a", "b"], [1, 2], [3], change=bold)) == "a,b\n1,2\n3,\n"


def test_a_sheet_is_chosen_by_name(tmp_path: Path) -> None:
    def more(book: Any) -> None:
        book.create_sheet("May 2024").append(["b"])

    place = workbook(tmp_path, ["a"], change=more)
    assert content(place, "May 2024") == "b\n"
    (tmp_path / "input" / ".canonical" / "t.xlsx#May 2024").unlink()
    assert "it has 2 sheets; expected the name of one: `Sheet`, `May 2024`" in refusal(place)
    assert "Did you mean `May 2024`?" in refusal(place, "may 2024")
    assert data_at(f"{place}#May 2024", "data") == TableIn(place, "May 2024")


def test_rows_above_the_header_are_counted_in_the_description(tmp_path: Path) -> None:
    place = workbook(tmp_path, ["Canary"], [None, 7], ["a", "b"], ["x", 2], change=set_cell("C1", "=1"))
    assert '"dialect": {"skipRows": 2}' in refusal(place)
    description = tmp_path / "t.xlsx-metadata.json"

    def described(**dialect: object) -> None:
        stated = {"url": "t.xlsx", "dialect": dialect, "tableSchema": {"columns": []}}
        description.write_text(json.dumps({"@context": "http://www.w3.org/ns/csvw"} | stated))

    described(skipRows=2)
    assert content(place) == "a,b\nx,2\n"
    described(skipRows=4)
    assert "nothing stands behind its first 4 rows" in refusal(place)
    described(skipRows=2, delimiter=";")
    assert "a `dialect` of `skipRows` alone" in refusal(place)


def set_cell(name: str, value: Any) -> Callable[[Any], None]:
    def change(book: Any) -> None:
        book.active[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (set_cell("B2", "=1+1"), "t.xlsx#Sheet, record 1: a formula in cell B2"),
        (set_cell("A2", "#N/A"), "t.xlsx#Sheet, record 1: an error value in cell A2"),
        (set_cell("A2", time(9, 30)), "record 1: a time or a duration without a day in cell A2"),
        (set_cell("C2", 7), "record 1: 3 cells; expected 2, as in the header"),
        (set_cell("A5", 7), "record 2: an empty row"),
        (set_cell("A1", 7), "the header: a column name is missing, or no text"),
        (set_cell("A1", None), "the header: a column name is missing, or no text"),
        (set_cell("A1", "b"), "columns 1 and 2 have the same name"),
        (lambda book: book.active.merge_cells("A2:B2"), "t.xlsx#Sheet: it has merged cells"),
    ],
)
def test_what_is_refused_by_its_name(tmp_path: Path, change: Any, problem: str) -> None:
    assert problem in refusal(workbook(tmp_path, ["a", "b"], ["canary", 2], change=change))


def test_an_empty_sheet(tmp_path: Path) -> None:
    assert "the sheet is empty" in refusal(workbook(tmp_path))


def repacked(place: Path, change: Callable[[str, bytes], bytes], *more: str) -> Path:
    packed = io.BytesIO()
    with zipfile.ZipFile(place) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
        for name in more:
            new.writestr(name, b"")
    place.write_bytes(packed.getvalue())
    return place


def test_files_that_are_no_plain_workbooks(tmp_path: Path) -> None:
    place = workbook(tmp_path, ["a"], ["canary"])
    good = place.read_bytes()
    for damaged in (b"", good[:-30], b"PK\x03\x04", b"a,b\n"):
        place.write_bytes(damaged)
        assert "not an .xlsx workbook" in refusal(place)
    place.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
    assert "it is encrypted, or of the old format .xls" in refusal(place)
    place.write_bytes(good)
    assert "it holds macros" in refusal(repacked(place, lambda _, data: data, "xl/vbaProject.bin"))


@pytest.mark.parametrize(
    "change",
    [
        lambda name, data: b"" if name.endswith("sheet1.xml") else data,
        lambda name, data: data.replace(b"<worksheet", b"<!DOCTYPE x [<!ENTITY e 'x'>]><worksheet"),
        lambda name, data: data.decode().encode("utf-16") if name.endswith("sheet1.xml") else data,
        lambda name, data: data.replace(b"</row>", b"", 1),
    ],
)
def test_damaged_sheets(tmp_path: Path, change: Any) -> None:
    place = repacked(workbook(tmp_path, ["a"], ["canary"]), change)
    with pytest.raises(DataError):
        content(place)


def test_rows_out_of_their_order_are_refused(tmp_path: Path) -> None:
    """The reader of workbooks passes over them, and a lost record would not be noticed."""
    place = workbook(tmp_path, ["a"], ["x"], ["y"], ["z"])
    twice = repacked(
        place, lambda _, data: data.replace(b'<row r="4"', b'<row r="3"').replace(b'r="A4"', b'r="A3"')
    )
    assert "row 3 stands behind row 3" in refusal(twice)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'<row r="3"', b"<row r='2'", "row 2 stands behind row 2"),
        (b'<row r="3"', b'<row r="2.0"', "row 2 stands behind row 2"),
        (b'<row r="3"', b'<row x="' + b"a" * 600 + b'" r="2"', "row 2 stands behind row 2"),
        (b'<c r="B3"', b'<c r="A3"', "cell A3 of row 3 stands twice, or behind a later one"),
        (b'<c r="A3"', b'<c r="C3"', "cell B3 of row 3 stands twice, or behind a later one"),
        (b'<c r="B3"', b'<c r="B2"', "cell B2 of row 3 stands twice, or behind a later one"),
    ],
)
def test_no_row_or_cell_is_lost_to_another_one(
    tmp_path: Path, old: bytes, new: bytes, problem: str
) -> None:
    place = workbook(tmp_path, ["a", "b"], ["canary", 1], ["canary", 2])
    assert problem in refusal(repacked(place, lambda _, data: data.replace(old, new)))


def test_minus_zero_is_zero(tmp_path: Path) -> None:
    place = workbook(tmp_path, ["a"], [0], [5])
    repacked(place, lambda _, data: data.replace(b"<v>5</v>", b"<v>-0.0</v>"))
    assert content(place) == "a\n0\n0\n"


def test_a_number_that_is_shown_with_zeros_is_refused(tmp_path: Path) -> None:
    """People list, and other exports write, what is shown; both would be another text."""

    def padded(book: Any) -> None:
        for cell in ("A2", "A3"):
            book.active[cell].number_format = "00000"

    place = workbook(tmp_path, ["a"], [12345], [7], change=padded)
    assert "record 2: a number that is shown with zeros before its first digit in cell A3" in refusal(place)


def test_bombs_are_refused_before_they_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = workbook(tmp_path, ["a"], *(["x" * 50] for _ in range(100)))
    monkeypatch.setattr(excel, "MOST_BYTES", 1000)
    assert "it unpacks to more than is plausible of a workbook" in refusal(place)


def test_rows_that_a_file_only_claims(tmp_path: Path) -> None:
    def change(name: str, data: bytes) -> bytes:
        return data.replace(b'<row r="2"', b'<row r="99999999"').replace(b'r="A2"', b'r="A99999999"')

    with pytest.raises(DataError):
        content(repacked(workbook(tmp_path, ["a"], ["canary"]), change))


def test_a_table_is_named_behind_a_container_only(tmp_path: Path) -> None:
    assert data_at("a#b.csv", "data") == Path("a#b.csv")
    place = tmp_path / "t.xlsx#x"
    place.touch()
    assert data_at(str(place), "data") == place
    with pytest.raises(UsageError, match="there is no such file"):
        brought(TARGET, TableIn(tmp_path / "none.xlsx", "x"), tmp_path / "input")
