"""A release in a terminal: the noisy values, drawn with their intervals, and the loss."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smalti.engine.binding.run_request import Outcome
from smalti.engine.plan.values import NoisyValue
from smalti.engine.releases.explain import explain_release
from smalti.engine.releases.plan import ReleasePlan
from smalti.engine.releases.table import key_columns
from smalti.show.losses import losses
from smalti.show.terminal import LABEL, fields

_MOST_ROWS = 40
_WIDTH = 25
"""Of a drawn interval, in characters."""


def show(out: Console, plan: ReleasePlan, outcome: Outcome, *, in_full: bool) -> tuple[str, ...]:
    """Show what was released; return what it does not protect against."""
    del in_full  # no columns are listed
    explained = explain_release(plan)
    fields(out, ("promise", explained.promise), ("people", explained.respondent))
    for statistic in plan.statistics:
        values = [value for value in outcome.values if value.statistic == statistic.name]
        out.print(_values(plan, values[:_MOST_ROWS]))
        if len(values) > _MOST_ROWS:
            fields(out, ("", f"{len(values) - _MOST_ROWS} more values in the output"))
    out.print(losses(plan.loss, outcome))
    return explained.not_protected


def _values(plan: ReleasePlan, values: Sequence[NoisyValue]) -> Table:
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    grouped = [column for column in key_columns(plan) if any(column in value.keys for value in values)]
    has_level, is_drawn = any(value.level for value in values), any(value.lower for value in values)
    confidence = f"{plan.write.confidence:%}".replace(".00", "")
    titles = ["statistic", *grouped, *(["level"] if has_level else []), "value"]
    for title in (*titles, *(["interval", f"{confidence} from the noise alone"] if is_drawn else [])):
        table.add_column(title, justify="right" if title == "value" else "left", overflow="fold")
    low, high = _range(values)
    for value in values:
        cells: list[str] = [value.statistic, *(value.keys.get(column, "") for column in grouped)]
        cells += [value.level] if has_level else []
        drawn: tuple[Text | str, ...] = _interval(value, low, high) if is_drawn else ()
        table.add_row(*cells, value.value, *drawn)
    return table


def _range(values: Iterable[NoisyValue]) -> tuple[float, float]:
    ends = [float(end) for value in values if value.lower for end in (value.lower, value.upper, 0)]
    return (min(ends), max(ends)) if ends else (0.0, 0.0)


def _interval(value: NoisyValue, low: float, high: float) -> tuple[Text, str]:
    """An interval, drawn as a line with its value on the scale of the table, and in numbers."""
    if not value.lower or low == high:
        return Text(""), ""

    def place(number: str) -> int:
        share = (float(number) - low) / (high - low)
        return round(min(max(share, 0.0), 1.0) * (_WIDTH - 1))

    first, middle, last = place(value.lower), place(value.value), place(value.upper)
    drawn = [" "] * _WIDTH
    drawn[first : last + 1] = "─" * (last + 1 - first)
    drawn[middle] = "●"
    return Text("".join(drawn)), f"{value.lower} to {value.upper}"
