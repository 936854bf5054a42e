"""Jobs as JSON, without secrets: addresses of stores and servers, and settings of Spark, can hold some."""

import json
import re
from datetime import datetime
from typing import Any

from smalti.engine.jobs.requests import JobRequest, to_json
from smalti.engine.registry.job_entries import StoredJob

_ADDRESS = re.compile(r"(?<![a-z0-9+.-])(?!https?:)([a-z][a-z0-9+.-]*)://.*", re.IGNORECASE | re.DOTALL)
"""Of a store, a server or a cluster, and what follows it; and no IRI of the web."""
_HIDDEN = "***"


def without_address(text: str) -> str:
    """A text with the scheme alone of an address in it."""
    return _ADDRESS.sub(rf"\1://{_HIDDEN}", text)


def request_json(request: JobRequest) -> dict[str, Any]:
    """A request as it may be shown; not what `requests.from_json` reads, where something is hidden."""
    document: dict[str, Any] = json.loads(to_json(request))
    shown = {name: _shown(value) for name, value in document.items()}
    if "conf" in document:
        shown["conf"] = [[name, _HIDDEN] for name, _ in document["conf"]]
    return shown


def job_json(job: StoredJob, request: JobRequest) -> dict[str, Any]:
    """A job with its request."""
    result = job.result
    return {
        "id": job.id,
        "kind": job.kind,
        "state": str(job.state),
        "wantsStop": job.wants_stop,
        "party": job.party,
        "priority": job.priority,
        "tries": job.tries,
        "attempts": job.attempts,
        "worker": job.worker or None,
        "phase": job.phase or None,
        "phaseSince": _time(job.phase_since),
        "reason": job.reason or None,
        "exitCode": None if result is None else result.exit_code,
        "target": None if result is None else result.target,
        "versions": [] if result is None else list(result.versions),
        "out": None if result is None or result.out is None else str(result.out),
        "report": None if result is None or result.report is None else str(result.report),
        "submitted": _time(job.submitted_at),
        "started": _time(job.started_at),
        "ended": _time(job.ended_at),
        "request": request_json(request),
    }


def _shown(value: object) -> object:
    if isinstance(value, str):
        return without_address(value)
    if isinstance(value, list):
        return [_shown(part) for part in value]
    return value


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")
