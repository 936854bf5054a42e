"""A release plan as text and as JSON: its statistics, their noise and the privacy loss."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smalti.engine.binding.kept_rows import describe_rows
from smalti.engine.plan.lines import Line
from smalti.engine.plan.losses import loss_in_words
from smalti.engine.plan.notices import Notice, warning_lines
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.plan.reads import Key
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.releases.guarantee import describe, guarantee_of, limits
from smalti.engine.releases.plan import ReleasePlan, Statistic


@dataclass(frozen=True, slots=True)
class StatisticStep:
    """One statistic in words."""

    name: str
    what: str
    noise: str
    """Mechanisms and scales, in the unit of what is released."""


@dataclass(frozen=True, slots=True)
class ReleaseExplanation:
    """A release plan in words."""

    digest: str
    statistics: tuple[StatisticStep, ...]
    respondent: str
    rows: str | None
    """Which rows take part; None: all of them."""
    promise: str
    loss: tuple[tuple[str, str], ...]
    """Epsilon, delta, belief and advantage, as people read them."""
    not_protected: tuple[str, ...]


def explain_release(plan: ReleasePlan) -> ReleaseExplanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    guarantee = guarantee_of(plan)
    return ReleaseExplanation(
        plan_digest(plan),
        tuple(
            StatisticStep(statistic.name, _what(statistic), "; ".join(_noise(statistic)))
            for statistic in plan.statistics
        ),
        _respondent(plan),
        None if plan.filter is None else f"only those where {describe_rows(plan.filter)}",
        f"{guarantee.model}: {describe(guarantee)}",
        loss_in_words(plan.loss),
        limits(guarantee),
    )


def _what(statistic: Statistic) -> str:
    groups = statistic.keys[: len(statistic.keys) - statistic.choices]
    candidates = statistic.keys[len(groups) :]
    text = str(statistic.kind)
    if statistic.measure is not None:
        measure = statistic.measure
        text += (
            f" of {measure.column}, clamped to {measure.lower}..{measure.upper} in units of {measure.unit}"
        )
    if statistic.counted is not None:
        text += f" of {statistic.counted}"
    if statistic.candidates:
        text += f", one of {len(statistic.candidates)} public candidates"
    if candidates:
        text += f" among {_keys(candidates)}"
    if groups:
        text += f" by {_keys(groups)}"
    return text


def _keys(keys: tuple[Key, ...]) -> str:
    return ", ".join(
        f"{key.column} ({'selected privately' if key.is_private else f'{key.size} public'})" for key in keys
    )


def _noise(statistic: Statistic) -> Iterator[str]:
    if statistic.selection is not None:
        yield (
            f"groups: laplace {statistic.selection.scale:.4g} on the number of respondents; groups of at"
            f" least {statistic.selection.threshold}, with noise, are released"
        )
    for part in statistic.parts:
        level = "" if part.level is None else f" {part.level}"
        yield f"{part.quantity}{level}: {part.mechanism} {part.scale:.4g}"


def _respondent(plan: ReleasePlan) -> str:
    bound = plan.bound
    people = (
        f"rows with the same {plan.read.respondent.column} are about one person; rows without one and"
        " rows of people who withdrew are left out"
        if isinstance(plan.read.respondent, RespondentColumn)
        else "each row is about another person (declared)"
    )
    return (
        f"{people}; of each person the first {bound.rows} rows in the first {bound.groups} groups take"
        f" part; neighbouring data: {bound.neighbors}"
    )


def to_lines(plan: ReleasePlan, notices: Sequence[Notice] = (), *, in_full: bool = True) -> list[Line]:
    """A plan in labelled lines."""
    explanation = explain_release(plan)
    statistics = (
        line
        for step in explanation.statistics
        for line in (("statistic", f"{step.name}: {step.what}"), ("  noise", step.noise))
    )
    return [
        ("plan", explanation.digest),
        ("read", str(plan.read.target)),
        ("respondent", explanation.respondent),
        *([("rows", explanation.rows)] if explanation.rows else []),
        *statistics,
        ("promise", explanation.promise),
        *((f"  {name}" if len(name) < 10 else name, text) for name, text in explanation.loss),
        ("write", f"{plan.write.output}, {plan.write.format}, a row for each noisy value"),
        *warning_lines(notices, in_full=in_full),
        *(("not covered", line) for line in explanation.not_protected),
    ]


def as_object(plan: ReleasePlan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    explanation = explain_release(plan)
    return {
        "digest": explanation.digest,
        "plan": json.loads(plan_to_json(plan)),
        "statistics": [{"name": s.name, "what": s.what, "noise": s.noise} for s in explanation.statistics],
        "respondent": explanation.respondent,
        "rows": explanation.rows,
        "promise": explanation.promise,
        "loss": dict(explanation.loss),
        "notProtected": list(explanation.not_protected),
    }
