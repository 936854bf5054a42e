"""The owner's report of a run: its loss, the errors of queries, and what attacks achieve."""

from fractions import Fraction
from typing import Final

from smalti.engine.plan.examination import AttackFigures, Examination, TableAttack
from smalti.reports.page import Page, Paragraph, Part, Section, Table
from smalti.reports.sweeps import SQUARED_ERROR, cells, meanings, titles_of
from smalti.transforms.attacks.disclosure import NEAR, RAISED
from smalti.transforms.attacks.minimality import LEAST_DRAWS
from smalti.transforms.measures.queries import QUERIES, SANITY, SHARE

_LIMITS: Final = (
    "For the owner of the data alone: these figures can help to single people out, and are part of no"
    " record. The attacker is taken to know the quasi-identifiers of a person in the data exactly. These"
    " attacks were tried, and no others: a stronger one may achieve more. An attack that is right has not"
    " always learnt it from the output: compare with what is guessed without it. Several releases are not"
    " attacked together."
)
_ATTACKS: Final = {
    TableAttack.IDENTITY: "the person is alone in a class, so that the row is known to be the person's",
    TableAttack.HOMOGENEITY: (
        "everybody in the class holds one value (Machanavajjhala et al. 2007, section 2.1)"
    ),
    TableAttack.BACKGROUND_KNOWLEDGE: (
        "a value is certain for an attacker who is told one value that the person does not have; those of"
        " homogeneity among them (Machanavajjhala et al. 2007, section 2.2)"
    ),
    TableAttack.SKEWNESS: (
        f"the person holds a value that at least half of the class holds, and at least {RAISED} times its"
        " share in the table (Li et al. 2007, section 3.1; the thresholds are smalti's)"
    ),
    TableAttack.SIMILARITY: (
        f"all values of the class lie within {float(NEAR):.0%} of the column's domain, or below one node"
        " of the lowest level of its hierarchy (Li et al. 2007, section 3.1; the thresholds are smalti's)"
    ),
    TableAttack.MINIMALITY: (
        "the attacker knows the algorithm, and that it would have divided the class but for a side that"
        " breaks the promise: then the person's value has a chance of at least one half, and had less"
        f" before (Wong et al. 2007; estimated from {LEAST_DRAWS} draws or more)"
    ),
    TableAttack.DE_FINETTI: (
        "the value that a naive Bayes model, learnt from the output itself, finds most likely is the"
        " person's (Kifer 2009, without the sampler)"
    ),
}


def page(examination: Examination, target: str) -> Page:
    """The report of one output.

    Args:
        examination: of it.
        target: the output, by its IRI.
    """
    figures = examination.figures
    lead = (
        f"{figures.respondents:,} people in {figures.classes:,} classes of at least {figures.k};"
        f" {float(figures.loss):.1%} lost."
    )
    return Page(
        f"Owner's report of {target}",
        lead,
        (
            Section("Risk and loss", _measures(examination)),
            Section("Errors of queries", _queries(examination)),
            Section("What attacks achieve", _attacks(examination)),
            Section("What this does not show", (Paragraph(_LIMITS),)),
        ),
    )


def _measures(examination: Examination) -> tuple[Part, ...]:
    figures = examination.figures
    has_errors = figures.squared_error is not None
    measures = tuple(
        (title, cell, meaning)
        for (title, meaning), cell in zip(meanings(titles_of(figures)), cells(figures), strict=True)
    )
    columns = tuple(
        (
            column.name,
            f"{float(column.certainty_penalty):.1%}",
            f"{float(column.entropy_loss):.1%}",
            f"{column.exact_rows / figures.rows:.1%}",
            *((_error(column.squared_error),) if has_errors else ()),
        )
        for column in figures.generalised
    )
    more = (SQUARED_ERROR,) if has_errors else ()
    return (
        Table("Of the whole output", ("figure", "value", "meaning"), measures),
        Table(
            "By quasi-identifier", ("column", "lost", "entropy lost", "rows shown exactly", *more), columns
        ),
    )


def _error(share: Fraction | None) -> str:
    return "" if share is None else f"{float(share):.2%}"


def _queries(examination: Examination) -> tuple[Part, ...]:
    text = (
        f"{QUERIES} random queries of each kind count rows by conditions on quasi-identifiers that are"
        f" drawn anew for each. The conditions are the values of a random row, or a range of {SHARE:.0%}"
        " of a column's different values (of a text, any so many). They are answered from the labels, as"
        " if values below a label were equally frequent, and columns independent within a class. An error"
        f" is the distance to the true count, divided by it or by {SANITY:.1%} of all rows. The draws come"
        " from the digest of the plan."
    )
    rows = tuple(
        (
            str(errors.kind),
            str(errors.columns),
            f"{errors.median:.1%}",
            f"{errors.mean:.1%}",
            f"{errors.ninth_tenth:.1%}",
        )
        for errors in examination.queries
    )
    header = ("condition", "columns", "median", "mean", "nine of ten below")
    return Paragraph(text), Table("Relative errors", header, rows)


def _attacks(examination: Examination) -> tuple[Part, ...]:
    rows = tuple(
        (
            str(each.attack),
            each.column or "",
            _people(each.hits, examination.figures.respondents),
            _people(each.unprotected, examination.respondents),
            _people(each.without, examination.figures.respondents),
            each.note,
        )
        for each in examination.attacks
    )
    header = ("attack", "column", "hit", "hit without protection", "guessed without the attack", "not run")
    listed = {each.attack for each in examination.attacks}
    meanings = tuple((str(attack), text) for attack, text in _ATTACKS.items() if attack in listed)
    return (
        Table("People who are hit, in the output and in the table as it came", header, rows),
        Table("Who is hit by which attack", ("attack", "hit is who"), meanings),
    )


def _people(count: int | None, everybody: int) -> str:
    return "" if count is None else f"{count:,} ({count / everybody:.1%})"


def summary(examination: Examination) -> tuple[tuple[str, str], ...]:
    """For a terminal, a label and a sentence each: the main figures, and each attack that was run."""
    errors = "; ".join(
        f"a count by {each.kind} is {each.median:.1%} off in the median, {each.mean:.1%} on average"
        for each in examination.queries
    )
    lost = examination.figures.squared_error
    return (
        *(
            (("lost", f"{SQUARED_ERROR} {float(lost):.2%} of {_with_errors(examination)}"),)
            if lost is not None
            else ()
        ),
        ("queries", errors),
        *(("attacks", _line(each)) for each in examination.attacks if each.hits is not None),
    )


def _with_errors(examination: Examination) -> str:
    return ", ".join(
        column.name for column in examination.figures.generalised if column.squared_error is not None
    )


def _line(figures: AttackFigures) -> str:
    of_column = "" if figures.column is None else f" of {figures.column}"
    beside = "" if figures.unprotected is None else f", {figures.unprotected:,} without any protection"
    return f"{figures.attack}{of_column} hits {figures.hits:,}{beside}"
