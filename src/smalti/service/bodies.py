"""Bodies of requests: read within limits of size and time, before any thread works for the request."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import ClientDisconnect, Request

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
    try:
        async with asyncio.timeout(2 * SECONDS):
            return b"".join([chunk async for chunk in chunks(request, LARGEST)])
    except TimeoutError:
        raise _too_slow() from None


async def chunks(request: Request, limit: int) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive.

    Raises:
        RefusedError: more than the limit arrives, whatever was announced; or nothing, for too long; or the
            client goes away.
    """
    size, stream = 0, request.stream()
    while True:
        try:
            async with asyncio.timeout(SECONDS):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise _too_slow() from None
        except ClientDisconnect:
            raise RefusedError(400, "bad-request", "the body ended early") from None
        if chunk is None:
            return
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        yield chunk


def _too_slow() -> RefusedError:
    return RefusedError(
        408, "too-slow", f"nothing arrived for {SECONDS:.0f} seconds", headers={"Connection": "close"}
    )
