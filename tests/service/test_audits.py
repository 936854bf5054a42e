"""Audits over HTTP: what may be studied, by whom, and who sees what came of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_samples import MODEL as TRAINED
from service_world import (
    AUDITOR,
    MEMBERS,
    MODEL,
    OPERATOR,
    OTHERS,
    POLICY,
    STRANGER,
    STUDY,
    World,
    add_audit,
    add_study,
    make_market,
    make_world,
)
from shell import CUSTOMER, OWNER, USER, small_document, small_table, smalti

from smalti.engine.jobs import queue, requests


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str, str]:
    """A market with an audit and a study of the owner: its run, and the job."""
    world, _ = make_market(tmp_path_factory.mktemp("audits"))
    return world, add_audit(world), add_study(world)


def test_owners_and_auditors_read_audits(audited: tuple[World, str, str]) -> None:
    world, run, _ = audited
    for party in (OWNER, AUDITOR):
        (listed,) = world.get("/v1/audits", party).json()["items"]
        assert (listed["run"], listed["model"], listed["state"]) == (run, TRAINED, "met")
        assert "loss" in world.get(f"/v1/audits/{run}", party).text
        page = world.get(f"/v1/audits/{run}/page", party)
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["content-security-policy"].endswith("sandbox")
        assert "<svg" in page.text
    for party in (USER, STRANGER):
        assert world.get("/v1/audits", party).json()["items"] == []
        for part in ("", "/page"):
            answers = [world.get(f"/v1/audits/{name}{part}", party) for name in (run, "none")]
            assert [answer.status_code for answer in answers] == [404, 404]
            assert answers[0].content == answers[1].content


def test_auditors_see_what_may_be_studied_and_nothing_of_its_content(
    audited: tuple[World, str, str],
) -> None:
    world, _, job = audited
    items = {row["target"]: row for row in world.get("/v1/auditable", AUDITOR).json()["items"]}
    assert {target for target, row in items.items() if row["isModel"]} == {MODEL}
    assert items.keys() == {CUSTOMER, MODEL, MEMBERS, OTHERS}
    assert {name for row in items.values() for name in row} == {"target", "isModel", "owners"}
    assert world.get("/v1/auditable", STRANGER).json()["items"] == []
    choices = world.get("/v1/audit-choices", AUDITOR).json()
    assert {"loss", "rmia"} <= {attack["name"] for attack in choices["attacks"]}
    assert {"mlp-128"} <= {recipe["name"] for recipe in choices["recipes"]}
    assert {study["kind"] for study in choices["studies"]} == KINDS
    fields = {field["name"]: field for study in choices["studies"] for field in study["fields"]}
    assert {"monte-carlo"} <= {*fields["attacks"]["choices"]}
    assert fields["beliefs"] | {"hint": ""} == {
        "name": "beliefs", "label": "Beliefs", "hint": "", "type": "number", "isMany": True,
        "isRequired": False, "default": [], "minimum": 0.5, "maximum": 1, "choices": [], "takes": "",
    }  # fmt: skip
    for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/page", f"/v1/jobs/{job}/report"):
        assert world.get(path, AUDITOR).status_code == 404, "it is the owner's"


@pytest.mark.parametrize(
    ("changes", "party", "status", "place"),
    [
        ({}, STRANGER, 404, None),
        ({"members": "http://example.com/nothing"}, AUDITOR, 404, None),
        ({"model": MEMBERS}, AUDITOR, 422, "model"),
        ({"attacks": ["guessing"]}, AUDITOR, 422, "attacks"),
        ({"recipe": "none"}, OWNER, 422, "recipe"),
        ({"attacks": []}, OWNER, 422, "/study/attacks"),
        ({"confidence": 1}, OWNER, 422, "/study/confidence"),
        ({"kind": "guess"}, OWNER, 422, "/"),
        ({}, OPERATOR, 403, None),
    ],
)
def test_what_may_not_be_studied_is_not_queued(
    audited: tuple[World, str, str], changes: dict[str, Any], party: str, status: int, place: str | None
) -> None:
    world, _, _ = audited
    before = len(world.get("/v1/jobs", OPERATOR).json()["items"])
    answer = world.ask("POST", "/v1/studies", party, json=STUDY | changes)
    assert answer.status_code == status, answer.text
    if place is not None:
        assert [problem["where"] for problem in answer.json()["problems"]] == [place]
    assert len(world.get("/v1/jobs", OPERATOR).json()["items"]) == before


GENERATIVE = {
    "kind": "generative-audit", "members": MEMBERS, "others": OTHERS, "samples": OTHERS,
    "attacks": ["monte-carlo"],
}  # fmt: skip
IDENTIFIABILITY = {"kind": "identifiability", "policy": POLICY, "target": CUSTOMER, "steps": 3}
SAMPLE = {"kind": "identifiability-sample", "sample": "purchases", "beliefs": [0.9]}
COMPARE = {"kind": "compare", "classes": [10, 20], "epochs": 5}
KINDS = {
    "study",
    "release-audit",
    *(each["kind"] for each in (GENERATIVE, IDENTIFIABILITY, SAMPLE, COMPARE)),
}


@pytest.mark.parametrize(
    ("order", "party", "status"),
    [
        (GENERATIVE, STRANGER, 404),
        (GENERATIVE | {"samples": "http://example.com/nothing"}, AUDITOR, 404),
        (GENERATIVE | {"model": MODEL}, OWNER, 422),
        (GENERATIVE | {"attacks": ["guessing"]}, OWNER, 422),
        (GENERATIVE | {"distances": ["far"]}, OWNER, 422),
        (GENERATIVE | {"command": "cp members {file}"}, OWNER, 422),
        (IDENTIFIABILITY, STRANGER, 404),
        (IDENTIFIABILITY, USER, 404),
        (IDENTIFIABILITY, AUDITOR, 404),
        (IDENTIFIABILITY | {"steps": 0}, OWNER, 422),
        (IDENTIFIABILITY | {"dissimilarity": "taste"}, OWNER, 422),
        (SAMPLE | {"sample": "people"}, AUDITOR, 422),
        (COMPARE | {"records": 10**9}, AUDITOR, 422),
        (COMPARE, OPERATOR, 403),
    ],
)
def test_other_studies_that_may_not_be_are_not_queued(
    audited: tuple[World, str, str], order: dict[str, Any], party: str, status: int
) -> None:
    world, _, _ = audited
    before = len(world.get("/v1/jobs", OPERATOR).json()["items"])
    assert world.ask("POST", "/v1/studies", party, json=order).status_code == status
    assert len(world.get("/v1/jobs", OPERATOR).json()["items"]) == before


def test_a_release_is_attacked_for_its_owner_alone(tmp_path: Path) -> None:
    """The only version here is of rows, which only its owner is told; others have a population, too."""
    world, _ = make_market(tmp_path)
    (version,) = world.get("/v1/versions").json()["items"]
    order = {"kind": "release-audit", "version": version["versionIri"]}
    for party in (USER, STRANGER, OWNER):
        target = f"{party}/population"
        assert world.upload(b"a\n1\n", party, target).status_code == 201
        stated = order | {"population": target}
        answer = world.ask("POST", "/v1/studies", party, json=stated)
        unknown = world.ask("POST", "/v1/studies", party, json=stated | {"version": "urn:uuid:1"})
        assert unknown.status_code == 404
        if party != OWNER:
            assert (answer.status_code, answer.content) == (404, unknown.content)
    assert (answer.status_code, "no release of statistics" in answer.text) == (422, True)
    assert world.ask("POST", "/v1/studies", AUDITOR, json=stated).status_code == 404
    foreign = order | {"population": f"{USER}/population"}
    assert world.ask("POST", "/v1/studies", json=foreign).status_code == 404


def test_each_kind_of_study_is_queued_with_places_of_its_own(tmp_path: Path) -> None:
    world, _ = make_market(tmp_path)
    add_study(world)
    for order, party in (
        (GENERATIVE, AUDITOR), (IDENTIFIABILITY, OWNER), (SAMPLE, AUDITOR), (COMPARE, USER),
    ):  # fmt: skip
        answer = world.ask("POST", "/v1/studies", party, json=order)
        assert answer.status_code == 202, answer.text
        assert (answer.json()["kind"], answer.json()["hasPage"]) == (order["kind"], False)
    stored = {str(job.kind): queue.request_of(job) for job in world.registry.jobs.listed()}
    generative, identifiability = stored["generative-audit"], stored["identifiability"]
    assert isinstance(generative, requests.GenerativeAudit)
    assert {Path(place).parent.parent for place in (generative.members, str(generative.samples))} == {
        world.folder / "uploads"
    }
    assert isinstance(identifiability, requests.Identifiability)
    assert (identifiability.party, identifiability.owner, identifiability.steps) == (None, OWNER, 3)
    assert isinstance(stored["compare"], requests.Compare)
    for request in stored.values():
        assert str(requests.page_of(request)).startswith(f"{world.folder}/outputs/")


@pytest.mark.slow
def test_an_auditor_has_samples_attacked_and_reads_figures_alone(tmp_path: Path) -> None:
    world, draw = make_world(tmp_path), np.random.default_rng(3)
    for target, records in ((MEMBERS, draw.normal(size=(20, 3))), (OTHERS, draw.normal(size=(20, 3)))):
        rows = "\n".join(",".join(map(str, record)) for record in records.tolist())
        assert world.upload(f"a,b,c\n{rows}\n".encode(), target=target, name="r.csv").status_code == 201
    order = GENERATIVE | {"samples": MEMBERS, "size": 5}
    job = world.ask("POST", "/v1/studies", AUDITOR, json=order).json()["id"]
    assert smalti("worker", "--drain", cwd=tmp_path).code == 0
    ended = world.get(f"/v1/jobs/{job}", AUDITOR).json()
    assert (ended["state"], ended["hasReport"], ended["hasPage"]) == ("done", True, True), ended
    report = world.get(f"/v1/jobs/{job}/report", AUDITOR)
    assert report.json()["attacks"][0]["singleMembership"]["value"] == 1
    page = world.get(f"/v1/jobs/{job}/page", AUDITOR)
    assert "sandbox" in page.headers["content-security-policy"]
    assert "monte-carlo" in page.text
    assert str(tmp_path) not in report.text + page.text
    for path in (f"/v1/jobs/{job}/report", f"/v1/jobs/{job}/page"):
        assert world.get(path).status_code == 404, "it is the auditor's"


def test_a_model_of_somebody_else_does_not_ask_the_owners_records(tmp_path: Path) -> None:
    """Such a model would answer any question about them."""
    world = make_world(tmp_path)
    for target, party, name in (
        (MODEL, USER, "m.onnx"),
        (MEMBERS, OWNER, "a.csv"),
        (OTHERS, OWNER, "b.csv"),
    ):
        assert world.upload(b"class,f\na,1\n", party, target, name).status_code == 201
    for party in (USER, OWNER, AUDITOR):
        assert world.ask("POST", "/v1/studies", party, json=STUDY).status_code == 404


def test_a_study_that_fails_says_why_and_not_where(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    job = add_study(world)
    assert smalti("worker", "--drain", cwd=tmp_path).code == 0
    ended = world.get(f"/v1/jobs/{job}").json()
    assert (ended["state"], ended["hasReport"]) == ("failed", False)
    assert ended["reason"]
    assert str(tmp_path) not in json.dumps(ended)
    assert world.get(f"/v1/jobs/{job}/page").status_code == 404


def test_permissions_name_their_party_alone(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    document = small_document(k=("gteq", 2))
    document["permission"][0]["assignee"] = [USER, STRANGER]
    assert world.add_policy(document).status_code == 201
    (permission,) = world.get("/v1/permissions", USER).json()["items"]
    assert (permission["policy"], permission["order"]) == (POLICY, "run")
    assert permission["parameters"] == [{"word": "k", "operator": "at least", "values": ["2"]}]
    assert permission["targets"] == [{"iri": CUSTOMER, "hasData": False}]
    assert STRANGER not in json.dumps(permission)
    world.upload(small_table(tmp_path).read_bytes())
    (permission,) = world.get("/v1/permissions", STRANGER).json()["items"]
    assert permission["targets"][0]["hasData"]
    assert USER not in json.dumps(permission)
    assert world.get("/v1/permissions", OWNER).json()["items"] == []
    assert world.get("/v1/permissions", AUDITOR).status_code == 403
    world.ask("DELETE", f"/v1/policies/{POLICY}")
    assert world.get("/v1/permissions", USER).json()["items"] == []
