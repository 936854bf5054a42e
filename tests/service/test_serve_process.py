"""`smalti serve` as a process of its own, over sockets: starts with a key, outlasts slow clients, ends."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from shell import CUSTOMER, smalti
from starlette.applications import Starlette

from smalti.engine.registry.access import Role
from smalti.engine.registry.registry import Registry
from smalti.service.configuration import Configuration
from smalti.service.processes import server_configuration
from smalti.service.server import listening
from smalti.vocab.terms import IRI

STALLED = 60
"""More than there are threads."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int, str]]:
    """The folder, the port and the key."""
    folder = tmp_path_factory.mktemp("served")
    process = subprocess.Popen(
        [sys.executable, "-m", "smalti", "serve", "--address", "127.0.0.1:0", "--upload-limit", "5000000"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    lines = [process.stdout.readline() for _ in range(3)]
    opened, key = re.match(r"open http://127\.0\.0\.1:(\d+)/", lines[0]), lines[1].split()[-1]
    assert opened, lines
    yield folder, int(opened[1]), key
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


def asked(port: int, key: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "text/csv"}
    connection.request(method, path, body=body, headers=headers, encode_chunked=False)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, json.loads(content) if content else None


def stalled(port: int, key: str) -> socket.socket:
    """A client that announces a body, sends a part of it, and then nothing."""
    connection = socket.create_connection(("127.0.0.1", port))
    head = (
        f"POST /v1/uploads?target={CUSTOMER}&name=a.csv HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
    )
    head += f"Authorization: Bearer {key}\r\nContent-Length: 1000\r\n\r\nhalf"
    connection.sendall(head.encode())
    return connection


def test_it_answers_while_slow_clients_wait(served: tuple[Path, int, str]) -> None:
    folder, port, key = served
    clients = [stalled(port, key) for _ in range(STALLED)]
    status, document = asked(port, key, "GET", "/v1/self")
    assert (status, document["party"]) == (200, "urn:smalti:local-user")
    status, bound = asked(port, key, "POST", f"/v1/uploads?target={CUSTOMER}&name=b.csv", b"a\n1\n")
    assert (status, bound["size"]) == (201, 4)
    for client in clients:
        client.close()
    (listed,) = asked(port, key, "GET", "/v1/data")[1]["items"]
    assert listed.items() <= bound.items()
    assert folder.joinpath("smalti.sqlite.uploads").stat().st_mode & 0o777 == 0o700


def test_a_client_that_goes_on_after_the_limit_is_cut_off(served: tuple[Path, int, str]) -> None:
    _, port, key = served
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    head = (
        f"POST /v1/uploads?target={CUSTOMER}&name=a.csv HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
    )
    head += f"Authorization: Bearer {key}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk, sent = b"%x\r\n" % 100_000 + b"x" * 100_000 + b"\r\n", 0
    with connection, contextlib.suppress(OSError):
        connection.sendall(head.encode())
        while sent < 1000 * len(chunk):
            connection.sendall(chunk)
            sent += len(chunk)
    assert sent < 300 * len(chunk), "of 100 MB to a limit of 5"


def test_without_a_server_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    refused = smalti("serve", "--address", "0.0.0.0:0", cwd=tmp_path)
    assert refused.code == 2
    assert "nothing encrypts" in refused.message
    assert smalti("serve", "--address", "nowhere", cwd=tmp_path).code == 2
    assert not (tmp_path / "smalti.sqlite").exists()


def test_small_answers_are_sent_at_once(tmp_path: Path) -> None:
    # asyncio turns Nagle's algorithm off only for sockets of which it is known that they speak TCP; with it
    # each answer waits 40 ms for the client's acknowledgement.
    configuration = Configuration(uploads=tmp_path / "uploads", outputs=tmp_path / "outputs", port=0)
    with listening(configuration) as (listener, port):
        connection = socket.create_connection(("127.0.0.1", port))
        accepted, _ = listener.accept()
        with connection, accepted:
            assert accepted.proto == socket.IPPROTO_TCP


def test_one_of_several_processes_leaves_connections_to_the_others(tmp_path: Path) -> None:
    """It takes one at a time; the others wait, however short the queue that asyncio asks for."""
    configuration = Configuration(
        uploads=tmp_path / "uploads", outputs=tmp_path / "outputs", port=0, processes=2
    )

    async def taken_at_once(listener: socket.socket) -> list[int]:
        protocols: list[asyncio.Protocol] = []
        counts: list[int] = []

        def protocol() -> asyncio.Protocol:
            protocols.append(asyncio.Protocol())
            return protocols[-1]

        backlog = server_configuration(Starlette(), configuration).backlog
        loop = asyncio.get_running_loop()
        server = await loop.create_server(protocol, sock=listener, backlog=backlog)
        with contextlib.ExitStack() as connections:
            for _ in range(20):
                connection = socket.create_connection(listener.getsockname(), timeout=5)
                connections.enter_context(connection)
            while len(protocols) < 20:
                counts.append(len(protocols))
                await asyncio.sleep(0)
        server.close()
        return counts

    with listening(configuration) as (listener, _):
        counts = asyncio.run(taken_at_once(listener))
    assert max(later - earlier for earlier, later in pairwise(counts)) == 1


def serving(folder: Path, *options: str) -> tuple["subprocess.Popen[str]", int, str]:
    """A process that serves, its port and its key."""
    process = subprocess.Popen(
        [sys.executable, "-m", "smalti", "serve", "--address", "127.0.0.1:0", *options],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    opened, key = re.match(r"open http://127\.0\.0\.1:(\d+)/", lines[0]), lines[1].split()[-1]
    assert opened, lines
    return process, int(opened[1]), key


def children_of(process: int) -> set[int]:
    """The processes that a process started and that answer; not the tracker of its resources."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    return {int(child) for child in listed if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()}


def until(claim: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_several_processes_are_one_service(tmp_path: Path) -> None:
    """The key, sessions, revocation and measurements are of all; one that dies is started again."""
    process, port, key = serving(tmp_path, "--processes", "2")
    try:
        for _ in range(20):
            assert asked(port, key, "GET", "/v1/self")[0] == 200
        until(lambda: len(children_of(process.pid)) == 2)
        first = children_of(process.pid)
        os.kill(min(first), signal.SIGKILL)
        until(lambda: len(children_of(process.pid)) == 2 and children_of(process.pid) != first)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {key}"})
        assert (
            b'smalti_requests_total{operation="readSelf",status="200"} 20.0'
            in connection.getresponse().read()
        )
        connection.close()
        registry = Registry.open(tmp_path / "smalti.sqlite")
        second, entry = registry.access.add_key(IRI("http://example.com/party/a"), [Role.PARTY])
        assert {asked(port, second, "GET", "/v1/self")[0] for _ in range(20)} == {200}
        registry.access.revoke(entry.handle)
        assert {asked(port, second, "GET", "/v1/self")[0] for _ in range(20)} == {401}
        registry.close()
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    process, port, key = serving(tmp_path, "--processes", "2")
    assert asked(port, key, "GET", "/v1/self")[0] == 200
    until(lambda: len(children_of(process.pid)) == 2)
    children = children_of(process.pid)
    process.kill()
    process.communicate()
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
