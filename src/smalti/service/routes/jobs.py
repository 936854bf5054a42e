"""Jobs: ordered, listed, followed, stopped, retried; workers of the registry do them."""

import json
import shutil
from collections.abc import Callable
from typing import Annotated, Final

from pydantic import Field, RootModel

from smalti.engine.jobs import queue
from smalti.engine.jobs.requests import JobKind
from smalti.engine.registry.access import Role
from smalti.engine.registry.job_entries import StoredJob
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

JOB: Final = having("id", "kind", "state", "phase", "reason", "exitCode", "target", "versions", "submitted")
_HIDDEN: Final = ("request", "out", "report", "worker")
"""What of a job is about the machine, or about data."""


class Ordered(RootModel[Annotated[Order, Field(discriminator="kind")]]):
    """A job, by its kind."""


class JobList(Paged):
    """Which jobs."""

    kind: JobKind | None = None


def order_job(call: Call[NoQuery, Ordered]) -> Answer:
    """Queue a job."""
    service = call.service
    job_id, folder = new_folder(service.outputs)
    try:
        request = request_for(service.registry, call.asker, call.body.root, folder)
        job = queue.submit(service.registry, request, party=call.asker.party, job_id=job_id)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return answered(shown(job), 202, {"Location": f"/v1/jobs/{job.id}"})


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
    return answered({"items": [shown(job) for job in these], "next": following})


def read_job(call: Call[NoQuery, None]) -> Answer:
    """One job."""
    return answered(shown(job_of(call)))


def follow_job(call: Call[NoQuery, None]) -> Answer:
    """A job as it is now, and after each change until it is over."""
    job_of(call)
    return Answer(Events(_look(call)), "text/event-stream")


def stop_job(call: Call[NoQuery, None]) -> Answer:
    """Stop a job."""
    return answered(shown(queue.stop(call.service.registry, job_of(call).id)), 202)


def retry_job(call: Call[NoQuery, None]) -> Answer:
    """Queue a job again."""
    job = job_of(call)
    if job.party != call.asker.party:
        raise not_found()
    return answered(shown(queue.retry(call.service.registry, job.id)), 202)


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
        return f"event: job\ndata: {json.dumps(shown(job))}\n\n", job.state.is_over

    return look


def _without_places(text: str | None, request: Json) -> str | None:
    """A text with the names of a request's members in the place of paths: where a file is, nobody sees."""
    if text is None:
        return None
    places = {value: name for name, value in request.items() if isinstance(value, str) and value[:1] == "/"}
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place, f"the {places[place]}")
    return text


def shown(job: StoredJob) -> Json:
    """A job as others than its worker may see it."""
    document = job_json(job, queue.request_of(job))
    document["reason"] = _without_places(document["reason"], document["request"])
    has_report = document["report"] is not None
    return {name: value for name, value in document.items() if name not in _HIDDEN} | {
        "hasReport": has_report
    }


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
