"""Who owns a source, and the respondents that withdrew from it: for its owners alone."""

from typing import Annotated, Any, Final

from pydantic import Field

from smalti.policy.decide.names import iri
from smalti.service.operations import (
    NOTHING,
    Answer,
    AnyOperation,
    Call,
    Described,
    NoQuery,
    Operation,
    answered,
    having,
)
from smalti.service.parties import PARTIES
from smalti.service.problems import not_found
from smalti.vocab.terms import IRI

_Iri = Annotated[str, Field(max_length=4096)]
MOST_WITHDRAWN: Final = 10_000
"""Respondents of one request."""


class OfTarget(Described):
    """About which target."""

    target: Annotated[_Iri, Field(description="a target that the asker owns")]


class Ownership(OfTarget):
    """An owner of a source."""

    party: Annotated[_Iri, Field(description="the owner")]


class Withdrawal(OfTarget):
    """Who is left out of every later run."""

    respondents: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(min_length=1, max_length=MOST_WITHDRAWN, description="values of the respondent column"),
    ]
    column: Annotated[
        str | None, Field(max_length=4096, description="that column; the one that runs used, when absent")
    ] = None


def list_owners(call: Call[OfTarget, None]) -> Answer:
    """The owners of a target, for one of them."""
    target = _owned(call, call.query.target)
    return answered(_owners(call, target))


def add_owner(call: Call[NoQuery, Ownership]) -> Answer:
    """Add an owner of a source."""
    target = _owned(call, call.body.target)
    call.service.registry.add_owner(target, iri(call.body.party, "party"), by=call.asker.party)
    return answered(_owners(call, target), 201)


def remove_owner(call: Call[Ownership, None]) -> Answer:
    """Remove an owner of a source."""
    target = _owned(call, call.query.target)
    call.service.registry.remove_owner(target, iri(call.query.party, "party"), by=call.asker.party)
    return NOTHING


def withdraw(call: Call[NoQuery, Withdrawal]) -> Answer:
    """Leave respondents out of every later run on a target, and on what is made from it."""
    target, asked = _owned(call, call.body.target), call.body
    count = call.service.registry.withdraw(
        target, asked.respondents, by=call.asker.party, column=asked.column
    )
    return answered({"target": target, "withdrawn": count}, 201)


def count_withdrawn(call: Call[OfTarget, None]) -> Answer:
    """How many respondents withdrew from a target."""
    target = _owned(call, call.query.target)
    count = call.service.registry.count_withdrawn(target, by=call.asker.party)
    return answered({"target": target, "withdrawn": count})


def _owned(call: Call[Any, Any], target: str) -> IRI:
    """A target, if the asker is one of its owners.

    Raises:
        RefusedError: it is not, or nobody knows the target.
    """
    named = iri(target, "target")
    if call.asker.party not in call.service.registry.full_owners(named):
        raise not_found()
    return named


def _owners(call: Call[Any, Any], target: IRI) -> dict[str, Any]:
    return {"target": target, "owners": sorted(call.service.registry.owners(target))}


_OWNERS: Final = having("target", "owners")
_WITHDRAWN: Final = having("target", "withdrawn")
OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="GET", path="/v1/owners", name="listOwners", tag="targets",
        summary="List the owners of a target, as one of them.",
        roles=PARTIES, handler=list_owners, query=OfTarget, body=type(None), gives=_OWNERS, refuses=(404,),
    ),
    Operation(
        method="POST", path="/v1/owners", name="addOwner", tag="targets",
        summary="Add an owner of a source, on the word of an owner.",
        roles=PARTIES, handler=add_owner, query=NoQuery, body=Ownership, gives=_OWNERS, status=201,
        refuses=(404,),
    ),
    Operation(
        method="DELETE", path="/v1/owners", name="removeOwner", tag="targets",
        summary="Remove an owner of a source; its policies about the source no longer count.",
        roles=PARTIES, handler=remove_owner, query=Ownership, body=type(None), status=204, refuses=(404,),
    ),
    Operation(
        method="POST", path="/v1/withdrawals", name="withdraw", tag="targets",
        summary="Leave respondents out of every later run on a target; kept as keyed digests.",
        roles=PARTIES, handler=withdraw, query=NoQuery, body=Withdrawal, gives=_WITHDRAWN, status=201,
        refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/withdrawals", name="countWithdrawn", tag="targets",
        summary="Count the respondents that withdrew from a target.",
        roles=PARTIES, handler=count_withdrawn, query=OfTarget, body=type(None), gives=_WITHDRAWN,
        refuses=(404,),
    ),
)  # fmt: skip
