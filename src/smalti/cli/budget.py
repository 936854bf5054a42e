"""The commands about privacy budgets of releases: show, forecast."""

import click

from smalti.cli.options import format_option, party_option, registry_option


@click.group()
def budget() -> None:
    """Show the privacy loss of all releases, and what remains.

    Releases about the same people add up.
    """


_owner_option = party_option("OWNER", "An owner of the target; an IRI taken on trust.")


@budget.command("show")
@click.argument("target", metavar="IRI")
@_owner_option
@registry_option
@format_option("human", "json")
def budget_show(target: str, party: str, registry: str, shown_as: str) -> int:
    """Show an owner the charges, and what is left.

    The charges are those about the target's respondents; what is left is shown for each ceiling.
    """
    from smalti import budgeting
    from smalti.cli.opening import open_registry
    from smalti.json.budgets import budget_json
    from smalti.json.text import as_json
    from smalti.show.budgets import show_budget
    from smalti.show.terminal import console

    report = budgeting.budget(target, party=party, registry=open_registry(registry))
    if shown_as == "json":
        click.echo(as_json(budget_json(report)), nl=False)
    else:
        show_budget(console(), report)
    return 0


@budget.command("forecast")
@click.argument("target", metavar="IRI")
@click.option("--epsilon", required=True, metavar="E", help="Epsilon of each release.")
@click.option("--delta", default="0", show_default=True, metavar="D", help="Delta of each release.")
@click.option(
    "--releases", type=int, default=1, show_default=True, metavar="N",
    help="Number of further releases to compute the bounds for.",
)  # fmt: skip
@_owner_option
@registry_option
@format_option("human", "json")
def budget_forecast(  # noqa: PLR0913, PLR0917 (each an option)
    target: str, epsilon: str, delta: str, releases: int, party: str, registry: str, shown_as: str
) -> int:
    """Show an owner how many more releases fit.

    It also shows the bounds on what they reveal.
    """
    from smalti import budgeting
    from smalti.cli.opening import open_registry
    from smalti.json.budgets import forecast_json
    from smalti.json.text import as_json
    from smalti.show.budgets import show_forecast
    from smalti.show.terminal import console

    forecast = budgeting.forecast(
        target,
        party=party,
        epsilon=epsilon,
        delta=delta,
        releases=releases,
        registry=open_registry(registry),
    )
    if shown_as == "json":
        click.echo(as_json(forecast_json(forecast)), nl=False)
    else:
        show_forecast(console(), forecast)
    return 0
