"""A plan as JSON, and its digest."""

import hashlib
import json
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final, TypeVar

import rfc8785

from smalti.engine.plan import Apply, Filter, Plan, Read, Select, Write
from smalti.errors import InternalError, PlanError
from smalti.transforms import ALL_TRANSFORMS
from smalti.transforms.base import LEFT_OUT_AT_DEFAULT, Transform

T = TypeVar("T")

FORMAT: Final = 1
"""The version of the JSON form; part of the digest."""


def plan_to_json(plan: Plan) -> str:
    """The plan as canonical JSON (RFC 8785)."""
    return rfc8785.dumps(_as_object(plan)).decode()


def plan_digest(plan: Plan) -> str:
    """`sha256:` and hexadecimal digits, of the public plan; equal for equal steps and parameters.

    Inferred datatypes are left out: they come from the data, dropped rows' spellings included, and a
    public digest would let a reader test guesses about them.
    """
    public = _as_object(plan)
    for column in public["steps"][0]["columns"]:
        if column["is_inferred"]:
            column["datatype"] = None
    return f"sha256:{hashlib.sha256(rfc8785.dumps(public)).hexdigest()}"


def plan_from_json(text: str) -> Plan:
    """The plan that `plan_to_json` wrote.

    Raises:
        PlanError: the text is no plan of this format.
    """
    try:
        document = json.loads(text)
        if document.pop("format") != FORMAT:
            raise PlanError("plan", "the format is not known", f"format {FORMAT}", "use a newer smalti")
        steps = {step.pop("step"): step for step in document.pop("steps")}
        return Plan(
            _read(Read, steps["read"]),
            _read(Select, steps["select"]),
            Apply(_transform(steps["apply"])),
            _read(Write, steps["write"]),
            _read(Filter, steps["filter"]) if "filter" in steps else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError):  # pydantic's errors are ValueErrors
        raise PlanError(
            "plan", "this is no plan", "the JSON that `smalti plan --format json` prints"
        ) from None


def _as_object(plan: Plan) -> dict[str, Any]:
    transform = plan.apply.transform
    applied = {"method": transform.method, "algorithm": transform.algorithm, **_fields(transform)}
    filtered = [] if plan.filter is None else [{"step": "filter", **_fields(plan.filter)}]
    return {
        "format": FORMAT,
        "steps": [
            {"step": "read", **_fields(plan.read)},
            *filtered,
            {"step": "select", **_fields(plan.select)},
            {"step": "apply", **applied},
            {"step": "write", **_fields(plan.write)},
        ],
    }


def _fields(node: Read | Filter | Select | Write | Transform) -> dict[str, Any]:
    if not is_dataclass(node):
        raise InternalError("a transform is no dataclass")
    found: dict[str, Any] = json.loads(json.dumps(asdict(node)))
    for field in fields(node):
        if LEFT_OUT_AT_DEFAULT.items() <= field.metadata.items() and found[field.name] == field.default:
            del found[field.name]
    return found


def _read(kind: type[T], fields: dict[str, Any]) -> T:
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for plans that were written down)

    return TypeAdapter(kind).validate_python(fields)


def _transform(fields: dict[str, Any]) -> Transform:
    method, algorithm = fields.pop("method"), fields.pop("algorithm")
    for kind in ALL_TRANSFORMS:
        if (kind.method, kind.algorithm) == (method, algorithm):
            return _read(kind, fields)
    raise KeyError(method)
