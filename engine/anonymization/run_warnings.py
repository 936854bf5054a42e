"""What a plan and a run warn of: the same, by the same words.

A generalised text column lists all of its values, alone or in sets: each distinct text of the rows that
take part is published exactly, whatever the loss figure says. A text that few rows hold singles out the
people it belongs to; the owner's report counts how many texts are that rare. Texts of respondents and
sensitive values are compared as written.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.anonymization.explain import notices_in
from smalti.engine.anonymization.guarantee import text_columns
from smalti.engine.anonymization.label_sizes import foreseen
from smalti.engine.backends.staged import STAGED, StagedTable
from smalti.engine.binding.mixed_cells import notices_of_mixed_cells
from smalti.engine.plan.files import ExactColumn
from smalti.engine.plan.notices import Notice
from smalti.engine.plan.plan import OneRowEach, Plan, RespondentColumn, Role, columns_of_respondent
from smalti.engine.tables.description import Source
from smalti.transforms.base import Datatype

LARGE_PART: Final = Fraction(1, 10)
"""The share of a column's distinct values that are rare, from which on the owner is warned."""
_ALIKE: Final = (
    "each row is declared to be about another person, but some rows agree in all columns except the"
    " sensitive ones: if such rows are about one person, k counts that person more than once"
)
_MOST_TEXTS: Final = 1 << 20
_UNSEEN: Final = r"[\s\p{Z}\p{Cc}\p{Cf}]+"


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an inspection of the rows shows before they are transformed; figures are for owners."""

    exact: tuple[ExactColumn, ...]
    alike: int
    """Rows that equal another one, where each is about another person (`rows_alike`)."""
    notices: tuple[Notice, ...]
    """Warnings that follow from the data, and those that the plan says whatever the data."""


def inspect_rows(
    plan: Plan, source: Source, table: StagedTable, *, is_output: bool, with_counts: bool
) -> Inspection:
    """What to warn of before a run.

    Args:
        plan: the plan.
        source: the target, as it is bound.
        table: the rows that take part.
        is_output: whether they are of an output, in which rows of a class are alike by design.
        with_counts: whether the warnings are for an owner, who may know how many texts there are.
    """
    exact = exact_values(plan, table)
    alike = 0 if is_output else rows_alike(plan, table)
    of_rows = () if is_output else warnings_of_rows(plan, table, alike)
    of_texts = warnings_of_alike_texts(plan, source, table, with_counts=with_counts)
    of_cells = notices_of_mixed_cells(source, _needed(plan), with_counts=with_counts)
    in_data = (*foreseen(plan, table), *warnings_of_exact(exact), *of_rows, *of_texts)
    counted = notices_of_exact(exact) if with_counts else ()
    of_data = tuple(Notice(text, is_of_data=True) for text in in_data)
    notices = (*counted, *of_data, *of_cells, *notices_in(plan))
    return Inspection(exact, alike, notices)


# --- Texts that are published exactly


def is_large_part(column: ExactColumn) -> bool:
    """Whether a large part of a column's values single out fewer rows than k."""
    return column.rare > 0 and Fraction(column.rare, column.values) >= LARGE_PART


def exact_values(plan: Plan, table: StagedTable) -> tuple[ExactColumn, ...]:
    """What a plan publishes exactly of each text column, counted on the rows that take part."""
    least = plan.apply.transform.guarantee.k
    return tuple(ExactColumn(name, *table.values_in(name, least)) for name in text_columns(plan))


def notices_of_exact(columns: tuple[ExactColumn, ...]) -> tuple[Notice, ...]:
    """Tell an owner how many texts of each column are published exactly: a loss figure does not say it."""
    listed = tuple(f"{column.column} {column.of_all}" for column in columns if column.values)
    text = "values that appear exactly in the output, alone or in sets"
    return (Notice(text, listed, is_of_data=True),) if listed else ()


def warnings_of_exact(columns: tuple[ExactColumn, ...]) -> tuple[str, ...]:
    """Warn an owner of rare values that are published exactly; without figures."""
    names = [column.column for column in columns if is_large_part(column)]
    if not names:
        return ()
    return (
        f"values of {', '.join(names)} are published exactly, and many of them occur in fewer than k rows:"
        " a small loss does not protect them; declare datatypes of numbers and dates, or shorten texts",
    )


# --- Rows and identifiers that repeat, where each row is about another person


def rows_alike(plan: Plan, table: StagedTable) -> int:
    """Where each row is declared to be another person: how many rows equal another one.

    In all columns but the sensitive ones, as texts. A figure for owners.
    """
    if plan.read.respondent != OneRowEach(is_declared=True):
        return 0
    if any(not table.repeats(name) and not table.misses(name) for name in _identifiers(plan)):
        return 0
    columns = [column.name for column in plan.read.columns if column.role is not Role.SENSITIVE]
    return table.rows_alike(columns) if columns else 0


def warnings_of_rows(plan: Plan, table: StagedTable, alike: int) -> tuple[str, ...]:
    """Warn of evidence against one row for each person; without figures.

    Args:
        plan: on the table.
        table: of original data, not of an output, in which rows of a class are alike.
        alike: see `rows_alike`.
    """
    if plan.read.respondent != OneRowEach(is_declared=True):
        return ()
    # Columns that attribute suppression leaves out are listed with the identifiers, and tell nobody.
    suppressed = () if plan.mask is None else plan.mask.suppressed
    repeated = [name for name in _identifiers(plan) if name not in suppressed and table.repeats(name)]
    warnings = [_ALIKE] if alike else []
    if repeated:
        warnings.append(
            "each row is declared to be about another person, but values repeat in"
            f" {', '.join(repeated)}, which the policy lists as identifiers"
        )
    return tuple(warnings)


def _identifiers(plan: Plan) -> list[str]:
    return [column.name for column in plan.read.columns if column.role is Role.IDENTIFIER]


# --- Texts that may be meant as one


def warnings_of_alike_texts(
    plan: Plan, source: Source, table: StagedTable, *, with_counts: bool
) -> tuple[str, ...]:
    """Warn of columns without a datatype that distinguish people or values by their texts.

    Args:
        plan: says which columns these are; columns of more than a million different texts are skipped.
        source: says what is declared.
        table: the rows that take part.
        with_counts: whether it is said how many texts there are; for owners alone.
    """
    warnings = []
    for name, what in _columns(plan):
        if _is_undeclared(name, source, table) and plan.column(name).datatype is Datatype.STRING:
            texts = _texts(table, name)
            fewer = len(texts) - len(pc.unique(folded(texts)))
            if fewer:
                many = f"{fewer} of its {len(texts)} texts" if with_counts else "some of its texts"
                warnings.append(
                    f"`{name}` distinguishes {what} by its texts, but {many} differ from another one only"
                    " in blanks, case or Unicode form: write each value in one way, or declare the"
                    " column's datatype"
                )
    return tuple(warnings)


def _needed(plan: Plan) -> set[str]:
    """The columns by whose values the plan tells anything apart: identifiers, too, which are dropped."""
    unread = (Role.UNLISTED, Role.WITHHELD)
    names = {column.name for column in plan.read.columns if column.role not in unread}
    return names | columns_of_respondent(plan.read.respondent)


def folded(texts: pa.Array) -> pa.Array:
    r"""Texts without what a reader may not see: blanks, case, and the Unicode form (NFKC).

    >>> folded(pa.array(["Ann Lee", "ann  lee ", "ANN\u00a0LEE"])).unique().to_pylist()
    ['annlee']
    """
    bare = pc.replace_substring_regex(pc.utf8_normalize(texts, form="NFKC"), _UNSEEN, "")
    return pc.utf8_normalize(pc.utf8_lower(pc.utf8_upper(bare)), form="NFKC")


def _columns(plan: Plan) -> list[tuple[str, str]]:
    respondent = plan.read.respondent
    people = [(respondent.column, "people")] if isinstance(respondent, RespondentColumn) else []
    return people + [(name, "values") for name in plan.apply.transform.sensitive]


def _texts(table: StagedTable, name: str) -> pa.Array:
    """The different texts of a column; none where they could be too many for this process."""
    x, present = table.present(name)
    counted = table.relations.take(f"SELECT count(DISTINCT {x}) AS x FROM {STAGED} WHERE {present}")  # noqa: S608
    if counted.column("x")[0].as_py() > _MOST_TEXTS:
        return pa.array([], pa.string())
    return table.texts(name)


def _is_undeclared(name: str, source: Source, table: StagedTable) -> bool:
    stated = table.contents.datatypes[table.contents.header.index(name)]
    return source.description.column(name).datatype is None and stated is None
