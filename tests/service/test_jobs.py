"""Jobs over HTTP: a requester orders what an owner's policy permits, on data that the owner bound."""

import json
from pathlib import Path
from typing import Any

import pytest
from service_world import GATEWAY, OPERATOR, PLANE, POLICY, READER, STRANGER, World, make_world
from shell import CUSTOMER, OWNER, USER, small_document, small_table, smalti

ORDER = {"kind": "run", "policy": POLICY, "target": CUSTOMER, "purpose": "marketing"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """With data and a policy, and with a run and a sweep that a worker did."""
    world = make_world(tmp_path_factory.mktemp("jobs"))
    assert world.upload(small_table(world.folder).read_bytes()).status_code == 201
    assert world.add_policy(small_document()).status_code == 201
    for party, order in ((USER, ORDER), (OWNER, ORDER | {"kind": "sweep", "vary": ["k=2,3"]})):
        answer = world.ask("POST", "/v1/jobs", party, json=order, headers={"idempotency-key": party})
        assert answer.status_code == 202, answer.text
        again = world.ask("POST", "/v1/jobs", party, json=order, headers={"idempotency-key": party})
        assert again.content == answer.content
    done = smalti("worker", "--drain", cwd=world.folder)
    assert done.code == 0, done.err
    return world


def jobs_of(world: World, party: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.get("/v1/jobs", party).json()["items"]
    return items


def test_a_requester_gets_what_the_owners_policy_permits(world: World) -> None:
    (job,) = jobs_of(world, USER)
    assert (job["state"], job["exitCode"], job["kind"]) == ("done", 0, "run")
    assert not {"request", "out", "report"} & job.keys()
    run = job["versions"][0].removeprefix("urn:uuid:")
    version = world.get(f"/v1/versions/{run}", USER).json()
    assert "ownerReport" not in version
    file = version["files"][0]["name"]
    published = world.get(f"/v1/versions/{run}/files/{file}", USER)
    assert published.text.startswith("age,city,illness")
    assert "ownerReport" in world.get(f"/v1/versions/{run}", OWNER).json()
    assert str(world.folder) not in json.dumps(job) + version.__repr__()


def test_an_owner_reads_the_report_of_a_sweep(world: World) -> None:
    (job,) = jobs_of(world, OWNER)
    assert (job["kind"], job["exitCode"], job["hasReport"]) == ("sweep", 0, True)
    assert len(world.get(f"/v1/jobs/{job['id']}/report").json()["points"]) == 2
    assert world.get(f"/v1/jobs/{job['id']}/report", USER).status_code == 404


def test_jobs_are_followed_by_events(world: World) -> None:
    (job,) = jobs_of(world, USER)
    answer = world.get(f"/v1/jobs/{job['id']}/events", USER)
    assert answer.headers["content-type"].startswith("text/event-stream")
    event, data, *_ = answer.text.splitlines()
    assert event == "event: job"
    assert json.loads(data.removeprefix("data: "))["state"] == "done"


def test_jobs_of_others_do_not_exist(world: World) -> None:
    assert jobs_of(world, STRANGER) == jobs_of(world, READER) == []
    assert len(jobs_of(world, OPERATOR)) == 2
    assert {world.get("/v1/jobs", party).status_code for party in (GATEWAY, PLANE)} == {403}
    (job,) = jobs_of(world, USER)
    for method, part in (
        ("GET", ""),
        ("GET", "/events"),
        ("GET", "/report"),
        ("POST", "/stop"),
        ("POST", "/retry"),
    ):
        answers = [world.ask(method, f"/v1/jobs/{name}{part}", STRANGER) for name in (job["id"], "0" * 16)]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].content == answers[1].content
    assert world.ask("POST", f"/v1/jobs/{job['id']}/stop", USER).status_code == 422, "it is over"
    page = world.get("/v1/jobs", OPERATOR, limit=1).json()
    (second,) = world.get("/v1/jobs", OPERATOR, limit=1, cursor=page["next"]).json()["items"]
    assert second["id"] != page["items"][0]["id"]


@pytest.mark.parametrize(
    ("order", "party", "status"),
    [
        (ORDER, STRANGER, 404),
        (ORDER | {"policy": "http://example.com/nothing"}, USER, 404),
        (ORDER | {"target": "http://example.com/nothing"}, USER, 404),
        (ORDER | {"kind": "sweep", "vary": ["k=2"]}, USER, 404),
        ({"kind": "assess", "target": CUSTOMER}, USER, 404),
        (ORDER | {"recipient": STRANGER}, USER, 422),
        (ORDER | {"respondent": "who"}, USER, 422),
        (ORDER | {"oneRowEach": True}, USER, 422),
        (ORDER | {"kind": "study"}, OWNER, 422),
        (ORDER | {"data": "/etc/passwd"}, OWNER, 422),
        (ORDER | {"out": "/tmp/x"}, OWNER, 422),
    ],
)
def test_what_may_not_be_ordered_is_not_queued(
    world: World, order: dict[str, Any], party: str, status: int
) -> None:
    folders = {*(world.folder / "outputs").iterdir()}
    assert world.ask("POST", "/v1/jobs", party, json=order).status_code == status
    assert {*(world.folder / "outputs").iterdir()} == folders
    assert len(jobs_of(world, OPERATOR)) == 2


def test_a_policy_that_was_revoked_permits_no_job(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    world.add_policy(small_document())
    assert world.ask("POST", "/v1/jobs", USER, json=ORDER).status_code == 409, "no data is bound"
    world.upload(small_table(tmp_path).read_bytes())
    queued = world.ask("POST", "/v1/jobs", USER, json=ORDER).json()
    assert queued["state"] == "queued"
    world.ask("DELETE", f"/v1/policies/{POLICY}")
    assert world.ask("POST", "/v1/jobs", USER, json=ORDER).status_code == 404
    assert smalti("worker", "--drain", cwd=tmp_path).code == 0
    ended = world.get(f"/v1/jobs/{queued['id']}", USER).json()
    assert ended["versions"] == []
    assert ended["state"] == "failed" or ended["exitCode"] == 1
    assert world.get("/v1/versions", OWNER).json()["items"] == []


def test_why_a_job_failed_is_told_to_an_owner_of_its_data_alone(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    # With more people in each class than the table has.
    world.add_policy(small_document(k=("gteq", 1000)))
    world.upload(small_table(tmp_path).read_bytes())
    asked = {USER: ORDER, OWNER: ORDER | {"recipient": USER}}
    orders = {
        party: world.ask("POST", "/v1/jobs", party, json=order).json()["id"]
        for party, order in asked.items()
    }
    assert smalti("worker", "--drain", cwd=tmp_path).code == 0
    reasons = {
        (asker, party): world.get(f"/v1/jobs/{orders[party]}", asker).json()["reason"]
        for asker, party in ((USER, USER), (OWNER, OWNER), (OPERATOR, USER), (OPERATOR, OWNER))
    }
    own = reasons.pop((OWNER, OWNER))
    assert "respondents" in own
    (shown,) = set(reasons.values())
    assert shown == "it failed, for a reason that only an owner of all of its data is told: ask one"
    assert [job["reason"] for job in jobs_of(world, USER)] == [shown]
    assert shown in world.get(f"/v1/jobs/{orders[USER]}/events", USER).text
