"""A plan of two tables in words: what happens to each column, and why."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from smalti.engine.bucketization.guarantee import EXACTLY, describe, guarantee_of, limits
from smalti.engine.plan.bucketization import BucketizationPlan
from smalti.engine.plan.column_steps import (
    ColumnStep,
    alike_steps,
    dropped,
    is_respondent,
    respondent_in_words,
    why,
)
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import Notice, dropped_unnamed, sentences, warning_lines
from smalti.engine.plan.plan import Column, Role
from smalti.engine.plan.respondents import WAYS_TO_DECLARE, counts_rows
from smalti.engine.plan.serialize import plan_digest, plan_to_json

_TECHNIQUE: Final = (
    "Anatomy: groups of one record from each of the largest buckets of equal sensitive values; a secret of"
    " the registry decides which record of a bucket is taken"
)


@dataclass(frozen=True, slots=True)
class GroupsExplanation:
    """A plan of two tables in words."""

    digest: str
    columns: tuple[ColumnStep, ...]
    respondent: str
    rows: str | None
    """Which rows take part; None: all of them."""
    promise: str
    notices: tuple[Notice, ...]
    """The warnings of the plan, whatever the data."""
    not_protected: tuple[str, ...]


def explain(plan: BucketizationPlan) -> GroupsExplanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    guarantee, respondent = guarantee_of(plan), plan.read.respondent
    counted = "rows" if counts_rows(respondent) else "respondents"
    return GroupsExplanation(
        plan_digest(plan),
        tuple(ColumnStep(c.name, c.role, _what(plan, c), why(c, respondent)) for c in plan.read.columns),
        respondent_in_words(respondent),
        _rows(plan),
        f"{guarantee.model}: {describe(guarantee, counted)}",
        notices_in(plan),
        limits(guarantee),
    )


def _rows(plan: BucketizationPlan) -> str | None:
    if plan.filter is None:
        return None
    from smalti.engine.binding.kept_rows import describe_rows  # noqa: PLC0415 (it comes with the engines)

    return f"only those where {describe_rows(plan.filter)}"


def _what(plan: BucketizationPlan, column: Column) -> str:
    if not column.role.is_published:
        return dropped(column, plan.read.respondent)
    if column.role is Role.SENSITIVE:
        return "published apart, by group, with how many records of the group have each value"
    return "published exactly, in the table of records"


def notices_in(plan: BucketizationPlan) -> tuple[Notice, ...]:
    """What a plan warns of, whatever the data."""
    respondent = plan.read.respondent
    unnamed = (
        column.name
        for column in plan.read.columns
        if column.role is Role.UNLISTED and not is_respondent(column, respondent)
    )
    notices = [Notice(EXACTLY, plan.quasi_identifiers), *dropped_unnamed(unnamed)]
    if plan.released:
        text = "released columns are published unchanged, without any guarantee"
        notices.append(Notice(text, plan.released))
    if counts_rows(respondent):
        text = "no respondent is declared: l counts rows, not people, and `run` refuses; "
        notices.append(Notice(text + WAYS_TO_DECLARE))
    return tuple(notices)


def to_lines(
    plan: BucketizationPlan, notices: Sequence[Notice] | None = None, *, in_full: bool = True
) -> list[Line]:
    """A plan in labelled lines, and its columns as a table; golden tests compare it.

    Args:
        plan: the plan.
        notices: all warnings; None: those of the plan.
        in_full: False: many alike columns, or warnings, are one line.
    """
    explanation = explain(plan)
    steps = alike_steps(explanation.columns, in_full=in_full)
    width, middle = (max(map(len, texts)) for texts in zip(*((s.name, s.what) for s in steps), strict=True))
    return [
        ("plan", explanation.digest),
        ("read", str(plan.read.target)),
        ("respondent", explanation.respondent),
        *([("rows", explanation.rows)] if explanation.rows else []),
        "columns",
        *(f"  {step.name:{width}}  {step.what:{middle}}  {step.why}" for step in steps),
        ("promise", explanation.promise),
        ("technique", _TECHNIQUE),
        ("write", f"{plan.write.output}, {plan.write.format}, two tables ordered by all their columns:"),
        *(
            ("  table", f"{table.output}: {', '.join(table.columns)}")
            for table in (plan.write.records, plan.write.values)
        ),
        *warning_lines(explanation.notices if notices is None else notices, in_full=in_full),
        *(("not covered", line) for line in explanation.not_protected),
    ]


def as_object(plan: BucketizationPlan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    explanation = explain(plan)
    return {
        "digest": explanation.digest,
        "plan": json.loads(plan_to_json(plan)),
        "columns": [
            {"name": s.name, "role": s.role, "what": s.what, "why": s.why} for s in explanation.columns
        ],
        "tables": [table.output for table in (plan.write.records, plan.write.values)],
        "respondent": explanation.respondent,
        "rows": explanation.rows,
        "promise": explanation.promise,
        "warnings": list(sentences(explanation.notices)),
        "notProtected": list(explanation.not_protected),
    }
