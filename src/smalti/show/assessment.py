"""An assessment in a terminal, in plain words, for the data's owner."""

from fractions import Fraction

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smalti.engine.run.assessing import Assessment
from smalti.show.terminal import LABEL, bullet, fields
from smalti.transforms.uniqueness.column_sets import SetFigures, first_accepted

_MOST_COLUMNS = 40
_MOST_SETS = 10


def show_assessment(out: Console, assessment: Assessment, *, in_full: bool = False) -> None:
    """Show what matters most, columns, the sets that tell most people apart, and risks."""
    _show_counting(out, assessment)
    fields(out, ("in short", _in_short(assessment)))
    out.print(_columns(assessment, in_full=in_full))
    _show_sets(out, assessment, in_full=in_full)
    if assessment.together is not None:
        _show_together(out, assessment, assessment.together)
    _show_population(out, assessment)


def _show_counting(out: Console, assessment: Assessment) -> None:
    rows = assessment.profile.rows
    fields(out, ("rows", f"{rows:,}"))
    if not assessment.counts_people:
        fields(
            out,
            (
                "warning",
                "nobody said who the person is, so rows are counted, not people. Say --respondent COLUMN,"
                " or --one-row-each where each row is about another person",
            ),
        )
    elif assessment.respondent is None:
        fields(out, ("the person", "each row is about another person"))
    else:
        count = assessment.sets[0].respondents
        fields(out, ("the person", f"{assessment.respondent}: {count:,} people"))
    if assessment.without_respondent:
        fields(out, ("left out", f"{assessment.without_respondent:,} rows name no person"))


def _who(assessment: Assessment) -> str:
    return "people" if assessment.counts_people else "rows"


def _in_short(assessment: Assessment) -> str:
    """The first sentence that a reader should take away."""
    who = _who(assessment)
    if assessment.minimal:
        names = " and ".join(assessment.named(assessment.minimal[0]))
        return f"{names} alone tell{'' if ' and ' in names else 's'} all {who} apart"
    most = max(assessment.sets, key=lambda figures: figures.unique)
    names = " and ".join(assessment.named(most))
    sentence = f"{_percent(most.unique_share)} of {who} are unique by {names}"
    if assessment.together is None:
        return sentence
    return f"{sentence}, and {_percent(assessment.together.unique_share)} by all quasi-identifiers below"


def _columns(assessment: Assessment, *, in_full: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for title in ("column", "seems to hold", "different", "missing", "unique values", "proposed role"):
        right = title in ("different", "missing", "unique values")
        table.add_column(title, overflow="fold", justify="right" if right else "left")
    columns = assessment.columns if in_full else assessment.columns[:_MOST_COLUMNS]
    for column in columns:
        profile = column.profile
        table.add_row(
            Text(profile.name),
            str(profile.datatype or "text"),
            f"{profile.distinct:,}",
            f"{profile.missing:,}",
            _percent(column.unique_share),
            str(column.proposed),
        )
    if len(columns) < len(assessment.columns):
        table.add_row(f"and {len(assessment.columns) - len(columns)} more: --verbose lists them")
    return table


def _show_sets(out: Console, assessment: Assessment, *, in_full: bool) -> None:
    who, count = _who(assessment), len(assessment.sets)
    fields(
        out,
        (
            "looked at",
            f"{count:,} sets of at most {assessment.size} columns. Unique: {who} with values that no other"
            " has. Separation: pairs that differ. Distinction: different combinations among all",
        ),
    )
    minimal = assessment.minimal
    if minimal:
        out.print(Text("these sets tell all apart, and no part of them does", style=LABEL))
        for figures in minimal if in_full else minimal[:_MOST_SETS]:
            bullet(out, ", ".join(assessment.named(figures)))
        if not in_full and len(minimal) > _MOST_SETS:
            bullet(out, f"and {len(minimal) - _MOST_SETS} more: --verbose lists them")
    else:
        fields(out, ("tell all apart", f"no set of at most {assessment.size} columns does"))
    out.print(_most_telling(assessment, in_full=in_full))


def _most_telling(assessment: Assessment, *, in_full: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    table.add_column("others that tell most apart" if assessment.minimal else "sets that tell most apart")
    for title in ("unique", "separation", "distinction", "at risk"):
        table.add_column(title, justify="right")
    others = [figures for figures in assessment.sets if not figures.is_unique]
    ordered = sorted(others, key=lambda figures: (-figures.unique, len(figures.columns)))
    for figures in ordered if in_full else ordered[:_MOST_SETS]:
        table.add_row(
            Text(", ".join(assessment.named(figures))),
            _percent(figures.unique_share),
            _percent(figures.separation),
            _percent(figures.distinction),
            _percent(figures.at_risk / figures.respondents),
        )
    return table


def _show_together(out: Console, assessment: Assessment, together: SetFigures) -> None:
    who, count = _who(assessment), together.respondents
    fewest = first_accepted(Fraction(assessment.threshold))
    out.print(Text("if somebody knows all of these, exactly as they are written", style=LABEL))
    bullet(out, ", ".join(assessment.named(together)))
    above = f"a risk above {assessment.threshold} (fewer than {fewest:,} look alike)"
    prosecutor = (
        f"somebody knows that a person is in the data: {together.at_risk:,} of {count:,} {who}"
        f" ({_percent(together.at_risk / count)}) have {above}; {together.unique:,} are unique. The highest"
        f" risk is {_percent(1 / together.fewest)}, the average {_percent(together.average_risk)}"
    )
    journalist = (
        "not known: somebody looks for anybody of a population, and there is no table of it (--population,"
        " with --quasi-identifier)"
    )
    marketer = (
        f"somebody who has a table of exactly these people links {_percent(together.average_risk)} of the"
        f" {who} rightly, on average; with a table of more people, fewer"
    )
    linked = assessment.linked
    if linked is not None:
        journalist = (
            f"somebody looks for anybody of the population: {linked.at_risk:,} of {count:,} {who}"
            f" ({_percent(linked.at_risk / count)}) have {above}. The highest risk is"
            f" {_percent(1 / linked.fewest)}, the average {_percent(linked.average_risk)}"
        )
        marketer = (
            f"somebody who has the population links {_percent(linked.average_risk)} of the {who} rightly,"
            " on average"
        )
    fields(out, ("prosecutor", prosecutor), ("journalist", journalist), ("marketer", marketer))


def _show_population(out: Console, assessment: Assessment) -> None:
    if assessment.sample_of is None:
        return
    uniques = assessment.uniques
    if uniques is None:
        fields(
            out,
            (
                "population",
                "nothing is said of its uniques: somebody has several combinations here, or no column"
                " is left",
            ),
        )
        return
    estimate = "no model is exact enough here for a closer estimate"
    if uniques.pitman is not None:
        estimate = f"Pitman's model estimates {uniques.pitman:,}"
    fields(
        out,
        (
            "population",
            f"of {assessment.sample_of:,} people, between {uniques.least:,} and {uniques.most:,} are unique"
            f" (confidence {assessment.confidence:.0%}, if the data is a random sample); {estimate}",
        ),
    )


def _percent(share: float) -> str:
    """A share, where 100.0 % and 0.0 % are exact."""
    shown = f"{100 * share:.1f} %"
    if shown == "100.0 %" and share < 1:
        return "> 99.9 %"
    return "< 0.1 %" if shown == "0.0 %" and share > 0 else shown
