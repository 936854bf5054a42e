"""A receiver of JSON on this machine, for what is sent to configured addresses."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer


@dataclass(frozen=True)
class Received:
    """A request."""

    path: str
    body: str
    authorization: str | None


@contextmanager
def receiver(status: int = 201, seconds: float = 0) -> Iterator[tuple[str, list[Received]]]:
    """Its address, and what it received so far; it answers with the status, after so long."""
    received: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            received.append(Received(self.path, body, self.headers["authorization"]))
            time.sleep(seconds)
            self.send_response(status)
            self.send_header("location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/signaling", received
    finally:
        server.shutdown()
        server.server_close()
