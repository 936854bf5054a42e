"""Spellings that say what they mean are read; where one is refused, the advice in its message is right."""

import json
import re

import pytest

from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.model.model import Comparison, Day, Instant, Logical, LogicalOperator, Policy
from smalti.policy.read.parse import ParsedDocument, parse

ODRL = "http://www.w3.org/ns/odrl/2/"
MOSAICROWN = "https://www.mosaicrown.eu/ns/mosaicrown/1/"
USE = {"target": "http://example.com/a", "action": "use"}


def document(**members: object) -> dict[str, object]:
    contexts = ["http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld"]
    return {"@context": contexts, "@type": "Set", "uid": "http://example.com/policy/1", **members}


def parsed(**members: object) -> ParsedDocument:
    return parse(json.dumps(document(**members)).encode(), "a.jsonld")


def policy(**members: object) -> Policy:
    read = parsed(**members)
    assert read.errors == ()
    return read.policies[0]


def findings(read: ParsedDocument, severity: Severity) -> list[Diagnostic]:
    return [diagnostic for diagnostic in read.diagnostics if diagnostic.severity is severity]


def until(right: object, **more: object) -> dict[str, object]:
    limit = {"leftOperand": "dateTime", "operator": "lt", "rightOperand": right, **more}
    return {"profile": MOSAICROWN, "permission": {**USE, "constraint": limit}}


# --- Empty lists


def test_an_empty_list_means_absence() -> None:
    refined = {"rdf:value": {"@id": "odrl:use"}, "refinement": []}
    written = {**USE, "action": refined, "duty": [], "constraint": []}
    empty = policy(permission=[written], prohibition=[], obligation=[])
    absent = policy(permission=[USE])
    assert (empty.rules[0].action, empty.rules[0].constraints) == (absent.rules[0].action, ())
    assert len(empty.rules) == len(absent.rules) == 1


def test_a_policy_of_empty_lists_has_no_rules() -> None:
    assert [error.code for error in parsed(permission=[], prohibition=[]).errors] == ["P302"]


@pytest.mark.parametrize(
    ("word", "code"), [("remedy", "P322"), ("obligation", "P322"), ("refinement", "P309")]
)
def test_an_empty_list_out_of_place_is_refused(word: str, code: str) -> None:
    assert [error.code for error in parsed(permission={**USE, word: []}).errors] == [code]


@pytest.mark.parametrize("part", ["assignee", "assigner", "target", "action"])
def test_empty_parts_that_would_mean_anybody_or_anything_are_refused(part: str) -> None:
    assert "P421" in [error.code for error in parsed(permission={**USE, part: []}).errors]


@pytest.mark.parametrize("operator", ["and", "or", "xone"])
def test_an_empty_logical_constraint_is_refused(operator: str) -> None:
    assert [error.code for error in parsed(permission={**USE, "constraint": {operator: []}}).errors]


# --- Types of constraints


@pytest.mark.parametrize(
    "name", ["AtomicConstraint", "odrl:AtomicConstraint", "Constraint", "LogicalConstraint"]
)
def test_a_constraint_may_have_a_type(name: str) -> None:
    count = {"leftOperand": "count", "operator": "lt", "rightOperand": 3}
    one = {"@type": name, **count}
    other = {"@type": name, "or": [count, {"@type": name, **count, "rightOperand": 5}]}
    first, second = policy(permission={**USE, "constraint": [one, other]}).permissions[0].constraints
    assert isinstance(first, Comparison)
    assert isinstance(second, Logical)
    assert second.operator is LogicalOperator.OR


@pytest.mark.parametrize("name", ["Atomicconstraint", "CompoundConstraint", "odrl:Rule"])
def test_other_types_of_constraints_are_refused(name: str) -> None:
    limit = {"@type": name, "leftOperand": "count", "operator": "lt", "rightOperand": 3}
    assert [error.code for error in parsed(permission={**USE, "constraint": limit}).errors] == ["P320"]


# --- Times


@pytest.mark.parametrize(
    "text",
    [
        "2027-12-15T12:00Z",
        "2027-12-15T12:00+01:00",
        "2027-12-15T12:00",
    ],
)
def test_the_advised_spelling_of_a_moment_is_accepted(text: str) -> None:
    (error,) = parsed(**until(text)).errors
    advised = error.help.removeprefix("write ")
    limit = policy(**until(advised)).permissions[0].constraints[0]
    assert isinstance(limit, Comparison)
    assert isinstance(limit.values[0], Instant | Day)
    assert text[:16] in error.help


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2027-12-15T12:00Z", "dateTime"),
        ("2027-12-15T12:00", "dateTime"),
        ("2027-12-15T12:00Z", "dateTimeStamp"),
    ],
)
def test_the_advised_spelling_of_a_typed_time_is_accepted(text: str, kind: str) -> None:
    (error,) = parsed(**until({"@value": text, "@type": f"xsd:{kind}"})).errors
    advised = error.help.removeprefix("write ")
    assert advised.startswith(text.rstrip("Z"))
    assert policy(**until({"@value": advised, "@type": f"xsd:{kind}"}))
    assert policy(**until(advised, dataType={"@id": f"http://www.w3.org/2001/XMLSchema#{kind}"}))


@pytest.mark.parametrize("text", ["2027-13-15T12:00Z", "2027-02-30", "25:00", "soon", "2027-12-15T12:00 Z"])
def test_no_moment_is_advised_where_the_text_names_none(text: str) -> None:
    (error,) = parsed(**until(text)).errors
    assert text not in error.help
    assert re.search(r"2026-05-01", error.help)


# --- Columns


def test_several_columns_in_one_text_are_a_warning() -> None:
    def how(columns: object) -> dict[str, object]:
        words = {"method": "k-anonymity", "k": 10}
        refinement: list[dict[str, object]] = [
            {"leftOperand": f"mosaicrown:{name}", "operator": "eq", "rightOperand": value}
            for name, value in words.items()
        ]
        columns = {
            "leftOperand": "mosaicrown:quasi-identifier",
            "operator": "isAllOf",
            "rightOperand": columns,
        }
        action = {"rdf:value": {"@id": "odrl:anonymize"}, "refinement": [*refinement, columns]}
        rule = {"target": "http://example.com/a", "action": action, "output": "http://example.com/b"}
        return {"profile": MOSAICROWN, "permission": rule}

    read = parsed(**how("ZIP, BirthDate"))
    assert read.errors == ()
    (warning,) = findings(read, Severity.WARNING)
    assert (warning.code, warning.help) == ("P511", 'if several are meant, write ["ZIP", "BirthDate"]')
    assert findings(parsed(**how(["ZIP", "BirthDate"])), Severity.WARNING) == []
    assert findings(parsed(**how("ZIP,")), Severity.WARNING) == []


# --- Profiles


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ({"action": "play"}, "play"),
        ({"action": ["use", "odrl:play"]}, "odrl:play"),
        ({"action": {"rdf:value": {"@id": "odrl:print"}}}, "odrl:print"),
        ({"constraint": {"leftOperand": "count", "operator": "lt", "rightOperand": 3}}, "count"),
        ({"purpose": "marketing"}, "purpose"),
        ({"duty": {"action": "compensate"}}, "compensate"),
        ({"target": {"uid": "http://example.com/a", "mosaicrown:belongsTo": "http://example.com/b"}}, ""),
    ],
)
def test_a_word_outside_the_core_needs_a_profile(rule: dict[str, object], word: str) -> None:
    (warning,) = findings(parsed(permission={**USE, **rule}), Severity.WARNING)
    assert warning.code == "P502"
    assert f"`{word}` is outside ODRL's core" in warning.message or not word
    assert findings(parsed(permission={**USE, **rule}, profile=MOSAICROWN), Severity.WARNING) == []


CX = "https://w3id.org/catenax/2025/9/policy/"
EDC = "https://w3id.org/edc/v0.0.1/ns/"
IN_CATENAX = [f"{CX}odrl.jsonld", f"{CX}context.jsonld"]


@pytest.mark.parametrize(
    ("context", "operand", "profile"),
    [
        (IN_CATENAX, f"{EDC}inForceDate", "add the `profile` that defines the word"),
        (IN_CATENAX, "Membership", f'add "profile": "{CX}"'),
        (IN_CATENAX, f"{MOSAICROWN}k", f'add "profile": "{MOSAICROWN}"'),
        (IN_CATENAX, f"{ODRL}count", f'add "profile": "{CX}"'),
        ("http://www.w3.org/ns/odrl.jsonld", f"{CX}Membership", f'add "profile": "{CX}"'),
        ("http://www.w3.org/ns/odrl.jsonld", "http://example.com/op", "add the `profile` that defines"),
    ],
)
def test_the_profile_that_is_advised_declares_the_word(context: object, operand: str, profile: str) -> None:
    constraint = {"leftOperand": operand, "operator": "eq", "rightOperand": "a"}
    rule = {"action": "use", "target": "http://example.com/a", "constraint": [constraint]}
    document = {"@context": context, "@type": "Set", "@id": "urn:x:p", "permission": [rule]}
    found = parse(json.dumps(document).encode(), "p.json").diagnostics
    (advised,) = [finding.help for finding in found if finding.code == "P502"]
    assert advised.startswith(profile)


@pytest.mark.parametrize(
    ("change", "whole"),
    [
        ({"operator": {"@id": "eq"}}, f"{ODRL}eq"),
        ({"leftOperand": {"@id": "count"}}, f"{ODRL}count"),
        ({"leftOperand": {"@id": "inForceDate"}}, f"{EDC}inForceDate"),
        ({"leftOperand": {"@id": "Membership"}}, f"{CX}Membership"),
    ],
)
def test_a_word_that_is_none_where_it_stands_is_written_in_full(
    change: dict[str, object], whole: str
) -> None:
    constraint = {"leftOperand": "count", "operator": "eq", "rightOperand": 1, **change}
    found = parsed(permission={**USE, "constraint": constraint}, profile=MOSAICROWN).errors
    assert whole in {finding.help.rpartition("write `")[2].rstrip("`") for finding in found}
    assert not [finding for finding in found if "did you mean" in finding.help]


@pytest.mark.parametrize("action", ["use", "transfer"])
def test_a_policy_in_words_of_the_core_needs_no_profile(action: str) -> None:
    team = {"@type": "PartyCollection", "uid": "http://example.com/team"}
    rule = {**USE, "action": action, "assignee": team, "duty": {"action": "transfer"}}
    read = parsed(permission=[rule], prohibition=[], conflict="prohibit", **{"dct:title": "a"})
    assert read.diagnostics == ()
