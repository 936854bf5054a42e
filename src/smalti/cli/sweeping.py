"""The command `sweep`: risk against loss with many numbers, for the data's owner; nothing is recorded."""

from typing import Any

import click

from smalti.cli.layout import TunedCommand
from smalti.cli.options import FINDINGS, PARTIES, PLACE, asker_options, bind_option, format_option
from smalti.cli.runs import bound_options, run_options, verbose_option, workspace_option
from smalti.cli.trying import document_of


@click.command(cls=TunedCommand, epilog=PARTIES)
@click.argument("policy", metavar="POLICY", type=PLACE)
@click.option("--vary", multiple=True, metavar="k=2,5,10",
              help="Numbers to take in the place of the policy's k or l; once for each word. All"
              " combinations are measured. l=1 is plain k-anonymity.")  # fmt: skip
@click.option("--page", metavar="FILE", type=PLACE,
              help="Write a page of HTML with the frontier drawn to a new file that its owner alone can"
              " read.")  # fmt: skip
@click.option("--report", metavar="FILE", type=PLACE,
              help="Write the JSON report to a new file that its owner alone can read.")  # fmt: skip
@bind_option
@run_options
@workspace_option
@asker_options(required=False)
@verbose_option
@click.option("--registry", metavar="FILE|URL",
              help="A registry whose prohibitions, withdrawals and owners hold; it is only read.  [default:"
              " none]")  # fmt: skip
@format_option("human", "json")
def sweep(policy: str, **options: Any) -> int:
    """Show the owner of the data risk against loss by k and l.

    The data is read once. Each point has the digest of its plan, and can be run as it stands with --with.
    Nothing is recorded, charged or published, and nothing verified. --as and --purpose are the policy's
    when not given. Only the data's owner may sweep: where the registry knows the data, say who you are with
    --owner (or --as).
    """
    shown_as, verbose = options.pop("shown_as"), options.pop("verbose")
    template, registry = options.pop("bound"), options.pop("registry")
    page, report = options.pop("page"), options.pop("report")
    bound = bound_options(options)
    if registry is not None:
        bound["registry"] = registry
    document = document_of(policy, template, bound)
    return measure(document, bound, page=page, report=report, shown_as=shown_as, in_full=verbose)


def measure(
    document: Any,
    bound: dict[str, Any],
    *,
    page: str | None,
    report: str | None,
    shown_as: str,
    in_full: bool,
) -> int:
    """Sweep, write the reports that are asked for, and show the points.

    Args:
        document: the policy, or its path.
        bound: the request, as arguments of the API.
        page: where the page is written; None: nowhere.
        report: where the JSON report is written; None: nowhere.
        shown_as: `human` or `json`.
        in_full: whether to list alike columns and warnings one by one.

    Returns:
        The exit code.
    """
    from smalti import api
    from smalti.cli.keys import write_new
    from smalti.json.sweeps import sweep_json
    from smalti.json.text import as_json
    from smalti.show.sweep import show_sweep
    from smalti.show.terminal import console, show_written

    swept = api.sweep(document, **bound)
    text = as_json(sweep_json(swept))
    if report is not None:
        write_new(report, text.encode())
    if not swept.decision.is_permitted:
        page = None
    if page is not None:
        from smalti.reports.sweeps import page as page_of
        from smalti.reports.web import to_html

        shown = page_of(swept, next(iter(bound["data"])), with_drawings=True)
        write_new(page, to_html(shown).encode())
    if shown_as == "json":
        click.echo(text, nl=False)
    else:
        show_sweep(console(), swept, in_full=in_full)
        show_written(console(), page, report)
    return 0 if any(point.figures is not None for point in swept.points) else FINDINGS
