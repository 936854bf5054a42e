"""Over TLS, with an authority that the test made: the service itself, and the keys of an issuer."""

import http.server
import json
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trustme
import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet
from service_world import make_world

from smalti.errors import BackendError, UsageError
from smalti.service import tokens as module
from smalti.service.application import application
from smalti.service.configuration import TokenIssuer
from smalti.service.problems import RefusedError
from smalti.service.processes import server_configuration
from smalti.service.server import listening
from smalti.service.tokens import Tokens

FIRST, SECOND = (ECKey.generate_key("P-256", {"kid": kid}, private=True) for kid in "12")
OK = b"HTTP/1.0 200 OK\r\n\r\n"


@dataclass
class Issuer:
    """What the server of an issuer answers."""

    key: ECKey = field(default_factory=lambda: FIRST)
    answer: bytes | None = None
    """In the place of the key."""
    seconds: float = 0.0
    asked: int = 0
    address: str = ""
    is_over: threading.Event = field(default_factory=threading.Event)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def issuer(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    """A server of keys over TLS, whose authority this process trusts."""
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    issuer = Issuer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked += 1
            issuer.is_over.wait(issuer.seconds)
            content = json.dumps(KeySet([issuer.key]).as_dict(private=False)).encode()
            self.wfile.write(issuer.answer or OK + content)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    issuer.address = f"https://127.0.0.1:{server.server_port}/keys"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield issuer
    issuer.is_over.set()
    server.shutdown()
    server.server_close()


def token(key: ECKey) -> str:
    stated = {"iss": "https://login.example", "aud": "smalti", "sub": "ann", "exp": int(time.time()) + 60}
    return jwt.encode({"alg": "ES256", "kid": key.kid}, stated, key, ["ES256"])


def tokens_of(address: str) -> Tokens:
    return Tokens(TokenIssuer("https://login.example", "smalti", "ES256", address))


def test_keys_are_fetched_and_again_when_they_were_changed(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tokens_of(issuer.address)
    assert (tokens.subject(token(FIRST)), issuer.asked) == ("ann", 1)
    issuer.key = SECOND
    for _ in range(3):
        with pytest.raises(RefusedError):
            tokens.subject(token(SECOND))
    assert issuer.asked == 1, "it was just asked"
    monkeypatch.setattr(module, "_LEAST", 0.0)
    assert (tokens.subject(token(SECOND)), issuer.asked) == ("ann", 2)


RUBBISH = (
    b"rubbish", b"HTTP/1.0 500 No\r\n\r\n", OK + b"<html>",
    b"HTTP/1.0 302 Found\r\nLocation: https://evil.example/\r\n\r\n",
)  # fmt: skip


@pytest.mark.parametrize("answer", RUBBISH)
def test_rubbish_is_refused_at_the_start_and_changes_nothing_later(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    tokens = tokens_of(issuer.address)
    issuer.answer = answer
    with pytest.raises((BackendError, UsageError)):
        tokens_of(issuer.address)
    monkeypatch.setattr(module, "_LEAST", 0.0)
    with pytest.raises(RefusedError):
        tokens.subject(token(SECOND))
    assert tokens.subject(token(FIRST)) == "ann"


def test_an_issuer_that_is_slow_holds_nobody_up(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tokens_of(issuer.address)
    monkeypatch.setattr(module, "_LEAST", 0.0)
    monkeypatch.setattr(module, "_FRESH", 0.0)
    monkeypatch.setattr(module, "_TIMEOUT", 0.3)
    issuer.seconds = 30.0
    waiting = threading.Thread(target=tokens.subject, args=(token(FIRST),))
    begun = time.monotonic()
    waiting.start()
    assert tokens.subject(token(FIRST)) == "ann", "the last keys count while somebody asks"
    waiting.join(10)
    with pytest.raises(BackendError, match="cannot be fetched"):
        tokens_of(issuer.address)
    assert time.monotonic() - begun < 10


def test_an_authority_that_is_not_trusted_gives_no_keys(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(BackendError, match="cannot be fetched"):
        tokens_of(issuer.address)
    assert issuer.asked == 0


def test_the_service_answers_over_tls(authority: trustme.CA, tmp_path: Path) -> None:
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    for blob in issued.cert_chain_pems:
        blob.write_to_path(str(tmp_path / "chain.pem"), append=True)
    service = make_world(tmp_path).service
    configuration = replace(
        service.configuration, port=0, certificate=tmp_path / "chain.pem", key=tmp_path / "key.pem"
    )
    server = uvicorn.Server(server_configuration(application(service), configuration))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with listening(configuration) as (listener, port):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        address = f"https://127.0.0.1:{port}/health"
        with urllib.request.urlopen(address, timeout=20, context=trusting) as answer:
            assert json.load(answer) == {"status": "ok"}
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(address, timeout=20, context=ssl.create_default_context())
        server.should_exit = True
        thread.join(20)
