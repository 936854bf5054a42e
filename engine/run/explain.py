"""A plan as text for people, and as JSON."""

import json

from smalti.engine.binding.capability import capability_of
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.lines import labelled


def warnings_in(plan: AnyPlan) -> tuple[str, ...]:
    """What a plan warns of, whatever the data."""
    return capability_of(plan.kind).plan_warnings(plan)


def promise_of(plan: AnyPlan) -> str:
    """What the output of a plan promises, as one text for people."""
    return capability_of(plan.kind).promise(plan)


def to_text(plan: AnyPlan) -> str:
    """The explanation as plain text; golden tests compare it."""
    lines = capability_of(plan.kind).lines(plan)
    return "\n".join(line if isinstance(line, str) else labelled(*line) for line in lines) + "\n"


def to_json(plan: AnyPlan) -> str:
    """The plan and its explanation as indented JSON."""
    return json.dumps(capability_of(plan.kind).as_object(plan), indent=2, ensure_ascii=False) + "\n"
