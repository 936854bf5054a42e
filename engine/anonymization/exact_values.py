"""Texts that are published exactly: a generalised text column lists all of its values, alone or in sets.

A value is published exactly where it stands in the output, alone or in a set. Each text of a row that is
published does: so these are all distinct texts of the rows that take part, whatever the loss figure says.
One that few rows hold singles out whom it belongs to; how many are so rare is counted for the owner.
"""

from fractions import Fraction
from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.files import ExactColumn
from smalti.engine.plan.plan import Plan, Role
from smalti.engine.registry.certificate import ColumnForm

LARGE_PART: Final = Fraction(1, 10)
"""Of a column's distinct values: from here on it is told that so many are rare and published exactly."""


def is_large_part(found: ExactColumn) -> bool:
    """Whether a large part of a column's values single out fewer rows than k."""
    return found.rare > 0 and Fraction(found.rare, found.values) >= LARGE_PART


def text_columns(plan: Plan) -> tuple[str, ...]:
    """The generalised columns whose labels are sets of exact values."""
    return tuple(
        column.name
        for column in plan.read.columns
        if column.role is Role.QUASI_IDENTIFIER and not column.datatype.is_ordered
    )


def forms(plan: Plan) -> tuple[ColumnForm, ...]:
    """How each generalised column is published; nothing but what its labels show."""
    texts = text_columns(plan)
    return tuple(
        ColumnForm(name, "sets of exact values" if name in texts else "ranges")
        for name in plan.apply.transform.quasi_identifiers
    )


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
