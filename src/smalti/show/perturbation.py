"""Perturbed records in a terminal: columns, privacy loss, estimates."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from smalti.engine.binding.run_request import Outcome
from smalti.engine.perturbation.estimate import ColumnEstimate
from smalti.engine.perturbation.explain import explain_perturbation
from smalti.engine.perturbation.plan import PerturbationPlan
from smalti.engine.plan.notices import names_shown
from smalti.show.losses import losses
from smalti.show.terminal import LABEL, fields


def show(out: Console, plan: PerturbationPlan, outcome: Outcome, *, in_full: bool) -> tuple[str, ...]:
    """Show what was published; return what it does not protect against."""
    explained = explain_perturbation(plan)
    fields(out, ("promise", explained.promise), ("people", explained.respondent))
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for name in ("column", "what was done", "noise"):
        table.add_column(name, overflow="fold")
    for step in explained.columns:
        table.add_row(step.name, step.what, step.noise)
    for name in names_shown(explained.dropped, in_full=in_full):
        table.add_row(name, "dropped", "")
    out.print(table)
    out.print(losses(plan.loss, outcome))
    return explained.not_protected


def show_estimates(out: Console, columns: Sequence[ColumnEstimate], confidence: float) -> None:
    """Show shares and means with their intervals, which come from the noise alone."""
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for title in ("column", "what", "estimate", f"{confidence:.4g} interval from the noise alone"):
        table.add_column(title, justify="right" if title == "estimate" else "left", overflow="fold")
    for column in columns:
        for estimate in column.estimates:
            what = column.what if column.what == "mean" else f"share of {estimate.value or 'missing'}"
            low, high = estimate.estimate - estimate.margin, estimate.estimate + estimate.margin
            table.add_row(column.column, what, f"{estimate.estimate:.6g}", f"{low:.6g} to {high:.6g}")
    out.print(table)
    fields(out, ("rows", str(columns[0].rows if columns else 0)), ("note", _NOTE))


_NOTE = (
    "estimates are unbiased, and may lie outside the possible range; values that are not public count as"
    " the plan states"
)
