"""JSON that is sent to a configured address: within a bounded time, and to no other address."""

import ipaddress
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from smalti.errors import BackendError

SECONDS: Final = 5.0
"""For all of a request."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class NoRedirections(urllib.request.HTTPRedirectHandler):
    """Answers that name another address are errors."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Follow none."""


@dataclass(slots=True)
class _Sending:
    """What became of a request, once its thread has ended."""

    problem: str = "no answer came in time"


def post(address: str, content: bytes, headers: Mapping[str, str] = _NOTHING) -> None:
    """Send JSON, and take any answer of 2xx for its receipt; what the answer says is not read.

    Args:
        address: as `is_plain_address` wants it; from a configuration, and never from a request.
        content: the JSON.
        headers: further ones.

    Raises:
        BackendError: it was not received, or nobody said so within `SECONDS`; it may have arrived all the
            same. The message quotes no answer.
    """
    request = urllib.request.Request(  # noqa: S310 (https, or this machine: `is_plain_address`)
        address, content, {"Content-Type": "application/json", **headers}, method="POST"
    )
    sending = _Sending()
    # The library's own limit is for each piece of an answer, not for all of them.
    thread = threading.Thread(target=_send, args=(request, sending), daemon=True)
    thread.start()
    thread.join(SECONDS)
    if sending.problem:
        raise BackendError(address, sending.problem, "a receiver of JSON", "start it, or name another")


def _send(request: urllib.request.Request, sending: _Sending) -> None:
    try:
        with urllib.request.build_opener(NoRedirections).open(request, timeout=SECONDS):
            sending.problem = ""
    except urllib.error.HTTPError as error:
        sending.problem = f"the answer was {error.code}"
        error.close()
    except (OSError, ValueError) as error:
        sending.problem = f"nobody received it ({type(error).__name__})"
    except Exception as error:  # of whatever is no HTTP (`http.client.HTTPException`)
        sending.problem = f"the answer was no HTTP ({type(error).__name__})"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its address or its usual name.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.com")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_plain_address(address: str) -> bool:
    """Whether addresses may begin so: https, or http on this machine; no user, query, fragment or detour.

    >>> is_plain_address("https://a.example/x"), is_plain_address("http://127.0.0.1:8080")
    (True, True)
    >>> is_plain_address("http://a.example"), is_plain_address("https://a.example@b.example")
    (False, False)
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    is_private = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    is_bare = parts.username is None and not {*"?#\\%@ "} & {*address}
    return (
        is_private and bool(host) and is_bare and address.isascii() and address.isprintable()
        and not address.endswith("/") and not {".", ".."} & {*parts.path.split("/")}
    )  # fmt: skip
