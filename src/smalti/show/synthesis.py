"""Synthetic records in a terminal: their columns, the training behind them, its loss or its audit."""

from rich.console import Console

from smalti.engine.binding.run_request import Outcome
from smalti.engine.plan.notices import names_shown
from smalti.engine.training.synthesis_explain import explain_synthesis
from smalti.engine.training.synthesis_plan import SynthesisPlan
from smalti.show.losses import losses
from smalti.show.terminal import fields


def show(out: Console, plan: SynthesisPlan, outcome: Outcome, *, in_full: bool) -> tuple[str, ...]:
    """Show what was published; return what it does not protect against."""
    explained = explain_synthesis(plan)
    fields(
        out,
        ("promise", explained.promise),
        ("people", explained.respondent),
        ("training", explained.training),
        *(("audit", line) for line in explained.audit),
        *(("column", f"{name}: {what}") for name, what in explained.columns),
        *(("dropped", name) for name in names_shown(explained.dropped, in_full=in_full)),
    )
    if plan.synthesize.loss is not None:
        out.print(losses(plan.synthesize.loss, outcome))
    return explained.not_protected
