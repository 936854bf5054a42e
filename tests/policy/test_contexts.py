"""The contexts of data spaces, shipped: what their terms mean, and what a document may do with them."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyld import ContextResolver, FrozenDocumentLoader, jsonld

from smalti.policy.document.context import Terms, shipped_terms
from smalti.policy.read.parse import parse
from smalti.vocab import contexts
from smalti.vocab.contexts import ADDRESSES, RANKS
from smalti.vocab.terms import CATENAX, DSPACE, EDC, ODRL

DSP = "https://w3id.org/dspace/2025/1/context.jsonld"
DSP_ODRL = "https://w3id.org/dspace/2025/1/odrl-profile.jsonld"
CX_ODRL = "https://w3id.org/catenax/2025/9/policy/odrl.jsonld"
CX = "https://w3id.org/catenax/2025/9/policy/context.jsonld"
EDC_DSP = "https://w3id.org/edc/dspace/v0.0.1"
ODRL_ADDRESS = "http://www.w3.org/ns/odrl.jsonld"


def expanded(document: Any) -> Any:
    loader = FrozenDocumentLoader(documents=dict(ADDRESSES))
    options = {"documentLoader": loader, "contextResolver": ContextResolver({}, loader)}
    return jsonld.expand(document, options)


def address_of(context: Path) -> str:
    return next(address for address, there in ADDRESSES.items() if there == context)


@pytest.mark.parametrize("context", RANKS, ids=lambda context: context.stem)
def test_each_term_of_a_shipped_context_means_what_json_ld_makes_of_it(context: Path) -> None:
    terms = shipped_terms(context)
    assert terms
    for term, iri in terms.items():
        if iri.startswith("@"):
            continue
        (node,) = expanded({"@context": address_of(context), "@id": "http://x.example/x", "@type": term})
        assert node["@type"] == [iri], term


def test_the_terms_of_data_spaces_are_those_of_their_specifications() -> None:
    """Written from the specifications, apart from the shipped files."""
    odrl = (
        "Policy Rule Set Offer Agreement Assertion Asset Action Permission Prohibition Duty Constraint "
        "Operator LeftOperand RightOperand profile hasPolicy target assigner assignee permission "
        "prohibition obligation duty constraint action operator leftOperand rightOperand eq gt gteq lt "
        "lteq neq isA hasPart isPartOf isAllOf isAnyOf isNoneOf or xone and andSequence use prohibit"
    )
    own = shipped_terms(contexts.DATASPACE_ODRL_CONTEXT)
    assert own == {"odrl": ODRL, **{name: ODRL + name for name in odrl.split()}}
    operands = shipped_terms(contexts.CATENAX_CONTEXT)
    assert {name for name, iri in operands.items() if iri == CATENAX + name} == {*operands} - {
        "cx-policy", "odrl"
    }  # fmt: skip
    assert {"access", "Membership", "WarrantyDurationMonths"} <= {*operands}
    assert operands["cx-policy"] == CATENAX
    of_edc = shipped_terms(contexts.EDC_DATASPACE_CONTEXT)
    assert {name for name, iri in of_edc.items() if iri == EDC + name} == {
        "QuerySpec", "Criterion", "inForceDate", "id", "description", "isCatalog"
    }  # fmt: skip
    messages = shipped_terms(contexts.DATASPACE_CONTEXT)
    assert messages["ContractAgreementMessage"] == DSPACE + "ContractAgreementMessage"
    assert shipped_terms(contexts.EDC_CONTEXT)["policy"] == EDC + "policy"


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("ContractRequestMessage", "offer"),
        ("ContractOfferMessage", "offer"),
        ("ContractAgreementMessage", "agreement"),
    ],
)
def test_messages_bring_the_words_of_odrl_with_them(kind: str, member: str) -> None:
    inner = {"@id": "urn:x:o", "@type": "Offer", "permission": [{"action": "use"}]}
    document = {"@context": "https://w3id.org/dspace/2025/1/context.jsonld", "@type": kind, member: inner}
    (message,) = expanded(document)
    (policy,) = message[DSPACE + member]
    assert policy[f"{ODRL}permission"] == [{f"{ODRL}action": [{"@id": f"{ODRL}use"}]}]


# --- What a document may do


def policy(context: Any, **more: Any) -> dict[str, Any]:
    permission = {"target": "http://example.com/T", "action": "use"}
    return {"@context": context, "@type": "Set", "@id": "urn:x:p", "permission": [permission], **more}


def codes(document: Any) -> list[str]:
    return [finding.code for finding in parse(json.dumps(document).encode(), "p").errors]


@pytest.mark.parametrize(
    "context",
    [
        DSP_ODRL,
        CX_ODRL,
        [DSP_ODRL, CX],
        [CX_ODRL, CX],
        [CX_ODRL, CX, {"odrl": ODRL}],
        [ODRL_ADDRESS, CX],
        [DSP_ODRL, CX, {"@vocab": EDC}],
        [ODRL_ADDRESS, {"odrl": ODRL}],
        [ODRL_ADDRESS, {"odrl": ODRL, "dct": "http://purl.org/dc/terms/"}],
        [ODRL_ADDRESS, {"use": "odrl:use"}],
        [{"@vocab": EDC, "odrl": ODRL}, DSP_ODRL],
        {"@version": 1.1, "@import": DSP_ODRL, "ex": "http://example.com/"},
        {"@import": DSP_ODRL, "@protected": True, "@propagate": True},
        [CX_ODRL, CX, DSP, EDC_DSP],
        [DSP_ODRL, EDC_DSP],
        [
            DSP_ODRL,
            "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
    ],
    ids=str,
)
def test_contexts_that_are_understood(context: Any) -> None:
    assert codes(policy(context)) == []


@pytest.mark.parametrize(
    ("context", "code", "said"),
    [
        (
            "https://w3id.org/dspace/2024/1/context.json",
            "P203",
            "https://w3id.org/dspace/2025/1/context.jsonld",
        ),
        ("https://w3id.org/catenax/policy/", "P203", CX),
        ("https://w3id.org/tractusx/policy/v1.0.0", "P203", CX),
        ("https://w3id.org/edc/connector/management/v3", "P203", "management/v2"),
        ("https://w3id.org/edc/dspace/v0.0.2", "P203", "https://w3id.org/edc/dspace/v0.0.1"),
        ("https://w3id.org/tractusx/edc/v0.0.1", "P203", "leave it out"),
        ("https://w3id.org/edc/v0.0.1", "P203", "https://w3id.org/edc/v0.0.1/ns/inForceDate"),
        ("http://example.com/context.jsonld", "P203", "fetches none"),
        ([ODRL_ADDRESS, {"@import": "http://example.com/context.jsonld"}], "P203", "fetches none"),
        ([ODRL_ADDRESS, {"@version": 1.0}], "P205", "another version"),
        ([ODRL_ADDRESS, {"@vocab": "http://example.com/"}], "P205", "default vocabulary"),
        ([ODRL_ADDRESS, {"@base": "http://example.com/"}], "P205", "@base"),
        ([ODRL_ADDRESS, {"@propagate": False}], "P205", "@propagate"),
        ([ODRL_ADDRESS, {"use": "odrl:read"}], "P205", "redefines `use`"),
        ([DSP_ODRL, {"target": "odrl:assignee"}], "P205", "redefines `target`"),
        ([DSP_ODRL, CX, {"Membership": {"@id": "cx-policy:access"}}], "P205", "redefines `Membership`"),
        ([DSP_ODRL, CX, DSP_ODRL], "P204", "out of order"),
        ([CX], "P202", "ODRL's context is not listed"),
        (
            ["https://w3id.org/dspace/2025/1/context.jsonld", DSP_ODRL, CX],
            "P205",
            "which one before it protects",
        ),
    ],
    ids=str,
)
def test_contexts_that_are_refused(context: Any, code: str, said: str) -> None:
    parsed = parse(json.dumps(policy(context)).encode(), "p")
    assert [finding.code for finding in parsed.errors] == [code]
    (finding,) = parsed.errors
    assert said in f"{finding.message} {finding.help}"


def test_a_name_that_only_the_default_vocabulary_defines_is_no_word_of_a_policy() -> None:
    context = [DSP_ODRL, {"@vocab": EDC}]
    assert codes(policy(context, constraints=[])) == ["P206"]
    rule = {"target": "http://example.com/T", "action": "use", "constraints": []}
    assert codes(policy(context, permission=[rule])) == ["P206"]


def test_words_under_catenax_prefix_of_odrl_are_no_words() -> None:
    """Its context gives the prefix another meaning; the way out is the bare word."""
    rule = {"target": "http://example.com/T", "action": "odrl:use"}
    (finding,) = parse(json.dumps(policy([CX_ODRL, CX], permission=[rule])).encode(), "p").errors
    assert (finding.code, finding.help) == ("P211", "write `use`: the prefix has another meaning here")
    assert codes(policy([CX_ODRL, CX, {"odrl": ODRL}], permission=[rule])) == []


def test_terms_know_what_is_only_a_default() -> None:
    terms = Terms({"odrl": ODRL}, vocabulary=EDC)
    assert terms.expand("policy") == EDC + "policy"
    assert terms.is_by_default("policy")
    assert not terms.is_by_default("odrl:use")
    assert not terms.is_by_default("createdAt"), "connectors write it on policies, without effect"


def test_no_document_leaves_terms_to_the_next_one() -> None:
    """PyLD writes the terms of an importing context into its copy of the imported one."""
    assert codes(policy({"@version": 1.1, "@import": DSP_ODRL, "ex": "http://example.com/"})) == []
    rule = {"target": {"@id": "ex:T"}, "action": "use"}
    assert codes(policy(DSP_ODRL, permission=[rule])) == ["P211"]
    asset = {"@id": "http://example.com/T", "@type": "Dataset"}
    both = ["https://w3id.org/dspace/2025/1/context.jsonld", DSP_ODRL]
    first = codes(policy(both, permission=[{"target": asset, "action": "use"}]))
    assert codes(policy(both, permission=[{"target": asset, "action": "use"}])) == first == []
    assert codes(
        policy(DSP_ODRL, permission=[{"target": {"@id": "urn:x:t", "distribution": []}, "action": "use"}])
    )


@pytest.mark.parametrize(
    ("refused", "advised", "operand"),
    [
        (["https://w3id.org/edc/connector/management/v3", ODRL_ADDRESS],
         ["https://w3id.org/edc/connector/management/v2", ODRL_ADDRESS], f"{EDC}inForceDate"),
        ([DSP_ODRL, "https://w3id.org/edc/dspace/v0.0.2"], [DSP_ODRL, EDC_DSP], "inForceDate"),
        ([DSP_ODRL, "https://w3id.org/edc/v0.0.1"], [DSP_ODRL], f"{EDC}inForceDate"),
        (["https://w3id.org/tractusx/policy/v1.0.0", ODRL_ADDRESS],
         [ODRL_ADDRESS, {"cx-policy": "https://w3id.org/catenax/policy/"}], "cx-policy:Membership"),
        (["https://w3id.org/tractusx/policy/v1.0.0", ODRL_ADDRESS, {"@vocab": EDC}],
         [CX_ODRL, CX, {"@vocab": EDC}], "Membership"),
        ([ODRL_ADDRESS, "https://w3id.org/catenax/2025/9/policy/"], [ODRL_ADDRESS, CX], "Membership"),
        (["https://w3id.org/tractusx/edc/v0.0.1", ODRL_ADDRESS],
         [ODRL_ADDRESS, {"tx": "https://w3id.org/tractusx/v0.0.1/ns/"}], "tx:BusinessPartnerGroup"),
    ],
    ids=str,
)  # fmt: skip
def test_the_advice_about_other_versions_can_be_followed(
    refused: list[Any], advised: list[Any], operand: str
) -> None:
    """Each address that is advised stands in the message, and a document with them is good."""
    (finding,) = parse(json.dumps(policy(refused)).encode(), "p").errors
    for entry in advised:
        address = entry if isinstance(entry, str) else next(iter(entry.values()))
        assert entry in refused or address in finding.help
    value = "2027-12-15T12:00:00Z" if "inForceDate" in operand else "active"
    constraint = {"leftOperand": operand, "operator": "eq", "rightOperand": value}
    permission = {"target": "http://example.com/T", "action": "use", "constraint": [constraint]}
    assert codes(policy(advised, permission=[permission])) == []


def test_the_words_of_a_connector_have_their_meaning_in_messages_of_the_protocol() -> None:
    constraint = {"leftOperand": "inForceDate", "operator": "lteq", "rightOperand": "contractAgreement+30d"}
    offer = {
        "@id": "urn:x:o", "@type": "Offer", "assigner": "http://example.com/o",
        "permission": [{"action": "use", "constraint": [constraint]}],
    }  # fmt: skip
    dataset = {"@id": "urn:x:d", "@type": "Dataset", "hasPolicy": [offer], "id": "1", "description": "x"}
    catalogue = {"@context": [DSP, EDC_DSP], "@type": "Catalog", "dataset": [dataset]}
    parsed = parse(json.dumps(catalogue).encode(), "p")
    assert parsed.errors == ()
    (policy_,) = parsed.policies
    (permission,) = policy_.permissions
    assert f"{EDC}inForceDate" in repr(permission.constraints)


@pytest.mark.parametrize(
    ("context", "advised"),
    [
        (CX, [CX_ODRL, CX]),
        ([EDC_DSP], [DSP_ODRL, EDC_DSP]),
        ([{"ex": "http://example.com/"}], [ODRL_ADDRESS, {"ex": "http://example.com/"}]),
    ],
    ids=str,
)
def test_a_context_without_odrl_needs_the_one_that_fits_it(context: Any, advised: list[Any]) -> None:
    (finding,) = parse(json.dumps(policy(context)).encode(), "p").errors
    assert finding.code == "P202"
    assert f'"{advised[0]}"' in finding.help
    assert codes(policy(advised)) == []


def test_an_envelope_without_the_connectors_vocabulary_is_told_of_it() -> None:
    inner = {"@type": "Set", "permission": [{"action": "use"}]}
    document = {"@context": [ODRL_ADDRESS], "@type": "PolicyDefinition", "policy": inner}
    helps = {finding.help for finding in parse(json.dumps(document).encode(), "p").errors}
    assert f'add {{"@vocab": "{EDC}"}} to the context: a connector writes its policies under it' in helps
    document["@context"] = [ODRL_ADDRESS, {"@vocab": EDC}]
    assert codes(document) == []


@pytest.mark.parametrize("name", ["{{POLICY_ID}}", "<policy>"])
def test_a_placeholder_is_no_relative_iri(name: str) -> None:
    document = policy(ODRL_ADDRESS) | {"@id": name}
    (finding,) = parse(json.dumps(document).encode(), "p").errors
    assert (finding.code, "has a character that an IRI cannot have" in finding.message) == ("P212", True)
