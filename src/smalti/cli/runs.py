"""The commands about data: plan, run, verify, estimate."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from smalti.cli.layout import TunedCommand
from smalti.cli.options import (
    FINDINGS,
    PARTIES,
    PLACE,
    agreement_option,
    asker_options,
    bind_option,
    events_option,
    format_option,
    parameter_option,
    registry_option,
    statement_options,
)
from smalti.cli.settings import FROM_FILE, AdvancedOption, SettingOption

if TYPE_CHECKING:
    from smalti.api import Outcome, PolicyDocument
    from smalti.cli.progress import CommandWatch

Command = TypeVar("Command", bound=Callable[..., Any])

_advanced = partial(click.option, cls=AdvancedOption)


def _engine_options(command: Command) -> Command:
    for option in (
        _advanced("--fragments", setting="fragments", type=click.IntRange(1), metavar="N",
                  help="Maximum number of kernels that share the work; changes the result only with"
                  " --first-cuts sampled."
                  "  [default: the engine's choice]"),
        _advanced("--conf", "settings", setting="conf", multiple=True, metavar="KEY=VALUE",
                  help="A setting of Spark."),
        _advanced("--master", setting="master", metavar="URL",
                  help="The Spark master, such as spark://host:7077.  [default: this machine]"),
        _advanced("--engine", setting="engine", type=click.Choice(["local", "spark"]),
                  default="local", show_default=True, help="Where the work is done."),
    ):  # fmt: skip
        command = option(command)
    return command


description_option = click.option(
    "--description", metavar="FILE", type=PLACE,
    help="The CSVW description of a table of PostgreSQL; that of a file stands beside it.",
)  # fmt: skip


def run_options(command: Command, *, needs_data: bool = True) -> Command:
    """The options of a request for a run.

    Args:
        command: that takes them.
        needs_data: whether it always needs data of a policy.
    """
    for option in (
        _advanced("--cut-threshold", setting="cut_threshold", type=click.IntRange(0), default=256,
                  show_default=True, metavar="T",
                  help="Partitions of at most T distinct tuples take their best cut."),
        _advanced("--first-cuts", setting="first_cuts",
                  type=click.Choice(["exact", "sampled"]), default="exact", show_default=True,
                  help="How to cut a large table into fragments: `sampled` reads it less often, and the"
                  " result then depends on --fragments."),
        _advanced("--rows-per-part", type=click.IntRange(1), metavar="N",
                  help="Maximum rows of each part; implies --parts.  [default with --parts: 1,000,000]"),
        _advanced("--parts", is_flag=True, help="Write the output as several files."),
        click.option("--output-format", type=click.Choice(["csv", "parquet"]), default="csv",
                     show_default=True),
        _engine_options,
        click.option("--signature", metavar="FILE", type=PLACE,
                     help="The policy's detached signature; required once a key is trusted for its owner."),
        parameter_option,
        statement_options,
        click.option("--query", metavar="FILE", type=PLACE,
                     help="The statistics to release under a policy with differential privacy; optional"
                     " where it permits exactly one."),
        click.option("--population", metavar="PATH",
                     help="The population table that the policy names, bound as by --data."),
        click.option("--recoding-of", metavar="IRI",
                     help="An earlier release by incognito: this data, a further batch of the same shape,"
                     " is published at its levels."),
        click.option("--earlier-data", metavar="PATH", multiple=True,
                     help="Data that an earlier release about the same respondents was made from, where it"
                     " is other data than this; may be repeated."),
        description_option,
        click.option("--one-row-each", is_flag=True,
                     help="Each row of the data is about a different person; instead of --respondent."),
        click.option("--respondent", metavar="COLUMN",
                     help="The column that identifies respondents, where neither policy nor description"
                     " names it. Whoever submits the policy must own the data."),
        click.option("--rule", metavar="UID", help="The permission to use, where several match."),
        click.option("--owner", cls=SettingOption, setting="owner", metavar="PARTY",
                     help="Who submits the policy and binds the data, an IRI taken on trust."
                     "  [default: the --as party]"),
        click.option("--data", "bindings", cls=SettingOption, setting="data", multiple=True,
                     required=needs_data, metavar="IRI=PATH",
                     help="Bind the target to a CSV or Parquet file, a folder of such files that are one"
                     " table, a sheet or table in a file (FILE.xlsx#SHEET, FILE.duckdb#TABLE), or CSVW"
                     " metadata of any; in a store by its address, s3://BUCKET/KEY; or to a table of"
                     " postgresql://HOST/DATABASE#TABLE."),
    ):  # fmt: skip
        command = option(command)
    return command


verbose_option = click.option(
    "--verbose", is_flag=True, help="List each of many alike columns and warnings by itself."
)
workspace_option = click.option(
    "--workspace", cls=AdvancedOption, setting="workspace", metavar="DIR", type=PLACE,
    help="Folder for private temporary files; on a cluster one that all workers see."
    "  [default: the system's folder for temporary files]",
)  # fmt: skip


@click.command(cls=TunedCommand, epilog=PARTIES)
@click.argument("policy", metavar="POLICY", type=PLACE)
@agreement_option
@bind_option
@run_options
@workspace_option
@asker_options(required=False)
@verbose_option
@registry_option
@format_option("human", "json")
def plan(policy: str, **options: Any) -> int:
    """Show what a run would do to each column, and why.

    Nothing is written. With --as the request is decided first; without it no decision is made. What would
    stop a run, such as a missing key of pseudonyms, is told behind the plan.
    """
    return _plan(policy, **options)


def _plan(policy: str, *, is_dry_run: bool = False, **options: Any) -> int:
    from smalti import api

    shown_as, verbose = options.pop("shown_as"), options.pop("verbose")
    document, bound = loaded(policy, options)
    planned = api.plan(document, beside_earlier=is_dry_run, **bound)
    if planned.plan is None:
        _show_denial(planned.decision, shown_as)
        return FINDINGS
    _show_plan(planned, as_json=shown_as == "json", in_full=verbose)
    if planned.obstacle is None:
        return 0
    click.echo(f"the run would stop: {planned.obstacle}", err=True)
    return planned.exit_code if is_dry_run else 0


def loaded(policy: str, options: dict[str, Any]) -> tuple["PolicyDocument", dict[str, Any]]:
    """The policy, with what is bound in it; and the options of the request."""
    from smalti import api
    from smalti.binding import pairs
    from smalti.policy.decide.names import iri

    bind, agreement = pairs(options.pop("bound")), options.pop("agreement")
    bound = bound_options(options)
    for role, party in (("party (--as)", bound["party"]), ("owner (--owner)", bound["owner"])):
        if party is not None:
            iri(party, role)
    load = partial(
        api.load_policy,
        policy,
        registry=bound["registry"],
        issuer=bound["owner"] or bound["party"],
        bind=bind,
        as_agreement=agreement,
    )
    if len(bound["data"]) > 1 and click.get_current_context().get_parameter_source("bindings") is FROM_FILE:
        bound["data"] = _named_by(load(target=None), bound["data"])
    (target,) = bound["data"] if len(bound["data"]) == 1 else (None,)
    return load(target=target), bound


def _named_by(document: "PolicyDocument", data: Mapping[str, str]) -> Mapping[str, str]:
    """Of the data that the settings file binds, the one that a policy is about."""
    from smalti.errors import UsageError

    targets = sorted({*data} & document.policy.targets)
    if len(targets) != 1:
        listed = ", ".join(targets or sorted(data))
        problem = "several targets of the policy are" if targets else "no target of the policy is"
        raise UsageError(
            document.name, f"{problem} bound by the settings file ({listed})", "one", "give --data IRI=PATH"
        )
    return {targets[0]: data[targets[0]]}


@click.command(cls=TunedCommand, epilog=PARTIES)
@click.argument("policy", metavar="POLICY", type=PLACE)
@click.option("--out", cls=SettingOption, setting="out", required=True, metavar="DIR", type=PLACE,
              help="The output folder; it must not exist, unless with --replace.")  # fmt: skip
@click.option("--replace", is_flag=True,
              help="For the owner of the data: put the policy in the place of the one in force under its"
              " uid, and move the version in the output folder beside; it stays on record.")  # fmt: skip
@click.option(
    "--dry-run",
    is_flag=True,
    help="Decide and plan, and show what would stop the run, also beside earlier releases; write nothing.",
)
@click.option("--page", metavar="FILE", type=PLACE,
              help="Write the owner's report, with attacks on the output, as a page of HTML to a new file"
              " that its owner alone can read.")  # fmt: skip
@click.option("--report", metavar="FILE", type=PLACE, help="The same as JSON.")
@events_option
@agreement_option
@bind_option
@run_options
@asker_options(required=True)
@verbose_option
@registry_option
@format_option("human", "json")
def run(  # noqa: PLR0913 (an option each)
    policy: str,
    out: str,
    *,
    replace: bool,
    dry_run: bool,
    page: str | None,
    report: str | None,
    events: str | None,
    **options: Any,
) -> int:
    """Run a policy on data, and record the result: all or nothing.

    A run decides the request, transforms the data, verifies the output, certifies and registers it.
    """
    check_reports(page, report, dry_run=dry_run)
    if dry_run:
        if not replace:
            _refuse_taken(out)
        return _plan(policy, workspace=Path(out).parent, is_dry_run=True, **options)
    shown_as, verbose = options.pop("shown_as"), options.pop("verbose")
    document, bound = loaded(policy, options)
    show_warnings(document)
    publishing = Publishing(out, replace, page, report, events)
    outcome = carry_out(document, bound, publishing, shown_as=shown_as, in_full=verbose)
    return 0 if outcome.decision.is_permitted else FINDINGS


@dataclass(frozen=True, slots=True)
class Publishing:
    """Where a run writes."""

    out: str
    replace: bool = False
    page: str | None = None
    report: str | None = None
    events: str | None = None
    """Where the run is told; None: where the process was told to, if it is a job's."""


def carry_out(
    document: "PolicyDocument",
    bound: dict[str, Any],
    publishing: Publishing,
    *,
    shown_as: str,
    in_full: bool,
) -> "Outcome":
    """Run a policy and show what came of it.

    Args:
        document: the policy.
        bound: the request, as arguments of the API.
        publishing: where it writes.
        shown_as: `human` or `json`.
        in_full: whether to list alike columns and warnings one by one.
    """
    from smalti import api
    from smalti.cli.progress import showing_phases
    from smalti.json.runs import outcome_json
    from smalti.json.text import as_json
    from smalti.show.runs import show_outcome
    from smalti.show.terminal import console, show_written

    page, report = publishing.page, publishing.report
    examine = page is not None or report is not None
    with showing_phases() as watch:
        if publishing.events is not None:
            tell_runs(watch, publishing.events)
        bound |= {"watch": watch, "checkpoint": watch.checkpoint}
        outcome = api.run(
            document, out=publishing.out, replace=publishing.replace, examine=examine, **bound
        )
    _write_reports(outcome, page, report)
    if shown_as == "json":
        click.echo(as_json(outcome_json(outcome)), nl=False)
    else:
        show_outcome(console(), outcome, bound["registry"], in_full=in_full)
        if outcome.examination is not None:
            show_written(console(), page, report)
    return outcome


def tell_runs(watch: "CommandWatch", events: str) -> None:
    """Tell the runs that a watch sees to a file or an address.

    Raises:
        UsageError: events are not sent to such an address.
    """
    from smalti.engine.run.lineage_events import LineageEvents

    watch.listener = LineageEvents(events, lambda line: click.echo(f"warning: {line}", err=True))


def check_reports(page: str | None, report: str | None, *, dry_run: bool) -> None:
    """Refuse, before any work, what cannot be written at the end."""
    from smalti.errors import UsageError, raise_all

    problems: list[Any] = []
    for option, place in (("--page", page), ("--report", report)):
        if place is not None and dry_run:
            problem = "a dry run makes no output to report on"
            problems.append(UsageError(option, problem, "a run", "leave it out"))
        elif place is not None and (Path(place).exists() or not Path(place).absolute().parent.is_dir()):
            problem = "the file cannot be created"
            problems.append(UsageError(place, problem, "a file that does not exist, in a folder that does"))
    raise_all(problems)
    if page is not None:
        from smalti.reports.web import check_installed

        check_installed()


def _write_reports(outcome: Any, page: str | None, report: str | None) -> None:
    """Write the owner's report of a run, where there is one."""
    from smalti.cli.keys import write_new
    from smalti.json.examinations import examination_json
    from smalti.json.runs import report_json
    from smalti.json.text import as_json

    examination = outcome.examination
    if examination is None:
        return
    if report is not None:
        document = {
            "target": outcome.version.target,
            "version": outcome.version.number,
            "ownerReport": report_json(outcome.report),
            "examination": examination_json(examination),
        }
        write_new(report, as_json(document).encode())
    if page is not None:
        from smalti.reports.examinations import page as page_of
        from smalti.reports.web import to_html

        shown = page_of(examination, f"{outcome.version.target} version {outcome.version.number}")
        write_new(page, to_html(shown).encode())


def _show_plan(planned: Any, *, as_json: bool, in_full: bool) -> None:
    from smalti.engine.run.explain import to_json, to_text
    from smalti.json.runs import planned_json
    from smalti.show.runs import show_composition
    from smalti.show.terminal import console

    if as_json:
        click.echo(planned_json(to_json(planned.plan), planned), nl=False)
        return
    click.echo(to_text(planned.plan, planned.notices, in_full=in_full), nl=False)
    if planned.composition is not None and planned.composition.releases > 1:
        # One alone loses what its plan says, which is more exact.
        show_composition(console(), planned.composition)


def show_warnings(document: "PolicyDocument") -> None:
    """Say what `smalti check` would warn of."""
    if document.warnings:
        listed = "; ".join(f"{warning.code} {warning.message}" for warning in document.warnings)
        click.echo(f"warning: {document.name}: {listed} (see `smalti check`)", err=True)


def _refuse_taken(out: str) -> None:
    from smalti.engine.tables.stores import on_disk
    from smalti.errors import UsageError

    if on_disk(out, "out (--out)").exists():
        raise UsageError(out, "it exists already", "a folder that does not exist", "name another folder")


def bound_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a command as arguments of the API."""
    from smalti.engine.tables.addresses import SERVERS
    from smalti.engine.tables.stores import SCHEMES
    from smalti.errors import UsageError

    data = {}
    for binding in options.pop("bindings"):
        # The query of a store's address may have a `=`, and so may an IRI.
        address = re.search("=(?=[A-Za-z][A-Za-z0-9+.-]*://)", binding)
        target, separator, path = binding.rpartition("=")
        if address is not None:
            target, path = binding[: address.start()], binding[address.end() :]
        stores = tuple(f"{scheme}://" for scheme in (*SCHEMES, *SERVERS))
        is_address = target.startswith(stores) and {*"?@"} & {*target}
        if not separator or not target or not path or is_address:
            # Neither is repeated: an address can hold a secret.
            raise UsageError("--data", "it is not a binding", "IRI=PATH")
        data[target] = path
    return {"data": data, **_with_settings(options)}


def _with_settings(options: dict[str, Any]) -> dict[str, Any]:
    from smalti.errors import UsageError

    conf = {}
    for setting in options.pop("settings"):
        key, separator, value = setting.partition("=")
        if not key or not separator:
            # The value may be a secret, and so may be what stands in its place.
            raise UsageError("--conf", "a setting has no name or no value", "KEY=VALUE")
        conf[key] = value
    return {"conf": conf, **options}


def _show_denial(decision: Any, shown_as: str) -> None:
    from smalti.json.decisions import decision_json
    from smalti.json.text import as_json
    from smalti.show.decisions import show_decision
    from smalti.show.terminal import console

    if shown_as == "json":
        click.echo(as_json({"decision": decision_json(decision)}), nl=False)
    else:
        show_decision(console(), decision)


@click.command(cls=TunedCommand)
@click.argument("output", metavar="FOLDER|IRI", type=PLACE)
@click.option("--data", metavar="PATH", help="The owner's data: runs the recorded plan again and compares.")
@click.option("--population", metavar="PATH", help="With --data, the population table of the plan.")
@description_option
@_engine_options
@workspace_option
@registry_option
@format_option("human", "json")
def verify(
    output: str,
    data: str | None,
    population: str | None,
    description: str | None,
    registry: str,
    shown_as: str,
    **engine: Any,
) -> int:
    """Verify a published output: bytes, promises and record.

    An output that the registry did not record is a finding (exit code 1): its certificate is unsigned.
    """
    from smalti import api
    from smalti.cli.opening import open_registry
    from smalti.json.runs import recheck_json
    from smalti.json.text import as_json
    from smalti.show.terminal import console
    from smalti.show.verification import show_recheck

    settings = _with_settings(engine)
    seen = api.verify(
        output,
        registry=open_registry(registry),
        data=data,
        population=population,
        description=description,
        **settings,
    )
    if shown_as == "json":
        click.echo(as_json(recheck_json(seen)), nl=False)
    else:
        show_recheck(console(), seen)
    return 0 if seen.version is not None else FINDINGS


@click.command()
@click.argument("output", metavar="FOLDER|FILE", type=PLACE)
@click.option("--certificate", metavar="FILE", type=PLACE,
              help="The certificate that states the noise.  [default: the one in the folder]")  # fmt: skip
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95,
              show_default=True, help="Confidence of each interval by itself.")  # fmt: skip
@format_option("human", "json")
def estimate(output: str, certificate: str | None, confidence: float, shown_as: str) -> int:
    """Estimate shares and means from perturbed records.

    Only what was published is needed.
    """
    from smalti import api
    from smalti.json.estimates import estimates_json
    from smalti.json.text import as_json
    from smalti.show.perturbation import show_estimates
    from smalti.show.terminal import console

    estimates = api.estimate(output, certificate, confidence=confidence)
    if shown_as == "json":
        click.echo(as_json(estimates_json(estimates, confidence)), nl=False)
    else:
        show_estimates(console(), estimates, confidence)
    return 0
