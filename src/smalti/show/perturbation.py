"""A perturbation in a terminal: what became of columns, what it loses, what it tells."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from smalti.engine.binding.run_request import Outcome
from smalti.engine.perturbation.estimate import ColumnEstimate
from smalti.engine.perturbation.explain import explain_perturbation
from smalti.engine.perturbation.plan import PerturbationPlan
from smalti.show.losses import losses
from smalti.show.terminal import LABEL, fields


def show(out: Console, made: PerturbationPlan, outcome: Outcome) -> tuple[str, ...]:
    """Show what was published; returns what it does not protect against."""
    told = explain_perturbation(made)
    fields(out, ("promise", told.promise), ("people", told.respondent))
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for name in ("column", "what was done", "noise"):
        table.add_column(name, overflow="fold")
    for step in told.columns:
        table.add_row(step.name, step.what, step.noise)
    for column in told.dropped:
        table.add_row(column, "dropped", "")
    out.print(table)
    out.print(losses(made.loss, outcome))
    return told.not_protected


def show_estimates(out: Console, found: Sequence[ColumnEstimate], confidence: float) -> None:
    """Shares and means with their intervals, which come from the noise alone."""
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for title in ("column", "what", "estimate", f"{confidence:.4g} interval from the noise alone"):
        table.add_column(title, justify="right" if title == "estimate" else "left", overflow="fold")
    for column in found:
        for one in column.estimates:
            what = column.what if column.what == "mean" else f"share of {one.value or 'missing'}"
            low, high = one.estimate - one.margin, one.estimate + one.margin
            table.add_row(column.column, what, f"{one.estimate:.6g}", f"{low:.6g} to {high:.6g}")
    out.print(table)
    fields(out, ("rows", str(found[0].rows if found else 0)), ("note", _NOTE))


_NOTE = (
    "estimates are unbiased, and may lie outside of what is possible; a value that was none of the public"
    " ones counts as the plan says"
)
