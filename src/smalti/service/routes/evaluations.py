"""Decisions in the form of the OpenID AuthZEN Authorization API 1.0, for gateways that enforce them.

Subject and resource are named by their ids, which are IRIs, and so need no type beside. What an evaluation
states that smalti does not understand refuses it.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from smalti.deciding import decide, logged_together
from smalti.errors import BackendError, InternalError, RegistryError, SmaltiError, UsageError
from smalti.json.text import Json
from smalti.policy.decide.decision import Decision
from smalti.policy.decide.names import iri
from smalti.service.disclosure import shown_decision
from smalti.service.operations import (
    AUTHZEN,
    Answer,
    AnyOperation,
    Call,
    Described,
    NoQuery,
    Operation,
    answered,
    having,
)
from smalti.service.parties import ANYBODY, ASKERS, Asker
from smalti.service.problems import RefusedError, refusal_of
from smalti.vocab.terms import IRI

_EVALUATION: Final = "/access/v1/evaluation"
_EVALUATIONS: Final = "/access/v1/evaluations"
_OF_MACHINE: Final = (BackendError, RegistryError, InternalError)
"""Errors that are about no evaluation by itself."""
MOST: Final = 100
"""Evaluations in one request."""
_Text = Annotated[str, Field(min_length=1, max_length=4096)]
_Texts = Annotated[tuple[_Text, ...], Field(max_length=100)]
_Value = _Text | StrictBool | StrictInt | StrictFloat
_Values = Annotated[tuple[_Value, ...], Field(min_length=1, max_length=100)]
_Stated = Annotated[Mapping[_Text, _Value | _Values], Field(max_length=100)]


class Subject(Described):
    """About whom it is asked."""

    type: Annotated[_Text, Field(description="any: the id alone tells who it is")]
    id: Annotated[_Text, Field(description="the IRI of a party")]
    properties: _Stated = Field(
        default_factory=dict, description="facts by operand, on the word of the party of the key or token"
    )


class Action(Described):
    """What is to be done."""

    name: Annotated[_Text, Field(description="a name such as `read`, or an IRI")]
    properties: _Stated = Field(default_factory=dict, description="parameters by word, such as `k`")


class Resource(Described):
    """To what."""

    type: Annotated[_Text, Field(description="any: the id alone tells what it is")]
    id: Annotated[_Text, Field(description="the IRI of a target")]


class Context(Described):
    """Under which circumstances."""

    purpose: _Text | None = None
    time: Annotated[_Text | None, Field(description="with its time zone; now when absent")] = None
    rule: Annotated[_Text | None, Field(description="the uid of the permission to rely on")] = None
    facts: _Stated = Field(default_factory=dict, description="as the properties of the subject")
    accepted: Annotated[_Texts, Field(description="clauses, by a subject that asks itself")] = ()
    agreed: Annotated[_Text | None, Field(description="when the agreement was made")] = None
    fulfilled: Annotated[_Texts, Field(description="uids of duties that were fulfilled")] = ()
    duties: Literal["fulfilled", "not-violated"] = "fulfilled"
    understands_limits: Annotated[
        bool, Field(description="the asker applies the limits of a grant; otherwise a limited one denies")
    ] = False


class Parts(Described):
    """An evaluation, or a part of one."""

    subject: Subject | None = None
    action: Action | None = None
    resource: Resource | None = None
    context: Context | None = None


class Evaluation(Described):
    """One evaluation."""

    subject: Subject
    action: Action
    resource: Resource
    context: Context = Context()


class Options(Described):
    """How several evaluations are done."""

    evaluations_semantic: Annotated[
        Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"],
        Field(alias="evaluations_semantic"),
    ] = "execute_all"


class Evaluations(Parts):
    """Several evaluations, with what they have in common."""

    evaluations: Annotated[tuple[Parts, ...], Field(max_length=MOST)] = ()
    options: Options = Options()


_SHOWN: Final = ("unconditional", "reasons", "grants", "remedies")
"""What of a decision is told beside it."""
_LAST: Final = {"execute_all": None, "deny_on_first_deny": False, "permit_on_first_permit": True}
"""The decision after which no other one is made."""


def evaluate(call: Call[NoQuery, Evaluation]) -> Answer:
    """Decide one evaluation."""
    _check_asks(call.asker, call.body.subject)
    return answered(_decided(call, call.body))


def evaluate_all(call: Call[NoQuery, Evaluations]) -> Answer:
    """Decide several evaluations in their order; without any, what stands for itself."""
    asked = call.body
    if not asked.evaluations:
        single = _complete(asked, Parts())
        _check_asks(call.asker, single.subject)
        return answered(_decided(call, single))
    for subject in (asked.subject, *(each.subject for each in asked.evaluations)):
        if subject is not None:
            _check_asks(call.asker, subject)
    # The request itself was counted as one.
    call.service.rates.admit_party(call.asker.party, len(asked.evaluations) - 1)
    with logged_together(call.service.registry):
        each = list(_each(call))
    return answered({"evaluations": each})


def describe(call: Call[NoQuery, None]) -> Answer:
    """Where to ask."""
    address = call.service.configuration.public_address
    return answered(
        {
            "policy_decision_point": address,
            "access_evaluation_endpoint": address + _EVALUATION,
            "access_evaluations_endpoint": address + _EVALUATIONS,
        }
    )


def _each(call: Call[NoQuery, Evaluations]) -> Iterator[Json]:
    asked = call.body
    for parts in asked.evaluations:
        try:
            decided = _decided(call, _complete(parts, asked))
        except (SmaltiError, RefusedError) as error:
            if isinstance(error, _OF_MACHINE):
                raise
            decided = _failed(error)
        yield decided
        if decided["decision"] is _LAST[asked.options.evaluations_semantic]:
            return


def _complete(parts: Parts, common: Parts) -> Evaluation:
    """An evaluation with what it has in common with others.

    Raises:
        UsageError: a part is missing.
    """
    subject = parts.subject or common.subject
    action, resource = parts.action or common.action, parts.resource or common.resource
    if subject is None or action is None or resource is None:
        raise UsageError("evaluation", "subject, action or resource is missing", "all three of them")
    context = parts.context or common.context or Context()
    return Evaluation(subject=subject, action=action, resource=resource, context=context)


def _check_asks(asker: Asker, subject: Subject) -> None:
    """Refuse to tell about somebody else whoever is no gateway."""
    if asker.asks_for_others or iri(subject.id, "subject") == asker.party:
        return
    raise RefusedError(
        403,
        "forbidden",
        "the subject is another party than that of the key or token: it is for the role gateway",
    )


def _decided(call: Call[NoQuery, Evaluation] | Call[NoQuery, Evaluations], asked: Evaluation) -> Json:
    asker, context = call.asker, asked.context
    party = iri(asked.subject.id, "subject")
    if context.accepted and party != asker.party:
        raise UsageError(
            "context: accepted", "clauses bind whoever accepts them", "the subject itself as the asker",
            "leave it out",
        )  # fmt: skip
    facts = tuple(_written({**asked.subject.properties, **_apart(asked)}, "properties, facts"))
    decision = decide(
        party=party,
        action=asked.action.name,
        target=asked.resource.id,
        purpose=context.purpose,
        rule=context.rule,
        time=context.time,
        facts=facts,
        stated_by=_on_the_word_of(asker.party, party, facts),
        accepted=context.accepted,
        on_behalf_of=party if context.accepted else None,
        agreed=context.agreed,
        parameters=tuple(_written(asked.action.properties, "action: properties")),
        fulfilled=context.fulfilled,
        duties=context.duties,
        understands_limits=context.understands_limits,
        asked_by=None if party == asker.party else asker.party,
        registry=call.service.registry,
    )
    return {"decision": decision.is_permitted, "context": _context(call, decision)}


def _apart(asked: Evaluation) -> _Stated:
    """The facts of the context.

    Raises:
        UsageError: the subject's properties state one of them, too.
    """
    facts = asked.context.facts
    if asked.subject.properties.keys() & facts.keys():
        raise UsageError("context: facts", "a property of the subject states the same", "each fact once")
    return facts


def _written(stated: _Stated, where: str) -> Iterator[str]:
    """What is stated as texts `NAME=VALUE`, one for each of several values."""
    for name, value in stated.items():
        if "=" in name:
            raise UsageError(where, "a name has a `=`", "a word or an IRI")
        for each in value if isinstance(value, tuple) else (value,):
            yield f"{name}={str(each).lower() if isinstance(each, bool) else each}"


def _on_the_word_of(stating: IRI, party: IRI, facts: tuple[str, ...]) -> tuple[str, ...]:
    """Whose word facts are; a party's own is not stated."""
    if stating == party:
        return ()
    return tuple(dict.fromkeys(f"{fact.partition('=')[0]}={stating}" for fact in facts))


def _context(call: Call[NoQuery, Evaluation] | Call[NoQuery, Evaluations], decision: Decision) -> Json:
    """Why, as far as the asker may see it; of what is permitted, with which limits."""
    shown = shown_decision(call.service.registry, call.asker, decision)
    code = "permitted" if decision.is_permitted else "not-permitted"
    return {"code": code} | {
        name: shown[name] for name in ("unconditional", "reasons", "grants", "remedies")
    }


def _failed(error: Exception) -> Json:
    refusal = refusal_of(error)
    return {
        "decision": False,
        "context": {
            "code": refusal.code,
            "error": {"status": 400, "message": refusal.detail},
            **refusal.more,
        },
    }


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="GET", path="/.well-known/authzen-configuration", name="readAuthzenConfiguration",
        tag=AUTHZEN, summary="Read where to ask for decisions in AuthZEN's form.", roles=ANYBODY,
        handler=describe, query=NoQuery, body=type(None),
        gives=having("policy_decision_point", "access_evaluation_endpoint"),
    ),
    Operation(
        method="POST", path=_EVALUATION, name="evaluate", tag=AUTHZEN,
        summary="Decide whether a subject may do something: the asker itself, or for gateways anybody.",
        roles=ASKERS, handler=evaluate, query=NoQuery, body=Evaluation, gives=having("decision"),
        malformed=400, is_short=True,
    ),
    Operation(
        method="POST", path=_EVALUATIONS, name="evaluateAll", tag=AUTHZEN,
        summary="Decide several evaluations, all of them or up to the first denial or permit.",
        roles=ASKERS, handler=evaluate_all, query=NoQuery, body=Evaluations, malformed=400,
    ),
)  # fmt: skip
