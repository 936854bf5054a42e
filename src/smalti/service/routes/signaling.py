"""A provider's data plane for control planes of data spaces (Data Plane Signaling); experimental.

Messages are those of the specification ("Data Plane Signaling", Eclipse, `https://w3id.org/dspace-sig/v1.0`),
and of Eclipse EDC, which calls some of their members otherwise. Only pull transfers over HTTP are done.
"""

import uuid
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Annotated, Final

from pydantic import AliasChoices, ConfigDict, Field, JsonValue

from smalti.engine.jobs import queue
from smalti.engine.jobs.requests import Run
from smalti.engine.registry.data_flows import FlowState, NewFlow, StoredFlow
from smalti.policy.decide.names import iri
from smalti.service import flows
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
from smalti.service.ordering import RunJob, new_folder, request_for
from smalti.service.parties import CONTROL_PLANES, Asker
from smalti.service.parties import PARTIES as AS_PARTY
from smalti.service.problems import RefusedError, not_found

_PLACE: Final = "/signaling/v1/dataflows"
_PROFILES: Final = frozenset({flows.PULL, "HttpData-PULL"})
_STATUS: Final = having("dataFlowId", "state")
_Text = Annotated[str, Field(min_length=1, max_length=4096)]
_Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9._~:-]{1,255}$")]
_Object = Annotated[dict[str, JsonValue], Field(max_length=100)]


class Message(Described):
    """A message about a data flow that is there."""

    message_id: _Text | None = None
    reason: _Text | None = None


class Resumption(Described):
    """That a data flow goes on."""

    message_id: _Text | None = None
    data_address: Annotated[
        _Object | None, Field(max_length=0, description="empty: the consumer pulls")
    ] = None


class DataFlow(Described):
    """What is to flow to whom, by which agreement; what is no member of this is refused."""

    model_config = ConfigDict(populate_by_name=False)

    message_id: _Text
    participant_id: Annotated[_Text, Field(description="the party of the key or token")]
    counter_party_id: Annotated[_Text, Field(description="the IRI of the party that gets the output")]
    dataspace_context: _Text
    data_flow_id: Annotated[
        _Id, Field(validation_alias=AliasChoices("dataFlowId", "processId"), description="or `processId`")
    ]
    agreement_id: Annotated[_Text, Field(description="the uid of a policy in force, or of a rule of it")]
    dataset_id: Annotated[_Text, Field(description="the IRI of a target of the party")]
    profile: Annotated[
        _Text,
        Field(validation_alias=AliasChoices("profile", "transferType"), description="or `transferType`"),
    ]
    claims: Annotated[
        _Object, Field(description="of them, those named by IRIs are facts on the party's word")
    ]
    labels: tuple[_Text, ...] | None = None
    metadata: Annotated[_Object | None, Field(description="of it, `purpose` counts; nothing else does")] = (
        None
    )
    callback_address: Annotated[_Text | None, Field(description="below the configured address")] = None
    data_address: Annotated[None, Field(description="none: the consumer pulls")] = None


def prepare(call: Call[NoQuery, DataFlow]) -> Answer:
    """Note a data flow that can be started."""
    return answered(flows.status_of(_added(call)))


def start(call: Call[NoQuery, DataFlow]) -> Answer:
    """Order the job of a data flow."""
    flow = call.service.registry.flows.get(call.asker.party, call.body.data_flow_id)
    if flow is None:
        flow = _added(call)
    elif flow.state is not FlowState.PREPARED or not _is_same(call, flow):
        raise RefusedError(409, "conflict", "there is another data flow of this id, or it was started")
    started = _ordered(call, flow)
    place = {"Location": f"{_PLACE}/{started.id}/status"}
    return answered(flows.status_of(started), 202, place)


def read_status(call: Call[NoQuery, None]) -> Answer:
    """What became of a data flow."""
    return answered(flows.status_of(flows.advanced(call.service, _flow(call))))


def suspend(call: Call[NoQuery, Message]) -> Answer:
    """Hand nothing over for a while."""
    return answered(flows.status_of(_moved(call, [FlowState.STARTED], FlowState.SUSPENDED)))


def resume(call: Call[NoQuery, Resumption]) -> Answer:
    """Hand the output over again."""
    flow = _moved(call, [FlowState.SUSPENDED], FlowState.STARTED)
    return answered(flows.status_of(flow) | {"dataAddress": flows.address_of(call.service, flow)})


def terminate(call: Call[NoQuery, Message]) -> Answer:
    """End a data flow with its job and its keys."""
    before = [state for state in FlowState if not state.is_over]
    flow = _moved(call, before, FlowState.TERMINATED)
    flows.close(call.service, flow)
    return answered(flows.status_of(flow))


def complete(call: Call[NoQuery, Message]) -> Answer:
    """End a data flow whose consumer has what it wanted."""
    flow = _moved(call, [FlowState.STARTED], FlowState.COMPLETED)
    flows.close(call.service, flow)
    return answered(flows.status_of(flow))


def _added(call: Call[NoQuery, DataFlow]) -> StoredFlow:
    flow = _wanted(call)
    if call.service.registry.flows.get(flow.party, flow.id) is not None:
        raise RefusedError(409, "conflict", "there is a data flow of this id")
    return call.service.registry.flows.add(flow)


def _wanted(call: Call[NoQuery, DataFlow]) -> NewFlow:
    """What a message asks for.

    Raises:
        RefusedError: it is for another party, by another profile, or its agreement names nothing.
    """
    asked, party = call.body, call.asker.party
    if asked.participant_id != party:
        raise RefusedError(403, "forbidden", "the participant is not the party of the key or token")
    if asked.profile not in _PROFILES:
        raise RefusedError(422, "invalid", f"the one profile of transfers is {flows.PULL}")
    target = iri(asked.dataset_id, "datasetId")
    policy, rule = flows.agreed(call.service, party, asked.agreement_id, target)
    plane = flows.control_plane_of(call.service, party)
    return NewFlow(
        key=uuid.uuid4().hex, id=asked.data_flow_id, party=party,
        counterparty=iri(asked.counter_party_id, "counterPartyId"), target=target, policy=policy, rule=rule,
        callback=flows.callback_of(plane, asked.callback_address),
    )  # fmt: skip


def _is_same(call: Call[NoQuery, DataFlow], flow: StoredFlow) -> bool:
    wanted = _wanted(call)
    return (wanted.counterparty, wanted.target, wanted.policy, wanted.rule) == (
        flow.counterparty, flow.target, flow.policy, flow.rule,
    )  # fmt: skip


def _ordered(call: Call[NoQuery, DataFlow], flow: StoredFlow) -> StoredFlow:
    """Queue the job of a prepared flow, as the party itself would order it for the consumer.

    Where it may not be ordered, the flow stays prepared.
    """
    service, metadata = call.service, call.body.metadata or {}
    facts = tuple(_facts(call.body.claims))
    purpose = metadata.get("purpose")
    order = RunJob.model_validate(
        {
            "kind": "run", "policy": flow.policy, "target": flow.target, "rule": flow.rule,
            "recipient": flow.counterparty, "facts": facts, "purpose": purpose,
        }
    )  # fmt: skip
    job_id, folder = new_folder(service.outputs)
    try:
        request = request_for(service.registry, Asker(flow.party, AS_PARTY), order, folder)
        if isinstance(request, Run):
            names = dict.fromkeys(fact.partition("=")[0] for fact in facts)
            request = replace(request, stated_by=tuple(f"{name}={flow.party}" for name in names))
        # Before the job is queued, so that what it publishes is this flow's from the beginning.
        started = service.registry.flows.move(
            flow.key,
            [FlowState.PREPARED],
            FlowState.STARTING,
            {"job": job_id, "out": str(folder / "published")},
        )
        if started is None:
            raise RefusedError(409, "conflict", "it was started meanwhile")
    except BaseException:
        flows.remove(folder)
        raise
    try:
        queue.submit(service.registry, request, party=flow.party, job_id=job_id)
    except BaseException:
        flows.remove(folder)
        failed = {"error": "its job could not be ordered"}
        service.registry.flows.move(flow.key, [FlowState.STARTING], FlowState.TERMINATED, failed)
        raise
    current = service.registry.flows.get(flow.party, flow.id) or started
    if current.state.is_over:  # it was terminated before there was a job to stop
        flows.close(service, current)
    return current


def _facts(claims: _Object) -> Iterator[str]:
    """Claims whose names are IRIs, each with one value or several; others say nothing to a policy."""
    for name, value in claims.items():
        if ":" not in name or "=" in name:
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, bool):
                yield f"{name}={str(each).lower()}"
            elif isinstance(each, str | int | float) and each != "":
                yield f"{name}={each}"


def _flow(
    call: Call[NoQuery, None] | Call[NoQuery, Message] | Call[NoQuery, Resumption],
) -> StoredFlow:
    """The data flow of the path.

    Raises:
        RefusedError: the party has none of that id.
    """
    flow = call.service.registry.flows.get(call.asker.party, call.path["id"])
    if flow is None:
        raise not_found()
    return flow


def _moved(
    call: Call[NoQuery, Message] | Call[NoQuery, Resumption],
    before: Collection[FlowState],
    state: FlowState,
) -> StoredFlow:
    """The data flow of the path in another state; in the one that it has already, as it is."""
    flow = flows.advanced(call.service, _flow(call))
    moved = call.service.registry.flows.move(flow.key, before, state)
    if moved is None and flow.state is not state:
        raise RefusedError(409, "conflict", f"the data flow is {flow.state}")
    return moved or flow


def _operation(verb: str, summary: str, **others: object) -> AnyOperation:
    described = {
        "method": "POST", "path": f"{_PLACE}/{{id}}/{verb}", "name": f"{verb}DataFlow", "tag": "signaling",
        "summary": f"{summary} (experimental)", "roles": CONTROL_PLANES, "query": NoQuery, "body": Message,
        "gives": _STATUS, "refuses": (404, 409), "may_be_empty": True,
    }  # fmt: skip
    return Operation(**(described | others))  # type: ignore[arg-type]


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    _operation(
        "prepare", "Check a data flow, and note it.", path=f"{_PLACE}/prepare", body=DataFlow,
        may_be_empty=False, handler=prepare,
    ),
    _operation(
        "start", "Order the job of a data flow; the control plane is told once there is an output.",
        path=f"{_PLACE}/start", body=DataFlow, may_be_empty=False, handler=start, status=202,
    ),
    _operation("status", "Read what became of a data flow.", method="GET", name="readDataFlow",
               body=type(None), handler=read_status),
    _operation("suspend", "Refuse downloads of a data flow's output for a while.", handler=suspend),
    _operation("resume", "Allow them again.", body=Resumption, handler=resume),
    _operation("terminate", "Stop a data flow's job, and end its keys.", handler=terminate),
    _operation("completed", "End a data flow whose consumer is done.", handler=complete),
)  # fmt: skip
