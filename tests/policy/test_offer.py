"""The public part of a policy as an offer of the Dataspace Protocol, which smalti reads again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from strategies import policies

from smalti.errors import PolicyError
from smalti.policy.decide.authorize import prepare
from smalti.policy.decide.hierarchies import STANDARD
from smalti.policy.model.meaning import canonical_meaning, is_generated
from smalti.policy.model.model import ConflictStrategy, Party, Policy, PolicyType
from smalti.policy.model.nesting import R, with_duties, with_rules
from smalti.policy.model.public_part import public_part
from smalti.policy.read.parse import load, parse
from smalti.policy.say.agreeing import offered_policy
from smalti.policy.say.offer import offer_document
from smalti.vocab.terms import IRI

GOOD = sorted((Path(__file__).parent / "good").glob("*.jsonld"))
EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"
OWNER = Party(IRI("http://example.com/party/owner"))


def with_assigner(policy: Policy) -> Policy:
    def filled(rule: R) -> R:
        return with_duties(replace(rule, assigners=rule.assigners or (OWNER,)), filled)

    return with_rules(policy, filled)


def rules_of(policy: Policy) -> str:
    """What a policy says, whichever parts its document shares among the rules."""
    return canonical_meaning(replace(policy, shared=None))


def survives(policy: Policy) -> None:
    policy = with_assigner(policy)
    is_void = prepare(policy, STANDARD).conflict is not None
    if policy.type is PolicyType.AGREEMENT or policy.inclusions or is_void:
        with pytest.raises(PolicyError):
            offer_document(policy)
        return
    written = offer_document(policy)
    parsed = parse(written, "offer.json")
    assert parsed.errors == (), written.decode()
    (offer,) = parsed.policies
    assert offer.type is PolicyType.OFFER
    public = replace(public_part(policy), type=PolicyType.OFFER)
    if is_generated(policy.uid):
        assert offer.uid.startswith("urn:smalti:offer:sha256:")
        public = replace(public, uid=offer.uid)
    assert rules_of(offer) == rules_of(public)
    assert rules_of(public_part(offer)) == rules_of(offer), "the public part is public"


@pytest.mark.parametrize("path", [*GOOD, *sorted(EXAMPLES.glob("*.jsonld"))], ids=lambda path: path.stem)
def test_the_written_offer_is_read_again_and_says_the_public_part(path: Path) -> None:
    for policy in load(path).policies:
        survives(policy)


@given(policies())
@settings(max_examples=examples(10, full=400))
def test_any_policy(policy: Policy) -> None:
    survives(policy)


def written_offer(path: Path = EXAMPLES / "fig-2.6-canonical.jsonld") -> tuple[str, dict[str, Any]]:
    (policy,) = load(path).policies
    text = offer_document(with_assigner(policy)).decode()
    return text, json.loads(text)


def test_a_dataset_has_the_offer_and_no_target_inside() -> None:
    _, dataset = written_offer()
    assert dataset["@context"][0] == "https://w3id.org/dspace/2025/1/context.jsonld"
    assert (dataset["@type"], dataset["@id"]) == ("Dataset", "http://example.com/Customer")
    (offer,) = dataset["hasPolicy"]
    assert (offer["@type"], offer["@id"]) == ("Offer", "http://example.com/policy/anon-customer")
    assert offer["assigner"] == OWNER.iri
    assert "target" not in json.dumps(offer)


def test_internals_of_the_owner_are_not_written() -> None:
    text, _ = written_offer()
    source = (EXAMPLES / "fig-2.6-canonical.jsonld").read_text(encoding="utf-8")
    for internal in ("CustomerID", "FirstName", "LastName", "mosaicrown:identifier"):
        assert internal in source
        assert internal not in text
    for public in ("l-diversity", "Customer/ZIP", "Customer/Amount", "http://example/anonCustomer"):
        assert public in text


INTERNAL = {
    "@context": [
        "http://www.w3.org/ns/odrl.jsonld",
        "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
        "https://w3id.org/smalti/context.jsonld",
        {"dct": "http://purl.org/dc/terms/"},
    ],
    "@type": "Set",
    "uid": "http://example.com/policy/visits",
    "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
    "dct:description": "secret remark",
    "conflict": "prohibit",
    "dct:valid": "2026-01-01/2030-01-01",
    "assigner": "http://example.com/party/owner",
    "permission": [{
        "uid": "http://example.com/policy/visits/secret-rule",
        "assignee": {"uid": "http://example.com/party/ana", "partOf": "http://example.com/secret-group"},
        "target": {"uid": "http://example.com/visits", "partOf": "http://example.com/secret-collection"},
        "output": "http://example.com/visits-published",
        "action": [{
            "rdf:value": {"@id": "odrl:anonymize"},
            "refinement": [
                {"leftOperand": "mosaicrown:method", "operator": "eq", "rightOperand": "k-anonymity"},
                {"leftOperand": "mosaicrown:k", "operator": "gteq", "rightOperand": 5},
                {"leftOperand": "mosaicrown:identifier", "operator": "isAllOf",
                 "rightOperand": [{"@id": "http://example.com/visits/secret-name"}]},
                {"leftOperand": "smalti:respondent", "operator": "eq",
                 "rightOperand": {"@id": "http://example.com/visits/secret-number"}},
                {"leftOperand": "mosaicrown:quasi-identifier", "operator": "isAllOf",
                 "rightOperand": [{"@id": "http://example.com/visits/age"}]},
                {"leftOperand": "smalti:fragmentColumn", "operator": "eq",
                 "rightOperand": {"@id": "http://example.com/visits/age"}},
            ],
        }],
        "purpose": "mosaicrown:statistical",
        "constraint": [{"leftOperand": "dateTime", "operator": "lt",
                        "rightOperand": {"@value": "2029-01-01T00:00:00Z", "@type": "xsd:dateTime"}}],
        "duty": [{"action": "inform", "uid": "http://example.com/policy/visits/secret-duty"}],
    }],
    "prohibition": [{"target": "http://example.com/visits", "action": "odrl:distribute"}],
}  # fmt: skip


def test_every_term_is_there_and_every_internal_is_not() -> None:
    (policy,) = parse(json.dumps(INTERNAL).encode(), "visits.jsonld").policies
    text = offer_document(policy).decode()
    assert "secret" in json.dumps(INTERNAL)
    assert "secret" not in text
    assert "fragmentColumn" not in text
    for term in ("anonymize", "k-anonymity", "statistical", "2029-01-01", "inform", "distribute",
                 "2026-01-01", "visits-published", "visits/age", "party/ana", "party/owner"):  # fmt: skip
        assert term in text
    survives(policy)


def test_rules_with_several_targets_are_a_message() -> None:
    document = json.loads(json.dumps(INTERNAL))
    document["prohibition"][0]["target"] = "http://example.com/visits/age"
    del document["permission"][0]["duty"]
    (policy,) = parse(json.dumps(document).encode(), "visits.jsonld").policies
    message = json.loads(offer_document(policy))
    assert message["@type"] == "ContractOfferMessage"
    assert message["offer"]["@type"] == "Offer"
    survives(policy)


TEMPLATE = {
    "@context": {"@vocab": "https://w3id.org/edc/v0.0.1/ns/", "odrl": "http://www.w3.org/ns/odrl/2/"},
    "@type": "PolicyDefinition",
    "@id": "visits-research",
    "policy": {
        "@context": [
            "https://w3id.org/catenax/2025/9/policy/odrl.jsonld",
            "https://w3id.org/catenax/2025/9/policy/context.jsonld",
        ],
        "@type": "Set",
        "permission": [{
            "action": "use",
            "constraint": [{"and": [
                {"leftOperand": "Membership", "operator": "eq", "rightOperand": "active"},
                {"leftOperand": "UsagePurpose", "operator": "isAnyOf", "rightOperand": ["cx.pcf.base:1"]},
            ]}],
        }],
        "prohibition": [],
        "obligation": [],
    },
}  # fmt: skip


def offered(**bound: str) -> Policy:
    from smalti.binding import binding_of  # noqa: PLC0415

    return offered_policy(json.dumps(TEMPLATE).encode(), "t.json", binding=binding_of(bound))


def test_a_template_is_offered_with_its_assignee_left_open() -> None:
    text = offer_document(offered(target="http://example.com/visits", assigner=OWNER.iri)).decode()
    assert "unbound" not in text
    parsed = parse(text.encode(), "offer.json", hierarchies=STANDARD)
    assert parsed.errors == ()
    (offer,) = parsed.policies
    assert offer.permissions[0].assignees == ()
    assert offer.permissions[0].assigners == (OWNER,)
    assert "https://w3id.org/catenax/2025/9/policy/Membership" in text


@pytest.mark.parametrize(
    ("bound", "part"),
    [({}, "target"), ({"target": "http://example.com/visits"}, "assigner")],
)
def test_an_offer_needs_its_target_and_assigner(bound: dict[str, str], part: str) -> None:
    with pytest.raises(PolicyError, match=rf"leaves open its {part}.*--bind {part}=IRI"):
        offer_document(offered(**bound))


def test_an_offer_that_is_written_and_offered_again_is_the_same() -> None:
    text, _ = written_offer()
    assert offer_document(parse(text.encode(), "offer.json").policies[0]).decode() == text


def test_an_offer_that_was_read_leaves_no_terms_behind() -> None:
    """PyLD keeps contexts, and once kept those of the protocol where the imported one had been."""
    for text in (written_offer()[0], json.dumps(TEMPLATE), written_offer()[0]):
        assert parse(text.encode(), "a.json").errors == ()
    words = {"permission": [{"action": "use", "target": "http://example.com/visits", "offer": "x"}]}
    context = "https://w3id.org/dspace/2025/1/odrl-profile.jsonld"
    parsed = parse(json.dumps({"@context": context, "@type": "Set", **words}).encode(), "b.json")
    assert [finding.code for finding in parsed.errors] == ["P206"], (
        "the message's words are not the profile's"
    )


def test_a_void_policy_is_not_offered() -> None:
    rule = {
        "assigner": OWNER.iri, "assignee": "http://example.com/org/user",
        "target": "http://example.com/Customer", "action": "odrl:read",
    }  # fmt: skip
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "Offer",
        "uid": "http://example.com/policy/void", "conflict": "invalid",
        "permission": [rule], "prohibition": [{**rule, "action": "odrl:use"}],
    }  # fmt: skip
    (policy,) = parse(json.dumps(document).encode(), "void.json").policies
    with pytest.raises(PolicyError, match=r"the policy is void.* contradict each other"):
        offer_document(policy)
    spared = replace(policy, conflict=ConflictStrategy.PROHIBIT)
    assert offer_document(spared)
