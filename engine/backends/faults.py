"""The place of a fault in a table, for messages: the file, the column and the record."""

from bisect import bisect_left

from smalti.engine.backends.staged import StagedTable
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import Contents
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import ValueFormError, check_values


def cell(source: Source, contents: Contents, column: str, row: int) -> str:
    """The place of a row's value for messages: records are counted in its file, from 1.

    Args:
        source: of the table.
        contents: of the source.
        column: by name.
        row: its number in the table, from 0.
    """
    file, record = contents.record(row)
    return f"{source.paths[file].name}, column `{column}`, record {record}"


def first_fault(table: StagedTable, column: str, datatype: Datatype, time_zone: str | None) -> int:
    """The first row at which a column's texts are no longer all values of a datatype.

    It is the first row with a text that is none. Where only some date-times state their zone, and
    nothing tells that of the others, it is the first one that differs from those before it.

    Args:
        table: where.
        column: by name; `check_values` refuses its texts.
        datatype: as it is declared.
        time_zone: of date-times that state none.
    """
    texts, rows = table.first_rows(column)

    def shows_in(count: int) -> bool:
        try:
            check_values(texts.slice(0, count), datatype, time_zone)
        except ValueFormError:
            return True
        return False

    # No text mends what is before it, so the place can be found by halves.
    count = bisect_left(range(len(texts)), True, lo=1, key=shows_in)
    return int(rows[count - 1])
