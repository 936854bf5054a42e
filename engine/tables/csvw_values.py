"""The public facts about a column's values in a description: texts, bounds and a unit, read exactly."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, TypeAlias

from smalti.errors import DataError

_MOST_DIGITS: Final = 100
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", re.ASCII)

Stated: TypeAlias = int | Decimal
"""A number of JSON, exact."""


def public_values(
    where: str, keys: Sequence[str | int] | None, partitions: Sequence[str | int] | None
) -> tuple[str, ...]:
    """The public texts of a column; none where nothing is said.

    Args:
        where: the column, for messages.
        keys: of `csvw-eo:keyValues`; None: not said.
        partitions: the values of `csvw-eo:public.partitions`; None: not said.

    Raises:
        DataError: they contradict each other, or are no list of different texts.
    """
    lists = [tuple(map(str, values)) for values in (keys, partitions) if values is not None]
    if len(lists) > 1 and set(lists[0]) != set(lists[1]):
        problem = "`csvw-eo:keyValues` and `csvw-eo:public.partitions` differ"
        raise DataError(where, problem, "the same values in both", "keep one of them")
    texts = lists[0] if lists else ()
    if lists and (not texts or not all(texts) or len(set(texts)) < len(texts)):
        raise DataError(
            where,
            "its list of public values is empty, or contains an empty or repeated value",
            "distinct texts that are not empty",
            "correct the list",
        )
    return texts


def bounds(
    where: str, lower: tuple[Stated | str | None, ...], upper: tuple[Stated | str | None, ...]
) -> tuple[Decimal | None, Decimal | None]:
    """The public bounds of a column's numbers; None where one is not said.

    Args:
        where: the column, for messages.
        lower: what the words for it say; None: nothing.
        upper: likewise.

    Raises:
        DataError: they are no numbers, contradict each other, or are not in order.
    """
    least, most = _bound(where, "lower", lower), _bound(where, "upper", upper)
    if least is not None and most is not None and least >= most:
        problem = "its lower bound is not below its upper bound"
        raise DataError(where, problem, "two numbers in order", "correct them")
    return least, most


def _bound(where: str, which: str, statements: tuple[Stated | str | None, ...]) -> Decimal | None:
    bounds_stated = {
        _exact(where, f"its {which} bound", bound) for bound in statements if bound is not None
    }
    if len(bounds_stated) > 1:
        raise DataError(where, f"it has two {which} bounds", "one", "keep one of the two")
    return next(iter(bounds_stated), None)


def unit(where: str, stated: Stated | None) -> Decimal | None:
    """What a column's numbers are counted in.

    Raises:
        DataError: it is not above 0, or too long.
    """
    exact = None if stated is None else _exact(where, "`smalti:unit`", stated)
    if exact is not None and exact <= 0:
        raise DataError(where, "`smalti:unit` is not above 0", "a number such as 1 or 0.01", "correct it")
    return exact


def _exact(where: str, what: str, stated: Stated | str) -> Decimal:
    if isinstance(stated, str) and not _NUMBER.fullmatch(stated):
        raise DataError(
            where, f"{what} is not a number", "a number; bounds of dates are not supported", "correct it"
        )
    number = Decimal(stated)
    exponent = number.as_tuple().exponent
    if number.adjusted() >= _MOST_DIGITS or not isinstance(exponent, int) or exponent < -_MOST_DIGITS:
        expected = f"at most {_MOST_DIGITS} digits on each side of the point"
        raise DataError(where, f"{what} has too many digits", expected, "shorten it")
    return number
