"""`smalti init`: from a file to a description and a policy, without a value of the data in either."""

import csv
import io
import json
import shlex
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import real_files
from shell import ROOT, Ran, listing, smalti

import smalti as api
from smalti.engine.backends.spark import SparkBackend
from smalti.errors import SmaltiError
from smalti.starting import look

PARTY = "http://example.com/party/recipient"
OWNER = "http://example.com/party/owner"
Writer = Callable[[Path], Path]
FIVE = ("german", "excel", "gzip", "parquet", "duckdb")
NULL = {"german": ["--null", "k.A."]}
ROLES = [
    "--respondent", "who", "--quasi-identifier", "born", "--quasi-identifier", "seen",
    "--quasi-identifier", "weight", "--quasi-identifier", "city", "--sensitive", "illness", "--k", "3",
]  # fmt: skip


def bare(folder: Path, write: Writer) -> str:
    """A file without a description, as `--data` names it inside of the folder."""
    place = write(folder)
    for metadata in folder.glob("*-metadata.json"):
        metadata.unlink()
    return place.name


def table(folder: Path, text: str, name: str = "t.csv") -> str:
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return name


def policy_in(folder: Path) -> Path:
    (place,) = folder.glob("*.policy.yaml")
    return place


def bound(policy: Path, data: str) -> list[str]:
    return ["--data", f"http://example.com/{policy.name.removesuffix('.policy.yaml')}={data}"]


def described(folder: Path) -> dict[str, Any]:
    (place,) = folder.glob("*-metadata.json")
    columns = json.loads(place.read_text(encoding="utf-8"))["tableSchema"]["columns"]
    return {column["name"]: column for column in columns}


def written_to(folder: Path) -> str:
    """All that `init` wrote."""
    places = [*folder.glob("*.policy.yaml"), *folder.glob("*-metadata.json")]
    return "\n".join(place.read_text(encoding="utf-8") for place in places)


def published(folder: Path, data: str, policy: Path, **choices: Any) -> bytes:
    target = f"http://example.com/{policy.name.removesuffix('.policy.yaml')}"
    api.run(
        policy, data={target: f"{folder}/{data}"}, party=PARTY, owner=OWNER, out=folder / "published",
        registry=folder / "smalti.sqlite", **choices,
    )  # fmt: skip
    (place,) = (folder / "published").glob("*.csv")
    return place.read_bytes()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Answer questions, as on a terminal."""

    def give(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr("smalti.cli.scaffolding._is_terminal", lambda: True)

    return give


# --- From five files to a published table


@pytest.fixture(scope="module")
def in_canonical_csv(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Writer, Path], bytes]:
    """What is published of a canonical CSV file under a policy about another file."""
    contents: dict[Writer, bytes] = {}

    def of(write: Writer, policy: Path) -> bytes:
        if write not in contents:
            folder = tmp_path_factory.mktemp("canonical")
            data = write(folder)
            contents[write] = published(folder, data.name, renamed(policy, folder, data))
        return contents[write]

    return of


@pytest.mark.parametrize("kind", FIVE)
def test_from_a_file_to_a_published_table(
    tmp_path: Path, kind: str, in_canonical_csv: Callable[[Writer, Path], bytes]
) -> None:
    """Init, roles, check, try and run; the result is that of the same content in canonical CSV."""
    write, write_canonical = real_files.KINDS[kind]
    data = bare(tmp_path, write)
    first = smalti("init", data, *NULL.get(kind, []), *ROLES, cwd=tmp_path)
    assert first.code == 0, first
    policy = policy_in(tmp_path)
    for command in (["check", policy], ["try", policy, *bound(policy, data)]):
        seen = smalti(*command, cwd=tmp_path)
        assert seen.code == 0, seen
    content = published(tmp_path, data, policy)
    assert b"[1950-01-01.." in content, "dates become ranges"
    assert b"..1041.25]" in content, "numbers become ranges"
    assert content == in_canonical_csv(write_canonical, policy)


def renamed(policy: Path, folder: Path, data: Path) -> Path:
    """The same policy about another file."""
    name = policy.name.removesuffix(".policy.yaml")
    place = folder / f"{data.stem}.policy.yaml"
    text = policy.read_text(encoding="utf-8")
    place.write_text(
        text.replace(f"http://example.com/{name}", f"http://example.com/{data.stem}"), encoding="utf-8"
    )
    return place


@pytest.mark.slow
@pytest.mark.spark
def test_spark_publishes_the_same(tmp_path: Path, spark: Any) -> None:
    contents = []
    for engine in (None, SparkBackend(spark)):
        folder = tmp_path / str(len(contents))
        folder.mkdir()
        data = bare(folder, real_files.german)
        assert smalti("init", data, *NULL["german"], *ROLES, cwd=folder).code == 0
        contents.append(
            published(folder, data, policy_in(folder), **({} if engine is None else {"engine": engine}))
        )
    assert contents[0] == contents[1]


@pytest.mark.parametrize("kind", FIVE)
def test_nothing_of_the_data_is_written(tmp_path: Path, kind: str) -> None:
    """No value, no bound and no count: what is written is the same for other data of the same kind."""
    data = bare(tmp_path, real_files.KINDS[kind][0])
    seen = smalti("init", data, *ROLES, cwd=tmp_path)
    assert seen.code == 0, seen
    text = written_to(tmp_path)
    values = {str(cell) for row in real_files.rows() for cell in row if cell is not None}
    values |= {f"{row[1]:%d.%m.%Y}" for row in real_files.rows()} | {"k.A.", "Auszug", "24", "1041", "1950"}
    assert sorted(value for value in values if value in text) == []
    assert not any(value in seen.out + seen.err for value in values - {"24"}), (
        "the terminal shows counts alone"
    )


def test_a_walk_is_shorter_than_before(
    tmp_path: Path, answers: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """From a file to a published table: what has to be typed, without `init` and with it."""
    data = bare(tmp_path, real_files.german)
    commands = [
        f"smalti init {data} --null k.A.",
        f"smalti try export.policy.yaml --data http://example.com/export={data}",
        f"smalti run export.policy.yaml --data http://example.com/export={data}"
        f" --as {PARTY} --owner {OWNER} --out published",
    ]
    typed = ["1", "2,3,4,5", "6", "", "3"]
    answers(*typed)
    begin = monotonic()
    for command in commands:
        seen = smalti(*shlex.split(command)[1:], cwd=tmp_path)
        assert seen.code == 0, seen
    assert (tmp_path / "published").is_dir()
    seconds = monotonic() - begin
    by_hand = (ROOT / "docs" / "how-to" / "real-files.md").read_text(encoding="utf-8")
    documents = [
        by_hand.partition(f'title="{name}"\n')[2].partition("```")[0]
        for name in ("ward.jsonld", "ward.csv-metadata.json")
    ]
    lines = sum(document.count("\n") for document in documents)
    before = sum(map(len, documents)) + len(commands[1]) + len(commands[2]) + 2
    after = sum(len(text) + 1 for text in [*commands, *typed])
    with capsys.disabled():
        print(
            f"\nfrom a file to a published table, before: {lines} lines of JSON, 2 commands,"
            f" {before} keystrokes; after: 3 commands, {len(typed)} answers, {after} keystrokes,"
            f" {seconds:.1f} s of computing"
        )
    assert after < before
    assert len(typed) < lines


# --- On a terminal


def test_on_a_terminal_it_asks(tmp_path: Path, answers: Callable[..., None]) -> None:
    data = bare(tmp_path, real_files.german)
    answers("nobody", "1", "2, seen,4,5", "illness", "", "3")
    asked = smalti("init", data, "--null", "k.A.", cwd=tmp_path)
    assert asked.code == 0, asked
    assert "there is no column `nobody`" in asked.err
    policy = policy_in(tmp_path).read_text(encoding="utf-8")
    (tmp_path / "again").mkdir()
    data = bare(tmp_path / "again", real_files.german)
    assert api.init(
        tmp_path / "again" / data, null=["k.A."], respondent="who", sensitive=["illness"], k=3,
        quasi_identifiers=["born", "seen", "weight", "city"],
    ).policy.read_text(encoding="utf-8") == policy  # fmt: skip


def test_what_an_option_says_is_not_asked(tmp_path: Path, answers: Callable[..., None]) -> None:
    data = table(tmp_path, "who,age\nann,31\nbob,42\n")
    answers("", "")
    asked = smalti("init", data, "--one-row-each", "--quasi-identifier", "age", "--k", "2", cwd=tmp_path)
    assert asked.code == 0, asked
    assert "one-row-each: true" in written_to(tmp_path)


def test_each_row_may_be_the_answer(tmp_path: Path, answers: Callable[..., None]) -> None:
    data = table(tmp_path, "who,age\nann,31\nbob,42\n")
    answers("each row", "2", "2", "1", "", "2")
    asked = smalti("init", data, cwd=tmp_path)
    assert asked.code == 0, asked
    assert "the column `age` has a role already" in asked.err
    assert "one-row-each: true" in written_to(tmp_path)
    assert "\nsensitive: [who]" in written_to(tmp_path)


@pytest.mark.parametrize(("answer", "datatype"), [
    ("1", {"base": "date", "format": "dd/MM/yyyy"}),
    ("2", {"base": "date", "format": "MM/dd/yyyy"}),
    ("0", None),
])  # fmt: skip
def test_two_formats_are_asked_about(
    tmp_path: Path, answers: Callable[..., None], answer: str, datatype: object
) -> None:
    data = table(tmp_path, "who,born\nann,01/02/1950\nbob,03/04/1951\n")
    answers("1", "2", "", "", "2", answer)
    assert smalti("init", data, cwd=tmp_path).code == 0
    assert described(tmp_path)["born"].get("datatype") == datatype


# --- Without one


def test_what_is_not_chosen_stays_to_be_done(tmp_path: Path) -> None:
    data = table(tmp_path, "who,born,town\nann,01/02/1950,Bern\nbob,03/04/1951,Ulm\n")
    seen = smalti("init", data, cwd=tmp_path)
    assert seen.code == 0, seen
    assert "to fill in   what others may know of a person: `quasi-identifiers`" in seen.out
    policy = policy_in(tmp_path)
    text = policy.read_text(encoding="utf-8")
    assert "#   [who, born, town]" in text
    assert text.count("# TODO") == 3
    checked = smalti("check", policy, cwd=tmp_path)
    assert checked.code == 1
    assert "list the columns with `quasi-identifiers`" in checked.out
    assert described(tmp_path)["born"]["comment"].startswith("TODO: two formats fit.")
    policy.write_text(
        text.replace("# quasi-identifiers: [COLUMN, COLUMN]", "quasi-identifiers: [born]"), encoding="utf-8"
    )
    assert (
        "the policy does not say which rows are about one person"
        in smalti("check", policy, cwd=tmp_path).out
    )


def test_values_of_several_forms_are_told_and_left_undeclared(tmp_path: Path) -> None:
    lines = [f"p{n},{n + 1:02}.03.1950,{n}.5" for n in range(20)]
    lines[3], lines[4] = "p3,1950-03-04,k.A.", "p4,1950-03-05,7.5"
    data = table(tmp_path, "\n".join(["who,born,weight", *lines, ""]))
    seen = smalti("init", data, cwd=tmp_path)
    columns = described(tmp_path)
    assert "datatype" not in columns["born"]
    assert '"dd.MM.yyyy"' in columns["born"]["comment"]
    assert '"decimal"' in columns["weight"]["comment"]
    assert "not all values are of one form" in " ".join(seen.out.split())
    assert "k.A." not in written_to(tmp_path)
    assert "to fill in   the format of the column `born`" in seen.out
    other = table(tmp_path, (tmp_path / data).read_text(), "u.csv")
    assert smalti("init", other, "--null", "k.A.", cwd=tmp_path).code == 0
    document = json.loads((tmp_path / "u.csv-metadata.json").read_text())
    assert document["null"] == "k.A."
    assert document["tableSchema"]["columns"][2] == {"name": "weight", "datatype": "decimal"}


def test_types_come_from_the_whole_file(tmp_path: Path) -> None:
    """A sample would take a late text for a number."""
    lines = [f"{n},{n}" for n in range(8000)]
    data = table(tmp_path, "\n".join(["who,age", *lines, "8000,old", ""]))
    profile = look(str(tmp_path / data))
    assert profile.proposal is not None
    assert [column.datatype for column in profile.proposal.columns] == ["integer", "integer"]
    who, age = profile.columns
    assert (who.datatype, age.datatype) == ("integer", None)
    assert (who.distinct, who.repeated, profile.rows) == (8001, 0, 8001)


def test_counts_tell_who_may_be_the_person(tmp_path: Path) -> None:
    data = table(tmp_path, "who,age,note\n" + "".join(f"p{n // 2},{n % 3},\n" for n in range(40)))
    profile = look(str(tmp_path / data))
    assert [(c.name, c.distinct, c.missing, c.repeated) for c in profile.columns] == [
        ("who", 20, 0, 40), ("age", 3, 0, 40), ("note", 0, 40, 0),
    ]  # fmt: skip
    assert [column.name for column in profile.candidates] == ["who", "age"]
    seen = smalti("init", data, cwd=tmp_path)
    assert "who: 20 different in 40 rows" in seen.out


def test_cells_of_several_types_are_counted(tmp_path: Path) -> None:
    """One person may stand there as the number 7 and as the text 007: init, plan and run say so."""
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute("CREATE TABLE t (who, age INTEGER, note)")
        rows = [(who, 30 + place, 5) for place, who in enumerate([7, "007", 8, 9, "x", "y"])]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [*rows, (10, 31, "five")])
    connection.close()
    roles = ("--respondent", "who", "--quasi-identifier", "age", "--k", "2")
    seen = smalti("init", "t.sqlite", *roles, cwd=tmp_path)
    assert "who has cells of several types: 4 numbers, 3 texts;" in " ".join(seen.out.split())
    assert "several types" not in written_to(tmp_path)
    policy = policy_in(tmp_path)
    target = f"http://example.com/{policy.name.removesuffix('.policy.yaml')}"
    requested = {"data": {target: tmp_path / "t.sqlite"}, "party": PARTY, "owner": OWNER}
    registry = {"registry": tmp_path / "smalti.sqlite"}
    planned = api.plan(policy, **requested, **registry).warnings
    ran = api.run(policy, out=tmp_path / "published", **requested, **registry).warnings
    for warnings in (planned, ran):
        (warning,) = (text for text in warnings if "several types" in text)
        assert warning.startswith("`who` has cells of several types (4 numbers, 3 texts):"), (
            "note is dropped"
        )


def test_l_makes_it_l_diversity(tmp_path: Path) -> None:
    data = table(tmp_path, "who,age,ill\nann,31,flu\nbob,42,cold\n")
    options = ["--one-row-each", "--quasi-identifier", "age", "--l", "2"]
    refused = smalti("init", data, *options, cwd=tmp_path)
    assert refused.code == 2
    assert "no column is sensitive" in refused.err
    seen = smalti("init", data, *options, "--sensitive", "ill", cwd=tmp_path)
    assert seen.code == 0, seen
    assert "\nmethod: l-diversity\nk: 5" in written_to(tmp_path)
    assert smalti("check", policy_in(tmp_path), cwd=tmp_path).code == 0


def test_names_that_yaml_would_misread(tmp_path: Path) -> None:
    names = ["no", "a: b", "c, d", "#e", "2020", "é\nf"]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *[[str(n)] * 6 for n in range(4)]])
    data = table(tmp_path, text.getvalue())
    options = [word for name in names[:4] for word in ("--quasi-identifier", name)]
    seen = smalti("init", data, "--header", "--one-row-each", *options, "--k", "2", cwd=tmp_path)
    assert seen.code == 0, seen
    policy = policy_in(tmp_path)
    assert smalti("plan", policy, *bound(policy, data), cwd=tmp_path).code == 0


def test_a_description_that_is_there_is_used(tmp_path: Path) -> None:
    place = real_files.german(tmp_path)
    before = listing(tmp_path)
    seen = smalti("init", place.name, "--quasi-identifier", "born", cwd=tmp_path)
    assert seen.code == 0, seen
    assert "described    by export.csv-metadata.json, which stays as it is" in seen.out
    after = listing(tmp_path)
    assert {name: after[name] for name in before} == before
    policy = policy_in(tmp_path)
    assert "# export.csv-metadata.json says who the person is." in policy.read_text(encoding="utf-8")
    assert smalti("try", policy, *bound(policy, place.name), cwd=tmp_path).code == 0
    with pytest.raises(SmaltiError, match="describes the data already"):
        api.init(place, name="other", null=["k.A."])


def test_a_folder_a_frame_and_out(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for part in "ab":
        table(tmp_path / "parts", f"who;age\n{part}1;31,5\n{part}2;42,0\n", f"{part}.csv")
    (tmp_path / "policies").mkdir()
    result = api.init(
        tmp_path / "parts", out=tmp_path / "policies", one_row_each=True, quasi_identifiers=["age"], k=2
    )
    assert result.policy == tmp_path / "policies" / "parts.policy.yaml"
    assert result.description == tmp_path / "parts-metadata.json"
    assert api.plan(result.policy, data={result.target: tmp_path / "parts"}).plan is not None
    framed = api.init(pa.table({"who": ["a", "b"], "age": [1, 2]}), out=tmp_path, respondent="who")
    assert (framed.policy.name, framed.description) == ("table.policy.yaml", None)
    assert framed.to_do == ("what others may know of a person: `quasi-identifiers`",)
    assert framed.dropped == ("age",)


# --- What is refused


def refused(folder: Path, *arguments: str) -> Ran:
    before = listing(folder)
    seen = smalti("init", *arguments, cwd=folder)
    assert seen.code in {1, 2}, seen
    assert listing(folder) == before, "nothing is written"
    return seen


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    data = table(tmp_path, "who,age\nann,31\nbob,42\n")
    (tmp_path / "t.policy.yaml").write_text("mine")
    assert "it exists already, and nothing is overwritten" in refused(tmp_path, data).err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("ann,31\nbob,42\n", "it seems to have no header"),
        ("a,a\n1,2\n", "two of its texts are alike"),
        ("", "header"),
        ("who,age\nann,31\nbob\n", "record 2"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: str, problem: str) -> None:
    seen = refused(tmp_path, table(tmp_path, content))
    assert problem in seen.err
    assert "bob" not in seen.err


def test_a_header_may_be_declared(tmp_path: Path) -> None:
    data = table(tmp_path, "2020,2021\n1,2\n3,4\n")
    assert "say --header" in refused(tmp_path, data).err
    assert smalti("init", data, "--header", cwd=tmp_path).code == 0
    assert [*described(tmp_path)] == ["2020", "2021"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere.csv"], "no such file"),
        (["s3://bucket/t.csv"], "it stands in an object store"),
        (["t.csv", "--out", "nowhere"], "there is no such folder"),
        (["t.csv", "--quasi-identifier", "agee", "--sensitive", "x"], "the data has no column `agee`"),
        (["t.csv", "--quasi-identifier", "age", "--sensitive", "age"], "two roles"),
        (["t.csv", "--respondent", "who", "--one-row-each"], "one of them"),
        (["t.csv", "--purpose", "markting", "--quasi-identifier", "age"], "did you mean `marketing`?"),
        (["t.csv", "--target", "me"], "--target"),
        (["t.csv", "--k", "1"], "--k"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: list[str], problem: str) -> None:
    table(tmp_path, "who,age\nann,31\nbob,42\n")
    seen = refused(tmp_path, *arguments)
    assert problem in seen.err
    assert "ann" not in seen.err


def test_a_number_out_of_range_says_what_is_expected(tmp_path: Path) -> None:
    data = table(tmp_path, "who,age\nann,31\nbob,42\n")
    too_small = refused(tmp_path, data, "--k", "0").err
    assert "error: --k: the number is out of range; expected a whole number, at least 2." in too_small
    assert "Correct the value, or leave it out" in too_small
    no_number = refused(tmp_path, data, "--l", "many").err
    assert "error: --l: the value is not such a number; expected a whole number, at least 2." in no_number
    advanced = smalti(
        "plan", "p.yaml", "--data", "http://e.com/a=b.csv", "--cut-threshold", "-1", cwd=tmp_path
    )
    assert (
        "--cut-threshold: the number is out of range; expected a whole number, at least 0." in advanced.err
    )
    assert "or leave it out, for 256" in advanced.err


def test_a_name_stays_in_its_folder(tmp_path: Path) -> None:
    data = table(tmp_path, "who,age\nann,31\nbob,42\n")
    with pytest.raises(SmaltiError, match="no name of a file"):
        api.init(tmp_path / data, name="../t")


def test_a_second_policy_gets_another_name(tmp_path: Path) -> None:
    data = table(tmp_path, "who,age\nann,31\nbob,42\n")
    for name in ("first", "second"):
        seen = smalti(
            "init", data, "--name", name, "--one-row-each", "--quasi-identifier", "age", cwd=tmp_path
        )
        assert seen.code == 0, seen
    assert {place.name for place in tmp_path.glob("*.yaml")} == {"first.policy.yaml", "second.policy.yaml"}
    assert "no name of a file" in refused(tmp_path, data, "--name", "../t").err


def test_several_tables_need_a_name(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE a (x INTEGER)")
        connection.execute("CREATE TABLE b (x INTEGER)")
    assert "it has 2 tables" in refused(tmp_path, "t.duckdb").err
