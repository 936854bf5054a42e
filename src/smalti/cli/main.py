"""The command line: a thin skin over `smalti.api`.

Exit codes: 0 done, permitted, valid; 1 findings, a denial, a guarantee that cannot be met; 2 wrong
usage; 3 an internal error, the machine, or an interrupt. Modules are imported by the command that needs
them, so that `smalti --version` and `--help` answer at once.
"""

import os
import sys
from pathlib import Path

import click

from smalti.cli import access as cli_access
from smalti.cli import assessing as cli_assessing
from smalti.cli import audit as cli_audit
from smalti.cli import backups as cli_backups
from smalti.cli import budget as cli_budget
from smalti.cli import jobs as cli_jobs
from smalti.cli import keys as cli_keys
from smalti.cli import language as cli_language
from smalti.cli import lineage as cli_lineage
from smalti.cli import registry as cli_registry
from smalti.cli import risk as cli_risk
from smalti.cli import runs as cli_runs
from smalti.cli import scaffolding as cli_scaffolding
from smalti.cli import serve as cli_serve
from smalti.cli import sweeping as cli_sweeping
from smalti.cli import trying as cli_trying
from smalti.cli import vocabulary as cli_vocabulary
from smalti.cli import workers as cli_workers
from smalti.cli.interrupts import MESSAGE, noticed
from smalti.cli.layout import SectionedGroup
from smalti.cli.options import MACHINE, PLACE, format_option, registry_option
from smalti.cli.settings import Choice

_Ended = tuple[str, int]
"""The error to print, empty where the command printed it itself, and the exit code."""


def main() -> None:
    """Run the command line and leave with its exit code.

    An interrupt ends it with 3, also where a library loses it; then it is noticed as the next phase of a
    run begins, before anything is registered, or at the end.
    """
    from smalti.cli.startup import few_collections

    with few_collections(), noticed() as interrupts:
        try:
            text, code = _ended()
        except KeyboardInterrupt:  # while another end was dealt with
            text, code = MESSAGE, MACHINE
        interrupts.end()
        if interrupts.came:
            text, code = MESSAGE, MACHINE
        if text:
            click.echo(click.style("error: ", fg="red", bold=True) + text, err=True)
        sys.exit(code)


def _ended() -> _Ended:
    """Run the command, and return how it ended."""
    from smalti.cli.startup import without_pandas
    from smalti.errors import SmaltiError, unforeseen

    try:
        with without_pandas(sys.argv):
            return "", cli.main(standalone_mode=False, prog_name="smalti") or 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return MESSAGE, MACHINE
    except click.ClickException as error:
        return _shown(error), error.exit_code
    except SmaltiError as error:
        return str(error), error.exit_code
    except BrokenPipeError:
        # The reader of the output is gone: there is no one to report to, and no finding either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "", MACHINE
    except Exception as error:
        return str(unforeseen(error)), MACHINE


def _shown(error: click.ClickException) -> str:
    """The error to print; empty where click has printed its own."""
    if isinstance(error, click.BadParameter):
        from smalti.cli.numbers import number_error

        if (of_number := number_error(error)) is not None:
            return str(of_number)
    error.show()
    return ""


@click.group(cls=SectionedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="smalti", message="smalti %(version)s")
@click.option("--settings", envvar="SMALTI_SETTINGS", metavar="FILE", type=PLACE,
              help="Defaults of options.  [default: smalti.toml]")  # fmt: skip
@click.option("--no-settings", is_flag=True, help="Use no settings file.")
@click.pass_context
def cli(ctx: click.Context, settings: str | None, no_settings: bool) -> None:
    """Sanitize data as an ODRL policy requires, verify the result, and record it."""
    ctx.obj = Choice(settings, no_settings)


for _command in (
    cli_assessing.assess, cli_scaffolding.init,
    cli_language.check, cli_language.fmt, cli_language.offer, cli_language.test, cli_language.decide,
    cli_runs.plan, cli_trying.try_, cli_sweeping.sweep, cli_runs.run, cli_runs.verify, cli_runs.estimate,
    cli_risk.risk,
    cli_registry.policy, cli_keys.keys, cli_registry.targets, cli_vocabulary.vocabulary,
    cli_backups.registry, cli_lineage.lineage, cli_budget.budget, cli_audit.audit, cli_jobs.jobs,
    cli_workers.worker, cli_serve.serve, cli_access.access,
):  # fmt: skip
    cli.add_command(_command)


@cli.command("job-process", hidden=True)
def job_process() -> int:
    """Do what a worker says on standard input."""
    from smalti.cli.job_process import work

    return work()


@cli.command()
@registry_option
@format_option("human", "json")
def doctor(registry: str, shown_as: str) -> int:
    """Show what is installed, and what installs the rest."""
    from dataclasses import asdict

    from smalti.doctor import examine
    from smalti.json.text import as_json
    from smalti.show.doctor import show_doctor
    from smalti.show.terminal import console

    checks = examine(Path(registry))
    if shown_as == "json":
        click.echo(as_json([asdict(check) for check in checks]), nl=False)
    else:
        show_doctor(console(), checks)
    is_usable = all(check.is_there for check in checks if check.needed_for == "core")
    return 0 if is_usable else MACHINE
