"""Policies of one owner that contradict each other (P625): `check --together`, `policy add`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from smalti.checking import check_documents
from smalti.policy.decide import conflicts
from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Request
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.read.parse import parse
from smalti.vocab.terms import IRI, ODRL

X = "http://example.com/"
VISITS, WARD, LAB, ANN = X + "visits", X + "ward", X + "lab", X + "ann"
MARKETING, SCIENCE = "mosaicrown:marketing", "mosaicrown:statistical"
Rule = dict[str, Any]


def written(folder: Path, name: str, *nodes: Rule, **parts: Any) -> str:
    """A document with one policy, and nodes beside it."""
    policy = {"@type": "Set", "uid": f"{X}policy/{name}", "profile": "https://w3id.org/smalti#", **parts}
    context = [
        "http://www.w3.org/ns/odrl.jsonld",
        {
            "dct": "http://purl.org/dc/terms/",
            "xsd": "http://www.w3.org/2001/XMLSchema#",
            "mosaicrown": "https://www.mosaicrown.eu/ns/mosaicrown/1/",
        },
    ]
    document = (
        {"@context": context, "@graph": [policy, *nodes]} if nodes else {"@context": context, **policy}
    )
    place = folder / f"{name}.jsonld"
    place.write_text(json.dumps(document, indent=1))
    return str(place)


def rule(uid: str, action: str = "read", target: str = VISITS, **parts: Any) -> Rule:
    return {"uid": X + uid, "action": action, "target": target, **parts}


def limit(operand: str, operator: str, value: Any) -> Rule:
    return {"leftOperand": operand, "operator": operator, "rightOperand": value}


def date(operator: str, day: str) -> Rule:
    return limit("dateTime", operator, {"@value": day, "@type": "xsd:date"})


def found(names: Sequence[str], *, together: bool = True, **more: Any) -> list[Diagnostic]:
    documents = check_documents(names, together=together, **more)
    assert all(document.is_valid for document in documents), documents
    findings = (finding for document in documents for finding in document.diagnostics)
    return [finding for finding in findings if finding.code == "P625"]


def both(folder: Path, allowed: Rule, forbidden: Rule, *nodes: Rule, **parts: Any) -> list[Diagnostic]:
    """What is found between a permission of one document and a prohibition of another."""
    names = [
        written(folder, "yes", permission=[allowed], **parts),
        written(folder, "no", *nodes, prohibition=[forbidden]),
    ]
    return found(names)


def test_a_permission_and_a_prohibition_of_two_documents_are_shown_with_both_places(tmp_path: Path) -> None:
    yes = written(tmp_path, "yes", permission=[rule("p")])
    no = written(tmp_path, "no", prohibition=[rule("n")])
    (finding,) = found([yes, no])
    assert finding.severity is Severity.WARNING
    assert (finding.where.document, finding.where.line, finding.where.column) == (yes, 14, 3)
    assert f"`{X}n` ({no}:14:3)" in finding.message
    assert finding.message.startswith("this permission contradicts the prohibition")
    assert found([no, yes]) == [finding]
    assert found([yes, no], together=False) == []
    assert found([yes]) == found([no]) == []


def test_an_obligation_and_a_prohibition_are_shown_whatever_the_action(tmp_path: Path) -> None:
    must = written(tmp_path, "must", obligation=[rule("o", "delete")])
    no = written(tmp_path, "no", prohibition=[rule("n", "use")])
    (finding,) = found([must, no])
    assert (finding.where.document, finding.where.line) == (must, 14)
    assert finding.message.startswith("this obligation contradicts the prohibition")
    for_ann = written(tmp_path, "must", obligation=[rule("o", "delete", assignee=ANN)])
    for_lab = written(tmp_path, "no", prohibition=[rule("n", "use", assignee=LAB)])
    assert found([for_ann, for_lab]) == []
    column = written(tmp_path, "no", prohibition=[rule("n", "delete", VISITS + "/Name")])
    assert len(found([must, column])) == 1


PART = {"@id": WARD, "@type": "Asset", "partOf": VISITS}
MEMBER = {"@id": ANN, "@type": "Party", "partOf": LAB}
MET: dict[str, tuple[Rule, Rule, tuple[Rule, ...]]] = {
    "a wider action": (rule("p"), rule("n", "use"), ()),
    "a narrower action": (rule("p", "use"), rule("n", "read"), ()),
    "a collection": (rule("p", target=WARD), rule("n"), (PART,)),
    "a part": (rule("p"), rule("n", target=WARD), (PART,)),
    "a group": (rule("p", assignee=ANN), rule("n", assignee=LAB), (MEMBER,)),
    "a member": (rule("p", assignee=LAB), rule("n", assignee=ANN), (MEMBER,)),
    "a wider purpose": (
        rule("p", constraint=[limit("purpose", "eq", {"@id": "https://w3id.org/dpv#DirectMarketing"})]),
        rule("n", constraint=[limit("purpose", "isA", {"@id": "https://w3id.org/dpv#Marketing"})]),
        (),
    ),
    "no limit to a purpose": (
        rule("p", constraint=[limit("purpose", "eq", {"@id": MARKETING})]), rule("n"), ()
    ),
    "constraints that both may hold": (
        rule("p", constraint=[date("lt", "2027-01-01")]),
        rule("n", constraint=[date("gt", "2026-06-01")]),
        (),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MET)
@pytest.mark.parametrize("says", ["yes", "no"])
def test_hierarchies_count_whichever_document_states_them(tmp_path: Path, name: str, says: str) -> None:
    allowed, forbidden, nodes = MET[name]
    names = [
        written(tmp_path, "yes", *(nodes if says == "yes" else ()), permission=[allowed]),
        written(tmp_path, "no", *(nodes if says == "no" else ()), prohibition=[forbidden]),
    ]
    assert len(found(names)) == 1
    if nodes:
        without = [
            written(tmp_path, "yes", permission=[allowed]),
            written(tmp_path, "no", prohibition=[forbidden]),
        ]
        assert found(without) == []


def test_hierarchies_of_a_vocabulary_count(tmp_path: Path) -> None:
    vocabulary = tmp_path / "market.ttl"
    vocabulary.write_text(
        f"@prefix odrl: <{ODRL}> .\n<{ANN}> a odrl:Party ; odrl:partOf <{LAB}> .\n"
        f"<{WARD}> a odrl:Asset ; odrl:partOf <{VISITS}> .\n"
    )
    names = [
        written(tmp_path, "yes", permission=[rule("p", target=WARD, assignee=ANN)]),
        written(tmp_path, "no", prohibition=[rule("n", assignee=LAB)]),
    ]
    assert found(names) == []
    assert len(found(names, vocabularies=[vocabulary])) == 1


APART: dict[str, tuple[Rule, Rule]] = {
    "another target": (rule("p"), rule("n", target=WARD)),
    "another party": (rule("p", assignee=ANN), rule("n", assignee=LAB)),
    "another action": (rule("p", "read"), rule("n", "transfer")),
    "another purpose": (
        rule("p", constraint=[limit("purpose", "eq", {"@id": MARKETING})]),
        rule("n", constraint=[limit("purpose", "eq", {"@id": SCIENCE})]),
    ),
    "another time": (
        rule("p", constraint=[date("lt", "2026-06-01")]),
        rule("n", constraint=[date("gteq", "2026-06-01")]),
    ),
    "a permission that never applies": (
        rule("p", constraint=[date("lt", "2026-06-01"), date("gt", "2027-06-01")]), rule("n")
    ),
    "a prohibition that never applies": (
        rule("p"), rule("n", constraint=[date("lt", "2026-06-01"), date("gt", "2027-06-01")])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_rules_that_exclude_each_other_are_not_shown(tmp_path: Path, name: str) -> None:
    assert both(tmp_path, *APART[name]) == []


def test_policies_that_are_valid_at_other_times_are_no_conflict(tmp_path: Path) -> None:
    start, end = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"
    valid = {"dct:valid": {"@value": f"start={start}; end={end}", "@type": "dct:Period"}}
    later = {"dct:valid": {"@value": f"start={end}", "@type": "dct:Period"}}
    earlier = written(tmp_path, "yes", permission=[rule("p")], **valid)
    no = written(tmp_path, "no", prohibition=[rule("n")], **later)
    assert found([earlier, no]) == []
    assert len(found([earlier, written(tmp_path, "no", prohibition=[rule("n")], **valid)])) == 1
    for since, is_shown in (("2026-06-02T00:00:00Z", False), ("2026-05-01T00:00:00Z", True)):
        after = limit("dateTime", "gt", {"@value": since, "@type": "xsd:dateTime"})
        dated = written(tmp_path, "no", prohibition=[rule("n", constraint=[after])])
        assert bool(found([earlier, dated])) is is_shown
        permitted = written(tmp_path, "late", permission=[rule("p", constraint=[after])])
        early = written(tmp_path, "no", prohibition=[rule("n")], **valid)
        assert bool(found([permitted, early])) is is_shown


def test_prohibitions_at_the_same_place_of_two_documents_are_both_compared(tmp_path: Path) -> None:
    names = [
        written(tmp_path, "yes", permission=[rule("p")]),
        *(written(tmp_path, f"no{number}", prohibition=[rule(f"n{number}")]) for number in range(3)),
    ]
    assert [f"{X}n{number}" in one.message for number, one in enumerate(found(names))] == [True] * 3


def test_columns_that_two_documents_forbid_are_both_shown(tmp_path: Path) -> None:
    """P621, as before; prohibitions at one place of two documents hid each other."""
    names = [
        written(tmp_path, "yes", permission=[rule("p")]),
        *(
            written(tmp_path, f"no{number}", prohibition=[rule(f"n{number}", target=f"{VISITS}/Name")])
            for number in range(2)
        ),
    ]
    documents = check_documents(names, together=True)
    codes = [finding.code for document in documents for finding in document.diagnostics]
    assert codes.count("P621") == 2
    assert codes.count("P625") == 0


def test_a_rule_that_another_policy_inherits_is_shown_once_where_it_is_written(tmp_path: Path) -> None:
    child = written(tmp_path, "child", inheritFrom=f"{X}policy/yes")
    yes = written(tmp_path, "yes", permission=[rule("p")])
    no = written(tmp_path, "no", prohibition=[rule("n")])
    documents = check_documents([child, yes, no], together=True)
    codes = [[finding.code for finding in document.diagnostics] for document in documents]
    assert codes == [[], ["P625"], []]


@pytest.mark.parametrize("conflict", ["prohibit", "perm", "invalid"])
def test_an_inherited_contradiction_is_the_own_policys_matter_unless_permissions_win_there(
    tmp_path: Path, conflict: str
) -> None:
    """Of `perm`, the child's prohibition denies what the parent's strategy spares."""
    both_rules = {"permission": [rule("p")], "prohibition": [rule("n")]}
    names = [
        written(tmp_path, "parent", conflict=conflict, **both_rules),
        written(tmp_path, "child", conflict=conflict, inheritFrom=f"{X}policy/parent"),
    ]
    assert len(found(names)) == (1 if conflict == "perm" else 0)


def test_what_is_shown_is_what_decisions_deny(tmp_path: Path) -> None:
    """The permission alone permits; with the other document it does not, whatever that one's strategy."""
    policies = []
    for name, parts in (
        ("yes", {"permission": [rule("p")], "conflict": "perm"}),
        ("no", {"prohibition": [rule("n", "use")], "conflict": "perm"}),
    ):
        place = written(tmp_path, name, **parts)
        policies += parse(Path(place).read_bytes(), place).policies
    request = Request(party=IRI(ANN), action=IRI(ODRL + "read"), targets=(IRI(VISITS),))
    assert authorize(request, policies[:1]).is_permitted
    assert not authorize(request, policies).is_permitted
    assert len(found([str(tmp_path / "yes.jsonld"), str(tmp_path / "no.jsonld")])) == 1


def test_so_many_conflicts_of_one_rule_are_shown_and_no_more(tmp_path: Path) -> None:
    names = [
        written(tmp_path, "yes", permission=[rule("p")]),
        written(tmp_path, "no", prohibition=[rule(f"n{number}") for number in range(30)]),
    ]
    findings = found(names)
    assert len(findings) == 17
    assert [one.message.startswith("this rule was not compared with") for one in findings] == [
        *[False] * 16, True
    ]  # fmt: skip


def test_too_many_pairs_are_told_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflicts, "_STEPS_BETWEEN", 1_000)
    many = [limit("recipient", "eq", {"@id": f"{X}r{number}"}) for number in range(20)]
    names = [
        written(tmp_path, "yes", permission=[rule(f"p{number}", constraint=many) for number in range(40)]),
        written(
            tmp_path,
            "no",
            prohibition=[
                rule(f"n{number}", constraint=[limit("purpose", "eq", {"@id": MARKETING}), *many])
                for number in range(40)
            ],
        ),
    ]
    findings = found(names)
    assert findings
    assert findings[-1].message.startswith("this rule was not compared with")


def test_templates_are_compared_as_they_stand(tmp_path: Path) -> None:
    """Bound with the same target they contradict each other."""
    names = [
        written(tmp_path, "yes", permission=[{"uid": X + "p", "action": "read"}]),
        written(tmp_path, "no", prohibition=[{"uid": X + "n", "action": "use"}]),
    ]
    assert len(found(names)) == 1
