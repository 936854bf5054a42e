"""Problems as RFC 9457 documents, with smalti's codes and places, and no data value."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from smalti.errors import (
    BackendError,
    DataError,
    GuaranteeError,
    InternalError,
    PlanError,
    PolicyError,
    ProblemsError,
    RegistryError,
    SmaltiError,
    UsageError,
    unforeseen,
)
from smalti.json.text import Json

MEDIA_TYPE: Final = "application/problem+json"
TYPES: Final = "https://w3id.org/smalti/problem#"
_LOG: Final = logging.getLogger("smalti.service")
_ERRORS: Final[tuple[tuple[type[SmaltiError], int, str], ...]] = (
    (PolicyError, 422, "policy-error"),
    (PlanError, 422, "plan-error"),
    (DataError, 422, "data-error"),
    (GuaranteeError, 422, "guarantee-error"),
    (UsageError, 422, "usage-error"),
    (BackendError, 503, "machine-error"),
    (RegistryError, 503, "registry-error"),
    (InternalError, 500, "internal-error"),
)
"""Status and code of each class; an error is of the first that fits."""
TITLES: Final = {
    "bad-request": "the request cannot be read",
    "unauthenticated": "nobody is recognised by this request",
    "subject-not-mapped": "the token is valid, and its subject is mapped to no party",
    "forbidden": "this is for another role",
    "not-found": "there is nothing of that name for this party",
    "method-not-allowed": "there is no such operation",
    "not-permitted": "the decision does not permit it",
    "agreement-not-registered": "the agreement names no policy or rule that the owner registered",
    "conflict": "it does not go with what is there",
    "changed-meanwhile": "it was changed meanwhile",
    "too-large": "it is larger than the limit",
    "too-many-requests": "more requests came than may",
    "too-slow": "the request did not arrive in time",
    "not-acceptable-type": "the content type is not understood",
    "state-required": "the request must say which state it changes",
    "invalid": "the request is not understood",
    "key-reused": "the idempotency key belongs to another request",
    "in-progress": "the request with this idempotency key has not ended",
    "digest-mismatch": "the content is not what its digest says",
    "policy-error": "the policy document has errors",
    "plan-error": "it cannot be compiled for this data",
    "data-error": "the data cannot be read as its description states",
    "guarantee-error": "the guarantee cannot be met",
    "usage-error": "the request contradicts what the registry records",
    "machine-error": "the machine failed",
    "registry-error": "the registry failed",
    "internal-error": "a fault of smalti",
}
"""All codes, each with the title of its problem."""


@dataclass(eq=False)
class RefusedError(Exception):
    """A request that is refused; becomes a problem document."""

    status: int
    code: str
    detail: str
    more: Json = field(default_factory=dict)
    """Further members of the document."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> Json:
        """The problem."""
        return {
            "type": TYPES + self.code,
            "title": TITLES[self.code],
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            **self.more,
        }

    def content(self) -> bytes:
        """The same as bytes."""
        return json.dumps(self.document(), ensure_ascii=False).encode("utf-8", "backslashreplace")


def not_found() -> RefusedError:
    """The one answer about what is not there, and about what is somebody else's."""
    return RefusedError(404, "not-found", "it does not exist, or this party may not see it")


def refusal_of(error: Exception) -> RefusedError:
    """The refusal that an error becomes; what only the operator may read is logged, and not told."""
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, ValidationError):
        return _invalid(error)
    if not isinstance(error, SmaltiError):
        error = unforeseen(error)
    problems = list(_problems(error))
    worst = max(problems, key=lambda problem: _class_of(problem)[0])
    status, code = _class_of(worst)
    if status >= 500:
        _LOG.error("%s", error)
        return RefusedError(
            status, code, "it is logged for the operator; try again later, or ask the operator"
        )
    return RefusedError(
        status, code, worst.problem, {"problems": [_problem_json(problem) for problem in problems]}
    )


def _problems(error: SmaltiError) -> Iterator[SmaltiError]:
    if isinstance(error, ProblemsError):
        for problem in error.problems:
            yield from _problems(problem)
    else:
        yield error


def _class_of(error: SmaltiError) -> tuple[int, str]:
    return next(
        ((status, code) for kind, status, code in _ERRORS if isinstance(error, kind)),
        (500, "internal-error"),
    )


def _problem_json(error: SmaltiError) -> Json:
    return {
        "code": _class_of(error)[1],
        "where": error.where,
        "problem": error.problem,
        "expected": error.expected,
        "wayOut": error.way_out,
    }


def _invalid(error: ValidationError) -> RefusedError:
    """Members that are missing, unknown or of another type; no value is repeated."""
    faults = error.errors(include_input=False, include_url=False, include_context=False)
    problems = [
        {
            "code": fault["type"].replace("_", "-"),
            "where": "/" + "/".join(map(str, fault["loc"])),
            "problem": fault["msg"],
            "expected": "",
            "wayOut": "see /openapi.json",
        }
        for fault in faults
    ]
    return RefusedError(
        422, "invalid", f"{len(problems)} members are not as described", {"problems": problems}
    )
