"""A plan of single techniques as text and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from smalti.engine.masking.guarantee import describe, guarantee_of, limits
from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import Notice, dropped_unnamed, names_shown, sentences, warning_lines
from smalti.engine.plan.plan import OneRowEach, RespondentColumn, Role
from smalti.engine.plan.respondents import WAYS_TO_DECLARE, counts_rows
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.techniques.statements import what
from smalti.vocab.techniques import NO_MODEL
from smalti.vocab.terms import MASKING

_ORDER: Final = "rows ordered by all published columns"


@dataclass(frozen=True, slots=True)
class MaskedStep:
    """One published column in words."""

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class MaskingExplanation:
    """A plan of single techniques in words."""

    digest: str
    columns: tuple[MaskedStep, ...]
    dropped: tuple[str, ...]
    respondent: str
    rows: tuple[str, ...]
    """Which rows take part, and which are published; none: all of them."""
    promise: str
    notices: tuple[Notice, ...]
    not_protected: tuple[str, ...]


def explain_masking(plan: MaskingPlan) -> MaskingExplanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    guarantee = guarantee_of(plan)
    nodes = {each.column: each for each in plan.mask.columns}
    return MaskingExplanation(
        plan_digest(plan),
        tuple(
            MaskedStep(name, what(nodes[name]) if name in nodes else "is published unchanged")
            for name in plan.write.columns
        ),
        plan.select.dropped,
        _respondent(plan),
        tuple(_rows(plan)),
        f"{MASKING}: {describe(guarantee)}",
        notices_in(plan),
        limits(guarantee),
    )


def _rows(plan: MaskingPlan) -> list[str]:
    lines = []
    if plan.filter is not None:
        from smalti.engine.binding.kept_rows import describe_rows  # noqa: PLC0415 (with the engines)

        lines.append(f"only those where {describe_rows(plan.filter)}")
    lines += [
        f"without those whose value of {each.column} fewer than {each.minimum} respondents have"
        for each in plan.mask.rare_records
    ]
    if plan.mask.sampling_rate is not None:
        lines.append(
            f"those of a sample of the respondents: each by itself with probability"
            f" {plan.mask.sampling_rate:f}"
        )
    return lines


def _respondent(plan: MaskingPlan) -> str:
    match plan.read.respondent:
        case RespondentColumn(column, is_pseudonymized):
            published = "; it is published as pseudonyms" if is_pseudonymized else ""
            return (
                f"rows with the same {column} are about one person; rows of those who withdrew are left out"
                + published
            )
        case OneRowEach(is_declared=True):
            return "each row is about another person (declared)"
        case OneRowEach():
            return "rows are counted, not people: no respondent is declared"


def notices_in(plan: MaskingPlan) -> tuple[Notice, ...]:
    """What a plan warns of, whatever the data."""
    respondent = plan.read.respondent
    notices = [Notice(NO_MODEL)]
    notices += dropped_unnamed(
        column.name
        for column in plan.read.columns
        if column.role is Role.UNLISTED and respondent != RespondentColumn(column.name)
    )
    if plan.released:
        notices.append(Notice("columns are published unchanged, without any guarantee", plan.released))
    if plan.mask.key is not None:
        text = "pseudonyms are the same in all outputs under one key, and others under another one"
        names = tuple(each.column for each in plan.mask.columns if each.technique == "pseudonymization")
        notices.append(Notice(text, names))
    if plan.mask.draws_at_random:
        notices.append(Notice("what is drawn at random is drawn once for each run, and never again"))
    if counts_rows(respondent):
        notices.append(Notice("no respondent is declared, and `run` refuses; " + WAYS_TO_DECLARE))
    return tuple(notices)


def to_lines(
    plan: MaskingPlan, notices: Sequence[Notice] | None = None, *, in_full: bool = True
) -> list[Line]:
    """The explanation as labels with texts; golden tests compare it."""
    explanation = explain_masking(plan)
    parts = f" in parts of at most {plan.write.rows_per_part:,} rows" if plan.write.rows_per_part else ""
    return [
        ("plan", explanation.digest),
        ("read", str(plan.read.target)),
        ("respondent", explanation.respondent),
        *(("rows", line) for line in explanation.rows),
        *(("column", f"{step.name} {step.what}") for step in explanation.columns),
        *(("dropped", name) for name in names_shown(explanation.dropped, in_full=in_full)),
        ("promise", explanation.promise),
        ("write", f"{plan.write.output}, {plan.write.format}{parts}, {_ORDER}"),
        *warning_lines(explanation.notices if notices is None else notices, in_full=in_full),
        *(("not covered", line) for line in explanation.not_protected),
    ]


def as_object(plan: MaskingPlan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    explanation = explain_masking(plan)
    return {
        "digest": explanation.digest,
        "plan": json.loads(plan_to_json(plan)),
        "columns": [{"name": step.name, "what": step.what} for step in explanation.columns],
        "dropped": list(explanation.dropped),
        "respondent": explanation.respondent,
        "rows": list(explanation.rows),
        "promise": explanation.promise,
        "warnings": list(sentences(explanation.notices)),
        "notProtected": list(explanation.not_protected),
    }
