"""What a job of each kind does: the same as the command of its name, with a request in place of options."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import click

from smalti.cli.options import FINDINGS
from smalti.engine.jobs import requests

if TYPE_CHECKING:
    from smalti.cli.reporting import Reported
    from smalti.engine.registry.job_entries import JobResult

_NO_CHOICES = {"policy", "target", "data", "party", "bind", "conf"}
_WRITTEN = {"page", "html", "report"}
"""Where reports are written."""


def perform(request: requests.JobRequest, registry: str, report: Path) -> "JobResult":
    """Do what a request asks for, and show it as its command does.

    Args:
        request: of a job.
        registry: its location.
        report: where a report goes that the request names no place for.

    Raises:
        SmaltiError: as the command.
    """
    match request:
        case requests.Run() | requests.Audit():
            return _run(request, registry)
        case requests.Sweep():
            return _sweep(request, registry, report)
        case requests.Assess():
            return _assess(request, report)
        case requests.CheckPolicies():
            return _check(request, report)
        case (
            requests.Study()
            | requests.Compare()
            | requests.ReleaseAudit()
            | requests.GenerativeAudit()
            | requests.Identifiability()
            | requests.IdentifiabilitySample()
        ):
            return _study(request, registry, report)
        case _:
            assert_never(request)


def _run(request: requests.RunLike, registry: str) -> "JobResult":
    from smalti import api
    from smalti.cli import runs
    from smalti.engine.registry.job_entries import JobResult

    runs.check_reports(request.page, request.report, dry_run=False)
    bound = _bound(request, registry)
    document = api.load_policy(
        request.policy,
        registry=registry,
        issuer=request.owner or request.party,
        target=request.target,
        bind=dict(request.bind),
        as_agreement=request.agreement,
    )
    runs.show_warnings(document)
    publishing = runs.Publishing(request.out, request.replace, request.page, request.report)
    outcome = runs.carry_out(document, bound, publishing, shown_as="human", in_full=False)
    written = None if request.report is None else Path(request.report)
    if (version := outcome.version) is None:
        return JobResult(FINDINGS)
    return JobResult(0, version.target, (version.iri,), version.path, written)


def _sweep(request: requests.Sweep, registry: str, report: Path) -> "JobResult":
    from smalti.cli import sweeping
    from smalti.engine.registry.job_entries import JobResult

    bound = _bound(request, registry) | {"vary": request.vary}
    place = request.report or str(report)
    code = sweeping.measure(
        _document(request, bound), bound, page=request.page, report=place, shown_as="human", in_full=False
    )
    return JobResult(code, report=Path(place))


def _assess(request: requests.Assess, report: Path) -> "JobResult":
    from smalti.cli.assessing import assess
    from smalti.engine.registry.job_entries import JobResult

    place = request.report or str(report)
    options = _options(request) | {"report": place, "begins": False, "verbose": False, "shown_as": "human"}
    code = _called(assess, options)
    return JobResult(code, report=Path(place))


def _check(request: requests.CheckPolicies, report: Path) -> "JobResult":
    from smalti.cli.keys import write_new
    from smalti.cli.language import check_code, checked, shown
    from smalti.engine.registry.job_entries import JobResult

    documents = checked(
        request.files, request.dataset, request.vocabularies, dict(request.bind), together=request.together
    )
    write_new(str(report), shown(documents, "json", in_full=True).encode())
    click.echo(shown(documents, "human", in_full=False), nl=False)
    return JobResult(check_code(documents, strict=request.strict), report=report)


def _study(request: requests.StudyLike, registry: str, report: Path) -> "JobResult":
    from smalti.cli.reporting import check_pages, deliver
    from smalti.engine.registry.job_entries import JobResult

    page = requests.page_of(request)
    check_pages(page)
    reported = _reported(request, registry)
    if reported is None:
        return JobResult(FINDINGS)
    place = requests.report_of(request) or str(report)
    deliver(reported, page=page, report=place, shown_as="human")
    return JobResult(0, report=Path(place))


def _reported(request: requests.StudyLike, registry: str) -> "Reported | None":
    """What a study found; None: a policy denies it, which is shown."""
    from smalti.cli import auditing_generative, auditing_releases, compare, identifiability, studying

    options = {name: value for name, value in _options(request).items() if name not in _WRITTEN}
    match request:
        case requests.Study():
            return studying.reported(**options | _paths(request, "model", "members", "others"))
        case requests.GenerativeAudit():
            places = _paths(request, "members", "others", "samples", "model")
            return auditing_generative.reported(**options | places)
        case requests.ReleaseAudit():
            return auditing_releases.reported(registry=registry, **options)
        case requests.Compare():
            return compare.reported(**options | _paths(request, "out"))
        case requests.IdentifiabilitySample():
            return identifiability.reported_of_sample(request.sample, options)
        case requests.Identifiability():
            bound = _bound(request, registry)
            return identifiability.reported_of_records(_document(request, bound), bound, options)
        case _:
            assert_never(request)


def _paths(request: requests.StudyLike, *names: str) -> dict[str, Path | None]:
    values = {name: getattr(request, name) for name in names}
    return {name: None if value is None else Path(value) for name, value in values.items()}


def _document(request: requests.PolicyOnData, bound: dict[str, Any]) -> Any:
    from smalti.cli.trying import document_of

    return document_of(request.policy, tuple(f"{part}={iri}" for part, iri in request.bind), bound)


def _bound(request: requests.PolicyOnData, registry: str) -> dict[str, Any]:
    """A request as arguments of the API; its fields have their names."""
    choices = {
        field.name: getattr(request, field.name)
        for field in fields(requests.PolicyOnData)
        if field.name not in _NO_CHOICES
    }
    return choices | {
        "data": {request.target: request.data},
        "party": request.party,
        "conf": dict(request.conf),
        "registry": registry,
    }


def _options(request: requests.JobRequest) -> dict[str, Any]:
    return {field.name: getattr(request, field.name) for field in fields(request) if field.name != "kind"}


def _called(command: click.Command, options: dict[str, Any]) -> int:
    if command.callback is None:
        raise TypeError("a command without a function")
    code: int = command.callback(**options)
    return code
