"""What texts mean to a release: each by itself, exactly, and without an error."""

import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from aggregate_oracle import same
from hypothesis import given
from hypothesis import strategies as st
from release_plans import CENTS, NUMBERS, TIMES, VALUES, YEARS, measure

from smalti.engine.losses.readings import bins, identities, in_units, key_labels, positions, whole_units
from smalti.engine.plan.reads import Key, ReadColumn
from smalti.engine.releases.digits import Digits
from smalti.errors import InternalError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

EDGES = {
    Datatype.STRING: ("0", "0.3", "41"),
    Datatype.INTEGER: ("-3", "7.5", "1000"),
    Datatype.DOUBLE: ("-0.5", "0.3", "1e3"),
    Datatype.DATE: ("1975-06-15", "2001-12-01"),
    Datatype.DATETIME: ("2024-10-27T00:30", "2024-10-27T02:30", "2024-10-27T03:00"),
}
TRAPS = [text for some in (NUMBERS, TIMES, VALUES["born"]) for text in some if text]
TEXTS = st.lists(
    st.sampled_from(TRAPS)
    | st.text(min_size=1, max_size=5)
    | st.decimals(allow_nan=True).map(str),
    unique=True,
)  # fmt: skip


def column(datatype: Datatype, zone: str | None = None) -> ReadColumn:
    return ReadColumn("x", IRI("http://example.com/x"), datatype, zone)


@given(TEXTS, st.sampled_from(list(EDGES)), st.sampled_from([None, "Europe/Rome"]))
def test_each_text_is_read_by_itself(texts: list[str], datatype: Datatype, zone: str | None) -> None:
    where, edges = column(datatype, zone), EDGES[datatype]
    array = pa.array(texts, pa.string())
    together = bins(array, edges, where).tolist()
    assert together == [bins(pa.array([text]), edges, where)[0] for text in texts]
    units = [number for part in in_units(array, CENTS, datatype) for number in part]
    assert units == [next(in_units(pa.array([text]), CENTS, datatype))[0] for text in texts]
    assert all(CENTS.least <= number <= CENTS.most for number in units)


@given(TEXTS, st.sampled_from(list(EDGES)), st.sampled_from([None, "Europe/Rome"]))
def test_texts_are_the_same_exactly_where_their_values_are(
    texts: list[str], datatype: Datatype, zone: str | None
) -> None:
    where = column(datatype, zone)
    found = identities(pa.array(texts, pa.string()), where)
    numbers = list(range(len(texts))) if found is None else found.tolist()
    for text, number in zip(texts, numbers, strict=True):
        equal = {other for other, its in zip(texts, numbers, strict=True) if its == number}
        assert equal == {other for other in texts if same(other, where) == same(text, where)}


def test_huge_exponents_and_long_numbers_take_no_time() -> None:
    texts = [f"{number}e{sign}{number % 1000}" for number in range(1, 20_000) for sign in ("", "-")]
    texts += ["1e999999999", "9" * 100_000, "1e-999999999"]
    begin = time.process_time()
    for datatype in (Datatype.DOUBLE, Datatype.STRING):
        list(in_units(pa.array(texts), YEARS, datatype))
        bins(pa.array(texts), ("0", "1", "1e100"), column(datatype))
        identities(pa.array(texts), column(datatype))
    assert time.process_time() - begin < 10


UNITS = st.sampled_from(["0.001", "0.25", "1", "3", "9"])


@given(st.decimals(-9, 9, places=3), UNITS, st.sampled_from(["-9", "0"]))
def test_rounding_goes_to_the_nearest_unit_from_the_origin(number: Decimal, unit: str, origin: str) -> None:
    made = measure("x", "-9", "9", unit, origin)
    ((units,),) = in_units(pa.array([str(number)]), made, Datatype.DECIMAL)
    exact = (number - made.origin) / made.unit
    assert units == int(exact.to_integral_value(rounding="ROUND_HALF_EVEN"))
    assert whole_units(made.origin + units * made.unit, made) == units


@given(st.lists(st.integers(-9, 9)), st.lists(st.integers(-9, 9), unique=True).map(sorted))
def test_positions_count_what_is_below_each_candidate(units: list[int], candidates: list[int]) -> None:
    places = positions(units, candidates)
    for i, candidate in enumerate(candidates):
        assert sum(place < 2 * i + 1 for place in places) == sum(number < candidate for number in units)
        assert sum(place <= 2 * i + 1 for place in places) == sum(number <= candidate for number in units)


@given(st.integers(0, 1 << 70), st.integers(-(1 << 70), 1 << 70), st.data())
def test_digits_are_small_and_give_the_sum(width: int, least: int, data: st.DataObject) -> None:
    digits = Digits("s", least, least + width)
    numbers = data.draw(st.lists(st.integers(least, least + width), max_size=9))
    columns = {name: np.array(column) for name, column in digits.split(numbers).items()}
    assert all((column >= 0).all() and (column < 1 << 24).all() for column in columns.values())
    sums = {name: int(column.sum()) for name, column in columns.items()}
    assert digits.total(sums, len(numbers)) == sum(numbers)
    assert tuple(columns) == digits.columns == tuple(digits.split([]))


def test_labels_of_bins_are_open_above_but_for_the_last() -> None:
    assert key_labels(Key("x", edges=("0", "1.5", "2"))) == ("[0..1.5)", "[1.5..2]")
    assert key_labels(Key("x", edges=("a", "b"))) == ("[a..b]",)
    assert key_labels(Key("x", values=("b", "a"))) == ("b", "a")


@pytest.mark.parametrize("edges", [("1", "x"), ("1", "0"), ("1", "1.0")])
def test_edges_that_do_not_ascend_are_a_fault(edges: tuple[str, ...]) -> None:
    with pytest.raises(InternalError):
        bins(pa.array(["1"]), edges, column(Datatype.DECIMAL))


def test_a_candidate_between_two_units_is_a_fault() -> None:
    with pytest.raises(InternalError):
        whole_units("0.05", CENTS)
