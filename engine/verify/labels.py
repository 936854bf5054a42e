r"""The verifier's own reading of published labels: which originals does each of them cover?

Grammar of a published quasi-identifier. A missing value is an empty field and covers a missing
original only. In an ordered column, `v` covers the originals of equal value, `[low..high]` those
from low to high inclusive, and `[low..high|]` these and missing ones; of a coded column a range may lack
the end that is a threshold, and covers all beyond. In a text column, a text
covers itself (with one backslash put before a first character `[`, `{` or a backslash), and
`{a|b|c}` covers the items that it lists, bytewise sorted, with `\\`, `|`, `{` and `}` inside an item
preceded by a backslash; an empty last item is the missing value.

Integers and decimals are compared exactly, as the numbers that they write; doubles as the nearest floats
of 64 bits (IEEE 754, which ends where they do); dates as days, date-times as nanoseconds since 1970 in UTC.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.plan.masks import Coded as Thresholds
from smalti.engine.plan.plan import Column
from smalti.engine.verify.columns import MISSING, ArrowArray, Coded, Codes, broken, pc
from smalti.errors import DataError
from smalti.transforms.base import Datatype

Claims = NDArray[np.bool_]

_INTEGER = r"-?(?:0|[1-9][0-9]*)"
_DECIMAL = rf"{_INTEGER}(?:\.[0-9]+)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HOUR = r"(?:[01][0-9]|2[0-3])"
_ZONE = r"Z|[+-][0-9]{2}:[0-9]{2}"
LEXICAL_FORMS = {
    Datatype.INTEGER: _INTEGER,
    Datatype.DECIMAL: _DECIMAL,
    Datatype.DOUBLE: rf"{_DECIMAL}(?:[eE][+-]?0*[0-9]{{1,6}})?",
    Datatype.DATE: _DATE,
    Datatype.DATETIME: rf"{_DATE}[T ]{_HOUR}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,9}})?)?(?:{_ZONE})?",
}
"""One form for each ordered datatype; exponents are bounded, so that comparing stays cheap."""

_MOST_DIGITS = 18
_MOST_PLAIN = 40
_NANOSECONDS = 10**9
_FIRST_ORDINAL = date(1970, 1, 1).toordinal()
_DATES = np.datetime64("0001", "Y"), np.datetime64("10000", "Y")
_TIMES = np.datetime64("1678", "Y"), np.datetime64("2262", "Y")
"""Whose nanoseconds since 1970 fit 64 bits."""
_INSTANT = re.compile(rf"({_DATE})[T ]({_HOUR}):([0-9]{{2}})(?::([0-9]{{2}})(?:\.([0-9]+))?)?({_ZONE})?")
_PIECES = re.compile(r"(?s)\\(?P<escaped>.?)|(?P<bar>\|)|(?P<plain>[^\\|]+)")


class UnreadableError(ValueError):
    """A text that is not of its column's form; carries no text."""


class Coverage(ABC):
    """Which labels of a column cover which of its originals."""

    __slots__ = ()

    @abstractmethod
    def claims(self, labels: Codes, originals: Codes) -> Claims:
        """Whether each label covers the original beside it, by code; broadcasts."""


@dataclass(frozen=True, slots=True)
class RangeCoverage(Coverage):
    """Labels of an ordered column. Arrays end with the entry of the missing value."""

    keys: NDArray[np.int64]
    """For each original: its place among all values."""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    with_missing: Claims

    def claims(self, labels: Codes, originals: Codes) -> Claims:
        keys = self.keys[originals]
        inside = (self.low[labels] <= keys) & (keys <= self.high[labels])
        return np.where(originals == MISSING, self.with_missing[labels], inside & (labels != MISSING))


@dataclass(frozen=True, slots=True)
class ListCoverage(Coverage):
    """Labels of a text column."""

    pairs: NDArray[np.int64]
    """Sorted: label * width + original + 1 for each original that a label lists."""
    width: int

    def claims(self, labels: Codes, originals: Codes) -> Claims:
        wanted = labels * self.width + originals + 1
        places = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        listed: Claims = self.pairs[places] == wanted
        return listed


def coverage(
    column: Column, original: Coded, published: Coded, codes: Thresholds | None = None
) -> Coverage:
    """Read all labels of a column.

    Args:
        column: as the plan reads it.
        original: its values.
        published: its labels.
        codes: thresholds, at which ends of ranges are open; None: there are none.

    Raises:
        GuaranteeError: a label is not of the grammar.
        DataError: an original is not of its column's datatype.
    """
    if column.datatype.is_ordered:
        return _ranges(column, original, published, codes)
    try:
        return _lists(original, published)
    except UnreadableError:
        raise _unreadable_label(column) from None


def _unreadable_label(column: Column) -> Exception:
    return broken(
        f"column `{column.name}`",
        "a published value is not a label of this column's datatype",
        f"a label of the documented grammar for {column.datatype.value}",
    )


def _lists(original: Coded, published: Coded) -> ListCoverage:
    items: list[str] = []
    owners: list[int] = []
    with_missing = [MISSING]
    for label, text in enumerate(published.values.to_pylist()):
        listed, missing = read_text_label(text)
        items.extend(listed)
        owners.extend([label] * len(listed))
        if missing:
            with_missing.append(label)
    width = len(original.values) + 1
    places = pc.index_in(pa.array(items, pa.large_string()), value_set=original.values)
    numbers = pc.fill_null(places, MISSING).to_numpy(zero_copy_only=False).astype(np.int64)
    owned = np.array(owners, np.int64) * width + numbers + 1
    missing_pairs = np.array(with_missing, np.int64) * width
    return ListCoverage(np.sort(np.concatenate((owned[numbers >= 0], missing_pairs))), width)


def read_text_label(label: str) -> tuple[tuple[str, ...], bool]:
    """The texts that a label of a text column covers, and whether it covers a missing value.

    Raises:
        UnreadableError: the label is not of the grammar.
    """
    if label[0] == "{":
        return _read_set(label)
    if label[0] == "[" or (label[0] == "\\" and label[1:2] not in ("[", "{", "\\")):
        raise UnreadableError
    return (label[1:] if label[0] == "\\" else label,), False


def _read_set(label: str) -> tuple[tuple[str, ...], bool]:
    if len(label) < 2 or label[-1] != "}":
        raise UnreadableError
    items = _split(label[1:-1])
    missing = items[-1] == ""
    listed = items[:-1] if missing else items
    encoded = [item.encode() for item in listed]
    if len(items) < 2 or "" in listed or any(a >= b for a, b in pairwise(encoded)):
        raise UnreadableError
    return tuple(listed), missing


def _split(body: str) -> list[str]:
    items = [""]
    for piece in _PIECES.finditer(body):
        escaped, plain = piece["escaped"], piece["plain"]
        if piece["bar"]:
            items.append("")
        elif escaped is not None:
            if escaped not in ("\\", "|", "{", "}"):
                raise UnreadableError
            items[-1] += escaped
        elif "{" in plain or "}" in plain:
            raise UnreadableError
        else:
            items[-1] += plain
    return items


def _ranges(column: Column, original: Coded, published: Coded, codes: Thresholds | None) -> RangeCoverage:
    try:
        if codes is not None:
            return _open_ranges(column, original, published, codes)
        low, high, with_missing = _bounds(published.values)
        bounds = pa.chunked_array([low, high]).combine_chunks()
        _check_form(bounds, column.datatype)
    except UnreadableError:
        raise _unreadable_label(column) from None
    try:
        _check_form(original.values, column.datatype)
        keys, at = _places(column, original.values, bounds)
    except _UnreadableLabelError:
        raise _unreadable_label(column) from None
    except UnreadableError:
        raise _unreadable_original(column) from None
    half = len(low)
    if (at[:half] > at[half:]).any():
        raise _unreadable_label(column)
    keys, low_keys, high_keys = (np.append(part, 0) for part in (keys, at[:half], at[half:]))
    return RangeCoverage(keys, low_keys, high_keys, np.append(with_missing, True))


def _open_ranges(column: Column, original: Coded, published: Coded, codes: Thresholds) -> RangeCoverage:
    """Labels of a coded column: no end is at a threshold or beyond it, but for the closed one of `[90..]`.

    Raises:
        UnreadableError: a label is another.
        DataError: an original is not of the column's datatype.
    """
    parts = pc.extract_regex(
        published.values,
        r"(?s)\A(?:\[(?P<low>[^\[\]|]*?)\.\.(?P<high>[^\[\]|]*)(?P<end>\|?)\]|(?P<single>[^\[\]|]+))\z",
    )
    if parts.null_count:
        raise UnreadableError
    low, high, end, single = (
        pc.struct_field(parts, name).cast(pa.large_string()) for name in ("low", "high", "end", "single")
    )
    low, high = (pc.if_else(pc.equal(single, ""), each, single) for each in (low, high))
    no_low, no_high = (pc.equal(each, "").to_numpy(zero_copy_only=False) for each in (low, high))
    if (codes.bottom is None and no_low.any()) or (codes.top is None and no_high.any()):
        raise UnreadableError
    some = codes.top if codes.top is not None else codes.bottom
    stated = pa.array([codes.bottom or some, codes.top or some], pa.large_string())
    filled = [pc.if_else(pc.equal(each, ""), some, each) for each in (low, high)]
    bounds = pa.chunked_array([*filled, stated]).combine_chunks()
    _check_form(bounds, column.datatype)
    try:
        _check_form(original.values, column.datatype)
        keys, at = _places(column, original.values, bounds)
    except _UnreadableLabelError:
        raise
    except UnreadableError:
        raise _unreadable_original(column) from None
    half = len(low)
    least, most, (bottom, top) = at[:half], at[half : 2 * half], at[2 * half :]
    is_fine = no_low | no_high | (least <= most)
    if codes.top is not None:
        is_fine &= (no_high | (most < top)) & (no_low | (least <= top))
    if codes.bottom is not None:
        is_fine &= (no_low | (least > bottom)) & (no_high | (most >= bottom))
    if not is_fine.all():
        raise UnreadableError
    ends = np.iinfo(np.int64)
    least, most = np.where(no_low, ends.min, least), np.where(no_high, ends.max, most)
    keys, least, most = (np.append(part, 0) for part in (keys, least, most))
    with_missing = pc.equal(end, "|").to_numpy(zero_copy_only=False)
    return RangeCoverage(keys, least, most, np.append(with_missing, True))


class _UnreadableLabelError(UnreadableError):
    """The unreadable text stands in a label."""


def _unreadable_original(column: Column) -> DataError:
    return DataError(
        f"column `{column.name}`", "an original value cannot be read", f"{column.datatype.value} values"
    )


def _bounds(labels: ArrowArray) -> tuple[ArrowArray, ArrowArray, Claims]:
    """The two ends of each label, as texts, and whether it covers a missing value too."""
    is_range = pc.starts_with(labels, "[")
    # RE2: `s` lets `.` match a line end; both ends are checked against the lexical form afterwards
    parts = pc.extract_regex(labels, r"(?s)\A\[(?P<low>[^\[\]|]+?)\.\.(?P<high>[^\[\]|]+)(?P<end>\|?)\]\z")
    if pc.any(pc.and_(is_range, pc.is_null(parts))).as_py():
        raise UnreadableError
    low, high, end = (pc.struct_field(parts, name) for name in ("low", "high", "end"))
    ends = [pc.if_else(is_range, part, labels).cast(pa.large_string()) for part in (low, high)]
    with_missing = pc.fill_null(pc.and_(is_range, pc.equal(end, "|")), False)
    return ends[0], ends[1], with_missing.to_numpy(zero_copy_only=False)


def range_ends(labels: ArrowArray) -> tuple[ArrowArray, ArrowArray]:
    """The two ends of each label of a column of numbers, as decimals.

    Raises:
        UnreadableError: a label is not of the grammar.
    """
    low, high, _ = _bounds(labels)
    _check_form(pa.chunked_array([low, high]).combine_chunks(), Datatype.DECIMAL)
    return low, high


def _check_form(texts: ArrowArray, datatype: Datatype) -> None:
    matches = pc.match_substring_regex(texts, rf"\A(?:{LEXICAL_FORMS[datatype]})\z")
    if not pc.all(matches, min_count=0).as_py():
        raise UnreadableError


def by_value(column: Column, coded: Coded) -> Codes:
    """The column's codes with equal values made one: `1` and `1.0` are one number, where that is declared.

    Raises:
        DataError: a text is no value of the declared type.
    """
    if not column.datatype.is_ordered or not len(coded.values):
        return coded.codes
    try:
        _check_form(coded.values, column.datatype)
        places, _ = _places(column, coded.values, coded.values.slice(0, 0))
    except UnreadableError:
        raise _unreadable_original(column) from None
    _, number = np.unique(places, return_inverse=True)
    codes: Codes = np.append(number.astype(np.int64), MISSING)[coded.codes]
    return codes


def canonical(column: Column, texts: ArrowArray) -> ArrowArray:
    """A text for each text, the same for equal values; the empty one, a missing value, stays.

    Raises:
        DataError: a text is no value of the declared type.
    """
    if not column.datatype.is_ordered:
        return texts
    present = texts.filter(pc.not_equal(texts, ""))
    try:
        _check_form(present, column.datatype)
        if column.datatype in (Datatype.DATE, Datatype.DATETIME):
            key = _day if column.datatype is Datatype.DATE else _instants(column)
            return pa.array([text and str(key(text)) for text in texts.to_pylist()], pa.large_string())
        if column.datatype is Datatype.DOUBLE:
            bits = _floats(pc.if_else(pc.equal(texts, ""), "0", texts)).view(np.int64)
            return pc.if_else(pc.equal(texts, ""), "", pa.array(bits).cast(pa.large_string()))
    except UnreadableError:
        raise _unreadable_original(column) from None
    return _canonical_numbers(texts)


def canonical_order(column: Column, texts: ArrowArray) -> Codes:
    """By canonical text its place in the order of the values; a missing value stands first."""
    keys: list[Decimal | float]
    values = texts.to_pylist()
    if not column.datatype.is_ordered:
        ranks: Codes = pc.rank(texts, tiebreaker="min").to_numpy().astype(np.int64)
        return ranks
    if column.datatype is Datatype.DOUBLE:
        bits = np.array([int(text or 0) for text in values], np.int64)
        keys = bits.view(np.float64).tolist()
    else:
        keys = [Decimal(text or 0) for text in values]
    present = np.array([text != "" for text in values], np.bool_)
    objects = np.empty(len(keys), dtype=object)
    objects[:] = keys
    _, places = np.unique(objects, return_inverse=True)
    return np.where(present, places.reshape(-1).astype(np.int64) + 1, 0)


def _canonical_numbers(texts: ArrowArray) -> ArrowArray:
    whole = pc.replace_substring_regex(texts, r"\.0+\z", "")
    short = pc.replace_substring_regex(whole, r"(\.[0-9]*[1-9])0+\z", r"\1")
    plain = pc.if_else(pc.equal(short, "-0"), "0", short)
    has_power = pc.match_substring_regex(texts, "[eE]")
    is_other = pc.or_(has_power, pc.greater(pc.utf8_length(texts), _MOST_PLAIN))
    others = [_canonical_number(text) for text in texts.filter(is_other).to_pylist()]
    return pc.replace_with_mask(plain, is_other, pa.array(others, pa.large_string()))


def _canonical_number(text: str) -> str:
    """As digits without zeros at the end, where that is short; else digits and a power of ten."""
    sign, digits, power = Decimal(text).as_tuple()
    bare = "".join(map(str, digits)).rstrip("0")
    if not bare:
        return "0"
    exponent = int(power) + len(digits) - len(bare)
    if abs(exponent) <= _MOST_PLAIN:
        plain = format(Decimal((sign, tuple(map(int, bare)), exponent)), "f")
        if len(plain) <= _MOST_PLAIN:
            return plain
    return f"{'-' * sign}{bare}e{exponent}"


def places_beside(column: Column, originals: ArrowArray, others: ArrowArray) -> tuple[Codes, Codes]:
    """Integers in the order of the values: those of the column's texts, and of texts from elsewhere.

    Raises:
        UnreadableError: a text of the column is not of its datatype.
    """
    _check_form(originals, column.datatype)
    return _places(column, originals, others)


def _places(column: Column, originals: ArrowArray, bounds: ArrowArray) -> tuple[Codes, Codes]:
    """Integers in the order of the values: those of the originals, those of the bounds."""
    count = len(originals)
    if column.datatype in (Datatype.DATE, Datatype.DATETIME):
        keys = _temporal_places(column, originals, bounds)
    elif column.datatype is Datatype.DOUBLE:
        keys = _float_places(originals, bounds)
    else:
        keys = _number_places(pa.chunked_array([originals, bounds]).combine_chunks())
    return keys[:count], keys[count:]


def _float_places(originals: ArrowArray, bounds: ArrowArray) -> Codes:
    theirs = _floats(originals)
    try:
        ends = _floats(bounds)
    except UnreadableError:
        raise _UnreadableLabelError from None
    _, places = np.unique(np.concatenate((theirs, ends)), return_inverse=True)
    return places.astype(np.int64)


def _floats(texts: ArrowArray) -> NDArray[np.float64]:
    """The nearest float of 64 bits for each number; zero for minus zero.

    Raises:
        UnreadableError: a number lies beyond all of them.
    """
    numbers: NDArray[np.float64] = texts.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    if not np.isfinite(numbers).all():
        raise UnreadableError
    return numbers


def _number_places(texts: ArrowArray) -> Codes:
    at_once = _fixed_point(texts)
    return _ranked([Decimal(text) for text in texts.to_pylist()]) if at_once is None else at_once


def _fixed_point(texts: ArrowArray) -> Codes | None:
    """The numbers times a power of ten that leaves no digit over; None for wide ones, or with a power."""
    point = pc.find_substring(texts, ".").to_numpy(zero_copy_only=False)
    lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False)
    places = np.where(point < 0, 0, lengths - point - 1)
    scale = int(places.max(initial=0))
    wholes = np.where(point < 0, lengths, point) - pc.starts_with(texts, "-").to_numpy(zero_copy_only=False)
    if int(wholes.max(initial=0)) + scale > _MOST_DIGITS:
        return None
    try:
        digits = pc.replace_substring(texts, ".", "", max_replacements=1).cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    numbers: Codes = digits.to_numpy(zero_copy_only=False) * 10 ** (scale - places).astype(np.int64)
    return numbers


def _temporal_places(column: Column, originals: ArrowArray, bounds: ArrowArray) -> Codes:
    at_once = _written_alike(column, pa.chunked_array([originals, bounds]).combine_chunks())
    if at_once is not None:
        return at_once
    key = _day if column.datatype is Datatype.DATE else _instants(column)
    keys = [key(text) for text in originals.to_pylist()]
    try:
        keys += [key(text) for text in bounds.to_pylist()]
    except UnreadableError:
        raise _UnreadableLabelError from None
    return _ranked(keys)


def _written_alike(column: Column, texts: ArrowArray) -> Codes | None:
    """What `_day` or `_instants` says of each text, where all have one usual notation; None otherwise.

    Usual are dates, and date-times without a fraction that are in UTC.
    """
    length = pc.min_max(pc.binary_length(texts)).as_py()
    is_date, is_local = column.datatype is Datatype.DATE, (column.time_zone or "UTC") != "UTC"
    width = {10: 10} if is_date else {17: 16, 20: 19} if is_local else {16: 16, 17: 16, 19: 19, 20: 19}
    if length["min"] != length["max"] or length["min"] not in width:
        return None
    characters = np.frombuffer(texts.buffers()[2], np.uint8)
    first = int(np.frombuffer(texts.buffers()[1], np.int64)[texts.offset])
    clocks = characters[first : first + length["min"] * len(texts)].reshape(len(texts), -1)
    clocks = np.ascontiguousarray(clocks[:, : width[length["min"]]])
    try:
        times = clocks.view(f"S{clocks.shape[1]}").ravel().astype(f"datetime64[{'D' if is_date else 's'}]")
    except ValueError:  # the other way says whose fault it is
        return None
    begin, end = _DATES if is_date else _TIMES
    if not ((begin <= times) & (times < end)).all():
        return None
    units: Codes = times.astype(np.int64)
    return units + _FIRST_ORDINAL if is_date else units * _NANOSECONDS


def _ranked(keys: Sequence[int | Decimal]) -> Codes:
    try:
        return np.array(keys, dtype=np.int64) if not _has_decimals(keys) else _ranks(keys)
    except OverflowError:
        return _ranks(keys)


def _has_decimals(keys: Sequence[int | Decimal]) -> bool:
    return any(isinstance(key, Decimal) for key in keys[:1])


def _ranks(keys: Sequence[int | Decimal]) -> Codes:
    objects = np.empty(len(keys), dtype=object)
    objects[:] = keys
    _, places = np.unique(objects, return_inverse=True)
    return places.astype(np.int64)


def _day(text: str) -> int:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        raise UnreadableError from None


def _instants(column: Column) -> Callable[[str], int]:
    """A reader of date-times: nanoseconds in UTC; those that state no zone are in the column's."""
    name = column.time_zone or "UTC"
    try:
        zone = None if name == "UTC" else ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise DataError(f"column `{column.name}`", "unknown time zone", "an IANA name") from None

    def instant(text: str) -> int:
        match = _INSTANT.fullmatch(text)
        if match is None:
            raise UnreadableError
        day, hour, minute, second, fraction, offset = match.groups()
        try:
            local = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second or '00'}")
        except ValueError:
            raise UnreadableError from None
        shift = _shift(offset) if offset else zone.utcoffset(local.replace(tzinfo=zone)) if zone else None
        since = local - datetime(1970, 1, 1) - (shift or timedelta())
        seconds = since.days * 86400 + since.seconds
        return seconds * _NANOSECONDS + int((fraction or "0").ljust(9, "0"))

    return instant


def _shift(offset: str) -> timedelta:
    if offset == "Z":
        return timedelta()
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        raise UnreadableError
    shift = timedelta(hours=hours, minutes=minutes)
    return -shift if offset[0] == "-" else shift
