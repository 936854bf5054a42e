"""Keys and codebooks are what plain Python makes of each text by itself, in every corner."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo, _common, _tzpath, available_timezones

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smalti.transforms.base import Datatype
from smalti.transforms.problem import SCALE, OrderedAttribute
from smalti.transforms.values import texts as values
from smalti.transforms.values import times
from smalti.transforms.values.texts import (
    ValueFormError,
    check_values,
    infer_datatype,
    keys,
    make_codebook,
    unit_places,
)

ZONES = (
    "Europe/Rome",
    "America/New_York",
    "Australia/Lord_Howe",  # goes forward by half an hour
    "Pacific/Apia",  # had no 30 December 2011
    "Africa/Monrovia",  # was behind by 44 minutes and 30 seconds until 1972
    "America/Sao_Paulo",  # went forward at midnight
    "UTC",
)


# --- The reference: one text at a time -------------------------------------------------------------


def number(text: str) -> Fraction:
    return Fraction(Decimal(text))


def day(text: str) -> Fraction:
    return Fraction(date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal())


def instant(text: str, zone: str | None) -> Fraction:
    """Seconds since 1970. ValueError, OverflowError: there is no such time."""
    # Python 3.11 takes 75 minutes for an offset, and no standard does.
    if re.search(r"[+-][0-9]{2}:[6-9][0-9]$", text):
        raise ValueError
    head, point, tail = text.partition(".")
    digits = "".join(c for c in tail[: len(tail) - len(tail.lstrip("0123456789"))])
    moment = datetime.fromisoformat(head + tail[len(digits) :] if point else text)
    if moment.tzinfo is None:
        local = ZoneInfo(zone) if zone else UTC
        aware = moment.replace(tzinfo=local)
        if aware.astimezone(UTC).astimezone(local).replace(tzinfo=None) != moment:
            raise ValueError
        moment = aware
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    fraction = Fraction(int(digits), 10 ** len(digits)) if digits else Fraction(0)
    return elapsed // timedelta(seconds=1) + fraction


def is_zoned(text: str) -> bool:
    return text.endswith("Z") or text[-6] in "+-"


def is_finite(text: str) -> bool:
    return math.isfinite(float(text))


def shortest(text: str) -> str:
    """The shortest number next to the nearest float of 64 bits."""
    if not is_finite(text):
        raise ValueError
    return repr(float(text))


def known(texts: Sequence[str], datatype: Datatype, zone: str | None) -> list[Fraction] | None:
    """The values, or None where the column has none."""
    if datatype is Datatype.DATETIME and zone is None and len({*map(is_zoned, texts)}) > 1:
        return None
    read: dict[Datatype, Callable[[str], Fraction]] = {
        Datatype.DATE: day,
        Datatype.DATETIME: lambda text: instant(text, zone),
        Datatype.DOUBLE: lambda text: number(shortest(text)),
    }
    try:
        return [read.get(datatype, number)(text) for text in texts]
    except (ValueError, OverflowError):
        return None


def check(texts: list[str], datatype: Datatype, zone: str | None = None) -> None:
    column = pa.array(texts, pa.string())
    expected = known(texts, datatype, zone)
    if expected is None:
        for fails in (make_codebook, check_values, keys):
            arguments = (column, datatype, zone) + ((False,) if fails is make_codebook else ())
            with pytest.raises(ValueFormError) as caught:
                fails(*arguments)
            assert str(caught.value) == ""
        return
    check_values(column, datatype, zone)
    check_keys(column, expected, datatype, zone)
    book = make_codebook(column, datatype, zone, has_missing=False)
    ranked = sorted(set(expected))
    code = {value: place + 1 for place, value in enumerate(ranked)}
    assert book.codes.tolist() == [code[value] for value in expected]
    by_code: dict[int, list[str]] = {}
    for text, value in zip(texts, expected, strict=True):
        by_code.setdefault(code[value], []).append(text)
    spelled = [min(by_code[c + 1], key=lambda text: (len(text), text)) for c in range(len(ranked))]
    assert book.texts.to_pylist() == spelled
    low, width = ranked[0], ranked[-1] - ranked[0]
    places = [(value - low) * SCALE // width if width else 0 for value in ranked]
    assert isinstance(book.attribute, OrderedAttribute)
    assert book.attribute.positions.tolist() == [-SCALE, *places]


def check_keys(column: pa.Array, expected: list[Fraction], datatype: Datatype, zone: str | None) -> None:
    places = unit_places(column, datatype)
    units = [value * Fraction(10) ** places for value in expected]
    found = keys(column, datatype, zone)
    assert found.tolist() == units
    if datatype in (Datatype.DATE, Datatype.DATETIME):
        assert found.dtype == np.int64 or max(map(abs, units)) > 1 << 61
    else:
        texts = column.to_pylist()
        if datatype is Datatype.DOUBLE:
            # What has at most 15 digits, away from the ends of the floats, is kept as it is written.
            assert found.dtype == np.int64 or any(
                digits(t, places) > 18 or digits(shortest(t), places) > 18 for t in texts
            )
        else:
            assert (found.dtype == np.int64) == all(digits(t, places) <= 18 for t in texts)


def digits(text: str, places: int) -> int:
    """The length, without a point, of a number written to so many places."""
    mantissa, _, power = text.lower().partition("e")
    fraction = mantissa.partition(".")[2]
    return len(mantissa.replace(".", "")) + int(power or 0) + places - len(fraction)


# --- Texts -----------------------------------------------------------------------------------------

SMALL = st.from_regex(r"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?", fullmatch=True)
LONG = st.from_regex(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,100})?", fullmatch=True)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(repr)
UNIT_FLOATS = st.floats(0, 1).map(repr)
POWERS = st.from_regex(r"-?(0|[1-9][0-9]{0,2})(\.[0-9]{1,2})?[eE][+-]?[0-9]{1,3}", fullmatch=True)
# Neighbours that share a double; the ends of 18 digits, of 64 bits and of doubles; zeros.
NUMBERS = [
    "0", "-0", "0.0", "-0.00", "0e0", "-0E+999", "0e-999", "1", "1.0", "10e-1", "0.1e1", "-1",
    "999999999999999999", "-999999999999999999", "99999999999999999.9", "1000000000000000000",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "100000000000000000000001", "100000000000000000000002", "100000000000000000000002.0",
    "0.1000000000000000055511151231257827", "0.1000000000000000055511151231257828", "0.1",
    "1e308", "1.7976931348623159e308", "1e309", "1e999", "-1e999", "2e999", "10e998", "1e-999",
    "4e-324", "5e-324", "2e-324", "1e-323", "2.2250738585072011e-308", "1E5", "1e+05", "100000", "1e-5",
    "1e17", "1e18", "123e15",
]  # fmt: skip


def is_of(text: str, datatype: Datatype) -> bool:
    return values.all_match(pa.array([text], pa.string()), datatype)


DECIMALS = [text for text in NUMBERS if is_of(text, Datatype.DECIMAL)]
INTEGERS = [text for text in NUMBERS if is_of(text, Datatype.INTEGER)]


def columns(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.one_of(*parts), min_size=1, max_size=12)


@settings(max_examples=examples(100, full=2000))
@given(
    st.one_of(
        columns(SMALL),
        columns(UNIT_FLOATS),
        columns(FLOATS),
        columns(st.sampled_from(NUMBERS)),
        columns(SMALL, LONG, FLOATS, POWERS, st.sampled_from(NUMBERS)),
    ).filter(lambda texts: all(is_of(text, Datatype.DOUBLE) for text in texts))
)
@example(NUMBERS)
@example([text for text in NUMBERS if is_finite(text)])
@example(["1e-300", "2e-300", "3e-300"])
@example(["0", "7e-324", "16e-324"])  # subnormal doubles are whole multiples of 4.9e-324
@example(["-1.5e308", "1", "1.5e308"])  # further apart than the last double
@example([f"1{'0' * 25}.{i}" for i in range(7)])
@example([str(i) for i in range(9)] + ["0.00000000000000000001"])
def test_doubles_are_floats_of_64_bits(texts: list[str]) -> None:
    check(texts, Datatype.DOUBLE)


@settings(max_examples=examples(100))
@given(st.one_of(columns(SMALL), columns(SMALL, LONG, st.sampled_from(DECIMALS))))
@example(DECIMALS)
def test_decimals_are_exact(texts: list[str]) -> None:
    check(texts, Datatype.DECIMAL)


@settings(max_examples=examples(50))
@given(columns(st.integers(-(10**20), 10**20).map(str), st.sampled_from(INTEGERS)))
@example(INTEGERS)
def test_integers_are_exact(texts: list[str]) -> None:
    check(texts, Datatype.INTEGER)


DAYS = [
    "0001-01-01", "0000-12-31", "0000-02-29", "9999-12-31", "2000-02-29", "1900-02-28", "1900-02-29",
    "2023-02-28", "2023-02-30", "2024-02-29", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-00",
    "1582-10-10", "1969-12-31", "1970-01-01", "2011-12-29", "2011-12-30", "2011-12-31",
]  # fmt: skip


@settings(max_examples=examples(100))
@given(columns(st.dates().map(date.isoformat), st.sampled_from(DAYS)))
@example(["0001-01-01", "9999-12-31"])
def test_dates_are_exact(texts: list[str]) -> None:
    check(texts, Datatype.DATE)


def test_each_odd_day_is_judged_as_python_judges_it() -> None:
    for text in DAYS:
        check([text], Datatype.DATE)
        check([f"{text}T12:00"], Datatype.DATETIME)


FRACTIONS = st.one_of(st.just(""), st.from_regex(r"\.[0-9]{1,9}", fullmatch=True))
CLOCKS = st.from_regex(r"[T ](0[0-4]|23|2[0-4])(:[0-6]0)(:(00|30|59|60))?", fullmatch=True)
OFFSETS = st.one_of(
    st.sampled_from(
        ["", "", "", "Z", "+00:00", "-00:00", "+23:59", "-23:59", "+23:60", "+24:00", "-22:99"]
    ),
    st.from_regex(r"[+-]0[0-9]:[0-6]0", fullmatch=True),
)
# On or beside days on which some of the zones change their clocks.
TURNS = st.sampled_from([
    "2024-03-31", "2024-10-27", "2024-03-10", "2024-11-03", "2024-04-07", "2024-10-06", "2011-12-29",
    "2011-12-30", "2011-12-31", "1972-01-07", "2018-11-04", "2018-02-17", "0001-01-01", "9999-12-31",
])  # fmt: skip


@st.composite
def moments(draw: st.DrawFn, offsets: st.SearchStrategy[str]) -> str:
    start = draw(st.one_of(TURNS, TURNS, st.dates().map(date.isoformat)))
    clock = draw(CLOCKS)
    fraction = draw(FRACTIONS) if clock.count(":") == 2 else ""
    return start + clock + fraction + draw(offsets)


@settings(max_examples=examples(100, full=2000))
@given(
    st.one_of(
        st.lists(moments(st.just("")), min_size=1, max_size=8),
        st.lists(moments(OFFSETS.filter(bool)), min_size=1, max_size=8),
        st.lists(moments(OFFSETS), min_size=1, max_size=4),
    ),
    st.sampled_from((None, *ZONES)),
)
@example(["9999-12-31T23:59:59.9999999", "2020-01-01T00:00"], None)
@example(["9999-12-31T23:59:59.999999999", "2020-01-01T00:00", "2020-01-01 00:00:00.0"], None)
@example(["9999-12-31T23:30"], "America/New_York")
@example(["0001-01-01T00:10"], "Europe/Rome")
@example(["2011-12-30T12:00"], "Pacific/Apia")
@example(["2024-03-31T02:30"], "Europe/Rome")
@example(["2024-10-27T02:30", "2024-10-27T00:30Z", "2024-10-27T01:30Z"], "Europe/Rome")
@example(["2024-01-01T00:00:60"], None)
@example(["2024-01-01T24:00"], None)
@example(["2024-01-01T00:00-22:59", "2024-01-01T22:59Z"], None)
def test_instants_are_exact(texts: list[str], zone: str | None) -> None:
    check(texts, Datatype.DATETIME, zone)


@pytest.mark.parametrize("zone", ZONES)
def test_each_quarter_of_an_hour_around_a_change_of_clocks(zone: str) -> None:
    """Each local time by itself, for an error is one of the column; then those that exist, together."""
    starts = (
        "2024-03-30",
        "2024-10-26",
        "2024-04-06",
        "2024-10-05",
        "2011-12-29",
        "1972-01-06",
        "2018-11-03",
    )
    texts = [
        (datetime.fromisoformat(start) + timedelta(minutes=15 * quarter, seconds=late)).isoformat()
        for start in starts
        for quarter in range(4 * 72)
        for late in (0, 1, 899)
    ]
    local = ZoneInfo(zone)
    exist = []
    for text in texts:
        expected = known([text], Datatype.DATETIME, zone)
        since = np.array([(datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds()], np.int64)
        if expected is None:
            with pytest.raises(times.NoSuchTimeError):
                times._local_offsets(since, local)
        else:
            exist.append(text)
            assert (since - times._local_offsets(since, local)).tolist() == expected
    check(exist, Datatype.DATETIME, zone)


def test_no_zone_changes_its_offset_twice_within_a_day() -> None:
    """Else days with the same offset at both ends need not have it throughout."""
    for zone in available_timezones():
        with _opened(zone) as file:
            kinds, times, offsets, *_ = _common.load_data(file)
        changes = [
            time
            for time, (before, after) in zip(times[1:], pairwise(kinds), strict=True)
            if offsets[before] != offsets[after]
        ]
        assert all(later - sooner > 2 * 86_400 for sooner, later in pairwise(changes)), zone


def _opened(zone: str):  # type: ignore[no-untyped-def]
    path = _tzpath.find_tzfile(zone)
    return open(path, "rb") if path else _common.load_tzdata(zone)


# --- What columns share ----------------------------------------------------------------------------


@settings(max_examples=examples(50))
@given(columns(SMALL, FLOATS, POWERS).filter(lambda texts: all(map(is_finite, texts))), columns(SMALL))
def test_keys_of_parts_can_be_compared_in_one_unit(some: list[str], others: list[str]) -> None:
    parts = [pa.array(texts, pa.string()) for texts in (some, others)]
    places = max(unit_places(part, Datatype.DOUBLE) for part in parts)
    found = [key for part in parts for key in keys(part, Datatype.DOUBLE, None, places).tolist()]
    exact = [number(shortest(text)) for text in some + others]
    assert found == [value * Fraction(10) ** places for value in exact]


def test_keys_of_times_can_be_compared_in_one_unit() -> None:
    coarse, fine = pa.array(["2024-01-01T00:00:01"]), pa.array(["2024-01-01T00:00:00.25Z"])
    assert unit_places(coarse, Datatype.DATETIME) == 0
    assert unit_places(fine, Datatype.DATETIME) == 2
    later, sooner = (keys(part, Datatype.DATETIME, "UTC", 2).tolist()[0] for part in (coarse, fine))
    assert later - sooner == 75
    with pytest.raises(ValueError, match="more decimal places"):
        keys(fine, Datatype.DATETIME, None, 1)
    with pytest.raises(ValueError, match="at most"):
        keys(fine, Datatype.DATETIME, None, 10)
    with pytest.raises(ValueFormError):
        unit_places(pa.array(["2024-01-01T00:00+24:00"]), Datatype.DATETIME)


def test_keys_of_nothing_are_none() -> None:
    for datatype in Datatype:
        if datatype.is_ordered:
            found = keys(pa.array([], pa.string()), datatype, None, unit_places(pa.array([]), datatype))
            assert found.dtype == np.int64
            assert len(found) == 0


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_every_kind_of_text_column_is_read(kind: pa.DataType) -> None:
    """Slices too: their characters stand in the middle of a shared store."""
    whole = pa.array(["junk", "2024-01-01T00:00:01.5", "2024-01-01 00:00", "junk"], pa.string()).cast(kind)
    part = whole.slice(1, 2)
    assert make_codebook(part, Datatype.DATETIME, None, has_missing=False).codes.tolist() == [2, 1]
    assert infer_datatype(part, None) is Datatype.DATETIME


def test_parts_of_a_long_column_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "_CHUNK", 3)
    monkeypatch.setattr(values, "_CHUNK", 3)
    texts = [f"2024-01-01T00:00:{second:02}{'.5' * (second % 4 == 0)}" for second in range(20)]
    check(texts, Datatype.DATETIME)
    assert infer_datatype(pa.array([*texts, "x"]), None) is Datatype.STRING
