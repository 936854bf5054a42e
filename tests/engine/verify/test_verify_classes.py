"""The verifier's count of respondents and of matched values, against counting by hand."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smalti.engine.verify.classes import Groups, diversity, group, largest_matching, least_respondents
from smalti.engine.verify.read import Codes


def codes(*numbers: int) -> Codes:
    return np.array(numbers, np.int64)


def by_hand(rows: list[tuple[int, int]]) -> tuple[int, bool]:
    """The largest matching and homogeneity of one class of (respondent, value), by trying everything."""
    respondents, values = sorted({r for r, _ in rows}), sorted({v for _, v in rows})
    edges = set(rows)
    size = min(len(respondents), len(values))
    longer, shorter = (respondents, values) if len(respondents) >= len(values) else (values, respondents)
    swapped = longer is values
    best = max(
        sum(((b, a) if swapped else (a, b)) in edges for a, b in zip(choice, shorter, strict=True))
        for choice in permutations(longer, size)
    )
    same = any(all((r, v) in edges for r in respondents) for v in values)
    return best, same


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(-1, 4)), min_size=1, max_size=24
)


@given(ROWS)
def test_agrees_with_trying_everything(rows: list[tuple[int, int, int]]) -> None:
    of_class, respondents, values = (codes(*part) for part in zip(*rows, strict=True))
    found = diversity(group([of_class]), respondents, values)
    expected = [by_hand([(r, v) for c, r, v in rows if c == number]) for number in {c for c, _, _ in rows}]
    assert found.least_values == min(size for size, _ in expected)
    assert found.is_homogeneous == any(same for _, same in expected)
    least = min(len({r for c, r, _ in rows if c == number}) for number in {c for c, _, _ in rows})
    assert least_respondents(group([of_class]), respondents) == least


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=6))
def test_the_largest_matching(holders: list[list[int]]) -> None:
    rows = [(r, v) for v, held in enumerate(holders) for r in held]
    assert largest_matching(holders) == (by_hand(rows)[0] if rows else 0)


def test_a_matching_that_greed_misses() -> None:
    n = 400
    holders = [[i, i + 1] for i in range(n)] + [[0]]
    assert largest_matching(holders) == n + 1


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1))
def test_groups_are_the_distinct_tuples(rows: list[tuple[int, int]]) -> None:
    found = group([codes(*part) for part in zip(*rows, strict=True)])
    numbers = dict.fromkeys(rows)
    order = {row: number for number, row in enumerate(numbers)}
    assert found.ids.tolist() == [order[row] for row in rows]
    assert found.first_rows().tolist() == [rows.index(row) for row in numbers]


def test_groups_of_very_many_combinations() -> None:
    """More than 2 ** 64: products that wrap around would join the first two rows."""
    wide = [codes(0, 1, 0, -1), *[codes(0, 0, 0, 2**32 - 2) for _ in range(2)]]
    assert group(wide).ids.tolist() == [0, 1, 0, 2]


def test_no_rows() -> None:
    none = group([codes()])
    assert none == Groups(none.ids, 0)
    assert least_respondents(none, codes()) == 0
    assert diversity(none, codes(), codes()).least_values == 0


@pytest.mark.parametrize("respondents", [1, 10])
def test_one_respondent_is_one_whatever_the_rows(respondents: int) -> None:
    rows = np.arange(10) % respondents
    assert least_respondents(group([np.zeros(10, np.int64)]), rows) == respondents
