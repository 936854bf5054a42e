"""Attacks on unknown operands: each of these permits what it must not."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shell import CUSTOMER, OUTPUT, OWNER, USER, request, small_document, small_rows, small_table, smalti

from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Effect, Request
from smalti.policy.model.model import (
    Asset,
    ColumnComparison,
    ColumnReference,
    Operator,
    Permission,
    Policy,
    Text,
)
from smalti.vocab.terms import IRI, READ

TABLE = "http://example.com/A"
MEMBERSHIP = "https://w3id.org/catenax/policy/Membership"


def compared(operand: str) -> dict[str, Any]:
    return {"leftOperand": {"@id": operand}, "operator": "eq", "rightOperand": "active"}


def refined(party: str) -> dict[str, Any]:
    return {"@type": "PartyCollection", "source": party, "refinement": [compared(MEMBERSHIP)]}


def rule(**parts: Any) -> dict[str, Any]:
    uid = "http://example.com/policy/read/1"
    return {"uid": uid, "action": "read", "target": CUSTOMER, "assignee": USER} | parts


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


def effect(folder: Path, *targets: str) -> str:
    named = [part for target in targets for part in ("--target", target)]
    ran = smalti(
        "decide", "--as", USER, "--action", "read", *named, "--understands-limits", "--format", "json",
        cwd=folder,
    )  # fmt: skip
    told: str = ran.json["effect"]
    return told


# --- A refinement of the assigner is read, warned of ("no permission that needs it applies"), and ignored


@pytest.mark.parametrize("place", ["rule", "policy"])
def test_a_permission_whose_assigner_is_refined_by_an_undeclared_operand_does_not_apply(
    tmp_path: Path, place: str
) -> None:
    assigner = {"assigner": refined(OWNER)}
    if place == "rule":
        put_in_force(tmp_path, permission=[rule(**assigner)])
    else:
        put_in_force(tmp_path, permission=[rule()], **assigner)
    assert effect(tmp_path, CUSTOMER) == "deny"


def run_document(folder: Path, document: dict[str, Any], *options: str) -> int:
    small_table(folder, small_rows(24))
    (folder / "policy.jsonld").write_text(json.dumps(document), encoding="utf-8")
    options = (*map(str, request(Path("people.csv"))), *options, "--out", "out")
    return smalti("run", "policy.jsonld", *options, cwd=folder).code


@pytest.mark.parametrize("kind", ["permission", "duty", "obligation", "remedy", "prohibition of a remedy"])
def test_nothing_is_published_by_it_either(tmp_path: Path, kind: str) -> None:
    document, assigner = small_document(), {"assigner": refined(OWNER)}
    (permission,) = document.pop("permission")
    what = {"action": permission["action"], "output": OUTPUT, "uid": "http://example.com/policy/small/2"}
    options: tuple[str, ...] = ()
    if kind == "permission":
        document["permission"] = [permission | assigner]
    elif kind == "duty":
        document["permission"] = [rule(duty=[what | assigner])]
    elif kind == "obligation":
        document["obligation"] = [what | {"target": CUSTOMER, "assignee": USER} | assigner]
    else:
        remedy = what | {"assignee": USER} | (assigner if kind == "remedy" else {})
        whole = rule(remedy=[remedy]) | ({} if kind == "remedy" else assigner)
        whole.pop("assignee")
        document["prohibition"] = [whole]
        options = ("--rule", what["uid"])
    assert run_document(tmp_path, document, *options) == 1
    assert not (tmp_path / "out").exists()


def test_a_remedy_needs_what_the_assignee_of_its_prohibition_is_refined_by(tmp_path: Path) -> None:
    """`authorize`: each condition of it and of its prohibition must hold."""
    document = small_document()
    (permission,) = document.pop("permission")
    uid = "http://example.com/policy/small/2"
    remedy = {"action": permission["action"], "output": OUTPUT, "uid": uid, "assignee": USER}
    document["prohibition"] = [rule(assignee=refined(USER), remedy=[remedy])]
    assert run_document(tmp_path, document, "--rule", uid) == 1


@pytest.mark.parametrize("part", ["constraint", "assignee"])
def test_nobody_can_claim_to_have_fulfilled_a_duty_that_is_not_understood(
    tmp_path: Path, part: str
) -> None:
    told = {"uid": "http://example.com/policy/read/duty", "action": "inform"}
    told |= {"constraint": [compared(MEMBERSHIP)]} if part == "constraint" else {"assignee": refined(USER)}
    put_in_force(tmp_path, permission=[rule(duty=[told])])
    ask = ("decide", "--as", USER, "--action", "read", "--target", CUSTOMER, "--fulfilled", told["uid"])
    assert smalti(*ask, cwd=tmp_path).code == 1


# --- The requester chooses what is a column, by asking for more


def test_an_invented_target_makes_no_column_of_an_operand(tmp_path: Path) -> None:
    put_in_force(tmp_path, permission=[rule(constraint=[compared(f"{CUSTOMER}/policy/Membership")])])
    assert effect(tmp_path, CUSTOMER) == "deny"
    refusals = {"deny", "not applicable"}
    assert effect(tmp_path, CUSTOMER, f"{CUSTOMER}/policy") in refusals
    assert effect(tmp_path, f"{CUSTOMER}/policy") in refusals


def test_a_column_of_one_target_is_no_limit_to_the_rows_of_another() -> None:
    one, other = IRI("http://example.com/A"), IRI("http://example.com/B")
    consent = ColumnReference(IRI(f"{other}/consent"))
    permission = Permission(
        uid=IRI("urn:x:1"),
        action=READ,
        targets=(Asset(one), Asset(other)),
        constraints=(ColumnComparison(consent, Operator.EQ, (Text("yes"),)),),
    )
    policy = Policy(uid=IRI("urn:x:p"), document_digest="sha256:1", permissions=(permission,))

    def grants(*targets: IRI) -> int:
        return len(authorize(Request(party=IRI(USER), action=READ, targets=targets), [policy]).grants)

    assert grants(one) == 0
    assert grants(one, other) == 0, "asking for more permits more"


@pytest.mark.parametrize("target", [TABLE, f"{TABLE}/age"])
def test_a_table_below_a_target_is_no_column_of_it(target: str) -> None:
    """Where the data is not known to have a column of that name, too."""
    below = ColumnReference(IRI(f"{TABLE}/members"))
    permission = Permission(
        uid=IRI("urn:x:1"),
        action=READ,
        targets=(Asset(IRI(TABLE)),),
        constraints=(ColumnComparison(below, Operator.EQ, (Text("yes"),)),),
    )
    policy = Policy(uid=IRI("urn:x:p"), document_digest="sha256:1", permissions=(permission,))
    asked = Request(party=IRI(USER), action=READ, targets=(IRI(target),))
    as_table = replace(asked, tables=frozenset({IRI(f"{TABLE}/m%65mbers")}))
    both = replace(as_table, columns=frozenset({below.iri}))
    effects = [authorize(one, [policy]).effect for one in (asked, as_table, both)]
    assert effects == [Effect.LIMITED, Effect.DENY, Effect.LIMITED]


@pytest.mark.parametrize("asked", [CUSTOMER, f"{CUSTOMER}/age"])
def test_an_output_below_a_target_is_no_column_of_it(tmp_path: Path, asked: str) -> None:
    below = f"{CUSTOMER}/members"
    put_in_force(tmp_path, permission=[rule(constraint=[compared(below)])])
    assert effect(tmp_path, asked) == "limited"
    document = small_document()
    document["permission"][0] |= {"output": below}
    assert run_document(tmp_path, document) == 0
    assert effect(tmp_path, asked) == "deny"
