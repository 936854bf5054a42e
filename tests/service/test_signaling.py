"""A data plane for control planes: an agreement becomes an output that its consumer downloads."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from receivers import Received, receiver
from service_world import PLANE, POLICY, STRANGER, World, make_world
from shell import CUSTOMER, OWNER, USER, small_document, small_table, smalti

from smalti.engine.registry.access import Role
from smalti.errors import SmaltiError
from smalti.service import flows
from smalti.service.configuration import Configuration, ControlPlane, check_configuration
from smalti.vocab.terms import IRI

RECORDED = Path(__file__).parent / "signaling"
PLACE = "/signaling/v1/dataflows"
CONTROL, FETCHER = "control plane", "fetcher"
"""Names of keys: of the owner's control plane, and the one that an address brings."""
UNKNOWN = "http://example.com/nothing"


def recorded(name: str, **changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return document | changes


def starting(name: str, flow: str, **changes: Any) -> dict[str, Any]:
    document = recorded(name)
    document |= {
        "participantId": OWNER, "counterPartyId": USER, "agreementId": POLICY, "datasetId": CUSTOMER,
    }  # fmt: skip
    document["processId" if "processId" in document else "dataFlowId"] = flow
    document["metadata"]["purpose"] = "marketing"
    return document | changes


def say(world: World, word: str, document: object = None, party: str = CONTROL) -> Any:
    if document is None:
        return world.ask("GET", f"{PLACE}/{word}", party)
    return world.ask("POST", f"{PLACE}/{word}", party, json=document)


def work(world: World) -> None:
    done = smalti("worker", "--drain", cwd=world.folder)
    assert done.code == 0, done.err


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, list[Received]]]:
    folder = tmp_path_factory.mktemp("plane")
    (folder / "token").write_text("said-to-the-plane\n", encoding="utf-8")
    (folder / "token").chmod(0o600)
    with receiver(status=200) as (address, received):
        plane = ControlPlane(IRI(OWNER), address, folder / "token")
        world = make_world(folder, control_planes=(plane,), public_url="https://smalti.example")
        world.keys[CONTROL], _ = world.registry.access.add_key(IRI(OWNER), [Role.CONTROL_PLANE])
        assert world.upload(small_table(folder).read_bytes()).status_code == 201
        assert world.add_policy(small_document()).status_code == 201
        yield world, received


def fetched(world: World, address: dict[str, Any], **query: str) -> Any:
    """What the consumer gets with an address."""
    properties = {each["name"]: each["value"] for each in address["endpointProperties"]}
    assert properties["authType"] == "bearer"
    place = address["endpoint"].removeprefix("https://smalti.example")
    world.keys[FETCHER] = properties["authorization"]
    return world.get(place, FETCHER, **query)


def test_an_agreement_becomes_an_output_that_its_consumer_downloads(
    world: tuple[World, list[Received]], caplog: pytest.LogCaptureFixture
) -> None:
    plane, received = world
    started = say(plane, "start", starting("start", "flow-1"))
    assert started.status_code == 202, started.text
    assert started.json()["state"] == "STARTING"
    assert started.headers["location"] == f"{PLACE}/flow-1/status"
    assert say(plane, "start", starting("start", "flow-1")).status_code == 409
    assert say(plane, "flow-1/status").json()["state"] == "STARTING"
    work(plane)
    before = len(received)
    flows.tend(plane.service)
    flows.tend(plane.service)
    (told,) = received[before:]
    assert told.path == "/signaling/transfers/flow-1/dataflow/started"
    assert told.authorization == "Bearer said-to-the-plane"
    message = json.loads(told.body)
    assert (message["dataFlowId"], message["state"]) == ("flow-1", "STARTED")
    address = message["dataAddress"]
    assert address["endpointType"] == flows.PULL
    assert address["endpoint"].startswith("https://smalti.example/v1/versions/")
    assert fetched(plane, address).text.startswith("age,city,illness")
    key = plane.keys[FETCHER]
    for path in ("/v1/self", "/v1/versions", "/v1/jobs", f"/v1/policies/{POLICY}"):
        assert plane.get(path, FETCHER).status_code == 403, "the key is for one output"

    assert say(plane, "flow-1/suspend", recorded("suspend")).json()["state"] == "SUSPENDED"
    assert fetched(plane, address).status_code == 403
    place = address["endpoint"].removeprefix("https://smalti.example")
    assert plane.get(place, USER).status_code == 403, "nor with a key of its own"
    assert plane.get(place, OWNER).status_code == 200
    resumed = say(plane, "flow-1/resume", recorded("resume"))
    assert fetched(plane, resumed.json()["dataAddress"]).status_code == 200
    assert fetched(plane, address).status_code == 200
    for _ in range(3):
        say(plane, "flow-1/resume", recorded("resume"))
    keys = [entry for entry in plane.registry.access.listed() if Role.RECIPIENT in entry.roles]
    assert len([entry for entry in keys if entry.is_in_force]) == 2
    assert fetched(plane, address).status_code == 401, "a key that two others followed"
    assert say(plane, "flow-1/terminate", recorded("terminate")).json()["state"] == "TERMINATED"
    assert fetched(plane, address).status_code == 401
    assert plane.get(place, USER).status_code == 403
    for word in ("suspend", "resume", "completed"):
        assert say(plane, f"flow-1/{word}", {}).status_code == 409, "what is over stays over"
    assert key not in caplog.text
    assert key not in repr(plane.registry.access.listed())


@pytest.mark.slow
def test_messages_of_edc_are_understood_and_flows_end_with_their_consumers(
    world: tuple[World, list[Received]],
) -> None:
    plane, received = world
    address = plane.service.configuration.control_planes[0].address
    message = starting("start-edc", "flow-2", callbackAddress=f"{address}/tenant/")
    assert say(plane, "prepare", message).json()["state"] == "PREPARED"
    assert say(plane, "start", message | {"counterPartyId": STRANGER}).status_code == 409
    assert say(plane, "start", message).status_code == 202
    work(plane)
    assert say(plane, "flow-2/status").json()["state"] == "STARTED"
    before = len(received)
    flows.tend(plane.service)
    assert [each.path for each in received[before:]] == [
        "/signaling/tenant/transfers/flow-2/dataflow/started"
    ]
    started = json.loads(received[-1].body)["dataAddress"]
    assert fetched(plane, started).status_code == 200
    ended = plane.ask("POST", f"{PLACE}/flow-2/completed", CONTROL)
    assert ended.json()["state"] == "COMPLETED", "its body is empty"
    assert plane.ask("POST", f"{PLACE}/start", CONTROL).status_code == 415
    assert fetched(plane, started).status_code == 401


def test_a_key_of_one_flow_opens_no_other(world: tuple[World, list[Received]]) -> None:
    plane, received = world
    for flow in ("flow-3", "flow-4"):
        assert say(plane, "start", starting("start", flow)).status_code == 202
    work(plane)
    flows.tend(plane.service)
    third, fourth = (json.loads(each.body)["dataAddress"] for each in received[-2:])
    mixed = third | {"endpoint": fourth["endpoint"]}
    assert fetched(plane, third).status_code == fetched(plane, fourth).status_code == 200
    assert fetched(plane, mixed).status_code == 404
    assert plane.ask("DELETE", f"/v1/policies/{POLICY}").status_code == 204
    assert fetched(plane, third).status_code in {403, 404}, "each download is decided"
    assert plane.add_policy(small_document()).status_code == 201


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"agreementId": UNKNOWN}, 422, "agreement-not-registered"),
        ({"agreementId": "b1d5f9e2-3c4b-4f7a-9c3e-2f1e5d6c7b8a"}, 422, "agreement-not-registered"),
        ({"datasetId": UNKNOWN}, 422, "agreement-not-registered"),
        ({"participantId": STRANGER}, 403, "forbidden"),
        ({"counterPartyId": "BPNL00000003CRHK"}, 422, "usage-error"),
        ({"profile": "https://w3id.org/dspace-sig/profile/http-push"}, 422, "invalid"),
        ({"dataAddress": {"endpoint": "https://evil.example"}}, 422, "invalid"),
        ({"dataFlowId": "../x"}, 422, "invalid"),
        ({"callbackAddress": "http://169.254.169.254/latest"}, 422, "invalid"),
        ({"callbackAddress": "http://127.0.0.1:1/signaling"}, 422, "invalid"),
        ({"secret": "x"}, 422, "invalid"),
    ],
)
def test_what_is_not_understood_or_not_registered_starts_nothing(
    world: tuple[World, list[Received]], changes: dict[str, Any], status: int, code: str
) -> None:
    plane, _ = world
    folders = {*(plane.folder / "outputs").iterdir()}
    for word in ("prepare", "start"):
        answer = say(plane, word, starting("start", "flow-9") | changes)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert {*(plane.folder / "outputs").iterdir()} == folders
    assert say(plane, "flow-9/status").status_code == 404


@pytest.mark.parametrize(
    "stated", ["{}/../x", "{}x", "{}@evil.example", "{}/%2e%2e/x", "{}?to=x", "{}/x#y", "{}/\\evil"]
)
def test_callbacks_go_below_the_configured_address_alone(stated: str) -> None:
    plane = ControlPlane(IRI(OWNER), "https://provider.example/signaling")
    assert flows.callback_of(plane, None) == plane.address
    assert flows.callback_of(plane, f"{plane.address}/a/") == f"{plane.address}/a"
    with pytest.raises(Exception, match="invalid"):
        flows.callback_of(plane, stated.format(plane.address))


def test_flows_of_others_do_not_exist(world: tuple[World, list[Received]]) -> None:
    plane, _ = world
    assert say(plane, "prepare", starting("start", "flow-5")).status_code == 200
    changing = ("suspend", "resume", "terminate", "completed")
    for word, document in (("status", None), *((word, {}) for word in changing)):
        answers = [say(plane, f"{flow}/{word}", document, PLANE) for flow in ("flow-5", "flow-none")]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].content == answers[1].content
        assert say(plane, f"flow-5/{word}", document, OWNER).status_code == 403, "the role is explicit"
    other = starting("start", "flow-6", participantId=PLANE)
    assert say(plane, "start", other, PLANE).json()["code"] == "agreement-not-registered"
    for path in ("/v1/jobs", "/v1/policies", "/v1/data", "/metrics"):
        assert plane.get(path, CONTROL).status_code == 403


def test_a_flow_without_an_output_ends_and_says_so(world: tuple[World, list[Received]]) -> None:
    plane, received = world
    denied = starting("start", "flow-7", counterPartyId=STRANGER)
    assert say(plane, "start", denied).status_code == 202
    stopped = starting("start", "flow-8")
    assert say(plane, "start", stopped).status_code == 202
    assert say(plane, "flow-8/terminate", {}).json()["state"] == "TERMINATED"
    work(plane)
    before = len(received)
    flows.tend(plane.service)
    (told,) = received[before:]
    assert told.path == "/signaling/transfers/flow-7/dataflow/errored"
    message = json.loads(told.body)
    assert (message["state"], message["error"]) == (
        "TERMINATED", "the policy does not permit it to the counterparty",
    )  # fmt: skip
    flow = plane.registry.flows.get(IRI(OWNER), "flow-8")
    assert flow is not None
    assert flow.job is not None
    job = plane.registry.jobs.get(flow.job)
    assert job is not None
    assert job.state == "stopped"


def test_control_planes_that_do_not_answer_are_told_a_bounded_number_of_times(
    world: tuple[World, list[Received]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plane, _ = world
    assert say(plane, "start", starting("start", "flow-10", counterPartyId=STRANGER)).status_code == 202
    work(plane)
    tries: list[str] = []

    def unanswered(place: str, *_: object) -> None:
        tries.append(place)
        raise flows.BackendError(place, "nobody received it", "")

    monkeypatch.setattr(flows, "post", unanswered)
    flows.tend(plane.service)
    flows.tend(plane.service)
    assert len(tries) == 1, "there is a pause"
    monkeypatch.setattr(flows, "_FIRST_PAUSE", flows.timedelta(0))
    with plane.registry._database.writing() as connection:
        connection.exec_driver_sql("UPDATE data_flows SET call_at = '2000' WHERE call_at IS NOT NULL")
    for _ in range(10):
        flows.tend(plane.service)
    assert len(tries) == flows.CALLS
    assert "nobody tries again" in caplog.text


def test_a_control_plane_is_configured_before_anything_starts(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    world.keys[CONTROL], _ = world.registry.access.add_key(IRI(OWNER), [Role.CONTROL_PLANE])
    world.upload(small_table(tmp_path).read_bytes())
    world.add_policy(small_document())
    assert say(world, "start", starting("start", "a")).status_code == 409
    (tmp_path / "key").write_text("x", encoding="utf-8")
    (tmp_path / "key").chmod(0o644)
    for plane in (
        ControlPlane(IRI(OWNER), "http://elsewhere.example"),
        ControlPlane(IRI(OWNER), "https://plane.example", tmp_path / "key"),
    ):
        with pytest.raises(SmaltiError):
            check_configuration(
                Configuration(uploads=tmp_path, outputs=tmp_path, control_planes=(plane,)), has_entries=True
            )


def test_an_agreement_on_the_policy_of_another_owner_starts_nothing(
    world: tuple[World, list[Received]],
) -> None:
    plane, _ = world
    plane.registry.add_owner(IRI(CUSTOMER), IRI(STRANGER), by=IRI(OWNER))
    uid = "http://stranger.example/policy"
    theirs = small_document(uid=uid, rule={"uid": f"{uid}/1"})
    added = plane.add_policy(theirs, STRANGER)
    assert added.status_code == 201, added.text
    answer = say(plane, "prepare", starting("start", "flow-10", agreementId=uid))
    assert (answer.status_code, answer.json()["code"]) == (422, "agreement-not-registered")
