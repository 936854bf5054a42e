"""A plan of generalised rows in words: what happens to each column, and why."""

import json
from dataclasses import dataclass

from smalti.engine.anonymization.guarantee import describe_guarantee, limits
from smalti.engine.plan.lines import Line
from smalti.engine.plan.plan import Column, OneRowEach, Plan, RespondentColumn, Role, Write
from smalti.engine.plan.respondents import WAYS_TO_DECLARE, counts_rows
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.transforms.base import Datatype

_WHY = {
    Role.IDENTIFIER: "identifier",
    Role.QUASI_IDENTIFIER: "quasi-identifier",
    Role.SENSITIVE: "sensitive",
    Role.RELEASED: "released, on the policy author's word",
    Role.UNLISTED: "not named in the policy",
    Role.WITHHELD: "withheld: the policy prohibits its use",
}


@dataclass(frozen=True, slots=True)
class ColumnStep:
    """What happens to one column."""

    name: str
    role: Role
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan in words."""

    digest: str
    columns: tuple[ColumnStep, ...]
    respondent: str
    rows: str | None
    """Which rows take part; None: all of them."""
    promise: str
    technique: str
    warnings: tuple[str, ...]
    not_protected: tuple[str, ...]


def explain(plan: Plan) -> Explanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    transform = plan.apply.transform
    return Explanation(
        plan_digest(plan),
        tuple(ColumnStep(c.name, c.role, _what(plan, c), _WHY[c.role]) for c in plan.read.columns),
        _respondent(plan),
        _rows(plan),
        f"{transform.guarantee.model}: {_promise(plan)}",
        transform.technique,
        warnings_in(plan),
        limits(transform.guarantee, transform.sensitive, plan.released),
    )


def _promise(plan: Plan) -> str:
    transform = plan.apply.transform
    counted = "rows" if counts_rows(plan.read.respondent) else "respondents"
    return describe_guarantee(transform.guarantee, transform.sensitive, counted)


def _rows(plan: Plan) -> str | None:
    if plan.filter is None:
        return None
    from smalti.engine.binding.rows import describe_rows  # noqa: PLC0415 (it comes with the engines)

    return f"only those where {describe_rows(plan.filter)}"


def _what(plan: Plan, column: Column) -> str:
    if not column.role.is_published:
        counted = plan.read.respondent == RespondentColumn(column.name)
        return "dropped (used only to identify respondents)" if counted else "dropped"
    if column.role is not Role.QUASI_IDENTIFIER:
        return "kept as it is"
    form = "sets of values" if column.datatype is Datatype.STRING else "ranges"
    source = "inferred" if column.is_inferred else "declared"
    return f"generalised to {form} ({column.datatype}, {source})"


def _respondent(plan: Plan) -> str:
    match plan.read.respondent:
        case RespondentColumn(column):
            return (
                f"rows with the same {column} are about one person; rows of those who withdrew are left out"
            )
        case OneRowEach(is_declared=True):
            return "each row is about another person (declared)"
        case OneRowEach():
            return "rows are counted, not people: no respondent is declared"


def warnings_in(plan: Plan) -> tuple[str, ...]:
    """What a plan warns of, whatever the data."""
    warnings = [
        f"column {column.name} will be dropped: the policy does not name it"
        for column in plan.read.columns
        if column.role is Role.UNLISTED and plan.read.respondent != RespondentColumn(column.name)
    ]
    ranges = [
        column.name
        for column in plan.read.columns
        if column.role is Role.QUASI_IDENTIFIER and column.datatype.is_ordered
    ]
    if ranges:
        listed = ", ".join(ranges)
        warnings.append(f"ends of ranges, the extremes too, are values of real people: {listed}")
    warnings += _set_warnings(plan)
    if plan.released:
        listed = ", ".join(plan.released)
        warnings.append(f"released columns are published unchanged, without any guarantee: {listed}")
    if counts_rows(plan.read.respondent):
        warnings.append(
            "no respondent is declared: k counts rows, not people, and `run` refuses; " + WAYS_TO_DECLARE
        )
    return tuple(warnings)


def _set_warnings(plan: Plan) -> list[str]:
    sets = [
        column
        for column in plan.read.columns
        if column.role is Role.QUASI_IDENTIFIER and not column.datatype.is_ordered
    ]
    guessed = ", ".join(column.name for column in sets if column.is_inferred)
    warnings = []
    if sets:
        listed = ", ".join(column.name for column in sets)
        warnings.append(f"sets list every value of a class, exactly: {listed}")
    if guessed:
        warnings.append(
            "treated as text, because not every value is a number, an ISO date or an ISO date-time; if this"
            f" is wrong, correct the data, or declare the datatype to find the faulty values: {guessed}"
        )
    return warnings


def to_lines(plan: Plan) -> list[Line]:
    """A plan in labelled lines, and its columns as a table."""
    explanation = explain(plan)
    width = max(len(step.name) for step in explanation.columns)
    middle = max(len(step.what) for step in explanation.columns)
    return [
        ("plan", explanation.digest),
        ("read", str(plan.read.target)),
        ("respondent", explanation.respondent),
        *([("rows", explanation.rows)] if explanation.rows else []),
        "columns",
        *(f"  {step.name:{width}}  {step.what:{middle}}  {step.why}" for step in explanation.columns),
        ("promise", explanation.promise),
        ("technique", explanation.technique),
        ("write", _written(plan.write)),
        *(("warning", warning) for warning in explanation.warnings),
        *(("not covered", line) for line in explanation.not_protected),
    ]


def _written(write: Write) -> str:
    parts = f" in parts of at most {write.rows_per_part:,} rows" if write.rows_per_part else ""
    return f"{write.output}, {write.format}{parts}, rows ordered by all published columns"


def as_object(plan: Plan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    explanation = explain(plan)
    return {
        "digest": explanation.digest,
        "plan": json.loads(plan_to_json(plan)),
        "columns": [
            {"name": s.name, "role": s.role, "what": s.what, "why": s.why} for s in explanation.columns
        ],
        "respondent": explanation.respondent,
        "rows": explanation.rows,
        "promise": explanation.promise,
        "warnings": list(explanation.warnings),
        "notProtected": list(explanation.not_protected),
    }
