"""How it looks that each row is about another person: rows and identifiers that repeat."""

from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.plan import OneRowEach, Plan, Role

_ALIKE: Final = (
    "each row is declared to be about another person, and rows repeat in all columns but the sensitive"
    " ones: if they are about one person, k counts that person more than once"
)


def rows_alike(plan: Plan, table: StagedTable) -> int:
    """Where each row is declared to be another person: how many rows equal another one.

    In all columns but the sensitive ones, as texts. A figure for owners.
    """
    if plan.read.respondent != OneRowEach(is_declared=True):
        return 0
    if any(not table.repeats(name) and not table.misses(name) for name in _identifiers(plan)):
        return 0
    columns = [one.name for one in plan.read.columns if one.role is not Role.SENSITIVE]
    return table.rows_alike(columns) if columns else 0


def warnings_of_rows(plan: Plan, table: StagedTable, alike: int) -> tuple[str, ...]:
    """What speaks against one row for each person; names no figure.

    Args:
        plan: on the table.
        table: of original data, not of an output, in which rows of a class are alike.
        alike: see `rows_alike`.
    """
    if plan.read.respondent != OneRowEach(is_declared=True):
        return ()
    repeated = [name for name in _identifiers(plan) if table.repeats(name)]
    found = [_ALIKE] if alike else []
    if repeated:
        found.append(
            f"each row is declared to be about another person, and values repeat in {', '.join(repeated)},"
            " which the policy lists among its identifiers"
        )
    return tuple(found)


def _identifiers(plan: Plan) -> list[str]:
    return [one.name for one in plan.read.columns if one.role is Role.IDENTIFIER]
