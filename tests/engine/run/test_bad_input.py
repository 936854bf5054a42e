"""Bad input: one message that says where, what, what was expected and the way out; nothing is written."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_tables import BAD_FILES
from shell import (
    CUSTOMER,
    HEADER,
    OUTPUT,
    OWNER,
    ROOT,
    USER,
    Ran,
    describe,
    listing,
    request,
    small_document,
    small_policy,
    small_rows,
    small_table,
    smalti,
)

BAD = ROOT / "tests" / "policy" / "bad"
STRANGER = "http://org/stranger"


def attempt(
    folder: Path, policy: Path | str, data: Path, *options: str | Path, code: int, **asked: Any
) -> Ran:
    """Ask for a run that must be refused, and for its plan; nothing may be left by either."""
    before = listing(folder)
    arguments = ["run", policy, *request(data, **asked), "--out", "out", *options]
    ran = smalti(*arguments, cwd=folder)
    assert ran.code == code, ran
    assert listing(folder) == before
    as_json = smalti(*arguments, "--format", "json", cwd=folder)
    assert as_json.code == code
    assert (as_json.out == "") == (ran.out == "")
    assert listing(folder) == before
    return ran


def paragraph(ran: Ran, *parts: str) -> None:
    """The message is one paragraph: where, what, what was expected, the way out."""
    message = ran.message.removesuffix("\n")
    assert ran.out == ""
    assert "\n\n" not in message
    where, _, told = message.partition(": ")
    assert where
    assert "; expected " in told, "what was expected is missing"
    assert ". " in told.partition("; expected ")[2], "the way out is missing"
    place = 0
    for part in parts:
        assert part in message[place:], f"{part!r} is not in its place in: {message}"
        place = message.index(part, place) + len(part)


# --- Policies


@dataclass(frozen=True)
class BadPolicy:
    name: str
    line: int
    column: int
    told: tuple[str, ...]


BAD_POLICIES = [
    BadPolicy("fig-2.6-as-printed", 61, 11, ("P103", "expected `,` or `]`", "`}` at line 60, column 1")),
    BadPolicy("method-misspelt", 14, 80, ("unknown method", "did you mean `k-anonymity`?")),
    BadPolicy("refinement-misspelt", 13, 7, ("unknown property", "did you mean `refinement`?")),
    BadPolicy("k-as-text", 15, 77, ("must be a number, not the text `10`", "without quotes")),
    BadPolicy("l-above-k", 16, 77, ("k is exactly 10", "lower l")),
]


@pytest.mark.parametrize("bad", BAD_POLICIES, ids=lambda bad: bad.name)
def test_a_bad_policy_is_shown_with_line_and_column(tmp_path: Path, bad: BadPolicy) -> None:
    policy, data = BAD / f"{bad.name}.jsonld", small_table(tmp_path)
    ran = attempt(tmp_path, policy, data, code=1)
    assert ran.out == ""
    assert f"{policy}:{bad.line}:{bad.column}: error[P" in ran.message
    assert "\n\n" not in ran.message.rstrip("\n")
    assert "help: " in ran.message
    assert all(part in ran.message for part in bad.told)
    for command in (
        ["check", policy],
        ["plan", policy, "--data", f"{CUSTOMER}={data}"],
        ["policy", "add", policy, "--as", OWNER],
        ["run", policy, *request(data), "--out", "out", "--dry-run"],
    ):
        before = listing(tmp_path)
        other = smalti(*command, cwd=tmp_path)
        assert other.code == 1
        assert f":{bad.line}:{bad.column}: error[P" in other.out + other.err
        assert listing(tmp_path) == before


def test_all_problems_of_a_policy_are_told_at_once(tmp_path: Path) -> None:
    policy = small_policy(tmp_path, method=("eq", "k-anonimity"), k=("gteq", "ten"))
    message = attempt(tmp_path, policy, small_table(tmp_path), code=1).message
    assert "2 errors" in message
    assert "P401" in message
    assert "P403" in message


def test_a_policy_that_is_not_there(tmp_path: Path) -> None:
    ran = attempt(tmp_path, "missing.jsonld", small_table(tmp_path), code=2)
    assert "missing.jsonld:1:1: error[P109]" in ran.message


def test_several_matching_permissions_are_listed(tmp_path: Path) -> None:
    other = small_document(rule={"uid": "http://example.com/policy/small/2"})["permission"]
    policy, data = small_policy(tmp_path, more=other), small_table(tmp_path)
    ran = attempt(tmp_path, policy, data, code=2)
    both = "http://example.com/policy/small/1, http://example.com/policy/small/2"
    paragraph(ran, CUSTOMER, f"several permissions match: {both}", "expected", "--rule")
    ran = attempt(tmp_path, policy, data, "--rule", "http://example.com/policy/small/3", code=1)
    assert "no permission with the uid" in ran.out
    picked = smalti(
        "run", policy, *request(data), "--out", "out", "--rule", "http://example.com/policy/small/2",
        cwd=tmp_path,
    )  # fmt: skip
    assert picked.code == 0


# --- Columns and respondents


def test_a_column_that_the_data_lacks(tmp_path: Path) -> None:
    columns = [{"@id": f"{CUSTOMER}/aeg"}, {"@id": f"{CUSTOMER}/profession"}]
    policy = small_policy(tmp_path, **{"quasi-identifier": ("isAllOf", columns)})
    data = small_table(tmp_path)
    # Only the description says of `age` that it is a name, and not a value of a first record.
    listed = ". The data has 4 columns; of those, policy and description name `who`, `illness`"
    first, second = attempt(tmp_path, policy, data, code=1).message.strip().splitlines()
    assert first.endswith(f"{listed}; the closest name is that of column 2")
    assert second.endswith(listed)
    describe(data, HEADER)
    first, second = attempt(tmp_path, policy, data, code=1).message.strip().splitlines()
    assert first.startswith(f"{policy}:45:17: `people.csv` has no column `{CUSTOMER}/aeg`; expected ")
    assert first.endswith(f". Did you mean `{CUSTOMER}/age`?")
    assert second.endswith("name `who`, `age`, `city`, `illness`")


def test_a_described_column_that_the_data_lacks(tmp_path: Path) -> None:
    data = small_table(tmp_path)
    describe(data, (*HEADER, "citty"))
    ran = attempt(tmp_path, small_policy(tmp_path), data, code=1)
    paragraph(ran, "people.csv-metadata.json", "the data has no column `citty`", "Did you mean `city`?")


def test_identifiers_that_repeat_without_a_respondent(tmp_path: Path) -> None:
    rows = [[f"p{n // 2}", *row[1:]] for n, row in enumerate(small_rows())]
    policy, data = small_policy(tmp_path, respondent=None), small_table(tmp_path, rows)
    ran = attempt(tmp_path, policy, data, code=1)
    paragraph(
        ran, "people.csv", "values repeat in the identifier `who`", "k counts people",
        "Declare `who`", "smalti:respondent", "smalti:oneRowEach", "--respondent",
    )  # fmt: skip
    describe(data, HEADER, respondent="who")
    assert smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path).code == 0


@pytest.mark.parametrize("people", [1, 2, 4])
def test_fewer_respondents_than_k(tmp_path: Path, people: int) -> None:
    rows = [[f"p{n % people}", *row[1:]] for n, row in enumerate(small_rows(10))]
    data = small_table(tmp_path, rows, respondent="who")
    ran = attempt(tmp_path, small_policy(tmp_path, k=("gteq", people + 1)), data, code=1)
    paragraph(ran, CUSTOMER, f"cannot meet k-anonymity with k = {people + 1}", "Bind more data")


def test_a_refusal_tells_the_rule_and_not_by_how_much(tmp_path: Path) -> None:
    """The requester learns the same whether one person is missing or all."""
    policy = small_policy(tmp_path, k=("gteq", 10))
    refusals = {
        attempt(tmp_path, policy, small_table(tmp_path, small_rows(count)), code=1).message
        for count in (0, 1, 9)
    }
    assert len(refusals) == 1


@pytest.mark.parametrize("blank", ["", '""'])
def test_a_row_without_a_respondent(tmp_path: Path, blank: str) -> None:
    data = small_table(tmp_path, respondent="who")
    text = data.read_text().replace("p3,", f"{blank},")
    data.write_text(text)
    ran = attempt(tmp_path, small_policy(tmp_path), data, code=1)
    paragraph(ran, "people.csv, column `who`", "a row has no respondent", "Complete the column")


# --- Requests


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"party": STRANGER}, f"the request is by `{STRANGER}`"),
        ({"purpose": "statistical"}, "the request is for `statistical`"),
        ({"purpose": None}, "the request states none"),
        ({"owner": None, "party": STRANGER}, f"the request is by `{STRANGER}`"),
    ],
)
def test_what_is_not_permitted_is_denied_with_reasons(
    tmp_path: Path, asked: dict[str, Any], told: str
) -> None:
    ran = attempt(tmp_path, small_policy(tmp_path), small_table(tmp_path), code=1, **asked)
    assert ran.err == ""
    headline, told_reasons = ran.out.split("\n", 1)
    reasons = " ".join(told_reasons.split())
    assert headline.split(": ")[0] in ("deny", "not applicable")
    assert f"{asked.get('party', USER)} may not anonymize" in headline
    assert told in reasons


def test_a_target_that_the_policy_is_not_about(tmp_path: Path) -> None:
    policy, data = small_policy(tmp_path), small_table(tmp_path)
    ran = attempt(tmp_path, policy, data, code=2, target="http://example.com/Other")
    paragraph(ran, str(policy), "http://example.com/Other", "--data IRI=PATH", CUSTOMER)


def test_a_target_of_no_permission_is_named_where_nobody_asks(tmp_path: Path) -> None:
    data = small_table(tmp_path)
    before = listing(tmp_path)
    policy = small_policy(tmp_path)
    ran = smalti("plan", policy, "--data", f"http://example.com/Other={data}", cwd=tmp_path)
    assert ran.code == 2
    paragraph(ran, str(policy), "http://example.com/Other", "--data IRI=PATH", CUSTOMER)
    assert listing(tmp_path).keys() == before.keys() | {"policy.jsonld"}


@pytest.mark.parametrize("kind", ["empty", "full", "file"])
def test_an_out_that_exists(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    if kind == "file":
        out.touch()
    else:
        out.mkdir()
        if kind == "full":
            (out / "mine").touch()
    ran = attempt(tmp_path, small_policy(tmp_path), small_table(tmp_path), code=2)
    paragraph(ran, "out", "it exists already", "versions live in the registry", "Name another folder")


def test_an_out_without_its_folder(tmp_path: Path) -> None:
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    before = listing(tmp_path)
    ran = smalti("run", policy, *request(data), "--out", "no/out", cwd=tmp_path)
    assert ran.code == 2
    paragraph(ran, "no/out", "does not exist", "Create `no` first")
    assert listing(tmp_path) == before


# --- What others have said before


PROHIBITION = {
    "uid": "http://example.com/policy/stop/1",
    "target": CUSTOMER,
    "action": "odrl:anonymize",
    "assignee": USER,
}


def prohibiting(folder: Path) -> Path:
    document = small_document(uid="http://example.com/policy/stop")
    del document["permission"]
    document["prohibition"] = [PROHIBITION]
    place = folder / "stop.jsonld"
    place.write_text(json.dumps(document))
    return place


def add(folder: Path, policy: Path, party: str = OWNER) -> None:
    added = smalti("policy", "add", policy, "--as", party, cwd=folder)
    assert added.code == 0, added


def denied(folder: Path, told: str, **asked: Any) -> None:
    """The run is denied for that reason, and the registry knows no more than before."""
    data, policy = small_table(folder), small_policy(folder)
    known = smalti("policy", "list", "--format", "json", cwd=folder).json
    ran = attempt(folder, policy, data, code=1, **asked)
    assert ran.out.split(": ")[0] in ("deny", "not applicable")
    assert told in " ".join(ran.out.split())
    assert smalti("policy", "list", "--format", "json", cwd=folder).json == known
    assert smalti("targets", "--format", "json", cwd=folder).json == []


def test_a_prohibition_that_the_owner_stored(tmp_path: Path) -> None:
    add(tmp_path, prohibiting(tmp_path))
    denied(tmp_path, "this prohibition forbids it")
    assert (
        smalti("policy", "revoke", "http://example.com/policy/stop", "--as", OWNER, cwd=tmp_path).code == 0
    )
    ran = smalti("run", "policy.jsonld", *request(Path("people.csv")), "--out", "out", cwd=tmp_path)
    assert ran.code == 0


def test_a_policy_of_somebody_who_does_not_own_the_target(tmp_path: Path) -> None:
    add(tmp_path, prohibiting(tmp_path))
    smalti("policy", "revoke", "http://example.com/policy/stop", "--as", OWNER, cwd=tmp_path)
    denied(tmp_path, f"{STRANGER} submitted it and does not own", owner=STRANGER)
    denied(tmp_path, f"{USER} submitted it and does not own", owner=None)


def test_a_revoked_policy_does_not_come_back_by_hand(tmp_path: Path) -> None:
    policy = small_policy(tmp_path)
    add(tmp_path, policy)
    assert (
        smalti("policy", "revoke", "http://example.com/policy/small", "--as", OWNER, cwd=tmp_path).code == 0
    )
    denied(tmp_path, "it was revoked; an owner must add it again")
    add(tmp_path, policy)
    assert smalti("run", policy, *request(small_table(tmp_path)), "--out", "out", cwd=tmp_path).code == 0


def test_an_output_never_takes_the_iri_of_somebody_elses_data(tmp_path: Path) -> None:
    others = small_document(uid="http://example.com/policy/theirs")
    others["permission"][0] |= {"uid": "http://example.com/policy/theirs/1", "target": OUTPUT}
    others["permission"][0]["output"] = "http://example/third"
    text = json.dumps(others).replace(f"{CUSTOMER}/", f"{OUTPUT}/")
    (tmp_path / "theirs.jsonld").write_text(text)
    add(tmp_path, tmp_path / "theirs.jsonld", STRANGER)
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    before = listing(tmp_path)
    ran = smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    assert ran.code == 2
    paragraph(ran, OUTPUT, "it belongs to somebody else", "expected", "Name another `output`")
    # The registry's secret is made as late as possible, but before the last check.
    assert listing(tmp_path).keys() - before.keys() <= {"smalti.sqlite.secret"}
    assert listing(tmp_path)["smalti.sqlite"] == before["smalti.sqlite"]


# --- Files


@pytest.mark.parametrize(("content", "told"), [pytest.param(*bad[1:], id=bad[0]) for bad in BAD_FILES])
def test_a_file_outside_the_dialect(tmp_path: Path, content: bytes, told: tuple[str, ...]) -> None:
    data = tmp_path / "people.csv"
    data.write_bytes(content)
    paragraph(attempt(tmp_path, small_policy(tmp_path), data, code=1), *told)


def test_a_file_with_nothing_but_a_header(tmp_path: Path) -> None:
    ran = attempt(tmp_path, small_policy(tmp_path), small_table(tmp_path, []), code=1)
    paragraph(ran, CUSTOMER, "cannot meet k-anonymity", "Bind more data")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    policy = small_policy(tmp_path)
    for missing in ("missing.csv", "missing.csv-metadata.json"):
        ran = attempt(tmp_path, policy, tmp_path / missing, code=2)
        paragraph(ran, str(tmp_path / missing), "Check the path")


def test_a_folder_with_other_files_than_a_table(tmp_path: Path) -> None:
    ran = attempt(tmp_path, small_policy(tmp_path), tmp_path, code=2)
    paragraph(
        ran,
        str(tmp_path),
        "`policy.jsonld` in it has an unknown file type",
        "Move files that do not belong",
    )


def test_a_file_of_an_unknown_kind(tmp_path: Path) -> None:
    (tmp_path / "people.xls").write_bytes(b"PK")
    ran = attempt(tmp_path, small_policy(tmp_path), tmp_path / "people.xls", code=2)
    assert (
        "unknown file type; expected a name that ends in .csv, .csv.gz, .csv.zst, .parquet" in ran.message
    )
    assert "Save it as .xlsx, or as CSV" in ran.message


def test_a_workbook_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    ran = attempt(tmp_path, small_policy(tmp_path), tmp_path / "people.xlsx", code=1)
    assert "people.xlsx: not an .xlsx workbook" in ran.message


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_regular_file(tmp_path: Path, kind: str) -> None:
    place = Path("/dev/null")
    if kind == "pipe":
        place = tmp_path / "people.csv"
        os.mkfifo(place)
    policy = small_policy(tmp_path)
    ran = smalti("run", policy, *request(place), "--out", "out", cwd=tmp_path)
    assert ran.code == 2
    paragraph(ran, str(place), "not a regular file or folder", "Write the data to a file first")


@pytest.mark.parametrize(
    "name", ["people.parquet.gz", "people.ZIP", "people.bz2", "people.csv.xz", "people.zst"]
)
def test_a_packed_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x1f\x8b")
    ran = attempt(tmp_path, small_policy(tmp_path), tmp_path / name, code=2)
    paragraph(ran, str(tmp_path / name), "unknown file type", "Unpack it")


def test_a_packed_file_in_a_folder(tmp_path: Path) -> None:
    data = tmp_path / "people"
    data.mkdir()
    (data / "1.csv.xz").write_bytes(b"\x1f\x8b")
    ran = attempt(tmp_path, small_policy(tmp_path), data, code=2)
    paragraph(ran, str(data), "`1.csv.xz` in it has an unknown file type", "Unpack it")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, policy, real = small_table(tmp_path), small_policy(tmp_path), Path.open
    before = listing(tmp_path)

    def refused(path: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
        if path == data:
            raise PermissionError(13, "Permission denied")
        return real(path, mode, *more, **named)

    monkeypatch.setattr(Path, "open", refused)
    ran = smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path)
    monkeypatch.undo()
    assert ran.code == 1
    paragraph(ran, "people.csv", "the file cannot be read", "Check its permissions")
    assert listing(tmp_path) == before


@pytest.mark.parametrize("wrong", ["007", "12.0", "1e3", " 12", "1_000", "0x10", "+3", "twelve"])
def test_a_declared_integer_that_is_none(tmp_path: Path, wrong: str) -> None:
    rows = small_rows()
    rows[5][1] = wrong
    data = small_table(tmp_path, rows, datatypes={"age": "integer"})
    ran = attempt(tmp_path, small_policy(tmp_path), data, code=1)
    paragraph(
        ran, "people.csv, column `age`", "a value is not a valid integer", "Correct the data, or declare"
    )
    assert wrong not in ran.message


def test_two_spellings_of_a_number_are_one_value(tmp_path: Path) -> None:
    """`12` and `12.0` are two texts of one decimal; as integers they are refused."""
    rows = [[row[0], ("12", "12.0")[n % 2], *row[2:]] for n, row in enumerate(small_rows())]
    policy = small_policy(tmp_path)
    refused = small_table(tmp_path, rows, datatypes={"age": "integer"})
    attempt(tmp_path, policy, refused, code=1)
    data = small_table(tmp_path, rows, datatypes={"age": "decimal"})
    assert smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path).code == 0
    ages = {line.split(",")[0] for line in (tmp_path / "out/anonCustomer.csv").read_text().splitlines()[1:]}
    assert ages == {"12"}


@pytest.mark.parametrize(
    ("datatype", "wrong"),
    [
        ("date", "2023-02-30"),
        ("date", "2023-2-3"),
        ("dateTime", "2023-01-01"),
        ("dateTime", "2023-01-01T25:00"),
        ("decimal", "1e3"),
        ("double", "NaN"),
        ("double", "Infinity"),
    ],
)
def test_a_declared_datatype_that_a_value_lacks(tmp_path: Path, datatype: str, wrong: str) -> None:
    rows = [[row[0], wrong, *row[2:]] for row in small_rows()]
    data = small_table(tmp_path, rows, datatypes={"age": datatype})
    ran = attempt(tmp_path, small_policy(tmp_path), data, code=1)
    paragraph(ran, "people.csv, column `age`", "a value is no")
    assert wrong not in ran.message


def parquet(folder: Path, column: pa.Array) -> Path:
    place = folder / "people.parquet"
    texts = {name: [row[i] for row in small_rows()] for i, name in enumerate(HEADER)}
    pq.write_table(pa.table(texts | {"age": column}), place)
    return place


def test_parquet_of_a_type_that_is_not_implemented(tmp_path: Path) -> None:
    data = parquet(tmp_path, pa.array([[1]] * 12))
    ran = attempt(tmp_path, small_policy(tmp_path), data, code=1)
    paragraph(ran, "people.parquet, column `age`", "is not implemented", "Cast or drop the column")


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    data = tmp_path / "people.parquet"
    data.write_bytes(b"PAR1 no more than that")
    paragraph(
        attempt(tmp_path, small_policy(tmp_path), data, code=1), "people.parquet", "not a Parquet file"
    )


Damage = Callable[[bytes], bytes]


@pytest.mark.parametrize("damage", [lambda raw: raw[:4] + b"\xff" * 200 + raw[204:], lambda raw: raw[:-9]])
def test_a_damaged_parquet_file(tmp_path: Path, damage: Damage) -> None:
    data = parquet(tmp_path, pa.array([str(n) for n in range(12)]))
    data.write_bytes(damage(data.read_bytes()))
    ran = attempt(tmp_path, small_policy(tmp_path), data, code=1)
    assert ran.message.startswith("people.parquet: ")


def test_an_output_is_read_from_its_registered_bytes_only(tmp_path: Path) -> None:
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    assert smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path).code == 0
    again = json.dumps(small_document(uid="http://example.com/policy/again", identifier=None))
    again = again.replace(CUSTOMER, OUTPUT).replace("/small/1", "/again/1")
    again = again.replace(f'"output": "{OUTPUT}"', '"output": "http://example/third"')
    (tmp_path / "again.jsonld").write_text(again)
    before = listing(tmp_path)
    ran = smalti("run", "again.jsonld", *request(data, target=OUTPUT), "--out", "third", cwd=tmp_path)
    assert ran.code == 2
    paragraph(ran, "people.csv", "not a registered version", "smalti targets")
    assert listing(tmp_path) == before
