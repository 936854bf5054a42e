"""A walk through the service: policies, decisions, data, outputs, budgets, and refusals of each."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from service_world import OPERATOR, POLICY, READER, READING, STRANGER, World, make_market, make_world
from shell import CUSTOMER, OUTPUT, OWNER, USER, small_document, small_rows, small_table

import smalti as api
from smalti.service.application import OPERATIONS
from smalti.service.problems import TITLES
from smalti.vocab.terms import IRI


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str]:
    return make_market(tmp_path_factory.mktemp("market"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert (answer.status_code, document["status"], document["code"]) == (status, status, code), document
    assert document["type"].endswith(f"#{code}")
    return document


# --- Policies


def test_findings_of_a_document_are_a_list_with_code_and_place(world: World) -> None:
    broken = small_document(k=("gteq", 1))
    for path in ("/v1/checks", "/v1/policies"):
        answer = world.ask(
            "POST", path, content=json.dumps(broken), headers={"content-type": "application/ld+json"}
        )
        document = answer.json() if path == "/v1/checks" else problem(answer, 422, "policy-error")
        errors = [finding for finding in document["findings"] if finding["severity"] == "error"]
        assert errors
        assert all(finding["code"].startswith("P") and finding["line"] for finding in errors)
    assert world.get("/v1/policies").json()["items"] == []


def test_a_policy_is_added_replaced_and_revoked_by_its_etag(world: World) -> None:
    assert world.add_policy(small_document()).json()["policies"][0]["uid"] == POLICY
    read = world.get(f"/v1/policies/{POLICY}")
    assert json.loads(read.json()["document"])["uid"] == POLICY
    tag = read.headers["etag"]

    def replaced(document: dict[str, Any], tag: str | None) -> Any:
        headers = {"content-type": "application/json"} | ({} if tag is None else {"if-match": tag})
        return world.ask("PUT", f"/v1/policies/{POLICY}", headers=headers, content=json.dumps(document))

    newer = small_document(k=("gteq", 3))
    problem(replaced(newer, None), 428, "state-required")
    problem(replaced(newer, '"sha256:0"'), 412, "changed-meanwhile")
    problem(replaced(newer | {"uid": POLICY + "/other"}, tag), 422, "invalid")
    done = replaced(newer, tag)
    assert done.status_code == 200
    assert done.headers["etag"] != tag
    problem(replaced(small_document(k=("gteq", 4)), tag), 412, "changed-meanwhile")
    assert [one["state"] for one in world.get("/v1/policies").json()["items"]] == ["replaced", "in force"]
    assert world.ask("DELETE", f"/v1/policies/{POLICY}", headers={"if-match": tag}).status_code == 412
    assert world.ask("DELETE", f"/v1/policies/{POLICY}").status_code == 204
    assert world.get("/v1/policies", state="in force").json()["items"] == []


def test_lists_come_in_pages(world: World) -> None:
    for number in range(5):
        rule = {"target": f"{CUSTOMER}{number}", "uid": f"{POLICY}/{number}#rule"}
        assert world.add_policy(small_document(uid=f"{POLICY}/{number}", rule=rule)).status_code == 201
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        document = world.get("/v1/policies", **query).json()
        seen += [one["uid"] for one in document["items"]]
        assert len(document["items"]) <= 2
        if document["next"] is None:
            break
        query["cursor"] = document["next"]
    assert seen == [f"{POLICY}/{number}" for number in range(5)]
    problem(world.get("/v1/policies", cursor="!"), 422, "invalid")


# --- What is asked


@pytest.mark.parametrize(
    ("path", "query"),
    [("/v1/policies", {"limti": "2"}), ("/v1/policies", {"limit": "0"}), ("/v1/budgets", {})],
)
def test_queries_that_are_not_described_are_refused(world: World, path: str, query: dict[str, str]) -> None:
    document = problem(world.get(path, **query), 422, "invalid")
    assert document["problems"][0]["where"].startswith("/")


def test_bodies_that_are_not_described_are_refused(world: World) -> None:
    asked = {"action": "read", "targets": [CUSTOMER], "party": STRANGER}
    document = problem(world.ask("POST", "/v1/decisions", json=asked), 422, "invalid")
    assert document["problems"][0]["where"] == "/party"
    assert STRANGER not in json.dumps(document)
    problem(world.ask("POST", "/v1/decisions", content="{"), 415, "not-acceptable-type")
    problem(world.ask("PATCH", "/v1/decisions"), 405, "method-not-allowed")
    problem(world.get("/v1/nothing"), 404, "not-found")


def test_decisions_are_those_of_the_command_line(market: tuple[World, str]) -> None:
    world, _ = market
    asked = {"action": "read", "targets": [OUTPUT], "purpose": "marketing"}
    permitted = world.ask("POST", "/v1/decisions", READER, json=asked).json()
    assert (permitted["effect"], permitted["permitted"]) == ("permit", True)
    assert permitted["request"]["party"] == READER
    other = world.ask("POST", "/v1/decisions", READER, json=asked | {"purpose": "statistical"}).json()
    assert other["permitted"] is False
    explained = world.ask("POST", "/v1/explanations", OWNER, json=asked | {"targets": [CUSTOMER]}).json()
    assert {report["policy"] for report in explained["considered"]} >= {READING}


# --- Data


def test_an_upload_is_bound_described_and_removed(world: World) -> None:
    content = small_table(world.folder).read_bytes()
    stated = base64.b64encode(hashlib.sha256(content).digest()).decode()
    bound = world.upload(content, headers={"content-digest": f"sha-256=:{stated}:"})
    assert bound.status_code == 201
    place = bound.headers["location"]
    assert bound.json()["sha256"] == hashlib.sha256(content).hexdigest()
    description = {
        "@context": "http://www.w3.org/ns/csvw", "url": "people.csv",
        "tableSchema": {"columns": [{"name": "age", "datatype": "integer"}]},
    }  # fmt: skip
    for wrong in (description | {"url": "../people.csv"}, description | {"url": "other.csv"}, {"x": 1}):
        problem(world.ask("PUT", f"{place}/description", json=wrong), 422, "data-error")
    assert world.ask("PUT", f"{place}/description", json=description).json() == {"columns": ["age"]}
    assert world.get(f"{place}/description").json() == description
    assert world.get(place).json()["described"] is True
    stored = world.registry.bindings.of(IRI(CUSTOMER))
    assert stored is not None
    assert stored.place.parent.stat().st_mode & 0o777 == 0o700
    assert stored.place.stat().st_mode & 0o777 == 0o600
    world.upload(content)  # in its place
    assert not stored.place.exists()
    (again,) = world.get("/v1/data").json()["items"]
    assert world.ask("DELETE", f"/v1/data/{again['id']}").status_code == 204
    assert list((world.folder / "uploads").iterdir()) == []


def test_files_below_a_root_are_named_and_never_reached_by_a_path(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "secret.csv"
    root.mkdir()
    (root / "people.csv").write_text("a\n1\n")
    outside.write_text("a\n2\n")
    (root / "link.csv").symlink_to(outside)
    world = make_world(tmp_path, roots=((IRI(OWNER), root),))

    def bind(file: str, party: str = OWNER) -> Any:
        return world.ask("POST", "/v1/data", party, json={"target": f"{party}/data", "file": file})

    assert bind("people.csv").json()["uploaded"] is False
    for file in (
        "../secret.csv",
        str(outside),
        "link.csv",
        "x/../people.csv",
        "people.csv\0",
        ".",
        "no.csv",
    ):
        problem(bind(file), 404, "not-found")
    problem(bind("people.csv", STRANGER), 404, "not-found")


# --- Outputs


def test_outputs_are_listed_and_downloaded_by_whom_a_decision_permits(market: tuple[World, str]) -> None:
    world, run = market
    (version,) = world.get("/v1/versions", USER).json()["items"]
    assert version["run"] == run
    assert "ownerReport" not in version
    assert "folder" not in version
    assert world.get(f"/v1/versions/{run}").json()["ownerReport"]["k"] >= 2
    name = version["files"][0]["name"]
    published = (world.folder / "out" / name).read_bytes()
    for party, query in ((USER, {}), (OWNER, {}), (READER, {"purpose": "marketing"})):
        answer = world.get(f"/v1/versions/{run}/files/{name}", party, **query)
        assert answer.content == published, party
        assert answer.headers["content-type"].startswith("text/csv")
    problem(world.get(f"/v1/versions/{run}/files/{name}", READER, purpose="statistical"), 404, "not-found")
    problem(world.get(f"/v1/versions/{run}/files/..%2Fpolicy.jsonld", OWNER), 404, "not-found")
    assert world.get(f"/v1/versions/{run}/certificate", USER).json()
    assert [one["iri"] for one in world.get("/v1/targets", USER).json()["items"]] == [OUTPUT]
    assert {one["iri"] for one in world.get("/v1/targets").json()["items"]} == {CUSTOMER, OUTPUT}


def test_a_download_ends_with_the_policy_that_permitted_it(tmp_path: Path) -> None:
    world, run = make_market(tmp_path)
    (file,) = world.get(f"/v1/versions/{run}", USER).json()["files"]
    place = f"/v1/versions/{run}/files/{file['name']}"
    assert world.get(place, USER).status_code == 200
    assert world.ask("DELETE", f"/v1/policies/{POLICY}").status_code == 204
    refused = problem(world.get(place, USER), 403, "not-permitted")
    assert refused["decision"]["permitted"] is False
    assert world.get(place, OWNER).status_code == 200, "of its own data"


def test_what_was_made_for_one_party_is_not_for_another_that_could_have_it_made(tmp_path: Path) -> None:
    """Whom the same rule permits has to run it: what a run hands over is for the party of the run alone."""
    world, document = make_world(tmp_path), small_document()
    for rule in document["permission"]:
        rule.pop("assignee", None)
    data, policy = small_table(tmp_path), tmp_path / "for-all.jsonld"
    policy.write_text(json.dumps(document), encoding="utf-8")
    assert world.upload(data.read_bytes()).status_code == 201
    assert world.add_policy(document).status_code == 201
    bound = world.registry.bindings.of(IRI(CUSTOMER))
    assert bound is not None
    outcome = api.run(
        policy, data={CUSTOMER: bound.place}, party=USER, owner=OWNER, purpose="marketing",
        out=tmp_path / "out", registry=world.registry,
    )  # fmt: skip
    version = outcome.version
    assert version is not None
    allowed = api.decide(
        party=STRANGER, action="anonymize", target=CUSTOMER, purpose="marketing",
        understands_limits=True, registry=world.registry,
    )  # fmt: skip
    assert allowed.is_permitted
    place = f"/v1/versions/{version.run}/files/{version.files[0].name}"
    assert world.get(place, USER).status_code == 200
    problem(world.get(place, STRANGER, purpose="marketing"), 404, "not-found")


def test_budgets_are_for_owners(market: tuple[World, str]) -> None:
    world, _ = market
    assert world.get("/v1/budgets", target=CUSTOMER).json()["releases"] == 0
    assert world.get("/v1/forecasts", target=CUSTOMER, epsilon="0.5").json()["fits"] == []
    problem(world.get("/v1/forecasts", target=CUSTOMER, epsilon="many"), 422, "usage-error")


# --- Idempotency


def test_a_repeated_request_is_answered_alike_and_done_once(world: World) -> None:
    once = {"idempotency-key": "k1"}
    first = world.upload(b"a\n1\n", headers=once)
    again = world.upload(b"a\n1\n", headers=once)
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == first.headers["location"]
    problem(world.upload(b"a\n1\n", headers=once, name="b.csv"), 422, "key-reused")
    assert len(world.get("/v1/data").json()["items"]) == 1
    added = [world.add_policy(small_document(), **{"idempotency-key": "k2"}) for _ in range(2)]
    assert added[0].content == added[1].content
    assert world.upload(b"x", STRANGER, target="http://example.com/own", headers=once).status_code == 201
    world.registry.answers.begin(IRI(OWNER), "k3", "another")
    problem(world.upload(b"a\n1\n", headers={"idempotency-key": "k3"}), 422, "key-reused")


def test_a_request_that_has_not_ended_is_not_begun_again(world: World) -> None:
    def in_the_middle() -> Any:
        yield b"a\n"
        seen.append(world.upload(b"a\n1\n", headers={"idempotency-key": "k"}))
        yield b"1\n"

    seen: list[Any] = []
    headers = {"idempotency-key": "k", "content-length": "4"}
    assert world.upload(in_the_middle(), headers=headers).status_code == 201  # type: ignore[arg-type]
    problem(seen[0], 409, "in-progress")


# --- Measurements and the description


def test_measurements_hold_names_of_operations_and_no_iri(market: tuple[World, str]) -> None:
    world, run = market
    text = world.get("/metrics", OPERATOR).text
    assert 'smalti_requests_total{operation="upload",status="201"}' in text
    for value in (CUSTOMER, OWNER, run, small_rows()[0][2]):
        assert value not in text


def test_the_description_has_each_operation_and_each_code(world: World) -> None:
    described = world.get("/openapi.json", None).json()
    assert described["openapi"].startswith("3.1")
    named = {one["operationId"] for path in described["paths"].values() for one in path.values()}
    assert named == {operation.name for operation in OPERATIONS}
    assert described["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == sorted(TITLES)
    assert all(
        one["responses"] and ("security" in one)
        for path in described["paths"].values()
        for one in path.values()
    )
