"""Generalised rows in a terminal: what was done to each column, and the information lost."""

from rich.console import Console
from rich.table import Table

from smalti.engine.anonymization.explain import explain
from smalti.engine.binding.run_request import Outcome
from smalti.engine.plan.column_steps import alike_steps
from smalti.engine.plan.plan import Plan, Role
from smalti.engine.plan.reports import OwnerReport
from smalti.show.terminal import LABEL, fields


def show(out: Console, plan: Plan, outcome: Outcome, *, in_full: bool) -> tuple[str, ...]:
    """Show what was published; return what it does not protect against."""
    report = outcome.report if isinstance(outcome.report, OwnerReport) else None
    explained = explain(plan)
    fields(out, ("promise", explained.promise), ("people", explained.respondent))
    out.print(columns_table(plan, report, in_full=in_full))
    return explained.not_protected


def columns_table(plan: Plan, report: OwnerReport | None, *, in_full: bool) -> Table:
    """What was done to each column, and for its owner what was lost."""
    losses = {loss.column: f"{loss.loss:.1%}" for loss in report.losses} if report else {}
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for name in ("column", "what was done", "why", *(["lost (owner)"] if report else [])):
        table.add_column(name, overflow="fold")
    columns = explain(plan).columns
    generalised = [step for step in columns if step.name in losses]  # each with its own figures
    others = [step for step in columns if step.name not in losses]
    alike = {group.steps[0]: group for group in alike_steps(others, in_full=in_full)}
    alike |= {group.steps[0]: group for group in alike_steps(generalised, in_full=True)}
    for step in (alike[column] for column in columns if column in alike):
        style = "yellow" if step.role is Role.UNLISTED else ""
        lost = [losses.get(step.name, "")] if report else []
        table.add_row(step.name, step.what, step.why, *lost, style=style)
    return table
