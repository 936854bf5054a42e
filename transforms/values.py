"""What the texts of a column mean: lexical forms, order, and codes for the kernel.

Every engine hands over texts and gets codes back, so no engine's own casts decide anything. Each
datatype has one ASCII regular expression (RE2 and Python read it alike); a text that does not match
it is an error, never a guess.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.transforms.base import Datatype
from smalti.transforms.problem import MISSING, SCALE, Attribute, OrderedAttribute, UnorderedAttribute

LEXICAL_FORMS: Final = {
    Datatype.INTEGER: r"-?(0|[1-9][0-9]{0,99})",
    Datatype.DECIMAL: r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,100})?",
    Datatype.DOUBLE: r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,3})?",
    Datatype.DATE: r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    Datatype.DATETIME: (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
        r"(Z|[+-][0-9]{2}:[0-9]{2})?"
    ),
}
"""The texts that a value of each ordered datatype may have; a string may be any text."""

_INFERRED: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DATE, Datatype.DATETIME)
_LONGEST_FAST_INTEGER = 18
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE = re.compile(r"(Z|[+-][0-9]{2}:[0-9]{2})$", re.ASCII)
_FRACTION = re.compile(r"\.([0-9]{1,9})")


Keys = NDArray[np.int64] | NDArray[np.object_]


class ValueFormError(ValueError):
    """Some text of a column is no value of its datatype; says nothing about which text."""


@dataclass(frozen=True, slots=True)
class Codebook:
    """The values of one quasi-identifier and their codes, made from all its distinct texts."""

    datatype: Datatype
    codes: NDArray[np.int64]
    """By distinct text, in the order given: 1 for the least value, and so on; equal values share one."""
    texts: tuple[str, ...]
    """By code, from 1: the value's text; of several spellings the shortest, then the bytewise least."""
    attribute: Attribute
    """What the kernel needs to know of the column."""


def infer_datatype(texts: pa.Array, time_zone: str | None) -> Datatype:
    """The narrowest datatype that every text has; string where none does, or where there is no text.

    Exponents, leading zeros, signs other than minus, and date-times of which only some state their
    zone are never taken for numbers or times.
    """
    if len(texts) == 0:
        return Datatype.STRING
    for datatype in _INFERRED:
        if all_match(texts, datatype):
            try:
                _keys(texts, datatype, time_zone)
            except ValueFormError:
                return Datatype.STRING
            return datatype
    return Datatype.STRING


def all_match(texts: pa.Array, datatype: Datatype) -> bool:
    """Whether each text, as far as present, has the datatype's lexical form."""
    if datatype is Datatype.STRING:
        return True
    matches = pc.match_substring_regex(texts, rf"^(?:{LEXICAL_FORMS[datatype]})$")
    # `$` of RE2 matches at the very end only; a line end inside a text matches no form.
    return bool(pc.all(matches, min_count=0).as_py())


def make_codebook(
    texts: pa.Array, datatype: Datatype, time_zone: str | None, has_missing: bool
) -> Codebook:
    """Order the distinct, present texts of a column and give them codes.

    Raises:
        ValueFormError: some text is no value of the datatype (`2023-02-30` is no date).
    """
    if not all_match(texts, datatype):
        raise ValueFormError
    if datatype is Datatype.STRING:
        return _string_codebook(texts, has_missing)
    keys = _keys(texts, datatype, time_zone)
    distinct, inverse = _unique(keys)
    spellings = _spellings(texts.to_pylist(), inverse, len(distinct))
    return Codebook(datatype, inverse + 1, spellings, OrderedAttribute(_positions(distinct)))


def _string_codebook(texts: pa.Array, has_missing: bool) -> Codebook:
    values = [text.encode() for text in texts.to_pylist()]
    ranked = sorted(range(len(values)), key=values.__getitem__)
    codes = np.empty(len(values), np.int64)
    codes[ranked] = np.arange(1, len(values) + 1)
    ordered = tuple(values[i].decode() for i in ranked)
    return Codebook(Datatype.STRING, codes, ordered, UnorderedAttribute(len(values) + has_missing))


def _spellings(texts: list[str], codes: NDArray[np.int64], count: int) -> tuple[str, ...]:
    best: list[str | None] = [None] * count
    for text, code in zip(texts, codes.tolist(), strict=True):
        known = best[code]
        if known is None or (len(text), text) < (len(known), known):
            best[code] = text
    return tuple(text for text in best if text is not None)


def _unique(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    found, inverse = np.unique(keys, return_inverse=True)
    distinct: Keys = found.astype(np.int64) if keys.dtype == np.int64 else _objects(found.tolist())
    return distinct, inverse.astype(np.int64)


def _positions(keys: Keys) -> NDArray[np.int64]:
    """By code: the place in the domain as a whole number from 0 to SCALE, rounded down; missing first."""
    if len(keys) == 0:
        return np.array([-SCALE], np.int64)
    low, width = int(keys[0]), int(keys[-1]) - int(keys[0])
    if width == 0:
        places = [0] * len(keys)
    elif keys.dtype == np.int64 and width < 1 << 42:
        return np.concatenate(([-SCALE], (keys - low) * SCALE // width)).astype(np.int64)
    else:
        places = [(int(key) - low) * SCALE // width for key in keys.tolist()]
    return np.array([-SCALE, *places], np.int64)


def _keys(texts: pa.Array, datatype: Datatype, time_zone: str | None) -> Keys:
    """Whole numbers in the order of the values, equal for equal values, apart as the values are."""
    match datatype:
        case Datatype.INTEGER | Datatype.DECIMAL:
            return _decimal_keys(texts)
        case Datatype.DOUBLE:
            return _scaled([Decimal(text) for text in texts.to_pylist()])
        case Datatype.DATE:
            return np.array([_day(text) for text in texts.to_pylist()], np.int64)
        case _:
            return _instants(texts.to_pylist(), time_zone)


def _decimal_keys(texts: pa.Array) -> Keys:
    values = texts.to_pylist()
    places = max((len(text.partition(".")[2]) for text in values), default=0)
    padded = [_shifted(text, places) for text in values]
    keys = [int(text) for text in padded]
    if max(map(len, padded), default=0) <= _LONGEST_FAST_INTEGER:
        return np.array(keys, np.int64)
    return _objects(keys)


def _shifted(text: str, places: int) -> str:
    whole, _, fraction = text.partition(".")
    return whole + fraction.ljust(places, "0")


def _scaled(values: list[Decimal]) -> NDArray[np.object_]:
    exponents = [exponent for v in values if isinstance(exponent := v.as_tuple().exponent, int)]
    shift = Fraction(10) ** -min(exponents, default=0)
    return _objects([int(Fraction(value) * shift) for value in values])


def _objects(values: list[int]) -> NDArray[np.object_]:
    result = np.empty(len(values), np.object_)
    result[:] = values
    return result


def _day(text: str) -> int:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        raise ValueFormError from None


def _instants(texts: list[str], time_zone: str | None) -> Keys:
    """Nanoseconds since 1970 in UTC.

    Date-times without a zone are read in `time_zone`; without that, only among their like.
    """
    zoned = [_ZONE.search(text) is not None for text in texts]
    if time_zone is None and any(zoned) and not all(zoned):
        raise ValueFormError
    local = ZoneInfo(time_zone) if time_zone else UTC
    keys = [_nanoseconds(text, local) for text in texts]
    if all(-(1 << 62) < key < 1 << 62 for key in keys):
        return np.array(keys, np.int64)
    return _objects(keys)


def _in_zone(moment: datetime, local: tzinfo) -> datetime:
    """A local time as an instant; of two with the same local time, when clocks go back, the first.

    Raises:
        ValueFormError: there is no such local time, for clocks went forward.
    """
    instant = moment.replace(tzinfo=local)
    if instant.astimezone(UTC).astimezone(local).replace(tzinfo=None) != moment:
        raise ValueFormError
    return instant


def _nanoseconds(text: str, local: tzinfo) -> int:
    fraction = _FRACTION.search(text)
    nanoseconds = int(fraction[1].ljust(9, "0")) if fraction else 0
    try:
        moment = datetime.fromisoformat(_FRACTION.sub("", text))
        if moment.tzinfo is None:
            moment = _in_zone(moment, local)
        elapsed = moment - _EPOCH
    except (ValueError, OverflowError):
        raise ValueFormError from None
    return (elapsed // timedelta(seconds=1)) * 1_000_000_000 + nanoseconds


def encode(
    texts: pa.ChunkedArray, datatype: Datatype, time_zone: str | None
) -> tuple[Codebook, NDArray[np.int64]]:
    """The codebook of a column, and the code of each of its texts (`MISSING` for a missing one).

    Raises:
        ValueFormError: some text is no value of the datatype.
    """
    encoded = pc.dictionary_encode(texts).combine_chunks()
    has_missing = encoded.null_count > 0
    book = make_codebook(encoded.dictionary, datatype, time_zone, has_missing)
    indices = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    return book, np.append(book.codes, MISSING)[indices].astype(np.int64)
