"""The commands about policies as texts, and about decisions: check, fmt, offer, test, decide."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import (
    FINDINGS,
    PLACE,
    asker_options,
    bind_option,
    format_option,
    parameter_option,
    registry_option,
    statement_options,
)

if TYPE_CHECKING:
    from smalti.checking import CheckedDocument
    from smalti.formatting import FormattedFile


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PLACE)
@click.option("--dataset", metavar="DESCRIPTION", type=click.Path(),
              help="A CSVW description, or the data file beside it; columns must match it.")  # fmt: skip
@click.option(
    "--vocabulary",
    "vocabularies",
    multiple=True,
    metavar="FILE",
    type=click.Path(),
    help="Groups, purposes, profiles and left operands of your own; may be repeated.",
)
@click.option("--together", is_flag=True,
              help="All of them are one owner's: warn of rules that prohibitions of other policies"
                   " contradict.")  # fmt: skip
@click.option("--verbose", is_flag=True, help="Show each of many alike warnings and notes by itself.")
@click.option("--strict", is_flag=True, help="Exit with code 1 on warnings, too.")
@bind_option
@format_option("human", "json", "sarif", "github")
def check(  # noqa: PLR0913, PLR0917 (its options)
    files: tuple[str, ...],
    dataset: str | None,
    vocabularies: tuple[str, ...],
    together: bool,
    strict: bool,
    verbose: bool,
    bound: tuple[str, ...],
    shown_as: str,
) -> int:
    """Check policy documents and report all findings.

    Neither data nor network is needed. Documents that are checked together may inherit from
    each other. `-` is standard input.
    """
    from smalti.binding import pairs

    documents = checked(files, dataset, vocabularies, pairs(bound), together=together)
    click.echo(shown(documents, shown_as, in_full=verbose), nl=False)
    return check_code(documents, strict=strict)


def checked(
    files: Sequence[str],
    dataset: str | None,
    vocabularies: Sequence[str],
    bound: Mapping[str, str],
    *,
    together: bool,
) -> "tuple[CheckedDocument, ...]":
    """The documents with their findings; see the options of `check`."""
    from pathlib import Path

    from smalti.binding import binding_of
    from smalti.checking import check_documents

    described = None if dataset is None else Path(dataset)
    binding = binding_of(bound)
    return check_documents(
        list(files), described, list(map(Path, vocabularies)), binding=binding, together=together
    )


def check_code(documents: "tuple[CheckedDocument, ...]", *, strict: bool) -> int:
    """0 where all can be used, and nothing warns where that counts; 2 where one cannot be read; else 1."""
    from smalti.policy.read.parse import exit_code

    fine = all(document.is_valid and not (strict and document.has_warnings) for document in documents)
    return 0 if fine else max(exit_code(document.diagnostics) for document in documents)


def shown(documents: "tuple[CheckedDocument, ...]", shown_as: str, *, in_full: bool) -> str:
    """The findings as a text, in one of the formats of `check`."""
    from smalti.policy.findings import render, reports

    findings = tuple(finding for document in documents for finding in document.diagnostics)
    match shown_as:
        case "json":
            return render.render_json(findings) + "\n"
        case "sarif":
            return reports.render_sarif(findings) + "\n"
        case "github":
            annotations = reports.render_github(findings)
            return annotations + "\n" if annotations else ""
    return "".join(f"{part}\n" for document in documents for part in _paragraphs(document, in_full=in_full))


def _paragraphs(document: "CheckedDocument", *, in_full: bool) -> list[str]:
    from smalti.policy.findings import render

    if not document.diagnostics:
        return list(document.descriptions)
    findings = render.render_human(document.diagnostics, document.text, in_full=in_full)
    return [findings, *document.descriptions]


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PLACE)
@click.option(
    "--check", "only_check", is_flag=True, help="Change nothing; exit code 1 when a file would change."
)
@click.option("--diff", is_flag=True, help="Show what would change; change nothing.")
@click.option("--to", "form", type=click.Choice(["short", "json-ld"]),
              help="Write one document in another form to standard output; change nothing.")  # fmt: skip
def fmt(files: tuple[str, ...], only_check: bool, diff: bool, form: str | None) -> int:
    """Lay out policy documents canonically; keep their meaning.

    `-` reads standard input and writes standard output. A short form (.yaml, .yml) stays as it is written.
    """
    from smalti.formatting import format_files

    if form is not None:
        return _converted(files, form, is_alone=not (only_check or diff))

    code = 0
    for done in format_files(files, write=not (only_check or diff)):
        if done.problem:
            click.echo(done.problem, err=True)
        elif done.name == "-" and not (only_check or diff):
            click.echo(done.text, nl=False)
        elif done.is_changed:
            shown = (
                done.difference
                if diff
                else f"{'would lay out' if only_check else 'laid out'}: {done.name}\n"
            )
            click.echo(shown, nl=False)
        if done.problem or (done.is_changed and (only_check or diff)):
            code = max(code, _code_of(done))
    return code


def _converted(files: tuple[str, ...], form: str, *, is_alone: bool) -> int:
    from smalti.errors import UsageError
    from smalti.formatting import convert_file

    if len(files) != 1 or not is_alone:
        raise UsageError(
            "--to", "it writes one document in another form", "one FILE, without other options"
        )
    done = convert_file(files[0], form)
    click.echo(done.problem or done.text, nl=bool(done.problem), err=bool(done.problem))
    return _code_of(done) if done.problem else 0


def _code_of(done: "FormattedFile") -> int:
    """The exit code for a file that is not as it should be: 2 where it cannot be read."""
    from smalti.errors import UsageError

    return UsageError.exit_code if done.is_unreadable else FINDINGS


@click.command()
@click.argument("file", metavar="POLICY", type=PLACE)
@click.option("--vocabulary", "vocabularies", multiple=True, metavar="FILE", type=click.Path(),
              help="Profiles, actions and left operands of your own; may be repeated.")  # fmt: skip
@bind_option
def offer(file: str, vocabularies: tuple[str, ...], bound: tuple[str, ...]) -> int:
    """Write the public part of a policy as an offer to connectors.

    It is an offer of the Dataspace Protocol 2025-1. Written are the terms that a requester must
    see, and none of the owner's internals.
    """
    from pathlib import Path

    from smalti.agreeing import offer_text
    from smalti.binding import pairs

    click.echo(offer_text(file, pairs(bound), list(map(Path, vocabularies))), nl=False)
    return 0


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PLACE)
@format_option("human", "json")
def test(files: tuple[str, ...], shown_as: str) -> int:
    """Run policy tests: requests with the decisions they expect.

    A test may also expect rules and a plan.
    """
    from pathlib import Path

    from smalti.engine.backends.local import LocalBackend
    from smalti.engine.run.case_files import read_cases
    from smalti.engine.run.case_runs import run_cases
    from smalti.json.decisions import cases_json
    from smalti.json.text import as_json
    from smalti.show.decisions import show_cases
    from smalti.show.terminal import console

    backend = LocalBackend()
    results = [(name, run_cases(read_cases(Path(name)), backend)) for name in files]
    if shown_as == "json":
        click.echo(as_json([cases_json(name, cases) for name, cases in results]), nl=False)
    else:
        show_cases(console(), results)
    return 0 if all(case.passed for _, cases in results for case in cases) else FINDINGS


@click.command()
@asker_options(required=True)
@click.option("--action", required=True, metavar="ACTION", help="A name such as read, or an IRI.")
@click.option("--target", required=True, multiple=True, metavar="IRI",
              help="A source, an output or a version; repeat it to request several jointly.")  # fmt: skip
@click.option("--rule", metavar="UID", help="The permission to rely on, where several match.")
@click.option("--time", metavar="TIME", help="Its time, such as 2026-05-01T12:00:00Z.  [default: now]")
@statement_options
@click.option("--fulfilled", multiple=True, metavar="UID",
              help="A duty that has been fulfilled; never one to anonymize.")  # fmt: skip
@click.option("--duties", type=click.Choice(["fulfilled", "not-violated"]), default="fulfilled",
              show_default=True,
              help="What duties must be: fulfilled before, or not violated; those that are not fulfilled"
                   " yet are then owed.")  # fmt: skip
@parameter_option
@click.option("--understands-limits", is_flag=True,
              help="The caller applies the limits of each permission; without this option, a limited"
                   " permission does not permit.")  # fmt: skip
@click.option("--explain", is_flag=True, help="Show for each considered rule which parts matched, and why.")
@registry_option
@format_option("human", "json")
def decide(shown_as: str, explain: bool, **request: Any) -> int:
    """Decide a request by the registry's policies, with reasons.

    A request that is permitted only for some rows or columns, or with duties, is `limited`: exit code 1,
    unless --understands-limits states that the caller applies these limits.
    """
    from smalti import deciding
    from smalti.cli.opening import open_registry
    from smalti.json.decisions import decision_json
    from smalti.json.text import as_json
    from smalti.show.decisions import show_decision
    from smalti.show.terminal import console

    request["registry"] = open_registry(request["registry"])
    decision = deciding.decide(explain=explain, **request)
    if shown_as == "json":
        click.echo(as_json(decision_json(decision)), nl=False)
    else:
        show_decision(console(), decision)
    return 0 if decision.is_permitted else FINDINGS
