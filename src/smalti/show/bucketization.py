"""Two tables in a terminal: what was done to each column, and what is published exactly."""

from rich.console import Console
from rich.table import Table

from smalti.engine.binding.run_request import Outcome
from smalti.engine.bucketization.explain import explain
from smalti.engine.plan.bucketization import BucketizationPlan
from smalti.engine.plan.column_steps import alike_steps
from smalti.engine.plan.plan import Role
from smalti.engine.plan.reports import Report
from smalti.show.terminal import LABEL, fields


def show(out: Console, plan: BucketizationPlan, outcome: Outcome, *, in_full: bool) -> tuple[str, ...]:
    """Show what was published; return what it does not protect against."""
    explained = explain(plan)
    fields(out, ("promise", explained.promise), ("people", explained.respondent))
    out.print(columns_table(plan, outcome.report, in_full=in_full))
    return explained.not_protected


def columns_table(plan: BucketizationPlan, report: Report | None, *, in_full: bool) -> Table:
    """What was done to each column; the report says nothing more of them."""
    del report
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for name in ("column", "what was done", "why"):
        table.add_column(name, overflow="fold")
    for step in alike_steps(explain(plan).columns, in_full=in_full):
        table.add_row(step.name, step.what, step.why, style="yellow" if step.role is Role.UNLISTED else "")
    return table
