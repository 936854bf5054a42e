"""What the command line shows of a training: what was learned from, what it loses, how it was tried."""

from rich.console import Console

from smalti.engine.binding.run_request import Outcome
from smalti.engine.training.explain import explain_training
from smalti.engine.training.plan import TrainingPlan
from smalti.show.losses import losses
from smalti.show.terminal import fields


def show(out: Console, made: TrainingPlan, outcome: Outcome) -> tuple[str, ...]:
    """Show what was trained; returns what it does not protect against."""
    told = explain_training(made)
    fields(
        out,
        ("promise", told.promise),
        ("people", told.respondent),
        ("training", told.training),
        *(("audit", line) for line in told.audit),
        *(("column", f"{name}: {what}") for name, what in told.columns),
        *(("dropped", name) for name in told.dropped),
    )
    if made.train.loss is not None:
        out.print(losses(made.train.loss, outcome))
    return told.not_protected
