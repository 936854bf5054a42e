"""Decisions by policies in the shapes of data spaces, with and without what they need, against a table."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Acceptance, Effect, Fact, Request
from smalti.policy.model.binding import Binding
from smalti.policy.model.model import Policy, Text
from smalti.policy.read.parse import parse, require
from smalti.vocab.terms import CATENAX, DCAT, EDC, IRI, ODRL, USE

DSP = "https://w3id.org/dspace/2025/1/context.jsonld"
CX_ODRL = "https://w3id.org/catenax/2025/9/policy/odrl.jsonld"
CX = "https://w3id.org/catenax/2025/9/policy/context.jsonld"
DATA = IRI("urn:x:visits")
PROVIDER, CONSUMER = IRI("did:web:provider.example"), IRI("did:web:consumer.example")
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
PARTIES = {"assigner": PROVIDER, "assignee": CONSUMER}


def limit(operand: str, operator: str, value: Any) -> dict[str, Any]:
    return {"leftOperand": operand, "operator": operator, "rightOperand": value}


LIMITS: dict[str, tuple[list[dict[str, Any]], dict[str, str], dict[str, str]]] = {
    "member": ([limit("Membership", "eq", "active")], {"Membership": "active"}, {}),
    "purpose": ([limit("UsagePurpose", "isAnyOf", ["cx.pcf.base:1", "cx.circular.dpp:1"])],
                {"UsagePurpose": "cx.circular.dpp:1"}, {}),
    "number": ([limit("BusinessPartnerNumber", "isAnyOf", ["BPNL000000000001"])],
               {"BusinessPartnerNumber": "BPNL000000000001"}, {}),
    "framework": ([limit("FrameworkAgreement", "eq", "DataExchangeGovernance:1.0")],
                  {"FrameworkAgreement": "DataExchangeGovernance:1.0"}, {}),
    "member and purpose": (
        [{"and": [limit("Membership", "eq", "active"), limit("UsagePurpose", "isAnyOf", ["cx.a:1"])]}],
        {"Membership": "active", "UsagePurpose": "cx.a:1"}, {},
    ),
    "clause": ([limit("DataFrequency", "eq", "cx.dataFrequency.unlimited:1")],
               {}, {"DataFrequency": "cx.dataFrequency.unlimited:1"}),
    "reference": ([limit("ContractReference", "isAllOf", ["C1"])], {}, {"ContractReference": "C1"}),
    "member and clause": (
        [limit("Membership", "eq", "active"), limit("Liability", "eq", "cx.grossNegligence:1")],
        {"Membership": "active"}, {"Liability": "cx.grossNegligence:1"},
    ),
}  # fmt: skip
"""The constraints of a permission, the facts that it needs, and the clauses; written by hand."""


def rules(limits: list[dict[str, Any]]) -> dict[str, Any]:
    return {"permission": [{"action": "use", "constraint": limits}], "prohibition": [], "obligation": []}


def stored(limits: list[dict[str, Any]]) -> dict[str, Any]:
    inner = {"@context": [CX_ODRL, CX], "@type": "Set", **rules(limits)}
    return {
        "@context": {"@vocab": EDC, "odrl": ODRL},
        "@type": "PolicyDefinition",
        "@id": "d",
        "policy": inner,
    }


def stored_with_contexts_outside(limits: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "@context": [CX_ODRL, CX, {"@vocab": EDC}], "@type": "PolicyDefinition", "@id": "d",
        "policy": {"@type": "Set", **rules(limits)},
    }  # fmt: skip


def agreed_with_a_connector(limits: list[dict[str, Any]]) -> dict[str, Any]:
    inner = {"@context": [CX_ODRL, CX], "@type": "Agreement", "@id": "urn:x:a", **rules(limits)}
    return {
        "@context": [{"@vocab": EDC}], "@type": "ContractAgreement", "@id": "urn:x:a",
        "providerId": PROVIDER, "consumerId": CONSUMER, "assetId": DATA, "policy": inner,
    }  # fmt: skip


def agreed_by_the_protocol(limits: list[dict[str, Any]]) -> dict[str, Any]:
    named = json.loads(json.dumps(limits).replace('"leftOperand": "', '"leftOperand": "cx:'))
    named = json.loads(json.dumps(named).replace('"cx:https://', '"https://'))
    agreement = {"@id": "urn:x:a", "@type": "Agreement", "target": DATA, **PARTIES, **rules(named)}
    return {
        "@context": [DSP, {"cx": CATENAX}], "@type": "ContractAgreementMessage", "providerPid": "urn:x:1",
        "consumerPid": "urn:x:2", "timestamp": "2026-11-01T12:00:00Z", "agreement": agreement,
    }  # fmt: skip


def listed(limits: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "@context": [CX_ODRL, CX, {"dcat": DCAT}], "@type": "dcat:Dataset", "@id": DATA,
        "hasPolicy": [{"@type": "Set", "@id": "urn:x:p", **rules(limits)}],
    }  # fmt: skip


SHAPES = [stored, stored_with_contexts_outside, agreed_with_a_connector, agreed_by_the_protocol, listed]


def policy_of(document: dict[str, Any]) -> Policy:
    text = json.dumps(document).encode()
    first = parse(text, "p.json")
    assert first.errors == ()
    if first.policies:
        return require(first)
    return require(parse(text, "p.json", binding=Binding(target=DATA, **PARTIES)))


def operand(name: str) -> IRI:
    return IRI(CATENAX + name)


def request(facts: dict[str, str], clauses: dict[str, str]) -> Request:
    return Request(
        party=CONSUMER, action=USE, targets=(DATA,), time=NOW,
        facts=tuple(Fact(operand(name), (Text(value),)) for name, value in facts.items()),
        accepted=tuple(Acceptance(operand(name), (Text(value),)) for name, value in clauses.items()),
        on_behalf_of=CONSUMER if clauses else None,
    )  # fmt: skip


@pytest.mark.parametrize(("shape", "name"), [*product(SHAPES, LIMITS)])
def test_nothing_is_permitted_before_all_that_is_needed_is_said(shape: Any, name: str) -> None:
    limits, facts, clauses = LIMITS[name]
    policy = policy_of(shape(limits))
    asked = request(facts, clauses)
    assert authorize(asked, [policy]).effect is Effect.PERMIT
    assert authorize(request({}, {}), [policy]).effect is not Effect.PERMIT
    for left_out in facts:
        fewer = {other: value for other, value in facts.items() if other != left_out}
        assert authorize(request(fewer, clauses), [policy]).effect is not Effect.PERMIT
        wrong = {**facts, left_out: "something else"}
        assert authorize(request(wrong, clauses), [policy]).effect is not Effect.PERMIT
    for left_out in clauses:
        fewer = {other: value for other, value in clauses.items() if other != left_out}
        assert authorize(request(facts, fewer), [policy]).effect is not Effect.PERMIT
    stranger = replace(asked, party=PROVIDER, on_behalf_of=PROVIDER if clauses else None)
    if shape is not listed:  # whose policy names no assignee, so that it is about anybody
        assert authorize(stranger, [policy]).effect is not Effect.PERMIT


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("value", "at", "is_permitted"),
    [
        ("2026-12-01T00:00:00Z", NOW, True),
        ("2026-11-01T00:00:00Z", NOW, False),
        ("contractAgreement+30d", NOW, True),
        ("contractAgreement+10d", NOW, False),
    ],
)
def test_a_date_in_force_is_compared_with_the_clock(
    shape: Any, value: str, at: datetime, is_permitted: bool
) -> None:
    policy = policy_of(shape([limit(EDC + "inForceDate", "lteq", value)]))
    asked = replace(request({}, {}), time=at, agreed=datetime(2026, 11, 1, 12, tzinfo=UTC))
    assert (authorize(asked, [policy]).effect is Effect.PERMIT) == is_permitted
    late = replace(asked, time=at + timedelta(days=365))
    assert authorize(late, [policy]).effect is not Effect.PERMIT
    if "+" in value:
        assert authorize(replace(asked, agreed=None), [policy]).effect is not Effect.PERMIT
