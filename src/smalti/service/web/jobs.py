"""Jobs: followed while they run, with what came of them."""

from typing import Final

from smalti.json.text import Json
from smalti.service.parties import READERS, WATCHERS
from smalti.service.problems import RefusedError
from smalti.service.web.page import HOME, NOTICES, Entry, Moved, Page, Response, Shown, Visit
from smalti.service.web.policies import sweep_chart

TITLES: Final = {
    "run": "Run", "audit": "Audit", "sweep": "Sweep", "assess": "Assessment", "check": "Check",
    "study": "Study of a model", "release-audit": "Audit of a release",
    "generative-audit": "Audit of a generative model", "identifiability": "Study of identifiability",
    "identifiability-sample": "Study of identifiability",
    "compare": "Comparison of central and local privacy",
}  # fmt: skip
_UNDER_WAY: Final = ("queued", "running")
_SETS: Final = 20
"""Sets of columns of an assessment that are shown."""
NOTICES.update({"stopping": "The job was told to stop.", "queued-again": "The job is queued again."})


def show_all(visit: Visit) -> Response:
    """The visitor's jobs, the latest first; of operators, all."""
    listed = visit.asking.items("listJobs")
    return Shown(
        "jobs/all.html",
        {"jobs": list(reversed(listed)), "titles": TITLES, "operates": visit.asking.may("metrics")},
    )


def show(visit: Visit) -> Response:
    """One job, with its report where there is one for the visitor."""
    job = visit.asking.read("readJob", path=visit.path)
    report = _report(visit, job)
    values: Json = {
        "titles": TITLES,
        "job": job,
        "report": report,
        "chart": None,
        "sets": [],
        "versions": _versions(visit, job),
    }
    if job["state"] not in _UNDER_WAY:
        # What was said when the form was sent is about work that goes on.
        values["notice"] = None
    if report is not None and "points" in report:
        values["chart"] = sweep_chart(report["points"])
    if report is not None and "sets" in report:
        several = [figures for figures in report["sets"] if figures["uniqueShare"] < 1]
        several.sort(key=lambda figures: (-figures["uniqueShare"], len(figures["columns"])))
        values["sets"] = several[:_SETS]
    return Shown("jobs/one.html", values)


def follow(visit: Visit) -> Response:
    """The events of a job, for the script."""
    return visit.asking.ask("followJob", path=visit.path)


def stop(visit: Visit) -> Response:
    """Stop a job."""
    visit.asking.ask("stopJob", path=visit.path)
    return Moved(f"{HOME}jobs/{visit.path['id']}", "stopping")


def retry(visit: Visit) -> Response:
    """Queue a job again."""
    visit.asking.ask("retryJob", path=visit.path)
    return Moved(f"{HOME}jobs/{visit.path['id']}", "queued-again")


def _report(visit: Visit, job: Json) -> Json | None:
    if not job["hasReport"] or not visit.asking.may("readReport"):
        return None
    read = visit.tried(lambda: visit.asking.read("readReport", path=visit.path))
    return None if isinstance(read, RefusedError) else read


def _versions(visit: Visit, job: Json) -> list[str]:
    """The runs that published what the job did."""
    return [version.removeprefix("urn:uuid:") for version in job["versions"]]


ENTRIES: Final = (Entry("3Work", "Jobs", "jobs", WATCHERS),)
PAGES: Final = (
    Page(method="GET", path="jobs", name="showJobs", roles=WATCHERS, handler=show_all),
    Page(method="GET", path="jobs/{id}", name="showJob", roles=WATCHERS, handler=show),
    Page(method="GET", path="jobs/{id}/events", name="followJob", roles=WATCHERS, handler=follow),
    Page(method="POST", path="jobs/{id}/stop", name="stopJob", roles=WATCHERS, handler=stop),
    Page(method="POST", path="jobs/{id}/retry", name="retryJob", roles=READERS, handler=retry),
)
