"""Policies inside documents of data spaces: found with their place, with what the document says of them."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from pyld import ContextResolver, FrozenDocumentLoader, jsonld

from smalti.errors import PolicyError
from smalti.policy.decide.hierarchies import STANDARD, Vocabulary
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


@pytest.mark.parametrize(
    ("name", "word"), [("EDC, its vocabulary", "policy"), ("protocol, agreement", "agreement")]
)
def test_a_member_that_means_one_policy_holds_no_second_one(name: str, word: str) -> None:
    document = ENVELOPES[name]
    second = {**document[word], "@id": "urn:x:q"}
    for both in ([document[word], second], {"@set": [document[word], second]}):
        (finding,) = read({**document, word: both}).errors
        assert finding.code == "P342"
        assert finding.message == f"`{word}` contains 2 policies, where one is meant"


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


# --- Every form of a target or a party is held against the envelope

STRANGER = "did:web:stranger.example"


def collection(kind: str, source: object) -> dict[str, Any]:
    return {"@type": kind, "odrl:source": {"@id": source}}


def agreement(**more: Any) -> dict[str, Any]:
    inner = {"@context": ["http://www.w3.org/ns/odrl.jsonld"], **policy(**{"@type": "Agreement"})}
    envelope = ENVELOPES["EDC, agreement"]
    return {**deepcopy(envelope), "policy": {**inner, **more}}


@pytest.mark.parametrize(
    "more",
    [
        {"target": collection("AssetCollection", f"{T}2")},
        {"target": collection("AssetCollection", f"{T}2") | {"uid": T}},
        {"target": {"@type": "AssetCollection", "odrl:source": collection("AssetCollection", f"{T}2")}},
        {"assignee": collection("PartyCollection", STRANGER)},
        {"permission": [rule(assignee=collection("PartyCollection", STRANGER))]},
        {"permission": [rule(assignee=[CONSUMER, collection("PartyCollection", STRANGER)])]},
        {"assignee": {"odrl:uid": {"@id": STRANGER}}},
        {"assigner": collection("PartyCollection", STRANGER)},
    ],
)
def test_the_source_of_a_collection_is_who_or_what_the_envelope_states(more: dict[str, Any]) -> None:
    assert {finding.code for finding in read(agreement(**more)).errors} == {"P340"}


@pytest.mark.parametrize(("part", "name"), [("target", T), ("assigner", PROVIDER), ("assignee", CONSUMER)])
def test_a_collection_by_its_source_may_be_the_stated_one(part: str, name: str) -> None:
    kind = "AssetCollection" if part == "target" else "PartyCollection"
    (plain,) = policies(read(agreement()))
    (named,) = policies(read(agreement(**{part: collection(kind, name)})))
    assert [rule.targets for rule in named.rules] == [rule.targets for rule in plain.rules]
    assert [rule.assignees for rule in named.rules] == [rule.assignees for rule in plain.rules]


@pytest.mark.parametrize("kind", ["Asset", "Party"])
def test_nodes_beside_an_envelope_claim_nobody_else_for_its_policy(kind: str) -> None:
    word = "hasPolicy" if kind == "Asset" else "assigneeOf"
    # An agreement of EDC gives its policy its own name.
    document = agreement() | {"@id": "urn:x:agreement"}
    beside = {"@context": "http://www.w3.org/ns/odrl.jsonld", "@type": kind, "@id": STRANGER,
              word: {"@id": "urn:x:agreement"}}  # fmt: skip
    assert read([document]).errors == ()
    assert {finding.code for finding in read([document, beside]).errors} == {"P340"}


def test_the_same_spelling_counts_in_the_envelope_and_in_its_policy() -> None:
    spellings = "http://example.com/Gr%C3%B6%C3%9Fe", "http://example.com/Größe"
    for stated in spellings:
        for written in spellings:
            assert read(agreement(target=written) | {"assetId": stated}).errors == ()


@pytest.mark.parametrize("name", [{"odrl:uid": {"@id": T}}, {"@id": T}, {"@id": T, "odrl:uid": T}])
def test_a_dataset_is_named_by_its_uid_too(name: dict[str, Any]) -> None:
    document = {**deepcopy(ENVELOPES["DCAT"]), "@id": T}
    del document["@id"]
    (inside,) = policies(read(document | name))
    assert inside.targets == {T}
    document["hasPolicy"] = policy(target=f"{T}2")
    assert [finding.code for finding in read(document | name).errors] == ["P340"]


def test_a_dataset_with_two_names_is_refused() -> None:
    document = deepcopy(ENVELOPES["DCAT"]) | {"odrl:uid": {"@id": f"{T}2"}}
    assert [finding.code for finding in read(document).errors] == ["P340"]


# --- What a policy in an envelope inherits

PARENT = {"@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "Set", "uid": "urn:x:parent",
          "permission": [{"action": "read", "target": T, "assigner": PROVIDER,
                          "assignee": CONSUMER}]}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        ({}, set()),
        ({"target": f"{T}2"}, {"P340"}),
        ({"assignee": STRANGER}, {"P340"}),
        ({"assigner": STRANGER}, {"P340"}),
        ({"assignee": None}, {"P340"}),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_inherited_rules_are_about_what_the_envelope_states(
    change: dict[str, Any], errors: set[str], own: bool
) -> None:
    """The rules of a parent are the child's: about others they would be no part of the agreement."""
    parent = deepcopy(PARENT)
    parent["permission"][0] = {k: v for k, v in (PARENT["permission"][0] | change).items() if v}  # type: ignore[operator,index]
    child = agreement(inheritFrom="urn:x:parent", permission=[rule()] if own else [])
    del child["policy"]["@type"]
    findings = read([parent, child]).errors
    assert {finding.code for finding in findings} == errors
    assert all(finding.where.pointer == "/1/policy/inheritFrom" for finding in findings)


@pytest.mark.parametrize(("part", "other"), [("target", f"{T}2"), ("assignee", STRANGER)])
def test_a_binding_is_held_against_inherited_rules_where_the_policy_has_no_others(
    part: str, other: str
) -> None:
    child = {
        "@context": PARENT["@context"],
        "@type": "Set",
        "uid": "urn:x:c",
        "inheritFrom": "urn:x:parent",
    }
    stored = policies(read(PARENT))[0]

    def codes(iri: str) -> set[str]:
        parsed = parse(
            json.dumps(child).encode(), "c", lambda uid: stored, binding=Binding(**{part: IRI(iri)})
        )
        return {finding.code for finding in parsed.errors}

    assert codes(T if part == "target" else CONSUMER) == set()
    assert codes(other) == {"P340"}


# --- Functions of a vocabulary

DATA_USER = Vocabulary(functions=((IRI("http://example.com/dataUser"), IRI(f"{ODRL}assignee")),))


@pytest.mark.parametrize(("user", "errors"), [(CONSUMER, set()), (STRANGER, {"P340"})])
@pytest.mark.parametrize("place", ["policy", "rule"])
def test_a_declared_function_is_the_part_that_it_is_a_case_of(
    user: str, errors: set[str], place: str
) -> None:
    said = {"http://example.com/dataUser": {"@id": user}}
    document = agreement(**(said if place == "policy" else {"permission": [rule(**said)]}))
    words = STANDARD.with_(DATA_USER)
    parsed = parse(json.dumps(document).encode(), "p.json", hierarchies=words)
    assert {finding.code for finding in parsed.errors} == errors
    del document["consumerId"]
    bound = Binding(assignee=IRI(CONSUMER))
    parsed = parse(json.dumps(document).encode(), "p.json", hierarchies=words, binding=bound)
    assert {finding.code for finding in parsed.errors} == errors


# --- Policies at other places

HIDDEN = {"@type": "Set", "@id": "urn:x:hidden", "prohibition": [rule()]}


ELSEWHERE: dict[str, tuple[str, dict[str, Any]]] = {
    # by its place: to what it is added, and how
    "/dataset/0/distribution/0/hasPolicy/0": (
        "dataset", {"distribution": [{"@type": "Distribution", "hasPolicy": [HIDDEN]}]}),
    "/dataset/0/distribution/accessService/0/odrl:hasPolicy/0": (
        "dataset", {"distribution": {"accessService": [{"odrl:hasPolicy": [HIDDEN]}]}}),
    "/service/0/hasPolicy": ("catalogue", {"service": [{"@id": "urn:x:s", "hasPolicy": HIDDEN}]}),
    "/hasPolicy/0": ("catalogue", {"hasPolicy": [HIDDEN]}),
    "/anything/0/0/at/all/http:~1~1www.w3.org~1ns~1odrl~12~1prohibition": (
        "catalogue", {"anything": [[{"at": {"all": {f"{ODRL}prohibition": []}}}]]}),
    "/dataset/0/hasPolicy/1": (
        "dataset", {"hasPolicy": [policy(**{"@type": "Offer"}), {"@id": "urn:x:q"}]}),
    "/dataset/0/hasPolicy/0": (
        "dataset", {"hasPolicy": ["urn:x:q", policy(**{"@type": "Offer"})]}),
}  # fmt: skip


@pytest.mark.parametrize("pointer", ELSEWHERE)
def test_no_policy_of_an_envelope_is_hidden(pointer: str) -> None:
    place, added = ELSEWHERE[pointer]
    document = deepcopy(ENVELOPES["catalogue"])
    (document if place == "catalogue" else document["dataset"][0]).update(added)
    parsed = read(document)
    assert [(finding.code, finding.where.pointer) for finding in parsed.errors] == [("P342", pointer)]
    assert parsed.policies == parsed.templates == ()


def test_rules_beside_a_policy_are_never_dropped() -> None:
    document = deepcopy(ENVELOPES["EDC, agreement"]) | {"prohibition": [rule()]}
    assert [finding.code for finding in read(document).errors] == ["P342"]
    document = deepcopy(ENVELOPES["catalogue"]) | {"odrl:prohibition": [rule()]}
    assert read(document).errors


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("odrl:assignee", {"@id": CONSUMER}),
        (f"{ODRL}assigneeOf", {"@id": "urn:x:p"}),
        ("assignee", CONSUMER),
        ("odrl:target", {"@id": f"{T}2"}),
        ("odrl:profile", {"@id": "http://example.com/profile"}),
        ("party", {"@id": CONSUMER, "odrl:assigneeOf": {"@id": "urn:x:p"}}),
    ],
)
def test_what_an_envelope_says_of_rules_in_words_of_odrl_is_never_dropped(key: str, value: Any) -> None:
    """Naive: a policy for one party, whose envelope names it, is for anybody."""
    said = {"@context": DSP_ODRL, **policy(target=T)}
    document = {"@context": [VOCAB, {"odrl": ODRL}], "@type": "PolicyDefinition", "policy": said}
    assert read(document).errors == ()
    parsed = read(document | {key: value})
    assert [finding.code for finding in parsed.errors] == ["P342"]
    assert parsed.policies == ()


@pytest.mark.parametrize(
    "named",
    [
        {"consumerId": CONSUMER},
        {"edc:agent": {"edc:consumerId": CONSUMER}},
        {"ConsumerId": CONSUMER},
        {"edc:consumer_id": CONSUMER},
        {"edc:AssetID": T},
        {"http://w3id.org/edc/v0.0.1/ns/assetId": f"{T}2"},
    ],
    ids=["no namespace", "elsewhere", "capital", "underscore", "capitals", "another namespace"],
)
def test_no_party_and_no_asset_of_an_envelope_is_lost_with_its_namespace(named: dict[str, Any]) -> None:
    """Naive: JSON-LD drops a word without a namespace, and the policy is for anybody."""
    said = {"@context": DSP_ODRL, **policy(target=T)}
    document = {"@context": {"edc": EDC}, "@type": "edc:ContractAgreement", "edc:policy": said}
    assert [finding.code for finding in read(document | named).errors] == ["P342"]
    (right,) = policies(read(document | {"edc:consumerId": CONSUMER, "edc:assetId": [T]}))
    assert [party.iri for party in right.permissions[0].assignees] == [CONSUMER]


@pytest.mark.parametrize(
    ("name", "word", "written"),
    [
        ("EDC, its vocabulary", "policy", "Policy"),
        ("EDC, prefixes", "edc:policy", "edc:POLICY"),
        ("protocol, agreement", "agreement", "Agreement"),
        ("DCAT", "hasPolicy", "haspolicy"),
        ("catalogue", "dataset", "Dataset"),
        ("EDC, agreement", "providerId", "ProviderID"),
        ("EDC, request", "counterPartyId", "CounterPartyId"),
        ("catalogue", "participantId", "participantid"),
    ],
)
def test_a_word_of_an_envelope_in_another_case_is_told_the_right_one(
    name: str, word: str, written: str
) -> None:
    document = {written if key == word else key: value for key, value in ENVELOPES[name].items()}
    (finding,) = read(document).errors
    right = word.rpartition(":")[2]
    assert (finding.code, finding.where.pointer, finding.help) == (
        "P342", f"/{written}", f"write `{right}`",
    )  # fmt: skip


def test_a_policy_that_is_only_named_beside_another_one_is_an_error() -> None:
    document = deepcopy(ENVELOPES["protocol, offer"])
    document["offer"] = [document["offer"], {"@id": "urn:x:q"}]
    assert [finding.where.pointer for finding in read(document).errors] == ["/offer/1"]


def test_policies_in_a_set_are_read() -> None:
    document = deepcopy(ENVELOPES["catalogue"])
    plain = policies(read(document))
    document["dataset"] = {"@set": document["dataset"]}
    of_set = policies(read(document))
    assert [policy.uid for policy in of_set] == [policy.uid for policy in plain]
    for first, second in zip(plain, of_set, strict=True):
        assert first.permissions[0].targets == second.permissions[0].targets
        assert first.permissions[0].assigners == second.permissions[0].assigners


def test_policies_in_a_set_with_more_than_that_are_not_hidden() -> None:
    document = deepcopy(ENVELOPES["catalogue"])
    document["dataset"] = {"@set": document["dataset"], "@index": "first"}
    assert "P342" in {finding.code for finding in read(document).errors}


# --- Catalogues in each other


def test_a_catalogue_in_another_one_is_its_own_participants() -> None:
    inner = deepcopy(ENVELOPES["catalogue"]) | {"participantId": STRANGER, "@id": "urn:x:inner"}
    del inner["@context"]
    inner["dataset"][0]["hasPolicy"][0]["@id"] = "urn:x:r"
    del inner["dataset"][1]
    outer = deepcopy(ENVELOPES["catalogue"]) | {"catalog": [inner]}
    assigners = {each.uid: each.permissions[0].assigners[0].iri for each in policies(read(outer))}
    assert assigners == {"urn:x:p": PROVIDER, "urn:x:q": PROVIDER, "urn:x:r": STRANGER}
    del inner["participantId"]
    assigners = {each.uid: each.permissions[0].assigners[0].iri for each in policies(read(outer))}
    assert set(assigners.values()) == {PROVIDER}


def test_an_envelope_that_states_two_of_one_part_says_where() -> None:
    document = deepcopy(ENVELOPES["EDC, agreement"]) | {"participantId": STRANGER}
    (finding,) = read(document).errors
    assert (finding.code, finding.where.pointer) == ("P340", "/participantId")
    assert STRANGER in finding.message
    assert PROVIDER in finding.message
