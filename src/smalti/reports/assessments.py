"""The report of an assessment: columns, the sets that tell people apart, and risks."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from smalti.engine.run.assessing import Assessment
from smalti.reports.page import Page, Paragraph, Section, Table
from smalti.transforms.uniqueness.column_sets import SetFigures, first_accepted

_MOST_SETS: Final = 50
_LIMITS: Final = (
    "For the owner of the data alone: counts about a small table tell about people. The risks are those of"
    " linking by exactly these values; somebody may know values about, other columns, or other tables."
    " Nothing here is about an output. A low figure is no promise: a policy makes one, and a run verifies"
    " it."
)


def people_or_rows(assessment: Assessment) -> str:
    """What is counted, in one word."""
    return "people" if assessment.counts_people else "rows"


def counting(assessment: Assessment) -> Iterator[tuple[str, str]]:
    """What is counted: a label and a sentence each."""
    yield "rows", f"{assessment.profile.rows:,}"
    if not assessment.counts_people:
        yield (
            "warning",
            "nobody said who the person is, so rows are counted, not people. Say --respondent COLUMN,"
            " or --one-row-each where each row is about another person",
        )
    elif assessment.respondent is None:
        yield "the person", "each row is about another person"
    else:
        yield "the person", f"{assessment.respondent}: {assessment.sets[0].respondents:,} people"
    if assessment.without_respondent:
        yield "left out", f"{assessment.without_respondent:,} rows name no person"


def in_short(assessment: Assessment) -> str:
    """The first sentence that a reader should take away."""
    who = people_or_rows(assessment)
    if assessment.minimal:
        names = " and ".join(assessment.named(assessment.minimal[0]))
        return f"{names} {'together tell' if ' and ' in names else 'alone tells'} all {who} apart"
    most = max(assessment.sets, key=lambda figures: figures.unique)
    names = " and ".join(assessment.named(most))
    sentence = f"{percent(most.unique_share)} of {who} are unique by {names}"
    if assessment.together is None:
        return sentence
    return f"{sentence}, and {percent(assessment.together.unique_share)} by all quasi-identifiers below"


def most_telling(assessment: Assessment) -> list[SetFigures]:
    """The sets that tell some apart, and not all; those that tell most first."""
    others = [figures for figures in assessment.sets if not figures.is_unique]
    return sorted(others, key=lambda figures: (-figures.unique, len(figures.columns)))


def risks(assessment: Assessment, together: SetFigures) -> tuple[tuple[str, str], ...]:
    """What somebody achieves who knows all of some columns: a label and a sentence each.

    Args:
        assessment: of the table.
        together: of these columns.
    """
    who, count = people_or_rows(assessment), together.respondents
    fewest = first_accepted(Fraction(assessment.threshold))
    above = f"a risk above {assessment.threshold} (fewer than {fewest:,} look alike)"
    prosecutor = (
        f"somebody knows that a person is in the data: {together.at_risk:,} of {count:,} {who}"
        f" ({percent(together.at_risk / count)}) have {above}; {together.unique:,} are unique. The highest"
        f" risk is {percent(1 / together.fewest)}, the average {percent(together.average_risk)}"
    )
    journalist = (
        "not known: somebody looks for anybody of a population, and there is no table of it (--population,"
        " with --quasi-identifier)"
    )
    marketer = (
        f"somebody who has a table of exactly these people links {percent(together.average_risk)} of the"
        f" {who} rightly, on average; with a table of more people, fewer"
    )
    linked = assessment.linked
    if linked is not None:
        journalist = (
            f"somebody looks for anybody of the population: {linked.at_risk:,} of {count:,} {who}"
            f" ({percent(linked.at_risk / count)}) have {above}. The highest risk is"
            f" {percent(1 / linked.fewest)}, the average {percent(linked.average_risk)}"
        )
        marketer = (
            f"somebody who has the population links {percent(linked.average_risk)} of the {who} rightly,"
            " on average"
        )
    return ("prosecutor", prosecutor), ("journalist", journalist), ("marketer", marketer)


def population(assessment: Assessment) -> str | None:
    """What a sample says of its population; None where the data is none."""
    if assessment.sample_of is None:
        return None
    uniques = assessment.uniques
    if uniques is None:
        return (
            "nothing is said of its uniques: somebody has several combinations here, or no column is left"
        )
    estimate = "no model is exact enough here for a closer estimate"
    if uniques.pitman is not None:
        estimate = f"Pitman's model estimates {uniques.pitman:,}"
    said = (
        f"of {assessment.sample_of:,} people, between {uniques.least:,} and {uniques.most:,} are unique"
        f" (confidence {assessment.confidence:.0%}, if the data is a random sample); {estimate}"
    )
    return ". ".join((said, *(remark[0].upper() + remark[1:] for remark in assessment.population_remarks)))


def set_cells(assessment: Assessment, figures: SetFigures) -> tuple[str, ...]:
    """The figures of a set as people read them: columns, unique, separation, distinction, at risk."""
    return (
        ", ".join(assessment.named(figures)),
        percent(figures.unique_share),
        percent(figures.separation),
        percent(figures.distinction),
        percent(figures.at_risk / figures.respondents),
    )


def page(assessment: Assessment) -> Page:
    """The report of an assessment."""
    together, of_population = assessment.together, population(assessment)
    sentences = () if together is None else risks(assessment, together)
    if together is not None:
        sentences = (("somebody knows", ", ".join(assessment.named(together))), *sentences)
    if of_population is not None:
        sentences = (*sentences, ("population", of_population))
    name = "the data" if assessment.profile.file is None else assessment.profile.file.name
    return Page(
        f"Assessment of {name}",
        f"{in_short(assessment)}.",
        (
            Section("What is counted", (Table("", ("what", "which"), tuple(counting(assessment))),)),
            Section("Columns", (_columns(assessment),)),
            Section("What tells people apart", _sets(assessment)),
            *([Section("Risks", (Table("", ("who", "what"), sentences),))] if sentences else []),
            Section("What this does not show", (Paragraph(_LIMITS),)),
        ),
    )


def _columns(assessment: Assessment) -> Table:
    header = ("column", "seems to hold", "different", "missing", "unique values", "proposed role")
    rows = tuple(
        (
            column.profile.name,
            str(column.profile.datatype or "text"),
            f"{column.profile.distinct:,}",
            f"{column.profile.missing:,}",
            percent(column.unique_share),
            column.proposal,
        )
        for column in assessment.columns
    )
    return Table("Proposed roles come from counts alone: people decide", header, rows)


def _sets(assessment: Assessment) -> tuple[Table, ...]:
    header = ("columns", "unique", "separation", "distinction", "at risk")
    others = most_telling(assessment)
    caption = f"The first {_MOST_SETS} of" if len(others) > _MOST_SETS else "All"
    tables = [
        Table(
            f"{caption} {len(others):,} sets of at most {assessment.size} columns that leave some alike",
            header,
            tuple(set_cells(assessment, figures) for figures in others[:_MOST_SETS]),
        )
    ]
    if assessment.minimal:
        rows = tuple((", ".join(assessment.named(figures)),) for figures in assessment.minimal)
        tables.insert(0, Table("These tell all apart, and no part of them does", ("columns",), rows))
    return tuple(tables)


def percent(share: float) -> str:
    """A share, where 100.0 % and 0.0 % are exact."""
    shown = f"{100 * share:.1f} %"
    if shown == "100.0 %" and share < 1:
        return "> 99.9 %"
    return "< 0.1 %" if shown == "0.0 %" and share > 0 else shown
