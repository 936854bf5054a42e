"""Shadow training sets: drawn as D5.1 wants them, and refused where they are not."""

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.errors import DataError, ProblemsError, SmaltiError, UsageError
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.shadow_sets import check_disjoint, disjoint_sets, halves

CLASSES = 3


def data(name: str, by_class: list[int], start: int = 0) -> DataSet:
    """Records that all differ, from a number on."""
    labels = np.repeat(np.arange(len(by_class)), by_class)
    return DataSet(name, np.arange(start, start + len(labels), dtype=float)[:, None], labels, CLASSES)


TRAINING = data("the training set", [20, 10, 10])
POOL = data("the shadow pool", [50, 40, 30], start=1000)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn() -> np.ndarray:
    return disjoint_sets(TRAINING, POOL, 4, generator())


def refused(members: np.ndarray, training: DataSet = TRAINING, pool: DataSet = POOL) -> list[str]:
    return [problem.problem for problem in check_disjoint(training, pool, members)]


@settings(max_examples=examples(30))
@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.integers(1, 5), st.integers(0, 99))
def test_disjoint_sets_keep_the_conditions(by_class: list[int], models: int, seed: int) -> None:
    training, pool = data("training", by_class), data("pool", [10, 12, 14], start=1000)
    members = disjoint_sets(training, pool, models, generator(seed))
    assert members.shape == (models, 36)
    for own in members:
        assert pool.take(np.flatnonzero(own)).class_counts.tolist() == by_class
    assert check_disjoint(training, pool, members) == []


def test_disjoint_sets_differ_and_are_the_same_for_a_seed() -> None:
    assert len({own.tobytes() for own in drawn()}) == 4
    assert (drawn() == drawn()).all()


@settings(max_examples=examples(30))
@given(st.integers(2, 50), st.integers(1, 8), st.integers(0, 99))
def test_each_record_is_in_half_of_the_sets(records: int, pairs: int, seed: int) -> None:
    members = halves(records, 2 * pairs, generator(seed))
    assert (members.sum(axis=0) == pairs).all()
    assert set(members.sum(axis=1).tolist()) <= {records // 2, records - records // 2}


def test_halves_come_in_pairs() -> None:
    for models in (0, 1, 3):
        with pytest.raises(UsageError):
            halves(10, models, generator())


def test_shared_records_are_found_by_content() -> None:
    pool = POOL.joined("the shadow pool", TRAINING.take(np.array([7])))
    with pytest.raises(DataError, match="the shadow pool: 1 records are also in the training set"):
        disjoint_sets(TRAINING, pool, 4, generator())
    unused = np.hstack([drawn(), np.zeros((4, 1), np.bool_)])
    assert refused(unused, pool=pool) == [], "only training sets must be disjoint"
    used = unused.copy()
    used[2, np.flatnonzero(used[2])[0]] = False
    used[2, -1] = True
    assert refused(used, pool=pool) == ["1 records are also in the training set"]


@pytest.mark.parametrize(("by_class", "short"), [([20, 11, 11], 1), ([21, 10, 10], 2), ([0, 30, 30], 1)])
def test_pools_that_are_too_small_are_refused(by_class: list[int], short: int) -> None:
    pool = data("the shadow pool", by_class, start=1000)
    with pytest.raises(DataError, match=f"{short} classes have too few records"):
        disjoint_sets(TRAINING, pool, 4, generator())


def test_all_problems_are_told_at_once() -> None:
    pool = data("the shadow pool", [20, 5, 5])
    with pytest.raises(ProblemsError) as raised:
        disjoint_sets(TRAINING, pool, 4, generator())
    assert len(raised.value.problems) == 2


def test_sets_of_another_size_are_refused() -> None:
    members = drawn()
    members[0, np.flatnonzero(members[0])[0]] = False
    assert refused(members) == ["1 training sets are not as large as the target's"]


def test_missing_classes_are_refused_on_both_sides() -> None:
    members = np.zeros((2, len(POOL)), np.bool_)
    members[:, :30] = members[:, 60:70] = True  # none of class 2
    assert "1 classes have no record inside of a shadow training set" in refused(members)
    members = np.zeros((1, len(POOL)), np.bool_)
    members[:, 90:] = members[:, :10] = True  # all of class 2
    found = refused(members)
    assert "1 classes have no record outside of a shadow training set" in found
    assert "1 classes have no record inside of a shadow training set" in found


def test_other_class_shares_are_refused_and_chance_is_not() -> None:
    training = data("training", [100, 100, 100])
    pool = data("pool", [400, 400, 400], start=5000)
    by_chance, skewed = np.zeros((2, 1, len(pool)), np.bool_)
    by_chance[0, generator(4).permutation(len(pool))[:300]] = True
    assert refused(by_chance, training, pool) == []
    skewed[0, :200] = skewed[0, 400:450] = skewed[0, 800:850] = True
    assert refused(skewed, training, pool) == [
        "the classes of 1 training sets do not have the target's shares"
    ]


def test_masks_that_do_not_fit_are_refused() -> None:
    for members in (drawn()[:, 1:], drawn().astype(int), drawn()[0]):
        with pytest.raises(SmaltiError, match="models x records"):
            check_disjoint(TRAINING, POOL, members)
