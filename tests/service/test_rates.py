"""Requests that are too many are refused, by party and by address, in bounded memory."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from service_world import GATEWAY, POLICY, READER, World, make_world
from shell import CUSTOMER, OWNER, small_document, small_table

from smalti.engine.registry.access import Role
from smalti.service.asking import admitted
from smalti.service.handling import sent_events
from smalti.service.looks import Looks
from smalti.service.operations import Events
from smalti.service.parties import Asker
from smalti.service.problems import RefusedError
from smalti.service.rates import Buckets
from smalti.service.streams import Streams
from smalti.vocab.terms import IRI


def test_a_bucket_fills_up_again_and_takes_all_or_nothing() -> None:
    now = [0.0]
    buckets = Buckets(20.0, lambda: now[0])
    assert buckets.take("a", 200) == 0
    assert buckets.take("a") == pytest.approx(0.05)
    assert buckets.take("a", 100) == pytest.approx(5.0), "what is refused takes nothing"
    assert buckets.take("b") == 0
    now[0] = 5.0
    assert buckets.take("a", 101) > 0
    assert buckets.take("a", 100) == 0
    assert Buckets(0.0, lambda: now[0]).take("a", 10**9) == 0


def test_buckets_are_of_a_bounded_number() -> None:
    buckets = Buckets(1.0, lambda: 0.0, most=100)
    for number in range(1000):
        buckets.take(f"{number}")
    assert len(buckets._full_at) == 100


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path, rate_of_party=0.01, rate_of_address=0.01)


def test_parties_and_addresses_are_counted_apart(world: World) -> None:
    assert {world.get("/v1/self", READER).status_code for _ in range(100)} == {200}
    refused = world.get("/v1/self", READER)
    assert refused.headers["content-type"] == "application/problem+json"
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-requests")
    assert 0 < int(refused.headers["retry-after"]) <= 100
    assert world.get("/v1/self", OWNER).status_code == 200
    assert {world.get("/v1/self", None).status_code for _ in range(100)} == {401}
    for path in ("/v1/self", "/health", "/.well-known/authzen-configuration"):
        assert world.get(path, None).status_code == 429
    assert world.get("/v1/self", OWNER).status_code == 200, "also from an address that sent too much"
    again, _ = world.registry.access.add_key(IRI(READER), [Role.PARTY])
    world.keys[READER] = again
    assert world.get("/v1/self", READER).status_code == 429, "another key of the same party"


def test_each_evaluation_of_a_batch_counts(world: World) -> None:
    each = {
        "subject": {"type": "user", "id": READER}, "action": {"name": "read"},
        "resource": {"type": "table", "id": "http://example.com/x"},
    }  # fmt: skip
    for status in (200, 429):
        document = each | {"evaluations": [{}] * 60}
        answer = world.ask("POST", "/access/v1/evaluations", GATEWAY, json=document)
        assert answer.status_code == status


def test_data_is_read_for_few_at_once_and_one_of_each_party() -> None:
    looks = Looks()
    with looks.of(IRI("http://a.example/p")):
        with pytest.raises(RefusedError) as refused, looks.of(IRI("http://a.example/p")):
            pass
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "5")
        c = IRI("http://c.example/p")
        with looks.of(IRI("http://b.example/p")), pytest.raises(RefusedError), looks.of(c):
            pass
    with looks.of(IRI("http://a.example/p")), looks.of(IRI("http://c.example/p")):
        pass


def test_streams_of_events_are_counted_until_they_end() -> None:
    a, b, c = IRI("http://a.example/p"), IRI("http://b.example/p"), IRI("http://c.example/p")
    streams = Streams(of_party=2, most=3)
    first, second = streams.begin(a), streams.begin(a)
    with pytest.raises(RefusedError) as refused:
        streams.begin(a)
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "10")
    third = streams.begin(b)
    with pytest.raises(RefusedError):
        streams.begin(c)
    streams.end(third)
    third = streams.begin(c)
    del first  # nobody ever read it
    assert streams.begin(a)
    streams.end(second)
    events = Events(lambda: ("", True), partial(streams.end, third))

    async def read() -> list[str]:
        return [text async for text in sent_events(events)]

    assert asyncio.run(read()) == []
    assert streams.begin(b)
    assert streams.begin(b)


def test_keys_of_a_flow_use_up_no_requests_of_their_party(world: World) -> None:
    recipient = Asker(IRI(READER), frozenset({Role.RECIPIENT}), "flow")
    for _ in range(100):
        admitted(world.service, "", lambda: recipient)
    with pytest.raises(RefusedError):
        admitted(world.service, "", lambda: recipient)
    assert world.get("/v1/self", READER).status_code == 200


def test_operations_that_read_data_through_wait_for_nobody(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    bound = world.upload(small_table(tmp_path).read_bytes()).json()
    world.add_policy(small_document())
    tried = {"policy": POLICY, "target": CUSTOMER}
    with world.service.looks.of(IRI(OWNER)):
        assert world.get(f"/v1/data/{bound['id']}/proposal").status_code == 429
        assert world.ask("POST", "/v1/previews", OWNER, json=tried).status_code == 429
    assert world.get(f"/v1/data/{bound['id']}/proposal").status_code == 200
    assert world.ask("POST", "/v1/previews", OWNER, json=tried).status_code == 200
