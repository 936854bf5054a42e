"""Bodies of requests: read within limits of size and time, before any thread works for the request."""

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request

from smalti.service.problems import RefusedError

LARGEST: Final = 2 << 20
"""Bytes of a body that is no upload: more than any policy document may have."""
SECONDS: Final = 30.0
"""For which a client may be silent; a whole body that is no upload may take twice as long."""


def announced(request: Request, limit: int) -> int | None:
    """The length that a request states; None: it states none.

    Raises:
        RefusedError: it is no length, or more than the limit.
    """
    written = request.headers.get("content-length")
    if written is None:
        return None
    if not written.isascii() or not written.isdigit():
        raise RefusedError(400, "bad-request", "`Content-Length` is no length")
    if int(written) > limit:
        raise too_large(limit)
    return int(written)


def too_large(limit: int) -> RefusedError:
    """The answer to a body that exceeds its limit; the rest of it is not read."""
    return RefusedError(
        413, "too-large", f"at most {limit} bytes are taken", headers={"Connection": "close"}
    )


async def whole_body(request: Request) -> bytes:
    """The body of a request that is no upload.

    Raises:
        RefusedError: it is too large, too slow, or ends early.
    """
    announced(request, LARGEST)
    return b"".join([chunk async for chunk in chunks(request, LARGEST, 2 * SECONDS)])


async def chunks(request: Request, limit: int, longest: float = math.inf) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive.

    Args:
        request: whose body it is.
        limit: bytes.
        longest: seconds for all of them.

    Raises:
        RefusedError: more than the limit arrives, whatever was announced; or nothing, for too long; or all
            takes too long; or the client goes away.
    """
    size, now = 0, asyncio.get_running_loop().time
    end, is_all = now() + longest, False
    while not is_all:
        try:
            async with asyncio.timeout_at(min(end, now() + SECONDS)):
                message = await request.receive()
        except TimeoutError:
            raise _too_slow() from None
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "bad-request", "the body ended early")
        chunk, is_all = message.get("body", b""), not message.get("more_body", False)
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        yield chunk


def _too_slow() -> RefusedError:
    return RefusedError(
        408, "too-slow", f"nothing arrived for {SECONDS:.0f} seconds", headers={"Connection": "close"}
    )
