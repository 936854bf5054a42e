"""A plan as text for people, and as JSON: what happens to each column, and why."""

import json
import textwrap
from dataclasses import dataclass

from smalti.engine.perturbation.plan import PerturbationPlan
from smalti.engine.plan.plan import Column, OneRowEach, Plan, RespondentColumn, Role, Write
from smalti.engine.plan.respondents import WAYS_TO_DECLARE, counts_rows
from smalti.engine.plan.serialize import AnyPlan, plan_digest, plan_to_json
from smalti.engine.registry.certificate import describe_guarantee, limits
from smalti.engine.releases.plan import ReleasePlan
from smalti.engine.training.plan import TrainingPlan
from smalti.transforms.base import CutScore, Datatype, Transform
from smalti.transforms.mondrian import (
    Dimensionality,
    MondrianKAnonymity,
    MondrianLDiversity,
    Partitioning,
)

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
        _technique(transform),
        _warnings(plan),
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
        return "dropped, after telling people apart" if counted else "dropped"
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
            return "rows are counted, not people: nothing is declared"


_CUTS = {
    CutScore.CERTAINTY_PENALTY: "the cut with the least loss in partitions of at most {} distinct"
    " combinations, the median in larger ones",
    CutScore.NORMALIZED_SPAN: "the median of the widest quasi-identifier",
    CutScore.ENTROPY: "the median of the quasi-identifier with the largest entropy",
}


def _technique(transform: Transform) -> str:
    match transform:
        case MondrianKAnonymity() | MondrianLDiversity():
            pass
        case _:
            return transform.algorithm
    if transform.dimensionality is Dimensionality.SINGLE:
        return (
            f"{transform.algorithm}, strict, single-dimensional: domains of quasi-identifiers are cut, at"
            " the median of the part that loses most, and equal values are published alike"
        )
    cuts = _CUTS[transform.cut_score].format(transform.cut_threshold)
    first = ""
    if transform.fragment_column is not None:
        first = (
            f"; a table of more than {transform.cut_threshold} distinct combinations is cut along"
            f" {transform.fragment_column} first"
        )
    sampled = ""
    if transform.sampled_fragments is not None:
        sampled = (
            f"; first cuts, into at most {transform.sampled_fragments} fragments, at medians of a sample:"
            " another number gives other classes"
        )
    even = ""
    if transform.partitioning is Partitioning.RELAXED:
        even = "; rows with equal quasi-identifiers may be divided evenly between both sides"
    kind = f"{transform.algorithm}, {transform.partitioning}, multidimensional"
    return f"{kind}: {cuts}{first}{sampled}{even}"


def _warnings(plan: Plan) -> tuple[str, ...]:
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
        warnings.append(f"ends of ranges are real people's values, the extremes too: {listed}")
    warnings += _set_warnings(plan)
    if plan.released:
        listed = ", ".join(plan.released)
        warnings.append(
            f"released columns are published as they are, and nothing is promised of them: {listed}"
        )
    if counts_rows(plan.read.respondent):
        warnings.append(
            "no respondent is declared: k counts rows, and whose they are is not known; `run` refuses until"
            " it is: " + WAYS_TO_DECLARE
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
            "taken for text, since not every value is a number, an ISO date or an ISO date-time; if they"
            f" should be, correct the data, or declare the datatype to see what is wrong: {guessed}"
        )
    return warnings


def warnings_in(plan: AnyPlan) -> tuple[str, ...]:
    """What a plan warns of, whatever the data; of a release nothing."""
    if isinstance(plan, Plan):
        return _warnings(plan)
    if isinstance(plan, PerturbationPlan):
        from smalti.engine.perturbation import explain as local  # noqa: PLC0415 (it comes with the engines)

        return local.warnings_in(plan)
    if isinstance(plan, TrainingPlan):
        from smalti.engine.training import explain as audits  # noqa: PLC0415 (it comes with the engines)

        return audits.warnings_in(plan)
    return ()


def to_text(plan: AnyPlan) -> str:
    """The explanation as plain text; golden tests compare it."""
    if isinstance(plan, PerturbationPlan):
        from smalti.engine.perturbation.explain import to_lines  # noqa: PLC0415 (it comes with the engines)

        return "\n".join(labelled(*line) for line in to_lines(plan)) + "\n"
    if isinstance(plan, TrainingPlan):
        from smalti.engine.training import explain as audits  # noqa: PLC0415 (it comes with the engines)

        return "\n".join(labelled(*line) for line in audits.to_lines(plan)) + "\n"
    return _release_text(plan) if isinstance(plan, ReleasePlan) else _text(plan)


def _text(plan: Plan) -> str:
    told = explain(plan)
    width = max(len(step.name) for step in told.columns)
    middle = max(len(step.what) for step in told.columns)
    lines = [
        labelled("plan", told.digest),
        labelled("read", str(plan.read.target)),
        labelled("respondent", told.respondent),
        *([labelled("rows", told.rows)] if told.rows else []),
        "columns",
        *(f"  {step.name:{width}}  {step.what:{middle}}  {step.why}" for step in told.columns),
        labelled("promise", told.promise),
        labelled("technique", told.technique),
        labelled("write", _written(plan.write)),
        *(labelled("warning", warning) for warning in told.warnings),
        *(labelled("not covered", line) for line in told.not_protected),
    ]
    return "\n".join(lines) + "\n"


def _release_text(plan: ReleasePlan) -> str:
    from smalti.engine.releases.explain import explain_release  # noqa: PLC0415 (it comes with the engines)

    told = explain_release(plan)
    lines = [
        labelled("plan", told.digest),
        labelled("read", str(plan.read.target)),
        labelled("respondent", told.respondent),
        *([labelled("rows", told.rows)] if told.rows else []),
        *(
            line
            for one in told.statistics
            for line in (
                labelled("statistic", f"{one.name}: {one.what}"),
                labelled("  noise", one.noise),
            )
        ),
        labelled("promise", told.promise),
        *(labelled(f"  {name}" if len(name) < 10 else name, text) for name, text in told.loss),
        labelled("write", f"{plan.write.output}, {plan.write.format}, a row for each noisy value"),
        *(labelled("not covered", line) for line in told.not_protected),
    ]
    return "\n".join(lines) + "\n"


def _written(write: Write) -> str:
    parts = f" in parts of at most {write.rows_per_part:,} rows" if write.rows_per_part else ""
    return f"{write.output}, {write.format}{parts}, rows ordered by all published columns"


def labelled(label: str, text: str, width: int = 108) -> str:
    """A label with a text beside it, wrapped between words; a longer word, such as a path, stays whole.

    >>> print(labelled("output", "one two three", 22))
    output       one two
                 three
    """
    first, rest = f"{label:12} ", " " * 13
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def to_json(plan: AnyPlan) -> str:
    """The plan and its explanation as indented JSON."""
    if isinstance(plan, ReleasePlan):
        from smalti.engine.releases.explain import as_object  # noqa: PLC0415 (it comes with the engines)

        told = as_object(plan)
    elif isinstance(plan, PerturbationPlan):
        from smalti.engine.perturbation import explain as local  # noqa: PLC0415 (it comes with the engines)

        told = local.as_object(plan)
    elif isinstance(plan, TrainingPlan):
        from smalti.engine.training import explain as audits  # noqa: PLC0415 (it comes with the engines)

        told = audits.as_object(plan)
    else:
        told = _as_object(plan)
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _as_object(plan: Plan) -> dict[str, object]:
    told = explain(plan)
    return {
        "digest": told.digest,
        "plan": json.loads(plan_to_json(plan)),
        "columns": [{"name": s.name, "role": s.role, "what": s.what, "why": s.why} for s in told.columns],
        "respondent": told.respondent,
        "rows": told.rows,
        "promise": told.promise,
        "warnings": list(told.warnings),
        "notProtected": list(told.not_protected),
    }
