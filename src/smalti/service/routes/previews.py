"""What a policy would do to data, for whoever owns all of it; nothing is recorded."""

import math
from typing import Annotated, Final, Literal

from pydantic import Field

from smalti.errors import UsageError
from smalti.previewing import TriedPolicy, preview
from smalti.service.bodies import LARGEST
from smalti.service.operations import (
    JSON_LD,
    POLICY_TYPES,
    TURTLE,
    YAML,
    Answer,
    AnyOperation,
    Call,
    Described,
    NoQuery,
    Operation,
    answered,
    having,
)
from smalti.service.ordering import bound_for_owner, owned_data
from smalti.service.parties import PARTIES
from smalti.service.received import RawBody
from smalti.service.routes.data import read_through
from smalti.service.routes.policies import check_document

MOST_POINTS: Final = 12
"""Of a sweep that somebody waits for."""
_Iri = Annotated[str, Field(max_length=4096)]
_Written = Literal["application/yaml", "application/ld+json", "text/turtle"]


class PreviewRequest(Described):
    """What is tried out: a policy in force, or a document that is not, and stays so."""

    policy: Annotated[
        _Iri | None, Field(description="the uid of a policy in force of an owner of the target")
    ] = None
    document: Annotated[
        str | None,
        Field(max_length=LARGEST, description="a policy document, instead of `policy`; it is not stored"),
    ] = None
    media_type: Annotated[_Written, Field(description="how the document is written")] = YAML
    target: Annotated[_Iri, Field(description="a target that the asker owns, and that data is bound to")]
    party: Annotated[_Iri | None, Field(description="for whom; whom the policy names, when absent")] = None
    purpose: _Iri | None = None
    rule: Annotated[_Iri | None, Field(description="where several permissions match")] = None
    vary: Annotated[
        tuple[Annotated[str, Field(max_length=100)], ...],
        Field(max_length=2, description="each such as `k=2,5,10`: risk against loss with these numbers"),
    ] = ()


def try_policy(call: Call[NoQuery, PreviewRequest]) -> Answer:
    """Try a policy out on the asker's data."""
    asked, registry = call.body, call.service.registry
    if (asked.policy is None) == (asked.document is None):
        raise UsageError("policy", "it and `document` stand for each other", "one of them", "state one")
    if asked.policy is not None:
        stored, bound = bound_for_owner(registry, call.asker, asked.policy, asked.target)
        tried = TriedPolicy(stored.document, _name(stored.name), stored.issuer)
    else:
        bound = owned_data(registry, call.asker, asked.target)
        tried = _draft(call, (asked.document or "").encode("utf-8", "replace"))
    _check_few(asked.vary)
    with read_through(call, bound):
        shown = preview(
            registry, tried, asked.target, bound.place,
            party=asked.party, purpose=asked.purpose, rule=asked.rule, vary=asked.vary,
        )  # fmt: skip
    return answered(shown)


def _draft(call: Call[NoQuery, PreviewRequest], document: bytes) -> TriedPolicy:
    """A document as its asker's word, which it is for nothing but this.

    Raises:
        RefusedError: it has errors; with all findings.
    """
    written = call.body.media_type
    check_document(call.service.registry, call.asker, RawBody(document, written))
    return TriedPolicy(document, POLICY_TYPES[written], call.asker.party, is_draft=True)


def _name(stored: str) -> str:
    """A file name for a document that is stored: one that was a short form is kept as JSON-LD."""
    return POLICY_TYPES[TURTLE if stored.endswith(".ttl") else JSON_LD]


def _check_few(vary: tuple[str, ...]) -> None:
    """Refuse more points than somebody waits for.

    Raises:
        UsageError: likewise.
    """
    points = math.prod(text.count(",") + 1 for text in vary)
    if points > MOST_POINTS:
        raise UsageError(
            "vary", f"there are {points} points", f"at most {MOST_POINTS} while you wait",
            "vary fewer numbers, or order a sweep of a policy in force",
        )  # fmt: skip


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="POST", path="/v1/previews", name="tryPolicy", tag="policies",
        summary="Try a policy out on data, for its owner, before it is in force, too; nothing is recorded.",
        roles=PARTIES, handler=try_policy, query=NoQuery, body=PreviewRequest,
        gives=having("decision", "warnings"), refuses=(404, 409),
    ),
)  # fmt: skip
