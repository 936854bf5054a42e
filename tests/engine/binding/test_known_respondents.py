"""A promise about people needs knowledge about people: who may say it, and what goes on without it."""

import json
from pathlib import Path
from typing import Any

import pytest
from shell import (
    CUSTOMER,
    HEADER,
    OUTPUT,
    OWNER,
    USER,
    describe,
    listing,
    nobody_has_those_in,
    small_document,
    small_policy,
    small_rows,
    small_table,
    smalti,
)

import smalti as api
from smalti.engine.plan.plan import OneRowEach, RespondentColumn
from smalti.errors import PlanError, UsageError

STRANGER = "http://org/stranger"
PERSON_YEARS = [[f"p{n % 12}", *row[1:]] for n, row in enumerate(small_rows(36))]
"""Twelve people, three rows each, and no identifier in the policy."""


def undeclared(folder: Path, **changes: Any) -> Path:
    return small_policy(folder, **{"respondent": None, "identifier": None} | changes)


def run(policy: Path, data: Path, out: str = "out", **changes: Any) -> Any:
    folder = policy.parent
    asked: dict[str, Any] = {
        "data": {changes.pop("target", CUSTOMER): data}, "party": USER, "owner": OWNER,
        "purpose": "marketing",
        "registry": folder / "smalti.sqlite",
    }  # fmt: skip
    return api.run(policy, out=folder / out, **asked | changes)


# --- Where nothing is declared


def test_a_run_refuses_and_names_the_ways_to_say_it(tmp_path: Path) -> None:
    policy, data = undeclared(tmp_path), small_table(tmp_path, PERSON_YEARS)
    before = listing(tmp_path)
    with pytest.raises(
        PlanError, match="no respondent is declared, and the guarantee counts people"
    ) as told:
        run(policy, data)
    for way in ("smalti:respondent", "smalti:oneRowEach", "description", "--respondent", "--one-row-each"):
        assert way in told.value.way_out
    assert listing(tmp_path) == before


def test_a_plan_goes_on_and_speaks_of_rows(tmp_path: Path) -> None:
    policy, data = undeclared(tmp_path), small_table(tmp_path, PERSON_YEARS)
    ran = smalti("plan", policy, "--data", f"{CUSTOMER}={data}", cwd=tmp_path)
    told = " ".join(ran.out.split())
    assert ran.code == 0
    assert "belongs to at least 2 rows" in told
    assert "respondents" not in told.replace("smalti:respondent", "")
    assert "k counts rows, not people, and `run` refuses" in told
    assert "--one-row-each" in told


@pytest.mark.parametrize(
    ("said", "respondent"),
    [
        ({"respondent": "who"}, RespondentColumn("who")),
        ({"one_row_each": True}, OneRowEach(is_declared=True)),
    ],
)
def test_the_request_says_it_and_so_does_the_plan(tmp_path: Path, said: Any, respondent: Any) -> None:
    policy, data = undeclared(tmp_path), small_table(tmp_path, PERSON_YEARS)
    outcome = run(policy, data, **said)
    assert outcome.plan.read.respondent == outcome.version.respondent == respondent
    assert f"{respondent!r}" == f"{outcome.plan.read.respondent!r}"
    planned = api.plan(policy, data={CUSTOMER: data}, **said)
    assert planned.plan == outcome.plan
    declared = undeclared(
        tmp_path, file="other.jsonld", respondent=("eq", {"@id": spelled(said)})
    )  # fmt: skip
    assert api.plan(declared, data={CUSTOMER: data}).plan == outcome.plan


def spelled(said: dict[str, Any]) -> str:
    return f"{CUSTOMER}/who" if "respondent" in said else "https://w3id.org/smalti#oneRowEach"


def test_the_command_line_takes_it(tmp_path: Path) -> None:
    policy, data = undeclared(tmp_path), small_table(tmp_path, PERSON_YEARS)
    asked = ["--data", f"{CUSTOMER}={data}", "--as", USER, "--owner", OWNER, "--purpose", "marketing"]
    both = smalti(
        "run", policy, *asked, "--out", "o", "--respondent", "who", "--one-row-each", cwd=tmp_path
    )
    assert (both.code, "one of the two" in both.err) == (2, True)
    lost = smalti("run", policy, *asked, "--out", "o", "--respondent", "whoo", cwd=tmp_path)
    assert lost.code == 1
    assert "has no column `whoo`" in lost.err
    assert smalti("run", policy, *asked, "--out", "o", "--respondent", "who", cwd=tmp_path).code == 0


@pytest.mark.parametrize("where", ["policy", "description"])
def test_a_contradiction_is_an_error(tmp_path: Path, where: str) -> None:
    data = small_table(tmp_path, PERSON_YEARS)
    if where == "description":
        describe(data, HEADER, "who")
    policy = undeclared(tmp_path)
    if where == "policy":
        policy = undeclared(tmp_path, respondent=("eq", {"@id": f"{CUSTOMER}/who"}))
    for said in ({"one_row_each": True}, {"respondent": "city"}):
        with pytest.raises(PlanError, match="the request declares other respondents"):
            run(policy, data, **said)
    assert run(policy, data, respondent="who").version is not None


# --- Who may say it


def test_only_who_owns_all_of_the_data_says_it(tmp_path: Path) -> None:
    policy, data = undeclared(tmp_path), small_table(tmp_path, PERSON_YEARS)
    assert run(policy, data, respondent="who").version is not None
    assert smalti("policy", "add", policy, "--as", OWNER, cwd=tmp_path).code == 0
    for said in ({"one_row_each": True}, {"respondent": "city"}, {"respondent": "who"}):
        with pytest.raises(UsageError, match=r"does not own .* must not declare its respondents"):
            run(policy, data, "again", owner=STRANGER, **said)


def test_a_stranger_gets_what_the_owner_declared(tmp_path: Path) -> None:
    policy, data = undeclared(tmp_path), small_table(tmp_path, PERSON_YEARS)
    first = run(policy, data, respondent="who")
    again = run(policy, data, "again", owner=None)
    assert again.version.respondent == RespondentColumn("who")
    assert again.version.plan_digest == first.version.plan_digest
    with pytest.raises(PlanError, match="no respondent is declared, and the guarantee"):
        run(policy, data, "third")  # the owner says it each time
    run(policy, data, "fourth", respondent="age")
    assert run(policy, data, "fifth", owner=None).version.respondent == RespondentColumn("age")


# --- One row each, and what speaks against it


def test_an_identifier_that_repeats_refuses_one_row_each(tmp_path: Path) -> None:
    rows = [["p1", *row[1:]] for row in small_rows(12)]
    policy, data = small_policy(tmp_path), small_table(tmp_path, rows)
    with pytest.raises(PlanError, match=r"declared to be about another person.*identifier `who`") as told:
        run(policy, data)
    assert "p1" not in str(told.value).replace("http", "")


def test_one_of_several_identifiers_may_repeat(tmp_path: Path) -> None:
    names = ("isAllOf", [{"@id": f"{CUSTOMER}/{name}"} for name in ("who", "city")])
    policy = small_policy(tmp_path, identifier=names, **{
        "quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/age"}])
    })  # fmt: skip
    outcome = run(policy, small_table(tmp_path))
    assert any("values repeat in city, which the policy lists" in one for one in outcome.warnings)


def test_identifiers_that_repeat_together_refuse_one_row_each(tmp_path: Path) -> None:
    """One identifier more must not let a table of ten rows of one person through."""
    names = ("isAllOf", [{"@id": f"{CUSTOMER}/{name}"} for name in ("who", "city")])
    policy = small_policy(tmp_path, identifier=names, **{
        "quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/age"}])
    })  # fmt: skip
    rows = [["p1", "30", "Rome", "flu"], ["p1", "31", "Rome", "gout"], *small_rows(10)[2:]]
    data = small_table(tmp_path, rows)
    with pytest.raises(PlanError, match=r"identifiers `who`, `city`, also together"):
        run(policy, data)


def test_rows_that_differ_in_nothing_but_sensitive_columns_are_pointed_out(tmp_path: Path) -> None:
    policy = small_policy(tmp_path, identifier=None)
    rows = [["p1", "30", "Rome", "flu"], ["p1", "30", "Rome", "gout"], *small_rows(10)[2:]]
    data = small_table(tmp_path, rows)
    told = "some rows agree in all columns except the sensitive ones"
    planned = api.plan(policy, data={CUSTOMER: data}, registry=tmp_path / "smalti.sqlite")
    assert any(told in one for one in planned.warnings)
    outcome = run(policy, data)
    assert any(told in one for one in outcome.warnings)
    assert outcome.report.rows_alike == 2
    assert not any("2 rows" in one for one in outcome.warnings), "figures are in the report"
    nobody_has_those_in(tmp_path)
    plain = run(policy, small_table(tmp_path, small_rows(10)), "plain")
    assert plain.report.rows_alike == 0
    assert not any(told in one for one in plain.warnings)


# --- Outputs of earlier versions, which assumed it


@pytest.fixture
def assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an output that was made while nothing was declared."""
    from smalti.engine.binding import known_respondents  # noqa: PLC0415 (patched)

    policy, data = undeclared(tmp_path), small_table(tmp_path, PERSON_YEARS)
    with monkeypatch.context() as patched:
        patched.setattr(known_respondents, "counts_rows", lambda _: False)
        run(policy, data)
    read = small_document(uid="http://example.com/policy/read", rule={"uid": "urn:x:read"})
    rule = read["permission"][0]
    rule["action"] = "odrl:read"
    del rule["output"]
    (tmp_path / "read.jsonld").write_text(json.dumps(read))
    assert smalti("policy", "add", "read.jsonld", "--as", OWNER, cwd=tmp_path).code == 0
    return tmp_path


ROWS = "it counted rows, not people"


def test_what_counted_rows_says_so_ever_after(assumed: Path) -> None:
    told = smalti("verify", "out", cwd=assumed)
    assert told.code == 0
    assert ROWS in " ".join(told.out.split())
    assert smalti("verify", "out", "--format", "json", cwd=assumed).json["countsRows"] is True
    listed = smalti("targets", "--format", "json", cwd=assumed).json
    assert [one["forReview"] for one in listed] == [True]
    assert ROWS in listed[0]["reviewReasons"][0]
    shown = smalti("targets", "--as", OWNER, cwd=assumed).out
    assert "36 rows in" in shown
    assert "respondents in" not in shown
    asked = ["decide", "--as", USER, "--action", "read", "--target", OUTPUT, "--purpose", "marketing"]
    decided = smalti(*asked, "--format", "json", cwd=assumed).json
    assert decided["permitted"]
    assert any(ROWS in reason["text"] for reason in decided["reasons"])


def test_nothing_is_made_from_what_counted_rows(assumed: Path) -> None:
    document = small_document(respondent=None, identifier=None, uid="urn:x:p", rule={"uid": "urn:x:r"})
    chained = assumed / "chained.jsonld"
    chained.write_text(json.dumps(document).replace(OUTPUT, "http://example/n").replace(CUSTOMER, OUTPUT))
    made = assumed / "out" / "anonCustomer.csv"
    for said in ({}, {"one_row_each": True}):
        with pytest.raises(PlanError, match="its respondents were not declared"):
            run(chained, made, "again", target=OUTPUT, **said)


def test_a_stranger_does_not_get_what_nobody_declared(assumed: Path) -> None:
    with pytest.raises(PlanError, match="no respondent is declared, and the guarantee"):
        run(assumed / "policy.jsonld", assumed / "people.csv", "again", owner=None)
