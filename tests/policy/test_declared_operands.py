"""Operands, actions and profiles that vocabularies declare: how policies are read, and what they decide."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import smalti
from smalti.errors import UsageError
from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Acceptance, Decision, DutyReading, Effect, Fact, Request
from smalti.policy.decide.facts import comparisons
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.findings.diagnostics import Severity
from smalti.policy.lint.across import conflicts_across
from smalti.policy.lint.lint import lint
from smalti.policy.lint.needs import needed_statements, needs_of
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import (
    Asset,
    Comparison,
    Condition,
    ConflictStrategy,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Permission,
    Policy,
    Prohibition,
    Text,
    Value,
)
from smalti.policy.read.parse import ParsedDocument, parse, parse_all, require
from smalti.policy.read.vocabularies import read_vocabulary
from smalti.policy.say.serialize import serialize
from smalti.vocab.declarations import OperandKind
from smalti.vocab.markets import IN_FORCE_DATE, OPERANDS
from smalti.vocab.odrl import Measured
from smalti.vocab.terms import CATENAX, IRI, MOSAICROWN, ODRL, READ, USE

OWNER, LAB, OTHER = (IRI(f"http://example.com/party/{name}") for name in ("owner", "lab", "other"))
VISITS = IRI("http://example.com/visits")
LIABILITY, REFERENCE = IRI(CATENAX + "Liability"), IRI(CATENAX + "ContractReference")
SELL = IRI(ODRL + "sell")
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
AGREED = datetime(2026, 11, 1, 12, tzinfo=UTC)
CONTEXT = [
    "http://www.w3.org/ns/odrl.jsonld",
    {"cx": CATENAX, "edc": "https://w3id.org/edc/v0.0.1/ns/", "x": "http://market.example/"},
]
VOCABULARY = b"""
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix smalti: <https://w3id.org/smalti#> .
@prefix x: <http://market.example/> .
x:profile a skos:Collection ; skos:member x:Region, x:look .
x:look a odrl:Action ; odrl:includedIn odrl:use .
x:float a odrl:Action .
x:Region a odrl:LeftOperand ; rdfs:range x:Regions .
x:europe skos:inScheme x:Regions ; skos:notation "EU" .
x:italy skos:broader x:europe ; skos:notation "IT" .
x:asia skos:inScheme x:Regions .
x:Rating a odrl:LeftOperand ; rdfs:range xsd:decimal ; smalti:statedBy x:chamber .
x:clerk odrl:partOf x:chamber . x:chamber a odrl:PartyCollection .
x:Audited a odrl:LeftOperand ; rdfs:range xsd:boolean .
x:Runs smalti:operandKind smalti:Count .
x:consumer rdfs:subPropertyOf odrl:assignee .
"""
MARKET = STANDARD.with_(read_vocabulary(VOCABULARY, "market.ttl"))


def x(name: str) -> IRI:
    return IRI(f"http://market.example/{name}")


def compared(operand: str, operator: str, value: object) -> dict[str, Any]:
    return {"leftOperand": {"@id": operand}, "operator": operator, "rightOperand": value}


def rule(*constraints: dict[str, Any], **parts: Any) -> dict[str, Any]:
    limits = {"constraint": list(constraints)} if constraints else {}
    return {"uid": "http://example.com/policy/1", "action": "use", "assignee": LAB} | limits | parts


def document(**parts: Any) -> bytes:
    head = {
        "@context": CONTEXT,
        "@type": "Set",
        "uid": "http://example.com/policy",
        "profile": "cx:profile2509",
        "conflict": "prohibit",
        "target": VISITS,
    }
    return json.dumps(head | parts).encode()


def policy(hierarchies: Hierarchies = STANDARD, **parts: Any) -> Policy:
    return require(parse(document(**parts), "p.jsonld", hierarchies=hierarchies))


def found_in(parsed: ParsedDocument, code: str) -> list[tuple[str, str]]:
    return [(found.message, found.help) for found in parsed.diagnostics if found.code == code]


def findings(code: str, *constraints: dict[str, Any], **parts: Any) -> list[tuple[str, str]]:
    parsed = parse(
        document(permission=[rule(*constraints, **parts)]), "p.jsonld", hierarchies=MARKET
    )  # fmt: skip
    assert parsed.policies == ()
    return found_in(parsed, code)


def request(**parts: Any) -> Request:
    return replace(Request(party=LAB, action=USE, targets=(VISITS,), time=NOW), **parts)


def stated(**facts: str) -> tuple[Fact, ...]:
    return tuple(Fact(IRI(CATENAX + name), (Text(value),)) for name, value in facts.items())


def accepting(*acceptances: Acceptance, **parts: Any) -> Request:
    return request(accepted=acceptances, on_behalf_of=LAB, **parts)


def effect(asked: Request, *policies: Policy, hierarchies: Hierarchies = STANDARD) -> Effect:
    return authorize(asked, policies, hierarchies).effect


# --- Reading

_VALUES: dict[Measured, object] = {
    Measured.TEXT: "cx.word:1",
    Measured.WHOLE_NUMBER: 30,
    Measured.MOMENT: "2027-12-15T12:00:00Z",
}


@pytest.mark.parametrize("operand", OPERANDS.values(), ids=lambda operand: operand.iri.rpartition("/")[2])
def test_each_operand_of_data_spaces_is_read_as_it_is_declared(operand: Any) -> None:
    for operator in operand.operators:
        limit = compared(operand.iri, operator, _VALUES[operand.range])
        (read,) = policy(permission=[rule(limit)]).permissions[0].constraints
        assert isinstance(read, Comparison)
        assert (read.operand, read.operator) == (operand.iri, operator)
    needs = needs_of(policy(permission=[rule(limit)]).permissions[0], STANDARD)
    assert (operand in needs.facts) is (operand.kind is OperandKind.FACT)
    assert (operand in needs.clauses) is (operand.kind is OperandKind.CLAUSE)


@pytest.mark.parametrize(
    ("operand", "operator", "value", "code", "message", "help_"),
    [
        (CATENAX + "Membership", "isAnyOf", "active", "P405", "a fact that is a text", "write one of `eq`"),
        (CATENAX + "Liability", "lt", "x", "P405", "a clause that is a text", "`eq`, `isAnyOf`"),
        (CATENAX + "Membership", "eq", 1, "P433", "must be a text, not the number 1", ""),
        (CATENAX + "DataUsageEndDurationDays", "eq", "30", "P433", "a whole number", "without quotes"),
        (CATENAX + "DataUsageEndDate", "eq", "soon", "P426", "`soon` is not a valid `xsd:dateTime`", ""),
        (IN_FORCE_DATE, "lteq", "contractAgreement+1y", "P426", "not a valid", ""),
        ("cx:Membershp", "eq", "active", "P307", "unknown operand", "`cx:Membership`"),
        (x("Region"), "eq", "ES", "P433", "a concept of its scheme, not the text `ES`", "`EU`, `IT`"),
        (x("Region"), "eq", {"@id": "x:spain"}, "P433", "not the IRI", ""),
        (x("Audited"), "eq", "yes", "P433", "must be true or false", "without quotes"),
        (x("Audited"), "lt", True, "P405", "true or false", "`eq`, `neq`"),
    ],
)
def test_a_condition_that_contradicts_the_declaration_is_an_error(
    operand: str, operator: str, value: object, code: str, message: str, help_: str
) -> None:
    ((said, way_out),) = findings(code, compared(operand, operator, value))
    assert message in said
    assert help_ in way_out


def test_a_declared_operand_limits_rules_and_has_no_unit() -> None:
    limit = compared(CATENAX + "DataUsageEndDurationDays", "eq", 30) | {"unit": {"@id": "x:days"}}
    assert findings("P434", limit)
    refined = {"rdf:value": {"@id": "odrl:use"}, "refinement": [compared(LIABILITY, "eq", "a")]}
    ((said, way_out),) = findings("P419", action=refined)
    assert "a clause, which limits a rule" in said
    assert "`constraint`" in way_out
    staff = {
        "@type": "PartyCollection", "source": LAB, "refinement": [compared(LIABILITY, "eq", "a")],
    }  # fmt: skip
    assert findings("P419", assignee=staff)


def test_a_misspelt_operand_of_a_market_is_unknown_and_the_nearest_is_named() -> None:
    (warned,) = (
        found
        for found in parse(
            document(permission=[rule(compared(x("Regoin"), "eq", "IT"))]), "p", hierarchies=MARKET
        ).diagnostics
        if found.code == "P508"
    )
    assert str(x("Region")) in warned.help


def test_a_column_of_a_target_stays_a_column() -> None:
    own = read_vocabulary(
        f"<{VISITS}/age> a <{ODRL}LeftOperand> ; <https://w3id.org/smalti#operandKind>"
        " <https://w3id.org/smalti#Clause> .".encode(),
        "own.ttl",
    )
    hierarchies = STANDARD.with_(own)
    limited = policy(hierarchies, permission=[rule(compared(f"{VISITS}/age", "gt", 17))])
    assert effect(request(), limited, hierarchies=hierarchies) is Effect.LIMITED


def test_declared_actions() -> None:
    look = policy(MARKET, permission=[rule(action={"@id": "x:look"})])
    assert effect(request(action=x("look")), look, hierarchies=MARKET) is Effect.PERMIT
    assert effect(request(), look, hierarchies=MARKET) is not Effect.PERMIT
    access = policy(permission=[rule(action={"@id": "cx:access"})])
    assert effect(request(action=IRI(CATENAX + "access")), access) is Effect.PERMIT
    for action in (USE, READ):
        assert effect(request(action=action), access) is not Effect.PERMIT
    assert effect(request(action=IRI(CATENAX + "access")), policy(permission=[rule()])) is Effect.PERMIT
    ((said, way_out),) = findings("P305", action={"@id": "x:float"})
    assert "included in neither" in said
    assert "odrl:use" in way_out
    assert findings("P305", action={"@id": "x:lok"})


def test_a_declared_property_of_rules_is_read_as_odrls() -> None:
    consumer = {"x:consumer": {"@id": LAB}}
    own = {key: part for key, part in rule().items() if key != "assignee"}
    limited = policy(MARKET, permission=[own | consumer])
    assert effect(request(), limited, hierarchies=MARKET) is Effect.PERMIT
    assert effect(request(party=OTHER), limited, hierarchies=MARKET) is not Effect.PERMIT
    assert findings("P213", **consumer)  # beside `assignee`
    assert found_in(parse(document(permission=[own | consumer]), "p"), "P309")


# --- Profiles


@pytest.mark.parametrize("profile", sorted(MARKET.profiles))
def test_a_policy_may_name_a_profile_that_is_declared(profile: str) -> None:
    named = policy(MARKET, profile=profile, permission=[rule()])
    assert effect(request(), named, hierarchies=MARKET) is Effect.PERMIT


def test_an_unknown_profile_stops_everything_but_a_check() -> None:
    content = document(
        profile="x:profile", permission=[rule()], prohibition=[rule(uid=x("2"), action="sell")]
    )
    parsed = parse(content, "p.jsonld")
    assert not parsed.is_valid
    assert parsed.policies == ()
    (checked,) = parse_all([(content, "p.jsonld")], stops_at_profiles=False)
    (finding,) = (found for found in checked.diagnostics if found.code == "P317")
    assert finding.severity is Severity.WARNING
    (unusable,) = checked.policies
    assert unusable.profiles == (x("profile"),)
    decision = authorize(request(), [unusable])
    assert decision.grants == ()
    assert any("the profile `http://market.example/profile`" in reason.text for reason in decision.reasons)
    other = policy(permission=[rule(uid=x("3"), action="sell")])
    assert effect(request(action=SELL), other) is Effect.PERMIT
    assert effect(request(action=SELL), other, unusable) is Effect.DENY
    assert effect(request(), unusable, hierarchies=MARKET) is Effect.PERMIT


def test_a_check_goes_on_with_words_of_an_unknown_profile() -> None:
    content = document(
        profile="x:profile",
        permission=[rule(compared(x("Tier"), "eq", "gold"), action={"@id": "x:look"})],
        prohibition=[rule(uid=x("2"), action={"@id": "x:float"})],
    )
    (checked,) = parse_all([(content, "p.jsonld")], stops_at_profiles=False)
    assert [found.severity for found in checked.diagnostics if found.code == "P305"] == [
        Severity.WARNING
    ] * 2
    (unusable,) = checked.policies
    for action in (x("look"), USE):
        assert authorize(request(action=action), [unusable]).grants == ()
    assert {found.code for found in parse(content, "p.jsonld").errors} == {"P305", "P317"}
    declared_nowhere = document(permission=[rule(action={"@id": "x:look"})])
    of_odrl = document(profile="x:profile", permission=[rule(action={"@id": "odrl:look"})])
    for wrong in (declared_nowhere, of_odrl):
        (refused,) = parse_all([(wrong, "p.jsonld")], stops_at_profiles=False)
        assert {found.code for found in refused.errors} == {"P305"}


# --- Facts

EXAMPLE = {
    "and": [
        compared(CATENAX + "Membership", "eq", "active"),
        compared(CATENAX + "UsagePurpose", "isAnyOf", ["cx.pcf.base:1"]),
    ]
}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, Effect.DENY),
        ({"Membership": "active"}, Effect.DENY),
        ({"UsagePurpose": "cx.pcf.base:1"}, Effect.DENY),
        ({"Membership": "active", "UsagePurpose": "cx.pcf.base:1"}, Effect.PERMIT),
        ({"Membership": "inactive", "UsagePurpose": "cx.pcf.base:1"}, Effect.DENY),
        ({"Membership": "active", "UsagePurpose": "cx.pcf.base:2"}, Effect.DENY),
        ({"Membership": "Active", "UsagePurpose": "cx.pcf.base:1"}, Effect.DENY),
    ],
)
def test_facts_decide(facts: dict[str, str], expected: Effect) -> None:
    permitting = policy(permission=[rule(EXAMPLE)])
    decision = authorize(request(facts=stated(**facts)), [permitting])
    assert decision.effect is expected
    wrong = [name for name, value in facts.items() if value not in {"active", "cx.pcf.base:1"}]
    text = decision.reasons[0 if expected is Effect.PERMIT else 1].text
    named = wrong or sorted(
        facts if expected is Effect.PERMIT else {"Membership", "UsagePurpose"} - {*facts}
    )
    assert all(f"`{name}" in text for name in named)
    if wrong:
        assert text.endswith("is unsatisfied")


def test_a_fact_counts_on_the_word_of_whoever_may_state_it() -> None:
    rated = policy(MARKET, permission=[rule(compared(x("Rating"), "gteq", 4))])
    for by, expected in (
        (None, Effect.DENY), (LAB, Effect.DENY), (x("chamber"), Effect.PERMIT), (x("clerk"), Effect.PERMIT),
    ):  # fmt: skip
        fact = Fact(x("Rating"), (Number(Decimal(5)),), by=by)
        assert effect(request(facts=(fact,)), rated, hierarchies=MARKET) is expected


@pytest.mark.parametrize(
    ("limit", "value", "expected"),
    [
        ("EU", Text("IT"), Effect.PERMIT),
        ("EU", Named(x("italy")), Effect.PERMIT),
        ("EU", Text("EU"), Effect.PERMIT),
        ("IT", Text("EU"), Effect.DENY),
        ("EU", Named(x("asia")), Effect.DENY),
        ("EU", Text("ES"), Effect.DENY),
        ({"@id": "x:europe"}, Text("IT"), Effect.PERMIT),
        ({"@id": "x:asia"}, Text("IT"), Effect.DENY),
    ],
)
def test_values_are_concepts_with_broader_ones(limit: object, value: Any, expected: Effect) -> None:
    within = policy(MARKET, permission=[rule(compared(x("Region"), "eq", limit))])
    fact = Fact(x("Region"), (value,))
    assert effect(request(facts=(fact,)), within, hierarchies=MARKET) is expected
    outside = policy(
        MARKET,
        permission=[rule()],
        prohibition=[rule(compared(x("Region"), "isNoneOf", [limit]), uid=x("2"))],
    )
    assert effect(request(facts=(fact,)), outside, hierarchies=MARKET) is expected


# --- Clocks and counts


@pytest.mark.parametrize(
    ("operator", "limit", "agreed", "expected"),
    [
        ("lteq", "2027-12-15T12:00:00Z", None, Effect.PERMIT),
        ("lteq", "2025-12-15T12:00:00Z", None, Effect.DENY),
        ("gteq", "2026-11-25", None, Effect.DENY),
        ("gteq", "2026-11-20", None, Effect.PERMIT),
        ("lteq", "contractAgreement+30d", AGREED, Effect.PERMIT),
        ("lteq", "contractAgreement+30d", None, Effect.DENY),
        ("lteq", "contractAgreement+24d", AGREED, Effect.PERMIT),
        ("lt", "contractAgreement+24d", AGREED, Effect.DENY),
        ("lteq", "contractAgreement+575h", AGREED, Effect.DENY),
        ("gteq", "contractAgreement+34560m", AGREED, Effect.PERMIT),
        ("gteq", "contractAgreement-5s", AGREED, Effect.PERMIT),
        ("gteq", "contractagreement+0s", AGREED, Effect.PERMIT),
        ("lteq", "contractAgreement+999999999d", AGREED, Effect.DENY),
    ],
)
def test_a_clock_is_the_time_of_the_request(
    operator: str, limit: str, agreed: datetime | None, expected: Effect
) -> None:
    timed = policy(permission=[rule(compared(IN_FORCE_DATE, operator, limit))])
    assert effect(request(agreed=agreed), timed) is expected
    assert effect(request(agreed=agreed, time=None), timed) is Effect.DENY
    said = Fact(IN_FORCE_DATE, (Text("2026-11-25"),))  # the requester's own word of it
    assert effect(request(agreed=agreed, facts=(said,)), timed) is expected


def test_an_agreement_of_the_future_is_no_agreement() -> None:
    late = NOW + timedelta(days=1)
    for agreed in (late, late.replace(tzinfo=None), NOW.astimezone(timezone(timedelta(hours=9))) + SECOND):
        with pytest.raises(UsageError, match="after the request's time"):
            request(agreed=agreed)
    assert request(agreed=NOW).agreed == NOW
    asked = {"party": LAB, "action": "use", "target": VISITS, "registry": ":memory:"}
    with pytest.raises(UsageError, match="after the request's time"):
        smalti.decide(**asked, time="2026-11-25", agreed="2099-01-01")


def test_a_count_is_what_the_registry_keeps() -> None:
    few = policy(MARKET, permission=[rule(compared(x("Runs"), "lt", 3))])
    for number, expected in ((None, Effect.DENY), (2, Effect.PERMIT), (3, Effect.DENY)):
        kept = () if number is None else (Fact(x("Runs"), (Number(Decimal(number)),)),)
        said = (Fact(x("Runs"), (Number(Decimal(0)),)),)
        assert effect(request(kept=kept, facts=said), few, hierarchies=MARKET) is expected


# --- Clauses


def clause(operator: str, value: object, operand: str = LIABILITY) -> dict[str, Any]:
    return compared(operand, operator, value)


AS_STATED = Acceptance(LIABILITY)


def only(*values: str, operand: IRI = LIABILITY) -> tuple[Acceptance, ...]:
    return tuple(Acceptance(operand, (Text(value),)) for value in values)


@pytest.mark.parametrize(
    ("limit", "accepted", "expected"),
    [
        (clause("eq", "a"), (), Effect.DENY),
        (clause("eq", "a"), (AS_STATED,), Effect.PERMIT),
        (clause("eq", "a"), only("a"), Effect.PERMIT),
        (clause("eq", "a"), only("b"), Effect.DENY),
        (clause("eq", "a"), only("b", "a"), Effect.PERMIT),
        (clause("isAnyOf", ["a", "b"]), only("b"), Effect.PERMIT),
        (clause("eq", "a"), (Acceptance(REFERENCE),), Effect.DENY),
        (clause("isAllOf", ["a", "b"], REFERENCE), only("a", operand=REFERENCE), Effect.DENY),
        (clause("isAllOf", ["a", "b"], REFERENCE), only("a", "b", operand=REFERENCE), Effect.PERMIT),
        (clause("isAllOf", ["a", "b"], REFERENCE), only("c", "a", "b", operand=REFERENCE), Effect.PERMIT),
        ({"or": [clause("eq", "a"), clause("eq", "b")]}, only("b"), Effect.PERMIT),
        ({"xone": [clause("eq", "a"), clause("eq", "b")]}, only("b"), Effect.DENY),
        ({"xone": [clause("eq", "a"), clause("eq", "b")]}, (AS_STATED,), Effect.DENY),
    ],
)
def test_a_clause_holds_where_it_is_accepted(
    limit: dict[str, Any], accepted: tuple[Acceptance, ...], expected: Effect
) -> None:
    permitting = policy(permission=[rule(limit)])
    asked = request(accepted=accepted, on_behalf_of=LAB if accepted else None)
    decision = authorize(asked, [permitting])
    assert decision.effect is expected
    if expected is Effect.PERMIT:
        assert {leaf.operand for leaf in decision.grants[0].clauses} == {accepted[0].clause}
    else:
        text = " ".join(reason.text for reason in decision.reasons)
        assert "xone" in limit or "does not accept the clause" in text


ACTIVE = compared(CATENAX + "Membership", "eq", "active")
MEMBER = Fact(IRI(CATENAX + "Membership"), (Text("active"),))
A, B = clause("eq", "a"), clause("eq", "b")


def named(decision: Decision) -> list[tuple[str, ...]]:
    """The values of each clause that the only grant names."""
    (grant,) = decision.grants
    return [tuple(value.text for value in leaf.values if isinstance(value, Text)) for leaf in grant.clauses]


@pytest.mark.parametrize(
    ("limit", "accepted", "expected"),
    [
        ({"or": [A, B]}, only("b"), [("b",)]),
        ({"or": [A, B]}, only("b", "c"), [("b",)]),
        ({"or": [A, B]}, (AS_STATED,), [("a",), ("b",)]),
        ({"or": [A, ACTIVE]}, only("b"), []),
        ({"or": [A, ACTIVE]}, only("a"), []),
        ({"or": [{"and": [A, ACTIVE]}, B]}, only("a"), [("a",)]),
        ({"or": [{"and": [A, compared(CATENAX + "BusinessPartnerNumber", "isAnyOf", "n")]}, B]},
         only("a", "b"), [("b",)]),
        ({"xone": [A, ACTIVE]}, only("b"), None),
        (clause("isAnyOf", ["a", "b", "c"]), only("b"), [("b",)]),
        (clause("isAnyOf", ["a", "b"]), (AS_STATED,), [("a", "b")]),
        (clause("isAllOf", ["a", "b"], REFERENCE), only("c", "a", "b", operand=REFERENCE), [("a", "b")]),
        (ACTIVE, only("a"), []),
    ],
)  # fmt: skip
def test_a_decision_names_the_clauses_that_it_depends_on(
    limit: dict[str, Any], accepted: tuple[Acceptance, ...], expected: list[tuple[str, ...]] | None
) -> None:
    decision = authorize(accepting(*accepted, facts=(MEMBER,)), [policy(permission=[rule(limit)])])
    assert (named(decision) if decision.grants else None) == expected


def test_a_clause_of_a_duty_is_named() -> None:
    owed = {"uid": x("owed"), "action": "compensate", "constraint": [{"or": [A, B]}]}
    needing = policy(permission=[rule(duty=owed)])
    (note,) = needed_statements(needing, STANDARD)
    assert f"the permission applies only to requests that accept the clause `{LIABILITY}`" in note.message
    fulfilled = frozenset({x("owed")})
    assert effect(request(fulfilled=fulfilled), needing) is Effect.DENY
    assert named(authorize(accepting(*only("a"), fulfilled=fulfilled), [needing])) == [("a",)]


def test_a_check_says_what_a_remedy_and_an_obligation_to_anonymize_need() -> None:
    how = [
        {"leftOperand": {"@id": f"{MOSAICROWN}{name}"}, "operator": operator, "rightOperand": value}
        for name, operator, value in (
            ("method", "eq", "k-anonymity"),
            ("k", "gteq", 5),
            ("quasi-identifier", "isAllOf", [{"@id": f"{VISITS}/age"}]),
        )
    ]
    anonymize = {"rdf:value": {"@id": "odrl:anonymize"}, "refinement": how}
    owed = {"uid": x("owed"), "action": [anonymize], "constraint": [A], "output": x("out")}
    profiles = {"profile": ["cx:profile2509", MOSAICROWN]}
    remedied = policy(prohibition=[rule(ACTIVE, remedy=owed)], **profiles)
    (note,) = needed_statements(remedied, STANDARD)
    for part in ("the remedy applies only", f"`{CATENAX}Membership`", f"accept the clause `{LIABILITY}`"):
        assert part in note.message
    obliged = policy(obligation=[{**owed, "assignee": LAB}], **profiles)
    (note,) = needed_statements(obliged, STANDARD)
    assert f"the obligation applies only to requests that accept the clause `{LIABILITY}`" in note.message


def test_a_clause_of_a_duty_that_is_owed_is_named() -> None:
    needing = policy(permission=[rule(duty={"uid": x("owed"), "action": "compensate", "constraint": [A]})])
    later = accepting(*only("a"), duties=DutyReading.NOT_VIOLATED, understands_limits=True)
    assert named(authorize(later, [needing])) == [("a",)]


@pytest.mark.parametrize(
    "limit",
    [
        clause("eq", "a"),
        {"xone": [clause("eq", "a"), compared(CATENAX + "Membership", "eq", "active")]},
        {"xone": [clause("eq", "a"), clause("eq", "b")]},
    ],
)
@pytest.mark.parametrize("accepted", [(), (AS_STATED,), only("a"), only("b"), only("a", "b")])
def test_no_clause_keeps_a_prohibition_from_applying(
    limit: dict[str, Any], accepted: tuple[Acceptance, ...]
) -> None:
    both = policy(permission=[rule()], prohibition=[rule(limit, uid=x("2"))])
    asked = request(
        accepted=accepted, on_behalf_of=LAB if accepted else None, facts=stated(Membership="active")
    )
    assert effect(asked, both) is Effect.DENY


DAYS = b"""
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix smalti: <https://w3id.org/smalti#> .
<http://market.example/days> smalti:operandKind smalti:%s ; rdfs:range xsd:integer .
"""


def with_days(kind: bytes) -> Hierarchies:
    return STANDARD.with_(read_vocabulary(DAYS % kind, "days.ttl"))


def test_clauses_that_exclude_each_other_hold_where_they_are_accepted() -> None:
    """They are never unsatisfied: a permission with both may contradict a prohibition."""
    limits = [compared(x("days"), "gteq", 10), compared(x("days"), "lt", 5)]
    forbidden = compared(CATENAX + "Membership", "eq", "active")
    for kind, expected, is_never in ((b"Clause", Effect.VOID, False), (b"Fact", Effect.DENY, True)):
        market = with_days(kind)
        both = policy(
            market, conflict="invalid", permission=[rule(*limits)],
            prohibition=[rule(forbidden, uid=x("2"), assignee=OTHER), rule(forbidden, uid=x("3"))],
        )  # fmt: skip
        asked = accepting(Acceptance(x("days")), facts=(Fact(MEMBER.operand, (Text("none"),)),))
        assert effect(asked, both, hierarchies=market) is expected
        assert ("P601" in {finding.code for finding in lint(both, hierarchies=market)}) == is_never
        alone = policy(market, permission=[rule(*limits)])
        permitted = effect(asked, alone, hierarchies=market) is Effect.PERMIT
        assert permitted is not is_never


@pytest.mark.parametrize(("kind", "number"), [(b"Clause", 1), (b"Fact", 0)])
def test_a_prohibition_with_the_opposite_clause_is_shown(kind: bytes, number: int) -> None:
    market = with_days(kind)
    yes = policy(market, permission=[rule(compared(x("days"), "eq", 1))])
    no = policy(
        market, uid="http://example.com/no", prohibition=[rule(compared(x("days"), "neq", 1), uid=x("2"))]
    )
    assert len(list(conflicts_across([yes, no], market))) == number
    asked = accepting(Acceptance(x("days")), facts=(Fact(x("days"), (Number(Decimal(1)),)),))
    assert effect(asked, yes, no, hierarchies=market) is (Effect.DENY if number else Effect.PERMIT)


def test_a_stated_fact_is_no_acceptance() -> None:
    permitting = policy(permission=[rule(clause("eq", "a"))])
    assert effect(request(facts=(Fact(LIABILITY, (Text("a"),)),)), permitting) is Effect.DENY
    membership = policy(permission=[rule(compared(CATENAX + "Membership", "eq", "active"))])
    assert effect(accepting(Acceptance(IRI(CATENAX + "Membership"))), membership) is Effect.DENY


@pytest.mark.parametrize("part", ["party", "on_behalf_of", "targets", "purpose"])
def test_half_a_character_is_a_usage_error(part: str) -> None:
    half = IRI("http://example.com/\ud800")
    value = (half,) if part == "targets" else half
    with pytest.raises(UsageError, match="a character that an IRI cannot have") as caught:
        replace(accepting(AS_STATED), **{part: value})
    str(caught.value).encode()


@pytest.mark.parametrize("behalf", [None, OTHER, OWNER])
def test_nobody_else_accepts_a_clause(behalf: IRI | None) -> None:
    with pytest.raises(UsageError, match=r"on whose behalf|on behalf of") as refused:
        request(accepted=(AS_STATED,), on_behalf_of=behalf)
    assert "the request" in str(refused.value)
    assert "party" in str(refused.value)


def test_what_is_declared_differently_permits_nothing() -> None:
    own = VOCABULARY.replace(b"smalti:Count", b"smalti:Clause")
    disputed = MARKET.with_(read_vocabulary(own, "own.ttl"))
    few = policy(MARKET, permission=[rule(compared(x("Runs"), "lt", 3))])
    asked = accepting(
        Acceptance(x("Runs")),
        kept=(Fact(x("Runs"), (Number(Decimal(0)),)),),
        facts=(Fact(x("Runs"), (Number(Decimal(0)),)),),
    )
    assert effect(asked, few, hierarchies=MARKET) is Effect.PERMIT
    assert effect(asked, few, hierarchies=disputed) is Effect.DENY


# --- Nothing that is left out permits more

_NAMED = {its.iri: its for its in OPERANDS.values() if its.kind in {OperandKind.FACT, OperandKind.CLAUSE}}
_TEXTS = sorted(its.iri for its in _NAMED.values() if its.range is Measured.TEXT)
_WORDS = (Text("a"), Text("b"))


@st.composite
def limits_by(draw: st.DrawFn) -> Comparison:
    operand = _NAMED[draw(st.sampled_from(_TEXTS))]
    operator = Operator(draw(st.sampled_from(sorted(operand.operators))))
    return Comparison(operand.iri, operator, (draw(st.sampled_from(_WORDS)),))


trees: st.SearchStrategy[Condition] = st.recursive(
    limits_by(),
    lambda inner: st.builds(
        lambda operator, parts: Logical(operator, tuple(parts)),
        st.sampled_from([LogicalOperator.AND, LogicalOperator.OR, LogicalOperator.XONE]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)


def with_rules(limits: Sequence[Condition], prohibited: Sequence[Condition] = ()) -> Policy:
    about: dict[str, Any] = {"action": USE, "targets": (Asset(VISITS),)}
    prohibition = Prohibition(uid=x("2"), constraints=tuple(prohibited), **about)
    return Policy(
        uid=x("policy"),
        document_digest="",
        conflict=ConflictStrategy.PROHIBIT,
        permissions=(Permission(uid=x("1"), constraints=tuple(limits), **about),),
        prohibitions=(prohibition,) if prohibited else (),
    )


def saying(operand: IRI, value: Value, *, as_stated: bool) -> Fact | Acceptance:
    if _NAMED[operand].kind is OperandKind.FACT:
        return Fact(operand, (value,))
    return Acceptance(operand, () if as_stated else (value,))


def asked_with(said: Sequence[Fact | Acceptance]) -> Request:
    return request(
        facts=tuple(its for its in said if isinstance(its, Fact)),
        accepted=tuple(its for its in said if isinstance(its, Acceptance)),
        on_behalf_of=LAB,
    )


def without(asked: Request, operand: IRI) -> Request:
    return replace(
        asked,
        facts=tuple(its for its in asked.facts if its.operand != operand),
        accepted=tuple(its for its in asked.accepted if its.clause != operand),
    )


@given(st.data(), st.lists(trees, min_size=1, max_size=2), st.lists(trees, max_size=1))
@settings(max_examples=examples(120))
def test_leaving_out_a_fact_or_a_clause_never_permits_more(
    data: st.DataObject, limits: list[Condition], prohibited: list[Condition]
) -> None:
    decided = with_rules(limits, prohibited)
    names = sorted({leaf.operand for leaf in comparisons([*limits, *prohibited])})
    said = [
        saying(name, data.draw(st.sampled_from(_WORDS)), as_stated=data.draw(st.booleans()))
        for name in names
    ]
    asked = asked_with(said)
    is_granted = bool(authorize(asked, [decided]).grants)
    for operand in names:
        assert is_granted or not authorize(without(asked, operand), [decided]).grants


@given(st.data(), st.lists(limits_by(), min_size=1, max_size=5, unique_by=lambda leaf: leaf.operand))
@settings(max_examples=examples(200))
def test_none_permits_when_a_needed_fact_or_clause_is_missing(
    data: st.DataObject, limits: list[Comparison]
) -> None:
    nested = Logical(LogicalOperator.AND, tuple(limits))
    decided = with_rules(data.draw(st.sampled_from([limits, [nested]])))
    as_stated = data.draw(st.booleans())
    asked = asked_with([saying(leaf.operand, leaf.values[0], as_stated=as_stated) for leaf in limits])
    assert effect(asked, decided) is Effect.PERMIT
    for leaf in limits:
        assert effect(without(asked, leaf.operand), decided) is Effect.DENY


def test_a_check_says_what_a_permission_needs() -> None:
    rated = compared(x("Rating"), "gteq", 4)
    timed = compared(IN_FORCE_DATE, "lteq", "contractAgreement+30d")
    needing = policy(MARKET, permission=[rule(rated, clause("eq", "a"), timed), rule(uid=x("2"))])
    (note,) = needed_statements(needing, MARKET)
    assert note.code == "P624"
    assert note.where == needing.permissions[0].where
    for part in (
        f"state the fact `{x('Rating')}` (on the word of {x('chamber')})",
        f"accept the clause `{LIABILITY}`",
        "state the date of their agreement",
    ):
        assert part in note.message


def test_the_canonical_document_says_the_same() -> None:
    limits = [compared(its.iri, min(its.operators), _VALUES[its.range]) for its in OPERANDS.values()]
    limits += [
        compared(IN_FORCE_DATE, "lteq", "contractAgreement+30d"),
        compared(x("Region"), "eq", "IT"),
        compared(x("Region"), "eq", {"@id": "x:asia"}),
        compared(x("Audited"), "eq", True),
    ]
    read = policy(MARKET, profile="x:profile", permission=[rule(*limits, action={"@id": "x:look"})])
    again = require(parse(serialize(read), "again.jsonld", hierarchies=MARKET))
    assert meaning_digest(again) == meaning_digest(read)
