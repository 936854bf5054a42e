"""Left operands that nobody declares, from the document to the decision and to the run."""

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
    Ran,
    describe,
    request,
    small_policy,
    small_table,
    smalti,
)

MEMBERSHIP = "https://w3id.org/catenax/policy/Membership"
AGE = "https://vocabulary.example/age"
FOR_USER = {"leftOperand": "recipient", "operator": "eq", "rightOperand": {"@id": "http://org/user"}}
STATED = [(), ("--fact", f"{MEMBERSHIP}=active"), ("--fact", f"{MEMBERSHIP}=none")]
OPERAND = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n<{}> a odrl:LeftOperand .\n"
COLUMN = "@prefix csvw: <http://www.w3.org/ns/csvw#> .\n<{}> csvw:column <{}> .\n"


def compared(operand: str, operator: str = "eq", value: object = "active") -> dict[str, Any]:
    return {"leftOperand": {"@id": operand}, "operator": operator, "rightOperand": value}


def rule(uid: str, **parts: Any) -> dict[str, Any]:
    return {"uid": f"http://example.com/policy/read/{uid}", "action": "read", "target": CUSTOMER} | parts


def put_in_force(folder: Path, **parts: Any) -> None:
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "http://example.com/policy/read",
        "profile": "https://w3id.org/smalti#",
        "conflict": "prohibit",
    }
    (folder / "read.jsonld").write_text(json.dumps(document | parts), encoding="utf-8")
    ran = smalti("policy", "add", "read.jsonld", "--as", OWNER, cwd=folder)
    assert ran.code == 0, ran.err


def vocabulary(folder: Path, text: str, party: str = OWNER) -> Ran:
    (folder / "own.ttl").write_text(text, encoding="utf-8")
    return smalti("vocabulary", "add", "own.ttl", "--as", party, cwd=folder)


def decided(folder: Path, *options: str) -> Ran:
    ran = smalti(
        "decide", "--as", USER, "--action", "read", "--target", CUSTOMER, *options, "--format", "json",
        cwd=folder,
    )  # fmt: skip
    assert ran.err == ""
    assert ran.code == (0 if ran.json["permitted"] else 1)
    return ran


def effect(folder: Path, *options: str) -> str:
    told: str = decided(folder, *options).json["effect"]
    return told


@pytest.mark.parametrize("stated", STATED, ids=["nothing", "active", "none"])
@pytest.mark.parametrize("limits", ["--understands-limits", "--explain"])
def test_a_permission_that_needs_an_undeclared_operand_never_applies(
    tmp_path: Path, stated: tuple[str, ...], limits: str
) -> None:
    put_in_force(tmp_path, permission=[rule("1", constraint=[compared(MEMBERSHIP)])])
    ran = decided(tmp_path, limits, *stated)
    assert (ran.code, ran.json["effect"], ran.json["permitted"]) == (1, "deny", False)
    assert f"the operand `{MEMBERSHIP}` is not declared" in ran.out


@pytest.mark.parametrize("stated", STATED, ids=["nothing", "active", "none"])
@pytest.mark.parametrize("operator", ["and", "or", "xone", "andSequence"])
def test_neither_does_one_with_an_undeclared_operand_in_a_logical_constraint(
    tmp_path: Path, operator: str, stated: tuple[str, ...]
) -> None:
    other = compared("https://w3id.org/catenax/policy/FrameworkAgreement")
    both = {operator: {"@list": [compared(MEMBERSHIP), other]}}
    put_in_force(tmp_path, permission=[rule("1", constraint=[both])])
    assert effect(tmp_path, "--understands-limits", *stated) == "deny"


@pytest.mark.parametrize(
    "place",
    [
        {"assignee": {"@type": "PartyCollection", "source": USER, "refinement": [compared(MEMBERSHIP)]}},
        {"target": {"@type": "AssetCollection", "source": CUSTOMER, "refinement": [compared(MEMBERSHIP)]}},
        {"constraint": [{"or": {"@list": [compared(MEMBERSHIP), FOR_USER]}}]},
    ],
    ids=["party", "asset", "or"],
)  # fmt: skip
def test_it_is_unknown_in_refinements_and_beside_other_operands(
    tmp_path: Path, place: dict[str, Any]
) -> None:
    put_in_force(tmp_path, permission=[rule("1", **place)])
    for stated in STATED:
        assert effect(tmp_path, "--understands-limits", *stated) == "deny"
    if "constraint" in place:  # what is satisfied is so whatever stands beside it
        assert effect(tmp_path, "--fact", f"recipient={USER}") == "permit"


@pytest.mark.parametrize("stated", STATED, ids=["nothing", "active", "none"])
@pytest.mark.parametrize(
    "place",
    [
        {"constraint": [compared(MEMBERSHIP)]},
        {"constraint": [compared(MEMBERSHIP, "neq")]},
        {"assignee": {"@type": "PartyCollection", "source": USER, "refinement": [compared(MEMBERSHIP)]}},
    ],
    ids=["eq", "neq", "party"],
)
def test_a_prohibition_that_needs_it_applies(
    tmp_path: Path, place: dict[str, Any], stated: tuple[str, ...]
) -> None:
    put_in_force(tmp_path, permission=[rule("1")], prohibition=[rule("2", **place)])
    assert effect(tmp_path, *stated) == "deny"


@pytest.mark.parametrize("place", ["constraint", "party"])
def test_a_vocabulary_declares_an_operand(tmp_path: Path, place: str) -> None:
    of_party = {"@type": "PartyCollection", "source": USER, "refinement": [compared(MEMBERSHIP)]}
    limit = {"constraint": [compared(MEMBERSHIP)]} if place == "constraint" else {"assignee": of_party}
    put_in_force(tmp_path, permission=[rule("1", **limit)])
    assert vocabulary(tmp_path, OPERAND.format(MEMBERSHIP)).code == 0
    assert [effect(tmp_path, *stated) for stated in STATED] == ["deny", "permit", "deny"]
    checks = [
        smalti("check", "read.jsonld", *more, cwd=tmp_path).out
        for more in ((), ("--vocabulary", "own.ttl"))
    ]
    assert ["P508" in text for text in checks] == [True, False]
    assert smalti("vocabulary", "remove", "own.ttl", "--as", OWNER, cwd=tmp_path).code == 0
    assert vocabulary(tmp_path, OPERAND.format(MEMBERSHIP), USER).code == 0  # the word of a stranger
    assert [effect(tmp_path, *stated) for stated in STATED] == ["deny", "deny", "deny"]


def test_an_owners_vocabulary_declares_a_column_and_nobody_elses(tmp_path: Path) -> None:
    put_in_force(tmp_path, permission=[rule("1", constraint=[compared(AGE, "gteq", 18)])])
    said = ("--fact", f"{AGE}=20")
    assert effect(tmp_path, *said) == "deny"
    refused = vocabulary(tmp_path, COLUMN.format(CUSTOMER, AGE), USER)
    assert (refused.code, refused.message.count("does not own")) == (2, 1)
    assert effect(tmp_path, *said) == "deny"
    assert vocabulary(tmp_path, COLUMN.format(CUSTOMER, AGE)).code == 0
    told = decided(tmp_path, *said).json
    assert (told["effect"], told["permitted"]) == ("limited", False)
    assert told["grants"][0]["rows"][0]["column"] == AGE


def described(folder: Path) -> Path:
    """People whose description gives the age an IRI of another vocabulary."""
    metadata = describe(small_table(folder), HEADER)
    document = json.loads(metadata.read_text(encoding="utf-8"))
    document["tableSchema"]["columns"][1]["propertyUrl"] = AGE
    metadata.write_text(json.dumps(document), encoding="utf-8")
    return metadata


def limited(folder: Path) -> Path:
    named = [{"@id": AGE}, {"@id": f"{CUSTOMER}/city"}]
    rows = {"constraint": [compared(AGE, "gteq", 24)]}
    return small_policy(folder, rule=rows, **{"quasi-identifier": ("isAllOf", named)})


def test_a_description_declares_a_column_to_runs_and_to_later_decisions(tmp_path: Path) -> None:
    metadata, policy = described(tmp_path), limited(tmp_path)
    checked = smalti("check", policy.name, cwd=tmp_path)
    assert "P508" in checked.out
    assert f"unknown unless `{AGE}` is declared" in checked.out
    assert "P508" not in smalti("check", policy.name, "--dataset", metadata.name, cwd=tmp_path).out
    options = request(Path("people.csv"))
    ran = smalti("run", policy.name, *options, "--out", "out", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("limited: ")
    rows = (tmp_path / "out" / f"{OUTPUT.rpartition('/')[2]}.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 8
    put_in_force(tmp_path, permission=[rule("1", constraint=[compared(AGE, "gteq", 18)])])
    assert effect(tmp_path) == "limited"


def test_without_that_description_the_run_is_denied(tmp_path: Path) -> None:
    policy = limited(tmp_path)
    described(tmp_path).unlink()
    ran = smalti("run", policy.name, *request(Path("people.csv")), "--out", "out", cwd=tmp_path)
    assert ran.code == 1
    assert f"the operand `{AGE}` is not declared" in ran.out.replace("\n   ", "")
    assert not (tmp_path / "out").exists()


def test_a_stranger_does_not_make_a_column_of_an_operand(tmp_path: Path) -> None:
    """By describing data otherwise than its owner does."""
    put_in_force(tmp_path, permission=[rule("1", constraint=[compared(AGE, "gteq", 18)])])
    policy = limited(tmp_path)
    assert smalti("policy", "add", policy.name, "--as", OWNER, cwd=tmp_path).code == 0
    described(tmp_path)
    stranger = smalti("run", policy.name, *request(Path("people.csv"), owner=None), "--out", "out",
                      cwd=tmp_path)  # fmt: skip
    assert stranger.code != 0
    assert not (tmp_path / "out").exists()
    assert effect(tmp_path, "--understands-limits") == "deny"


def test_a_row_limit_on_a_column_that_the_data_lacks_refuses_the_run(tmp_path: Path) -> None:
    small_table(tmp_path)
    policy = small_policy(tmp_path, rule={"constraint": [compared(f"{CUSTOMER}/Membership")]})
    ran = smalti("run", policy.name, *request(Path("people.csv")), "--out", "out", cwd=tmp_path)
    assert ran.code == 1
    assert "has no column" in ran.err
    assert not (tmp_path / "out").exists()
