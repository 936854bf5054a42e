"""Small policies, written as a test needs them, and what is found in them."""

import json
from collections.abc import Mapping, Sequence

from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.model.model import Anonymization, Condition, Permission
from smalti.policy.read.parse import ParsedDocument, parse, require

CONTEXT = [
    "http://www.w3.org/ns/odrl.jsonld",
    "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
    "https://w3id.org/smalti/context.jsonld",
]
TARGET = "http://example.com/Customer"
Json = object


def refinement(operand: str, operator: str, value: Json, **more: Json) -> dict[str, Json]:
    return {"leftOperand": operand, "operator": operator, "rightOperand": value, **more}


def document(rules: Mapping[str, Json]) -> ParsedDocument:
    policy = {
        "@context": CONTEXT, "@type": "Set", "uid": "http://example.com/policy/1",
        "profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/", **rules,
    }  # fmt: skip
    return parse(json.dumps(policy, indent=1).encode(), "p.jsonld")


def permission(**parts: Json) -> ParsedDocument:
    rule = {"assignee": "http://example.com/acme", "target": TARGET, **parts}
    return document({"permission": [rule]})


def anonymize(refinements: Sequence[Json], **parts: Json) -> ParsedDocument:
    action = [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": list(refinements)}]
    return permission(action=action, output="http://example.com/anon", **parts)


def read(constraint: Json, **parts: Json) -> ParsedDocument:
    return permission(action="odrl:read", constraint=constraint, **parts)


def said(parsed: ParsedDocument, severity: Severity = Severity.ERROR) -> list[tuple[str, str]]:
    """Each finding's code, with the text that it underlines."""
    return [
        (found.code, underlined(found, parsed.text))
        for found in parsed.diagnostics
        if found.severity is severity
    ]


def underlined(found: Diagnostic, text: str) -> str:
    line = text.splitlines()[found.where.line - 1]
    return line[found.where.column - 1 :][: found.length].strip('"')


def errors(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return said(parsed)


def warnings(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return said(parsed, Severity.WARNING)


def granted(parsed: ParsedDocument) -> Permission:
    (only,) = require(parsed).permissions
    return only


def transformation(parsed: ParsedDocument) -> Anonymization:
    found = granted(parsed).anonymization
    assert found is not None
    return found


def constraint(parsed: ParsedDocument) -> Condition:
    (only,) = granted(parsed).constraints
    return only
