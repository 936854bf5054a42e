"""Generalised rows in a terminal: what was done to each column, and the information lost."""

from rich.console import Console
from rich.table import Table

from smalti.engine.anonymization.explain import explain
from smalti.engine.binding.run_request import Outcome
from smalti.engine.plan.plan import Plan, Role
from smalti.engine.plan.reports import OwnerReport
from smalti.show.terminal import LABEL, fields


def show(out: Console, plan: Plan, outcome: Outcome) -> tuple[str, ...]:
    """Show what was published; return what it does not protect against."""
    report = outcome.report if isinstance(outcome.report, OwnerReport) else None
    explained = explain(plan)
    fields(out, ("promise", explained.promise), ("people", explained.respondent))
    out.print(_columns(plan, report))
    return explained.not_protected


def _columns(plan: Plan, report: OwnerReport | None) -> Table:
    losses = {loss.column: f"{loss.loss:.1%}" for loss in report.losses} if report else {}
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for name in ("column", "what was done", "why", *(["lost (owner)"] if report else [])):
        table.add_column(name, overflow="fold")
    for step in explain(plan).columns:
        style = "yellow" if step.role is Role.UNLISTED else ""
        lost = [losses.get(step.name, "")] if report else []
        table.add_row(step.name, step.what, step.why, *lost, style=style)
    return table
