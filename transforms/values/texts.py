"""The meaning of a column's texts: lexical forms, order, and codes for the kernel.

Every engine hands over texts and gets codes back, so no engine's own casts decide anything. Each
datatype has one ASCII regular expression (RE2 and Python read it alike); a text that does not match
it is an error, never a guess.
"""

from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.transforms.base import Datatype
from smalti.transforms.problem import (
    SCALE,
    Attribute,
    Integers,
    OrderedAttribute,
    UnorderedAttribute,
)
from smalti.transforms.values.hierarchy import Hierarchy
from smalti.transforms.values.numbers import (
    decimal_places,
    narrow_numbers,
    nearest_doubles,
    shortest_doubles,
    wide_numbers,
)
from smalti.transforms.values.ranking import Numbers, WideNumbers, positions, rank, rises
from smalti.transforms.values.times import MOST_PLACES, NoSuchTimeError, days, instants, second_places

LEXICAL_FORMS: Final = {
    Datatype.INTEGER: r"-?(0|[1-9][0-9]{0,99})",
    Datatype.DECIMAL: r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,100})?",
    Datatype.DOUBLE: r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,3})?",
    Datatype.DATE: r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    Datatype.DATETIME: (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
        r"(Z|[+-][0-9]{2}:[0-5][0-9])?"
    ),
}
"""The texts that a value of each ordered datatype may have; a string may be any text."""

_INFERRED: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DATE, Datatype.DATETIME)
_CHUNK: Final = 1 << 16

Keys = Integers | NDArray[np.object_]


class ValueFormError(ValueError):
    """A text of a column is not a value of its datatype; the error does not say which one."""


@dataclass(frozen=True, slots=True)
class Codebook:
    """The values of one quasi-identifier and their codes, made from all its distinct texts."""

    datatype: Datatype
    codes: Integers
    """By distinct text, in the order given: 1 for the least value, and so on; equal values share one."""
    texts: pa.Array
    """By code, from 1: the value's text; of several spellings the shortest, then the bytewise least.
    Its Arrow type is `large_string`."""
    attribute: Attribute
    """What the kernel needs to know of the column."""
    hierarchy: Hierarchy | None = None
    """The hierarchy whose order the codes have; None: there is none, and they have that of the values."""
    top: str | None = None
    """The text that stands for itself and all greater values; None: each text stands for its value."""
    bottom: str | None = None
    """The same of lesser values."""


def infer_datatype(texts: pa.Array, time_zone: str | None) -> Datatype:
    """The narrowest datatype that every text has; string where none does, or where there is no text.

    Exponents, leading zeros, signs other than minus, and date-times of which only some state their
    zone are never taken for numbers or times. The texts are values of what is found: there is no need
    of `check_values`.
    """
    if len(texts) == 0:
        return Datatype.STRING
    for datatype in _INFERRED:
        if all_match(texts, datatype):
            try:
                _check_existence(texts, datatype, time_zone)
            except ValueFormError:
                return Datatype.STRING
            return datatype
    return Datatype.STRING


def all_match(texts: pa.Array, datatype: Datatype) -> bool:
    """Whether each text, as far as present, has the datatype's lexical form."""
    if datatype is Datatype.STRING:
        return True
    # `$` of RE2 matches at the very end only; a line end inside a text matches no form.
    form = rf"^(?:{LEXICAL_FORMS[datatype]})$"
    # In parts, for a column of another datatype mostly shows it in the first.
    parts = (texts.slice(start, _CHUNK) for start in range(0, len(texts), _CHUNK))
    return all(pc.all(pc.match_substring_regex(part, form), min_count=0).as_py() for part in parts)


def check_values(texts: pa.Array, datatype: Datatype, time_zone: str | None) -> None:
    """Check that present texts are values of a datatype; `make_codebook` does so too, and orders them.

    Raises:
        ValueFormError: some text is none.
    """
    if not all_match(texts, datatype):
        raise ValueFormError
    _check_existence(texts, datatype, time_zone)


def _check_existence(texts: pa.Array, datatype: Datatype, time_zone: str | None) -> None:
    """Each text of a decimal's form is a decimal; not each of a date's or a double's is one."""
    if datatype in (Datatype.DATE, Datatype.DATETIME):
        _numbers(texts, datatype, time_zone, None)
    if datatype is Datatype.DOUBLE:
        _check_finite(texts)


def are_finite(texts: pa.Array) -> NDArray[np.bool_]:
    """For each text of a double's form, whether there is such a double: none is above all of them.

    >>> are_finite(pa.array(["1e308", "1e309", "-1e309", "1e-999"])).tolist()
    [True, False, False, True]
    """
    finite: NDArray[np.bool_] = np.isfinite(nearest_doubles(texts))
    return finite


def _check_finite(texts: pa.Array) -> None:
    if not are_finite(texts).all():
        raise ValueFormError


def make_codebook(
    texts: pa.Array, datatype: Datatype, time_zone: str | None, has_missing: bool
) -> Codebook:
    """Order the distinct, present texts of a column and give them codes.

    Integers and decimals are compared exactly, doubles as those of IEEE 754.

    Raises:
        ValueFormError: some text is no value of the datatype (`2023-02-30` is no date, `1e999` no double).
    """
    if not all_match(texts, datatype):
        raise ValueFormError
    texts = texts.cast(pa.large_string())
    if datatype is Datatype.STRING:
        return _string_codebook(texts, has_missing)
    numbers = _numbers(texts, datatype, time_zone, None)
    ranking = rank(numbers)
    codes, firsts = ranking.codes, ranking.firsts
    places = np.concatenate((np.array([-SCALE], np.int64), positions(numbers, firsts)))
    return Codebook(datatype, codes, _spellings(texts, codes, firsts), OrderedAttribute(places))


def _string_codebook(texts: pa.Array, has_missing: bool) -> Codebook:
    order = pc.array_sort_indices(texts)  # by bytes
    codes = np.empty(len(texts), np.int64)
    codes[order.to_numpy(zero_copy_only=False)] = np.arange(1, len(texts) + 1)
    attribute = UnorderedAttribute(len(texts) + has_missing)
    return Codebook(Datatype.STRING, codes, texts.take(order), attribute)


def _spellings(texts: pa.Array, codes: Integers, firsts: Integers) -> pa.Array:
    """By code: the text of the value, of several the shortest, then the bytewise least.

    Args:
        texts: all of them.
        codes: by text.
        firsts: by code, from 1: the index of one of its texts.
    """
    if len(firsts) == len(texts):
        return texts.take(pa.array(firsts))
    shared = np.flatnonzero(np.bincount(codes)[codes] > 1)
    several = texts.take(pa.array(shared))
    table = pa.table({"code": codes[shared], "length": pc.binary_length(several), "text": several})
    order = pc.sort_indices(table, [(name, "ascending") for name in table.column_names])
    ranked = shared[order.to_numpy(zero_copy_only=False)]
    best = ranked[rises(codes[ranked])]
    chosen = firsts.copy()
    chosen[codes[best] - 1] = best
    return texts.take(pa.array(chosen))


def keys(texts: pa.Array, datatype: Datatype, time_zone: str | None, places: int | None = None) -> Keys:
    """Whole numbers in the order of the values, equal for equal values, and apart as the values are.

    They count units: numbers in 10 ** -places, doubles by the shortest number that is next to each;
    date-times in 10 ** -places seconds since 1970 in UTC; dates in days since 1970-01-01, whatever the
    places. Keys of several calls can be compared if their places are the same and, where no time zone is
    given, all or none of their date-times state one.

    Args:
        texts: the present texts of a column, or some of them; they may repeat.
        datatype: an ordered one.
        time_zone: of date-times that state none.
        places: `unit_places` of these texts, which is taken where it is None, or more; of date-times
            at most 9.

    Returns:
        int64 where each number, written to that many places, has at most 18 digits (a minus counts as
        one), and each time at most 62 bits; else Python's integers, at the cost of time and memory.

    Raises:
        ValueFormError: some text is no value of the datatype.
        ValueError: fewer places than the texts have, or too many.
    """
    if not all_match(texts, datatype):
        raise ValueFormError
    if places is not None and places < unit_places(texts, datatype):
        raise ValueError("some text has more decimal places than the unit")
    if places is not None and places > MOST_PLACES and datatype is Datatype.DATETIME:
        raise ValueError(f"date-times are counted in {MOST_PLACES} decimal places of a second at most")
    numbers = _numbers(texts, datatype, time_zone, places)
    if not isinstance(numbers, WideNumbers):
        return numbers
    wide = np.empty(len(texts), np.object_)
    wide[:] = numbers.exact(np.arange(len(texts)))
    return wide


def unit_places(texts: pa.Array, datatype: Datatype) -> int:
    """The decimal places that `keys` of these texts needs; for parts of a column, take their maximum.

    Args:
        texts: present texts of the datatype's lexical form.
        datatype: an ordered one.

    Raises:
        ValueFormError: some date-time states a zone that is a day or more from UTC.
    """
    if len(texts) == 0 or datatype is Datatype.DATE:
        return 0
    texts = texts.cast(pa.large_string())
    if datatype is not Datatype.DATETIME:
        return decimal_places(shortest_doubles(texts) if datatype is Datatype.DOUBLE else texts)
    try:
        return second_places(texts)
    except NoSuchTimeError:
        raise ValueFormError from None


def _numbers(texts: pa.Array, datatype: Datatype, time_zone: str | None, places: int | None) -> Numbers:
    """The keys of texts that have the lexical form, in 64 bits or with a way to get at each."""
    if len(texts) == 0:
        return np.empty(0, np.int64)
    texts = texts.cast(pa.large_string())
    if datatype is Datatype.DOUBLE:
        _check_finite(texts)
        texts = shortest_doubles(texts)
    if datatype not in (Datatype.DATE, Datatype.DATETIME):
        return _decimal_numbers(texts, places)
    zone = ZoneInfo(time_zone) if time_zone else None
    try:
        return days(texts) if datatype is Datatype.DATE else _instant_numbers(texts, zone, places)
    except NoSuchTimeError:
        raise ValueFormError from None


def _decimal_numbers(texts: pa.Array, places: int | None) -> Numbers:
    narrow = narrow_numbers(texts, places)
    if narrow is not None:
        return narrow
    return WideNumbers(
        nearest_doubles(texts),
        lambda chosen: wide_numbers(texts.take(pa.array(chosen)), places),
    )


def _instant_numbers(texts: pa.Array, zone: ZoneInfo | None, places: int | None) -> Numbers:
    moments = instants(texts, zone)
    unit = moments.places if places is None else places
    narrow = moments.narrow(unit)
    if narrow is not None:
        return narrow
    wide = moments.wide(unit)
    return WideNumbers(wide.astype(np.float64), lambda chosen: list(wide[chosen]))
