"""Declared dialects, formats and texts for missing values: what is understood, and what does not fit."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smalti.engine.tables import packing
from smalti.engine.tables.bringing import brought
from smalti.engine.tables.csvw_dialect import ENCODINGS, Dialect, read_dialect
from smalti.engine.tables.description import Source
from smalti.engine.tables.formats import DATES, date_format, date_time_format
from smalti.engine.tables.reading import inspect
from smalti.engine.tables.sources import bind
from smalti.errors import DataError, InternalError, UsageError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/table")


def described(folder: Path, *columns: dict[str, Any], name: str = "t.csv", **more: Any) -> None:
    document = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": name,
        "tableSchema": {"columns": list(columns)},
        **more,
    }
    (folder / f"{name}-metadata.json").write_text(json.dumps(document), encoding="utf-8")


def read(folder: Path, content: bytes, name: str = "t.csv") -> bytes:
    """The canonical content of a file with a description."""
    (folder / name).write_bytes(content)
    return source(folder, name).path.read_bytes()


def source(folder: Path, name: str = "t.csv") -> Source:
    places = [folder / f"input{number}" for number in range(9)]
    return brought(TARGET, folder / name, next(place for place in places if not place.exists()))


def refusal(folder: Path, content: bytes) -> str:
    with pytest.raises(DataError) as refused:
        read(folder, content)
    assert refused.value.way_out
    assert "canary" not in str(refused.value)
    return str(refused.value)


A, B = {"name": "a"}, {"name": "b"}


@pytest.mark.parametrize(
    ("dialect", "content", "expected"),
    [
        ({}, b"a,b\n1,2\n", b"a,b\n1,2\n"),
        ({"delimiter": ";"}, b"a;b\r\n1;2\r\n", b"a,b\n1,2\n"),
        ({"delimiter": "\t"}, b"a\tb\n1\t2,5", b'a,b\n1,"2,5"\n'),
        ({"delimiter": ";"}, b'a;b\n"x;\r\n""y""";\n', b'a,b\n"x;\r\n""y""",\n'),
        ({"delimiter": ";"}, b'a;b\n"";"1"\n"";\n', b"a,b\n,1\n,\n"),
        ({"quoteChar": "'"}, b"a,b\n'x,''y',\"\n", b'a,b\n"x,\'y",""""\n'),
        ({"quoteChar": None}, b'a,b\n"x,y"\n', b'a,b\n"""x","y"""\n'),
        ({"doubleQuote": False}, b'a,b\n"x\\"y\\\\",z\\\n', b'a,b\n"x""y\\",z\\\n'),
        ({"doubleQuote": False}, b'a,b\n"x\\\n,",1\n', b'a,b\n"x\n,",1\n'),
        ({"encoding": "ISO-8859-1"}, b"a,b\n\xe4,1\n", "a,b\nä,1\n".encode()),
        ({"encoding": "windows-1252"}, b"a,b\n\x80,1\n", "a,b\n€,1\n".encode()),
        ({"encoding": "utf-8"}, b"\xef\xbb\xbfa,b\n1,2\n", b"a,b\n1,2\n"),
        ({"header": False}, b"1,2\n3,4\n", b"a,b\n1,2\n3,4\n"),
        ({"headerRowCount": 0}, b"1,2\n", b"a,b\n1,2\n"),
        ({"commentPrefix": "#"}, b'# "x\na,b\n1,2\n#end\n', b"a,b\n1,2\n"),
        ({"commentPrefix": None}, b"a,b\n#1,2\n", b"a,b\n#1,2\n"),
        ({"skipRows": 2}, b'"report\n\na,b\n1,2\n', b"a,b\n1,2\n"),
        ({"skipBlankRows": True}, b"a,b\n\n,\n1,2\n\n", b"a,b\n1,2\n"),
        ({"trim": True}, b"a , b\n 1 , 2\n", b"a,b\n1,2\n"),
        ({"skipInitialSpace": True}, b"a, b\n 1, 2 \n", b"a,b\n1,2 \n"),
        ({"lineTerminators": ["\r\n", "\n"]}, b"a,b\n1,2\n", b"a,b\n1,2\n"),
    ],
)  # fmt: skip
def test_a_declared_dialect_is_read(tmp_path: Path, dialect: Any, content: bytes, expected: bytes) -> None:
    described(tmp_path, A, B, dialect=dialect)
    assert read(tmp_path, content) == expected


@pytest.mark.parametrize(
    ("dialect", "content", "place", "problem"),
    [
        ({"delimiter": ";"}, b"a;b\n1;2\ncanary;4;5\n", "record 2", "3 fields between `;`"),
        ({"delimiter": ";"}, b"a;b\n1,2\n", "record 1", "1 field between `;`"),
        ({"delimiter": "\t"}, b"a\tb\n1\n", "record 1", "1 field between `tab`"),
        ({}, b"a,b\n1,2\ncana\xe4ry,4\n", "record 2", "bytes that are not utf-8"),
        ({"encoding": "windows-1252"}, b"a,b\n\x81,2\n", "record 1", "bytes that are not windows-1252"),
        ({"encoding": "latin1"}, b"a,b\n\x80,2\n", "record 1", "ISO 8859-1 has no letters for"),
        ({"encoding": "us-ascii"}, b"a,b\n\xc3\xa4,2\n", "record 1", "bytes that are not us-ascii"),
        ({}, b'a,b\ncana"ry,2\n', "record 1", "a quote inside a field"),
        ({}, b'a,b\n"cana"ry,2\n', "record 1", "a quote inside a field"),
        ({}, b'a,b\n1,2\n"canary,2\n', "record 2", "a quoted field is not closed"),
        ({}, b"a,b\n1,2\n\n", "record 2", "a blank line"),
        ({}, b"a,b\ncana\rry,2\n", "record 1", "a carriage return without a line feed"),
        ({}, b'a,b\ncana\rry,"2"\n', "record 1", "a carriage return without a line feed"),
        ({}, b"a,b\ncana\0ry,2\n", "record 1", "a NUL byte"),
        ({}, b"a,b\n#canary,2\n", "record 1", "it begins with `#`"),
        ({"header": False}, b"1,2\ncanary\n", "record 2", "1 field"),
        ({"header": False}, b"canary\n", "record 1", "1 fields, and 2 columns are described"),
        ({}, b"a," + b"x" * (9 << 20), "the header", "a record is longer than 8 MiB"),
        ({}, b'a,b\n"' + (b"x" * (1 << 20) + b"\n") * 9, "record 1", "a record is longer than 8 MiB"),
    ],
)  # fmt: skip
def test_a_dialect_that_does_not_fit(
    tmp_path: Path, dialect: Any, content: bytes, place: str, problem: str
) -> None:
    described(tmp_path, A, B, dialect=dialect)
    message = refusal(tmp_path, content)
    assert message.startswith(f"t.csv, {place}: ")
    assert problem in message


@pytest.mark.parametrize(
    ("stated", "problem"),
    [
        ({"delimeter": ";"}, "unknown member `delimeter`, did you mean `delimiter`?"),
        ({"delimiter": ";;"}, "`delimiter` must be one character"),
        ({"quoteChar": ""}, "`quoteChar` must be one character, or null"),
        ({"encoding": "utf-16"}, "`encoding` must be one of iso-8859-1, us-ascii, utf-8, windows-1252"),
        ({"header": "no"}, "`header` must be true or false"),
        ({"headerRowCount": 2}, "`headerRowCount` must be 0 or 1"),
        ({"skipColumns": 1}, "`skipColumns` must be 0"),
        ({"skipRows": -1}, "`skipRows` must be a whole number"),
        ({"trim": "left"}, "`trim` must be true, false, start or end"),
        ({"lineTerminators": "\r"}, "`lineTerminators` must be LF, CRLF or both"),
        ({"delimiter": '"'}, "`delimiter` and `quoteChar` are the same"),
        ({"header": False, "headerRowCount": 1}, "`header` and `headerRowCount`"),
        ({"skipInitialSpace": True, "trim": False}, "`skipInitialSpace` and `trim`"),
        ({"delimiter": ";", "commentPrefix": ";"}, "`commentPrefix` begins with"),
        ({"delimiter": "\t", "trim": True}, "a blank as `delimiter` is trimmed"),
        ({"doubleQuote": False, "delimiter": "\\"}, "a backslash is a mark"),
        ("canary", "`dialect` is not an object"),
    ],
)
def test_a_dialect_that_is_not_understood(stated: Any, problem: str) -> None:
    with pytest.raises(DataError) as refused:
        read_dialect("t.csv-metadata.json", stated)
    assert problem in str(refused.value)


def test_all_that_is_wrong_with_a_dialect_is_told_at_once() -> None:
    with pytest.raises(DataError, match=r"`sep`.*`encoding` must be.*`skipRows` must be"):
        read_dialect("t.csv-metadata.json", {"sep": ";", "encoding": "koi8", "skipRows": "1"})


def test_names_of_encodings_lead_to_codecs() -> None:
    assert all("x".encode(name) == b"x" for name in ENCODINGS.values())
    assert read_dialect("x", {"encoding": "CP1252"}) == Dialect(encoding="windows-1252")


@pytest.mark.parametrize(
    ("column", "table", "cells", "expected"),
    [
        ({"null": "NA"}, {}, b"NA,NA\n1,\n", b",NA\n1,\n"),
        ({"null": ["NA", "-"]}, {}, b"NA,-\n-,1\n", b",-\n,1\n"),
        ({}, {"null": "NA"}, b"NA,NA\n", b",\n"),
        ({"null": "-"}, {"null": "NA"}, b"NA,NA\n-,-\n", b"NA,\n,-\n"),
        ({"null": []}, {"null": "NA"}, b"NA,NA\n", b"NA,\n"),
        ({}, {"tableSchema": {"null": "-", "columns": [A, B]}, "null": "NA"}, b"NA,-\n", b"NA,\n"),
    ],
)
def test_texts_that_say_missing(
    tmp_path: Path, column: Any, table: Any, cells: bytes, expected: bytes
) -> None:
    described(tmp_path, A | column, B, **table)
    assert read(tmp_path, b"a,b\n" + cells) == b"a,b\n" + expected


def test_columns_that_are_not_described_inherit_null(tmp_path: Path) -> None:
    described(tmp_path, A, null="NA")
    assert read(tmp_path, b"a,b\n1,NA\n") == b"a,b\n1,\n"


@pytest.mark.parametrize(
    ("datatype", "text", "expected"),
    [
        ({"base": "date", "format": "dd.MM.yyyy"}, "31.01.2024", "2024-01-31"),
        ({"base": "date", "format": "d.M.yyyy"}, "1.2.2024", "2024-02-01"),
        ({"base": "date", "format": "M/d/yyyy"}, "12/31/2024", "2024-12-31"),
        ({"base": "date", "format": "yyyyMMdd"}, "20240131", "2024-01-31"),
        ({"base": "date", "format": "dd.MM.yyyy"}, "1.2.2024", None),
        ({"base": "date", "format": "dd.MM.yyyy"}, "30.02.2024", None),
        ({"base": "date", "format": "dd.MM.yyyy"}, "31.01.24", None),
        ({"base": "date", "format": "dd.MM.yyyy"}, "\u0663\u0661.01.2024", None),
        ({"base": "dateTime", "format": "d.M.yyyy HH:mm"}, "1.2.2024 09:30", "2024-02-01T09:30:00"),
        (
            {"base": "dateTime", "format": "yyyy-MM-dd HH:mm:ss.SSS"},
            "2024-02-01 09:30:01.5", "2024-02-01T09:30:01.5",
        ),
        (
            {"base": "dateTime", "format": "yyyy-MM-dd HH:mm X"},
            "2024-02-01 09:30 +01", "2024-02-01T09:30:00+01:00",
        ),
        ({"base": "dateTime", "format": "yyyyMMddTHHmmXXX"}, "20240201T0930Z", "2024-02-01T09:30:00Z"),
        ({"base": "dateTime", "format": "d.M.yyyy HH:mm"}, "1.2.2024 24:30", None),
        ({"base": "dateTime", "format": "d.M.yyyy HH:mm X"}, "1.2.2024 09:30 +99", None),
        (
            {"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}},
            "-1.234.567,50", "-1234567.50",
        ),
        ({"base": "decimal", "format": {"decimalChar": ","}}, "0,5", "0.5"),
        ({"base": "decimal", "format": {"decimalChar": ","}}, "0.5", None),
        ({"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}}, "1.5", None),
        ({"base": "decimal", "format": {"decimalChar": ","}}, "00,5", None),
        ({"base": "decimal", "format": {"decimalChar": ","}}, "5 %", None),
        ({"base": "double", "format": {"decimalChar": ","}}, "1,5e-3", "1.5e-3"),
        ({"base": "decimal", "format": {"decimalChar": ","}}, "1,5e-3", None),
        ({"base": "integer", "format": {"groupChar": "'"}}, "12'345", "12345"),
        ({"base": "integer", "format": {"groupChar": "'"}}, "12'345.0", None),
        ({"base": "integer", "format": "000"}, "007", "7"),
        ({"base": "decimal", "format": "#,##0.00"}, "1,234.50", "1234.50"),
        ({"base": "decimal", "format": "#,##0.00"}, "1,234.5", None),
    ],
)  # fmt: skip
def test_formats(tmp_path: Path, datatype: Any, text: str, expected: str | None) -> None:
    described(tmp_path, A | {"datatype": datatype}, B, dialect={"delimiter": "|"})
    content = f"a|b\n{text}|canary\n".encode()
    if expected is not None:
        assert read(tmp_path, content) == f"a,b\n{expected},canary\n".encode()
        return
    message = refusal(tmp_path, content)
    assert message.startswith("t.csv, record 1: the value of column `a` is of another format")
    assert text not in message


@pytest.mark.parametrize(
    ("datatype", "expected"),
    [
        ({"base": "date", "format": "dd.MM.yy"}, "one of yyyy-MM-dd"),
        ({"base": "date", "format": {"decimalChar": ","}}, "a text for the datatype `date`"),
        ({"base": "dateTime", "format": "dd.MM.yyyy"}, "a date (yyyy-MM-dd"),
        ({"base": "dateTime", "format": "dd.MM.yyyy HH:mm.SS"}, "a date (yyyy-MM-dd"),
        ({"base": "string", "format": "[a-z]"}, "a regular expression is not supported"),
        ({"base": "integer", "format": "0.0"}, "a pattern without decimals"),
        ({"base": "decimal", "format": "0 %"}, "a pattern such as"),
        ({"base": "decimal", "format": {"decimalChar": ",", "groupChar": ","}}, "different characters"),
        ({"base": "decimal", "format": {"decimalChar": "ab"}}, "a `decimalChar` of one character"),
    ],
)
def test_formats_that_are_not_understood(tmp_path: Path, datatype: Any, expected: str) -> None:
    described(tmp_path, A | {"datatype": datatype}, B)
    with pytest.raises(DataError, match="column `a`: its `format` is not understood") as refused:
        read(tmp_path, b"a,b\n")
    assert expected in str(refused.value)


def test_mixed_formats_are_counted(tmp_path: Path) -> None:
    described(tmp_path, A | {"datatype": {"base": "date", "format": "dd.MM.yyyy"}}, B, null="?")
    days = ["31.01.2024"] * 3 + ["2024-01-31"] * 2 + ["?", "", "canary", "01/31/2024", "01.02.2024"]
    message = refusal(tmp_path, ("a,b\n" + "".join(f"{day},x\n" for day in days)).encode())
    assert message.startswith(
        "t.csv, record 4: the value of column `a` is of another format (in the column: 4 of `dd.MM.yyyy`,"
        " 2 of `yyyy-MM-dd`, 1 of another form, 1 of `MM/dd/yyyy`); expected `dd.MM.yyyy`, as declared"
    )


def test_each_format_reads_what_it_writes() -> None:
    for pattern in DATES:
        written = pattern.replace("yyyy", "2024").replace("MM", "11").replace("M", "11")
        written = written.replace("dd", "30").replace("d", "30")
        assert date_format(pattern).canonical(written) == "2024-11-30"
        moment = date_time_format(f"{pattern}THH:mm:ss").canonical(f"{written}T01:02:03")
        assert moment == "2024-11-30T01:02:03"


# --- Packed files


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


@pytest.mark.parametrize(("name", "pack"), [("t.csv.gz", gzip.compress), ("T.CSV.ZST", zstd)])
def test_packed_files_are_the_same_tables(tmp_path: Path, name: str, pack: Any) -> None:
    content = b'a,b\r\n"1",2\n'
    assert read(tmp_path, pack(content), name) == content
    assert (
        inspect(source(tmp_path, name)).telling_digests[0]
        == inspect(bind(TARGET, plain_copy(tmp_path, content))).digests[0]
    )
    described(tmp_path, A, B, name=name, dialect={"delimiter": ";"})
    assert read(tmp_path, pack(b"a;b\n1;2\n"), name) == b"a,b\n1,2\n"


def plain_copy(folder: Path, content: bytes) -> Path:
    place = folder / "plain.csv"
    place.write_bytes(content)
    return place


def test_a_gzip_of_several_members_is_read_whole(tmp_path: Path) -> None:
    content = gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n")
    assert read(tmp_path, content, "t.csv.gz") == b"a,b\n1,2\n3,4\n"


@pytest.mark.parametrize("change", ["cut", "none", "end", "checksum"])
def test_what_is_not_packed_as_it_says(tmp_path: Path, change: str) -> None:
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    content = {
        "cut": content[:-12], "none": b"a,b\n1,2\n", "end": content + b"canary",
        "checksum": content[:-8] + b"\0" * 8,
    }[change]  # fmt: skip
    with pytest.raises(DataError, match=r"t\.csv\.gz: it cannot be unpacked as gzip"):
        read(tmp_path, content, "t.csv.gz")


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "ALWAYS_UNPACKED", 1 << 16)
    with pytest.raises(DataError, match="it unpacks to more than is plausible of a table"):
        read(tmp_path, gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000), "t.csv.gz")
    copy = tmp_path / "input0" / ".canonical" / "t.csv.gz"
    assert copy.stat().st_size < 1 << 22


def test_a_folder_of_packed_files_is_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "1.csv.gz").write_bytes(gzip.compress(b"a;b\n1;2\n"))
    (folder / "2.csv").write_bytes(b"a;b\n3;4\n")
    described(tmp_path, A, B, name="t", dialect={"delimiter": ";"})
    table = source(tmp_path, "t")
    assert [path.read_bytes() for path in table.paths] == [b"a,b\n1,2\n", b"a,b\n3,4\n"]
    assert inspect(table).rows == 2
    assert len(table.originals) == 2


# --- Around it


def test_a_source_that_was_not_brought_is_not_read(tmp_path: Path) -> None:
    described(tmp_path, A, B, dialect={"delimiter": ";"})
    (tmp_path / "t.csv").write_bytes(b"a;b\n")
    with pytest.raises(InternalError):
        inspect(bind(TARGET, tmp_path / "t.csv"))


def test_canonical_files_are_read_where_they_are(tmp_path: Path) -> None:
    described(tmp_path, A, B)
    (tmp_path / "t.csv").write_bytes(b"a,b\n")
    assert source(tmp_path).path == tmp_path / "t.csv"
    assert not (tmp_path / "input0").exists()


def test_only_csv_has_a_dialect(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").touch()
    described(tmp_path, A, name="t.parquet", dialect={"delimiter": ";"})
    with pytest.raises(DataError, match="it has a `dialect`, and the data is no CSV"):
        source(tmp_path, "t.parquet")


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("t.xls", "Save it as .xlsx"),
        ("t.xlsm", "without macros"),
        ("t.tsv", '"delimiter": "\\t"'),
        ("t.zip", "Unpack it"),
        ("t.parquet.gz", "Unpack it"),
        ("t.json", "Rename or convert it"),
    ],
)
def test_other_kinds_of_files(tmp_path: Path, name: str, way_out: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match="unknown file type; expected a name that ends") as refused:
        source(tmp_path, name)
    assert way_out in str(refused.value)


def test_formats_apply_to_texts_of_parquet(tmp_path: Path) -> None:
    table = pa.table({"a": ["31.01.2024", "NA", None], "b": pa.array([1.5, 2.0, None])})
    pq.write_table(table, tmp_path / "t.parquet")
    date = {"base": "date", "format": "dd.MM.yyyy"}
    described(tmp_path, A | {"datatype": date}, B, name="t.parquet", null="NA")
    found = source(tmp_path, "t.parquet")
    assert found.path.read_bytes() == b"a,b\n2024-01-31,1.5\n,2\n,\n"
    assert found.datatypes == (None, Datatype.DOUBLE)
    pq.write_table(pa.table({"a": ["canary"], "b": [1.5]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet, record 1: the value of column `a`") as refused:
        source(tmp_path, "t.parquet")
    assert "canary" not in str(refused.value)
