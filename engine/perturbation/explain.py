"""A plan of a perturbation as text and as JSON: the columns, their noise and the privacy loss."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smalti.engine.losses.coded_reports import describe_reporters
from smalti.engine.perturbation.guarantee import describe, guarantee_of, limits
from smalti.engine.perturbation.plan import (
    PerturbationPlan,
    PerturbedCategory,
    PerturbedColumn,
    PerturbedImage,
)
from smalti.engine.plan.lines import Line
from smalti.engine.plan.losses import loss_in_words
from smalti.engine.plan.notices import Notice, dropped_unnamed, sentences, warning_lines
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.plan.serialize import plan_digest, plan_to_json


@dataclass(frozen=True, slots=True)
class PerturbedStep:
    """One column in words."""

    name: str
    what: str
    """What becomes of a value before noise."""
    noise: str
    """Mechanism, its parameter and what a value loses."""


@dataclass(frozen=True, slots=True)
class PerturbationExplanation:
    """A plan of a perturbation in words."""

    digest: str
    columns: tuple[PerturbedStep, ...]
    dropped: tuple[str, ...]
    respondent: str
    promise: str
    loss: tuple[tuple[str, str], ...]
    """Epsilon, delta where there is one, belief and advantage, as people read them."""
    notices: tuple[Notice, ...]
    not_protected: tuple[str, ...]


def explain_perturbation(plan: PerturbationPlan) -> PerturbationExplanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    guarantee = guarantee_of(plan)
    return PerturbationExplanation(
        plan_digest(plan),
        tuple(PerturbedStep(column.column, _what(column), _noise(column)) for column in plan.perturbed),
        plan.select.dropped,
        describe_reporters(plan.read),
        f"{guarantee.model}: {describe(guarantee)}",
        tuple(line for line in loss_in_words(plan.loss) if plan.loss.delta or line[0] != "delta"),
        notices_in(plan),
        limits(guarantee),
    )


def _what(column: PerturbedColumn) -> str:
    if isinstance(column, PerturbedCategory):
        other = "the category of missing values" if column.has_missing else f"`{column.values[0]}`"
        return f"one of {len(column.domain)} public categories; missing and other values become {other}"
    if isinstance(column, PerturbedImage):
        return (
            f"grey images of {column.width} by {column.height} pixels, of which cells of {column.cell} by"
            f" {column.cell} are averaged; missing values and other images become grey"
        )
    return (
        f"clamped to {column.lower}..{column.upper} in units of {column.unit};"
        " missing values and non-numbers become the middle"
    )


def _noise(column: PerturbedColumn) -> str:
    if isinstance(column, PerturbedCategory):
        how = f"another category with probability {float(Fraction(column.changed)):.4g}"
    elif isinstance(column, PerturbedImage):
        how = (
            f"noise of scale {column.scale / column.cell**2:.4g} on the average of a cell"
            f" (epsilon {format(column.epsilon, 'f')} for {column.neighborhood} pixels,"
            f" {format(column.whole_epsilon, 'f')} for all)"
        )
        return f"{column.mechanism}: {how}"
    else:
        how = f"noise of scale {column.scale * float(column.unit):.4g}"
        if column.delta is not None:
            return (
                f"{column.mechanism}: {how} (epsilon {format(column.epsilon, 'f')}, delta {column.delta:f})"
            )
    return f"{column.mechanism}: {how} (epsilon {format(column.epsilon, 'f')})"


def notices_in(plan: PerturbationPlan) -> tuple[Notice, ...]:
    """The warnings of a plan, whatever the data."""
    names = [name for name in plan.select.dropped if plan.read.respondent != RespondentColumn(name)]
    published = Notice("the number of rows is published: it is the number of respondents")
    return (*dropped_unnamed(names), published)


def to_lines(
    plan: PerturbationPlan, notices: Sequence[Notice] | None = None, *, in_full: bool = True
) -> list[Line]:
    """The explanation as labels with texts; golden tests compare it."""
    explanation = explain_perturbation(plan)
    return [
        ("plan", explanation.digest),
        ("read", str(plan.read.target)),
        ("respondent", explanation.respondent),
        *(
            line
            for step in explanation.columns
            for line in (("column", f"{step.name}: {step.what}"), ("  noise", step.noise))
        ),
        ("promise", explanation.promise),
        *((f"  {name}" if len(name) < 10 else name, text) for name, text in explanation.loss),
        ("write", f"{plan.write.output}, {plan.write.format}, rows ordered by all published columns"),
        *warning_lines(explanation.notices if notices is None else notices, in_full=in_full),
        *(("not covered", line) for line in explanation.not_protected),
    ]


def as_object(plan: PerturbationPlan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    explanation = explain_perturbation(plan)
    return {
        "digest": explanation.digest,
        "plan": json.loads(plan_to_json(plan)),
        "columns": [{"name": s.name, "what": s.what, "noise": s.noise} for s in explanation.columns],
        "dropped": list(explanation.dropped),
        "respondent": explanation.respondent,
        "promise": explanation.promise,
        "loss": dict(explanation.loss),
        "warnings": list(sentences(explanation.notices)),
        "notProtected": list(explanation.not_protected),
    }
