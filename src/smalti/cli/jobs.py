"""The commands about jobs: submit, list, show, follow, stop, retry."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.job_kinds import COMMANDS
from smalti.cli.options import FINDINGS, PLACE, format_option, registry_option

if TYPE_CHECKING:
    from smalti.engine.jobs.requests import JobRequest
    from smalti.engine.registry.job_entries import StoredJob
    from smalti.engine.registry.registry import Registry

_NARROWEST_KIND = 6
_WIDEST_STATE = 40
"""A longer state of a job stands at the end of its line."""


@click.group()
def jobs() -> None:
    """Queue runs and other work, which `smalti worker` does."""


@jobs.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("kind", metavar="KIND", required=False, type=click.Choice(list(COMMANDS)))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
@click.option("--request", "request_file", metavar="FILE", type=PLACE,
              help="Instead of KIND: the request as JSON, as `jobs show --format json` shows it; `-` is"
              " standard input.")  # fmt: skip
@click.option("--id", "job_id", metavar="ID",
              help="Of the job; what is submitted twice under one id is one job.  [default: a new"
              " one]")  # fmt: skip
@click.option("--priority", default=0, show_default=True, type=int, metavar="N",
              help="Jobs with smaller numbers are begun first.")  # fmt: skip
@click.option("--tries", default=1, show_default=True, type=click.IntRange(1, 100), metavar="N",
              help="How often the job may be begun where its process or worker is killed. Each try of a"
              " release is charged.")  # fmt: skip
@registry_option
@format_option("human", "json")
def submit(  # noqa: PLR0913 (an option each)
    *,
    kind: str | None,
    arguments: tuple[str, ...],
    request_file: str | None,
    job_id: str | None,
    priority: int,
    tries: int,
    registry: str,
    shown_as: str,
) -> int:
    """Queue a job: KIND and the arguments of its command.

    Kinds are run, audit (arguments of `smalti run`), sweep, assess and check; of `smalti audit`: study (of
    `audit model`), compare, release-audit, generative-audit, identifiability, and with --sample
    identifiability-sample. Options of the job itself come before KIND.
    """
    from smalti.cli.job_requests import request_from
    from smalti.cli.opening import open_registry
    from smalti.engine.jobs import queue
    from smalti.engine.jobs.requests import JobKind

    if (kind is None) == (request_file is None):
        raise click.UsageError("Give a KIND with its arguments, or --request.")
    if kind is None:
        request = _read(str(request_file))
    else:
        request, registry = request_from(JobKind(kind), arguments, registry, named=COMMANDS[kind])
    opened = open_registry(registry)
    job = queue.submit(opened, request, priority=priority, tries=tries, job_id=job_id)
    return _show([job], shown_as)


@jobs.command("list")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(COMMANDS)), help="May be repeated.")
@click.option("--as", "party", metavar="PARTY", help="Only those that this party asked for.")
@registry_option
@format_option("human", "json")
def list_jobs(kinds: tuple[str, ...], party: str | None, registry: str, shown_as: str) -> int:
    """List jobs, oldest first."""
    from smalti.cli.opening import open_registry
    from smalti.engine.jobs import queue
    from smalti.engine.jobs.requests import JobKind
    from smalti.vocab.terms import IRI

    asker = None if party is None else IRI(party)
    listed = queue.jobs(open_registry(registry), party=asker, kinds=[JobKind(kind) for kind in kinds])
    if not listed and shown_as == "human":
        click.echo("no job was submitted to this registry")
    return _show(listed, shown_as)


@jobs.command()
@click.argument("name", metavar="JOB")
@registry_option
@format_option("human", "json")
def show(name: str, registry: str, shown_as: str) -> int:
    """Show a job, and its last output."""
    from smalti.cli.opening import open_registry
    from smalti.engine.jobs import queue

    job = queue.find(open_registry(registry), name)
    if shown_as == "json":
        return _show([job], shown_as)
    words = queue.last_words(job)
    _show_lines([(job, _without_repetition(job, words))])
    for label, value in _details(job):
        click.echo(f"  {label:<9} {value}")
    if words:
        click.echo(words)
    return 0


@jobs.command()
@click.argument("name", metavar="JOB")
@registry_option
def follow(name: str, registry: str) -> int:
    """Follow a job until it is over.

    Shows its phases and last output, and exits with its code.
    """
    from smalti.cli.opening import open_registry
    from smalti.engine.jobs import queue

    opened = open_registry(registry)
    job = follow_phases(opened, queue.find(opened, name).id)
    if words := queue.last_words(job):
        click.echo(words)
    click.echo(f"job {job.id}: {_without_repetition(job, words)}")
    return code_of(job)


@jobs.command()
@click.argument("name", metavar="JOB")
@registry_option
@format_option("human", "json")
def stop(name: str, registry: str, shown_as: str) -> int:
    """Stop a job as Ctrl-C does.

    It cleans up and publishes nothing. What it was charged stays charged.
    """
    from smalti.cli.opening import open_registry
    from smalti.engine.jobs import queue

    opened = open_registry(registry)
    return _show([queue.stop(opened, queue.find(opened, name).id)], shown_as)


@jobs.command()
@click.argument("name", metavar="JOB")
@registry_option
@format_option("human", "json")
def retry(name: str, registry: str, shown_as: str) -> int:
    """Queue a job again that failed, was stopped or died.

    A training goes on with the model that it kept. Each new try of a release is charged.
    """
    from smalti.cli.opening import open_registry
    from smalti.engine.jobs import queue

    opened = open_registry(registry)
    return _show([queue.retry(opened, queue.find(opened, name).id)], shown_as)


def follow_phases(registry: "Registry", job_id: str) -> "StoredJob":
    """Print each phase of a job as it begins; the job, once it is over."""
    from smalti.engine.jobs import queue

    shown: tuple[object, ...] = ()
    for job in queue.follow(registry, job_id):
        if job.phase and job.phase_since is not None and (job.attempts, job.phase) != shown:
            shown = (job.attempts, job.phase)
            click.echo(f"{job.phase_since.isoformat(timespec='seconds')} {job.phase}")
    return job


def code_of(job: "StoredJob") -> int:
    """The exit code of a job that is over."""
    return FINDINGS if job.result is None else job.result.exit_code


def _read(name: str) -> "JobRequest":
    from smalti.engine.jobs.requests import from_json
    from smalti.errors import UsageError

    try:
        text = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError:
        raise UsageError("--request", f"`{name}` cannot be read", "a file with a request as JSON") from None
    return from_json(text, name)


def _show(listed: "tuple[StoredJob, ...] | list[StoredJob]", shown_as: str) -> int:
    from smalti.engine.jobs.queue import request_of
    from smalti.json.jobs import job_json
    from smalti.json.text import as_json

    if shown_as == "json":
        click.echo(as_json({"jobs": [job_json(job, request_of(job)) for job in listed]}), nl=False)
        return 0
    _show_lines([(job, _how_it_is(job)) for job in listed])
    return 0


def _show_lines(jobs_and_states: "list[tuple[StoredJob, str]]") -> None:
    """A line for each job, in columns; what is longer than most stands last, and moves nothing."""
    kind = max([_NARROWEST_KIND, *(len(job.kind) for job, _ in jobs_and_states)])
    name = max((len(job.id) for job, _ in jobs_and_states), default=0)
    width = max((len(state) for _, state in jobs_and_states if len(state) <= _WIDEST_STATE), default=0)
    for job, state in jobs_and_states:
        submitted = job.submitted_at.isoformat(timespec="seconds")
        short = state if len(state) <= _WIDEST_STATE else str(job.state)
        line = f"{job.id:<{name}}  {job.kind:<{kind}}  {short:<{width}}  submitted {submitted}"
        click.echo(line if short == state else f"{line}  {state.removeprefix(short).lstrip(', :')}")


def _without_repetition(job: "StoredJob", words: str) -> str:
    """The state of a job, without a reason that its last output says already."""
    state, said = _how_it_is(job), " ".join(words.split())
    return str(job.state) if job.reason and " ".join(job.reason.split()) in said else state


def _how_it_is(job: "StoredJob") -> str:
    """The state of a job, with its phase, its exit code or why it ended."""
    from smalti.engine.registry.job_entries import JobState

    state = f"{job.state}, is told to stop" if job.wants_stop else str(job.state)
    if job.state is JobState.RUNNING:
        return f"{state}, {job.phase}" if job.phase else state
    if job.state is JobState.DONE and job.result is not None:
        return f"{state} (exit code {job.result.exit_code})"
    return f"{state}: {job.reason}" if job.reason else state


def _details(job: "StoredJob") -> list[tuple[str, Any]]:
    result = job.result
    lines: list[tuple[str, Any]] = [("asked by", job.party), ("attempts", f"{job.attempts} of {job.tries}")]
    if job.worker:
        lines.append(("worker", job.worker))
    if result is not None:
        lines += [("target", result.target), *(("version", version) for version in result.versions)]
        lines += [("out", result.out), ("report", result.report)]
    return [(label, value) for label, value in lines if value is not None]
