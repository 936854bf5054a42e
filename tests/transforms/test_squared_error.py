"""Shares of squared error against sums over rows, one by one."""

from fractions import Fraction

import numpy as np
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.base import Figure
from smalti.transforms.measures.squared_error import error_of, error_within
from smalti.transforms.problem import FigureAttribute


def mean(numbers: list[int]) -> Fraction:
    return Fraction(sum(numbers), len(numbers))


def squares(numbers: list[int], center: Fraction) -> Fraction:
    return sum(((number - center) ** 2 for number in numbers), Fraction(0))


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2), st.booleans()),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([1, 10**12, 10**25]),
)
def test_the_share_within_parts_is_that_of_single_rows(
    tuples: list[tuple[int, int, int, bool]], unit: int
) -> None:
    """Of (code, rows, part, published); code 0 is missing, and large numbers are whole ones of Python."""
    values = [unit * number for number in (-7, 0, 1, 9)]
    numbers = np.array(values, object if unit > 10**18 else np.int64)
    attribute = FigureAttribute(np.zeros(5, np.int64), Figure.MEAN, numbers, 0, 0, False)
    codes, rows, parts, kept = (np.array(column) for column in zip(*tuples, strict=True))
    single = [(values[c - 1], p, k) for c, n, p, k in tuples if c for _ in range(n)]
    everybody = [value for value, _, _ in single]
    total = squares(everybody, mean(everybody)) if everybody else Fraction(0)
    within = Fraction(0)
    for part in range(3):
        mine = [value for value, of, is_kept in single if of == part and is_kept]
        within += squares(mine, mean(mine)) if mine else 0
    left_out = [value for value, _, is_kept in single if not is_kept]
    within += squares(left_out, mean(everybody)) if left_out else 0
    assert error_within(attribute, codes, rows, parts, kept) == (within / total if total else 0)


def test_errors_by_hand() -> None:
    """1, 2, 3, 4, of which the last two are published as 2: SSE is 1 + 4, SST 5."""
    numbers = np.array([1, 2, 3, 4])
    assert error_of(numbers, np.minimum(numbers, 2), np.ones(4, np.int64)) == 1
    assert error_of(numbers, numbers, np.ones(4, np.int64)) == 0
    assert error_of(np.array([3]), np.array([1]), np.array([9])) == 0, "all values are equal"
