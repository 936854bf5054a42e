"""What the terminal shows of the output of a run, whatever its kind."""

from importlib import import_module

from rich.console import Console

from smalti.engine.binding.run_request import Outcome
from smalti.engine.plan.any_plan import AnyPlan


def show_output(out: Console, plan: AnyPlan, outcome: Outcome) -> tuple[str, ...]:
    """Show what was made; returns what it does not protect against.

    The function `show` of the module beside this one with the kind's name draws it.
    """
    not_protected: tuple[str, ...] = import_module(f"smalti.show.{plan.kind}").show(out, plan, outcome)
    return not_protected
