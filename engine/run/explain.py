"""A plan as text for people, and as JSON."""

import json
from collections.abc import Sequence

from smalti.engine.binding.capability import capability_of
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.lines import labelled
from smalti.engine.plan.notices import Notice


def promise_of(plan: AnyPlan) -> str:
    """What the output of a plan promises, as one text for people."""
    return capability_of(plan.kind).promise(plan)


def to_text(plan: AnyPlan, notices: Sequence[Notice] | None = None, *, in_full: bool = False) -> str:
    """The explanation as plain text; golden tests compare it.

    Args:
        plan: of any kind.
        notices: all warnings; None: those of the plan, whatever the data.
        in_full: False: many alike columns, or warnings, are one line.
    """
    capability = capability_of(plan.kind)
    warnings = capability.plan_notices(plan) if notices is None else notices
    lines = capability.lines(plan, warnings, in_full=in_full)
    return "\n".join(line if isinstance(line, str) else labelled(*line) for line in lines) + "\n"


def to_json(plan: AnyPlan) -> str:
    """The plan and its explanation as indented JSON."""
    return json.dumps(capability_of(plan.kind).as_object(plan), indent=2, ensure_ascii=False) + "\n"
