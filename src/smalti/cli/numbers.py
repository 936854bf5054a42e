"""What is said of an option whose number is none or out of range: as in other errors."""

from typing import Any, Final

import click

from smalti.errors import UsageError

_OUT_OF_RANGE: Final = "not in the range"
"""Words of click's own message."""


def number_error(error: click.BadParameter) -> UsageError | None:
    """The error about an option's number; None where the option takes something else."""
    option = error.param
    if option is None or (expected := _expected(option.type)) is None:
        return None
    way_out = "give it" if option.required else "leave it out"
    if not option.required and isinstance(option.default, int | float):
        way_out += f", for {option.default}"
    is_number = _OUT_OF_RANGE in error.message
    problem = "the number is out of range" if is_number else "the value is not such a number"
    return UsageError(max(option.opts, key=len), problem, expected, f"correct the value, or {way_out}")


def _expected(kind: "click.ParamType[Any]") -> str | None:
    if isinstance(kind, click.types.IntParamType):
        name = "a whole number"
    elif isinstance(kind, click.types.FloatParamType):
        name = "a number"
    else:
        return None
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return name
    bounds = []
    if kind.min is not None:
        bounds.append(f"{'above' if kind.min_open else 'at least'} {kind.min}")
    if kind.max is not None:
        bounds.append(f"{'below' if kind.max_open else 'at most'} {kind.max}")
    return f"{name}, {' and '.join(bounds)}"
