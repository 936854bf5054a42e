"""Decisions in AuthZEN's form: requests in the shapes of the specification's examples, with our IRIs.

OpenID AuthZEN, "Authorization API 1.0", sections 6, 7, 9 and 10 (11 January 2026).
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from service_world import GATEWAY, OPERATOR, READER, READING, STRANGER, World, make_market
from shell import CUSTOMER, OUTPUT, OWNER

from smalti.errors import RegistryError
from smalti.service.routes import decisions, evaluations

UNKNOWN = "http://example.com/nothing"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_market(tmp_path_factory.mktemp("gateway"))[0]


def asked(
    subject: str = READER, target: str = OUTPUT, action: str = "read", **context: Any
) -> dict[str, Any]:
    return {
        "subject": {"type": "user", "id": subject}, "action": {"name": action},
        "resource": {"type": "table", "id": target}, "context": {"purpose": "marketing"} | context,
    }  # fmt: skip


def evaluated(world: World, party: str, document: Mapping[str, Any], status: int = 200) -> dict[str, Any]:
    answer = world.ask("POST", "/access/v1/evaluation", party, json=document)
    assert answer.status_code == status, answer.text
    content: dict[str, Any] = answer.json()
    return content


def batch(world: World, party: str, status: int = 200, **document: Any) -> list[dict[str, Any]]:
    answer = world.ask("POST", "/access/v1/evaluations", party, json=document)
    assert answer.status_code == status, answer.text
    each: list[dict[str, Any]] = answer.json().get("evaluations", [])
    return each


def test_a_party_asks_about_itself(world: World) -> None:
    permitted = evaluated(world, READER, asked())
    assert permitted["decision"] is True
    assert permitted["context"]["grants"][0]["rule"]
    denied = evaluated(world, READER, asked(purpose="statistical"))
    assert denied["decision"] is False
    assert denied["context"]["code"] == "not-permitted"
    assert denied["context"]["reasons"][0]["text"]


def test_only_gateways_ask_about_others(world: World) -> None:
    assert evaluated(world, GATEWAY, asked())["decision"] is True
    assert evaluated(world, GATEWAY, asked(STRANGER))["decision"] is False
    log = world.registry.decision_log
    assert log is not None
    line = json.loads(log.path.read_text(encoding="utf-8").splitlines()[-1])
    assert (line["request"]["party"], line["askedBy"]) == (STRANGER, GATEWAY)
    for party in (STRANGER, OWNER, OPERATOR):
        assert evaluated(world, party, asked(), 403)["code"] == "forbidden"
    assert evaluated(world, STRANGER, asked(STRANGER))["decision"] is False
    batch(world, STRANGER, 403, **asked(STRANGER), evaluations=[{}, {"subject": asked()["subject"]}])


def test_a_gateway_sees_no_more_of_policies_than_its_own_party(world: World) -> None:
    """Not the rules that deny to others, nor whether a target exists."""
    known, unknown = (
        evaluated(world, GATEWAY, asked(OWNER, target, "train")) for target in (CUSTOMER, UNKNOWN)
    )
    assert known == unknown
    assert READING not in str(evaluated(world, GATEWAY, asked(target=CUSTOMER, purpose="statistical")))
    alike = [evaluated(world, STRANGER, asked(STRANGER, target)) for target in (CUSTOMER, OUTPUT, UNKNOWN)]
    assert alike[0] == alike[1] == alike[2]


OF_ANOTHER_FORM = (
    {"subject": {"type": "user"}},
    {"resource": {"type": "table", "id": OUTPUT, "properties": {"owner": "ann"}}},
    {"context": {"weather": "fine"}},
    {"role": "admin"},
)
OF_UNKNOWN_WORDS = (
    {"subject": {"type": "user", "id": "alice@acmecorp.com"}},
    {"subject": {"type": "user", "id": READER, "properties": {"department": "Sales"}}},
    {"action": {"name": "can_read"}},
    {"action": {"name": "read", "properties": {"verb": "GET"}}},
    {"context": {"time": "1985-10-26T01:22-07:00"}},
    {"context": {"accepted": ["urn:x:clause"]}},
)


def test_what_is_not_understood_is_a_bad_request_alone_and_a_denial_among_others(world: World) -> None:
    for change in (*OF_ANOTHER_FORM, *OF_UNKNOWN_WORDS):
        problem = evaluated(world, GATEWAY, asked() | change, 400)
        assert problem["type"].startswith("https://w3id.org/smalti/problem#"), change
    for change in OF_ANOTHER_FORM:
        batch(world, GATEWAY, 400, **asked(), evaluations=[change, {}])
    *denied, permitted = batch(world, GATEWAY, **asked(), evaluations=[*OF_UNKNOWN_WORDS, {}])
    assert permitted["decision"] is True
    for one in denied:
        assert (one["decision"], one["context"]["error"]["status"]) == (False, 400)


def test_a_batch_that_fails_on_the_way_leaves_no_decision(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third decision fails; of a batch of our own, it is also one that is malformed."""
    log = world.registry.decision_log
    assert log is not None
    single = {"action": "read", "targets": [OUTPUT], "purpose": "marketing"}
    before = log.path.read_text().count("\n")
    malformed = {"decisions": [single, single | {"purpose": "no such purpose"}]}
    assert world.ask("POST", "/v1/decisions/batch", READER, json=malformed).status_code == 422
    assert log.path.read_text().count("\n") == before
    answers = []

    def decided(**parts: Any) -> Any:
        answers.append(real(**parts))
        if len(answers) % 3 == 0:
            raise RegistryError("registry", "the disk failed", "a disk")
        return answers[-1]

    real = evaluations.decide
    for module in (evaluations, decisions):
        monkeypatch.setattr(module, "decide", decided)
    batch(world, READER, 503, **asked(), evaluations=[{}, {}, {}])
    answer = world.ask("POST", "/v1/decisions/batch", READER, json={"decisions": [single] * 3})
    assert (answer.status_code, len(answers)) == (503, 6)
    assert log.path.read_text().count("\n") == before
    assert len(batch(world, READER, **asked(), evaluations=[{}, {}])) == 2
    assert log.path.read_text().count("\n") == before + 2


@pytest.mark.parametrize(
    ("semantic", "decisions"),
    [
        (None, [True, False, True]),
        ("execute_all", [True, False, True]),
        ("deny_on_first_deny", [True, False]),
        ("permit_on_first_permit", [True]),
    ],
)
def test_several_evaluations_end_as_their_semantic_says(
    world: World, semantic: str | None, decisions: list[bool]
) -> None:
    targets = (OUTPUT, UNKNOWN, CUSTOMER)
    options = {} if semantic is None else {"options": {"evaluations_semantic": semantic}}
    each = batch(
        world, READER, **asked() | {"resource": None}, **options,
        evaluations=[{"resource": {"type": "table", "id": target}} for target in targets],
    )  # fmt: skip
    assert [one["decision"] for one in each] == decisions


def test_what_evaluations_have_in_common_is_replaced_as_a_whole(world: World) -> None:
    each = batch(
        world, GATEWAY, **asked(),
        evaluations=[{}, {"context": {}}, {"subject": {"type": "user", "id": STRANGER}}],
    )  # fmt: skip
    assert [one["decision"] for one in each] == [True, False, False]
    assert world.ask("POST", "/access/v1/evaluations", READER, json=asked()).json()["decision"] is True
    (missing,) = batch(world, READER, evaluations=[{"subject": asked()["subject"]}])
    assert missing["context"]["error"]["status"] == 400
    batch(world, READER, 400, **asked(), evaluations=[{}] * (evaluations.MOST + 1))
    batch(world, READER, 400, **asked(), evaluations=[{}], options={"evaluations_semantic": "any"})


def test_facts_of_a_gateway_are_on_its_word(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary may say on whose word a fact counts (`smalti:statedBy`)."""
    stated: dict[str, Any] = {}

    def decide(**parts: Any) -> Any:
        stated.update(parts)
        return real(**parts)

    real = evaluations.decide
    monkeypatch.setattr(evaluations, "decide", decide)
    document = asked(facts={"odrl:count": 3, "odrl:media": ["a", "b"]})
    document["subject"]["properties"] = {"odrl:systemDevice": True}
    for party, words in ((GATEWAY, 3), (READER, 0)):
        evaluated(world, party, document)
        assert {*stated["facts"]} == {
            "odrl:count=3", "odrl:media=a", "odrl:media=b", "odrl:systemDevice=true"
        }  # fmt: skip
        assert len(stated["stated_by"]) == words
        assert all(text.endswith(f"={GATEWAY}") for text in stated["stated_by"])
    document["context"]["facts"]["odrl:systemDevice"] = False
    evaluated(world, READER, document, 400)


def test_requests_keep_their_identifiers(world: World) -> None:
    for status, party in ((200, READER), (403, STRANGER), (401, None)):
        answer = world.ask(
            "POST", "/access/v1/evaluation", party, {"x-request-id": "bfe9eb29"}, json=asked()
        )
        assert (answer.status_code, answer.headers["x-request-id"]) == (status, "bfe9eb29")
    answer = world.ask("POST", "/access/v1/evaluation", READER, {"x-request-id": "a" * 201}, json=asked())
    assert answer.status_code == 400
    assert "x-request-id" not in answer.headers


def test_the_configuration_names_the_public_address_and_no_other(world: World) -> None:
    place = "/.well-known/authzen-configuration"
    answer = world.ask("GET", place, None, {"host": "evil.example", "x-forwarded-host": "evil.example"})
    address = world.service.configuration.public_address
    assert answer.json() == {
        "policy_decision_point": address,
        "access_evaluation_endpoint": f"{address}/access/v1/evaluation",
        "access_evaluations_endpoint": f"{address}/access/v1/evaluations",
    }
