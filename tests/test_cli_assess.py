"""`smalti assess`: what tells people apart, by counts and names of columns, and the way on to `init`."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import real_files
from shell import ROOT, Ran, listing, smalti

import smalti as api
from smalti.engine.run.column_names import Hint, hint_of
from smalti.errors import DataError, UsageError

EXAMPLES = ROOT / "examples" / "data"
PATIENTS = EXAMPLES / "patients.csv"
RESIDENTS = EXAMPLES / "residents.csv"
KNOWN = ["--quasi-identifier", "DoB", "--quasi-identifier", "Sex", "--quasi-identifier", "ZIP"]
TABLE = "who,born,town\na,1950,Bonn\na,1950,Bonn\nb,1950,Ulm\nc,1960,Ulm\n"


def report(*arguments: str | Path, cwd: Path) -> dict[str, Any]:
    ran = smalti("assess", *arguments, "--format", "json", cwd=cwd)
    assert ran.code == 0, ran
    document: dict[str, Any] = ran.json
    return document


def table(folder: Path, text: str = TABLE) -> Path:
    place = folder / "t.csv"
    place.write_text(text, encoding="utf-8")
    return place


# --- What it says


def test_the_hospital_has_the_figures_that_were_counted_by_hand(tmp_path: Path) -> None:
    """D5.2, Figure 2.1: of 17 patients nine are women, and a man and a woman share a ZIP twice."""
    found = report(PATIENTS, "--one-row-each", "--sensitive", "Disease", *KNOWN, cwd=tmp_path)
    assert (found["rows"], found["countsPeople"], len(found["sets"])) == (17, True, 7)
    assert found["minimalUniqueSets"] == [["DoB"], ["Sex", "ZIP"]]
    sets = {tuple(entry["columns"]): entry for entry in found["sets"]}
    sex = sets["Sex",]
    assert (sex["combinations"], sex["unique"]) == (2, 0)
    assert sex["separation"] == pytest.approx(9 * 8 / (17 * 16 / 2))
    assert sex["distinction"] == pytest.approx(2 / 17)
    assert sex["prosecutor"] == {
        "atRisk": 0, "shareAtRisk": 0, "highestRisk": 1 / 8, "averageRisk": pytest.approx(2 / 17),
    }  # fmt: skip
    zip_code = sets["ZIP",]
    assert (zip_code["combinations"], zip_code["unique"]) == (15, 13)
    assert zip_code["separation"] == pytest.approx(1 - 2 / 136)
    assert zip_code["prosecutor"]["atRisk"] == 17
    assert zip_code["prosecutor"]["averageRisk"] == pytest.approx(15 / 17)
    assert found["together"]["columns"] == ["DoB", "Sex", "ZIP"]
    assert found["journalist"] is None
    assert found["populationUniques"] is None


def test_people_are_counted_and_not_rows(tmp_path: Path) -> None:
    found = report(table(tmp_path), "--respondent", "who", cwd=tmp_path)
    sets = {tuple(entry["columns"]): entry for entry in found["sets"]}
    assert sets["born",]["respondents"] == 3
    assert sets["born",]["unique"] == 1
    assert sets["born",]["separation"] == pytest.approx(2 / 3)
    assert found["minimalUniqueSets"] == [["born", "town"]]


def test_where_nobody_says_who_the_person_is_it_speaks_of_rows(tmp_path: Path) -> None:
    place = table(tmp_path)
    assert report(place, cwd=tmp_path)["countsPeople"] is False
    shown = smalti("assess", place, cwd=tmp_path).out
    assert "rows are counted, not people" in shown
    assert "of 4 rows (" in shown
    assert " people (" not in shown


def test_the_description_says_who_the_person_is(tmp_path: Path) -> None:
    described = {
        "@context": ["http://www.w3.org/ns/csvw", {"csvw-eo": "https://w3id.org/csvw-eo#"}],
        "url": "t.csv",
        "tableSchema": {"columns": [{"name": name} for name in ("who", "born", "town")]},
        "https://w3id.org/smalti#respondent": "who",
    }
    place = table(tmp_path)
    (tmp_path / "t.csv-metadata.json").write_text(json.dumps(described), encoding="utf-8")
    found = report(place, cwd=tmp_path)
    assert (found["countsPeople"], found["respondent"]) == (True, "who")


def test_rows_without_a_person_are_left_out_and_counted(tmp_path: Path) -> None:
    found = report(table(tmp_path, TABLE + ",1970,Bonn\n"), "--respondent", "who", cwd=tmp_path)
    assert found["rowsWithoutRespondent"] == 1
    assert found["sets"][0]["combinations"] == 2


def test_a_missing_value_is_a_value_of_its_own(tmp_path: Path) -> None:
    found = report(table(tmp_path, "a,b\n1,x\n,x\n2,x\n"), "--one-row-each", cwd=tmp_path)
    assert found["minimalUniqueSets"] == [["a"]]
    assert found["columns"][0]["missing"] == 1


def test_roles_are_proposed_by_counts(tmp_path: Path) -> None:
    text = "name,sex,country\n" + "".join(f"n{n}x,{'fm'[n % 2]},de\n" for n in range(20))
    found = report(table(tmp_path, text), "--one-row-each", cwd=tmp_path)
    assert {column["name"]: column["proposed"] for column in found["columns"]} == {
        "name": "identifier", "sex": "quasi-identifier", "country": "constant",
    }  # fmt: skip


def test_keys_and_names_and_illnesses_are_no_quasi_identifiers(tmp_path: Path) -> None:
    """Also where people have several rows, and whether or not somebody says who they are."""
    rows = [(41000 + n % 15, f"n{n % 15}", 20 + n % 7, "abc"[n % 3], n % 2, 7 * n) for n in range(30)]
    header = "Patient number,Name,age,Diagnosis,ward_id,weight\n"
    place = table(tmp_path, header + "".join(",".join(map(str, row)) + "\n" for row in rows))
    proposed = {
        "Patient number": ("identifier or respondent", True), "Name": ("identifier", False),
        "age": ("quasi-identifier", False), "Diagnosis": ("sensitive", False),
        "ward_id": ("quasi-identifier", True), "weight": ("identifier or respondent", True),
    }  # fmt: skip
    found = report(place, "--init", cwd=tmp_path)
    roles = {each["name"]: (each["proposed"], each["isToBeDecided"]) for each in found["columns"]}
    assert roles == proposed
    assert found["together"]["columns"] == ["age", "ward_id"]
    policy = (tmp_path / "t.policy.yaml").read_text(encoding="utf-8")
    assert "identifiers: [Name, Patient number, weight]" in policy
    assert "sensitive: [Diagnosis]" in policy
    found = report(place, "--respondent", "Patient number", cwd=tmp_path)
    roles = {each["name"]: each["proposed"] for each in found["columns"]}
    assert roles == {
        "Patient number": "respondent", "Name": "identifier", "age": "quasi-identifier",
        "Diagnosis": "sensitive", "ward_id": "quasi-identifier", "weight": "identifier",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("PatientName", Hint.NAMES_PEOPLE), ("e-mail", Hint.NAMES_PEOPLE), ("product_name", None),
        ("patientid", Hint.KEY), ("PATIENT_ID", Hint.KEY), ("paid", None), ("zip_code", Hint.KNOWN),
        ("Diagnose", Hint.SENSITIVE), ("DoB", Hint.KNOWN), ("", None),
    ],
)  # fmt: skip
def test_names_hint_at_roles(name: str, hint: Hint | None) -> None:
    assert hint_of(name) is hint


def test_the_journalist_needs_a_population(tmp_path: Path) -> None:
    without = smalti("assess", PATIENTS, "--one-row-each", *KNOWN, cwd=tmp_path)
    assert "journalist   not known" in without.out
    two = ["--quasi-identifier", "Sex", "--one-row-each"]
    found = report(PATIENTS, *two, "--population", RESIDENTS, cwd=tmp_path)
    residents = [line.split(",")[1] for line in RESIDENTS.read_text().splitlines()[1:]]
    fewest = min(residents.count("F"), residents.count("M"))
    assert found["journalist"]["highestRisk"] == pytest.approx(1 / fewest)
    assert found["journalist"]["highestRisk"] < found["together"]["prosecutor"]["highestRisk"]


def test_texts_for_missing_values_are_those_of_the_population_too(tmp_path: Path) -> None:
    place = table(tmp_path, "a,b\n1,k.A.\n2,x\n")
    (tmp_path / "p.csv").write_text("a,b\n1,\n2,x\n2,x\n1,k.A.\n", encoding="utf-8")
    known = ["--one-row-each", "--quasi-identifier", "b", "--population", "p.csv"]
    found = report(place, *known, "--null", "k.A.", cwd=tmp_path)
    assert found["journalist"] == {
        "atRisk": 2, "shareAtRisk": 1, "highestRisk": 0.5, "averageRisk": 0.5,
    }  # fmt: skip


def test_a_sample_says_bounds_of_its_population(tmp_path: Path) -> None:
    data = EXAMPLES / "contraceptive.csv"
    found = report(data, "--one-row-each", "--sample-of", "3000", cwd=tmp_path)["populationUniques"]
    assert 0 <= found["least"] < found["most"] <= 3000
    assert found["remarks"] == [remark for remark in found["remarks"] if "no range of its own" in remark]
    said = " ".join(
        smalti("assess", data, "--one-row-each", "--sample-of", "3000", cwd=tmp_path).out.split()
    )
    assert "between" in said
    assert "Pitman's estimate has no range of its own" in said
    small = report(data, "--one-row-each", "--sample-of", "300000", cwd=tmp_path)["populationUniques"]
    assert small["least"] == 0
    assert "the lower end is 0 since" in small["remarks"][0]


def test_somebody_with_several_combinations_leaves_the_population_open(tmp_path: Path) -> None:
    place = table(tmp_path, TABLE + "a,1970,Ulm\n")
    ran = smalti("assess", place, "--respondent", "who", "--sample-of", "10", cwd=tmp_path)
    assert "nothing is said of its uniques" in ran.out


@pytest.mark.parametrize("kind", ["german", "excel", "parquet", "duckdb"])
def test_all_kinds_of_files_have_the_same_people(tmp_path: Path, kind: str) -> None:
    write, _ = real_files.KINDS[kind]
    place = write(tmp_path)
    found = report(place.name, "--null", "k.A.", "--respondent", "who", "--size", "2", cwd=tmp_path)
    assert found["countsPeople"]
    assert found["sets"]


# --- The way on


def test_it_prints_the_command_that_begins_a_policy(tmp_path: Path) -> None:
    place = table(tmp_path)
    shown = smalti("assess", place.name, "--respondent", "who", cwd=tmp_path).out.splitlines()
    words = shown[-1].split()
    assert words[:3] == ["smalti", "init", "t.csv"]
    assert smalti(*words[1:], cwd=tmp_path).code == 0
    by_command = listing(tmp_path)
    for name in ("t.policy.yaml", "t.csv-metadata.json"):
        (tmp_path / name).unlink()
    assert smalti("assess", place.name, "--respondent", "who", "--init", cwd=tmp_path).code == 0
    assert listing(tmp_path) == by_command, "one way to write both"


def test_what_it_writes_is_for_the_owner_alone(tmp_path: Path) -> None:
    place = table(tmp_path)
    ran = smalti("assess", place, "--report", "r.json", "--format", "json", cwd=tmp_path)
    assert stat.S_IMODE((tmp_path / "r.json").stat().st_mode) == 0o600
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == ran.out
    again = smalti("assess", place, "--report", "r.json", cwd=tmp_path)
    assert (again.code, "r.json" in again.message) == (2, True)


def test_no_value_of_the_data_is_said_or_written(tmp_path: Path) -> None:
    """Also not where something is wrong."""
    mark = "Zwxq"
    text = "who,town,note\n" + "".join(f"{mark}a{n},{mark}b{n % 3},{mark}c\n" for n in range(30))
    place = table(tmp_path, text)
    other = tmp_path / "p.csv"
    other.write_text(f"town,note\n{mark}b9,{mark}c\n", encoding="utf-8")
    known = ["--quasi-identifier", "town"]
    said: list[Ran] = [
        smalti("assess", place, *more, cwd=tmp_path)
        for more in (
            ["--respondent", "who", "--init", "--report", "r.json", "--verbose", "--sample-of", "90"],
            ["--format", "json"],
            ["--one-row-each", *known, "--population", other],
            ["--respondent", "nobody"],
            ["--sample-of", "2", "--one-row-each"],
        )
    ]
    assert [ran.code for ran in said] == [0, 0, 1, 2, 2]
    written = [
        path.read_text(encoding="utf-8") for path in tmp_path.iterdir() if path not in (place, other)
    ]
    assert len(written) == 3
    assert mark not in "".join([*(ran.out + ran.err for ran in said), *written])


# --- What is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.csv"], ["nothing.csv"]),
        (["t.csv", "--respondent", "whom"], ["whom", "no column"]),
        (["t.csv", "--quasi-identifier", "age"], ["age", "no column"]),
        (["t.csv", "--size", "0"], ["--size", "at least 1"]),
        (["t.csv", "--threshold", "1"], ["threshold", "below 1"]),
        (["t.csv", "--threshold", "0"], ["threshold", "below 1"]),
        (["t.csv", "--threshold", "1e-999999999"], ["threshold", "below 1"]),
        (["t.csv", "--threshold", "much"], ["threshold", "no number"]),
        (["t.csv", "--threshold", "nan"], ["threshold", "no number"]),
        (["t.csv", "--sample-of", "0"], ["--sample-of", "at least 1"]),
        (["t.csv", "--sample-of", "9" * 40], ["sample of", "at most"]),
        (["t.csv", "--sample-of", "2", "--one-row-each"], ["sample of", "4 people"]),
        (["t.csv", "--respondent", "who", "--one-row-each"], ["respondent", "one row each"]),
        (["t.csv", "--sensitive", "born", "--quasi-identifier", "born"], ["`born`", "two roles"]),
        (["t.csv", "--population", "t.csv"], ["population", "quasi-identifiers"]),
        (["t.csv", "--population", "p.csv", "--quasi-identifier", "born"], ["population", "`born`"]),
        (["t.csv", *(word for name in ("who", "born", "town") for word in ("--sensitive", name))],
         ["columns", "none is left"]),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused(tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    table(tmp_path)
    (tmp_path / "p.csv").write_text("a\n1\n", encoding="utf-8")
    before = listing(tmp_path)
    ran = smalti("assess", *arguments, "--report", "r.json", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert all(word in ran.message for word in words), ran.message
    assert listing(tmp_path) == before


@pytest.mark.parametrize("text", ["a,b\n", "who,b\n,1\n,2\n"])
def test_a_table_without_people_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"no row"):
        api.assess(table(tmp_path, text), respondent=text.partition(",")[0])


def test_too_many_sets_are_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_: object) -> None:
        raise AssertionError("values are looked at")

    monkeypatch.setattr("smalti.engine.run.profiling._columns", looked)
    names = [f"c{place}" for place in range(60)]
    place = table(tmp_path, ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    with pytest.raises(UsageError, match=r"60 columns have 36,050 sets .* expected at most 20,000 sets"):
        api.assess(place)


# --- In Python


def test_python_has_the_same_figures() -> None:
    found = api.assess(PATIENTS, one_row_each=True, sensitive=["Disease"], threshold=0.5, size=1)
    assert [found.named(figures) for figures in found.minimal] == [("DoB",)]
    with pytest.raises(UsageError, match="size"):
        api.assess(PATIENTS, size=0)


def test_the_page_stands_alone_and_is_for_the_owner(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    options = (
        "--one-row-each",
        "--sensitive",
        "Disease",
        *KNOWN,
        "--sample-of",
        "1000",
        "--page",
        "a.html",
    )
    ran = smalti("assess", PATIENTS, *options, cwd=tmp_path)
    assert ran.code == 0, ran
    place = tmp_path / "a.html"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    page = place.read_text(encoding="utf-8")
    assert "DoB alone tells all people apart." in page
    assert "somebody knows that a person is in the data: 17 of 17 people" in page
    assert "of 1,000 people, between" in page
    assert not any(mark in page for mark in ("src=", "href=", "<script", "dyspepsia"))
    assert smalti("assess", PATIENTS, *options, cwd=tmp_path).code == 2, "an existing file is not replaced"
