"""Columns whose cells are of several types, as in a workbook: a value may stand there in two spellings."""

from collections.abc import Collection

from smalti.engine.plan.notices import Notice
from smalti.engine.tables.description import Source


def notices_of_mixed_cells(
    source: Source, names: Collection[str], *, with_counts: bool
) -> tuple[Notice, ...]:
    """Warn of columns that a plan needs and whose cells are of several types.

    Args:
        source: counts the cells of all records by their types.
        names: the columns that the plan needs.
        with_counts: whether the warnings are for an owner, who may know how many cells there are.
    """
    return tuple(
        Notice(
            f"`{column.name}` has cells of several types{f' ({column.counted})' if with_counts else ''}:"
            " one value may stand there in two spellings, as 7 and as the text 007, and one person count"
            " twice; write all cells as texts, or declare the column's datatype",
            is_of_data=True,
        )
        for column in source.mixed
        if column.name in names
    )
