"""The one way from a request to an answer: recognise, admit, read, do, tell what went wrong."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from smalti.service import bodies
from smalti.service.asking import admitted, check_role, kept_answer, refused
from smalti.service.operations import SIGNATURE, Answer, AnyOperation, Call, Events
from smalti.service.parties import Asker
from smalti.service.problems import RefusedError, refusal_of
from smalti.service.received import RawBody, Upload
from smalti.service.repeated import HEADER, Once, checked_key, request_digest
from smalti.service.state import Service
from smalti.service.uploads import stated_digest
from smalti.vocab.terms import IRI

NOBODY: Final = Asker(IRI("urn:smalti:nobody"), frozenset())
_SMALL: Final = 1 << 16
"""Bytes of a body that is read before anybody is recognised: then one thread does all of the work."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_LOOKS: Final = 0.5
"""Seconds between two looks for an event."""
_SILENT: Final = 15.0
"""Seconds after which a comment is sent in the place of an event."""
_NOT_UNDERSTOOD: Final = 422
_LONGEST_NAME: Final = 200
"""Characters of a request's identifier."""
_COUNTING: Final = ("content-type", "if-match", SIGNATURE)
"""Headers that belong to what is asked for."""


class Endpoint:
    """One operation of a service, as an endpoint of Starlette."""

    def __init__(self, service: Service, operation: AnyOperation) -> None:
        self._service, self._operation = service, operation

    async def respond(self, request: Request) -> Response:
        """The answer to a request, whatever happens."""
        begun = time.perf_counter()
        named: Mapping[str, str] = {}
        try:
            named = _named(request)
            answer = await self._answer(request)
        except Exception as error:  # what is not foreseen is told by its class alone (`refusal_of`)
            answer = refused(self._refusal(error))
        self._service.measurements.answered(
            self._operation.name, answer.status, time.perf_counter() - begun
        )
        return to_response(replace(answer, headers={**answer.headers, **named}))

    def _refusal(self, error: Exception) -> RefusedError:
        refusal = refusal_of(error)
        if refusal.status == _NOT_UNDERSTOOD:
            return replace(refusal, status=self._operation.malformed)
        return refusal

    async def _answer(self, request: Request) -> Answer:
        if self._operation.body is Upload:
            return await self._streamed(request)
        if not self._has_body:
            return await run_in_threadpool(self._worked, request, b"", None)
        is_small = (bodies.announced(request, bodies.LARGEST) or _SMALL + 1) <= _SMALL
        if self._operation.is_short and is_small:
            return await self._in_turn(request, await bodies.whole_body(request))
        if is_small:
            return await run_in_threadpool(self._worked, request, await bodies.whole_body(request), None)
        asker = await run_in_threadpool(self._asker, request)
        return await run_in_threadpool(self._worked, request, await bodies.whole_body(request), asker)

    async def _in_turn(self, request: Request, content: bytes) -> Answer:
        """The answer to what is short, after all that is short and came before."""
        service, asker = self._service, None
        if service.authentication.tokens is not None or service.registry.path is None:
            # An issuer or a database server may have to be asked, for which nobody else waits.
            asker = await run_in_threadpool(self._asker, request)
        return await service.line.done(partial(self._worked, request, content, asker))

    @property
    def _has_body(self) -> bool:
        return self._operation.body is not type(None)

    def _asker(self, request: Request) -> Asker:
        """Who asks, if it may ask for this.

        Raises:
            RefusedError: nobody is recognised, none of its roles may, or it asks too often.
        """
        operation, address = self._operation, address_of(request)
        if operation.is_for_anybody:
            self._service.rates.admit_address(address)
            return NOBODY
        asker = admitted(self._service, address, lambda: self._recognised(request))
        check_role(operation, asker)
        return asker

    def _recognised(self, request: Request) -> Asker:
        return self._service.authentication.asker(request.headers.get("authorization"))

    def _worked(self, request: Request, content: bytes, asker: Asker | None) -> Answer:
        """All that blocks, in one thread."""
        asker = asker or self._asker(request)
        call = self._call(request, asker)
        done = self._once(request, asker, content)
        if done is None:
            return self._handled(replace(call, body=self._body(request, content)))
        if (earlier := done.begin()) is not None:
            return earlier
        return kept_answer(done, lambda: self._handled(replace(call, body=self._body(request, content))))

    async def _streamed(self, request: Request) -> Answer:
        """A request whose body is received into a file, once it is clear that it may be sent at all."""
        uploads = self._service.uploads
        length = bodies.announced(request, uploads.limit)
        digest = stated_digest(request.headers.get("content-digest") or request.headers.get("repr-digest"))
        asker = await run_in_threadpool(self._asker, request)
        call = self._call(request, asker)
        if self._operation.admits is not None:
            await run_in_threadpool(self._operation.admits, call)
        done = self._once(request, asker, f"{length} {digest}".encode())
        if done is not None and (earlier := await run_in_threadpool(done.begin)) is not None:
            return earlier

        async def received() -> Answer:
            upload = await uploads.receive(bodies.chunks(request, uploads.limit), length, digest)
            try:
                return await run_in_threadpool(self._handled, replace(call, body=upload))
            finally:
                await run_in_threadpool(uploads.discard, upload)

        if done is None:
            return await received()
        try:
            answer = await received()
        except Exception as error:
            answer = refused(refusal_of(error))
        except BaseException:
            self._service.registry.answers.forget(done.party, done.key)
            raise
        await run_in_threadpool(done.end, answer)
        return answer

    def _once(self, request: Request, asker: Asker, content: bytes) -> Once | None:
        key = request.headers.get(HEADER)
        if key is None or not self._operation.writes:
            return None
        scope = request.scope
        digest = request_digest(
            scope["method"].encode(), scope["path"].encode(), scope["query_string"],
            *(request.headers.get(name, "").encode() for name in _COUNTING), content,
        )  # fmt: skip
        return Once(self._service.registry, asker.party, checked_key(key), digest)

    def _handled(self, call: Call[Any, Any]) -> Answer:
        answer: Answer = self._operation.handler(call)
        return answer

    def _call(self, request: Request, asker: Asker) -> Call[Any, Any]:
        query = self._operation.query.model_validate(_query(request, self._operation.query))
        return Call(
            self._service, asker, request.path_params, query, None, request.headers,
            lambda: self._recognised(request),
        )  # fmt: skip

    def _body(self, request: Request, content: bytes) -> object:
        if not self._has_body:
            return None
        if not content and self._operation.may_be_empty:
            empty: BaseModel = self._operation.body()
            return empty
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in self._operation.takes:
            raise RefusedError(
                415, "not-acceptable-type", f"send one of {', '.join(self._operation.takes)}"
            )
        if self._operation.body is RawBody:
            return RawBody(content, media_type)
        model: type[BaseModel] = self._operation.body
        return model.model_validate_json(content)


def address_of(request: Request) -> str:
    """The address that a request came from."""
    return "" if request.client is None else request.client.host


def _named(request: Request) -> Mapping[str, str]:
    """The identifier that the sender gave a request, for the answer.

    Raises:
        RefusedError: it is too long, or cannot be shown.
    """
    name = request.headers.get("x-request-id")
    if name is None:
        return {}
    if len(name) > _LONGEST_NAME or not name.isascii() or not name.isprintable():
        problem = f"`X-Request-ID` has at most {_LONGEST_NAME} printable characters of ASCII"
        raise RefusedError(400, "bad-request", problem)
    return {"X-Request-ID": name}


def _query(request: Request, model: type[BaseModel]) -> Mapping[str, object]:
    """The query as a model reads it: a list where it takes several, and one text otherwise.

    Raises:
        RefusedError: something is stated several times that is taken once.
    """
    several = {
        field.alias or name
        for name, field in model.model_fields.items()
        if str(field.annotation).startswith("tuple[")
    }
    values: dict[str, object] = {}
    for name in request.query_params:
        stated = request.query_params.getlist(name)
        if len(stated) > 1 and name not in several:
            raise RefusedError(422, "invalid", "the query states something twice that counts once")
        values[name] = stated if name in several else stated[0]
    return values


def to_response(answer: Answer, kept: Mapping[str, str] = _HEADERS) -> Response:
    """An answer as Starlette sends it, with headers that the answer may change."""
    headers = {**kept, **answer.headers}
    if isinstance(answer.content, bytes):
        response = Response(answer.content, answer.status, headers, answer.media_type)
        if answer.status == 204:
            del response.headers["content-type"]
        return response
    if isinstance(answer.content, Events):
        events = sent_events(answer.content)
        return StreamingResponse(events, answer.status, headers, answer.media_type)
    return FileResponse(answer.content, answer.status, headers, answer.media_type)


async def sent_events(events: Events) -> AsyncIterator[str]:
    """Events as they come, and a comment now and then, so that nobody takes the connection for dead."""
    silent = 0.0
    try:
        while True:
            try:
                text, was_last = await run_in_threadpool(events.look)
            except Exception as error:
                yield f"event: problem\ndata: {refusal_of(error).content().decode()}\n\n"
                return
            if text or silent >= _SILENT:
                yield text or ": still here\n\n"
                silent = 0.0
            if was_last:
                return
            await asyncio.sleep(_LOOKS)
            silent += _LOOKS
    finally:
        events.ended()
