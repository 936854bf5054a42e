"""Stated sensitivities are those of the worst pair of neighbours among all small data sets."""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from smalti.transforms.sensitivity import (
    Bounds,
    Contribution,
    NeighboringRelation,
    Query,
    Sensitivity,
    binary_sum,
    clipped_sum,
    count,
    distinct_count,
    histogram,
    mean,
    mean_of_known_number,
    median_of_known_number,
    mode_utility,
    quantile_utility,
    rank_utilities,
    split_budget,
    variance,
    variance_of_known_number,
)

ADD, CHANGE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.CHANGE_ONE
UNIT = Bounds(Fraction(0), Fraction(1))

Row = tuple[int, int]
"""The group and the value of a row."""
Respondent = tuple[Row, ...]
Rows = tuple[Row, ...]
Answer = Callable[[Rows], list[Fraction]]


def respondents(query: Query, groups: int, values: tuple[int, ...]) -> list[Respondent]:
    """All respondents that a contribution bound lets through, in one group if there is no grouping."""
    bound = query.contribution
    places = range(groups) if query.grouped or query.filtered else range(1)
    least = 1 if bound.rows == 1 else 0
    return [
        rows
        for number in range(least, bound.rows + 1)
        for rows in combinations_with_replacement(list(product(places, values)), number)
        if not query.grouped
        or (
            len({group for group, _ in rows}) <= bound.groups
            and max(Counter(group for group, _ in rows).values(), default=0) <= bound.most_in_group
        )
    ]


def neighbours(
    query: Query, groups: int, values: tuple[int, ...], others: int
) -> Iterator[tuple[Rows, Rows]]:
    """All pairs of neighbours with some number of further rows, each of another respondent."""
    everyone = respondents(query, groups, values)
    places = range(groups) if query.grouped or query.filtered else range(1)
    single = list(product(places, values))
    for number in range(others + 1):
        for rest in combinations_with_replacement(single, number):
            for one in everyone:
                for other in ((),) if query.neighbors is ADD else everyone:
                    yield (*rest, *one), (*rest, *other)


def worst(pairs: Iterator[tuple[Rows, Rows]], answer: Answer) -> tuple[Fraction, Fraction, Fraction]:
    found = [Fraction(0)] * 3
    for one, other in pairs:
        changes = [abs(a - b) for a, b in zip(answer(one), answer(other), strict=True)]
        norms = sum(changes), sum(change**2 for change in changes), max(changes)
        found = [max(pair) for pair in zip(found, norms, strict=True)]
    return found[0], found[1], found[2]


def stated(sensitivity: Sensitivity) -> tuple[Fraction, Fraction, Fraction]:
    assert sensitivity.proof.endswith((".", ")"))
    return sensitivity.l1, sensitivity.l2_squared, sensitivity.linf


def sums(groups: int) -> Answer:
    return lambda rows: [Fraction(sum(v for g, v in rows if g == group)) for group in range(groups)]


def counts(groups: int) -> Answer:
    return lambda rows: [Fraction(sum(g == group for g, _ in rows)) for group in range(groups)]


def distinct(groups: int) -> Answer:
    return lambda rows: [Fraction(len({v for g, v in rows if g == group})) for group in range(groups)]


SINGLE, SEVERAL = Contribution(), Contribution(rows=2)
SHAPES = [
    (Query(neighbors, contribution, grouped, filtered), 4 if grouped else 1 + filtered)
    for neighbors in (ADD, CHANGE)
    for contribution in (SINGLE, SEVERAL, Contribution(2, 2, 1), Contribution(2, 1))
    for grouped, filtered in ((False, False), (False, True), (True, False))
]


def kept(query: Query, groups: int) -> int:
    """How many of the groups are answered: of two places the second is outside of a filter."""
    return groups if query.grouped else 1


@pytest.mark.parametrize(("query", "groups"), SHAPES)
@pytest.mark.parametrize("values", [(0, 3), (-1, 3), (-3, 3), (-3, -1), (2, 3)])
def test_sums(query: Query, groups: int, values: tuple[int, int]) -> None:
    bounds = Bounds(Fraction(values[0]), Fraction(values[1]))
    found = worst(neighbours(query, groups, values, 0), sums(kept(query, groups)))
    assert stated(clipped_sum(bounds, query)) == found


@pytest.mark.parametrize(("query", "groups"), SHAPES)
def test_counts_and_binary_sums(query: Query, groups: int) -> None:
    answers = kept(query, groups)
    assert stated(count(query)) == worst(neighbours(query, groups, (1,), 0), counts(answers))
    assert stated(binary_sum(query)) == worst(neighbours(query, groups, (0, 1), 0), sums(answers))
    if query.grouped:
        assert stated(histogram(query)) == stated(mode_utility(query)) == stated(count(query))


@pytest.mark.parametrize(("query", "groups"), SHAPES)
def test_distinct_counts(query: Query, groups: int) -> None:
    pairs = neighbours(query, groups, (1, 2, 3), 0 if query.grouped else 1)
    assert stated(distinct_count(query)) == worst(pairs, distinct(kept(query, groups)))


def utilities(level: Fraction) -> Answer:
    def answer(rows: Rows) -> list[Fraction]:
        values = [value for _, value in rows]
        candidates = range(4)
        below = [sum(v < c for v in values) for c in candidates]
        upto = [sum(v <= c for v in values) for c in candidates]
        return [Fraction(u) for u in rank_utilities(below, upto, len(values), level)]

    return answer


@pytest.mark.parametrize("neighbors", [ADD, CHANGE])
@pytest.mark.parametrize("rows", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(1)])
def test_quantile_utilities(neighbors: NeighboringRelation, rows: int, level: Fraction) -> None:
    query = Query(neighbors, Contribution(rows))
    found = worst(neighbours(query, 1, (0, 2, 3), 3), utilities(level))
    assert quantile_utility(query).linf >= found[2]
    if rows < 3 or neighbors is CHANGE:  # three rows that come together move the wanted rank, too
        assert quantile_utility(query).linf == found[2]
    assert quantile_utility(Query(neighbors, Contribution(rows), grouped=True)).l1 == rows * (
        2 if neighbors is CHANGE else 1
    )


def of_known_number(answer: Callable[[list[Fraction]], Fraction], number: int) -> Fraction:
    values = [Fraction(step, 4) for step in range(5)]
    pairs = (
        (answer([*rest, one]), answer([*rest, other]))
        for rest in combinations_with_replacement(values, number - 1)
        for one, other in product(values, repeat=2)
    )
    return max(abs(one - other) for one, other in pairs)


def average(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def spread(values: list[Fraction]) -> Fraction:
    return average([value**2 for value in values]) - average(values) ** 2


def lower_median(values: list[Fraction]) -> Fraction:
    return sorted(values)[(len(values) - 1) // 2]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_statistics_of_a_known_number_of_respondents(number: int) -> None:
    assert mean_of_known_number(UNIT, number).l1 == of_known_number(average, number) == Fraction(1, number)
    assert variance_of_known_number(UNIT, number).l1 == of_known_number(spread, number)
    assert median_of_known_number(UNIT).l1 == of_known_number(lower_median, number) == 1


def test_the_list_of_cs208() -> None:
    query = Query(CHANGE)
    assert binary_sum(query).l1 == 1
    with pytest.raises(TypeError):
        clipped_sum(query)  # type: ignore[call-arg, arg-type]  # over all real numbers: no finite sensitivity
    assert mean_of_known_number(UNIT, 100).l1 == Fraction(1, 100)
    assert median_of_known_number(UNIT).l1 == 1
    assert variance_of_known_number(UNIT, 100).l1 == Fraction(99, 10_000)


def test_the_mean_of_a_private_number_exceeds_the_sensitivity_of_a_known_one() -> None:
    zeros = [Fraction(0)] * 3
    change = average([*zeros, Fraction(1)]) - average(zeros)
    assert change == Fraction(1, 4)  # with n = 4; the broken way would take the larger n of a neighbour
    worst_change = max(
        abs(average([*rest, Fraction(1)]) - average(rest)) for rest in ([Fraction(0)], zeros)
    )
    assert worst_change > mean_of_known_number(UNIT, 4).l1


def test_salary_example() -> None:
    """D5.2, 3.2.4: the average salary with epsilon 2."""
    parts = mean(Bounds(Fraction(0), Fraction(10_000_000)), Query())
    budget = split_budget(Fraction(2), [Fraction(1)] * len(parts))
    assert [part.l1 for part in parts] == [10_000_000, 1]
    assert [part.l1 / epsilon for part, epsilon in zip(parts, budget, strict=True)] == [10_000_000, 1]


def test_variance_is_squares_and_sum_and_count() -> None:
    squares, total, number = variance(Bounds(Fraction(-2), Fraction(1)), Query())
    assert (squares.l1, total.l1, number.l1) == (4, 2, 1)
    squares, *_ = variance(Bounds(Fraction(1), Fraction(2)), Query(CHANGE))
    assert squares.l1 == 3


def test_median_example() -> None:
    """D5.2, Figure 3.6."""
    values = np.array([1, 3, 5, 7, 8, 11, 12, 13, 17, 22])
    below, upto = values.searchsorted(values).tolist(), values.searchsorted(values, "right").tolist()
    printed = [-4, -3, -2, -1, 0, -1, -2, -3, -4, -5]
    assert rank_utilities(below, upto, len(values), Fraction(1, 2)) == printed


def test_l2_is_not_below_its_exact_value() -> None:
    for rows in range(1, 50):
        sensitivity = histogram(Query(CHANGE, Contribution(rows)))
        assert Fraction(sensitivity.l2) ** 2 >= sensitivity.l2_squared
        assert sensitivity.l2 == pytest.approx(rows * 2**0.5)


def test_budgets_are_divided_without_a_rest() -> None:
    weights = [Fraction(1, 3), Fraction(7), Fraction(1, 7)]
    assert sum(split_budget(Fraction(11, 10), weights)) == Fraction(11, 10)
    for total, parts in ((Fraction(0), weights), (Fraction(1), []), (Fraction(1), [Fraction(0)])):
        with pytest.raises(ValueError, match="above 0"):
            split_budget(total, parts)


@pytest.mark.parametrize("bound", [{"rows": 0}, {"groups": 0}, {"rows_in_group": 0}])
def test_contributions_are_at_least_one(bound: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="from 1"):
        Contribution(**bound)


def test_bounds_and_numbers_are_checked() -> None:
    with pytest.raises(ValueError, match="lower bound"):
        Bounds(Fraction(1), Fraction(0))
    with pytest.raises(ValueError, match="at least 1"):
        mean_of_known_number(UNIT, 0)
