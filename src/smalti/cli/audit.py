"""The commands about audits: of models start, list, follow, stop, resume, report; of the rest one each.

The first five are `smalti jobs` of one kind, in their former spelling: they end with the next version.
"""

from typing import TYPE_CHECKING, Any

import click

from smalti.cli.auditing_generative import generative
from smalti.cli.auditing_releases import release
from smalti.cli.compare import compare
from smalti.cli.identifiability import identifiability
from smalti.cli.options import FINDINGS, PLACE, format_option, party_option, registry_option
from smalti.cli.studying import model_file

if TYPE_CHECKING:
    from smalti.engine.registry.job_entries import StoredJob
    from smalti.engine.registry.registry import Registry

_ENDS = {0: "permitted", FINDINGS: "refused, or an error"}
"""By exit code, as of `smalti run`; `smalti audit follow` shows the last words."""


@click.group()
def audit() -> None:
    """Audit models and released statistics; read reports."""


audit.add_command(compare)
audit.add_command(model_file)
audit.add_command(generative)
audit.add_command(release)
audit.add_command(identifiability)


@audit.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="POLICY [RUN OPTIONS]")
@format_option("human", "json")
def start(arguments: tuple[str, ...], shown_as: str) -> int:
    """Start `smalti run` in the background.

    The process outlives this command.
    """
    from smalti.cli.job_requests import request_from
    from smalti.cli.opening import open_registry
    from smalti.cli.workers import start_worker
    from smalti.engine.jobs.queue import submit
    from smalti.engine.jobs.requests import JobKind

    request, place = request_from(JobKind.AUDIT, arguments, None, named="smalti run")
    registry = open_registry(place)
    return _show([start_worker(registry, place, submit(registry, request))], shown_as)


@audit.command("list")
@registry_option
@format_option("human", "json")
def list_audits(registry: str, shown_as: str) -> int:
    """List the audits started with this registry."""
    from smalti.cli.opening import open_registry
    from smalti.engine.jobs.queue import jobs
    from smalti.engine.jobs.requests import JobKind

    return _show(jobs(open_registry(registry), kinds=[JobKind.AUDIT]), shown_as)


@audit.command()
@click.argument("name", metavar="AUDIT")
@registry_option
def follow(name: str, registry: str) -> int:
    """Follow an audit until it ends.

    Shows its phases and last output, and exits with its code.
    """
    from smalti.cli.jobs import code_of, follow_phases
    from smalti.engine.jobs.queue import last_words

    opened, job = _audit_of(registry, name)
    job = follow_phases(opened, job.id)
    click.echo(last_words(job))
    click.echo(f"audit {job.id}: {_state(job)}")
    return code_of(job)


@audit.command()
@click.argument("name", metavar="AUDIT")
@registry_option
@format_option("human", "json")
def stop(name: str, registry: str, shown_as: str) -> int:
    """Stop an audit as Ctrl-C does.

    It cleans up and publishes no target. Its charge remains.
    """
    from smalti.engine.jobs import queue

    opened, job = _audit_of(registry, name)
    if job.state.is_over:
        raise _refused(job, "a running audit")
    return _show([queue.stop(opened, job.id)], shown_as)


@audit.command()
@click.argument("name", metavar="AUDIT")
@registry_option
@format_option("human", "json")
def resume(name: str, registry: str, shown_as: str) -> int:
    """Resume an audit that died or was stopped.

    A finished model is not trained again.
    """
    from smalti.cli.workers import start_worker
    from smalti.engine.jobs.folders import JobFolder
    from smalti.engine.jobs.queue import retry
    from smalti.engine.registry.job_entries import JobState

    opened, job = _audit_of(registry, name)
    keeps_model = job.folder is not None and JobFolder(job.folder).holds_work
    is_open = job.state is JobState.FAILED and keeps_model
    if not is_open and job.state not in {JobState.DIED, JobState.STOPPED}:
        expected = "an audit that died, was stopped, or ended with an error and keeps a model"
        raise _refused(job, expected, "start another one")
    return _show([start_worker(opened, registry, retry(opened, job.id))], shown_as)


@audit.command()
@click.argument("target", metavar="IRI")
@party_option("OWNER", "An owner of the data; an IRI taken on trust.")
@click.option(
    "--html", metavar="FILE", type=PLACE, help="Write a page with drawings; the file must not exist."
)
@registry_option
@format_option("human", "json")
def report(target: str, party: str, html: str | None, registry: str, shown_as: str) -> int:
    """Show an owner the results of audits.

    They are those of all audits of a model, or of all models of the owner's data.
    """
    from smalti import auditing
    from smalti.cli.opening import open_registry
    from smalti.json.text import as_json
    from smalti.show.terminal import console

    audited = auditing.audits(target, party=party, registry=open_registry(registry))
    if html is not None:
        auditing.write_page(audited, html)
    if shown_as == "json":
        click.echo(as_json(auditing.to_json(audited)), nl=False)
    else:
        auditing.show(audited, console())
    return 0


def _audit_of(registry: str, name: str) -> "tuple[Registry, StoredJob]":
    """The audit of a name, or of the only name that begins so."""
    from smalti.cli.opening import open_registry
    from smalti.engine.jobs.queue import jobs
    from smalti.engine.jobs.requests import JobKind
    from smalti.errors import UsageError

    opened = open_registry(registry)
    audits = [job for job in jobs(opened, kinds=[JobKind.AUDIT]) if name and job.id.startswith(name)]
    if len(audits) != 1:
        raise UsageError(
            f"audit {name}",
            f"several audits of {registry} have names that begin so" if audits
            else f"the registry {opened.name} has no audit of this name",
            "the name of an audit that was started with this registry",
            "`smalti audit list` shows them; name another registry with --registry",
        )  # fmt: skip
    return opened, audits[0]


def _refused(job: "StoredJob", expected: str, way_out: str = "") -> Exception:
    from smalti.errors import UsageError

    return UsageError(f"audit {job.id}", f"it is {_state(job)}", expected, way_out)


def _state(job: "StoredJob") -> str:
    """The state in the words of these commands."""
    from smalti.engine.registry.job_entries import JobState

    return "ended" if job.state in {JobState.DONE, JobState.FAILED} else str(job.state)


def _how_it_is(job: dict[str, Any]) -> str:
    """The state of an audit, with its phase or its exit code."""
    code = job["exitCode"]
    if code is None:
        return f"{job['state']}, {job['phase']}" if job["phase"] else str(job["state"])
    return f"{job['state']}, {_ENDS.get(code, 'failed')} (exit code {code})"


def _show(jobs: "tuple[StoredJob, ...] | list[StoredJob]", shown_as: str) -> int:
    from smalti.cli.job_requests import words_of
    from smalti.engine.jobs.queue import request_of
    from smalti.engine.jobs.requests import Audit
    from smalti.json.text import as_json

    listed: list[dict[str, Any]] = [
        {
            "audit": job.id,
            "state": _state(job),
            "phase": job.phase,
            "exitCode": None if job.result is None else job.result.exit_code,
            "started": (job.started_at or job.submitted_at).isoformat(timespec="seconds"),
            "arguments": words_of(request) if isinstance(request := request_of(job), Audit) else [],
        }
        for job in jobs
    ]
    if shown_as == "json":
        click.echo(as_json({"audits": listed}), nl=False)
        return 0
    for job in listed:
        click.echo(f"{job['audit']}  {_how_it_is(job)}  started {job['started']}  {job['arguments'][0]}")
    if not listed:
        click.echo("no audit was started with this registry")
    return 0
