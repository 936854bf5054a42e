"""Uploads that lie, or are too large, or meet a full disk: cut off, and nothing of them is left."""

import asyncio
import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from service_world import World, make_world
from shell import OWNER

from smalti.service.application import application

LIMIT = 1000


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path, upload_limit=LIMIT)


def refused(world: World, answer: Any, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert list((world.folder / "uploads").iterdir()) == []
    assert world.get("/v1/data").json()["items"] == []
    assert world.get("/v1/targets").json()["items"] == [], "nobody owns the target by it"


def endless(world: World) -> tuple[int, int]:
    """The status of an upload without an end, and how many of its parts of 100 bytes were read."""
    sent: list[dict[str, Any]] = []
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    authorization = f"Bearer {world.keys[OWNER]}".encode()
    scope = {
        "type": "http", "method": "POST", "path": "/v1/uploads", "raw_path": b"/v1/uploads",
        "root_path": "", "query_string": b"target=urn:x:y&name=a.csv", "scheme": "http",
        "headers": [(b"authorization", authorization), (b"content-type", b"text/csv")],
    }  # fmt: skip
    asyncio.run(application(world.service)(scope, receive, send))
    return sent[0]["status"], read


def test_more_than_the_limit_is_cut_off(world: World) -> None:
    answer = world.upload(b"x" * (LIMIT + 1))
    refused(world, answer, 413, "too-large")
    assert answer.headers["connection"] == "close"
    assert endless(world) == (413, LIMIT // 100 + 1)
    assert list((world.folder / "uploads").iterdir()) == []
    assert world.upload(b"x" * LIMIT).status_code == 201


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"content-length": "3"}, 400, "bad-request"),
        ({"content-length": "300"}, 400, "bad-request"),
        ({"content-length": "-1"}, 400, "bad-request"),
        ({"content-length": str(10 << 30)}, 413, "too-large"),
        ({"content-digest": "sha-256=:" + "A" * 43 + "=:"}, 422, "digest-mismatch"),
        ({"content-digest": "md5=:AAAA:"}, 400, "bad-request"),
        ({"repr-digest": "sha-256=:AAAA:"}, 400, "bad-request"),
    ],
)
def test_lies_about_size_and_digest_are_refused(
    world: World, headers: dict[str, str], status: int, code: str
) -> None:
    refused(world, world.upload(b"a\n1\n", headers=headers), status, code)


@pytest.mark.parametrize(
    "name", ["../a.csv", "/etc/passwd", ".hidden", "a\\b.csv", "a/b.csv", "", "a\0b", "é" * 300]
)
def test_names_are_no_paths(world: World, name: str) -> None:
    refused(world, world.upload(b"a\n1\n", name=name), 422, "invalid")


def test_a_full_disk_is_told_and_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("smalti.service.uploads.os.fsync", full)
    refused(world, world.upload(b"a\n1\n", headers={"idempotency-key": "k"}), 507, "machine-error")
    monkeypatch.undo()
    assert world.upload(b"a\n1\n", headers={"idempotency-key": "k"}).status_code == 201, "it was tried anew"


def test_the_folder_must_be_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir(mode=0o755)
    (tmp_path / "uploads").chmod(0o755)
    with pytest.raises(Exception, match="others may enter"):
        make_world(tmp_path)


def test_documents_have_a_limit_too(world: World) -> None:
    answer = world.ask(
        "POST", "/v1/checks", content=b" " * (3 << 20), headers={"content-type": "application/json"}
    )
    refused(world, answer, 413, "too-large")


def test_unforeseen_faults_are_told_by_their_class_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any, **__: Any) -> Callable[[], None]:
        raise ValueError("a value of the data")

    monkeypatch.setattr("smalti.service.routes.decisions.decide", fails)
    answer = world.ask("POST", "/v1/decisions", json={"action": "read", "targets": ["urn:x:y"]})
    refused(world, answer, 500, "internal-error")
    assert "ValueError at" in caplog.text
    assert "a value of the data" not in caplog.text + answer.text


def test_a_small_file_that_unpacks_to_a_large_one_is_not_read_while_somebody_waits(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * (17 << 20), 1)
    bound = world.upload(packed, name="large.csv.gz").json()
    assert bound["size"] < 1 << 20
    answer = world.get(f"/v1/data/{bound['id']}/proposal")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
