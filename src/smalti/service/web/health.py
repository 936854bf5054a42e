"""An operator's page: whether the service works, what waits for workers, what requests came to."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from smalti.json.text import Json
from smalti.service.operations import Answer
from smalti.service.parties import OPERATORS
from smalti.service.problems import RefusedError
from smalti.service.web.page import Card, Entry, Page, Response, Shown, Visit

_STATES: Final = ("queued", "running", "done", "failed", "stopped", "died")


def show(visit: Visit) -> Response:
    """How the service stands."""
    health = visit.tried(lambda: visit.asking.read("health"))
    jobs = visit.asking.items("listJobs")
    states = Counter(job["state"] for job in jobs)
    waiting = [job for job in jobs if job["state"] == "queued"]
    values: Json = {
        "works": not isinstance(health, RefusedError),
        "states": [(state, states[state]) for state in _STATES],
        "waiting": waiting[0] if waiting else None,
        "requests": _requests(visit.asking.ask("metrics")),
    }
    return Shown("health/one.html", values)


def cards(visit: Visit) -> Iterator[Card]:
    """What waits."""
    if not visit.asking.may("metrics"):
        return
    waiting = sum(job["state"] == "queued" for job in visit.asking.items("listJobs"))
    yield Card("Health", f"{waiting} job{'' if waiting == 1 else 's'} waiting", "Open", "health")


def _requests(metrics: Answer) -> list[Json]:
    """By operation: how many requests, how many were refused or failed, and the mean of seconds."""
    content = metrics.content.decode() if isinstance(metrics.content, bytes) else ""
    shown: dict[str, Json] = {}
    seconds: dict[str, float] = {}
    for family in text_string_to_metric_families(content):
        for sample in family.samples:
            name = sample.labels.get("operation", "")
            if sample.name == "smalti_requests_total":
                counts = shown.setdefault(name, {"operation": name, "all": 0, "refused": 0, "failed": 0})
                counts["all"] += int(sample.value)
                kind = {"4": "refused", "5": "failed"}.get(sample.labels["status"][:1])
                if kind:
                    counts[kind] += int(sample.value)
            elif sample.name == "smalti_request_seconds_sum":
                seconds[name] = sample.value
    for name, counts in shown.items():
        counts["mean"] = 1000 * seconds.get(name, 0.0) / max(counts["all"], 1)
    return sorted(shown.values(), key=lambda counts: (-counts["failed"], str(counts["operation"])))


ENTRIES: Final = (Entry("4Service", "Health", "health", OPERATORS),)
PAGES: Final = (Page(method="GET", path="health", name="showHealth", roles=OPERATORS, handler=show),)
