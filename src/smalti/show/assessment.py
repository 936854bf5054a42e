"""An assessment in a terminal, in plain words, for the data's owner."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smalti.engine.run.assessing import Assessment
from smalti.reports.assessments import (
    counting,
    in_short,
    most_telling,
    people_or_rows,
    percent,
    population,
    risks,
    set_cells,
)
from smalti.show.terminal import LABEL, bullet, fields
from smalti.transforms.uniqueness.column_sets import SetFigures

_MOST_COLUMNS = 40
_MOST_SETS = 10


def show_assessment(out: Console, assessment: Assessment, *, in_full: bool = False) -> None:
    """Show what matters most, columns, the sets that tell most people apart, and risks."""
    fields(out, *counting(assessment), ("in short", in_short(assessment)))
    out.print(_columns(assessment, in_full=in_full))
    _show_sets(out, assessment, in_full=in_full)
    if assessment.together is not None:
        _show_together(out, assessment, assessment.together)
    _show_population(out, assessment)


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
            percent(column.unique_share),
            column.proposal,
        )
    if len(columns) < len(assessment.columns):
        table.add_row(f"and {len(assessment.columns) - len(columns)} more: --verbose lists them")
    return table


def _show_sets(out: Console, assessment: Assessment, *, in_full: bool) -> None:
    who, count = people_or_rows(assessment), len(assessment.sets)
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
    ordered = most_telling(assessment)
    for figures in ordered if in_full else ordered[:_MOST_SETS]:
        columns, *shares = set_cells(assessment, figures)
        table.add_row(Text(columns), *shares)
    return table


def _show_together(out: Console, assessment: Assessment, together: SetFigures) -> None:
    out.print(Text("if somebody knows all of these, exactly as they are written", style=LABEL))
    bullet(out, ", ".join(assessment.named(together)))
    fields(out, *risks(assessment, together))


def _show_population(out: Console, assessment: Assessment) -> None:
    said = population(assessment)
    if said is not None:
        fields(out, ("population", said))
