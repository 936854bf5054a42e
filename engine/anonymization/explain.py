"""A plan of generalised rows in words: what happens to each column, and why."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smalti.engine.anonymization.guarantee import describe_guarantee, guarantee_of, regions_of
from smalti.engine.plan.column_steps import (
    ColumnStep,
    alike_steps,
    dropped,
    is_respondent,
    respondent_in_words,
    why,
)
from smalti.engine.plan.hierarchies import AllOrNothing
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import (
    Notice,
    dropped_unnamed,
    sentences,
    warning_lines,
)
from smalti.engine.plan.plan import Column, OutputForm, Plan, Role, Write
from smalti.engine.plan.respondents import WAYS_TO_DECLARE, counts_rows
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.techniques.statements import what
from smalti.transforms.base import Datatype
from smalti.transforms.class_models import Distance


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
    notices: tuple[Notice, ...]
    """The warnings of the plan, whatever the data."""
    not_protected: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        return sentences(self.notices)


def explain(plan: Plan) -> Explanation:
    """What a plan does, in words; says nothing that is not in the plan."""
    transform = plan.apply.transform
    return Explanation(
        plan_digest(plan),
        tuple(
            ColumnStep(c.name, c.role, _what(plan, c), why(c, plan.read.respondent))
            for c in plan.read.columns
        ),
        respondent_in_words(plan.read.respondent),
        _rows(plan),
        f"{transform.guarantee.model}: {_promise(plan)}",
        transform.technique,
        notices_in(plan),
        guarantee_of(plan).limits,
    )


def _promise(plan: Plan) -> str:
    transform = plan.apply.transform
    counted = "rows" if counts_rows(plan.read.respondent) else "respondents"
    chosen = transform.lattice_terms
    promised = describe_guarantee(
        transform.guarantee,
        transform.sensitive,
        counted,
        chosen.suppression_limit,
        keeps_suppressed=chosen.keeps_suppressed,
    )
    return "; ".join([promised, *guarantee_of(plan).masking()])


def _rows(plan: Plan) -> str | None:
    parts = []
    if plan.filter is not None:
        from smalti.engine.binding.kept_rows import describe_rows  # noqa: PLC0415 (with the engines)

        parts.append(f"only those where {describe_rows(plan.filter)}")
    if plan.sampling_rate is not None:
        parts.append(
            f"those of a sample of the respondents: each by itself with probability {plan.sampling_rate:f}"
        )
    return "; of these ".join(parts) or None


def _what(plan: Plan, column: Column) -> str:
    if not column.role.is_published:
        return dropped(column, plan.read.respondent)
    if column.pseudonym_key is not None:
        return f"pseudonymised (HMAC-SHA-256 under the key `{column.pseudonym_key}`)"
    node = next((each for each in plan.masked if each.column == column.name), None)
    if column.role is not Role.QUASI_IDENTIFIER:
        return "kept as it is" if node is None else what(node)
    if node is not None:
        return f"{what(node)}; {_generalised(plan, column)}"
    return _generalised(plan, column)


def _generalised(plan: Plan, column: Column) -> str:
    source = "inferred" if column.is_inferred else "declared"
    if column.hierarchy is not None and column.hierarchy.kind == AllOrNothing.kind:
        return f"kept, or `*`, in all rows ({column.datatype}, {source}; no hierarchy is declared)"
    if column.hierarchy is not None and plan.apply.transform.generalises_whole_domains:
        return (
            f"generalised to one level of a hierarchy ({column.hierarchy.kind}, {column.hierarchy.levels}"
            f" levels above the values)"
        )
    if column.is_published_as_categories:
        return f"generalised to the {column.form} of each class ({column.datatype}, {_apart(column)})"
    if column.hierarchy is not None:
        derived = ", made from the data" if column.hierarchy.is_derived else ""
        return (
            f"generalised to nodes of a hierarchy ({column.hierarchy.kind},"
            f" {column.hierarchy.levels} levels above the values{derived})"
        )
    return f"generalised to {_form(column)} ({column.datatype}, {source}{_rounded(column)})"


def _rounded(column: Column) -> str:
    """To what a figure is rounded."""
    if column.decimals is None:
        return ""
    if column.datatype is Datatype.DATE:
        return ", to whole days"
    match column.decimals:
        case 0:
            return ", to whole numbers"
        case 1:
            return ", to 1 decimal"
        case many:
            return f", to {many} decimals"


def _apart(column: Column) -> str:
    """How far the categories of a column are apart."""
    match column.distance:
        case Distance.ORDERED:
            return "values as far apart as their places in the declared list"
        case Distance.HIERARCHICAL:
            return "values as far apart as the lowest node that has both is high"
    return "any two values equally far apart"


def _form(column: Column) -> str:
    if column.is_published_as_figures:
        return f"the {column.form} of each class"
    if column.region is not None:
        return f"ranges between cuts, from {column.region.low} to {column.region.high}"
    if column.datatype is not Datatype.STRING:
        return "ranges"
    return "sets of values" if column.is_published_as_sets else "common prefixes"


def notices_in(plan: Plan) -> tuple[Notice, ...]:
    """What a plan warns of, whatever the data."""
    notices = list(
        dropped_unnamed(
            column.name
            for column in plan.read.columns
            if column.role is Role.UNLISTED and not is_respondent(column, plan.read.respondent)
        )
    )
    ranges = [
        column.name
        for column in plan.read.columns
        if column.role is Role.QUASI_IDENTIFIER and column.is_published_as_ranges and column.region is None
    ]
    coded = tuple(name for name in ranges if plan.codes_of(name) is not None)
    if len(coded) < len(ranges):
        text = "ends of ranges, the extremes too, are values of real people"
        notices.append(Notice(text, tuple(name for name in ranges if name not in coded)))
    if coded:
        text = "ends of ranges are values of real people; a range that reaches a threshold is open there"
        notices.append(Notice(text, coded))
    if regions := regions_of(plan):
        text = "ends of regions are public bounds, or lie half way between two values that real people have"
        notices.append(Notice(text, regions))
    notices += _of_sets(plan)
    if plan.read.population is not None:
        notices.append(
            Notice("labels cover all persons of a class, and show values of some who are not in the table")
        )
    if plan.released:
        text = "released columns are published unchanged, without any guarantee"
        notices.append(Notice(text, plan.released))
    if plan.pseudonymized:
        text = "pseudonyms are the same in all outputs under one key, and others under another one"
        notices.append(Notice(text, plan.pseudonymized))
    if plan.masked:
        text = (
            "single techniques are no privacy model: what is promised of classes is counted on the values"
            " that they leave"
        )
        notices.append(Notice(text, tuple(each.column for each in plan.masked)))
    if plan.sampling_rate is not None:
        notices.append(
            Notice(
                "the promise is one for the sample: k, shares and distances are counted among those in it;"
                " who knows that somebody is in it finds the same class as without a sample"
            )
        )
    if plan.draws_at_random:
        notices.append(
            Notice(
                "what is drawn at random is drawn once for each run, and cannot be repeated: later releases"
                " about the same people are refused until an owner discards this one"
            )
        )
    if counts_rows(plan.read.respondent):
        notices.append(
            Notice(
                "no respondent is declared: k counts rows, not people, and `run` refuses; "
                + WAYS_TO_DECLARE
            )
        )
    return tuple(notices)


def _of_sets(plan: Plan) -> Iterator[Notice]:
    generalised = [column for column in plan.read.columns if column.role is Role.QUASI_IDENTIFIER]
    sets = tuple(column.name for column in generalised if column.is_published_as_sets)
    prefixes = tuple(column.name for column in generalised if column.form is OutputForm.PREFIX)
    guessed = tuple(
        column.name for column in generalised if column.is_inferred and column.datatype is Datatype.STRING
    )
    if sets:
        yield Notice("sets list every value of a class, exactly", sets)
    if prefixes:
        text = "a prefix is all that the texts of a class share; a class of equal texts shows that text"
        yield Notice(text, prefixes)
    figures = tuple(
        column.name
        for column in generalised
        if column.is_published_as_figures and not column.is_published_as_categories
    )
    categories = tuple(column.name for column in generalised if column.is_published_as_categories)
    if categories:
        text = (
            "a mode or medoid is a value that somebody in the class has, shown for all of them: many of"
            " them, or all, may have it"
        )
        yield Notice(text, categories)
    if figures:
        text = (
            "a mean or median is a figure of the class: who knows the values of all others in it learns"
            " that of the last one, as closely as the figure is written; where all have one value, it is"
            " that value"
        )
        yield Notice(text, figures)
    nodes = tuple(column.name for column in generalised if column.is_published_as_nodes)
    if nodes and not plan.apply.transform.generalises_whole_domains:
        text = "a class with some of a node's children lists them, values too where these are its children"
        yield Notice(text, nodes)
    if plan.apply.transform.generalises_whole_domains:
        text = "columns whose level is 0 are published exactly, in all rows; the owner's report says which"
        yield Notice(text, nodes)
    if guessed:
        yield Notice(
            "treated as text, because not every value is a number, an ISO date or an ISO date-time; if this"
            " is wrong, correct the data, or declare the datatype to find the faulty values",
            guessed,
        )


def to_lines(plan: Plan, notices: Sequence[Notice] | None = None, *, in_full: bool = True) -> list[Line]:
    """A plan in labelled lines, and its columns as a table.

    Args:
        plan: the plan.
        notices: all warnings; None: those of the plan.
        in_full: False: many alike columns, or warnings, are one line.
    """
    explanation = explain(plan)
    steps = alike_steps(explanation.columns, in_full=in_full)
    width = max(len(step.name) for step in steps)
    middle = max(len(step.what) for step in steps)
    return [
        ("plan", explanation.digest),
        ("read", str(plan.read.target)),
        *([("population", str(plan.read.population))] if plan.read.population is not None else []),
        ("respondent", explanation.respondent),
        *([("rows", explanation.rows)] if explanation.rows else []),
        "columns",
        *(f"  {step.name:{width}}  {step.what:{middle}}  {step.why}" for step in steps),
        ("promise", explanation.promise),
        ("technique", explanation.technique),
        ("write", _written(plan.write)),
        *warning_lines(explanation.notices if notices is None else notices, in_full=in_full),
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
