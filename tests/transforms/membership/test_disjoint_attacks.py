"""Limits of attack types 1 and 2 on disjoint records; about 0.5 s of CPU.

Statistical tests draw from fixed seeds, and would fail for one seed in a billion (`evidence.FALSE_ALARM`).
"""

import math

import numpy as np
import pytest
from effort import examples
from evidence import FALSE_ALARM
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smalti.errors import DataError
from smalti.transforms.auditing.limits import share
from smalti.transforms.membership.scored import Scored
from smalti.transforms.membership.set_membership import (
    AttackType,
    DisjointAttacks,
    disjoint,
    least_records,
)

SINGLE, SET = AttackType.SINGLE, AttackType.SET


def draw(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def scored(members: np.ndarray, others: np.ndarray) -> Scored:
    return Scored(np.concatenate([members, others]), np.arange(len(members) + len(others)) < len(members))


def normal(records: int, apart: float, seed: int) -> Scored:
    drawn = draw(seed).normal(size=(2, records))
    return scored(drawn[0] + apart, drawn[1])


def memorised(records: int) -> Scored:
    """The planted leak: half of the members stand out, and all others are alike."""
    return scored(np.arange(records) % 2 + 0.0, np.zeros(records))


def test_limits_by_hand() -> None:
    sets = DisjointAttacks(SET, 100, np.array([1.0, 1.0, 0.0, 1.0]))
    assert sets.accuracy(0.9) == share(3, 4, 0.9)
    single = DisjointAttacks(SINGLE, 100, np.array([0.5, 0.7]))
    found, width = single.accuracy(0.95), math.sqrt(math.log(20) / 200)
    assert (found.value, found.lower, found.upper) == pytest.approx((0.6, 0.6 - width, 0.6 + width))
    assert single.advantage(0.95).upper == pytest.approx(2 * (0.6 + width) - 1)
    assert single.advantage(0.95).value == pytest.approx(0.2)


def test_no_record_is_in_two_attacks() -> None:
    """Three members in all stand out: three of nine attacks of one member each are right, and no more."""
    members = np.array([9.0, 8, 7, 0, 0, 0, 0, 0, 0])
    found = disjoint(SET, scored(members, np.arange(1.0, 10) / 10), draw(), size=1)
    assert found.accuracies.sum() == 3
    assert found.accuracies.size == 9


@settings(max_examples=examples(50))
@given(st.data())
def test_one_record_moves_the_accuracy_no_further_than_the_proof_says(data: st.DataObject) -> None:
    size, attacks = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    scores = draw(data.draw(st.integers(0, 99))).permutation(2 * size * attacks) + 0.0
    other = scores.copy()
    other[data.draw(st.integers(0, len(scores) - 1))] = data.draw(st.integers(-1, len(scores))) + 0.5
    members = np.arange(len(scores)) < size * attacks
    found = [disjoint(SINGLE, Scored(s, members), draw(5), size).accuracies.mean() for s in (scores, other)]
    assert abs(found[0] - found[1]) <= 1 / (attacks * size) + 1e-12


@pytest.mark.parametrize("kind", list(AttackType))
def test_limits_hold_in_simulation(kind: AttackType) -> None:
    """With probability 0.9 each: of so many draws, no more are wrong than chance explains."""
    size, draws, apart = 20, 200, 0.2
    truth = disjoint(kind, normal(size * 5000, apart, 1), draw(1), size).accuracies.mean()
    wrong = np.zeros(2)
    for seed in range(draws):
        found = disjoint(kind, normal(size * 5, apart, 100 + seed), draw(seed), size).accuracy(0.9)
        wrong += (found.lower > truth, found.upper < truth)
    assert (wrong <= stats.binom.ppf(1 - FALSE_ALARM, draws, 0.1)).all()
    assert found.upper - found.lower < 1


@pytest.mark.parametrize("kind", list(AttackType))
@pytest.mark.parametrize("confidence", [0.975, 0.999])
def test_a_planted_leak_is_found_from_so_many_records_on(kind: AttackType, confidence: float) -> None:
    least = least_records(kind, confidence)
    assert disjoint(kind, memorised(least), draw()).advantage(confidence).lower > 0
    fewer = disjoint(kind, memorised(least - 100), draw()).advantage(confidence)
    assert fewer.lower <= (0 if kind is SET else 0.02)


@pytest.mark.parametrize("kind", list(AttackType))
def test_scores_that_tell_nothing_show_no_advantage(kind: AttackType) -> None:
    found = disjoint(kind, scored(np.zeros(2000), np.zeros(2000)), draw()).advantage(1 - FALSE_ALARM)
    assert found.lower <= 0 <= found.upper


def test_too_few_records_are_refused_without_their_number() -> None:
    with pytest.raises(DataError, match="too few training or test records; expected at least 100 of each"):
        disjoint(SET, memorised(99), draw())
    assert disjoint(SET, memorised(199), draw()).accuracies.size == 1
