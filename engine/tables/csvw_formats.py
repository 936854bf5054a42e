"""The `format` of a datatype in a description: what it says for which datatype."""

from typing import Final

from smalti.engine.tables.formats import (
    Format,
    NumberFormat,
    UnknownFormatError,
    date_format,
    date_time_format,
    number_format,
)
from smalti.errors import DataError
from smalti.transforms.base import Datatype

_WHOLE: Final = frozenset({Datatype.INTEGER})
_NUMBERS: Final = _WHOLE | {Datatype.DECIMAL, Datatype.DOUBLE}


def stated_format(
    where: str, base: str, datatype: Datatype, stated: str | NumberFormat | None
) -> Format | None:
    """How the values of a column are written; None where nothing is stated.

    Args:
        where: the column, for messages.
        base: the datatype's name in the description.
        datatype: what it means.
        stated: a pattern, or what is stated of numbers.

    Raises:
        DataError: it is not understood, or does not fit the datatype.
    """
    if stated is None:
        return None
    try:
        return _format(base, datatype, stated)
    except UnknownFormatError as unknown:
        raise DataError(where, "its `format` is not understood", str(unknown), "correct it") from None


def _format(base: str, datatype: Datatype, stated: str | NumberFormat) -> Format:
    if datatype in _NUMBERS:
        numbers = NumberFormat(pattern=stated) if isinstance(stated, str) else stated
        return number_format(
            numbers, whole=datatype in _WHOLE, exponent=datatype is Datatype.DOUBLE and not numbers.pattern
        )
    if isinstance(stated, NumberFormat):
        raise UnknownFormatError(
            f"a text for the datatype `{base}`: marks and patterns are those of numbers"
        )
    if datatype is Datatype.DATE:
        return date_format(stated)
    if datatype is Datatype.DATETIME:
        return date_time_format(stated)
    raise UnknownFormatError(
        f"no `format` for the datatype `{base}`: a regular expression is not supported"
    )
