"""Options whose value a settings file may give, and the line that says which values it gave."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from smalti.settings import Settings, SettingsFile

FROM_FILE = ParameterSource.DEFAULT_MAP
"""The source, in the words of click, of a value that the settings file gave."""
_IN_FOLDER = "smalti.toml"
NOT_TAKEN = f"{__name__} not taken"
"""In the memory of a command: parameters that it does not take, of another one whose arguments it
reads."""


@dataclass
class Choice:
    """Which settings file a process uses. It is read when a value is first needed: not for help."""

    named: str | None
    is_off: bool
    _file: "SettingsFile | None" = None
    _is_read: bool = False

    def file(self) -> "SettingsFile | None":
        """The file; None where there is none.

        Raises:
            UsageError: see `smalti.settings.read_settings`.
        """
        if (
            not self._is_read
            and not self.is_off
            and (self.named is not None or os.path.lexists(_IN_FOLDER))
        ):
            from smalti.settings import read_settings

            self._file = read_settings(self.named)
        self._is_read = True
        return self._file


class SettingOption(click.Option):
    """An option that takes its value from the settings file where the command line has none."""

    def __init__(self, *args: Any, setting: str | None = None, **others: Any) -> None:
        """Take `setting`: what of the file gives this option (see `_value`), None for nothing."""
        super().__init__(*args, **others)
        self.setting = setting

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """The value with its source."""
        value, source = super().consume_value(ctx, opts)
        choice = ctx.find_root().obj
        if source is not ParameterSource.DEFAULT or self.setting is None or ctx.resilient_parsing:
            return value, source
        if not isinstance(choice, Choice) or (file := choice.file()) is None:
            return value, source
        setting = _values(ctx, opts, file).get(self.setting)
        return (value, source) if setting is None else (setting, FROM_FILE)


class AdvancedOption(SettingOption):
    """An option that tunes how the work is done; help shows it under a heading of its own."""


def _values(ctx: click.Context, opts: Mapping[str, Any], file: "SettingsFile") -> Mapping[str, Any]:
    """The values that the file gives this command; they are announced before any error about them."""
    key = f"{__name__} {ctx.command_path}"
    if key not in ctx.meta:
        options = {
            param.setting: param.opts[0]
            for param in ctx.command.params
            if isinstance(param, SettingOption)
            and param.setting
            and param.name not in opts
            and param.name not in ctx.meta.get(NOT_TAKEN, ())
        }
        values = {setting: _value(setting, file.settings, opts) for setting in options}
        words = [
            f"{options[setting]} {_shown(setting, text)}"
            for setting, value in values.items()
            if value is not None
            for text in _each(value)
        ]
        if words:
            click.echo(f"settings: {file.name} gives {', '.join(words)}", err=True)
        if values.get("engine") == "spark":
            from smalti.cli.startup import let_pandas_in

            let_pandas_in()
        ctx.meta[key] = values
    values_of_command: Mapping[str, Any] = ctx.meta[key]
    return values_of_command


def _value(setting: str, settings: "Settings", opts: Mapping[str, Any]) -> Any:
    """What the file gives; None where it says nothing of it."""
    advanced = settings.advanced
    is_spark = opts.get("engine", advanced.engine) == "spark"
    match setting:
        case "acting":  # who does what only an owner does
            return settings.owner or settings.party
        case "data":
            return tuple(map("=".join, settings.data)) or None
        case "out":
            return None if settings.outputs is None else _next_output(settings.outputs, opts.get("policy"))
        case "conf" | "master" if not is_spark:
            return None
        case "conf":
            return tuple(map("=".join, advanced.conf)) or None
    return getattr(settings if setting in {"registry", "party", "owner", "events"} else advanced, setting)


def _next_output(folder: str, policy: object) -> str:
    """The first folder in `folder` that does not exist, of the policy's name and a number."""
    name = Path(str(policy)).stem or "run"
    number = 1
    while os.path.lexists(place := os.path.join(folder, f"{name}-{number}")):
        number += 1
    return place


def _each(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)


def _shown(setting: str, text: str) -> str:
    """A value as a message may show it: addresses of data and settings of Spark can hold a secret."""
    if setting == "conf":
        return text.partition("=")[0]
    target, _, path = text.rpartition("=")
    return f"{target}=..." if setting == "data" and "://" in path else text
