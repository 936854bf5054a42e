"""A plan that was written down, read again."""

import json
from collections.abc import Mapping
from typing import Any, Final

from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.kinds import Kind, plan_class
from smalti.engine.plan.serialize import FORMAT
from smalti.errors import PlanError

_WITHOUT_KIND: Final = 1
"""The format of plans that do not name their kind."""
_KIND_OF_STEP: Final = {"release": Kind.RELEASE, "perturb": Kind.PERTURBATION, "train": Kind.TRAINING}
"""The step by which a plan of that format shows its kind; one without any of them anonymizes."""


def plan_from_json(text: str) -> AnyPlan:
    """The plan that `plan_to_json` wrote, in this version or an earlier one.

    Raises:
        PlanError: the text is no plan of a known format.
    """
    try:
        document = json.loads(text)
        if (number := document["format"]) not in (_WITHOUT_KIND, FORMAT):
            raise PlanError(
                "plan", "its format is unknown", f"format {_WITHOUT_KIND} or {FORMAT}", "use a newer smalti"
            )
        steps = {step.pop("step"): step for step in document["steps"]}
        kind = _kind_by_steps(steps) if number == _WITHOUT_KIND else Kind(document["kind"])
        found: AnyPlan = plan_class(kind).from_steps(steps)
    except (ValueError, KeyError, TypeError, AttributeError):  # pydantic's errors are ValueErrors
        raise PlanError("plan", "not a plan", "the JSON that `smalti plan --format json` prints") from None
    return found


def names_kind(text: str) -> bool:
    """Whether a recorded plan names its kind; its certificate does then, too.

    Args:
        text: what `plan_from_json` reads.
    """
    return bool(json.loads(text)["format"] != _WITHOUT_KIND)


def recorded_kind(text: str) -> Kind:
    """The kind of a recorded plan.

    Args:
        text: what `plan_from_json` reads.
    """
    document = json.loads(text)
    if document["format"] != _WITHOUT_KIND:
        return Kind(document["kind"])
    return _kind_by_steps({step["step"]: step for step in document["steps"]})


def _kind_by_steps(steps: Mapping[str, Any]) -> Kind:
    named = [kind for step, kind in _KIND_OF_STEP.items() if step in steps]
    return named[0] if named else Kind.ANONYMIZATION
