"""Values of several formats in one column: which, and how many of each; never a value."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NoReturn

from smalti.engine.tables.description import ColumnDescription
from smalti.engine.tables.foreign import Plain, Reader, misfit
from smalti.engine.tables.formats import (
    DATES,
    TIMES,
    Format,
    NumberFormat,
    date_format,
    date_time_format,
    number_format,
)
from smalti.errors import DataError
from smalti.transforms.base import Datatype

_OTHER: Final = "another form"
_MARKS: Final = ((".", None), (",", None), (",", "."), (".", ","), (",", " "), (",", "\u00a0"), (".", "'"))
_SHOWN: Final = 5


def known_formats(datatype: Datatype | None) -> Iterator[Format]:
    """The formats that people are likely to have used for a datatype, the usual ones first."""
    if datatype is Datatype.DATE:
        yield from map(date_format, DATES)
    elif datatype is Datatype.DATETIME:
        for day in DATES:
            for mark in "T ":
                for time in TIMES:
                    yield date_time_format(f"{day}{mark}{time}")
    elif datatype in (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE):
        whole, exponent = datatype is Datatype.INTEGER, datatype is Datatype.DOUBLE
        for decimal_char, group_char in _MARKS:
            yield number_format(NumberFormat(decimal_char, group_char), whole=whole, exponent=exponent)


def refuse_misfit(reader: Reader, record: int, place: int, column: ColumnDescription) -> NoReturn:
    """Refuse a record with a value that is not of its column's declared format.

    Args:
        reader: of the table, which is read again.
        record: the number of the first such record.
        place: of the column.
        column: its description, with a format.

    Raises:
        DataError: always; it counts the formats of the column.
    """
    declared = column.format
    expected = "the declared format" if declared is None else f"`{declared.text}`, as declared"
    error = misfit(
        reader.name,
        record,
        f"the value of column `{column.name}` is of another format{_counted(reader, place, column)}",
        expected,
        "correct the file, or the `format` in the description; `null` declares texts for missing values",
    )
    raise error


def _counted(reader: Reader, place: int, column: ColumnDescription) -> str:
    """How many values of the column are of which format, as far as the file can be read."""
    declared = [] if column.format is None else [column.format]
    formats = [*declared, *(form for form in known_formats(column.datatype) if form not in declared)]
    counts: Counter[str] = Counter()
    with suppress(DataError):  # a later record is broken, too: so far it is counted
        for records in reader.records():
            for cell in records.columns[place]:
                if cell and not isinstance(cell, Plain) and cell not in column.nulls:
                    counts[_format_of(cell, formats)] += 1
    listed = [f"{count:,} of {name}" for name, count in counts.most_common(_SHOWN)]
    more = len(counts) - _SHOWN
    return f" (in the column: {', '.join(listed)}{f' and of {more} more' if more > 0 else ''})"


def _format_of(cell: str, formats: list[Format]) -> str:
    for candidate in formats:
        if candidate.canonical(cell) is not None:
            return f"`{candidate.text}`"
    return _OTHER
