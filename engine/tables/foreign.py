"""What a reader of foreign data yields: records of text, in their order, a bounded number at a time."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from smalti.errors import DataError
from smalti.transforms.base import Datatype

WAY_OUT = "correct the description, or the file"
"""Of errors about the way in which a table is written."""
RECORDS_AT_ONCE = 4096
BYTES_AT_ONCE = 1 << 24
"""Characters, roughly; a batch ends with the record that reaches them."""


_LONGEST_PLAIN: Final = 100


class Plain(str):
    """A text that is canonical by its cell's type: no formats and texts for missing values apply."""

    __slots__ = ()


class Number(Plain):
    """Of a cell that holds a number, whatever its column says."""

    __slots__ = ()


class Moment(Plain):
    """Of a cell that holds a date or a date-time, likewise."""

    __slots__ = ()


CELL_KINDS: Final[dict[type, str]] = {str: "text", Number: "number", Moment: "date", Plain: "other value"}
"""What a cell of its own type holds, for messages."""


def plain_number(value: float) -> str:
    """A number without an exponent, where it is not a very long one: equal numbers have one text."""
    text = str(value or 0)  # minus zero is zero
    if "e" in text:
        plain = format(Decimal(text), "f")
        return plain if len(plain) <= _LONGEST_PLAIN else text
    return text.removesuffix(".0")


@dataclass(frozen=True, slots=True)
class Records:
    """Consecutive records, by column."""

    first: int
    """The number of the first one, from 1 after the header."""
    columns: tuple[Sequence[str], ...]
    """As they are written; an empty text is missing."""


class Reader(ABC):
    """Reads one foreign table; may be read again from its beginning."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the table, for messages."""

    @property
    @abstractmethod
    def header(self) -> tuple[str, ...]:
        """The names of the columns, not yet checked."""

    @property
    def has_typed_cells(self) -> bool:
        """Whether each cell has a type of its own, so that a column may hold several."""
        return False

    @property
    def datatypes(self) -> tuple[Datatype | None, ...]:
        """By column, what the table states of it; such a column's texts are canonical. None: nothing."""
        return (None,) * len(self.header)

    @abstractmethod
    def records(self) -> Iterator[Records]:
        """The records.

        Raises:
            DataError: one is not as the table's kind and its description say; it names the first, and no
                value.
        """

    def digest(self) -> str:
        """`sha256:` and hexadecimal digits of the bytes that were read; empty where there are none to name.

        Only after all records were read.
        """
        return ""


class TypedReader(Reader):
    """A table whose columns have types of their own, which are looked at once."""

    def __init__(self, name: str, header: tuple[str, ...], datatypes: tuple[Datatype | None, ...]) -> None:
        self._name, self._header, self._datatypes = name, header, datatypes

    @property
    def name(self) -> str:
        return self._name

    @property
    def header(self) -> tuple[str, ...]:
        return self._header

    @property
    def datatypes(self) -> tuple[Datatype | None, ...]:
        return self._datatypes


def outside(name: str, column: str, count: int, datatype: Datatype | None) -> DataError:
    """The error for values that have no canonical form, though their type has others that do.

    Args:
        name: of the table.
        column: the column's name.
        count: how many of its values these are.
        datatype: what the table states of the column.
    """
    values = "1 of its values is" if count == 1 else f"{count:,} of its values are"
    is_number = datatype in (Datatype.DOUBLE, Datatype.DECIMAL)
    return DataError(
        f"{name}, column `{column}`",
        f"{values} {'not finite' if is_number else 'before the year 1, after 9999, or infinite'}",
        "finite numbers" if is_number else "dates of the years 1 to 9999",
        "make these values missing (NULL), in the table or in a view of it",
    )


def misfit(name: str, record: int, problem: str, expected: str, way_out: str = "") -> DataError:
    """The error for a record that is not as it should be; the header is record 0."""
    place = "the header" if record == 0 else f"record {record}"
    return DataError(f"{name}, {place}", problem, expected, way_out or WAY_OUT)
