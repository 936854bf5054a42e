"""A plan as JSON, and its digest."""

import hashlib
import json
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final, TypeAlias, TypeVar, assert_never

import rfc8785

from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedColumn, WriteReports
from smalti.engine.plan.losses import StatedLoss
from smalti.engine.plan.plan import Apply, Filter, Plan, Read, Select, Write
from smalti.engine.plan.reads import BoundContributions, ReadRows
from smalti.engine.releases.plan import ReleasePlan, Statistic, WriteTable
from smalti.engine.training.plan import Audit, Train, TrainingPlan, WriteModel
from smalti.errors import InternalError, PlanError
from smalti.transforms import ALL_TRANSFORMS
from smalti.transforms.base import LEFT_OUT_AT_DEFAULT, Transform

T = TypeVar("T")
AnyPlan: TypeAlias = Plan | ReleasePlan | PerturbationPlan | TrainingPlan
"""What a run may carry out."""

FORMAT: Final = 1
"""The version of the JSON form; part of the digest."""


def plan_to_json(plan: AnyPlan) -> str:
    """The plan as canonical JSON (RFC 8785)."""
    return rfc8785.dumps(_as_object(plan)).decode()


def plan_digest(plan: AnyPlan) -> str:
    """`sha256:` and hexadecimal digits, of the public plan; equal for equal steps and parameters.

    Inferred datatypes are left out: they come from the data, dropped rows' spellings included, and a
    public digest would let a reader test guesses about them.
    """
    public = _as_object(plan)
    for column in public["steps"][0]["columns"]:
        if column.get("is_inferred"):
            column["datatype"] = None
    return f"sha256:{hashlib.sha256(rfc8785.dumps(public)).hexdigest()}"


def plan_from_json(text: str) -> AnyPlan:
    """The plan that `plan_to_json` wrote.

    Raises:
        PlanError: the text is no plan of this format.
    """
    try:
        document = json.loads(text)
        if document.pop("format") != FORMAT:
            raise PlanError("plan", "the format is not known", f"format {FORMAT}", "use a newer smalti")
        steps = {step.pop("step"): step for step in document.pop("steps")}
        filtered = _read(Filter, steps["filter"]) if "filter" in steps else None
        if "release" in steps:
            return _release(steps, filtered)
        if "perturb" in steps:
            return _perturbation(steps)
        if "train" in steps:
            return _training(steps)
        return Plan(
            _read(Read, steps["read"]),
            _read(Select, steps["select"]),
            Apply(_transform(steps["apply"])),
            _read(Write, steps["write"]),
            filtered,
        )
    except (ValueError, KeyError, TypeError, AttributeError):  # pydantic's errors are ValueErrors
        raise PlanError(
            "plan", "this is no plan", "the JSON that `smalti plan --format json` prints"
        ) from None


def _release(steps: dict[str, dict[str, Any]], filtered: Filter | None) -> ReleasePlan:
    return ReleasePlan(
        _read(ReadRows, steps["read"]),
        _read(BoundContributions, steps["bound contributions"]),
        _read(tuple[Statistic, ...], steps["release"]["statistics"]),
        _read(StatedLoss, steps["release"]["loss"]),
        _read(WriteTable, steps["write"]),
        filtered,
    )


def _perturbation(steps: dict[str, dict[str, Any]]) -> PerturbationPlan:
    return PerturbationPlan(
        _read(ReadRows, steps["read"]),
        _read(Select, steps["select"]),
        _read(tuple[PerturbedColumn, ...], steps["perturb"]["columns"]),
        _read(StatedLoss, steps["perturb"]["loss"]),
        _read(WriteReports, steps["write"]),
    )


def _training(steps: dict[str, dict[str, Any]]) -> TrainingPlan:
    return TrainingPlan(
        _read(ReadRows, steps["read"]),
        _read(Select, steps["select"]),
        _read(Train, steps["train"]),
        _read(Audit, steps["audit"]) if "audit" in steps else None,
        _read(WriteModel, steps["write"]),
    )


def _as_object(plan: AnyPlan) -> dict[str, Any]:
    limit = None if isinstance(plan, PerturbationPlan | TrainingPlan) else plan.filter
    filtered = [] if limit is None else [{"step": "filter", **_fields(limit)}]
    match plan:
        case Plan():
            transform = plan.apply.transform
            applied = {"method": transform.method, "algorithm": transform.algorithm, **_fields(transform)}
            steps = [{"step": "select", **_fields(plan.select)}, {"step": "apply", **applied}]
        case ReleasePlan():
            released = {
                "statistics": [_fields(one) for one in plan.statistics],
                "loss": _fields(plan.loss),
            }
            steps = [
                {"step": "bound contributions", **_fields(plan.bound)},
                {"step": "release", **released},
            ]
        case PerturbationPlan():
            perturbed = {"columns": [_fields(one) for one in plan.perturbed], "loss": _fields(plan.loss)}
            steps = [{"step": "select", **_fields(plan.select)}, {"step": "perturb", **perturbed}]
        case TrainingPlan():
            steps = [{"step": "select", **_fields(plan.select)}, {"step": "train", **_fields(plan.train)}]
            if plan.audit is not None:
                steps.append({"step": "audit", **_fields(plan.audit)})
        case _:
            assert_never(plan)
    read, write = {"step": "read", **_fields(plan.read)}, {"step": "write", **_fields(plan.write)}
    return {"format": FORMAT, "steps": [read, *filtered, *steps, write]}


def _fields(node: object) -> dict[str, Any]:
    if not is_dataclass(node) or isinstance(node, type):
        raise InternalError("a transform is no dataclass")
    # Exact decimals are texts: a number in JSON is a double.
    found: dict[str, Any] = json.loads(json.dumps(asdict(node), default=str))
    for field in fields(node):
        if LEFT_OUT_AT_DEFAULT.items() <= field.metadata.items() and found[field.name] == field.default:
            del found[field.name]
    return found


def _read(kind: type[T], fields: Any) -> T:
    from pydantic import TypeAdapter  # noqa: PLC0415 (only for plans that were written down)

    return TypeAdapter(kind).validate_python(fields)


def _transform(fields: dict[str, Any]) -> Transform:
    method, algorithm = fields.pop("method"), fields.pop("algorithm")
    for kind in ALL_TRANSFORMS:
        if (kind.method, kind.algorithm) == (method, algorithm):
            return _read(kind, fields)
    raise KeyError(method)
