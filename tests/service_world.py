"""A service in this process, with a market in its registry: an owner, a recipient, a reader, a stranger."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit_samples import attempt, figures, result
from httpx2 import Response
from shell import CUSTOMER, OWNER, USER, small_document, small_table
from starlette.testclient import TestClient

import smalti as api
from smalti.engine.registry.access import Role
from smalti.engine.registry.attempts import AttemptState
from smalti.engine.registry.entries import new_run
from smalti.engine.registry.registry import Registry
from smalti.engine.training.figures import figures_to_json
from smalti.service.application import application
from smalti.service.configuration import Configuration
from smalti.service.opening import open_service
from smalti.service.state import Service
from smalti.vocab.terms import IRI

READER, STRANGER = "http://example.com/party/analyst", "http://example.com/party/stranger"
AUDITOR, OPERATOR = "http://example.com/party/regulator", "http://example.com/party/operator"
GATEWAY = "http://example.com/party/gateway"
PLANE = "http://example.com/party/plane"
POLICY, READING = "http://example.com/policy/small", "http://example.com/policy/reading"
MODEL, MEMBERS, OTHERS = (f"http://example.com/study/{name}" for name in ("model", "members", "others"))
STUDY = {"model": MODEL, "members": MEMBERS, "others": OTHERS, "label": "class", "attacks": ["loss"]}
PARTIES = {
    OWNER: [Role.PARTY], USER: [Role.PARTY], READER: [Role.PARTY], STRANGER: [Role.PARTY],
    AUDITOR: [Role.AUDITOR], OPERATOR: [Role.OPERATOR], GATEWAY: [Role.GATEWAY],
    PLANE: [Role.CONTROL_PLANE],
}  # fmt: skip


def reading_policy() -> dict[str, Any]:
    """Lets the reader read what the owner's table is, and so what is made from it."""
    rule = {
        "uid": f"{READING}/1", "assignee": READER, "target": CUSTOMER, "action": "odrl:read",
        "purpose": "mosaicrown:marketing",
    }  # fmt: skip
    return small_document() | {"uid": READING, "permission": [rule]}


@dataclass
class World:
    """A service and the keys of its parties."""

    folder: Path
    service: Service
    keys: dict[str, str]
    client: TestClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = TestClient(application(self.service), raise_server_exceptions=False)

    @property
    def registry(self) -> Registry:
        return self.service.registry

    def ask(
        self, method: str, path: str, party: str | None = OWNER, headers: Mapping[str, str] | None = None,
        **parts: Any,
    ) -> Response:  # fmt: skip
        """The answer to a request of a party; of nobody, where it is None."""
        said = {} if party is None else {"Authorization": f"Bearer {self.keys[party]}"}
        answer: Response = self.client.request(method, path, headers=said | dict(headers or {}), **parts)
        return answer

    def get(self, path: str, party: str | None = OWNER, **query: Any) -> Response:
        return self.ask("GET", path, party, params=query)

    def add_policy(self, document: dict[str, Any], party: str = OWNER, **headers: str) -> Response:
        return self.ask(
            "POST", "/v1/policies", party, headers={"content-type": "application/ld+json"} | headers,
            content=json.dumps(document),
        )  # fmt: skip

    def upload(
        self, content: bytes, party: str = OWNER, target: str = CUSTOMER, name: str = "people.csv",
        headers: Mapping[str, str] | None = None,
    ) -> Response:  # fmt: skip
        return self.ask(
            "POST", "/v1/uploads", party, params={"target": target, "name": name}, content=content,
            headers={"content-type": "text/csv"} | dict(headers or {}),
        )  # fmt: skip


def make_world(folder: Path, **configured: Any) -> World:
    """A service with a key for each of `PARTIES`, and nothing else."""
    registry = Registry.open(folder / "smalti.sqlite")
    keys = {party: registry.access.add_key(IRI(party), roles)[0] for party, roles in PARTIES.items()}
    chosen: dict[str, Any] = {"rate_of_party": 0, "rate_of_address": 0} | configured
    configuration = Configuration(uploads=folder / "uploads", outputs=folder / "outputs", **chosen)
    return World(folder, open_service(registry, configuration, None), keys)


def make_market(folder: Path) -> tuple[World, str]:
    """The same with uploaded data, two policies and an output, and the run that made it."""
    world = make_world(folder)
    data = small_table(folder)
    assert world.upload(data.read_bytes()).status_code == 201
    assert world.add_policy(small_document()).status_code == 201
    assert world.add_policy(reading_policy()).status_code == 201
    bound = world.registry.bindings.of(IRI(CUSTOMER))
    assert bound is not None
    outcome = api.run(
        folder_policy(folder), data={CUSTOMER: bound.place}, party=USER, owner=OWNER, purpose="marketing",
        out=folder / "out", registry=world.registry,
    )  # fmt: skip
    assert outcome.version is not None
    return world, outcome.version.run


def add_audit(world: World) -> str:
    """An audit of a model that was trained on the owner's table, with figures; the run of it."""
    run = new_run()
    world.registry.trainings.begin(attempt(run, IRI(CUSTOMER)))
    world.registry.trainings.end(run, AttemptState.MET, figures_to_json(figures(result())))
    return run


def add_study(world: World) -> str:
    """A model file and two tables of the owner, and a study of them that it ordered; the id of the job."""
    for target in (MODEL, MEMBERS, OTHERS):
        name = "model.onnx" if target == MODEL else "records.csv"
        assert world.upload(b"class,f\na,1\nb,2\n", target=target, name=name).status_code == 201
    ordered = world.ask("POST", "/v1/studies", json=STUDY)
    assert ordered.status_code == 202, ordered.text
    job: str = ordered.json()["id"]
    return job


def folder_policy(folder: Path) -> Path:
    """The owner's policy as a file."""
    place = folder / "policy.jsonld"
    place.write_text(json.dumps(small_document()), encoding="utf-8")
    return place
