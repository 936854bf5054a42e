"""What the command line shows of a release: the noisy values, drawn with their intervals, and the loss."""

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


def show(out: Console, made: ReleasePlan, outcome: Outcome) -> tuple[str, ...]:
    """Show what was released; returns what it does not protect against."""
    told = explain_release(made)
    fields(out, ("promise", told.promise), ("people", told.respondent))
    for statistic in made.statistics:
        values = [value for value in outcome.values if value.statistic == statistic.name]
        out.print(_values(made, values[:_MOST_ROWS]))
        if len(values) > _MOST_ROWS:
            fields(out, ("", f"and {len(values) - _MOST_ROWS} values more, in the output"))
    out.print(losses(made.loss, outcome))
    return told.not_protected


def _values(made: ReleasePlan, values: Sequence[NoisyValue]) -> Table:
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    grouped = [column for column in key_columns(made) if any(column in one.keys for one in values)]
    has_level, is_drawn = any(one.level for one in values), any(one.lower for one in values)
    confidence = f"{made.write.confidence:%}".replace(".00", "")
    titles = ["statistic", *grouped, *(["level"] if has_level else []), "value"]
    for title in (*titles, *(["interval", f"{confidence} from the noise alone"] if is_drawn else [])):
        table.add_column(title, justify="right" if title == "value" else "left", overflow="fold")
    low, high = _range(values)
    for one in values:
        cells: list[str] = [one.statistic, *(one.keys.get(column, "") for column in grouped)]
        cells += [one.level] if has_level else []
        drawn: tuple[Text | str, ...] = _interval(one, low, high) if is_drawn else ()
        table.add_row(*cells, one.value, *drawn)
    return table


def _range(values: Iterable[NoisyValue]) -> tuple[float, float]:
    ends = [float(end) for one in values if one.lower for end in (one.lower, one.upper, 0)]
    return (min(ends), max(ends)) if ends else (0.0, 0.0)


def _interval(one: NoisyValue, low: float, high: float) -> tuple[Text, str]:
    """An interval as a line with its value on it, all of a table on one scale; and in numbers."""
    if not one.lower or low == high:
        return Text(""), ""

    def place(number: str) -> int:
        share = (float(number) - low) / (high - low)
        return round(min(max(share, 0.0), 1.0) * (_WIDTH - 1))

    first, middle, last = place(one.lower), place(one.value), place(one.upper)
    drawn = [" "] * _WIDTH
    drawn[first : last + 1] = "─" * (last + 1 - first)
    drawn[middle] = "●"
    return Text("".join(drawn)), f"{one.lower} to {one.upper}"
