"""Plans read from their recorded JSON."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.kinds import Kind, kind_by_step, plan_class
from smalti.engine.plan.serialize import FORMAT
from smalti.errors import PlanError

_WITHOUT_KIND: Final = 1
"""The format of plans that do not name their kind."""


def plan_from_json(text: str) -> AnyPlan:
    """The plan that `plan_to_json` wrote, in this version or an earlier one.

    Raises:
        PlanError: the text is no plan of a known format.
    """
    try:
        document = json.loads(text)
        _format_of(document)
        steps = {step.pop("step"): step for step in document["steps"]}
        plan: AnyPlan = plan_class(_kind_in(document, steps)).from_steps(steps)
    except (ValueError, KeyError, TypeError, AttributeError):  # pydantic's errors are ValueErrors
        raise _no_plan() from None
    return plan


def names_kind(text: str) -> bool:
    """Whether a recorded plan names its kind; its certificate does then, too.

    Args:
        text: what `plan_from_json` reads.

    Raises:
        PlanError: it is no plan of a known format.
    """
    number, _ = _read_kind(text)
    return number != _WITHOUT_KIND


def recorded_kind(text: str) -> Kind:
    """The kind of a recorded plan.

    Args:
        text: what `plan_from_json` reads.

    Raises:
        PlanError: it is no plan of a known format.
    """
    _, kind = _read_kind(text)
    return kind


def _read_kind(text: str) -> tuple[int, Kind]:
    try:
        document = json.loads(text)
        number = _format_of(document)
        return number, _kind_in(document, [step["step"] for step in document["steps"]])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _no_plan() from None


def _format_of(document: Mapping[str, Any]) -> int:
    number: int = document["format"]
    if number not in (_WITHOUT_KIND, FORMAT):
        raise PlanError(
            "plan", "unknown format", f"format {_WITHOUT_KIND} or {FORMAT}", "use a newer smalti"
        )
    return number


def _kind_in(document: Mapping[str, Any], steps: Collection[str]) -> Kind:
    """The kind that a plan names; of one without, that of its step."""
    if document["format"] == _WITHOUT_KIND:
        return kind_by_step(steps)
    return Kind(document["kind"])


def _no_plan() -> PlanError:
    return PlanError("plan", "not a plan", "the JSON that `smalti plan --format json` prints")
