"""A sweep in a terminal: a row of figures for each point, for the data's owner alone."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smalti.engine.run.sweep import Sweep
from smalti.reports.sweeps import cells, notes, titles
from smalti.show.decisions import headline, show_decision
from smalti.show.terminal import LABEL, bullet, fields, show_notices

_DIGITS = 8
"""Of a digest that are shown."""
_BROKEN = {"discernibility": "discern-\nibility", "homogeneous": "homo-\ngeneous"}
"""Titles that are wider than what stands below them."""
_PREFIX = "sha256:"
_NOTHING = (
    "nothing was recorded, charged or published, and no point is verified: `smalti run` with the options of"
    " a point publishes it, and verifies"
)


def show_sweep(out: Console, sweep: Sweep, *, in_full: bool = False) -> None:
    """Show the decision, the figures of each point, and why there are none."""
    if not sweep.decision.is_permitted:
        show_decision(out, sweep.decision)
        bullet(out, "whom and what for is swept: say it with --as and --purpose")
        return
    out.print(Text(f"swept: {headline(sweep.decision)}", style="bold green"))
    show_notices(out, sweep.notices, in_full=in_full)
    out.print(_points(sweep))
    fields(out, *(("note", f"{points}: {text}") for points, text in notes(sweep)), ("note", _NOTHING))


def _points(sweep: Sweep) -> Table:
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for varied in sweep.points[0].numbers:
        table.add_column(varied.word, no_wrap=True, justify="right")
    shown_titles = titles(sweep.points)
    for title in shown_titles:
        broken = _BROKEN.get(title, title.replace(" ", "\n"))
        table.add_column(broken, no_wrap=True, justify="right")
    table.add_column("plan", no_wrap=True)
    for point in sweep.points:
        shown = ("",) * len(shown_titles) if point.figures is None else cells(point.figures)
        digest = (point.plan_digest or "").removeprefix(_PREFIX)[:_DIGITS]
        table.add_row(*(str(varied.number) for varied in point.numbers), *shown, digest)
    return table
