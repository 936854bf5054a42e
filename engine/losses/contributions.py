"""What of each respondent counts, as a query in the SQL that the engines share."""

# ruff: noqa: S608 (queries are put together from names and whole numbers of ours)

from collections.abc import Sequence

from smalti.engine.plan.reads import BoundContributions


def bounded(rows: str, columns: Sequence[str], groups: Sequence[str], bound: BoundContributions) -> str:
    """A query for the rows that count: of each respondent the first rows in its first groups.

    Proof that which rows of a respondent count depends on its own rows alone: each window is over the
    rows of one respondent, and looks at nothing but the order of these; so does whatever is kept.

    Args:
        rows: a query with `row`, which orders the rows of the file, `u` for the respondent, and `columns`.
        columns: that are wanted.
        groups: those of the columns that tell groups apart; none if there is one group.
        bound: how much counts.
    """
    wanted = ", ".join(columns)
    # The first r rows are in at most r groups, and these are the first ones.
    if groups and bound.groups < bound.rows:
        rows = _in_first_groups(rows, wanted, ", ".join(groups), bound.groups)
    ranked = (
        f"SELECT {wanted}, u, row_number() OVER (PARTITION BY u ORDER BY row) AS place FROM ({rows}) AS d"
    )
    return f"SELECT {wanted}, u FROM ({ranked}) AS d WHERE place <= {bound.rows}"


def _in_first_groups(rows: str, wanted: str, groups: str, number: int) -> str:
    """The rows in the groups that each respondent is in first."""
    begun = (
        f"SELECT row, u, {wanted}, min(row) OVER (PARTITION BY u, {groups}) AS begins FROM ({rows}) AS d"
    )
    turns = (
        f"SELECT row, u, {wanted}, dense_rank() OVER (PARTITION BY u ORDER BY begins) AS turn "
        f"FROM ({begun}) AS d"
    )
    return f"SELECT row, u, {wanted} FROM ({turns}) AS d WHERE turn <= {number}"
