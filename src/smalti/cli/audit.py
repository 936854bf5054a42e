"""The commands about audits of models: start, list, follow, stop, resume, report."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.compare import compare
from smalti.cli.options import FINDINGS, PLACE, format_option, party_option, registry_option
from smalti.cli.settings import arguments_from_file
from smalti.vocab.attacks import TABLE

if TYPE_CHECKING:
    from smalti.engine.training.jobs import Job, Jobs

_POLL_SECONDS = 0.5
_ADDRESS = re.compile(r"(?<![a-z0-9+.-])(?!https?:)([a-z][a-z0-9+.-]*)://.*", re.IGNORECASE | re.DOTALL)
"""Of a store, a server or a cluster, and what follows it; and no IRI of the web."""
_SETTING = re.compile(r"((?:--conf=)?[^=]*=).*", re.DOTALL)
_ENDS = {0: "permitted", FINDINGS: "refused, or an error"}
"""By exit code, as of `smalti run`; `smalti audit follow` shows the last words."""
_FILE: click.Path = click.Path(path_type=Path)


@click.group()
def audit() -> None:
    """Train and audit models in the background; read reports."""


audit.add_command(compare)


@audit.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="POLICY [RUN OPTIONS]")
@format_option("human", "json")
def start(arguments: tuple[str, ...], shown_as: str) -> int:
    """Start `smalti run` with these arguments in the background.

    The process outlives this command.
    """
    options, from_file = _run_options(arguments)
    from smalti import api

    # Errors of the policy are reported here, not in the log of the background process.
    api.load_policy(
        options["policy"], registry=options["registry"], issuer=options["owner"] or options["party"]
    )
    return _show([_jobs(options["registry"]).start([*arguments, *from_file])], shown_as)


@audit.command("list")
@registry_option
@format_option("human", "json")
def list_audits(registry: str, shown_as: str) -> int:
    """List the audits started with this registry."""
    return _show(_jobs(registry).all(), shown_as)


@audit.command()
@click.argument("name", metavar="AUDIT")
@registry_option
def follow(name: str, registry: str) -> int:
    """Follow an audit until it ends.

    Shows its phases and last output, and exits with its code.
    """
    from smalti.engine.training.jobs import JobState

    job, shown = _jobs(registry).find(name), ""
    while job.state is JobState.RUNNING:
        status = job.status
        if status.phase and status.phase != shown:
            shown = status.phase
            click.echo(f"{status.since} {shown}")
        time.sleep(_POLL_SECONDS)
    click.echo(job.last_words)
    click.echo(f"audit {job.name}: {job.state}")
    code = job.status.exit_code
    return FINDINGS if code is None else code


@audit.command()
@click.argument("name", metavar="AUDIT")
@registry_option
@format_option("human", "json")
def stop(name: str, registry: str, shown_as: str) -> int:
    """Stop an audit as Ctrl-C does.

    It cleans up and publishes no target. Its charge remains.
    """
    return _show([_jobs(registry).stop(name)], shown_as)


@audit.command()
@click.argument("name", metavar="AUDIT")
@registry_option
@format_option("human", "json")
def resume(name: str, registry: str, shown_as: str) -> int:
    """Resume an audit that died or was stopped.

    A finished model is not trained again.
    """
    return _show([_jobs(registry).resume(name)], shown_as)


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


@audit.command("model")
@click.argument("model", metavar="FILE", type=_FILE)
@click.option(
    "--members",
    required=True,
    metavar="DATA",
    type=_FILE,
    help="Records that the model was trained on.",
)
@click.option(
    "--others", required=True, metavar="DATA", type=_FILE, help="Records that the model was not trained on."
)
@click.option("--label", required=True, metavar="COLUMN", help="The column of class labels.")
@click.option(
    "--attack", "attacks", required=True, multiple=True, metavar="NAME",
    help=f"{', '.join(attack.name for attack in TABLE if attack.family.has_scores)}; may be repeated.",
)  # fmt: skip
@click.option(
    "--recipe", metavar="NAME",
    help="The training recipe, for attacks that train shadow models; a network file of smalti states it.",
)  # fmt: skip
@click.option("--shadow-models", type=click.IntRange(2), default=16, show_default=True, metavar="N")
@click.option(
    "--confidence", default=0.95, show_default=True, metavar="P", type=click.FloatRange(0, 1),
    help="Confidence of each limit by itself; below 1.",
)  # fmt: skip
@click.option(
    "--logits",
    "gives_logits",
    is_flag=True,
    help="The ONNX model gives logits, not probabilities.",
)
@click.option(
    "--html", metavar="FILE", type=PLACE, help="Write a page with drawings; the file must not exist."
)
@format_option("human", "json")
def model_file(html: str | None, shown_as: str, **options: Any) -> int:
    """Attack a model file (safetensors, ONNX, skops).

    The attacks use the records that it was trained on, and others: CSV or Parquet, with numbers as the
    model takes them. This is a study: it registers nothing and fulfils no duty.
    """
    from smalti.transforms.learning.installed import check_installed

    check_installed()
    from smalti import auditing_files
    from smalti.cli.progress import showing_phases
    from smalti.json.text import as_json
    from smalti.reports import terminal
    from smalti.reports.web import write_html
    from smalti.show.terminal import console

    with showing_phases() as watch:
        studied = auditing_files.study(auditing_files.Study(**options), watch.phase)
    if html is not None:
        write_html(studied.page(with_drawings=True), html)
    if shown_as == "json":
        click.echo(as_json(studied.to_json()), nl=False)
    else:
        terminal.show(studied.page(with_drawings=False), console())
    return 0


def _run_options(arguments: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """The options that `smalti run` would get, and those words of them that the settings file gives.

    Wrong ones are reported as errors of this command.
    """
    from smalti.cli.runs import run

    here = click.get_current_context()
    try:
        context = run.make_context("smalti run", list(arguments), parent=here)
    except click.UsageError as error:
        message = f"{error.format_message()} (the arguments are those of `smalti run`)"
        raise click.UsageError(message, here) from None
    options = context.params
    if options["dry_run"] or options["job"] is not None:
        raise click.UsageError("`--dry-run` and `--job` start no audit; `smalti plan` shows one.", here)
    return options, arguments_from_file(context)


def _jobs(registry: str) -> "Jobs":
    from smalti.cli.opening import open_registry
    from smalti.engine.training.jobs import Jobs

    return Jobs.beside(open_registry(registry).path)


def _without_secrets(arguments: tuple[str, ...]) -> list[str]:
    """Arguments of `smalti run` as they may be shown: addresses and settings of Spark can hold a secret."""
    before = ("", *arguments)
    return [
        _SETTING.sub(r"\1***", argument)
        if option == "--conf" or argument.startswith("--conf=")
        else _ADDRESS.sub(r"\1://***", argument)
        for option, argument in zip(before, arguments, strict=False)
    ]


def _how_it_is(job: dict[str, Any]) -> str:
    """The state of an audit, with its phase or its exit code."""
    code = job["exitCode"]
    if code is None:
        return f"{job['state']}, {job['phase']}" if job["phase"] else str(job["state"])
    return f"{job['state']}, {_ENDS.get(code, 'failed')} (exit code {code})"


def _show(jobs: "tuple[Job, ...] | list[Job]", shown_as: str) -> int:
    from smalti.json.text import as_json

    listed: list[dict[str, Any]] = [
        {
            "audit": job.name,
            "state": str(job.state),
            "phase": job.status.phase,
            "exitCode": job.status.exit_code,
            "started": job.started_at.isoformat(timespec="seconds"),
            "arguments": _without_secrets(job.arguments),
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
