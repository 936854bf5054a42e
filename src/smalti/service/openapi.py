"""The OpenAPI 3.1 document of the table of operations."""

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import Final

from pydantic import BaseModel

from smalti.json.text import Json
from smalti.service.operations import AUTHZEN, JSON, SIGNATURE, AnyOperation
from smalti.service.problems import MEDIA_TYPE, TITLES, TYPES
from smalti.service.received import RawBody, Upload

_PARAMETER: Final = re.compile(r"\{(\w+)(?::path)?\}")
_REFERENCE: Final = "#/components/schemas/{model}"
_ALWAYS: Final = (400, 422, 429, 500, 503)
_RECOGNISED: Final = (401, 403)
_WITH_BODY: Final = (408, 413, 415)
_PROBLEM: Final[Json] = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri", "description": f"`{TYPES}` and the code"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"enum": sorted(TITLES)},
        "detail": {"type": "string"},
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "where", "problem", "expected", "wayOut"],
                "description": "one of several problems, with its place",
            },
        },
        "findings": {
            "type": "array",
            "items": {"type": "object", "description": "a finding about a policy document"},
        },
        "decision": {"type": "object", "description": "why something is not permitted"},
        "policies": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["uid", "issuer"],
                "description": "one of several policies that could be meant",
            },
        },
    },
}


def document(operations: Iterable[AnyOperation]) -> Json:
    """The description of all operations."""
    paths: dict[str, Json] = {}
    schemas: Json = {"Problem": _PROBLEM}
    for operation in operations:
        described = _described(operation, schemas)
        paths.setdefault(_PARAMETER.sub(r"{\1}", operation.path), {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "smalti",
            "version": version("smalti"),
            "description": "Sanitize data as ODRL policies require. The party is that of the key or token.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "an API key, or a token"}
            },
        },
    }


def _described(operation: AnyOperation, schemas: Json) -> Json:
    described: Json = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": list(_parameters(operation)),
        "responses": {
            str(operation.status): _success(operation),
            **{str(status): _refusal() for status in sorted(_refusals(operation))},
        },
        "security": [] if operation.is_for_anybody else [{"bearer": []}],
    }
    if not operation.is_for_anybody:
        described["description"] = f"For the role {' or '.join(sorted(operation.roles))}."
    if operation.body is not type(None):
        described["requestBody"] = _body(operation, schemas)
    return described


def _refusals(operation: AnyOperation) -> set[int]:
    statuses = {*_ALWAYS, *operation.refuses}
    statuses.update(() if operation.is_for_anybody else _RECOGNISED)
    statuses.update(_WITH_BODY if operation.body is not type(None) else ())
    return statuses | ({409} if operation.writes else set())


def _refusal() -> Json:
    content = {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model="Problem")}}}
    return {"description": "A problem (RFC 9457).", "content": content}


def _success(operation: AnyOperation) -> Json:
    described: Json = {"description": "Done."}
    if operation.status != 204:
        described["content"] = {
            media_type: {"schema": operation.gives} if media_type == JSON else {}
            for media_type in operation.media_types
        }
    return described


def _parameters(operation: AnyOperation) -> Iterator[Json]:
    for name in _PARAMETER.findall(operation.path):
        yield {
            "name": name, "in": "path", "required": True,
            "schema": {"type": "string", "minLength": 1}, "description": "percent-encoded",
        }  # fmt: skip
    model: type[BaseModel] = operation.query
    schema = model.model_json_schema()
    for name, described in schema.get("properties", {}).items():
        yield {
            "name": name, "in": "query", "required": name in schema.get("required", ()),
            "schema": described,
        }  # fmt: skip
    if operation.writes:
        described = "a repeated request with the same key is answered alike, and not done again"
        yield _header("Idempotency-Key", described)
    if operation.tag == AUTHZEN:
        yield _header("X-Request-ID", "the answer has the same")
    if 412 in operation.refuses:
        yield _header("If-Match", "the ETag of what is changed")
    if operation.body is RawBody and operation.tag == "policies":
        yield _header(SIGNATURE.title(), "a detached JWS of the document")
    if operation.body is Upload:
        yield _header("Content-Digest", "sha-256=:BASE64: (RFC 9530)")


def _header(name: str, description: str) -> Json:
    return {"name": name, "in": "header", "schema": {"type": "string"}, "description": description}


def _body(operation: AnyOperation, schemas: Json) -> Json:
    if operation.body in {RawBody, Upload}:
        return {"required": True, "content": {media_type: {} for media_type in operation.takes}}
    model: type[BaseModel] = operation.body
    schema = model.model_json_schema(ref_template=_REFERENCE)
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema
    reference = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {"required": not operation.may_be_empty, "content": {JSON: {"schema": reference}}}
