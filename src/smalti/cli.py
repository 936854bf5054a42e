"""The command line: a thin skin over `smalti.api`.

Exit codes: 0 done, permitted, valid; 1 findings, a denial, a guarantee that cannot be met; 2 wrong
usage; 3 an internal error, or the machine. Modules are imported by the command that needs them, so that
`smalti --version` and `--help` answer at once.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from smalti.engine.entries import TargetVersion
    from smalti.engine.registry import Registry
    from smalti.vocab.terms import IRI

Command = TypeVar("Command", bound=Callable[..., Any])

FINDINGS, USAGE, MACHINE = 1, 2, 3


def main() -> None:
    """Run the command line and leave with its exit code."""
    from smalti.errors import InternalError, SmaltiError, unforeseen

    try:
        sys.exit(cli.main(standalone_mode=False, prog_name="smalti") or 0)
    except click.exceptions.Abort:
        _fail("interrupted; nothing was registered", MACHINE)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (SmaltiError, InternalError) as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted; nothing was registered", MACHINE)
    except BrokenPipeError:
        # Whoever read the answer went away: there is nobody to tell, and no finding either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(MACHINE)
    except Exception as error:
        _fail(str(unforeseen(error)), MACHINE)


def _fail(text: str, code: int) -> None:
    click.echo(click.style("error: ", fg="red", bold=True) + text, err=True)
    sys.exit(code)


def _registry_option(command: Command) -> Command:
    option = click.option(
        "--registry", default="smalti.sqlite", show_default=True, metavar="FILE",
        help="The registry; made by the first run or policy.",
    )  # fmt: skip
    return option(command)


def _format_option(*formats: str) -> Callable[[Command], Command]:
    return click.option(
        "--format", "shown_as", type=click.Choice(formats), default=formats[0], show_default=True,
        help="How the answer is shown.",
    )  # fmt: skip


def _asker_options(required: bool) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in (
            click.option("--purpose", metavar="PURPOSE", help="A name such as marketing, or an IRI."),
            click.option(
                "--as", "party", required=required, metavar="PARTY",
                help="Who asks, an IRI. It is taken on trust: authentication is not this program's part.",
            ),
        ):  # fmt: skip
            command = option(command)
        return command

    return decorate


def _run_options(command: Command) -> Command:
    for option in (
        click.option("--cut-threshold", type=click.IntRange(0), default=256, show_default=True,
                     metavar="T", help="Partitions of at most T distinct tuples take their best cut."),
        click.option("--output-format", type=click.Choice(["csv", "parquet"]), default="csv",
                     show_default=True),
        click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True),
        click.option("--rule", metavar="UID", help="The permission to use, where several match."),
        click.option("--owner", metavar="PARTY",
                     help="Who submits the policy and binds the data, an IRI taken on trust."
                     "  [default: the --as party]"),
        click.option("--data", "bindings", multiple=True, required=True, metavar="IRI=PATH",
                     help="Bind the target to a CSV or Parquet file, or to its CSVW metadata."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="smalti", message="smalti %(version)s")
def cli() -> None:
    """Sanitize data as an ODRL policy says, verify the result, and record it."""


@cli.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_format_option("human", "json")
def check(files: tuple[str, ...], shown_as: str) -> int:
    """Check policy documents: every finding at once, without data and without network."""
    from smalti.policy import parse, render

    parsed = [parse.load(file) for file in files]
    if shown_as == "json":
        findings = tuple(found for document in parsed for found in document.diagnostics)
        click.echo(render.render_json(findings))
    else:
        for document in parsed:
            if document.diagnostics:
                click.echo(render.render_human(document.diagnostics, document.text))
            if document.is_valid:
                click.echo(f"{document.name}: valid. Not checked: the data that it is about")
    return 0 if all(document.is_valid for document in parsed) else FINDINGS


@cli.command()
@click.argument("policy", metavar="POLICY")
@_run_options
@_asker_options(required=False)
@_registry_option
@_format_option("human", "json")
def plan(policy: str, **options: Any) -> int:
    """Explain what would be done to each column of the data, and why; write nothing.

    With --as the request is decided first; without it the plan is shown whoever asks.
    """
    from smalti import api

    shown_as = options.pop("shown_as")
    planned = api.plan(policy, **_bound(options))
    if planned.plan is None:
        _show_denial(planned.decision, shown_as)
        return FINDINGS
    click.echo(api.explain(planned.plan, as_json=shown_as == "json"), nl=False)
    return 0


@cli.command()
@click.argument("policy", metavar="POLICY")
@click.option("--out", required=True, metavar="DIR", help="The folder to make; it must not exist.")
@click.option("--dry-run", is_flag=True, help="Decide and plan; write nothing.")
@_run_options
@_asker_options(required=True)
@_registry_option
@_format_option("human", "json")
@click.pass_context
def run(context: click.Context, /, policy: str, out: str, dry_run: bool, **options: Any) -> int:
    """Run a policy on data: decide, transform, verify, certify, register. All of it, or nothing."""
    if dry_run:
        _refuse_taken(out)
        code: int = context.invoke(plan, policy=policy, **options)
        return code
    from smalti import api, console

    shown_as = options.pop("shown_as")
    registry = options["registry"]
    document = api.load_policy(policy)
    _show_warnings(policy)
    with _progress() as watch:
        outcome = api.run(document, out=out, watch=watch, **_bound(options))
    if shown_as == "json":
        click.echo(console.as_json(console.outcome_json(outcome)), nl=False)
    else:
        console.show_outcome(console.console(), outcome, registry)
    return 0 if outcome.decision.is_permitted else FINDINGS


def _show_warnings(policy: str) -> None:
    from smalti.policy import parse
    from smalti.policy.diagnostics import Severity

    found = [one for one in parse.load(policy).diagnostics if one.severity is Severity.WARNING]
    if found:
        listed = "; ".join(f"{one.code} {one.message}" for one in found)
        click.echo(f"warning: {policy}: {listed} (`smalti check` says more)", err=True)


def _refuse_taken(out: str) -> None:
    from smalti.errors import UsageError

    if Path(out).exists():
        raise UsageError(out, "it exists already", "a folder that does not exist", "name another folder")


def _progress() -> Any:
    from smalti.progress import showing_phases

    return showing_phases()


def _bound(options: dict[str, Any]) -> dict[str, Any]:
    from smalti.errors import UsageError

    data = {}
    for binding in options.pop("bindings"):
        target, separator, path = binding.rpartition("=")
        if not separator or not target or not path:
            raise UsageError("--data", f"`{binding}` binds nothing", "IRI=PATH")
        data[target] = path
    return {"data": data, **options}


def _show_denial(decision: Any, shown_as: str) -> None:
    from smalti import console

    if shown_as == "json":
        click.echo(console.as_json({"decision": console.decision_json(decision)}), nl=False)
    else:
        console.show_decision(console.console(), decision)


@cli.command()
@_asker_options(required=True)
@click.option("--action", required=True, metavar="ACTION", help="A name such as read, or an IRI.")
@click.option("--target", required=True, metavar="IRI", help="A source, an output, or one of its versions.")
@_registry_option
@_format_option("human", "json")
def decide(shown_as: str, **asked: Any) -> int:
    """Decide a request by the policies in the registry, with reasons."""
    from smalti import api, console

    asked["registry"] = _open(asked["registry"])
    decision = api.decide(**asked)
    if shown_as == "json":
        click.echo(console.as_json(console.decision_json(decision)), nl=False)
    else:
        console.show_decision(console.console(), decision)
    return 0 if decision.is_permitted else FINDINGS


def _open(place: str) -> "Registry":
    """The registry, after what a killed run left has been ended."""
    from smalti.engine.commit import recover, sweep
    from smalti.engine.registry import Registry

    registry = Registry.open(place)
    recover(registry)
    sweep(Path.cwd())
    return registry


@cli.command()
@click.argument("target", required=False, metavar="[IRI]")
@click.option("--as", "party", metavar="OWNER", help="Show the owner's figures too; taken on trust.")
@_registry_option
@_format_option("human", "json", "turtle")
def targets(target: str | None, party: str | None, registry: str, shown_as: str) -> int:
    """List what was recorded, with its versions."""
    from smalti import console
    from smalti.errors import UsageError
    from smalti.vocab.terms import IRI

    known = _open(registry)
    versions = known.versions(IRI(target)) if target else known.all_versions()
    if target and not versions:
        raise UsageError(target, "the registry knows no such output", "a recorded target", "leave it out")
    if party is not None and not all(_owns_inputs(known, IRI(party), one) for one in versions):
        raise UsageError(
            "--as", f"{party} does not own all of these", "an owner", "name one target it owns"
        )
    if shown_as == "turtle":
        if target:
            raise UsageError("--format turtle", "it shows the whole registry", "no target", "leave it out")
        from smalti.engine.records import export

        click.echo(export(known), nl=False)
    elif shown_as == "json":
        shown = [_version_json(known, one, party is not None) for one in versions]
        click.echo(console.as_json(shown), nl=False)
    elif versions:
        ended = frozenset(one.run for one in versions if not _is_in_force(known, one))
        console.show_versions(console.console(), versions, ended, party is not None)
    else:
        click.echo(f"nothing is recorded in {registry}")
    return 0


def _owns_inputs(known: "Registry", party: "IRI", version: "TargetVersion") -> bool:
    return all(party in known.full_owners(given.iri) for given in version.inputs)


def _is_in_force(known: "Registry", version: "TargetVersion") -> bool:
    return known.is_in_force(version.policy_digest, version.policy_uid)


def _version_json(known: "Registry", version: "TargetVersion", with_report: bool) -> dict[str, Any]:
    from smalti import console

    shown = console.version_json(version) | {"forReview": not _is_in_force(known, version)}
    return shown | {"ownerReport": console.report_json(version.report)} if with_report else shown


@cli.command()
@click.argument("output", metavar="FOLDER|IRI")
@click.option("--data", metavar="PATH", help="The owner's data: runs the recorded plan again and compares.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@_registry_option
@_format_option("human", "json")
def verify(output: str, data: str | None, engine: str, registry: str, shown_as: str) -> int:
    """Check an output again: its bytes, its promises, and its record.

    An output that the registry did not record is a finding (exit code 1): its certificate is unsigned.
    """
    from smalti import api, console

    seen = api.verify(output, registry=_open(registry), data=data, engine=engine)
    if shown_as == "json":
        click.echo(console.as_json(console.recheck_json(seen)), nl=False)
    else:
        console.show_recheck(console.console(), seen)
    return 0 if seen.version is not None else FINDINGS


@cli.group()
def policy() -> None:
    """Put policies in force, list them, end them; say who owns what."""


@policy.command("add")
@click.argument("file", metavar="FILE")
@click.option("--as", "party", required=True, metavar="OWNER", help="Who issues it; an IRI taken on trust.")
@_registry_option
def policy_add(file: str, party: str, registry: str) -> int:
    """Put the policies of a document in force. Of a target not known yet, the issuer becomes the owner."""
    from smalti.errors import UsageError
    from smalti.policy.names import iri

    try:
        document = Path(file).read_bytes()
    except OSError:
        raise UsageError(file, "the file cannot be read", "a policy document", "check the path") from None
    for stored in _open(registry).add_policy(document, file, iri(party, "--as")):
        click.echo(f"in force: {stored.uid}")
    return 0


@policy.command("list")
@_registry_option
@_format_option("human", "json")
def policy_list(registry: str, shown_as: str) -> int:
    """List the policies that were put in force, and the revoked ones."""
    from smalti import console

    stored = _open(registry).list_policies()
    if shown_as == "json":
        click.echo(console.as_json([console.policy_json(one) for one in stored]), nl=False)
    elif stored:
        console.show_policies(console.console(), stored)
    else:
        click.echo(f"no policy is stored in {registry}")
    return 0


@policy.command("revoke")
@click.argument("uid", metavar="UID")
@click.option("--as", "party", required=True, metavar="OWNER", help="Its issuer, or an owner; on trust.")
@_registry_option
def policy_revoke(uid: str, party: str, registry: str) -> int:
    """End a policy, and with it what was implied by it."""
    from smalti.policy.names import iri

    for stored in _open(registry).revoke_policy(iri(uid, "UID"), iri(party, "--as")):
        click.echo(f"revoked: {stored.uid}")
    return 0


@policy.command("owners")
@click.argument("target", required=False, metavar="[IRI]")
@click.option("--add", "new", metavar="PARTY", help="Make somebody an owner of a source.")
@click.option("--remove", "old", metavar="PARTY", help="Take ownership of a source away.")
@click.option("--as", "party", metavar="OWNER", help="The owner who says so; an IRI taken on trust.")
@_registry_option
def policy_owners(
    target: str | None, new: str | None, old: str | None, party: str | None, registry: str
) -> int:
    """Show who owns what, or change the owners of a source."""
    from smalti import console
    from smalti.errors import UsageError
    from smalti.policy.names import iri

    known = _open(registry)
    if (new or old) and not (target and party):
        raise UsageError("policy owners", "--add and --remove need a target and --as OWNER")
    if target and party:
        place, by = iri(target, "IRI"), iri(party, "--as")
        if new:
            known.add_owner(place, iri(new, "--add"), by=by)
        if old:
            known.remove_owner(place, iri(old, "--remove"), by=by)
    shown = [one for one in known.assets() if target in (None, one.iri)]
    console.show_owners(console.console(), [(one, known.owners(one.iri)) for one in shown])
    return 0


@cli.command()
@_registry_option
@_format_option("human", "json")
def doctor(registry: str, shown_as: str) -> int:
    """Say what is installed, what is missing, and the command that installs it."""
    from dataclasses import asdict

    from smalti import console
    from smalti.doctor import examine

    checks = examine(Path(registry))
    if shown_as == "json":
        click.echo(console.as_json([asdict(one) for one in checks]), nl=False)
    else:
        console.show_doctor(console.console(), checks)
    is_usable = all(one.is_there for one in checks if one.needed_for == "core")
    return 0 if is_usable else MACHINE
