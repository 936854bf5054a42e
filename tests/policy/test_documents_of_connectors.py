"""What connectors write in policies: times as texts, types of constraints, words of their own namespace."""

import json
from typing import Any

import pytest

from smalti.errors import PolicyError
from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Acceptance, Effect, Fact, Request
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.findings.render import to_json
from smalti.policy.lint.needs import needed_statements
from smalti.policy.lint.overlaps import contradictions
from smalti.policy.model.binding import NOTHING_BOUND, Binding, unbound
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Policy, Text
from smalti.policy.read.parse import ParsedDocument, parse, parse_all
from smalti.policy.read.vocabularies import read_vocabulary
from smalti.vocab.terms import EDC, IRI, ODRL

W3C = "http://www.w3.org/ns/odrl.jsonld"
DSP = "https://w3id.org/dspace/2025/1/context.jsonld"
DSP_ODRL = "https://w3id.org/dspace/2025/1/odrl-profile.jsonld"
CX_ODRL = "https://w3id.org/catenax/2025/9/policy/odrl.jsonld"
CX = "https://w3id.org/catenax/2025/9/policy/context.jsonld"
T, OWNER, LAB = "http://example.com/T", "http://example.com/owner", "http://example.com/lab"
XSD = "http://www.w3.org/2001/XMLSchema#"


def policy(*constraints: Any, context: Any = W3C, **more: Any) -> dict[str, Any]:
    rule = {"target": T, "action": "use", "constraint": list(constraints)}
    return {"@context": context, "@type": "Set", "@id": "urn:x:p", "permission": [rule], **more}


def compared(operand: object, operator: str, value: object) -> dict[str, Any]:
    return {"leftOperand": operand, "operator": operator, "rightOperand": value}


def read(
    document: Any, binding: Binding = NOTHING_BOUND, hierarchies: Hierarchies = STANDARD
) -> ParsedDocument:
    return parse(json.dumps(document).encode(), "p.json", binding=binding, hierarchies=hierarchies)


def understood(document: Any, hierarchies: Hierarchies = STANDARD) -> Policy:
    parsed = read(document, hierarchies=hierarchies)
    assert parsed.errors == ()
    (only_policy,) = parsed.policies or parsed.templates
    return only_policy


def faults(document: Any) -> list[tuple[str, str]]:
    return [(finding.code, finding.help) for finding in read(document).errors]


# --- Times as texts


@pytest.mark.parametrize("context", [W3C, DSP_ODRL, CX_ODRL, [CX_ODRL, CX]], ids=str)
@pytest.mark.parametrize("operand", ["odrl:dateTime", EDC + "inForceDate"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2027-12-15T12:00:00Z", "dateTime"),
        ("2027-12-15T12:00:00.5+02:00", "dateTime"),
        ("2027-12-15T12:00:00", "dateTime"),
        ("2027-12-15", "date"),
    ],
)
def test_a_time_is_a_text_or_typed(context: Any, operand: str, text: str, kind: str) -> None:
    context = [*context, {"odrl": ODRL}] if isinstance(context, list) else [context, {"odrl": ODRL}]
    typed = understood(
        policy(compared(operand, "lt", {"@value": text, "@type": XSD + kind}), context=context)
    )
    for untyped in (text, {"@value": text, "@type": XSD + "string"}):
        same = understood(policy(compared(operand, "lt", untyped), context=context))
        assert meaning_digest(same) == meaning_digest(typed)


def test_the_bare_name_of_an_operand_is_odrls_where_the_context_maps_it() -> None:
    limit = "2027-12-15T12:00:00Z"
    assert f"{ODRL}dateTime" in repr(understood(policy(compared("dateTime", "lt", limit))))
    ((code, _),) = faults(policy(compared("dateTime", "lt", limit), context=DSP_ODRL))
    assert code == "P307"
    assert understood(policy(compared("odrl:dateTime", "lt", limit), context=DSP_ODRL))


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("2023-12-31T06:00Z", "write 2023-12-31T06:00:00Z"),
        ("2023-12-31T06:00", "write 2023-12-31T06:00:00"),
        ("soon", "write it as in 2026-05-01T12:00:00Z"),
    ],
)
def test_a_text_that_is_no_time_gets_the_spelling_to_write(text: str, way_out: str) -> None:
    assert faults(policy(compared("dateTime", "lt", text))) == [("P426", way_out)]


def test_a_text_with_a_language_is_no_time() -> None:
    value = {"@value": "2027-12-15", "@language": "en"}
    assert [code for code, _ in faults(policy(compared("dateTime", "lt", value)))] == ["P426"]


def test_turtle_reads_times_as_json_ld_does() -> None:
    turtle = f"""
        @prefix odrl: <{ODRL}> . @prefix xsd: <{XSD}> .
        <urn:x:p> a odrl:Set ; odrl:permission [ odrl:target <{T}> ; odrl:action odrl:use ;
            odrl:constraint [ odrl:leftOperand <{EDC}inForceDate> ; odrl:operator odrl:lt ;
                odrl:rightOperand "2027-12-15T12:00:00Z" ] ] .
    """
    parsed = parse(turtle.encode(), "p.ttl")
    assert parsed.errors == ()
    same = understood(policy(compared(EDC + "inForceDate", "lt", "2027-12-15T12:00:00Z")))
    assert meaning_digest(parsed.policies[0]) == meaning_digest(same)


# --- Durations from an agreement


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("contractAgreement+3d", True),
        ("contractagreement+3d", True),
        ("contractAgreement+-5m", True),
        ("contractAgreement-5m", True),
        ("ContractAgreement+3d", False),  # EDC's own pattern does not accept it
        ("contractAgreement--5m", False),
        ("contractAgreement+3w", False),
    ],
)
def test_durations_are_as_the_connector_defines_them(text: str, is_good: bool) -> None:
    assert bool(faults(policy(compared(EDC + "inForceDate", "lteq", text)))) is not is_good


# --- Types, whole IRIs, names of agreements


@pytest.mark.parametrize("kind", ["Constraint", "LogicalConstraint", "AtomicConstraint"])
@pytest.mark.parametrize("context", [W3C, DSP_ODRL, [{"@vocab": EDC}, {"odrl": ODRL}]], ids=str)
def test_the_types_of_constraints_need_no_context(kind: str, context: Any) -> None:
    is_odrl = context in (W3C, DSP_ODRL)
    limit = {
        "@type": kind, f"{ODRL}leftOperand": {"@id": f"{ODRL}spatial"},
        f"{ODRL}operator": {"@id": f"{ODRL}eq"}, f"{ODRL}rightOperand": {"@id": "http://example.com/EU"},
    }  # fmt: skip
    rule = {f"{ODRL}target": {"@id": T}, f"{ODRL}action": {"@id": f"{ODRL}use"}, f"{ODRL}constraint": limit}
    type_ = "Set" if is_odrl else "odrl:Set"
    assert understood({"@context": context, "@type": type_, "@id": "urn:x:p", f"{ODRL}permission": [rule]})


WRITTEN_OUT = {
    "@id": "urn:x:p",
    "@type": f"{ODRL}Set",
    f"{ODRL}permission": [{f"{ODRL}target": {"@id": T}, f"{ODRL}action": {"@id": f"{ODRL}use"}}],
    f"{ODRL}prohibition": [],
}


def test_a_policy_of_whole_iris_needs_no_context_in_an_envelope() -> None:
    bare = understood(WRITTEN_OUT)
    envelope = {"@context": {"@vocab": EDC}, "@type": "ContractRequest", "policy": WRITTEN_OUT}
    assert meaning_digest(understood(envelope)) == meaning_digest(bare)
    mixed = {**WRITTEN_OUT, f"{ODRL}permission": [{"target": T, "action": "use"}]}
    assert {code for code, _ in faults({**envelope, "policy": mixed})} == {"P206"}


AGREEMENT = {
    "@context": W3C, "@type": "Agreement", "@id": "urn:uuid:0c6a2f0e-52a3-4f08-8b0a-9a1f3c6d2e11",
    "target": T, "assigner": OWNER, "assignee": LAB, "permission": [{"action": "use"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "uid"),
    [
        ("urn:uuid:7a1e5a34-0f0b-4e3f-9d59-2f6f5b8a1c22", "urn:uuid:7a1e5a34-0f0b-4e3f-9d59-2f6f5b8a1c22"),
        ("7a1e5a34", "http://example.com/agreement/7a1e5a34"),
    ],
)
def test_transfers_name_an_agreement_as_the_connector_does(name: str, uid: str) -> None:
    envelope = {"@context": {"@vocab": EDC}, "@type": "ContractAgreement", "@id": name, "policy": AGREEMENT}
    base = Binding(base=IRI("http://example.com/agreement/"))
    parsed = read(envelope, base)
    assert parsed.errors == ()
    assert parsed.policies[0].uid == uid
    definition = {**envelope, "@type": "PolicyDefinition"}
    assert read(definition, base).policies[0].uid == AGREEMENT["@id"]
    unnamed = {key: value for key, value in envelope.items() if key != "@id"}
    assert read(unnamed, base).policies[0].uid == AGREEMENT["@id"]


@pytest.mark.parametrize(
    ("kind", "codes"), [("Agreement", []), ("Set", ["P301"]), ("Offer", ["P301"]), (None, ["P301"])]
)
def test_the_agreement_of_a_message_is_an_agreement(kind: str | None, codes: list[str]) -> None:
    inner = {key: value for key, value in AGREEMENT.items() if key not in {"@context", "@type"}}
    inner |= {} if kind is None else {"@type": kind}
    message = {"@context": DSP, "@type": "ContractAgreementMessage", "agreement": inner}
    assert [code for code, _ in faults(message)] == codes


# --- Words of the connectors' namespace


VOCABULARY = f"""
    @prefix odrl: <{ODRL}> . @prefix edc: <{EDC}> . @prefix smalti: <https://w3id.org/smalti#> .
    @prefix xsd: <{XSD}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    edc:location a odrl:LeftOperand ; rdfs:range xsd:string ; smalti:operator odrl:eq .
    <https://w3id.org/idsa/code/PURPOSE> a odrl:LeftOperand ; rdfs:range xsd:string .
"""
LOCATION = {
    "@context": [{"@vocab": EDC, "odrl": ODRL}, DSP_ODRL], "@type": "PolicyDefinition",
    "policy": {
        "@type": "Set", "@id": "urn:x:p",
        "permission": [{"target": T, "action": "use", "constraint": [compared("location", "eq", "eu")]}],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "document",
    [
        LOCATION,
        policy(compared("edc:location", "eq", "eu"), context=[W3C, {"edc": EDC}]),
        policy(compared("idsc:PURPOSE", "eq", "x"), context=[W3C, {"idsc": "https://w3id.org/idsa/code/"}]),
    ],
    ids=["default vocabulary", "prefix", "another namespace"],
)
def test_an_operand_of_another_namespace_is_unknown_until_it_is_declared(document: Any) -> None:
    parsed = read(document)
    assert parsed.errors == ()
    assert "P508" in {finding.code for finding in parsed.diagnostics}
    declared = STANDARD.with_(read_vocabulary(VOCABULARY.encode(), "v.ttl"))
    parsed = read(document, hierarchies=declared)
    assert parsed.errors == ()
    assert "P508" not in {finding.code for finding in parsed.diagnostics}


def test_a_bare_name_of_odrl_that_a_connector_makes_its_own_is_told() -> None:
    rule = {
        "target": T,
        "action": "use",
        "constraint": [compared("spatial", "eq", "http://example.com/EU")],
    }
    document = {**LOCATION, "policy": {"@type": "Set", "@id": "urn:x:p", "permission": [rule]}}
    helps = [finding.help for finding in read(document).diagnostics if finding.code == "P508"]
    assert helps == ["did you mean `odrl:spatial`?"]


@pytest.mark.parametrize(
    "word", ["inForceDate", "policy", "description", "createdAt", "AtomicConstraint", ""]
)
def test_words_that_a_connector_defines_are_nobody_elses(word: str) -> None:
    with pytest.raises(PolicyError, match="anew"):
        read_vocabulary(f"<{EDC}{word}> a <{ODRL}LeftOperand> .".encode(), "v.ttl")


# --- Purposes that a vocabulary declares; unknown profiles


def test_a_declared_purpose_is_known() -> None:
    purpose = "http://example.com/ns/Timetabling"
    document = policy(compared("purpose", "eq", {"@id": purpose}))
    assert "P507" in {finding.code for finding in read(document).diagnostics}
    turtle = f"""
        @prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix dpv: <https://w3id.org/dpv#> .
        <{purpose}> a dpv:Purpose ; skos:broader dpv:ServiceOptimisation .
    """
    declared = STANDARD.with_(read_vocabulary(turtle.encode(), "v.ttl"))
    assert "P507" not in {finding.code for finding in read(document, hierarchies=declared).diagnostics}


def test_a_check_goes_on_past_an_unknown_profile() -> None:
    context = [W3C, {"ex": "http://example.com/ns/"}]
    document = policy(compared("ex:term", "lteq", "contractAgreement+90d"), context=context)
    document |= {"profile": "ex:profile"}
    document["permission"][0] |= {"ex:broker": {"@id": "http://example.com/party/b"}}
    (checked,) = parse_all([(json.dumps(document).encode(), "p")], stops_at_profiles=False)
    assert checked.errors == ()
    warned = {finding.code for finding in checked.diagnostics}
    assert {"P317", "P309", "P508"} <= warned
    (stopped,) = parse_all([(json.dumps(document).encode(), "p")])
    assert {"P317", "P309"} <= {finding.code for finding in stopped.errors}
    assert unbound(checked.policies[0]) == ()


# --- What a check says of them


def test_a_void_policy_is_mended_as_advised_under_the_contexts_of_a_market() -> None:
    clause = compared("UsageRestriction", "isAllOf", ["cx.thirdParty.forbidden:1"])
    document = policy(context=[CX_ODRL, CX])
    document["permission"][0].pop("constraint")
    document["prohibition"] = [{"target": T, "action": "use", "constraint": [clause]}]
    (warning,) = contradictions(understood(document), STANDARD)
    assert warning.code == "P602"
    key, value = f"{ODRL}conflict", {"@id": f"{ODRL}prohibit"}
    assert f'"{key}": {json.dumps(value)}' in warning.help
    assert not list(contradictions(understood({**document, key: value}), STANDARD))


def test_programs_read_what_is_open_and_what_requests_must_state() -> None:
    limits = [
        compared("Membership", "eq", "active"),
        compared("Liability", "eq", "x"),
        compared(EDC + "inForceDate", "lteq", "contractAgreement+1d"),
    ]
    document = policy(*limits, context=[CX_ODRL, CX])
    del document["permission"][0]["target"]
    parsed = read(document)
    (open_parts,) = (to_json(its) for its in parsed.diagnostics if its.code == "P520")
    assert open_parts["bind"] == ["target", "assigner", "assignee"]
    (needs,) = map(to_json, needed_statements(parsed.templates[0], STANDARD))
    market = "https://w3id.org/catenax/2025/9/policy/"
    assert (needs["facts"], needs["clauses"], needs["dates"]) == (
        [f"{market}Membership"], [f"{market}Liability"], ["agreed"]
    )  # fmt: skip


@pytest.mark.parametrize("operand", ["nothing", "http://example.com/ns/unknown"])
def test_no_advice_shows_a_placeholder(operand: str) -> None:
    document = policy(compared({"@id": operand}, "eq", "x"))
    del document["permission"][0]["target"]
    helps = [its.help for its in read(document).diagnostics if its.code in {"P307", "P508"}]
    assert len(helps) == 1
    assert "urn:smalti" not in helps[0]
    assert "TARGET/COLUMN" in helps[0]


def asked(*, fact: Fact | None = None, acceptance: Acceptance | None = None) -> str:
    """Why a request for what a policy permits is denied."""
    turtle = f"""
        @prefix odrl: <{ODRL}> . @prefix smalti: <https://w3id.org/smalti#> .
        @prefix xsd: <{XSD}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix x: <http://example.com/ns/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        x:Class a odrl:LeftOperand ; rdfs:range xsd:string ; smalti:statedBy <{OWNER}> .
        x:Terms smalti:operandKind smalti:Clause ; rdfs:range xsd:string .
        x:Region a odrl:LeftOperand ; rdfs:range x:Regions .
        x:A skos:inScheme x:Regions .
    """
    words = STANDARD.with_(read_vocabulary(turtle.encode(), "v.ttl"))
    limits = []
    if fact is not None:
        value = {"@id": "http://example.com/ns/A"} if fact.operand.endswith("Region") else "A"
        limits.append(compared({"@id": fact.operand}, "eq", value))
    if acceptance is not None:
        limits.append(compared({"@id": acceptance.clause}, "eq", "A"))
    request = Request(
        party=IRI(LAB), action=IRI(f"{ODRL}use"), targets=(IRI(T),),
        facts=() if fact is None else (fact,),
        accepted=() if acceptance is None else (acceptance,),
        on_behalf_of=None if acceptance is None else IRI(LAB),
    )  # fmt: skip
    decision = authorize(request, [understood(policy(*limits), words)], words, explain=True)
    assert decision.effect is Effect.DENY
    return " ".join(reason.text for reason in decision.reasons)


def test_a_fact_on_the_wrong_word_is_denied_with_the_party_whose_word_counts() -> None:
    text = asked(fact=Fact(IRI("http://example.com/ns/Class"), (Text("A"),), by=IRI(LAB)))
    assert f"no `Class` on the word of `{OWNER}` (`--stated-by`)" in text


def test_a_clause_that_is_accepted_with_another_value_is_told_so() -> None:
    text = asked(acceptance=Acceptance(IRI("http://example.com/ns/Terms"), (Text("B"),)))
    assert "it accepts `Terms` with another value" in text


def test_a_value_that_is_no_concept_of_the_scheme_is_told_so() -> None:
    text = asked(fact=Fact(IRI("http://example.com/ns/Region"), (Text("Atlantis"),)))
    assert "what the request states for `Region` is none of the concepts of its scheme" in text
    assert "Atlantis" not in text
