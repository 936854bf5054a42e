"""The command `audit release`: attacks on released statistics, which register nothing."""

from typing import Any

import click

from smalti.cli.options import PLACE, format_option, party_option, registry_option


@click.command("release")
@click.argument("output", metavar="FOLDER|IRI", type=PLACE)
@click.option("--data", required=True, metavar="PATH", help="The data that the release was made from.")
@click.option(
    "--population", metavar="PATH",
    help="People like those of the data: held-out records, or a reference. Who is in the data is left out"
    " where a column tells people apart.",
)  # fmt: skip
@party_option("OWNER", "An owner of the data; an IRI taken on trust.")
@click.option("--secret", metavar="COLUMN",
              help="The column to reconstruct.  [default: each that statistics count by]")  # fmt: skip
@click.option("--false-positive-rate", type=float, default=0.05, show_default=True, metavar="RATE",
              help="At which true positive rates are measured.")  # fmt: skip
@click.option("--confidence", type=float, default=0.95, show_default=True, metavar="P",
              help="Confidence of each limit by itself; below 1.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the attack.")
@click.option("--report", metavar="FILE", type=PLACE,
              help="Write the JSON report to a new file that its owner alone can read.")  # fmt: skip
@click.option("--page", metavar="FILE", type=PLACE,
              help="Write it as a page of HTML to a new file that its owner alone can read.")  # fmt: skip
@registry_option
@format_option("human", "json")
def release(
    output: str, *, registry: str, report: str | None, page: str | None, shown_as: str, **options: Any
) -> int:
    """Attack the statistics of a release.

    Shows its owner what attackers would reach on the statistics with their noise, and on the same without:
    who was among the respondents, and the values of a column. It registers nothing and fulfils no duty.
    """
    from smalti import auditing_releases
    from smalti.cli.keys import write_new
    from smalti.cli.opening import open_registry
    from smalti.cli.progress import showing_phases
    from smalti.json.release_audits import release_audit_json
    from smalti.json.text import as_json
    from smalti.reports import terminal
    from smalti.reports.release_audits import page as page_of
    from smalti.reports.web import check_installed, to_html
    from smalti.show.terminal import console, show_written

    if page is not None:
        check_installed()
    with showing_phases() as watch:
        attacks = auditing_releases.audit_release(
            output, registry=open_registry(registry), phase=watch.phase, **options
        )
    document = as_json(release_audit_json(attacks))
    if report is not None:
        write_new(report, document.encode())
    if page is not None:
        write_new(page, to_html(page_of(attacks, with_drawings=True)).encode())
    if shown_as == "json":
        click.echo(document, nl=False)
    else:
        terminal.show(page_of(attacks, with_drawings=False), console())
        show_written(console(), page, report)
    return 0
