"""Which module shows the output of each kind of run in the terminal."""

from importlib import import_module
from typing import Final

from rich.console import Console

from smalti.engine.binding.run_request import Outcome
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.kinds import Kind

_VIEWS: Final = {
    Kind.ANONYMIZATION: "smalti.console_rows",
    Kind.RELEASE: "smalti.console_releases",
    Kind.PERTURBATION: "smalti.console_perturbation",
    Kind.TRAINING: "smalti.console_training",
}
"""The module whose function `show` draws it."""


def show_output(out: Console, plan: AnyPlan, outcome: Outcome) -> tuple[str, ...]:
    """Show what was made; returns what it does not protect against."""
    not_protected: tuple[str, ...] = import_module(_VIEWS[plan.kind]).show(out, plan, outcome)
    return not_protected
