"""Options that several commands share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from smalti.cli.settings import SettingOption

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])


class _Place(click.types.StringParamType):
    """A path as it was written, which a shell completes; the command itself says what is wrong with it."""

    name = "path"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """Leave it to the shell."""
        from click.shell_completion import CompletionItem

        del ctx, param
        return [CompletionItem(incomplete, type="file")]


PLACE = _Place()

FINDINGS, USAGE, MACHINE = 1, 2, 3
"""Exit codes besides 0."""


def registry_option(command: Command) -> Command:
    """`--registry`."""
    option = click.option(
        "--registry", cls=SettingOption, setting="registry", default="smalti.sqlite",
        show_default=True, metavar="FILE|URL", type=PLACE,
        help="The registry; created by the first run or policy.",
    )  # fmt: skip
    return option(command)


events_option = click.option(
    "--events", cls=SettingOption, setting="events", metavar="FILE|URL", type=PLACE,
    help="Tell runs that begin and end to this file or address, as events of OpenLineage.",
)  # fmt: skip


def format_option(*formats: str) -> Callable[[Command], Command]:
    """`--format`, the first one being the default."""
    return click.option(
        "--format", "shown_as", type=click.Choice(formats), default=formats[0], show_default=True,
        help="Output format.",
    )  # fmt: skip


PARTIES = (
    "--as names who asks and will get the result, --owner whose policy and data they are (the same party"
    " where it is left out); smalti takes both on trust."
)
"""The one sentence about both, wherever both appear."""


def party_option(
    metavar: str, help_: str, *, required: bool = True, setting: str | None = "acting"
) -> Callable[[Command], Command]:
    """`--as`, an IRI that is taken on trust.

    Args:
        metavar: who it is.
        help_: what the option says.
        required: whether the command needs it.
        setting: what of the settings file gives it; None: nothing.
    """
    return click.option(
        "--as", "party", cls=SettingOption, setting=setting, required=required, metavar=metavar, help=help_
    )


def asker_options(required: bool) -> Callable[[Command], Command]:
    """`--as` and `--purpose`."""

    def decorate(command: Command) -> Command:
        for option in (
            click.option("--purpose", metavar="PURPOSE", help="A name such as marketing, or an IRI."),
            party_option(
                "PARTY",
                "Who asks, an IRI taken on trust: smalti authenticates nobody.",
                required=required,
                setting="party",
            ),
        ):
            command = option(command)
        return command

    return decorate


def bind_option(command: Command) -> Command:
    """`--bind PART=IRI`, several times."""
    option = click.option(
        "--bind", "bound", multiple=True, metavar="PART=IRI",
        help="Binds the target, assigner, assignee or base of a template; once for each part.",
    )  # fmt: skip
    return option(command)


def agreement_option(command: Command) -> Command:
    """`--as-agreement MESSAGE`."""
    option = click.option(
        "--as-agreement", "agreement", metavar="MESSAGE", type=PLACE,
        help="A ContractAgreementMessage or ContractAgreement, which counts in place of the policy that was"
        " offered, or of the policy in force with that uid, and may say no more than it.",
    )  # fmt: skip
    return option(command)


def parameter_option(command: Command) -> Command:
    """`--with WORD=VALUE`, several times."""
    option = click.option(
        "--with", "parameters", multiple=True, metavar="WORD=VALUE",
        help="A parameter of the request, such as k=20; stronger than the policy's, never weaker.",
    )  # fmt: skip
    return option(command)


def statement_options(command: Command) -> Command:
    """What is stated with a request: facts, accepted clauses, the date of an agreement."""
    for option in (
        click.option("--agreed", metavar="TIME", help="When the agreement was made."),
        click.option("--on-behalf-of", metavar="PARTY",
                     help="Whom accepted clauses bind; required with --accept, and the --as party."),
        click.option("--accept", "accepted", multiple=True, metavar="CLAUSE[=VALUE]",
                     help="A clause that is accepted, by left operand: an obligation between people; as the"
                     " rule states it, or with this value alone."),
        click.option("--stated-by", multiple=True, metavar="OPERAND=PARTY",
                     help="On whose word a fact is stated.  [default: the --as party's]"),
        click.option("--fact", "facts", multiple=True, metavar="OPERAND=VALUE",
                     help="A fact about the world or the party, by left operand."),
    ):  # fmt: skip
        command = option(command)
    return command
