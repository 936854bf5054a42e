"""Attack types 1 and 2 of D5.2, and the protocol of repetitions.

Statistical tests draw from fixed seeds, and would fail for one seed in a billion (`evidence.FALSE_ALARM`).
"""

import numpy as np
import pytest
from effort import examples
from evidence import share_within
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.errors import DataError
from smalti.transforms.membership.scored import Scored
from smalti.transforms.membership.set_membership import (
    AttackType,
    divided,
    repeated,
    set_success,
    single_accuracy,
)

SINGLE, SET = AttackType.SINGLE, AttackType.SET


def draw(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def scores(*values: float) -> np.ndarray:
    return np.array(values, float)


def test_single_accuracy_by_hand() -> None:
    """The highest four of {9, 8, 2, 1} and {7, 6, 5, 0} are 9, 8, 7 and 6: two of them members'."""
    assert single_accuracy(scores(9, 8, 2, 1), scores(7, 6, 5, 0), draw()) == 0.5
    assert single_accuracy(scores(9, 8, 7, 1), scores(6, 5, 4, 0), draw()) == 0.75
    assert single_accuracy(scores(1, 2), scores(3, 4), draw()) == 0.0


def test_most_of_the_highest_decide_about_sets() -> None:
    assert set_success(scores(9, 8, 1), scores(7, 6, 5), draw())
    assert not set_success(scores(9, 2, 1), scores(7, 6, 5), draw())
    assert not set_success(scores(100, 2, 1), scores(7, 6, 5), draw()), "the mean would be right here"


def test_a_coin_decides_where_both_sets_have_as_many() -> None:
    tied = [set_success(scores(9, 8, 2, 1), scores(7, 6, 5, 0), draw(seed)) for seed in range(2000)]
    low, high = share_within(sum(tied), 2000)
    assert low <= 0.5 <= high


def test_equal_scores_are_ordered_by_chance() -> None:
    found = sum(single_accuracy(scores(1, 1, 1), scores(1, 1, 1), draw(seed)) for seed in range(2000))
    low, high = share_within(round(3 * found), 6000)
    assert low <= 0.5 <= high
    sets = sum(set_success(scores(1, 1, 1), scores(1, 1, 1), draw(seed)) for seed in range(2000))
    low, high = share_within(sets, 2000)
    assert low <= 0.5 <= high


@settings(max_examples=examples(50))
@given(st.lists(st.integers(0, 9), min_size=2, max_size=20), st.integers(0, 9))
def test_the_higher_median_wins(values: list[int], seed: int) -> None:
    """D5.2, 4.2.3: taking the most of the highest is taking the set with the higher median (odd M)."""
    size = len(values) // 2 - (len(values) // 2 + 1) % 2
    if size < 1:
        return
    distinct = draw(seed).permutation(2 * size) + 0.0
    members, others = distinct[:size], distinct[size:]
    assert set_success(members, others, draw(seed)) == (np.median(members) > np.median(others))


def normal_scores(records: int, apart: float, seed: int = 0) -> Scored:
    is_member = np.arange(2 * records) < records
    return Scored(draw(seed).normal(size=2 * records) + apart * is_member, is_member)


@pytest.mark.parametrize(
    ("apart", "single", "regulator"), [(0.0, 0.5, 0.5), (0.5, 0.6, 1.0), (9.0, 1.0, 1.0)]
)
def test_the_repeated_protocol(apart: float, single: float, regulator: float) -> None:
    """Normal scores that are d apart: the highest half holds about Phi(d / 2) of the members."""
    subsets = [normal_scores(500, apart, seed) for seed in range(10)]
    found = repeated(SINGLE, subsets, draw())
    assert found.accuracies.shape == (10,)
    assert found.accuracy == pytest.approx(single, abs=0.05)
    assert found.standard_deviation == pytest.approx(found.accuracies.std(ddof=1))
    low, high = share_within(round(100 * repeated(SET, subsets, draw()).accuracy), 100)
    assert low <= regulator <= high


def test_the_protocol_is_the_same_for_the_same_generator() -> None:
    subsets = divided(normal_scores(400, 0.2), draw(), 4)
    first, again = (repeated(SINGLE, subsets, draw(1), size=50).accuracies for _ in range(2))
    assert (first == again).all()


def test_dividing_gives_disjoint_subsets_alike_in_membership() -> None:
    scored = normal_scores(55, 0.0)
    parts = divided(scored, draw())
    together = np.concatenate([part.scores for part in parts])
    assert sorted(together) == sorted(scored.scores)
    for part in parts:
        assert part.is_member.sum() in (5, 6)
        assert (~part.is_member).sum() in (5, 6)


def test_too_few_records_are_refused() -> None:
    with pytest.raises(
        DataError, match="a subset has 99 training or test records; expected at least 100 of each"
    ):
        repeated(SET, [normal_scores(100, 0.0), normal_scores(99, 0.0)], draw())
    with pytest.raises(ValueError, match="as many training as test"):
        single_accuracy(scores(1, 2), scores(1), draw())
    with pytest.raises(ValueError, match="a subset"):
        repeated(SET, [], draw())


def test_one_subset_has_no_deviation() -> None:
    assert np.isnan(repeated(SINGLE, [normal_scores(100, 0.0)], draw()).standard_deviation)
