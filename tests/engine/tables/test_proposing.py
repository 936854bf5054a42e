"""Proposals of how a file is written: for people, without values, and never acted on."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import real_files
from shell import request, small_policy, smalti

from smalti.engine.tables.bringing import brought
from smalti.engine.tables.proposing import description_text, propose
from smalti.vocab.terms import IRI


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    place = folder / name
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def test_a_german_export_is_proposed_and_the_proposal_reads_it(tmp_path: Path) -> None:
    place = real_files.german(tmp_path)
    first_line, content = place.read_bytes().split(b"\r\n", 1)
    assert first_line
    place = written(tmp_path, content.replace(b"k.A.", b""), "bare.csv")
    proposal = propose(place)
    assert proposal is not None
    assert proposal.stated_dialect() == {"delimiter": ";", "encoding": "windows-1252"}
    described = json.loads(description_text(proposal, place.name))
    by_name = {column["name"]: column.get("datatype") for column in described["tableSchema"]["columns"]}
    assert by_name == {name: real_files.GERMAN.get(name) for name in real_files.COLUMNS}
    (tmp_path / "bare.csv-metadata.json").write_text(json.dumps(described))
    source = brought(IRI("http://example.com/t"), place, tmp_path / "input")
    assert source.path.read_bytes() == real_files.canonical(tmp_path).read_bytes()


@pytest.mark.parametrize(
    ("content", "dialect", "columns"),
    [
        ("a,b\n1,2\n", {}, [{"name": "a", "datatype": "integer"}, {"name": "b", "datatype": "integer"}]),
        ("a,b\n1.5,x\n", {}, [{"name": "a", "datatype": "decimal"}, {"name": "b"}]),
        ("a;b\n1,5;\n", {"delimiter": ";"}, [
            {"name": "a", "datatype": {"base": "decimal", "format": {"decimalChar": ","}}}, {"name": "b"},
        ]),
        ("1;2\n3;4\n", {"delimiter": ";", "header": False}, [
            {"name": "column1", "datatype": "integer"}, {"name": "column2", "datatype": "integer"},
        ]),
        ("a\tb\n2024-01-31\t2024-01-31T09:30:00\n", {"delimiter": "\t"}, [
            {"name": "a", "datatype": "date"}, {"name": "b", "datatype": "dateTime"},
        ]),
        ("a|b\n01/02/2024|31/01/2024\n", {"delimiter": "|"}, [
            {"name": "a"}, {"name": "b", "datatype": {"base": "date", "format": "dd/MM/yyyy"}},
        ]),
        ("a;b\n1.234;7\n", {"delimiter": ";"}, [{"name": "a"}, {"name": "b", "datatype": "integer"}]),
    ],
)  # fmt: skip
def test_what_is_proposed(tmp_path: Path, content: str, dialect: object, columns: object) -> None:
    proposal = propose(written(tmp_path, content))
    assert proposal is not None
    assert proposal.stated_dialect() == dialect
    assert proposal.metadata("t.csv")["tableSchema"]["columns"] == columns


def test_what_people_have_to_decide_is_said(tmp_path: Path) -> None:
    proposal = propose(written(tmp_path, "a;b\n1/2/2024;1.234\n"))
    assert proposal is not None
    assert proposal.sentence() == (
        "`;` between fields, dates d/M/yyyy or M/d/yyyy in column 1, numbers with `.` before decimals or"
        " numbers with `,` before decimals, `.` between groups of three digits in column 2"
    )


@pytest.mark.parametrize("content", [b"", b"\n", b"a\0b", b"\xff\xfea\0", b"a,b\n1\n", b"\x81\xff;x"])
def test_nothing_sensible_is_no_proposal(tmp_path: Path, content: bytes) -> None:
    assert propose(written(tmp_path, content)) is None


def test_a_large_file_is_sampled(tmp_path: Path) -> None:
    content = "a;b\n" + "é;x\n" * 20_000 + "this is cut;off;at\n"
    for place in (
        written(tmp_path, content),
        written(tmp_path, gzip.compress(content.encode()), "t.csv.gz"),
    ):
        proposal = propose(place)
        assert proposal is not None
        assert proposal.stated_dialect() == {"delimiter": ";"}


# --- In messages


def told(folder: Path, content: bytes) -> str:
    ran = smalti("plan", small_policy(folder), *request(written(folder, content, "people.csv")), cwd=folder)
    assert ran.code == 1
    assert "canary" not in ran.message
    return ran.message


def test_semicolons_are_proposed_where_the_header_is_one_column(tmp_path: Path) -> None:
    message = told(tmp_path, b"who;age;city;illness\ncanary;20;Rome;flu\n")
    assert message == (
        "people.csv, the header: it is one column, with semicolons, tabs or bars in its name; expected"
        " commas between fields, or a description with its `dialect`. It looks like `;` between fields: if"
        ' that is so, write it into its description, as "dialect": {"delimiter": ";"}\n'
    )


def test_semicolons_are_proposed_where_quotes_or_commas_stand_between_them(tmp_path: Path) -> None:
    for cell in (b'"canary"', b"1,5"):
        message = told(tmp_path, b"who;age;city;illness\n" + cell + b";20;Rome;flu\n")
        assert message.startswith("people.csv, record 1: ")
        assert 'as "dialect": {"delimiter": ";"}' in message


def test_an_encoding_and_formats_are_proposed(tmp_path: Path) -> None:
    message = told(tmp_path, "who;age;city;illness\nä;31.01.2024;Köln;canary\n".encode("latin-1"))
    assert "bytes that are not UTF-8; expected UTF-8. It looks like `;` between fields" in message
    assert "encoding windows-1252, dates dd.MM.yyyy in column 2" in message
    assert '"dialect": {"delimiter": ";", "encoding": "windows-1252"}' in message
    assert '"datatype": {"base": "date", "format": "dd.MM.yyyy"}' in message


def test_a_declared_dialect_that_does_not_fit_gets_a_proposal(tmp_path: Path) -> None:
    place = real_files.german(tmp_path)
    metadata = tmp_path / f"{place.name}-metadata.json"
    metadata.write_text(
        metadata.read_text().replace('"windows-1252"', '"utf-8"').replace('"skipRows": 1', '"skipRows": 0')
    )
    place.write_bytes(place.read_bytes().split(b"\r\n", 1)[1])
    ran = smalti("plan", small_policy(tmp_path), *request(place), cwd=tmp_path)
    assert "export.csv, record 1: bytes that are not utf-8" in ran.message
    assert "encoding windows-1252" in ran.message


def test_what_looks_as_declared_keeps_its_way_out(tmp_path: Path) -> None:
    assert "export it again as RFC 4180" in told(tmp_path, b"who,age,city,illness\ncanary,20\n")


@pytest.mark.parametrize("broken", ["ä;31.01.2024;canary", 'ä;31.01.2024;Köln;"canary'])
def test_a_broken_record_is_no_line_before_a_table(tmp_path: Path, broken: str) -> None:
    content = f"who;age;city;illness\n{broken}\nö;30.01.2024;Köln;flu\nü;29.01.2024;Ulm;flu\n".encode(
        "latin-1"
    )
    message = told(tmp_path, content)
    assert "It looks like `;` between fields" in message
    assert "lines before" not in message
    assert "no header" not in message
    declared: dict[str, Any] = {
        "@context": "http://www.w3.org/ns/csvw",
        "tableSchema": {"columns": []},
        "url": "people.csv",
    }
    for encoding in ("iso-8859-1", "windows-1252"):
        declared["dialect"] = {"delimiter": ";", "encoding": encoding}
        (tmp_path / "people.csv-metadata.json").write_text(json.dumps(declared))
        message = told(tmp_path, content)
        assert message.startswith("people.csv, record 1: ")
        assert "looks like" not in message


def test_a_delimiter_that_is_not_there_is_named(tmp_path: Path) -> None:
    declared = {
        "@context": "http://www.w3.org/ns/csvw",
        "tableSchema": {"columns": []},
        "url": "people.csv",
        "dialect": {"delimiter": "|"},
    }
    (tmp_path / "people.csv-metadata.json").write_text(json.dumps(declared))
    message = told(tmp_path, b"who;age;city;illness\ncanary;20;Rome;flu\n")
    assert "by the `delimiter` of the description's `dialect`" in message


@pytest.mark.parametrize(
    ("content", "skipped"),
    [
        ("Export of June\n\nwho;age\nann;31\nbob;42\n", None),  # a blank line is no line of a table
        ("Export of June\nwho;age\nann;31\nbob;42\n", 1),
        ("Export, of June\nby me\nwho;age\nann;31,5\nbob;42,0\n", 2),
        ("name\nfoo\nbar\n", 0),
        ("name\nfoo; x\nbar; y\n", 0),  # no column of the wider table is typed
    ],
)
def test_lines_before_the_header(tmp_path: Path, content: str, skipped: int | None) -> None:
    proposal = propose(written(tmp_path, content))
    assert proposal is not None
    if skipped is not None:
        assert proposal.dialect.skipped_rows == skipped


def test_a_sample_may_end_inside_quotes(tmp_path: Path) -> None:
    rows = "".join(f'{n};"line\nline\n{"x" * 50}\nline"\n' for n in range(2000))
    proposal = propose(written(tmp_path, f"number;text\n{rows}"))
    assert proposal is not None
    assert proposal.stated_dialect() == {"delimiter": ";"}


@pytest.mark.parametrize("content", [",b,c\n1,2,x\n", "a,b,\n1,2,\n"])
def test_a_header_may_lack_its_first_or_last_name(tmp_path: Path, content: str) -> None:
    proposal = propose(written(tmp_path, content))
    assert proposal is not None
    assert proposal.is_canonical
    assert "has no name in the header; " in told(tmp_path, content.encode())


def test_utf_16_is_named(tmp_path: Path) -> None:
    message = told(tmp_path, "age\tcanary\n1\t2\n".encode("utf-16"))
    assert "It looks like UTF-16: export it again in UTF-8" in message


def test_a_first_record_whose_texts_come_again_is_no_header(tmp_path: Path) -> None:
    proposal = propose(written(tmp_path, "ann,flu\nbob,cold\neve,flu\n"))
    assert proposal is not None
    assert not proposal.dialect.has_header
