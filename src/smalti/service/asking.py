"""Operations asked for by somebody who was recognised: over HTTP, and by the pages inside the process.

The roles of an operation are looked at here, and nowhere else.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from smalti.json.text import Json
from smalti.service.operations import Answer, AnyOperation, Call
from smalti.service.parties import Asker
from smalti.service.problems import RefusedError, refusal_of
from smalti.service.received import RawBody, Upload
from smalti.service.repeated import Once, checked_key, request_digest
from smalti.service.state import Service

_NOTHING: Final[Mapping[str, str]] = {}


def admitted(service: Service, address: str, recognise: Callable[[], Asker]) -> Asker:
    """Who sends a request, which is counted.

    Args:
        service: whose limits count.
        address: that it came from.
        recognise: raises RefusedError where nobody is recognised.

    Raises:
        RefusedError: likewise; or there are too many requests (429).
    """
    try:
        asker = recognise()
    except RefusedError:
        service.rates.admit_address(address)
        raise
    # A control plane's party gives keys of flows to others, whose own requests they must not use up.
    service.rates.admit_party(asker.party if asker.flow is None else f"flow {asker.flow}")
    return asker


def check_role(operation: AnyOperation, asker: Asker) -> None:
    """Refuse whoever has none of the roles of an operation.

    Raises:
        RefusedError: by 403.
    """
    if not operation.is_for_anybody and not operation.roles & asker.roles:
        roles = " or ".join(sorted(operation.roles))
        raise RefusedError(403, "forbidden", f"it is for the role {roles}")


def kept_answer(done: Once, work: Callable[[], Answer]) -> Answer:
    """The answer of work that is done once, kept; a refusal is one."""
    try:
        answer = work()
    except Exception as error:
        answer = refused(refusal_of(error))
    done.end(answer)
    return answer


def refused(refusal: RefusedError) -> Answer:
    """The answer of a refusal."""
    return Answer(refusal.content(), "application/problem+json", refusal.status, refusal.headers)


@dataclass(frozen=True, slots=True)
class Asking:
    """All operations, for one request of somebody who was recognised.

    What a page shows, it asks for here: so it shows nothing that an answer over HTTP would not.
    """

    service: Service
    asker: Asker
    recognise: Callable[[], Asker]
    """Recognises the sender again; raises RefusedError once the key counts no more."""
    operations: Mapping[str, AnyOperation]
    """By their names."""

    def may(self, name: str) -> bool:
        """Whether a role of the asker may ask for an operation at all."""
        operation = self.operations[name]
        return operation.is_for_anybody or bool(operation.roles & self.asker.roles)

    def ask(
        self,
        name: str,
        *,
        path: Mapping[str, str] = _NOTHING,
        query: Mapping[str, object] = _NOTHING,
        body: object = None,
        headers: Mapping[str, str] = _NOTHING,
        once: str | None = None,
    ) -> Answer:
        """The answer of an operation.

        Args:
            name: of the operation.
            path: the parts of its path, decoded.
            query: as its model describes it.
            body: an object of JSON, where a model describes it; otherwise `RawBody` or `Upload`.
            headers: by lower-case names.
            once: a key of this request, where the same form may be sent twice: it is done once.

        Raises:
            RefusedError: the operation refuses, or would over HTTP.
            SmaltiError: the same; `refusal_of` makes one of it.
            ValidationError: the same.
        """
        call = self._call(name, path, query, body, headers)
        if once is None:
            return self._handled(name, call)
        written = json.dumps([name, dict(path), dict(query), body], sort_keys=True, default=str)
        done = Once(
            self.service.registry, self.asker.party, checked_key(once), request_digest(written.encode())
        )
        answer = done.begin() or kept_answer(done, lambda: self._handled(name, call))
        if answer.status >= 400 and isinstance(answer.content, bytes):
            raise _refusal(json.loads(answer.content))
        return answer

    def read(self, name: str, **parts: Any) -> Json:
        """The same as `ask`, of an operation that answers by an object of JSON."""
        return self.document(self.ask(name, **parts))

    def document(self, answer: Answer) -> Json:
        """The object of JSON that an answer is, or its file has."""
        content = answer.content.read_bytes() if isinstance(answer.content, Path) else answer.content
        document: Json = json.loads(content) if isinstance(content, bytes) else {}
        return document

    def items(self, name: str, *, most: int = 1000, **query: object) -> list[Json]:
        """The items of a list, over all of its pages up to a number."""
        listed: list[Json] = []
        cursor: dict[str, object] = {}
        while len(listed) < most:
            page = self.read(name, query={"limit": 200, **query, **cursor})
            listed += page["items"]
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}
        return listed[:most]

    def admit(self, name: str, query: Mapping[str, object]) -> None:
        """Refuse what would be refused before the first byte of a stream is read; raises as `ask`."""
        operation = self.operations[name]
        if operation.admits is not None:
            operation.admits(self._call(name, _NOTHING, query, None, _NOTHING))

    def _call(
        self,
        name: str,
        path: Mapping[str, str],
        query: Mapping[str, object],
        body: object,
        headers: Mapping[str, str],
    ) -> Call[Any, Any]:
        operation = self.operations[name]
        check_role(operation, self.asker)
        read = operation.query.model_validate(dict(query))
        if body is not None and not isinstance(body, RawBody | Upload):
            model: type[BaseModel] = operation.body
            body = model.model_validate_json(json.dumps(body))
        return Call(self.service, self.asker, path, read, body, headers, self.recognise)

    def _handled(self, name: str, call: Call[Any, Any]) -> Answer:
        answer: Answer = self.operations[name].handler(call)
        return answer


def _refusal(document: Json) -> RefusedError:
    """A refusal from the document that it became."""
    members = ("problems", "findings", "decision", "policies")
    more: Json = {name: document[name] for name in members if name in document}
    return RefusedError(document["status"], document["code"], document["detail"], more)
