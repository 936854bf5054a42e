"""Groups of different values: the laws of Anatomy, and what its order tells to whoever knows it."""

from collections import Counter
from itertools import permutations
from random import Random

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.bucketization.anatomy import LEFT_OUT, groups_of


def grouped(values: list[int], precedence: list[int], least: int) -> list[int]:
    codes = np.unique(np.array(values, np.int64), return_inverse=True)[1].astype(np.int64)
    return groups_of(codes, np.array(precedence, np.uint64), least).tolist()


def contents(values: list[int], groups: list[int]) -> dict[int, list[int]]:
    held: dict[int, list[int]] = {}
    for value, group in zip(values, groups, strict=True):
        if group != LEFT_OUT:
            held.setdefault(group, []).append(value)
    return held


def fewest_left_out(values: list[int], least: int) -> int:
    """Try out every number of records that may be kept of one value."""
    sizes = Counter(values).values()
    kept = [sum(min(size, most) for size in sizes) for most in range(len(values) + 1)]
    return len(values) - max(count for most, count in enumerate(kept) if count >= most * least)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.integers(0, 6), max_size=50), st.integers(2, 4), st.randoms(use_true_random=False))
def test_each_group_has_different_values_and_as_few_records_as_possible_are_left_out(
    values: list[int],
    least: int,
    random: Random,
) -> None:
    order = list(range(len(values)))
    random.shuffle(order)
    groups = grouped(values, order, least)
    held = contents(values, groups)
    assert held.keys() == set(range(len(held)))
    for some in held.values():
        assert len(some) == len(set(some)) >= least
    assert groups.count(LEFT_OUT) == fewest_left_out(values, least)
    most = max(Counter(values).values(), default=0)
    assert (groups.count(LEFT_OUT) == 0) == (most * least <= len(values))
    other = list(range(len(values)))
    random.shuffle(other)
    again = contents(values, grouped(values, other, least))
    assert {group: sorted(some) for group, some in again.items()} == {
        group: sorted(some) for group, some in held.items()
    }, "which values are together depends on how often each occurs, and on nothing else"


def published(
    values: tuple[int, ...], precedence: tuple[int, ...]
) -> frozenset[tuple[tuple[int, ...], tuple[int, ...]]]:
    """What a reader sees: which records are together, and which values they have together."""
    groups = grouped(list(values), list(precedence), 2)
    members: dict[int, list[int]] = {}
    for record, group in enumerate(groups):
        members.setdefault(group, []).append(record)
    return frozenset(
        (tuple(records), tuple(sorted(values[record] for record in records)))
        for records in members.values()
    )


TABLE = (0, 2, 2, 0, 1, 1)
SAME_COUNTS = set(permutations(TABLE))


def test_an_order_that_readers_know_gives_values_away() -> None:
    """Were buckets read in the order of the records, this table alone would give these groups."""
    in_order = tuple(range(len(TABLE)))
    seen = published(TABLE, in_order)
    assert all(len(records) == 2 for records, _ in seen)
    assert [table for table in SAME_COUNTS if published(table, in_order) == seen] == [TABLE]


def test_a_secret_order_tells_nothing() -> None:
    """Each way to give the values of a group to its records is as probable as any other."""
    table = (0, 1, 2, 0, 1)
    orders = list(permutations(range(len(table))))
    seen = published(table, orders[100])
    ways = {
        other: sum(published(other, order) == seen for order in orders) for other in permutations(table)
    }
    possible = [other for other, count in ways.items() if count]
    assert len({ways[other] for other in possible}) == 1
    for records, values in seen:
        of_group = {tuple(other[record] for record in records) for other in possible}
        assert of_group == set(permutations(values))


@pytest.mark.parametrize("values", [[], [1], [1, 1, 1], [1, 1, 1, 1, 2]])
def test_where_there_are_too_few_values_all_or_some_are_left_out(values: list[int]) -> None:
    groups = grouped(values, list(range(len(values))), 2)
    assert groups.count(LEFT_OUT) == fewest_left_out(values, 2)
