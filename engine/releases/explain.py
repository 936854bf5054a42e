"""A release plan as text for people, and as JSON: what is asked, with how much noise, and what it loses."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from smalti.engine.binding.rows import describe_rows
from smalti.engine.plan.lines import Line
from smalti.engine.plan.losses import loss_in_words
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
        tuple(StatisticStep(one.name, _what(one), "; ".join(_noise(one))) for one in plan.statistics),
        _respondent(plan),
        None if plan.filter is None else f"only those where {describe_rows(plan.filter)}",
        f"{guarantee.model}: {describe(guarantee)}",
        loss_in_words(plan.loss),
        limits(guarantee),
    )


def _what(one: Statistic) -> str:
    groups = one.keys[: len(one.keys) - one.choices]
    candidates = one.keys[len(groups) :]
    said = str(one.kind)
    if one.measure is not None:
        measure = one.measure
        said += (
            f" of {measure.column}, clamped to {measure.lower}..{measure.upper} in units of {measure.unit}"
        )
    if one.counted is not None:
        said += f" of {one.counted}"
    if one.candidates:
        said += f", one of {len(one.candidates)} public candidates"
    if candidates:
        said += f" among {_keys(candidates)}"
    if groups:
        said += f" by {_keys(groups)}"
    return said


def _keys(keys: tuple[Key, ...]) -> str:
    return ", ".join(
        f"{key.column} ({'selected privately' if key.is_private else f'{key.size} public'})" for key in keys
    )


def _noise(one: Statistic) -> Iterator[str]:
    if one.selection is not None:
        yield (
            f"groups: laplace {one.selection.scale:.4g} on respondents, those from"
            f" {one.selection.threshold} on are released"
        )
    for part in one.parts:
        level = "" if part.level is None else f" {part.level}"
        yield f"{part.quantity}{level}: {part.mechanism} {part.scale:.4g}"


def _respondent(plan: ReleasePlan) -> str:
    bound = plan.bound
    told = (
        f"rows with the same {plan.read.respondent.column} are about one person; rows without one, and of"
        " those who withdrew, are left out"
        if isinstance(plan.read.respondent, RespondentColumn)
        else "each row is about another person (declared)"
    )
    return (
        f"{told}; of each person the first {bound.rows} rows in the first {bound.groups} groups take part;"
        f" neighbouring data: {bound.neighbors}"
    )


def to_lines(plan: ReleasePlan) -> list[Line]:
    """A plan in labelled lines."""
    told = explain_release(plan)
    statistics = (
        line
        for one in told.statistics
        for line in (("statistic", f"{one.name}: {one.what}"), ("  noise", one.noise))
    )
    return [
        ("plan", told.digest),
        ("read", str(plan.read.target)),
        ("respondent", told.respondent),
        *([("rows", told.rows)] if told.rows else []),
        *statistics,
        ("promise", told.promise),
        *((f"  {name}" if len(name) < 10 else name, text) for name, text in told.loss),
        ("write", f"{plan.write.output}, {plan.write.format}, a row for each noisy value"),
        *(("not covered", line) for line in told.not_protected),
    ]


def as_object(plan: ReleasePlan) -> dict[str, object]:
    """The plan and its explanation for programs."""
    told = explain_release(plan)
    return {
        "digest": told.digest,
        "plan": json.loads(plan_to_json(plan)),
        "statistics": [{"name": s.name, "what": s.what, "noise": s.noise} for s in told.statistics],
        "respondent": told.respondent,
        "rows": told.rows,
        "promise": told.promise,
        "loss": dict(told.loss),
        "notProtected": list(told.not_protected),
    }
