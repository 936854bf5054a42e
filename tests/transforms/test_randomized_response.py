"""Randomised response: what it draws, what it states, and what can be read from it.

Comparisons of draws with probabilities fail by chance with probability 1e-9 each (`evidence.FALSE_ALARM`).
"""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from evidence import FALSE_ALARM, loss_shown, share_within
from hypothesis import given, settings
from hypothesis import strategies as st
from stub_sampler import StubSampler

from smalti.transforms.identifiability import advantage, posterior_belief
from smalti.transforms.noise.randomized_response import RandomizedResponse, Response, TwoCoins

RECORDS = 100_000
HALF = Fraction(1, 2)


def reported(response: Response, code: int, categories: int, records: int = RECORDS) -> list[int]:
    """How often each category is reported of records that all have one."""
    return np.bincount(response.perturbed(np.full(records, code)), minlength=categories).tolist()


@pytest.mark.parametrize(("categories", "epsilon"), [(2, 1.0), (3, 0.2), (10, 1.0), (10, 5.0)])
def test_each_category_is_reported_with_its_exact_probability(categories: int, epsilon: float) -> None:
    response = RandomizedResponse.calibrated(categories, epsilon)
    code = categories // 2
    for category, hits in enumerate(reported(response, code, categories)):
        low, high = share_within(hits, RECORDS, FALSE_ALARM / categories)
        assert low <= (response.kept if category == code else response.taken) <= high


@settings(max_examples=examples(200))
@given(st.integers(2, 10**6), st.floats(1e-9, 500))
def test_stated_probabilities_keep_the_promise_and_reach_it(categories: int, epsilon: float) -> None:
    response = RandomizedResponse.calibrated(categories, epsilon)
    assert response.kept + (categories - 1) * response.taken == 1
    assert response.kept >= response.taken > 0
    assert math.log1p(float(response.kept / response.taken - 1)) <= response.epsilon <= epsilon
    assert response.epsilon == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize(("categories", "epsilon"), [(2, 1.0), (10, 1.0), (10, 3.0)])
def test_runs_show_a_loss_just_below_the_promise(categories: int, epsilon: float) -> None:
    response = RandomizedResponse.calibrated(categories, epsilon)
    hits, hits_of_neighbour = (reported(response, code, categories)[0] for code in (0, 1))
    assert 0.8 * epsilon <= loss_shown(hits, hits_of_neighbour, RECORDS) <= epsilon


def test_a_record_that_changes_half_as_often_is_caught() -> None:
    response = RandomizedResponse.calibrated(4, 1.0)
    broken = RandomizedResponse(4, Fraction(float(response.changed / 2)))
    hits, hits_of_neighbour = (reported(broken, code, 4)[0] for code in (0, 1))
    assert loss_shown(hits, hits_of_neighbour, RECORDS) > 1.0


def test_two_fair_coins() -> None:
    """D5.2, 3.2.3: 3/4, 1/4 and ln 3, and the share of yes is 2 y - 1/2."""
    coins = TwoCoins()
    assert (coins.yes_given_yes, coins.yes_given_no) == (Fraction(3, 4), Fraction(1, 4))
    assert coins.epsilon == pytest.approx(1.0986122886681098, rel=1e-12)
    assert coins.epsilon >= math.log(3)
    assert posterior_belief(coins.epsilon) == pytest.approx(0.75)
    assert advantage(coins.epsilon) == pytest.approx(0.5)
    no, yes = coins.shares(np.array([60, 40]), 0.95)
    assert yes.value == pytest.approx(2 * 0.4 - 0.5)
    assert no.value == pytest.approx(1 - yes.value)
    for code, share in ((1, 0.75), (0, 0.25)):
        low, high = share_within(reported(coins, code, 2)[1], RECORDS)
        assert low <= share <= high


def test_two_unfair_coins_lose_what_the_more_telling_answer_tells() -> None:
    coins = TwoCoins(Fraction(1, 2), Fraction(1, 8))
    assert coins.epsilon == pytest.approx(math.log((1 / 2 + 1 / 16) / (1 / 16)))
    hits, hits_of_neighbour = (reported(coins, code, 2)[1] for code in (1, 0))
    assert 0.8 * coins.epsilon <= loss_shown(hits, hits_of_neighbour, RECORDS) <= coins.epsilon
    mirrored = TwoCoins(Fraction(1, 2), Fraction(7, 8))
    assert mirrored.epsilon == pytest.approx(coins.epsilon)
    low, high = share_within(reported(mirrored, 0, 2)[1], RECORDS)
    assert low <= mirrored.yes_given_no <= high


@pytest.mark.parametrize(
    "response", [RandomizedResponse.calibrated(3, 1.0), RandomizedResponse.calibrated(3, 4.0)]
)
def test_shares_are_unbiased_and_their_intervals_hold(response: RandomizedResponse) -> None:
    true = np.repeat([0, 1, 2], [1000, 300, 100])
    runs, missed, values = 300, 0, np.zeros(3)
    for _ in range(runs):
        shares = response.shares(np.bincount(response.perturbed(true), minlength=3), 0.9)
        values += [share.value for share in shares]
        missed += abs(shares[1].value - 300 / 1400) > shares[1].margin
        assert sum(share.value for share in shares) == pytest.approx(1)
    low, _ = share_within(missed, runs)
    assert low <= 0.1
    # The mean of estimates is within 6.1 of its standard deviations: a false alarm of 1e-9 each.
    worst = 6.1 * math.sqrt(0.25 / (len(true) * runs)) / float(response.kept - response.taken)
    assert np.abs(values / runs - np.bincount(true) / len(true)).max() <= worst


def test_what_is_no_category_counts_as_missing() -> None:
    response = RandomizedResponse(3, Fraction(2.0**-60))
    codes = np.array([-1, 0, 1, 2, 3, 2**40, -(2**63)])
    assert response.perturbed(codes).tolist() == [0, 0, 1, 2, 0, 0, 0]
    assert codes.tolist()[0] == -1  # the input is left as it is
    assert response.perturbed(np.zeros(0, np.int64)).tolist() == []
    assert TwoCoins().perturbed(np.zeros(0, np.int64)).tolist() == []


def test_no_records_have_no_bounds() -> None:
    for response in (TwoCoins(), RandomizedResponse.calibrated(2, 1.0)):
        assert all(share.margin == math.inf for share in response.shares(np.zeros(2, np.int64), 0.95))


def test_a_stub_makes_reports_repeatable() -> None:
    codes = np.arange(1000) % 5
    for response in (RandomizedResponse.calibrated(5, 1.0), TwoCoins()):
        first, again, other = (response.perturbed(codes, StubSampler(seed)).tolist() for seed in (1, 1, 2))
        assert first == again != other


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 501.0, math.nan, 1e-12])
def test_a_loss_that_cannot_be_kept_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="privacy loss"):
        RandomizedResponse.calibrated(3, epsilon)


@pytest.mark.parametrize(
    ("categories", "changed"),
    [(1, HALF), (2, Fraction(0)), (2, Fraction(3, 4)), (3, Fraction(1, 3)), (2**33, HALF)],
)
def test_probabilities_are_checked(categories: int, changed: Fraction) -> None:
    with pytest.raises(ValueError, match=r"categor|double"):
        RandomizedResponse(categories, changed)


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1), Fraction(1, 3)])
def test_coins_are_checked(probability: Fraction) -> None:
    for coins in ((probability, HALF), (HALF, probability)):
        with pytest.raises(ValueError, match=r"coins|double"):
            TwoCoins(*coins)


def test_estimates_check_what_they_are_given() -> None:
    for response in (TwoCoins(), RandomizedResponse.calibrated(2, 1.0)):
        with pytest.raises(ValueError, match="each category"):
            response.shares(np.array([1, 2, 3]), 0.95)
        with pytest.raises(ValueError, match="confidence"):
            response.shares(np.array([1, 2]), 1.0)


@pytest.mark.slow
def test_a_million_rows_take_a_second_and_a_half_at_most() -> None:
    response, codes = RandomizedResponse.calibrated(10, 1.0), np.arange(1_000_000) % 10
    response.perturbed(codes[:10])
    started = time.process_time()
    response.perturbed(codes)
    assert time.process_time() - started <= 1.5
