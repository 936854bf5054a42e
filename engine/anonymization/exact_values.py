"""Texts that are published exactly: a generalised text column lists all of its values, alone or in sets.

A value is published exactly where it stands in the output, alone or in a set. Each text of a row that is
published does: so these are all distinct texts of the rows that take part, whatever the loss figure says.
One that few rows hold singles out whom it belongs to; how many are so rare is counted for the owner.
"""

from fractions import Fraction
from typing import Final

from smalti.engine.anonymization.label_forms import text_columns
from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.files import ExactColumn
from smalti.engine.plan.plan import Plan

LARGE_PART: Final = Fraction(1, 10)
"""Of a column's distinct values: from here on it is told that so many are rare and published exactly."""


def is_large_part(found: ExactColumn) -> bool:
    """Whether a large part of a column's values single out fewer rows than k."""
    return found.rare > 0 and Fraction(found.rare, found.values) >= LARGE_PART


def exact_values(plan: Plan, table: StagedTable) -> tuple[ExactColumn, ...]:
    """What a plan publishes exactly of each text column, counted on the rows that take part."""
    least = plan.apply.transform.guarantee.k
    return tuple(ExactColumn(name, *table.values_in(name, least)) for name in text_columns(plan))


def warnings_of(found: tuple[ExactColumn, ...]) -> tuple[str, ...]:
    """What an owner should be told; names no figure."""
    names = [one.column for one in found if is_large_part(one)]
    if not names:
        return ()
    return (
        f"values of {', '.join(names)} are published exactly, and a large part of them are of fewer rows"
        " than k: a small loss is no protection; declare datatypes of numbers and dates, or cut texts",
    )
