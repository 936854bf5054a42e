"""The command `risk`: what a noise means for one person, from whichever figure is known."""

from typing import Any

import click

from smalti.cli.options import PLACE, format_option


@click.command()
@click.option("--mechanism", type=click.Choice(["gaussian", "laplace"]), default="gaussian",
              show_default=True, help="The noise of each step.")  # fmt: skip
@click.option("--epsilon", type=float, metavar="E", help="Epsilon of all steps together.")
@click.option("--delta", type=float, metavar="D", help="Delta of epsilon and of the belief.")
@click.option("--belief", type=float, metavar="P",
              help="Posterior belief, at prior one half, exceeded with probability D at most.")  # fmt: skip
@click.option("--advantage", type=float, metavar="A", help="Membership advantage.")
@click.option("--noise-multiplier", type=float, metavar="Z", help="Noise of a step, in sensitivities.")
@click.option("--sigma", type=float, metavar="S",
              help="Noise of a step: standard deviation, or scale of Laplace noise.")  # fmt: skip
@click.option("--sensitivity", type=float, default=1.0, show_default=True, metavar="S",
              help="Of a step, in the units of sigma.")  # fmt: skip
@click.option("--steps", type=int, default=1, show_default=True, metavar="N", help="Number of steps.")
@click.option("--sampling-rate", type=float, default=1.0, show_default=True, metavar="Q",
              help="Chance of each record to take part in a step.")  # fmt: skip
@click.option("--page", metavar="FILE", type=PLACE,
              help="Write a page of HTML with plots; the file must not exist.")  # fmt: skip
@format_option("human", "json")
def risk(mechanism: str, page: str | None, shown_as: str, **figures: Any) -> int:
    """Turn epsilon, belief, advantage and noise into each other.

    State one of --epsilon, --belief, --advantage, --noise-multiplier and --sigma; the others follow, with
    the closed forms of arXiv 2103.02913 and which of them hold. Several must fit each other. No data is
    read.
    """
    from smalti import risking
    from smalti.json.text import as_json
    from smalti.reports import terminal
    from smalti.reports.web import check_installed, write_html
    from smalti.show.terminal import console
    from smalti.transforms.auditing.risk import Mechanism

    if page is not None:
        check_installed()
    shown = risking.risk(risking.Stated(mechanism=Mechanism(mechanism), **figures))
    if page is not None:
        write_html(shown.page(with_drawings=True), page)
    if shown_as == "json":
        click.echo(as_json(shown.to_json()), nl=False)
    else:
        terminal.show(shown.page(with_drawings=False), console())
    return 0
