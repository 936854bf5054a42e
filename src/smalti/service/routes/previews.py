"""What a policy would do to data, for whoever owns all of it; nothing is recorded."""

from typing import Annotated, Final

from pydantic import Field

from smalti.previewing import preview
from smalti.service.operations import (
    Answer,
    AnyOperation,
    Call,
    Described,
    NoQuery,
    Operation,
    answered,
    having,
)
from smalti.service.ordering import bound_for_owner
from smalti.service.parties import PARTIES
from smalti.service.routes.data import read_through

_Iri = Annotated[str, Field(max_length=4096)]


class PreviewRequest(Described):
    """What is tried out."""

    policy: Annotated[_Iri, Field(description="the uid of a policy in force of an owner of the target")]
    target: Annotated[_Iri, Field(description="a target that the asker owns, and that data is bound to")]
    party: Annotated[_Iri | None, Field(description="for whom; whom the policy names, when absent")] = None
    purpose: _Iri | None = None
    rule: Annotated[_Iri | None, Field(description="where several permissions match")] = None


def try_policy(call: Call[NoQuery, PreviewRequest]) -> Answer:
    """Try a policy out on the asker's data."""
    asked, registry = call.body, call.service.registry
    stored, bound = bound_for_owner(registry, call.asker, asked.policy, asked.target)
    with read_through(call, bound):
        tried = preview(
            registry, stored, asked.target, bound.place,
            party=asked.party, purpose=asked.purpose, rule=asked.rule,
        )  # fmt: skip
    return answered(tried)


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="POST", path="/v1/previews", name="tryPolicy", tag="policies",
        summary="Try a policy out on data, for its owner: columns, figures, and ten rows before and after.",
        roles=PARTIES, handler=try_policy, query=NoQuery, body=PreviewRequest,
        gives=having("decision", "warnings"), refuses=(404, 409),
    ),
)  # fmt: skip
