"""Policies inside documents of data spaces: found with their place, with what the document says of them."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from pyld import ContextResolver, FrozenDocumentLoader, jsonld

from smalti.errors import PolicyError
from smalti.policy.document.context import documents
from smalti.policy.model.binding import Binding, unbound
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Policy, PolicyType
from smalti.policy.read.parse import ParsedDocument, parse, require
from smalti.vocab.terms import DCAT, EDC, IRI, ODRL, PERMISSION

DSP = "https://w3id.org/dspace/2025/1/context.jsonld"
DSP_ODRL = "https://w3id.org/dspace/2025/1/odrl-profile.jsonld"
CX_ODRL = "https://w3id.org/catenax/2025/9/policy/odrl.jsonld"
CX = "https://w3id.org/catenax/2025/9/policy/context.jsonld"
VOCAB = {"@vocab": EDC}
MANAGEMENT = "https://w3id.org/edc/connector/management/v0.0.1"
MANAGEMENT_2 = "https://w3id.org/edc/connector/management/v2"
T, PROVIDER, CONSUMER = "http://example.com/T", "did:web:provider.example", "did:web:consumer.example"


def rule(**more: Any) -> dict[str, Any]:
    return {"action": "use", **more}


def policy(**more: Any) -> dict[str, Any]:
    return {"@type": "Set", "@id": "urn:x:p", "permission": [rule()], **more}


def read(document: Any, **binding: str) -> ParsedDocument:
    bound = Binding(**{part: IRI(iri) for part, iri in binding.items()})
    return parse(json.dumps(document).encode(), "p.json", binding=bound)


def policies(parsed: ParsedDocument) -> tuple[Policy, ...]:
    assert parsed.errors == ()
    return parsed.policies or parsed.templates


ENVELOPES: dict[str, Any] = {
    "EDC, its vocabulary": {
        "@context": [VOCAB, {"odrl": ODRL}], "@type": "PolicyDefinition", "@id": "d",
        "policy": {"@context": "http://www.w3.org/ns/odrl.jsonld", **policy(prohibition=[], obligation=[])},
    },
    "EDC, contexts of Catena-X outside": {
        "@context": [CX_ODRL, CX, VOCAB], "@type": "PolicyDefinition", "@id": "d",
        "policy": policy(permission=[rule(action="access")]),
    },
    "EDC, two bases": {
        "@context": [DSP_ODRL, CX, VOCAB], "@type": "PolicyDefinition", "@id": "101",
        "policy": {"@context": "http://www.w3.org/ns/odrl.jsonld", **policy()},
    },
    "EDC, management API": {
        "@context": [MANAGEMENT], "@type": "PolicyDefinition", "@id": "d", "createdAt": 1,
        "privateProperties": {"a": "b"}, "policy": policy(),
    },
    "EDC, management API 2": {
        "@context": [MANAGEMENT_2], "@type": "PolicyDefinition", "@id": "d", "createdAt": 1,
        "policy": policy(),
    },
    "EDC, prefixes": {
        "@context": {"edc": EDC, "odrl": ODRL}, "@type": "edc:PolicyDefinition",
        "edc:policy": {
            "@type": "odrl:Set", "@id": "urn:x:p",
            "odrl:permission": [{"odrl:action": {"@id": "odrl:use"}}],
        },
    },
    "EDC, request": {
        "@context": [VOCAB], "@type": "ContractRequest", "counterPartyId": PROVIDER,
        "counterPartyAddress": "https://provider.example/dsp", "protocol": "dataspace-protocol-http",
        "policy": {"@context": DSP_ODRL, **policy(**{"@type": "Offer", "target": T})},
    },
    "EDC, agreement": {
        "@context": [VOCAB], "@type": "ContractAgreement", "@id": "urn:x:a", "providerId": PROVIDER,
        "consumerId": CONSUMER, "assetId": T,
        "policy": {"@context": DSP_ODRL, **policy(**{"@type": "Agreement"})},
    },
    "protocol, offer": {
        "@context": [DSP], "@type": "ContractOfferMessage", "providerPid": "urn:x:1",
        "consumerPid": "urn:x:2",
        "offer": policy(**{"@type": "Offer", "target": T, "assigner": PROVIDER}),
    },
    "protocol, agreement": {
        "@context": [DSP], "@type": "ContractAgreementMessage", "timestamp": "2026-01-01T00:00:00Z",
        "agreement": policy(
            **{"@type": "Agreement", "target": T, "assigner": PROVIDER, "assignee": CONSUMER}
        ),
    },
    "catalogue": {
        "@context": [DSP], "@type": "Catalog", "@id": "urn:x:c", "participantId": PROVIDER,
        "dataset": [
            {"@id": T, "@type": "Dataset", "hasPolicy": [policy(**{"@type": "Offer"})]},
            {
                "@id": f"{T}2", "@type": "Dataset",
                "hasPolicy": [policy(**{"@id": "urn:x:q", "@type": "Offer"})],
            },
        ],
    },
    "DCAT": {
        "@context": ["http://www.w3.org/ns/odrl.jsonld", {"dcat": DCAT}],
        "@type": "dcat:Dataset", "@id": T, "hasPolicy": policy(),
    },
}  # fmt: skip


def expanded(document: Any) -> Any:
    loader = FrozenDocumentLoader(documents=deepcopy(dict(documents())))
    options = {"documentLoader": loader, "contextResolver": ContextResolver({}, loader), "base": "urn:b:"}
    return jsonld.expand(document, options)


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every node with a permission."""
    for inner in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from nodes(inner)
    if isinstance(value, dict) and PERMISSION in value:
        yield value


@pytest.mark.parametrize("name", ENVELOPES)
def test_the_policies_are_those_that_json_ld_has_inside(name: str) -> None:
    """Policies are cut out with the contexts in force; the whole document, expanded, has the same ones."""
    document = ENVELOPES[name]
    whole = sorted(json.dumps(node["@type"] + node[PERMISSION]) for node in nodes(expanded(document)))
    read_ones = policies(read(document))
    assert len(read_ones) == len(whole)
    for each, text in zip(sorted(read_ones, key=lambda one: one.uid), whole, strict=True):
        assert f"{ODRL}{each.type}" in text
        assert all(permission.action in text for permission in each.permissions)


@pytest.mark.parametrize(
    ("name", "left_open"),
    [
        ("EDC, its vocabulary", ("target", "assigner", "assignee")),
        ("EDC, management API 2", ("target", "assigner", "assignee")),
        ("EDC, request", ()),
        ("EDC, agreement", ()),
        ("protocol, offer", ()),
        ("protocol, agreement", ()),
        ("catalogue", ()),
        ("DCAT", ()),
    ],
)
def test_what_the_envelope_says_is_used(name: str, left_open: tuple[str, ...]) -> None:
    for each in policies(read(ENVELOPES[name])):
        assert unbound(each) == left_open
        (permission,) = each.permissions
        if not left_open:
            assert [target.iri[: len(T)] for target in permission.targets] == [T]
        if each.type is not PolicyType.SET:
            assert [party.iri for party in permission.assigners] == [PROVIDER]
        if each.type is PolicyType.AGREEMENT:
            assert [party.iri for party in permission.assignees] == [CONSUMER]


def test_places_are_those_in_the_whole_document() -> None:
    document = deepcopy(ENVELOPES["catalogue"])
    document["dataset"][1]["hasPolicy"][0]["permission"][0]["action"] = "uze"
    (finding,) = read(document).errors
    assert (finding.code, finding.where.pointer) == ("P305", "/dataset/1/hasPolicy/0/permission/0/action")


def test_what_else_an_envelope_says_is_no_part_of_the_meaning() -> None:
    document = deepcopy(ENVELOPES["EDC, agreement"])
    (first,) = policies(read(document))
    document |= {"contractSigningDate": 1, "anything": {"else": [1]}}
    (second,) = policies(read(document))
    assert meaning_digest(second) == meaning_digest(first)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("EDC, agreement", {"assetId": f"{T}other"}),
        ("EDC, agreement", {"providerId": CONSUMER}),
        ("EDC, agreement", {"consumerId": PROVIDER}),
    ],
)
def test_a_policy_and_its_envelope_name_the_same(name: str, change: dict[str, str]) -> None:
    document = deepcopy(ENVELOPES[name])
    document["policy"] |= {"target": T, "assigner": PROVIDER, "assignee": CONSUMER}
    assert read(document).errors == ()
    (finding,) = read(document | change).errors
    assert finding.code == "P340"


@pytest.mark.parametrize("member", ["consumerId", "providerId", "assetId"])
@pytest.mark.parametrize(
    "value",
    [[CONSUMER], [{"@id": CONSUMER}], [{"@value": CONSUMER}], {"@set": [CONSUMER]}, {"@list": [CONSUMER]}],
)
def test_a_party_is_the_same_in_every_form_of_json_ld(member: str, value: object) -> None:
    """`[x]` is `x` in JSON-LD, and the expanded form has nothing but lists."""
    document = deepcopy(ENVELOPES["EDC, agreement"])
    (plain,) = policies(read(document | {member: CONSUMER}))
    (listed,) = policies(read(document | {member: value}))
    assert meaning_digest(listed) == meaning_digest(plain)


@pytest.mark.parametrize("member", ["consumerId", "providerId", "assetId"])
@pytest.mark.parametrize(
    "value",
    [[], "", " ", None, 5, True, [CONSUMER, PROVIDER], {}, {"name": CONSUMER}, {"@set": []}, [[]],
     {"@id": CONSUMER, "@value": PROVIDER}],
)  # fmt: skip
def test_a_stated_part_that_names_not_exactly_one_is_never_left_out(member: str, value: object) -> None:
    findings = read(deepcopy(ENVELOPES["EDC, agreement"]) | {member: value}).errors
    assert [(finding.code, finding.where.pointer) for finding in findings] == [("P340", f"/{member}")]


@pytest.mark.parametrize("keyword", ["@nest", "@included", "@graph", "@reverse"])
def test_parts_are_stated_beside_the_policy_alone(keyword: str) -> None:
    document = deepcopy(ENVELOPES["EDC, agreement"])
    document[keyword] = {"consumerId": document.pop("consumerId")}
    (finding,) = read(document).errors
    assert finding.code == ("P390" if keyword == "@graph" else "P340")


def test_a_dataset_has_one_name() -> None:
    document = deepcopy(ENVELOPES["DCAT"]) | {"@id": [T, f"{T}2"]}
    assert [finding.code for finding in read(document).errors] == ["P340"]


def test_where_one_policy_is_meant_an_envelope_with_two_is_refused() -> None:
    with pytest.raises(PolicyError, match="2 policies"):
        require(read(ENVELOPES["catalogue"]))


def test_an_envelope_without_a_policy_is_no_policy() -> None:
    document = {
        "@context": [DSP],
        "@type": "Catalog",
        "@id": "urn:x:c",
        "dataset": [{"@id": T, "title": "a"}],
    }
    assert {finding.code for finding in read(document).errors} == {"P201"}


def test_catalogues_in_each_other_are_bounded() -> None:
    inner: dict[str, Any] = {
        "@type": "Catalog",
        "dataset": [{"@id": T, "@type": "Dataset", "hasPolicy": [policy()]}],
    }
    for _ in range(12):
        inner = {"@type": "Catalog", "catalog": [inner]}
    assert "P104" in {finding.code for finding in read({"@context": [DSP], **inner}).errors}


@pytest.mark.parametrize("word", ["constraints", "permissions", "foo"])
@pytest.mark.parametrize("name", ["EDC, contexts of Catena-X outside", "EDC, management API", "catalogue"])
def test_an_unknown_word_inside_is_never_dropped(name: str, word: str) -> None:
    document = deepcopy(ENVELOPES[name])
    inner = document.get("policy") or document["dataset"][0]["hasPolicy"][0]
    inner[word] = [{"a": 1}]
    assert "P206" in {finding.code for finding in read(document).errors}
    del inner[word]
    inner["permission"][0][word] = [{"a": 1}]
    assert "P206" in {finding.code for finding in read(document).errors}
