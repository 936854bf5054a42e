"""Tables of several files: which files they are, and that they are read as the one file that they make."""

import csv
import hashlib
import io
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_record import file_name
from smalti.engine.plan.plan import ModelFormat, OutputFormat
from smalti.engine.tables import writing
from smalti.engine.tables.description import Source
from smalti.engine.tables.parts import METADATA_SUFFIX, files_in, part_of
from smalti.engine.tables.reading import inspect, text_batches
from smalti.engine.tables.sources import bind
from smalti.engine.tables.writing import Files, content_digest
from smalti.engine.verify.read import Original, Output, read_original, read_output
from smalti.errors import BackendError, DataError, GuaranteeError, SmaltiError, UsageError
from smalti.policy.model.iris import MOST_IN_STEM
from smalti.policy.model.model import Permission
from smalti.vocab.terms import ANONYMIZE, IRI

T = IRI("http://example.com/t")
BOM = b"\xef\xbb\xbf"


def folder_of(place: Path, files: dict[str, bytes]) -> Path:
    place.mkdir()
    for name, content in files.items():
        (place / name).write_bytes(content)
    return place


def rows_of(source: Source) -> list[dict[str, object]]:
    return text_batches(source, inspect(source)).read_all().to_pylist()


def texts_of(original: Original, names: tuple[str, ...]) -> list[list[str | None]]:
    """What the verifier's own reader reads."""
    table = read_original(original, names, names)
    columns = [table.columns[name] for name in names]
    values = [[*column.values.to_pylist(), None] for column in columns]
    return [[texts[code] for code in c.codes.tolist()] for texts, c in zip(values, columns, strict=True)]


# --- Which files


def test_files_are_taken_in_the_bytewise_order_of_their_names(tmp_path: Path) -> None:
    names = ["b.csv", "a10.csv", "a2.csv", "Z.CSV", "Å.csv", "z.csv"]
    folder = folder_of(tmp_path / "t", dict.fromkeys(names, b"x\n1\n"))
    kind, files = files_in(folder)
    assert kind is OutputFormat.CSV
    assert [path.name for path in files] == ["Z.CSV", "a10.csv", "a2.csv", "b.csv", "z.csv", "Å.csv"]


def test_marks_descriptions_and_certificates_are_passed_over(tmp_path: Path) -> None:
    passed = [
        "_SUCCESS",
        "_started.csv",
        ".a.csv.crc",
        ".hidden.csv",
        "certificate.jsonld",
        "a.csv-metadata.json",
    ]
    folder = folder_of(tmp_path / "t", dict.fromkeys([*passed, "a.csv"], b"x\n1\n"))
    (folder / ".ipynb_checkpoints").mkdir()
    assert [path.name for path in files_in(folder)[1]] == ["a.csv"]


def a_link(folder: Path) -> None:
    (folder / "b.csv").symlink_to(folder / "a.csv")


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "kind": (lambda folder: (folder / "notes.txt").touch(), "`notes.txt` in it has an unknown file type"),
    "mixed": (lambda folder: (folder / "b.parquet").touch(), "it contains both CSV and Parquet files"),
    "folder": (lambda folder: (folder / "more").mkdir(), "`more` in it is a folder"),
    "folder like a file": (lambda folder: (folder / "b.csv").mkdir(), "`b.csv` in it is a folder"),
    "log of a table": (lambda folder: (folder / "_delta_log").mkdir(), "`_delta_log` in it is a folder"),
    "link": (a_link, "`b.csv` in it is a symbolic link"),
    "empty": (lambda folder: (folder / "a.csv").unlink(), "the folder contains no table"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_anything_else_in_a_folder_is_refused_by_name(tmp_path: Path, name: str) -> None:
    change, message = REFUSED[name]
    folder = folder_of(tmp_path / "t", {"a.csv": b"x\n1\n"})
    change(folder)
    with pytest.raises(UsageError, match=message):
        bind(T, folder)


def described(url: str) -> str:
    columns = [{"name": "x", "datatype": "integer"}]
    return json.dumps(
        {"@context": "http://www.w3.org/ns/csvw", "url": url, "tableSchema": {"columns": columns}}
    )


def test_a_description_stands_beside_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path / "t", {"a.csv": b"x\n1\n", "b.csv": b"x\n2\n"})
    metadata = tmp_path / "t-metadata.json"
    assert bind(T, folder).description.columns == ()
    metadata.write_text(described("t"))
    found = bind(T, folder)
    assert [column.name for column in found.description.columns] == ["x"]
    assert found.paths == (folder / "a.csv", folder / "b.csv")
    assert bind(T, metadata) == found
    monkeypatch.chdir(folder)
    assert bind(T, Path()) == found
    metadata.write_text(described("other"))
    with pytest.raises(DataError, match="it describes `other`"):
        bind(T, folder)


# --- Read as one file

PIECES: dict[str, list[bytes]] = {
    "plain": [b"1,a\n2,b\n", b"3,c\n"],
    "no line end at the end": [b"1,a\n2,b", b"3,c", b"4,d\n"],
    "quoted line ends at the end": [b'1,"a\n"\n', b'2,"b\nc"', b'3,"\n\n"\n'],
    "CRLF in some": [b"1,a\r\n2,b\r\n", b"3,c\n"],
    "no rows in some": [b"", b"1,a\n", b"", b"2,b\n", b""],
    "no rows": [b"", b""],
    "an empty field at the end": [b"1,\n2,", b'3,""\n'],
}


@pytest.mark.parametrize("mark", [b"", BOM], ids=["", "byte order marks"])
@pytest.mark.parametrize("name", PIECES)
def test_several_csv_files_are_read_as_one(tmp_path: Path, name: str, mark: bytes) -> None:
    pieces = PIECES[name]
    whole = b"x,y\n" + b"".join(piece if piece[-1:] in (b"", b"\n") else piece + b"\n" for piece in pieces)
    (tmp_path / "one.csv").write_bytes(whole)
    contents = {f"{i:03}.csv": mark + b"x,y\n" + piece for i, piece in enumerate(pieces)}
    one, several = bind(T, tmp_path / "one.csv"), bind(T, folder_of(tmp_path / "t", contents))
    assert rows_of(several) == rows_of(one)
    there = Original(several.path, several.format, several.parts)
    assert texts_of(there, ("x", "y")) == texts_of(Original(one.path, one.format), ("x", "y"))
    seen = inspect(several)
    hashed = tuple(f"sha256:{hashlib.sha256(content).hexdigest()}" for content in contents.values())
    assert seen.digests == hashed
    filled = tuple(digest for digest, piece in zip(hashed, pieces, strict=True) if piece)
    assert seen.telling_digests == (filled or hashed)


FIELDS = st.sampled_from(["", "a", "b,c", 'say "x"', "two\nlines", "end\n", "\r\n", "Å", "\ufeff"])
TABLES = st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=12)


@settings(max_examples=examples(15, full=600))
@given(TABLES, st.lists(st.integers(0, 12), max_size=4), st.booleans(), st.booleans())
def test_wherever_a_table_is_divided_it_is_the_same(
    rows: list[tuple[str, str]], cuts: list[int], has_mark: bool, is_ended: bool
) -> None:
    def written(some: list[tuple[str, str]]) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([("x", "y"), *some])
        content = text.getvalue().encode()
        return BOM * has_mark + (content if is_ended else content.removesuffix(b"\n"))

    borders = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    with TemporaryDirectory() as place:
        files = {f"{i}.csv": written(rows[a:b]) for i, (a, b) in enumerate(pairwise(borders))}
        several = bind(T, folder_of(Path(place) / "t", files))
        expected = [[x or None for x in column] for column in zip(*rows, strict=True)]
        found = text_batches(several, inspect(several)).read_all()
        assert [column.to_pylist() for column in found.columns] == [list(range(len(rows))), *expected]
        assert texts_of(Original(several.path, several.format, several.parts), ("x", "y")) == expected


def test_several_parquet_files_are_read_as_one(tmp_path: Path) -> None:
    table = pa.table({"x": list(range(50)), "y": [None if i % 7 == 0 else f"t{i}" for i in range(50)]})
    folder = folder_of(tmp_path / "t", {})
    for number, (first, rows) in enumerate([(0, 20), (20, 0), (20, 1), (21, 29)]):
        pq.write_table(table.slice(first, rows), folder / f"{number}.parquet", row_group_size=7)
    pq.write_table(table, tmp_path / "one.parquet")
    one, several = bind(T, tmp_path / "one.parquet"), bind(T, folder)
    assert rows_of(several) == rows_of(one)
    assert inspect(several).datatypes == inspect(one).datatypes
    there = Original(several.path, several.format, several.parts)
    assert texts_of(there, ("x", "y")) == texts_of(Original(one.path, one.format), ("x", "y"))


def told(source: Source, tmp_path: Path) -> str:
    with pytest.raises(DataError) as caught:
        LocalBackend().open(source, tmp_path)
    return str(caught.value)


OTHER_COLUMNS = {
    "missing": (b"secret1,z\n", "b.csv: column 2 of `a.csv` is missing"),
    "unexpected": (b"secret1,y,z,w\n", "b.csv: column 4 is not in `a.csv`"),
    "order": (b"secret1,z,y\n", "b.csv: column 2 is column 3 in `a.csv`"),
    "no header": (b"secret2,secret3,secret4\n", "b.csv: column 1 of `a.csv` is missing"),
}


@pytest.mark.parametrize("name", OTHER_COLUMNS)
def test_other_columns_in_one_csv_file_are_refused(tmp_path: Path, name: str) -> None:
    """By place: where a header is missing, its names are values."""
    content, message = OTHER_COLUMNS[name]
    files = {"a.csv": b"secret1,y,z\n1,2,3\n", "b.csv": content}
    source = bind(T, folder_of(tmp_path / "t", files))
    said = told(source, tmp_path)
    assert said.startswith(message)
    assert "secret" not in said


def test_a_described_column_is_named(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "t", {"a.csv": b"x,y\n1,2\n", "b.csv": b"y,secret\n2,1\n"})
    (tmp_path / "t-metadata.json").write_text(described("t"))
    assert told(bind(T, folder), tmp_path).startswith("b.csv: column 1 (`x`) of `a.csv` is missing")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1]}, "column 2 (`y`) of `0.parquet` is missing"),
        ({"x": [1], "y": ["a"], "z": ["a"]}, "column 3 (`z`) is not in `0.parquet`"),
        ({"y": ["a"], "x": [1]}, "column 1 (`y`) is column 2 in `0.parquet`"),
        ({"x": ["1"], "y": ["a"]}, "column 1 (`x`) is text, and of type integer in `0.parquet`"),
        ({"x": [1.5], "y": ["a"]}, "column 1 (`x`) is of type double, and of type integer in `0.parquet`"),
    ],
)
def test_other_columns_in_one_parquet_file_are_refused(
    tmp_path: Path, columns: dict[str, list[object]], message: str
) -> None:
    folder = folder_of(tmp_path / "t", {})
    pq.write_table(pa.table({"x": [1], "y": ["a"]}), folder / "0.parquet")
    pq.write_table(pa.table(columns), folder / "1.parquet")
    assert told(bind(T, folder), tmp_path).startswith(f"1.parquet: {message}")


def test_a_width_of_numbers_is_no_other_type(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "t", {})
    for number, kind in enumerate([pa.int16(), pa.int64()]):
        pq.write_table(pa.table({"x": pa.array([number], kind)}), folder / f"{number}.parquet")
    assert [row["c0"] for row in rows_of(bind(T, folder))] == ["0", "1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x,y\n1,2\n1\n", "b.csv, record 2: "),
        (b"", "b.csv: the file has no header"),
        (b"x,y\n\xe9,1\n", "b.csv, "),
    ],
)
def test_what_breaks_the_dialect_is_said_of_the_file_in_which_it_does(
    tmp_path: Path, content: bytes, message: str
) -> None:
    folder = folder_of(tmp_path / "t", {"a.csv": b"x,y\n" + b"1,2\n" * 9, "b.csv": content})
    assert told(bind(T, folder), tmp_path).startswith(message)


def removed(folder: Path) -> None:
    (folder / "b.csv").unlink()


def longer(folder: Path) -> None:
    (folder / "b.csv").write_bytes(b"x\n1\n2\n")


@pytest.mark.parametrize("change", [removed, longer])
def test_a_file_that_changes_before_it_is_staged_is_an_error(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = folder_of(tmp_path / "t", {"a.csv": b"x\n1\n", "b.csv": b"x\n1\n"})
    source = bind(T, folder)
    seen = inspect(source)
    change(folder)
    with pytest.raises(DataError, match=r"b\.csv"):
        text_batches(source, seen).read_all()


# --- Written in parts


def write(output: Path, kind: OutputFormat, rows: int | None, batches: list[list[str]]) -> tuple[Path, ...]:
    with closing(Files(output, ("x,1", "y"), kind, rows)) as files:
        for texts in batches:
            batch = pa.record_batch([pa.array(texts, pa.string())] * 2, names=["x,1", "y"])
            for some, writer in files.divided(batch):
                writer.write(some)
    return files.paths


@pytest.mark.parametrize("kind", OutputFormat)
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8])
def test_parts_hold_the_content_of_the_one_file(tmp_path: Path, kind: OutputFormat, rows: int) -> None:
    batches = [["a", "b\n"], ["c,", "d", "e"], [], ["f", 'g"']]
    one = write(tmp_path / f"one.{kind}", kind, None, batches)
    parts = write(tmp_path / f"t.{kind}", kind, rows, batches)
    assert one == (tmp_path / f"one.{kind}",)
    assert len(parts) == -(-7 // rows)
    assert list(parts) == sorted(parts) == sorted(tmp_path.glob("t-*"))
    assert content_digest(parts, kind) == content_digest(one, kind)
    if kind is OutputFormat.CSV:
        assert content_digest(one, kind) == f"sha256:{hashlib.sha256(one[0].read_bytes()).hexdigest()}"
        counts = [len(rows_of(bind(T, path))) for path in parts]
        assert counts == [min(rows, 7 - rows * number) for number in range(len(parts))]


@pytest.mark.parametrize("kind", OutputFormat)
def test_a_table_without_rows_is_one_part(tmp_path: Path, kind: OutputFormat) -> None:
    (part,) = write(tmp_path / f"t.{kind}", kind, 5, [[]])
    one = write(tmp_path / f"one.{kind}", kind, None, [])
    assert part.name == f"t-00000.{kind}"
    assert content_digest([part], kind) == content_digest(one, kind)


def test_names_of_parts_are_ordered_as_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "t.csv"
    for parts in (3, 100_000, 100_001):
        some = range(0, parts, max(1, parts // 10))
        names = [part_of(output, number, parts).name for number in some]
        assert names == sorted(names)
    monkeypatch.setattr(writing, "MOST_PARTS", 2)
    with pytest.raises(BackendError, match="--rows-per-part"):
        write(output, OutputFormat.CSV, 1, [["a", "b", "c"]])


# --- Published parts, as the verifier reads them

NAMES = ("x", "y")


def read_parts(folder: Path, parts: list[bytes]) -> int:
    files = folder_of(folder, {f"{number}.csv": part for number, part in enumerate(parts)})
    output = Output.in_folder(files, OutputFormat.CSV)
    return sum(batch.rows for batch in read_output(output, NAMES, ("z",)).batches(NAMES, None))


GOOD = [b"x,y\na,1\na,2\n", b'x,y\nb,"1,5"\n', b"x,y\nc,\n"]


def test_good_parts_are_good(tmp_path: Path) -> None:
    assert read_parts(tmp_path / "t", GOOD) == 4


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (b'x,y\n"b","1"\n', "quoted in more than one way"),
        (b'"x","y"\n"b","1,5"\n', "quoted in more than one way"),
        (b'"x","y"\nb,1\n', "quoted in more than one way"),
        (b"x,y\r\nb,1\r\n", "line ends|quoted in more than one way"),
        (b"x,y\nb,1", "line ends"),
        (BOM + b"x,y\nb,1\n", "byte order mark"),
        (b"y,x\nb,1\n", "its columns are not the plan's"),
        (b"b,1\n", "its columns are not the plan's"),
        (b"x,y,z\nb,1,1\n", "it contains `z`"),
    ],
)
def test_a_part_of_another_form_is_refused(tmp_path: Path, part: bytes, message: str) -> None:
    with pytest.raises(GuaranteeError, match=message) as caught:
        read_parts(tmp_path / "t", [GOOD[0], part, GOOD[2]])
    assert caught.value.where == "1.csv" or "quoted" in caught.value.problem


def test_a_missing_part_cannot_be_read(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "t", {"0.csv": GOOD[0]})
    output = Output(folder, OutputFormat.CSV, (folder / "0.csv", folder / "1.csv"))
    with pytest.raises(SmaltiError, match=r"1\.csv"):
        read_output(output, NAMES, ())
    assert replace(output, parts=output.parts[:1]).paths == (folder / "0.csv",)


def test_the_longest_name_of_an_output_is_one_of_a_file_and_a_longer_one_is_refused(tmp_path: Path) -> None:
    output = IRI("http://example.com/" + "a" * MOST_IN_STEM)
    for kind in (*OutputFormat, *ModelFormat):
        part = part_of(tmp_path / file_name(output, kind), 10**9, 10**10)
        part.with_name(part.name + METADATA_SUFFIX).touch()
    permission = Permission(uid=IRI("urn:x:1"), targets=(), action=ANONYMIZE)
    assert Granted(replace(permission, output=output), ()).output == output
    with pytest.raises(UsageError, match="too long for a file name"):
        _ = Granted(replace(permission, output=IRI(output + "a")), ()).output
