"""The command `audit release`: attacks on released statistics, which register nothing."""

from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import PLACE, format_option, party_option, registry_option

if TYPE_CHECKING:
    from smalti.cli.reporting import Reported


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
    from smalti.cli.reporting import check_pages, deliver

    check_pages(page)
    deliver(reported(output, registry, **options), page=page, report=report, shown_as=shown_as)
    return 0


def reported(output: str, registry: str, **options: Any) -> "Reported":
    """Attack the statistics of a release.

    Args:
        output: as of `auditing_releases.audit_release`.
        registry: its location.
        **options: of the same.
    """
    from smalti import auditing_releases
    from smalti.cli.opening import open_registry
    from smalti.cli.progress import showing_phases
    from smalti.cli.reporting import Reported
    from smalti.json.release_audits import release_audit_json
    from smalti.reports.release_audits import page

    with showing_phases() as watch:
        attacks = auditing_releases.audit_release(
            output, registry=open_registry(registry), phase=watch.phase, **options
        )
    return Reported(release_audit_json(attacks), lambda drawn: page(attacks, with_drawings=drawn))
