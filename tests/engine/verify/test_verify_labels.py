"""The verifier's reading of labels: what each covers, and what is no label."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.engine.plan.plan import Column, Role
from smalti.engine.verify import labels as verify_labels
from smalti.engine.verify.labels import UnreadableError, coverage, read_text_label
from smalti.engine.verify.read import Coded
from smalti.errors import DataError, GuaranteeError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI


def coded(texts: list[str | None]) -> Coded:
    whole = pa.array(texts, pa.large_string()).dictionary_encode()
    codes = np.array([-1 if code is None else code for code in whole.indices.to_pylist()], np.int64)
    return Coded(codes, whole.dictionary)


def covers(datatype: Datatype, label: str | None, original: str | None, zone: str | None = None) -> bool:
    column = Column("c", IRI("https://example.org/c"), datatype, False, Role.QUASI_IDENTIFIER, zone)
    published, owned = coded([label]), coded([original])
    return bool(coverage(column, owned, published).claims(published.codes, owned.codes)[0])


YES = [
    ("integer", None, None),
    ("integer", "10", "10"),
    ("integer", "[3..7]", "3"),
    ("integer", "[3..7]", "7"),
    ("integer", "[-5..-1]", "-5"),
    ("integer", "[-5..-1]", "-1"),
    ("integer", "[-5..5]", "0"),
    ("integer", "[3..7|]", None),
    ("integer", "[3..7|]", "5"),
    ("integer", "[3..3|]", None),
    ("integer", "[1..100000000000000000000000000000]", "99999999999999999999999999999"),
    ("decimal", "10", "10.0"),
    ("decimal", "10.00", "10"),
    ("decimal", "[-0.5..0.5]", "-0"),
    ("decimal", "[-0.5..-0.25]", "-0.3"),
    ("decimal", "[1.5..2]", "1.50"),
    ("double", "1e3", "1000"),
    ("double", "[1E-400..1e300]", "1"),
    ("double", "[-1e300..-1e299]", "-5e299"),
    ("double", "[0..9007199254740992]", "9007199254740993"),  # one float of 64 bits
    ("date", "[2020-02-28..2020-03-01]", "2020-02-29"),
    ("date", "[0001-01-01..9999-12-31|]", None),
    ("dateTime", "2020-01-01T10:00:00Z", "2020-01-01T12:00:00+02:00"),
    ("dateTime", "2020-01-01T10:00Z", "2020-01-01T08:30:00.000-01:30"),
    ("dateTime", "[2020-01-01 10:00..2020-01-01 11:00]", "2020-01-01T10:59:59.999999999"),
    ("dateTime", "[0001-01-01T00:00..9999-12-31T23:59:59]", "1969-12-31T23:59:59.5-23:59"),
    ("string", None, None),
    ("string", "a", "a"),
    ("string", "a|b", "a|b"),
    ("string", "x{y}", "x{y}"),
    ("string", r"\[a", "[a"),
    ("string", r"\{a}", "{a}"),
    ("string", r"\\", "\\"),
    ("string", r"\\a\b", r"\a\b"),
    ("string", "{a|b|c}", "b"),
    ("string", "{a|}", None),
    ("string", "{a|b|}", "a"),
    ("string", r"{\\|\{|\||\}}", "|"),
    ("string", "{[a|b}", "[a"),
    ("string", "{a\nb|c}", "a\nb"),
    ("string", "{a|é}", "é"),
]

NO = [
    ("integer", None, "1"),
    ("integer", None, "0"),
    ("string", None, "0"),
    ("integer", "9999999999999999998", "9999999999999999999"),
    ("integer", "1", None),
    ("integer", "[3..7]", None),
    ("integer", "[3..7]", "2"),
    ("integer", "[3..7|]", "8"),
    ("integer", "[-5..-1]", "1"),
    ("integer", "[1..100000000000000000000000000000]", "100000000000000000000000000001"),
    ("decimal", "0.1", "0.10000000000000000000000000000000001"),
    ("double", "[0..9007199254740992]", "9007199254740994"),
    ("date", "[2020-02-28..2020-03-01]", "2020-03-02"),
    ("dateTime", "2020-01-01T10:00:00", "2020-01-01T10:00:00.000000001"),
    ("dateTime", "2020-01-01T10:00:00.5", "2020-01-01T10:00:00.05"),
    ("dateTime", "[2020-01-01T10:00:00Z..2020-01-01T11:00:00Z]", "2020-01-01T10:30:00+02:00"),
    ("string", None, "a"),
    ("string", "a", None),
    ("string", "a", "A"),
    ("string", "{a|b}", None),
    ("string", "{a|b|}", "c"),
    ("string", "{a|b}", "a|b"),
    ("string", r"\[a", r"\[a"),
]

MALFORMED = [
    ("integer", "[3..7"),
    ("integer", "[7..3]"),
    ("integer", "[3..7||]"),
    ("integer", "[3..]"),
    ("integer", "[3..4..5]"),
    ("integer", "[|]"),
    ("integer", "3-7"),
    ("integer", "*"),
    ("integer", "{3|4}"),
    ("integer", "[1.0..2]"),
    ("integer", "[3..7]\n"),
    ("integer", "07"),
    ("integer", "\u0663"),
    ("decimal", "[1...2]"),
    ("double", "1e9999999"),
    ("double", "nan"),
    ("date", "[2020-02-30..2020-03-01]"),
    ("date", "2020-13-01"),
    ("dateTime", "2020-01-01T24:00:00"),
    ("dateTime", "2020-01-01T10:00:00+99:00"),
    ("string", "[a"),
    ("string", "[a..b]"),
    ("string", "{a}"),
    ("string", "{a|b"),
    ("string", "{"),
    ("string", "{}"),
    ("string", "{|}"),
    ("string", "{a||b}"),
    ("string", "{b|a}"),
    ("string", "{a|a}"),
    ("string", "{a|{}"),
    ("string", r"{a|\b}"),
    ("string", "{a|b\\}"),
    ("string", "\\"),
    ("string", r"\a"),
]


@pytest.mark.parametrize(("datatype", "label", "original"), YES)
def test_covers(datatype: str, label: str | None, original: str | None) -> None:
    assert covers(Datatype(datatype), label, original)


@pytest.mark.parametrize(("datatype", "label", "original"), NO)
def test_does_not_cover(datatype: str, label: str | None, original: str | None) -> None:
    assert not covers(Datatype(datatype), label, original)


@pytest.mark.parametrize(("datatype", "label"), MALFORMED)
def test_what_is_no_label_breaks_the_promise(datatype: str, label: str) -> None:
    with pytest.raises(GuaranteeError) as caught:
        covers(Datatype(datatype), label, None)
    assert "`c`" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("datatype", "original"),
    [("integer", "1_000"), ("date", "2021-02-29"), ("dateTime", "2020-01-01T10:61")],
)
def test_an_original_of_another_form_is_the_datas_fault(datatype: str, original: str) -> None:
    with pytest.raises(DataError) as caught:
        covers(Datatype(datatype), None, original)
    assert original not in str(caught.value)


def test_times_without_a_zone_are_read_in_the_columns_zone() -> None:
    label = "[2020-06-01T10:00:00Z..2020-06-01T10:00:00Z]"
    assert covers(Datatype.DATETIME, label, "2020-06-01T12:00:00", "Europe/Rome")
    assert not covers(Datatype.DATETIME, label, "2020-06-01T12:00:00", "UTC")
    assert not covers(Datatype.DATETIME, label, "2020-06-01T12:00:00")
    with pytest.raises(DataError, match="time zone"):
        covers(Datatype.DATETIME, label, "2020-06-01T12:00:00", "Nowhere/Town")


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=3, max_size=3), st.booleans())
def test_ranges_agree_with_decimals(numbers: list[Decimal], with_exponent: bool) -> None:
    low, high = sorted(numbers[:2])
    suffix = "e0" if with_exponent else ""
    label = f"[{low}{suffix}..{high}{suffix}]"
    assert covers(Datatype.DOUBLE, label, f"{numbers[2]}") == (low <= numbers[2] <= high)


def write_set(items: list[str], with_missing: bool) -> str:
    ordered = sorted(items, key=str.encode)
    escaped = ["".join("\\" + c if c in "\\|{}" else c for c in item) for item in ordered]
    return "{" + "|".join(escaped + [""] * with_missing) + "}"


TEXTS = st.text("ab[]{}|\\é\n", min_size=1, max_size=4)


@given(st.sets(TEXTS, min_size=2, max_size=5), st.booleans())
def test_sets_round_trip(items: set[str], with_missing: bool) -> None:
    listed, missing = read_text_label(write_set(list(items), with_missing))
    assert set(listed) == items
    assert missing is with_missing


@given(TEXTS)
def test_any_text_is_a_label_of_at_most_one_meaning(text: str) -> None:
    try:
        listed, missing = read_text_label(text)
    except UnreadableError:
        return
    if len(listed) == 1 and not missing:
        escaped = "\\" + listed[0] if listed[0][0] in "[{\\" else listed[0]
        assert text == escaped
    else:
        assert text == write_set(list(listed), missing)


# --- many texts at once ----------------------------------------------------------------------------

NOTATIONS = ["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%SZ"]


def temporal(datatype: Datatype, zone: str | None = None) -> Column:
    return Column("c", IRI("https://example.org/c"), datatype, False, Role.QUASI_IDENTIFIER, zone)


def text_array(texts: list[str]) -> pa.Array:
    """Texts that do not begin where their buffer does."""
    return pa.array(["other", *texts], pa.large_string()).slice(1)


@settings(max_examples=examples(100))
@given(st.lists(st.datetimes(), min_size=1, max_size=5), st.sampled_from(NOTATIONS))
def test_times_read_at_once_are_those_read_one_by_one(moments: list[datetime], notation: str) -> None:
    texts = [f"{moment.year:04}{moment.strftime(notation.removeprefix('%Y'))}" for moment in moments]
    column = temporal(Datatype.DATETIME, "Europe/Rome" if notation.endswith("Z") else None)
    found = verify_labels._written_alike(column, text_array(texts))
    is_narrow = all(1678 <= moment.year < 2262 for moment in moments)
    assert (found is not None) == is_narrow
    if found is not None:
        assert found.tolist() == [verify_labels._instants(column)(text) for text in texts]


@settings(max_examples=examples(100))
@given(st.lists(st.dates(), min_size=1, max_size=5))
def test_days_read_at_once_are_those_read_one_by_one(days: list[date]) -> None:
    found = verify_labels._written_alike(temporal(Datatype.DATE), text_array([str(day) for day in days]))
    assert found is not None
    assert found.tolist() == [day.toordinal() for day in days]


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-01-01T10:00", "2020-01-01T10:00:00"],
        ["2020-01-01T10:00:00.5", "2020-01-01T10:00:00.7"],
        ["2020-01-01T10:00+01:00"],
        ["2020-02-30T10:00:00"],
        ["2020-01-01T10:60:00"],
        ["2020-01-01T10:00:60"],
        ["0000-01-01T10:00:00"],
        [],
    ],
)
def test_other_times_are_read_one_by_one(texts: list[str]) -> None:
    assert verify_labels._written_alike(temporal(Datatype.DATETIME), text_array(texts)) is None


def test_times_by_the_clocks_of_a_zone_are_read_one_by_one() -> None:
    column = temporal(Datatype.DATETIME, "Europe/Rome")
    assert verify_labels._written_alike(column, text_array(["2020-07-01T10:00:00"])) is None


@settings(max_examples=examples(100, full=2000))
@given(
    st.lists(st.from_regex(r"-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?", fullmatch=True), min_size=1, max_size=6)
)
def test_numbers_read_at_once_are_exact(texts: list[str]) -> None:
    found = verify_labels._fixed_point(text_array(texts))
    assert found is not None
    unit = max(-int(Decimal(text).as_tuple().exponent) for text in texts)
    assert found.tolist() == [int(Decimal(text).scaleb(unit)) for text in texts]


@pytest.mark.parametrize("texts", [["1", "1e3"], ["1.5E-2"], ["1" * 19], ["1" * 10, "0." + "1" * 9]])
def test_wide_numbers_and_powers_are_read_one_by_one(texts: list[str]) -> None:
    assert verify_labels._fixed_point(text_array(texts)) is None
