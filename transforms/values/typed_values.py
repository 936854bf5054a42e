"""Texts as values of Arrow's types: numbers, days and instants, for whoever computes with a table.

Ends of ranges keep what they promise: a conversion that has to round never puts a value outside.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.transforms.base import Datatype
from smalti.transforms.problem import Integers
from smalti.transforms.values.numbers import nearest_doubles
from smalti.transforms.values.texts import ValueFormError
from smalti.transforms.values.times import MOST_PLACES, NoSuchTimeError, days, instants

_ENOUGH_DIGITS: Final = 400
"""For the sum of two numbers of the lexical forms, and half of it."""
_NARROW_DIGITS: Final = 38
_MOST_DIGITS: Final = 76
"""Of Arrow's decimals of 128 and 256 bits."""
_MICROSECONDS, _NANOSECONDS = 6, MOST_PLACES


class TooManyDigitsError(ValueError):
    """No decimal type of Arrow has so many digits; the error does not say of which value."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The typed ends of ranges, and what lies half way between them."""

    low: pa.Array
    high: pa.Array
    mid: pa.Array
    """Doubles for whole numbers; of exact decimals, dates and times of the same type as the ends, rounded
    down to a whole day or unit of time."""


def typed_values(texts: pa.Array, datatype: Datatype, time_zone: str | None, *, is_exact: bool) -> pa.Array:
    """Single values.

    Args:
        texts: large strings that are values of the datatype.
        datatype: what they are.
        time_zone: of date-times that state none.
        is_exact: whether decimals become Arrow's decimals, and not the doubles nearest to them.

    Raises:
        TooManyDigitsError: exact numbers with more than 76 digits.
        ValueFormError: some text is no value.
    """
    if datatype is Datatype.STRING:
        return texts
    if datatype is Datatype.DATE:
        return _dates(_days(texts))
    if datatype is Datatype.DATETIME:
        return _times(texts, texts, time_zone).low
    integers = _whole_numbers(texts) if datatype is Datatype.INTEGER else None
    if integers is not None:
        return integers
    if is_exact and datatype is not Datatype.DOUBLE:
        return _decimals(_exact(texts))
    return pa.array(nearest_doubles(texts))


def typed_bounds(
    low: pa.Array, high: pa.Array, datatype: Datatype, time_zone: str | None, *, is_exact: bool
) -> Bounds:
    """The ends of ranges.

    Whole numbers are of 64 bits where all fit, and else what decimals are. A double is the nearest one to
    what is written: as rounding keeps the order, it bounds the original, read as a double, too. Times are
    in microseconds, or in nanoseconds where some are written so and all fit; of others the lower end is
    rounded down and the upper one up.

    Args:
        low: large strings that are values of the datatype, each at most the one in `high`.
        high: likewise.
        datatype: an ordered one.
        time_zone: of date-times that state none; None: there are no others, or all state one.
        is_exact: as in `typed_values`.

    Raises:
        TooManyDigitsError: exact numbers with more than 76 digits.
        ValueFormError: some text is no value.
    """
    count = len(low)
    if datatype is Datatype.DATE:
        first, last = _days(low), _days(high)
        return Bounds(_dates(first), _dates(last), _dates(_half_way(first, last)))
    if datatype is Datatype.DATETIME:
        return _times(low, high, time_zone)
    ends = pa.concat_arrays([low, high])
    integers = _whole_numbers(ends) if datatype is Datatype.INTEGER else None
    doubles = _double_bounds(low, high)
    if integers is not None:
        return Bounds(integers[:count], integers[count:], doubles.mid)
    if is_exact and datatype is not Datatype.DOUBLE:
        return _decimal_bounds(_exact(low), _exact(high))
    return doubles


def _whole_numbers(texts: pa.Array) -> pa.Array | None:
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:  # some number needs more bits; it quotes the text
        return None


def _double_bounds(low: pa.Array, high: pa.Array) -> Bounds:
    first, last = nearest_doubles(low), nearest_doubles(high)
    # Rounding keeps both between the two ends, but for halves of the smallest doubles, and sums of the
    # largest ones overflow.
    with np.errstate(over="ignore"):
        together = first + last
    mid = np.where(np.isfinite(together), together * 0.5, first * 0.5 + last * 0.5)
    return Bounds(pa.array(first), pa.array(last), pa.array(mid))


def _exact(texts: pa.Array) -> list[Decimal]:
    return [Decimal(text) for text in texts.to_pylist()]


def _decimal_bounds(low: list[Decimal], high: list[Decimal]) -> Bounds:
    with localcontext(prec=_ENOUGH_DIGITS):
        mid = [(first + last) / 2 for first, last in zip(low, high, strict=True)]
    ends = _decimals([*low, *high])
    return Bounds(ends[: len(low)], ends[len(low) :], _decimals(mid))


def _decimals(numbers: list[Decimal]) -> pa.Array:
    """Exact, with as many places as the longest needs."""
    places = max((-int(number.as_tuple().exponent) for number in numbers), default=0)
    wholes = max((number.adjusted() + 1 for number in numbers if number), default=1)
    digits = max(1, wholes) + places
    if digits > _MOST_DIGITS:
        raise TooManyDigitsError
    # The fewest digits that a type has, so that a table's types depend on its values as little as can be.
    if digits <= _NARROW_DIGITS:
        return pa.array(numbers, pa.decimal128(_NARROW_DIGITS, places))
    return pa.array(numbers, pa.decimal256(_MOST_DIGITS, places))


def _days(texts: pa.Array) -> Integers:
    try:
        return days(texts)
    except NoSuchTimeError:
        raise ValueFormError from None


def _dates(numbers: Integers) -> pa.Array:
    return pa.array(numbers.astype(np.int32)).cast(pa.date32())


def _half_way(first: Integers, last: Integers) -> Integers:
    middle: Integers = first + (last - first) // 2
    return middle


def _times(low: pa.Array, high: pa.Array, time_zone: str | None) -> Bounds:
    texts = pa.concat_arrays([low, high])
    count = len(low)
    if not len(texts):
        empty = pa.array([], pa.timestamp("us", time_zone))
        return Bounds(empty, empty, empty)
    try:
        moments = instants(texts, ZoneInfo(time_zone) if time_zone else None)
    except NoSuchTimeError:
        raise ValueFormError from None
    zone = time_zone or ("UTC" if _state_zones(texts) else None)
    exact = moments.narrow(_NANOSECONDS) if moments.places > _MICROSECONDS else None
    if exact is not None:
        return _timestamps(exact[:count], exact[count:], pa.timestamp("ns", zone))
    unit = 10 ** (_NANOSECONDS - _MICROSECONDS)
    numbers = moments.seconds * 10**_MICROSECONDS + moments.nanoseconds // unit
    is_between = (moments.nanoseconds % unit > 0)[count:]
    return _timestamps(numbers[:count], numbers[count:] + is_between, pa.timestamp("us", zone))


def _timestamps(first: Integers, last: Integers, kind: pa.DataType) -> Bounds:
    low, high, mid = (
        pa.array(numbers.astype(np.int64)).cast(kind) for numbers in (first, last, _half_way(first, last))
    )
    return Bounds(low, high, mid)


def _state_zones(texts: pa.Array) -> bool:
    """Whether date-times state their zone; all of them do, or none."""
    return bool(pc.match_substring_regex(texts[:1], r"(Z|[+-][0-9]{2}:[0-9]{2})$")[0].as_py())
