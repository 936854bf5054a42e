"""A plan of a perturbation in words, and as JSON: what each column becomes, and what a record loses."""

import json
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
    warnings: tuple[str, ...]
    not_protected: tuple[str, ...]


def explain_perturbation(plan: PerturbationPlan) -> PerturbationExplanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    guarantee = guarantee_of(plan)
    return PerturbationExplanation(
        plan_digest(plan),
        tuple(PerturbedStep(one.column, _what(one), _noise(one)) for one in plan.perturbed),
        plan.select.dropped,
        describe_reporters(plan.read),
        f"{guarantee.model}: {describe(guarantee)}",
        tuple(line for line in loss_in_words(plan.loss) if plan.loss.delta or line[0] != "delta"),
        warnings_in(plan),
        limits(guarantee),
    )


def _what(one: PerturbedColumn) -> str:
    if isinstance(one, PerturbedCategory):
        other = "missing, a category of its own" if one.has_missing else f"`{one.values[0]}`"
        return (
            f"one of {len(one.domain)} public categories; what is missing or none of them becomes {other}"
        )
    if isinstance(one, PerturbedImage):
        return (
            f"grey images of {one.width} by {one.height} pixels, of which cells of {one.cell} by {one.cell}"
            " are averaged; what is missing or no such image becomes grey"
        )
    return (
        f"clamped to {one.lower}..{one.upper} in units of {one.unit}; what is missing or no number becomes"
        " the middle"
    )


def _noise(one: PerturbedColumn) -> str:
    if isinstance(one, PerturbedCategory):
        how = f"another category with probability {float(Fraction(one.changed)):.4g}"
    elif isinstance(one, PerturbedImage):
        how = (
            f"noise of scale {one.scale / one.cell**2:.4g} on the average of a cell"
            f" (epsilon {format(one.epsilon, 'f')} for {one.neighborhood} pixels,"
            f" {format(one.whole_epsilon, 'f')} for all)"
        )
        return f"{one.mechanism}: {how}"
    else:
        how = f"noise of scale {one.scale * float(one.unit):.4g}"
        if one.delta is not None:
            return f"{one.mechanism}: {how} (epsilon {format(one.epsilon, 'f')}, delta {one.delta:f})"
    return f"{one.mechanism}: {how} (epsilon {format(one.epsilon, 'f')})"


def warnings_in(plan: PerturbationPlan) -> tuple[str, ...]:
    """What the plan warns of, whatever the data."""
    found = [
        f"column {name} will be dropped: the policy does not name it"
        for name in plan.select.dropped
        if plan.read.respondent != RespondentColumn(name)
    ]
    return (*found, "the number of rows is published: it is the number of respondents")


def to_lines(plan: PerturbationPlan) -> list[Line]:
    """The explanation as labels with texts; golden tests compare it."""
    told = explain_perturbation(plan)
    return [
        ("plan", told.digest),
        ("read", str(plan.read.target)),
        ("respondent", told.respondent),
        *(
            line
            for step in told.columns
            for line in (("column", f"{step.name}: {step.what}"), ("  noise", step.noise))
        ),
        ("promise", told.promise),
        *((f"  {name}" if len(name) < 10 else name, text) for name, text in told.loss),
        ("write", f"{plan.write.output}, {plan.write.format}, rows ordered by all published columns"),
        *(("warning", warning) for warning in told.warnings),
        *(("not covered", line) for line in told.not_protected),
    ]


def as_object(plan: PerturbationPlan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    told = explain_perturbation(plan)
    return {
        "digest": told.digest,
        "plan": json.loads(plan_to_json(plan)),
        "columns": [{"name": s.name, "what": s.what, "noise": s.noise} for s in told.columns],
        "dropped": list(told.dropped),
        "respondent": told.respondent,
        "promise": told.promise,
        "loss": dict(told.loss),
        "warnings": list(told.warnings),
        "notProtected": list(told.not_protected),
    }
