"""The command `init`: from a file to a description and a policy to edit."""

import sys
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import PLACE
from smalti.cli.runs import verbose_option

if TYPE_CHECKING:
    from smalti.engine.run.profiling import Profile
    from smalti.engine.tables.formats import Format
    from smalti.roles import Roles

_EACH_ROW = "each row"
_ROLES = (
    ("quasi_identifiers", "Columns that others may know of a person (age, place, dates): to generalise"),
    ("sensitive", "Columns that nobody should learn of a person: to keep"),
    ("released", "Columns to publish as they are, on your responsibility"),
)


def columns_option(
    option: str, name: str, help_: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that names columns of a role."""
    return click.option(option, name, multiple=True, metavar="COLUMN", help=f"{help_}; may be repeated.")


@click.command()
@click.argument("data", metavar="DATA", type=PLACE)
@click.option(
    "--out", metavar="FOLDER", type=PLACE, help="Where the policy goes.  [default: beside the data]"
)
@click.option(
    "--name", metavar="NAME", help="Of the policy's file, before `.policy.yaml`.  [default: as the data's]"
)
@click.option("--respondent", metavar="COLUMN", help="The column that tells people apart.")
@click.option("--one-row-each", is_flag=True, help="Each row is about another person.")
@columns_option("--quasi-identifier", "quasi_identifiers", "What others may know of a person: generalised")
@columns_option("--sensitive", "sensitive", "What nobody should learn of a person: kept")
@columns_option("--identifier", "identifiers", "What names a person: dropped")
@columns_option("--release", "released", "Published as it is, on your responsibility")
@click.option(
    "--k", type=click.IntRange(2), metavar="N", help="People in each class, at least.  [default: 5]"
)
@click.option("--l", type=click.IntRange(2), metavar="N",
              help="Sensitive values in each class, at least; makes it l-diversity.")  # fmt: skip
@click.option("--target", metavar="IRI", help="The data.  [default: an example to edit, as for the others]")
@click.option("--owner", metavar="IRI", help="Who issues the policy, and owns the data.")
@click.option("--party", metavar="IRI", help="Who may do it, and gets the result.")
@click.option("--purpose", metavar="PURPOSE", help="What for, such as statistical.  [default: any purpose]")
@click.option("--null", multiple=True, metavar="TEXT", help="A text that means no value; may be repeated.")
@click.option("--header", is_flag=True,
              help="The first record names the columns, though it does not look so.")  # fmt: skip
@verbose_option
def init(data: str, **options: Any) -> int:
    """Write a description of a table and a policy to edit.

    DATA is a CSV file (also packed), Parquet, FILE.xlsx#SHEET, FILE.duckdb#TABLE, or a folder of files that
    are one table. The columns are shown with their datatypes and counts, which are for the data's owner. On
    a terminal you are asked for what no option says. What stays open is marked TODO in the policy. No value
    of the data is written, and no file is overwritten.
    """
    from smalti.roles import Roles
    from smalti.scaffolding import name_of, scaffold
    from smalti.show.scaffold import show_profile, show_scaffold
    from smalti.show.terminal import console
    from smalti.starting import look, parties_of

    verbose, out = options.pop("verbose"), options.pop("out")
    name = options.pop("name")
    parties = parties_of(*(options.pop(name) for name in ("target", "owner", "party", "purpose")))
    profile = look(data, options.pop("null"), header=options.pop("header"))
    shown = console()
    show_profile(shown, profile, in_full=verbose)
    k = options.pop("k")
    roles = Roles(**options) if k is None else Roles(k=k, **options)
    if _is_terminal():
        roles = _asked(profile, roles, asks_k=k is None)
    folder = None if out is None else Path(out)
    result = scaffold(profile, name or name_of(profile), roles, parties, folder)
    show_scaffold(shown, result, data)
    return 0


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _asked(profile: "Profile", roles: "Roles", *, asks_k: bool) -> "Roles":
    """What options did not say, as it is answered; an empty answer leaves it open."""
    names = [column.name for column in profile.columns]
    click.echo(
        "Answer with names or numbers of columns, commas between them; nothing to decide later.", err=True
    )
    if roles.respondent is None and not roles.one_row_each and not profile.states_respondent:
        text = f"The column that tells people apart, or `{_EACH_ROW}` where each is about another person"
        answer = _prompt(
            text, lambda answer: [_EACH_ROW] if answer == _EACH_ROW else _columns(answer, names)
        )
        if answer == [_EACH_ROW] and _EACH_ROW not in names:
            roles = replace(roles, one_row_each=True)
        elif answer:
            roles = replace(roles, respondent=answer[0])
    for role, question in _ROLES:
        if not getattr(roles, role):
            answer = _prompt(
                question, partial(_columns, names=names, taken={name for _, name in roles.named()})
            )
            roles = _with(roles, role, tuple(answer))
    if asks_k:
        roles = replace(
            roles,
            k=click.prompt("People in each class, at least", roles.k, type=click.IntRange(2), err=True),
        )
    return replace(roles, formats=_formats(profile))


def _with(roles: "Roles", role: str, columns: tuple[str, ...]) -> "Roles":
    match role:
        case "quasi_identifiers":
            return replace(roles, quasi_identifiers=columns)
        case "sensitive":
            return replace(roles, sensitive=columns)
    return replace(roles, released=columns)


def _prompt(text: str, read: Callable[[str], list[str]]) -> list[str]:
    """An answer as columns; asked again while it names none."""
    answer: list[str] = click.prompt(text, default="", show_default=False, value_proc=read, err=True)
    return answer


def _columns(answer: str, names: Sequence[str], taken: Set[str] = frozenset()) -> list[str]:
    """The columns that an answer names.

    Raises:
        click.BadParameter: it names another one, or one that has a role.
    """
    parts = [answer] if answer in names else [part.strip() for part in answer.split(",") if part.strip()]
    columns = []
    for part in parts:
        column = part
        if part not in names and part.isdecimal() and 0 < int(part) <= len(names):
            column = names[int(part) - 1]
        if column not in names:
            raise click.BadParameter(f"there is no column `{part}`")
        if column in taken:
            raise click.BadParameter(f"the column `{column}` has a role already")
        columns.append(column)
    return list(dict.fromkeys(columns))


def _formats(profile: "Profile") -> "dict[str, Format]":
    """Of each column that two formats fit, the one that it has."""
    formats = {}
    for column in profile.columns:
        first, second = column.proposed.format, column.proposed.rival
        if first is not None and second is not None:
            text = f"`{column.name}`: 1 {first.text}, 2 {second.text}, or 0 to decide later"
            answer = click.prompt(text, 0, type=click.IntRange(0, 2), show_default=False, err=True)
            if answer:
                formats[column.name] = (first, second)[answer - 1]
    return formats
