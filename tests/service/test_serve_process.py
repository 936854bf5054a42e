"""`smalti serve` as a process of its own, over sockets: starts with a key, outlasts slow clients, ends."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shell import CUSTOMER, smalti

from smalti.service.configuration import Configuration
from smalti.service.server import listening

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
