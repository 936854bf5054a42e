"""What an operation is: a row of the table that routes, the OpenAPI document and tests are made from."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from smalti.engine.registry.access import Role
from smalti.json.text import Json
from smalti.service.parties import Asker

if TYPE_CHECKING:
    from smalti.service.state import Service

JSON: Final = "application/json"
JSON_LD: Final = "application/ld+json"
TURTLE: Final = "text/turtle"
YAML: Final = "application/yaml"
OCTETS: Final = "application/octet-stream"
SIGNATURE: Final = "smalti-signature"
"""The header with the detached signature of a policy document."""
AUTHZEN: Final = "authzen"
"""The tag of operations in AuthZEN's form."""
POLICY_TYPES: Final = {
    JSON_LD: "policy.jsonld", JSON: "policy.jsonld", TURTLE: "policy.ttl", YAML: "policy.yaml",
}  # fmt: skip
"""The content types of policy documents, each with the name that messages show."""


class Described(BaseModel):
    """A query or a body: what is not described is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=False)


class NoQuery(Described):
    """No query."""


Q = TypeVar("Q", bound=BaseModel)
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Call(Generic[Q, B]):
    """A request whose sender was recognised, and whose parts were read."""

    service: "Service"
    asker: Asker
    """Of an operation for anybody, nobody: it never looks."""
    path: Mapping[str, str]
    query: Q
    body: B
    headers: Mapping[str, str]
    """By lower-case names."""
    recognise: Callable[[], Asker]
    """Recognises the sender again, for what lasts; raises RefusedError once its key counts no more."""


@dataclass(frozen=True, slots=True)
class Events:
    """Events that are sent as they come (server-sent events)."""

    look: Callable[[], tuple[str, bool]]
    """The text of the next event, empty where there is none yet; and whether no other follows. Called in a
    thread, now and then; what it raises ends the stream."""
    ended: Callable[[], None]
    """Called once, when no other event is sent; not where none was ever looked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back."""

    content: bytes | Path | Events
    """Bytes, the file that holds them, or events."""
    media_type: str = JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def answered(
    document: Json | list[Json], status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """A JSON answer, without blanks: they take longer to write than a decision's other parts."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)
    return Answer(text.encode("utf-8", "backslashreplace"), JSON, status, headers or {})


NOTHING: Final = Answer(b"", JSON, 204)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[Q, B]):
    """One operation."""

    method: str
    path: str
    """Of Starlette; `{name:path}` takes an IRI."""
    name: str
    """Of the operation, for programs."""
    summary: str
    roles: frozenset[Role]
    """Who may ask: anybody of these; empty: everybody, without being recognised."""
    handler: Callable[[Call[Q, B]], Answer]
    """Called in a thread."""
    query: type[Q]
    body: type[B]
    """A model, `RawBody`, `Upload`, or the type of None."""
    admits: Callable[[Call[Q, None]], None] | None = None
    """Called before a stream is received; raises what refuses it."""
    takes: tuple[str, ...] = (JSON,)
    """The content types of the body."""
    may_be_empty: bool = False
    """Whether no body at all stands for one that states nothing."""
    gives: Json = field(default_factory=lambda: {"type": "object"})
    """The schema of a JSON answer."""
    media_types: tuple[str, ...] = (JSON,)
    """Of the answer."""
    status: int = 200
    """Of a success."""
    refuses: tuple[int, ...] = ()
    """Statuses of refusals beside those that every operation has."""
    malformed: int = 422
    """The status of the refusal of what is not understood, where another specification prescribes it."""
    tag: str = ""
    is_short: bool = False
    """Whether the handler takes about as long as a decision, and changes nothing: then it is called in turn
    (`Line`), and several are logged together."""

    @property
    def writes(self) -> bool:
        """Whether it changes something: then it takes an Idempotency-Key."""
        return self.status in {201, 202, 204} or self.method in {"PUT", "DELETE"}

    @property
    def is_for_anybody(self) -> bool:
        return not self.roles


AnyOperation = Operation[Any, Any]


def listing(items: Json) -> Json:
    """The schema of a page of a list."""
    return {
        "type": "object",
        "required": ["items", "next"],
        "additionalProperties": False,
        "properties": {
            "items": {"type": "array", "items": items},
            "next": {"type": ["string", "null"], "description": "the cursor of the next page"},
        },
    }


def having(*names: str) -> Json:
    """The schema of an object with at least these members."""
    return {"type": "object", "required": list(names)}
