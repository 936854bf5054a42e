"""A plan as JSON, and its digest."""

import hashlib
import json
from typing import Any, Final

import rfc8785

from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.nodes import content_of

FORMAT: Final = 2
"""The version of the JSON form; part of the digest. Since 2 a plan names its kind."""


def plan_to_json(plan: AnyPlan) -> str:
    """The plan as canonical JSON (RFC 8785)."""
    return rfc8785.dumps(_as_object(plan)).decode()


def plan_digest(plan: AnyPlan) -> str:
    """`sha256:` and hexadecimal digits, of the public plan; equal for equal steps and parameters.

    Whether something describes a column is left out, since one file may be described and not, and read
    alike. Inferred datatypes are left out: they come from the data, dropped rows' spellings included, and a
    public digest would let a reader test guesses about them.
    """
    return _digest(_as_object(plan))


def recorded_digest(text: str) -> str:
    """The digest of a recorded plan, in its own format.

    Args:
        text: what `plan_to_json` wrote, of this version or an earlier one.
    """
    return _digest(json.loads(text))


def _digest(public: dict[str, Any]) -> str:
    for column in public["steps"][0]["columns"]:
        column.pop("is_undescribed", None)
        if column.get("is_inferred"):
            column["datatype"] = None
    return f"sha256:{hashlib.sha256(rfc8785.dumps(public)).hexdigest()}"


def _as_object(plan: AnyPlan) -> dict[str, Any]:
    filters = () if plan.filter is None else (("filter", plan.filter),)
    steps = (("read", plan.read), *filters, *plan.steps, ("write", plan.write))
    return {
        "format": FORMAT,
        "kind": str(plan.kind),
        "steps": [{"step": name, **content_of(node)} for name, node in steps],
    }
