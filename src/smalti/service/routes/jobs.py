"""Jobs: ordered, listed, followed, stopped, retried; workers of the registry do them."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, RootModel

from smalti.engine.jobs import queue
from smalti.engine.jobs.requests import JobKind, JobRequest, PolicyOnData, page_of
from smalti.engine.registry.access import Role
from smalti.engine.registry.job_entries import JobState, StoredJob
from smalti.engine.registry.registry import Registry
from smalti.json.jobs import job_json
from smalti.json.text import Json
from smalti.service.operations import (
    Answer,
    AnyOperation,
    Call,
    Events,
    NoQuery,
    Operation,
    answered,
    having,
    listing,
)
from smalti.service.ordering import Order, new_folder, request_for
from smalti.service.pages import Paged, closed_cursor, opened_cursor
from smalti.service.parties import PARTIES, READERS, WATCHERS, Asker
from smalti.service.problems import not_found
from smalti.vocab.terms import IRI

JOB: Final = having("id", "kind", "state", "phase", "reason", "exitCode", "target", "versions", "submitted")
_HIDDEN: Final = ("request", "out", "report", "worker")
"""What of a job is about the machine, or about data."""
_PLACES: Final = ("data", "model", "samples", "members", "others", "population")
"""What jobs without a policy read."""
_FOR_OWNERS: Final = "it failed, for a reason that only an owner of all of its data is told: ask one"


class Ordered(RootModel[Annotated[Order, Field(discriminator="kind")]]):
    """A job, by its kind."""


class JobList(Paged):
    """Which jobs."""

    kind: JobKind | None = None


def order_job(call: Call[NoQuery, Ordered]) -> Answer:
    """Queue a job."""
    registry, asker, order = call.service.registry, call.asker, call.body.root
    return queued(call, lambda folder: request_for(registry, asker, order, folder))


def queued(call: Call[NoQuery, Any], request_in: Callable[[Path], JobRequest]) -> Answer:
    """Queue a job in a folder of its own, which is removed where it is not queued.

    Args:
        call: of whoever orders it.
        request_in: what to do, with the folder for its documents and its output.
    """
    service = call.service
    job_id, folder = new_folder(service.outputs)
    try:
        job = queue.submit(service.registry, request_in(folder), party=call.asker.party, job_id=job_id)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return answered(shown(service.registry, call.asker, job), 202, {"Location": f"/v1/jobs/{job.id}"})


def list_jobs(call: Call[JobList, None]) -> Answer:
    """The asker's jobs; of operators, all."""
    query, asker = call.query, call.asker
    listed = queue.jobs(
        call.service.registry,
        party=None if _operates(asker) else asker.party,
        kinds=() if query.kind is None else (query.kind,),
        after=None if query.cursor is None else opened_cursor(query.cursor),
        limit=query.limit + 1,
    )
    these = listed[: query.limit]
    following = closed_cursor(these[-1].id) if len(listed) > query.limit else None
    return answered(
        {"items": [shown(call.service.registry, asker, job) for job in these], "next": following}
    )


def read_job(call: Call[NoQuery, None]) -> Answer:
    """One job."""
    return answered(shown(call.service.registry, call.asker, job_of(call)))


def follow_job(call: Call[NoQuery, None]) -> Answer:
    """A job as it is now, and after each change until it is over."""
    job_of(call)
    streams = call.service.streams
    # The function holds the stream: where nobody ever reads it, both go.
    ended = partial(streams.end, streams.begin(call.asker.party))
    return Answer(Events(_look(call), ended), "text/event-stream")


def stop_job(call: Call[NoQuery, None]) -> Answer:
    """Stop a job."""
    registry = call.service.registry
    return answered(shown(registry, call.asker, queue.stop(registry, job_of(call).id)), 202)


def retry_job(call: Call[NoQuery, None]) -> Answer:
    """Queue a job again."""
    registry, job = call.service.registry, job_of(call)
    if job.party != call.asker.party:
        raise not_found()
    return answered(shown(registry, call.asker, queue.retry(registry, job.id)), 202)


def read_report(call: Call[NoQuery, None]) -> Answer:
    """The report of a job, for whoever ordered it."""
    job = job_of(call)
    report = None if job.result is None else job.result.report
    if job.party != call.asker.party or report is None or not report.is_file():
        raise not_found()
    return Answer(report)


def _operates(asker: Asker) -> bool:
    return Role.OPERATOR in asker.roles


def job_of(call: Call[NoQuery, None]) -> StoredJob:
    """The job of the path.

    Raises:
        RefusedError: there is none, or it is another party's, and the asker is no operator.
    """
    job = call.service.registry.jobs.get(call.path["id"])
    if job is None or not (_operates(call.asker) or job.party == call.asker.party):
        raise not_found()
    return job


def _look(call: Call[NoQuery, None]) -> Callable[[], tuple[str, bool]]:
    """What to look for: the event of a change, empty where there is none; and whether it was the last."""
    seen: list[object] = []

    def look() -> tuple[str, bool]:
        # A key that was revoked meanwhile sees no more of it.
        call.recognise()
        job = job_of(call)
        now = (job.state, job.attempts, job.phase, job.wants_stop)
        if [now] == seen:
            return "", job.state.is_over
        seen[:] = [now]
        return (
            f"event: job\ndata: {json.dumps(shown(call.service.registry, call.asker, job))}\n\n",
            job.state.is_over,
        )

    return look


def _without_places(text: str | None, request: Json) -> str | None:
    """A text with the names of a request's members in the place of paths: where a file is, nobody sees."""
    if text is None:
        return None
    places = {value: name for name, value in request.items() if isinstance(value, str) and value[:1] == "/"}
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place, f"the {places[place]}")
    return text


def shown(registry: Registry, asker: Asker, job: StoredJob) -> Json:
    """A job as somebody who may see it at all is shown it, and why it failed as its data's owner alone."""
    request = queue.request_of(job)
    document = job_json(job, request)
    if job.state is JobState.FAILED and not _owns_what_is_read(registry, asker, job, request):
        document["reason"] = _FOR_OWNERS
    document["reason"] = _without_places(document["reason"], document["request"])
    has_report = document["report"] is not None
    document["about"] = _about(registry, request) if job.party == asker.party else None
    page = page_of(request)
    return {name: value for name, value in document.items() if name not in _HIDDEN} | {
        "hasReport": has_report,
        "hasPage": has_report and page is not None and Path(page).is_file(),
    }


def _about(registry: Registry, request: JobRequest) -> str | None:
    """The target that somebody named when it ordered a job; of a study the model's, or that of its samples.

    None: it is bound to another file by now, or it is about nobody's data.
    """
    if isinstance(request, PolicyOnData):
        return request.target
    named = (getattr(request, name, None) for name in ("model", "samples", "data"))
    place = next(filter(None, named), None)
    return next((each.target for each in registry.bindings.in_force() if str(each.place) == place), None)


def _owns_what_is_read(registry: Registry, asker: Asker, job: StoredJob, request: JobRequest) -> bool:
    """Whether somebody ordered a job, and owns all of what it reads.

    A job is done on the word of the policy's issuer, so that its messages are written for an owner: they
    may tell how many people, in which records, stand against a release.
    """
    if job.party != asker.party:
        return False
    if isinstance(request, PolicyOnData):
        return asker.party in registry.full_owners(IRI(request.target))
    places = {getattr(request, name, None) for name in _PLACES} - {None}
    bound = registry.bindings.in_force()
    return places <= {str(each.place) for each in bound if asker.party in registry.full_owners(each.target)}


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="POST", path="/v1/jobs", name="orderJob", tag="jobs",
        summary="Queue a run, an audit, a sweep or an assessment; a worker of the registry does it.",
        roles=PARTIES, handler=order_job, query=NoQuery, body=Ordered, gives=JOB, status=202,
        refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/jobs", name="listJobs", tag="jobs",
        summary="List the asker's jobs, oldest first; operators see all.",
        roles=WATCHERS, handler=list_jobs, query=JobList, body=type(None), gives=listing(JOB),
    ),
    Operation(
        method="GET", path="/v1/jobs/{id}", name="readJob", tag="jobs", summary="Read a job.",
        roles=WATCHERS, handler=read_job, query=NoQuery, body=type(None), gives=JOB, refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/jobs/{id}/events", name="followJob", tag="jobs",
        summary="Follow a job by server-sent events until it is over.",
        roles=WATCHERS, handler=follow_job, query=NoQuery, body=type(None),
        media_types=("text/event-stream",), refuses=(404,),
    ),
    Operation(
        method="POST", path="/v1/jobs/{id}/stop", name="stopJob", tag="jobs",
        summary="Stop a job: it cleans up and publishes nothing.",
        roles=WATCHERS, handler=stop_job, query=NoQuery, body=type(None), gives=JOB, status=202,
        refuses=(404,),
    ),
    Operation(
        method="POST", path="/v1/jobs/{id}/retry", name="retryJob", tag="jobs",
        summary="Queue a job again that failed, was stopped or died; a release is charged anew.",
        roles=READERS, handler=retry_job, query=NoQuery, body=type(None), gives=JOB, status=202,
        refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/jobs/{id}/report", name="readReport", tag="jobs",
        summary="Read the report of a sweep, an assessment or a study, as whoever ordered it.",
        roles=READERS, handler=read_report, query=NoQuery, body=type(None), refuses=(404,),
    ),
)  # fmt: skip
