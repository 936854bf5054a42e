"""Masked rows in a terminal: what single techniques did to each column."""

from rich.console import Console
from rich.table import Table

from smalti.engine.binding.run_request import Outcome
from smalti.engine.masking.explain import explain_masking
from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.plan.notices import names_shown
from smalti.show.terminal import LABEL, fields


def show(out: Console, plan: MaskingPlan, outcome: Outcome, *, in_full: bool) -> tuple[str, ...]:
    """Show what was published; return what it does not protect against."""
    del outcome
    explained = explain_masking(plan)
    fields(out, ("promise", explained.promise), ("people", explained.respondent))
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for name in ("column", "what was done"):
        table.add_column(name, overflow="fold")
    for step in explained.columns:
        table.add_row(step.name, step.what)
    for name in names_shown(explained.dropped, in_full=in_full):
        table.add_row(name, "dropped")
    out.print(table)
    fields(out, *(("rows", line) for line in explained.rows))
    return explained.not_protected
