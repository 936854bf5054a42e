"""A training in a terminal: its columns, its privacy loss, its audit."""

from rich.console import Console

from smalti.engine.binding.run_request import Outcome
from smalti.engine.plan.notices import names_shown
from smalti.engine.training.explain import explain_training
from smalti.engine.training.plan import TrainingPlan
from smalti.show.losses import losses
from smalti.show.terminal import fields


def show(out: Console, plan: TrainingPlan, outcome: Outcome, *, in_full: bool) -> tuple[str, ...]:
    """Show what was trained; return what it does not protect against."""
    explained = explain_training(plan)
    fields(
        out,
        ("promise", explained.promise),
        ("people", explained.respondent),
        ("training", explained.training),
        *(("audit", line) for line in explained.audit),
        *(("column", f"{name}: {what}") for name, what in explained.columns),
        *(("dropped", name) for name in names_shown(explained.dropped, in_full=in_full)),
    )
    if plan.train.loss is not None:
        out.print(losses(plan.train.loss, outcome))
    return explained.not_protected
