"""Decisions, and why they are as they are."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from smalti.deciding import decide, logged_together
from smalti.json.text import Json
from smalti.policy.decide.decision import Decision
from smalti.service.disclosure import shown_decision
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
from smalti.service.parties import PARTIES

_Text = Annotated[str, Field(max_length=4096)]
_Texts = Annotated[tuple[_Text, ...], Field(max_length=100)]
MOST: Final = 100
"""Decisions of one request."""
_DECISION: Final = having("effect", "permitted", "unconditional", "request", "reasons", "grants")


class DecisionRequest(Described):
    """What is asked; who asks is told by the key or token alone."""

    action: Annotated[_Text, Field(description="a name such as `read`, or an IRI")]
    targets: Annotated[_Texts, Field(min_length=1, description="IRIs; several are requested jointly")]
    purpose: Annotated[_Text | None, Field(description="a name such as `marketing`, or an IRI")] = None
    rule: Annotated[_Text | None, Field(description="the uid of the permission to rely on")] = None
    time: Annotated[datetime | None, Field(description="with its time zone; now when absent")] = None
    facts: Annotated[_Texts, Field(description="on the asker's own word, each `OPERAND=VALUE`")] = ()
    accepted: Annotated[
        _Texts, Field(description="clauses that the asker accepts, each `CLAUSE` or `CLAUSE=VALUE`")
    ] = ()
    agreed: Annotated[datetime | None, Field(description="when the agreement was made")] = None
    parameters: Annotated[_Texts, Field(description="each `WORD=VALUE`, such as `k=20`")] = ()
    fulfilled: Annotated[_Texts, Field(description="uids of duties that were fulfilled")] = ()
    duties: Literal["fulfilled", "not-violated"] = "fulfilled"
    understands_limits: Annotated[
        bool, Field(description="the asker applies the limits of a grant; otherwise a limited one denies")
    ] = False


class DecisionRequests(Described):
    """Several requests of the asker."""

    decisions: Annotated[tuple[DecisionRequest, ...], Field(min_length=1, max_length=MOST)]


def decide_one(call: Call[NoQuery, DecisionRequest]) -> Answer:
    """Decide one request."""
    return answered(_shown(call, _decided(call, explain=False)))


def explain_one(call: Call[NoQuery, DecisionRequest]) -> Answer:
    """Decide one request, and show each rule that was considered."""
    return answered(_shown(call, _decided(call, explain=True)))


def decide_all(call: Call[NoQuery, DecisionRequests]) -> Answer:
    """Decide several requests, each by itself, in their order: all of them, or none is logged."""
    requests = call.body.decisions
    # The request itself was counted as one.
    call.service.rates.admit_party(call.asker.party, len(requests) - 1)
    with logged_together(call.service.registry):
        shown = [_shown(call, _decision(call, each, explain=False)) for each in requests]
    return answered({"decisions": shown})


def _decided(call: Call[NoQuery, DecisionRequest], *, explain: bool) -> Decision:
    return _decision(call, call.body, explain=explain)


def _decision(call: Call[NoQuery, Any], asked: DecisionRequest, *, explain: bool) -> Decision:
    return decide(
        party=call.asker.party,
        action=asked.action,
        target=asked.targets,
        purpose=asked.purpose,
        rule=asked.rule,
        time=asked.time,
        facts=asked.facts,
        accepted=asked.accepted,
        on_behalf_of=call.asker.party if asked.accepted else None,
        agreed=asked.agreed,
        parameters=asked.parameters,
        fulfilled=asked.fulfilled,
        duties=asked.duties,
        understands_limits=asked.understands_limits,
        explain=explain,
        registry=call.service.registry,
    )


def _shown(call: Call[NoQuery, Any], decision: Decision) -> Json:
    return shown_decision(call.service.registry, call.asker, decision)


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="POST", path="/v1/decisions", name="decide", tag="decisions",
        summary="Decide whether the asker may do something, by the policies in force; it is logged.",
        roles=PARTIES, handler=decide_one, query=NoQuery, body=DecisionRequest, gives=_DECISION,
        is_short=True,
    ),
    Operation(
        method="POST", path="/v1/decisions/batch", name="decideAll", tag="decisions",
        summary="Decide several requests of the asker, each by itself; all are logged, or none is decided.",
        roles=PARTIES, handler=decide_all, query=NoQuery, body=DecisionRequests, gives=having("decisions"),
    ),
    Operation(
        method="POST", path="/v1/explanations", name="explain", tag="decisions",
        summary="Decide likewise, and report each part of each rule that the asker may see.",
        roles=PARTIES, handler=explain_one, query=NoQuery, body=DecisionRequest,
        gives=having("effect", "permitted", "considered"),
    ),
)  # fmt: skip
