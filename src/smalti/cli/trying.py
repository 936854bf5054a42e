"""The command `try`: what a run would give, for the data's owner; nothing is recorded."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from smalti.cli.layout import TunedCommand
from smalti.cli.options import FINDINGS, PARTIES, PLACE, asker_options, bind_option, format_option
from smalti.cli.runs import bound_options, run_options, verbose_option, workspace_option


@click.command("try", cls=TunedCommand, epilog=PARTIES)
@click.argument("policy", metavar="POLICY", type=PLACE)
@click.option("--vary", multiple=True, metavar="k=2,5,10",
              help="Numbers to take in the place of the policy's k or l, one after the other; may be"
              " repeated. The policy itself stays as it is.")  # fmt: skip
@click.option(
    "--show-values",
    is_flag=True,
    help="Show on the terminal some values that have no place in a hierarchy; for the owner's eyes.",
)
@bind_option
@run_options
@workspace_option
@asker_options(required=False)
@verbose_option
@click.option("--registry", metavar="FILE|URL",
              help="A registry whose prohibitions, withdrawals and owners hold; it is only read.  [default:"
              " none]")  # fmt: skip
@format_option("human", "json")
def try_(policy: str, **options: Any) -> int:
    """Show the owner of the data what a run would give.

    That is: achieved k and l, losses, and a few published rows. It is a run that stops before it publishes:
    without registry and output folder, and nothing is recorded or charged. --as and --purpose are the
    policy's when not given. Only the data's owner may try: where the registry knows the data, say who you
    are with --owner (or --as). Rows are shown on the terminal only, never in JSON. What draws at random is
    planned only.
    """
    from smalti import api
    from smalti.json.text import as_json
    from smalti.json.trials import trial_json
    from smalti.show.terminal import console
    from smalti.show.trial import show_trial

    shown_as, verbose = options.pop("shown_as"), options.pop("verbose")
    template, registry = options.pop("bound"), options.pop("registry")
    shows = _shown_values() if options.pop("show_values") else None
    bound = bound_options(options)
    if registry is not None:
        bound["registry"] = registry
    trial = api.try_out(document_of(policy, template, bound), show_values=shows, **bound)
    if shown_as == "json":
        click.echo(as_json(trial_json(trial)), nl=False)
    else:
        show_trial(console(), trial, in_full=verbose)
    return trial.exit_code if trial.decision.is_permitted else FINDINGS


def _shown_values() -> Callable[[str, Sequence[str]], None]:
    """What shows values on the terminal, and nowhere else.

    Raises:
        UsageError: there is no terminal.
    """
    from smalti.errors import UsageError

    if not sys.stderr.isatty():
        raise UsageError(
            "--show-values", "there is no terminal", "a terminal, since values are for the owner's eyes"
        )

    def show(column: str, values: Sequence[str]) -> None:
        click.echo(f"no place in the hierarchy of `{column}`:", err=True)
        for value in values:
            click.echo(f"  {value!r}", err=True)

    return show


def document_of(policy: str, template: tuple[str, ...], bound: dict[str, Any]) -> Any:
    """The policy; a template with what is bound in it, any other one as its path."""
    if not template:
        return policy
    from smalti import api
    from smalti.binding import pairs
    from smalti.trying import only_read

    issuer = bound["owner"] or bound["party"]
    (target,) = bound["data"] if len(bound["data"]) == 1 else (None,)
    with only_read(bound.get("registry")) as opened:
        return api.load_policy(policy, registry=opened, issuer=issuer, target=target, bind=pairs(template))
