"""The commands about budgets of releases: what was spent, and what more would come to."""

import click

from smalti.cli.options import format_option, party_option, registry_option


@click.group()
def budget() -> None:
    """Say what releases have lost together about the same people, and how much more they may."""


_owner_option = party_option("OWNER", "An owner of the target; an IRI taken on trust.")


@budget.command("show")
@click.argument("target", metavar="IRI")
@_owner_option
@registry_option
@format_option("human", "json")
def budget_show(target: str, party: str, registry: str, shown_as: str) -> int:
    """Show an owner what has been charged about a target's respondents, and what is left."""
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
@click.option("--epsilon", required=True, metavar="E", help="What each release would lose.")
@click.option("--delta", default="0", show_default=True, metavar="D", help="With this probability more.")
@click.option(
    "--releases", type=int, default=1, show_default=True, metavar="N",
    help="Say what could be found out after so many.",
)  # fmt: skip
@_owner_option
@registry_option
@format_option("human", "json")
def budget_forecast(  # noqa: PLR0913, PLR0917 (each an option)
    target: str, epsilon: str, delta: str, releases: int, party: str, registry: str, shown_as: str
) -> int:
    """Tell an owner how many more releases fit, and what could be found out then."""
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
