"""A try in a terminal: figures and a few rows, for the data's owner alone."""

from importlib import import_module

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smalti.engine.run.explain import to_text
from smalti.engine.run.trial import Trial, Tried, Variation
from smalti.show.decisions import headline, show_decision
from smalti.show.terminal import LABEL, bullet, fields, show_notices

_MOST_COLUMNS = 12
"""Of the rows that are shown."""
_NOTHING = "nothing was recorded, charged or published, and there is no certificate: `smalti run` publishes"
_AS_IT_IS = "the policy itself stays as it is; what is weaker than it says, `run` refuses"


def show_trial(out: Console, trial: Trial, *, in_full: bool = False) -> None:
    """Show the decision, what a run would do, its figures and a few of its rows."""
    if not trial.decision.is_permitted:
        show_decision(out, trial.decision)
        bullet(out, "whom and what for is tried: say it with --as and --purpose")
        return
    out.print(Text(f"tried: {headline(trial.decision)}", style="bold green"))
    if trial.tried is None:
        _show_plan(out, trial, in_full=in_full)
    else:
        show_notices(out, trial.notices, in_full=in_full)
        _show_result(out, trial.tried, in_full=in_full)
    if trial.variations:
        out.print(_variations(trial))
        fields(out, ("note", _AS_IT_IS))
    fields(out, ("note", _NOTHING))


def _show_plan(out: Console, trial: Trial, *, in_full: bool) -> None:
    if trial.plan is not None:
        out.print(Text(to_text(trial.plan, trial.notices, in_full=in_full), end=""))
    fields(out, *(("error", line) for line in trial.expected_errors), ("not run", trial.not_run))
    if trial.obstacle is not None:
        fields(out, ("obstacle", f"the run would stop: {trial.obstacle}"))


def _show_result(out: Console, tried: Tried, *, in_full: bool) -> None:
    shown_as = import_module(f"smalti.show.{tried.plan.kind}")
    out.print(shown_as.columns_table(tried.plan, tried.report, in_full=in_full))
    fields(out, *(("owner's view", line) for line in tried.report.lines("respondents")))
    rows = tried.report.rows_out
    shares = [f"{share.column} {share.rows / rows:.1%}" for share in tried.exact] if rows else []
    if shares:
        fields(out, ("owner's view", f"rows that show a single value: {', '.join(shares)}"))
    out.print(_rows(tried))


def _rows(tried: Tried) -> Table:
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for name in tried.header[:_MOST_COLUMNS]:
        table.add_column(Text(name), overflow="fold")
    left_out = len(tried.header) - _MOST_COLUMNS
    if left_out > 0:
        table.add_column(f"and {left_out} more")
    for row in tried.rows:
        table.add_row(*map(Text, row[:_MOST_COLUMNS]))
    return table


def _variations(trial: Trial) -> Table:
    """One row for each number, after the policy's own."""
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for title in ("tried", "achieved k", "achieved l", "classes", "lost", "lost by column"):
        table.add_column(title, overflow="fold")
    if trial.tried is not None:
        table.add_row("as the policy says", *_figures(trial.tried))
    for variation in trial.variations:
        table.add_row(str(variation.varied), *_result(variation))
    return table


def _result(variation: Variation) -> list[Text | str]:
    if variation.tried is None:
        return ["", "", "", "", Text(variation.problem)]
    return [*_figures(variation.tried)]


def _figures(tried: Tried) -> list[Text | str]:
    report = tried.report
    diversity = ", ".join(f"{entry.column} {entry.l}" for entry in report.diversity)
    losses = ", ".join(f"{entry.column} {entry.loss:.1%}" for entry in report.losses)
    return [str(report.k), Text(diversity), str(report.classes), f"{report.loss:.1%}", Text(losses)]
