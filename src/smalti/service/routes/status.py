"""Who asks, whether the service works, and what it measures."""

from typing import Final

from smalti.service.measurements import MEDIA_TYPE
from smalti.service.operations import Answer, AnyOperation, Call, NoQuery, Operation, answered, having
from smalti.service.parties import ANYBODY, EVERYBODY, OPERATORS


def start(call: Call[NoQuery, None]) -> Answer:
    """Where to go on."""
    del call
    return answered({"openapi": "/openapi.json", "health": "/health", "self": "/v1/self"})


def health(call: Call[NoQuery, None]) -> Answer:
    """Whether the registry can be read; raises what is answered by 503."""
    call.service.authentication.check()
    return answered({"status": "ok"})


def metrics(call: Call[NoQuery, None]) -> Answer:
    """The measurements."""
    return Answer(call.service.measurements.text(), MEDIA_TYPE)


def read_self(call: Call[NoQuery, None]) -> Answer:
    """As whom the asker is recognised."""
    return answered({"party": call.asker.party, "roles": sorted(call.asker.roles)})


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="GET", path="/", name="start", tag="status", summary="Read where to go on.",
        roles=ANYBODY, handler=start, query=NoQuery, body=type(None), gives=having("openapi", "health"),
    ),
    Operation(
        method="GET", path="/health", name="health", tag="status",
        summary="Read whether the service works.",
        roles=ANYBODY, handler=health, query=NoQuery, body=type(None), gives=having("status"),
    ),
    Operation(
        method="GET", path="/metrics", name="metrics", tag="status",
        summary="Read counts and durations of requests, for Prometheus.",
        roles=OPERATORS, handler=metrics, query=NoQuery, body=type(None), media_types=(MEDIA_TYPE,),
    ),
    Operation(
        method="GET", path="/v1/self", name="readSelf", tag="status",
        summary="Read as whom the asker is recognised.",
        roles=EVERYBODY, handler=read_self, query=NoQuery, body=type(None), gives=having("party", "roles"),
    ),
)  # fmt: skip
