"""The command about tables of perturbed records: estimate."""

import click

from smalti.cli.options import format_option


@click.command()
@click.argument("output", metavar="FOLDER|FILE")
@click.option("--certificate", metavar="FILE",
              help="What says how the noise was drawn.  [default: the one in the folder]")  # fmt: skip
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95,
              show_default=True, help="Of each interval by itself.")  # fmt: skip
@format_option("human", "json")
def estimate(output: str, certificate: str | None, confidence: float, shown_as: str) -> int:
    """Read shares and means from a table that a run perturbed; it needs what was published, and no more."""
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
