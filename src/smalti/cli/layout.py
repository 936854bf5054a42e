"""How help pages are laid out: commands in sections, rarely used options under a heading of their own."""

from collections.abc import Iterable, Mapping
from copy import copy

import click

from smalti.cli.settings import AdvancedOption

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Policies": ("assess", "init", "check", "fmt", "test", "offer"),
    "Runs and results": (
        "plan",
        "try",
        "sweep",
        "run",
        "targets",
        "lineage",
        "verify",
        "estimate",
        "risk",
        "budget",
    ),
    "Registry": ("decide", "policy", "keys", "vocabulary", "access", "registry"),
    "Jobs and machine": ("audit", "jobs", "worker", "serve", "doctor"),
}
"""The commands of `smalti`, in the order of its help; names without a command are passed over."""
_OTHERS = "Other commands"
_MARGINS = 6
"""Columns of a line of help that neither a command's name nor its text takes."""


class SectionedGroup(click.Group):
    """A group whose help lists commands by section, one line each."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections; a visible command that no section names comes last."""
        commands = {
            name: command
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name)) is not None and not command.hidden
        }
        width = max(map(len, commands), default=0)
        others = [name for name in commands if not any(name in names for names in SECTIONS.values())]
        for title, names in {**SECTIONS, _OTHERS: tuple(others)}.items():
            rows = [
                (name.ljust(width), commands[name].get_short_help_str(formatter.width - _MARGINS - width))
                for name in names
                if name in commands
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class TunedCommand(click.Command):
    """A command with advanced options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options, then the advanced ones."""
        params = self.get_params(ctx)
        advanced = [param for param in params if isinstance(param, AdvancedOption)]
        _write(ctx, formatter, "Options", (param for param in params if param not in advanced))
        _write(ctx, formatter, "Advanced options (most are settings of smalti.toml, too)", advanced)


def _write(
    ctx: click.Context, formatter: click.HelpFormatter, title: str, params: Iterable[click.Parameter]
) -> None:
    rows = [row for param in params if (row := param.get_help_record(ctx)) is not None]
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def former(command: click.Command, name: str, successor: str) -> click.Command:
    """A former spelling of a command: hidden from help, it works and names its successor.

    Args:
        command: the command as it is now.
        name: the former name, in the group that the result is added to.
        successor: the present spelling.
    """
    spelling = copy(command)
    spelling.name, spelling.hidden = name, True
    run = command.callback

    def hinting(*args: object, **options: object) -> object:
        click.echo(f"hint: write `{successor}`; the former spelling ends with the next version", err=True)
        return run(*args, **options) if run is not None else None

    spelling.callback = hinting
    return spelling
