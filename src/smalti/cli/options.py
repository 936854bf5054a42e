"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FINDINGS, USAGE, MACHINE = 1, 2, 3
"""Exit codes besides 0."""


def registry_option(command: Command) -> Command:
    """`--registry`."""
    option = click.option(
        "--registry", default="smalti.sqlite", show_default=True, metavar="FILE|URL",
        help="The registry; created by the first run or policy.",
    )  # fmt: skip
    return option(command)


def format_option(*formats: str) -> Callable[[Command], Command]:
    """`--format`, the first one being the default."""
    return click.option(
        "--format", "shown_as", type=click.Choice(formats), default=formats[0], show_default=True,
        help="Output format.",
    )  # fmt: skip


def party_option(metavar: str, help_: str, *, required: bool = True) -> Callable[[Command], Command]:
    """`--as`, an IRI that is taken on trust."""
    return click.option("--as", "party", required=required, metavar=metavar, help=help_)


def asker_options(required: bool) -> Callable[[Command], Command]:
    """`--as` and `--purpose`."""

    def decorate(command: Command) -> Command:
        for option in (
            click.option("--purpose", metavar="PURPOSE", help="A name such as marketing, or an IRI."),
            party_option(
                "PARTY",
                "The requesting party, an IRI taken on trust: smalti authenticates nobody.",
                required=required,
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
