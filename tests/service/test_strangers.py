"""Who sees what: a table over every operation, in which what is unknown and what is foreign look alike."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from service_world import (
    AUDITOR,
    OPERATOR,
    PARTIES,
    POLICY,
    READER,
    READING,
    STRANGER,
    World,
    make_market,
)
from shell import CUSTOMER, OUTPUT, OWNER, USER, small_document

from smalti.engine.registry.access import Role
from smalti.service.application import OPERATIONS
from smalti.service.parties import ANYBODY

UNKNOWN = "http://example.com/nothing"
LD = {"content-type": "application/ld+json"}


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str, str]:
    world, run = make_market(tmp_path_factory.mktemp("strangers"))
    (bound,) = world.get("/v1/data").json()["items"]
    return world, run, bound["id"]


def decision_on(target: str) -> dict[str, Any]:
    return {"json": {"action": "read", "targets": [target], "purpose": "marketing"}}


ONE_OF = {
    # By operation: a request about what the owner has, and the same about what nobody has.
    "readPolicy": (f"/v1/policies/{POLICY}", f"/v1/policies/{UNKNOWN}", {}),
    "replacePolicy": (
        f"/v1/policies/{POLICY}", f"/v1/policies/{UNKNOWN}",
        {"content": json.dumps(small_document()), "headers": LD | {"if-match": "*"}},
    ),
    "revokePolicy": (f"/v1/policies/{POLICY}", f"/v1/policies/{UNKNOWN}", {}),
    "readData": ("/v1/data/{data}", "/v1/data/{unknown}", {}),
    "unbindData": ("/v1/data/{data}", "/v1/data/{unknown}", {}),
    "readDescription": ("/v1/data/{data}/description", "/v1/data/{unknown}/description", {}),
    "proposeDescription": ("/v1/data/{data}/proposal", "/v1/data/{unknown}/proposal", {}),
    "describeData": ("/v1/data/{data}/description", "/v1/data/{unknown}/description", {"json": {}}),
    "readVersion": ("/v1/versions/{run}", "/v1/versions/{unknown}", {}),
    "readCertificate": ("/v1/versions/{run}/certificate", "/v1/versions/{unknown}/certificate", {}),
    "download": (
        "/v1/versions/{run}/files/anonCustomer.csv", "/v1/versions/{unknown}/files/anonCustomer.csv", {},
    ),
    "readBudget": (f"/v1/budgets?target={CUSTOMER}", f"/v1/budgets?target={UNKNOWN}", {}),
    "readForecast": (
        f"/v1/forecasts?target={CUSTOMER}&epsilon=1", f"/v1/forecasts?target={UNKNOWN}&epsilon=1", {},
    ),
}  # fmt: skip
LISTS = {
    "listAuditable": ("/v1/auditable",),
    "listPolicies": ("/v1/policies", f"/v1/policies?target={CUSTOMER}"),
    "listData": ("/v1/data",),
    "listTargets": ("/v1/targets",),
    "listVersions": ("/v1/versions", f"/v1/versions?target={OUTPUT}&purpose=marketing"),
}
OF_OWNERS: dict[str, tuple[str, dict[str, Any]]] = {
    # By operation: its path, and what it is sent beside a target.
    "listOwners": ("/v1/owners", {}),
    "addOwner": ("/v1/owners", {"party": STRANGER}),
    "removeOwner": ("/v1/owners", {"party": OWNER}),
    "withdraw": ("/v1/withdrawals", {"respondents": ["p1"], "column": "who"}),
    "countWithdrawn": ("/v1/withdrawals", {}),
}
ASKED = {"decide": "/v1/decisions", "explain": "/v1/explanations"}
OF_DATA = {"tryPolicy", "decideAll"}
"""Tried below."""
OF_AUDITS = {"orderStudy", "readStudyPage", "listAudits", "readAudit", "readAuditPage", "listPermissions"}
"""Tried in `test_audits.py`."""
OF_JOBS = {"orderJob", "listJobs", "readJob", "followJob", "stopJob", "retryJob", "readReport"}
"""Tried in `test_jobs.py`."""
OF_GATEWAYS = {"evaluate", "evaluateAll"}
"""Tried in `test_evaluations.py`."""
OF_CONTROL_PLANES = {
    f"{verb}DataFlow"
    for verb in ("prepare", "start", "read", "suspend", "resume", "terminate", "completed")
}
"""Tried in `test_signaling.py`."""
OWN = {"listAuditChoices", "listFiles", "checkPolicy", "addPolicies", "upload", "bindFile", "readSelf"}
"""Operations on what the asker sends itself; what of them is foreign is tried below."""


def test_the_tables_name_every_operation() -> None:
    named = {
        *ONE_OF,
        *LISTS,
        *ASKED,
        *OF_OWNERS,
        *OWN,
        *OF_DATA,
        *OF_JOBS,
        *OF_AUDITS,
        *OF_GATEWAYS,
        *OF_CONTROL_PLANES,
    }
    assert {
        operation.name for operation in OPERATIONS if operation.roles not in (ANYBODY, {Role.OPERATOR})
    } == named


@pytest.mark.parametrize("name", ONE_OF)
def test_what_is_foreign_and_what_is_unknown_are_alike(market: tuple[World, str, str], name: str) -> None:
    world, run, data = market
    method = next(operation.method for operation in OPERATIONS if operation.name == name)
    foreign, unknown, parts = ONE_OF[name]
    answers = [
        world.ask(method, path.format(run=run, data=data, unknown=uuid.UUID(int=0)), STRANGER, **parts)
        for path in (foreign, unknown)
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert {*answers[0].headers} == {*answers[1].headers}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_empty_for_strangers(market: tuple[World, str, str], name: str) -> None:
    world, _, _ = market
    for path in LISTS[name]:
        assert world.get(path, STRANGER).json() == {"items": [], "next": None}
        assert world.get(path.partition("?")[0], OWNER).json()["items"]


def of_target(world: World, name: str, target: str, party: str) -> Any:
    method = next(operation.method for operation in OPERATIONS if operation.name == name)
    path, more = OF_OWNERS[name]
    stated = {"target": target} | more
    return world.ask(method, path, party, **({"json": stated} if method == "POST" else {"params": stated}))


@pytest.mark.parametrize("name", OF_OWNERS)
def test_owners_and_withdrawals_are_for_owners_alone(market: tuple[World, str, str], name: str) -> None:
    world, _, _ = market
    for party in (STRANGER, USER):
        answers = [of_target(world, name, target, party) for target in (CUSTOMER, UNKNOWN, OUTPUT)]
        assert [answer.status_code for answer in answers] == [404, 404, 404]
        assert len({answer.content for answer in answers}) == 1
    assert of_target(world, name, CUSTOMER, AUDITOR).status_code == 403


def test_owners_add_and_remove_owners_and_respondents_withdraw(tmp_path: Path) -> None:
    world, _ = make_market(tmp_path)
    seen = {name: of_target(world, name, CUSTOMER, OWNER) for name in OF_OWNERS}
    assert seen["listOwners"].json() == {"target": CUSTOMER, "owners": [OWNER]}
    assert seen["addOwner"].json()["owners"] == sorted([OWNER, STRANGER])
    assert seen["removeOwner"].status_code == 204
    assert {seen[name].status_code for name in ("withdraw", "countWithdrawn")} == {404}, "owner no more"
    assert of_target(world, "listOwners", CUSTOMER, OWNER).status_code == 404
    withdrawn = of_target(world, "withdraw", CUSTOMER, STRANGER)
    assert (withdrawn.status_code, withdrawn.json()["withdrawn"]) == (201, 1)
    assert of_target(world, "countWithdrawn", CUSTOMER, STRANGER).json()["withdrawn"] == 1
    last = world.ask("DELETE", "/v1/owners", STRANGER, params={"target": CUSTOMER, "party": STRANGER})
    assert last.status_code == 422


def test_decisions_of_a_batch_are_those_of_single_requests(market: tuple[World, str, str]) -> None:
    world, _, _ = market
    wanted = [decision_on(target)["json"] for target in (CUSTOMER, OUTPUT, UNKNOWN)]
    for party in (READER, STRANGER):
        single = [world.ask("POST", "/v1/decisions", party, json=each).json() for each in wanted]
        batch = world.ask("POST", "/v1/decisions/batch", party, json={"decisions": wanted}).json()
        for alone, together in zip(single, batch["decisions"], strict=True):
            assert {**alone, "request": 0} == {**together, "request": 0}
    many = {"decisions": wanted * 40}
    assert world.ask("POST", "/v1/decisions/batch", json=many).status_code == 422


@pytest.mark.parametrize("path", ASKED.values())
def test_a_denial_says_nothing_of_whether_a_target_exists(
    market: tuple[World, str, str], path: str
) -> None:
    world, run, _ = market
    known = [CUSTOMER, f"{CUSTOMER}/age", OUTPUT, f"urn:uuid:{run}"]
    answers = []
    for target in (*known, UNKNOWN):
        answer = world.ask("POST", path, STRANGER, **decision_on(target)).json()
        del answer["request"]
        answers.append(answer)
    assert all(answer == answers[-1] for answer in answers)
    assert answers[-1]["effect"] == "deny"
    named = world.ask("POST", path, USER, **decision_on(CUSTOMER)).json()
    assert named["permitted"] is False
    assert READING not in json.dumps(named)


def test_what_somebody_else_owns_cannot_be_taken(market: tuple[World, str, str]) -> None:
    world, _, _ = market
    before = world.get("/v1/data").json(), world.get("/v1/policies").json()
    assert world.upload(b"a\n1\n", STRANGER).status_code == 409
    file = {"target": CUSTOMER, "file": "people.csv"}
    assert world.ask("POST", "/v1/data", STRANGER, json=file).status_code == 409
    assert world.add_policy(small_document(), STRANGER).status_code == 422
    other = small_document(uid="http://example.com/policy/theirs")
    assert world.add_policy(other, STRANGER).status_code == 422
    assert (world.get("/v1/data").json(), world.get("/v1/policies").json()) == before
    assert len(list((world.folder / "uploads").iterdir())) == 1


def test_a_party_sees_what_names_it_and_no_document(market: tuple[World, str, str]) -> None:
    world, _, _ = market
    (named,) = world.get("/v1/policies", USER).json()["items"]
    assert named["uid"] == POLICY
    assert "document" not in world.get(f"/v1/policies/{POLICY}", USER).json()
    assert "document" in world.get(f"/v1/policies/{POLICY}", OWNER).json()


def test_rows_and_figures_of_a_preview_are_for_the_owner_alone(market: tuple[World, str, str]) -> None:
    world, _, _ = market
    body = {"policy": POLICY, "target": CUSTOMER}
    seen = world.ask("POST", "/v1/previews", json=body).json()
    assert [len(seen[side]["rows"]) for side in ("before", "after")] == [10, 10]
    unknown = world.ask("POST", "/v1/previews", STRANGER, json=body | {"target": UNKNOWN})
    for party in (STRANGER, USER):
        refused = world.ask("POST", "/v1/previews", party, json=body)
        assert (refused.status_code, refused.content) == (404, unknown.content)
    assert world.ask("POST", "/v1/previews", AUDITOR, json=body).status_code == 403


def test_auditors_see_reports_and_no_data(market: tuple[World, str, str]) -> None:
    world, run, data = market
    version = world.get(f"/v1/versions/{run}", AUDITOR).json()
    assert version["ownerReport"]["k"] >= 2
    assert "folder" not in version
    assert world.get(f"/v1/versions/{run}/certificate", AUDITOR).status_code == 200
    assert "document" in world.get(f"/v1/policies/{POLICY}", AUDITOR).json()
    file = version["files"][0]["name"]
    for path in (f"/v1/versions/{run}/files/{file}", "/v1/data", f"/v1/data/{data}", "/metrics"):
        assert world.get(path, AUDITOR).status_code == 403
    assert world.ask("DELETE", f"/v1/policies/{POLICY}", AUDITOR).status_code == 403


def test_each_operation_is_for_its_roles_alone(market: tuple[World, str, str]) -> None:
    world, _, _ = market
    for operation in OPERATIONS:
        path = operation.path.replace("{uid:path}", UNKNOWN).replace("{name:path}", "x")
        path = path.replace("{id}", "x").replace("{run}", "x")
        for party, roles in {**PARTIES, None: []}.items():
            status = world.ask(operation.method, path, party).status_code
            if operation.is_for_anybody:
                assert status == 200
            elif party is None:
                assert status == 401, operation.name
            else:
                assert (status == 403) == (not operation.roles & {*roles}), (operation.name, party)


def test_operators_see_measurements_and_nothing_else(market: tuple[World, str, str]) -> None:
    world, _, _ = market
    assert world.get("/v1/self", OPERATOR).json() == {"party": OPERATOR, "roles": ["operator"]}
    assert world.get("/metrics", OPERATOR).status_code == 200
    assert world.get("/v1/policies", OPERATOR).status_code == 403
