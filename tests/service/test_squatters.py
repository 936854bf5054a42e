"""Strangers who take an IRI above somebody's asset, or the uid of somebody's policy."""

import json
from pathlib import Path
from typing import Any

import pytest
from service_world import AUDITOR, POLICY, STRANGER, World, make_world
from shell import CUSTOMER, OWNER, USER, small_document, small_table

from smalti.errors import UsageError
from smalti.vocab.terms import IRI

ABOVE = CUSTOMER.rpartition("/")[0]
OWN = "http://stranger.example/T"
PROFILES = ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"]
CONTEXTS = [
    "http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
    "https://w3id.org/smalti/context.jsonld",
]  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = make_world(tmp_path)
    assert world.add_policy(small_document()).status_code == 201
    assert world.upload(small_table(tmp_path).read_bytes()).status_code == 201
    return world


def small_of_stranger(uid: str, target: str) -> dict[str, Any]:
    """A policy of the stranger, which names itself, about a target."""
    document = small_document(uid=uid, rule={"target": target, "assignee": STRANGER})
    return json.loads(json.dumps(document).replace(f"{CUSTOMER}/", f"{target}/"))


def test_nobody_takes_an_iri_above_an_asset_of_somebody_else(world: World) -> None:
    before = world.get("/v1/data", OWNER).json()
    assert world.upload(b"a,b\n1,2\n", STRANGER, ABOVE, "a.csv").status_code == 409
    place = world.folder / "people.csv"
    with pytest.raises(UsageError, match="does not own it"):
        world.registry.bindings.bind(IRI(ABOVE), IRI(STRANGER), place, "a.csv", is_uploaded=False)
    squatting = small_of_stranger("http://stranger.example/p", ABOVE)
    assert world.add_policy(squatting, STRANGER).status_code == 409
    assert world.get(f"/v1/policies/{POLICY}", STRANGER).status_code == 404
    assert world.get("/v1/policies", STRANGER).json()["items"] == []
    assert world.get("/v1/data", OWNER).json() == before


def test_who_writes_the_uid_of_a_policy_is_not_shown_its_rules(world: World) -> None:
    assert world.add_policy(small_of_stranger(POLICY, OWN), STRANGER).status_code == 201
    asked = {"action": "anonymize", "targets": [CUSTOMER, OWN]}
    for path in ("/v1/explanations", "/v1/decisions"):
        answer = world.ask("POST", path, STRANGER, json=asked).text
        assert USER not in answer
        assert "marketing" not in answer
        assert OWNER not in answer


def test_a_uid_of_several_issuers_means_what_the_asker_may_see(world: World) -> None:
    path = f"/v1/policies/{POLICY}"
    assert world.add_policy(small_of_stranger(POLICY, OWN), STRANGER).status_code == 201
    for party in (OWNER, STRANGER):
        assert world.get(path, party).json()["issuer"] == party
    assert world.get(path, USER).json()["issuer"] == OWNER
    assert world.get(path, USER, issuer=STRANGER).status_code == 404
    several = world.get(path, AUDITOR)
    assert several.status_code == 409
    listed = [{"uid": POLICY, "issuer": issuer} for issuer in sorted([OWNER, STRANGER])]
    assert several.json()["policies"] == listed
    for issuer in (OWNER, STRANGER):
        assert world.get(path, AUDITOR, issuer=issuer).json()["issuer"] == issuer
    assert world.ask("DELETE", path, OWNER, params={"issuer": STRANGER}).status_code == 404
    assert world.ask("DELETE", path, STRANGER).status_code == 204
    assert world.get(path, AUDITOR).json()["issuer"] == OWNER, "what is in force comes first"
    assert world.get(path, AUDITOR, issuer=STRANGER).json()["state"] == "revoked"


def test_who_is_named_by_one_rule_sees_no_rule_for_others(world: World) -> None:
    document = small_document(uid="http://example.com/policy/several")
    (rule,) = document["permission"]
    secret = {"uid": "http://example.com/policy/several/2", "assignee": "http://rival.example/buyer",
              "target": "http://example.com/Merger", "action": "read"}  # fmt: skip
    document["permission"] = [
        rule | {"uid": "http://example.com/policy/several/1", "assignee": STRANGER},
        secret,
    ]
    assert world.add_policy(document).status_code == 201
    (listed,) = world.get("/v1/policies", STRANGER).json()["items"]
    assert listed["targets"] == [CUSTOMER]
    asked = {"action": "read", "targets": ["http://example.com/Merger"]}
    assert "rival" not in world.ask("POST", "/v1/explanations", STRANGER, json=asked).text
    assert "rival" in world.ask("POST", "/v1/explanations", OWNER, json=asked).text


def test_nobody_looks_up_guesses_under_the_key_of_pseudonyms_of_somebody_else(world: World) -> None:
    def masking(uid: str, target: str, key: str) -> dict[str, Any]:
        document = small_of_stranger(uid, target) | {"profile": PROFILES}
        document["@context"] = CONTEXTS
        (rule,) = document["permission"]
        stated = {
            "mosaicrown:method": ("eq", "masking"),
            "smalti:algorithm": ("isAllOf", ["pseudonymization"]),
            "smalti:respondent": ("eq", {"@id": f"{target}/id"}),
            "smalti:pseudonym": ("isAllOf", [{"@id": f"{target}/id"}]),
            "smalti:pseudonymKey": ("eq", key),
        }
        refinement = [
            {"leftOperand": name, "operator": operator, "rightOperand": value}
            for name, (operator, value) in stated.items()
        ]
        rule["action"] = [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": refinement}]
        rule["uid"], rule["output"] = f"{uid}/1", f"{target}/masked"
        return document

    first = masking("http://example.com/policy/masked", "http://example.com/Visits", "visits")
    added = world.add_policy(first)
    assert added.status_code == 201, added.text
    assert world.ask("DELETE", f"/v1/policies/{first['uid']}").status_code == 204
    assert world.upload(b"id,n\nann,1\n", STRANGER, OWN, "guesses.csv").status_code == 201
    foreign = masking("http://stranger.example/p", OWN, "visits")
    assert world.add_policy(foreign, STRANGER).status_code == 409
    tried = {"target": OWN, "document": json.dumps(foreign), "mediaType": "application/ld+json"}
    assert world.ask("POST", "/v1/previews", STRANGER, json=tried).status_code == 409
    assert world.add_policy(masking("http://stranger.example/p", OWN, "mine"), STRANGER).status_code == 201
    assert world.add_policy(first).status_code == 201
