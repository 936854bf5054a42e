"""What the texts of a column mean to a release: keys, bins, whole units, and who is the same.

Whatever is said of a text depends on this text and on the plan alone, never on the other texts: so one
respondent's values change nothing about those of others. No text raises an error, and none goes through
floating point.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.plan.reads import Key, Measure, ReadColumn
from smalti.errors import InternalError
from smalti.transforms.base import Datatype
from smalti.transforms.problem import Flags, Integers
from smalti.transforms.values.texts import LEXICAL_FORMS, ValueFormError, are_finite, keys, make_codebook

OUTSIDE: Final = -1
"""The bin of what is in none."""
_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
_STATES_ZONE: Final = r"[T ].*(Z|[+-][0-9]{2}:[0-9]{2})$"
_SECOND_PLACES: Final = 9
_CHUNK: Final = 1 << 16
# The longest differences of numbers in the dialect's forms, whose last places are 10^-1099, are exact.
_EXACT: Final = Context(prec=4000, Emin=MIN_EMIN, Emax=MAX_EMAX, rounding=ROUND_HALF_EVEN)

Value = Decimal | int | str


def key_labels(key: Key) -> tuple[str, ...]:
    """How the public groups of a key are written, in their order."""
    if not key.edges:
        return key.values
    ends = [f"[{low}..{high})" for low, high in pairwise(key.edges)]
    return (*ends[:-1], f"{ends[-1][:-1]}]")


# --- Bins


def bins(texts: pa.Array, edges: Sequence[str], column: ReadColumn) -> Integers:
    """By text the number of its bin, from 0; `OUTSIDE` where it is in none.

    Numbers are compared exactly, dates as days, date-times as instants; texts by their bytes. Texts of a
    column without a datatype are compared as numbers where all edges are numbers. What is no value of the
    datatype is in no bin, and so is a date-time that cannot be compared with the edges, for only one of
    them states a zone and the column has none.

    Args:
        texts: present ones.
        edges: public, ascending as just said.
        column: where they are.
    """
    datatype = _compared_as(edges, column.datatype)
    states_zone = column.time_zone is None and _states_zone(pa.array(edges))[0]
    # An integer's bins may end between two integers.
    form = Datatype.DOUBLE if datatype in _NUMBERS else datatype
    ends = _values(pa.array(edges), form, column.time_zone, states_zone=states_zone)
    if None in ends or any(low >= high for low, high in pairwise(ends)):  # type: ignore[operator]
        raise InternalError("edges of bins that are no ascending values of their column")
    last = len(ends) - 2

    def place(value: Value | None) -> int:
        if value is None:
            return OUTSIDE
        number = bisect_right(ends, value) - 1  # type: ignore[type-var]
        if number <= last:
            return number  # -1 below all of them
        return last if value == ends[-1] else OUTSIDE

    numbers = np.empty(len(texts), np.int64)
    for start, some in _chunks(texts):
        values = _values(some, datatype, column.time_zone, states_zone=states_zone)
        numbers[start : start + len(some)] = [place(value) for value in values]
    return numbers


def _compared_as(edges: Sequence[str], declared: Datatype) -> Datatype:
    if declared is Datatype.STRING and _have_form(pa.array(edges), Datatype.DOUBLE).all():
        return Datatype.DOUBLE
    return declared


def _values(
    texts: pa.Array, datatype: Datatype, time_zone: str | None, *, states_zone: bool
) -> list[Value | None]:
    """What each text says; None where it is no value, or cannot be compared with those that state zones."""
    if datatype is Datatype.STRING:
        return list(texts.to_pylist())
    fits = _have_form(texts, datatype)
    if datatype is Datatype.DATETIME and time_zone is None:
        fits &= _states_zone(texts) == states_zone
    values: list[Value | None] = [None] * len(texts)
    chosen = np.flatnonzero(fits)
    some = texts.take(pa.array(chosen))
    read = map(Decimal, some.to_pylist()) if datatype in _NUMBERS else _times(some, datatype, time_zone)
    for place, value in zip(chosen.tolist(), read, strict=True):
        values[place] = value
    return values


def _times(texts: pa.Array, datatype: Datatype, time_zone: str | None) -> list[int | None]:
    """Days or instants; None where there is no such day or time."""
    try:
        return list(keys(texts, datatype, time_zone, _SECOND_PLACES).tolist())
    except ValueFormError:
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        parts = texts.slice(0, half), texts.slice(half)
        return [value for part in parts for value in _times(part, datatype, time_zone)]


def _have_form(texts: pa.Array, datatype: Datatype) -> Flags:
    # `$` of RE2 matches at the very end only.
    return _flags(pc.match_substring_regex(texts, rf"^(?:{LEXICAL_FORMS[datatype]})$"))


def _states_zone(texts: pa.Array) -> Flags:
    return _flags(pc.match_substring_regex(texts, _STATES_ZONE))


def _flags(matches: pa.Array) -> Flags:
    flags: Flags = matches.to_numpy(zero_copy_only=False).astype(np.bool_)
    return flags


def _chunks(texts: pa.Array) -> Iterator[tuple[int, pa.Array]]:
    for start in range(0, len(texts), _CHUNK):
        yield start, texts.slice(start, _CHUNK)


# --- Who and what is the same


def identities(texts: pa.Array, column: ReadColumn) -> Integers | None:
    """A number for each text, the same for spellings of one value; None where all differ.

    `1` and `1.0` are one value where the column is declared a number, `0.1` and `0.10000000000000001` where
    it is declared a double, one instant in two time zones is one where it is declared a date-time. A text
    that is no such value is one of its own. Of date-times whose column has no zone, those that state theirs
    are never the same as those that do not.

    Args:
        texts: present ones, each once.
        column: where they are.
    """
    if not column.datatype.is_ordered:
        return None
    numbers = np.arange(len(texts))
    for chosen in _comparable(texts, column):
        codes = _codes(texts.take(pa.array(chosen)), column)
        # Each value is known by the first of its texts.
        first = np.full(int(codes.max(initial=-1)) + 1, len(texts))
        np.minimum.at(first, codes, chosen)
        numbers[chosen] = first[codes]
    return None if np.array_equal(numbers, np.arange(len(texts))) else numbers


def _comparable(texts: pa.Array, column: ReadColumn) -> list[Integers]:
    """The places of texts of the datatype's form, those apart that cannot be compared."""
    fits = _have_form(texts, column.datatype)
    if column.datatype is Datatype.DOUBLE:
        fits[fits] = are_finite(texts.filter(pa.array(fits)))
    if column.datatype is not Datatype.DATETIME or column.time_zone is not None:
        return [np.flatnonzero(fits)]
    stated = _states_zone(texts)
    return [np.flatnonzero(fits & stated), np.flatnonzero(fits & ~stated)]


def _codes(texts: pa.Array, column: ReadColumn) -> Integers:
    """The same number for texts of the same value."""
    if column.datatype in _NUMBERS:
        return make_codebook(texts, column.datatype, None, has_missing=False).codes
    places: dict[int, int] = {}
    values = _times(texts, column.datatype, column.time_zone) if len(texts) else []
    codes = [
        len(texts) + place if value is None else places.setdefault(value, place)
        for place, value in enumerate(values)
    ]
    return np.array(codes, np.int64)


# --- Units


def whole_units(number: str | Decimal, measure: Measure) -> int:
    """A public number that is a whole number of units from the origin of a measure."""
    units = (Fraction(number) - Fraction(measure.origin)) / Fraction(measure.unit)
    if units.denominator != 1:
        raise InternalError("a candidate that is no whole number of units")
    return int(units)


def in_units(texts: pa.Array, measure: Measure, datatype: Datatype) -> Iterator[list[int]]:
    """By text its number in units from the origin, in chunks: clamped, then rounded, ties to even.

    What has not the lexical form of the datatype is the middle of the bounds, rounded down: NaN and INF
    too, and `1e9999`, for exponents have up to three digits. Undeclared texts may have any form of number.

    Args:
        texts: present ones.
        measure: says bounds and unit.
        datatype: of the column.
    """
    form = datatype if datatype in _NUMBERS else Datatype.DOUBLE
    least, most = measure.least, measure.most
    middle = least + (most - least) // 2
    rounded = _rounding(measure)
    for _, some in _chunks(texts):
        fits = _have_form(some, form).tolist()
        yield [
            min(max(rounded(Decimal(text)), least), most) if is_number else middle
            for text, is_number in zip(some.to_pylist(), fits, strict=True)
        ]


def _rounding(measure: Measure) -> Callable[[Decimal], int]:
    """The nearest whole number of units from the origin, for numbers within the bounds; else an end."""
    lower, upper, origin, unit = measure.lower, measure.upper, measure.origin, measure.unit
    least, most = measure.least, measure.most
    subtract, remainder, divide = _EXACT.subtract, _EXACT.remainder_near, _EXACT.divide

    def rounded(number: Decimal) -> int:
        # First of all: what is far outside would have more digits than the context.
        if number <= lower:
            return least
        if number >= upper:
            return most
        distance = subtract(number, origin)
        return int(divide(subtract(distance, remainder(distance, unit)), unit))

    return rounded


def positions(units: Sequence[int], candidates: Sequence[int]) -> list[int]:
    """Where numbers stand among ascending candidates: 2 i + 1 at candidate i, 2 i below it."""
    places = [bisect_left(candidates, number) for number in units]
    return [
        2 * place + (place < len(candidates) and candidates[place] == number)
        for place, number in zip(places, units, strict=True)
    ]
