"""Lexical forms, order and codes; and that what looks like a number to a guesser is none."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import coded

from smalti.transforms.base import Datatype
from smalti.transforms.problem import MISSING, SCALE, OrderedAttribute, UnorderedAttribute
from smalti.transforms.values.texts import ValueFormError, infer_datatype, make_codebook


@pytest.mark.parametrize(
    ("texts", "datatype"),
    [
        ([], "string"),
        (["1", "-3", "0"], "integer"),
        (["1", "2.50"], "decimal"),
        (["2020-02-29"], "date"),
        (["2024-03-05T14:07:00", "2024-03-05 14:07"], "dateTime"),
        (["2024-03-05T14:07:00Z", "2024-03-05T14:07:00+02:00"], "dateTime"),
        (["2024-03-05T14:07:00Z", "2024-03-05T14:07:00"], "string"),
        (["2023-02-30"], "string"),
        (["2020"], "integer"),
        *[
            ([text], "string")
            for text in ("1_000", "0x10", "1e10", "007", " 12", "12 ", "+1", "1.", ".5", "nan", "١٢", "1\n")
        ],
        (["1", "x"], "string"),
    ],
)
def test_inference_takes_the_narrowest_type_and_guesses_nothing(texts: list[str], datatype: str) -> None:
    assert infer_datatype(pa.array(texts, pa.string()), None) == datatype


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3), min_size=1, unique=True))
def test_numbers_are_ordered_exactly(values: list[Decimal]) -> None:
    texts = [f"{value:f}" for value in values]
    book = make_codebook(pa.array(texts), Datatype.DECIMAL, None, False)
    ranked = sorted(set(values))
    assert book.codes.tolist() == [ranked.index(value) + 1 for value in values]
    assert isinstance(book.attribute, OrderedAttribute)
    exact = [Fraction(value) for value in ranked]
    low, width = exact[0], exact[-1] - exact[0]
    expected = [int((value - low) * SCALE / width) if width else 0 for value in exact]
    assert book.attribute.positions.tolist() == [-SCALE, *expected]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_doubles_are_ordered_exactly(values: list[float]) -> None:
    texts = sorted({repr(value).removeprefix("+") for value in values})
    book = make_codebook(pa.array(texts), Datatype.DOUBLE, None, False)
    exact = [Decimal(text) for text in texts]
    ranked = sorted(set(exact))
    assert book.codes.tolist() == [ranked.index(value) + 1 for value in exact]


@given(st.lists(st.dates(), min_size=1, unique=True))
def test_dates_are_ordered(values: list[date]) -> None:
    book = make_codebook(pa.array([v.isoformat() for v in values]), Datatype.DATE, None, False)
    assert book.codes.tolist() == [sorted(values).index(value) + 1 for value in values]


@given(
    st.lists(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), min_size=1),
    st.integers(-14 * 60, 14 * 60),
)
def test_instants_are_compared_whatever_their_zone(values: list[datetime], minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    utc = [value.replace(tzinfo=UTC) for value in values]
    texts = sorted({v.isoformat() for v in utc} | {v.astimezone(zone).isoformat() for v in utc})
    book = make_codebook(pa.array(texts), Datatype.DATETIME, None, False)
    instants = [datetime.fromisoformat(text) for text in texts]
    ranked = sorted(set(instants))
    assert book.codes.tolist() == [ranked.index(instant) + 1 for instant in instants]


def test_a_declared_zone_is_that_of_times_without_one() -> None:
    texts = pa.array(["2024-07-01T12:00:00", "2024-07-01T10:00:00Z", "2024-01-01T12:00:00"])
    book = make_codebook(texts, Datatype.DATETIME, "Europe/Rome", False)
    assert book.codes.tolist() == [2, 2, 1]
    with pytest.raises(ValueFormError):
        make_codebook(texts, Datatype.DATETIME, None, False)


def test_nanoseconds_count() -> None:
    texts = pa.array(["2024-07-01T12:00:00.000000002", "2024-07-01T12:00:00.000000001", "2024-07-01T12:00"])
    assert make_codebook(texts, Datatype.DATETIME, None, False).codes.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("text", "datatype"),
    [("2023-02-30", "date"), ("2024-01-01T25:00", "dateTime"), ("x", "integer"), ("1e5", "decimal")],
)
def test_a_text_that_is_no_value_is_refused(text: str, datatype: str) -> None:
    with pytest.raises(ValueFormError) as caught:
        make_codebook(pa.array([text]), Datatype(datatype), None, False)
    assert text not in str(caught.value)


def test_equal_values_share_a_code_and_the_shortest_spelling() -> None:
    book = make_codebook(pa.array(["10.0", "10", "9", "10.00"]), Datatype.DECIMAL, None, False)
    assert book.codes.tolist() == [2, 2, 1, 2]
    assert book.texts.to_pylist() == ["9", "10"]


def test_strings_are_ordered_by_their_bytes_and_missing_is_a_value() -> None:
    book, codes = coded(["b", None, "é", "a", "\U0001f600", "｡", "b"], Datatype.STRING)
    assert book.texts.to_pylist() == ["a", "b", "é", "｡", "\U0001f600"]  # by code point, not by UTF-16
    assert codes.tolist() == [2, MISSING, 3, 1, 5, 4, 2]
    assert book.attribute == UnorderedAttribute(6)


def test_a_column_of_missing_values_has_no_codes() -> None:
    book, codes = coded([None, None], Datatype.INTEGER)
    assert book.texts.to_pylist() == []
    assert codes.tolist() == [MISSING, MISSING]
