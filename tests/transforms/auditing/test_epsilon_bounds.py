"""Lower bounds on epsilon: by hand, in simulation against the known epsilon, and what has no interval.

A simulation of 500 draws passes with 455 bounds that hold: if they hold with probability 0.95, fewer come
up with probability 1e-4. Seeds are fixed. The normal run has 100 draws, of which 85 must hold, and fewer
records.
"""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from effort import examples, is_full
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smalti.transforms.auditing.epsilon_bounds import (
    EpsilonBound,
    Method,
    clopper_pearson,
    clopper_pearson_by_ranks,
    clopper_pearson_by_split,
    gaussian,
    gaussian_mu,
    reach_by_ranks,
)
from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.auditing.one_run import epsilon_of_guesses, one_run, p_value, reaches
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.identifiability import gaussian_epsilon

DELTA = 1e-5
DRAWS = 500 if is_full() else 100
AT_LEAST = int(stats.binom.ppf(1e-4, DRAWS, 0.95))
RECORDS = 2000 if is_full() else 1000
LOSS = 1.0
KEPT = math.exp(LOSS) / (1 + math.exp(LOSS))
TRUE_OF_COINS = math.log((KEPT - DELTA) / (1 - KEPT))
"""The exact epsilon at delta of randomised response with a pure loss of 1."""


def test_the_reach_is_what_a_perfect_attack_shows() -> None:
    for members, non_members, delta in product((1, 9, 300), (1, 40, 713), (0.0, 1e-5, 0.1)):
        perfect = Scores(np.ones(members), np.zeros(non_members))
        shown = clopper_pearson_by_ranks(perfect, delta, 0.95).epsilon
        assert reach_by_ranks(members, non_members, delta, 0.95) == shown


@pytest.mark.parametrize("included", [0, 20, 100, 200])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_one_run_reaches_what_a_perfect_attack_shows(included: int, delta: float) -> None:
    coins = np.arange(200) < included
    shown = one_run(coins.astype(float), coins, delta, 0.95).epsilon
    assert reaches(coins, 0.99 * shown, delta, 0.95) == (shown > 0)
    assert not reaches(coins, 1.001 * shown + 1e-6, delta, 0.95)


Generator = np.random.Generator
Draw = Callable[[Generator, int], Scores]


def coins(generator: Generator, count: int) -> Scores:
    """Answers of randomised response."""
    said = generator.random(count) < KEPT, generator.random(count) >= KEPT
    return Scores.of(*said)


def normal(generator: Generator, count: int, mu: float = 1.0) -> Scores:
    """A Gaussian release with a mu of 1, of a record and of nothing."""
    return Scores(generator.normal(mu, 1, count), generator.normal(0, 1, count))


def flipped(generator: Generator, count: int) -> Scores:
    """Rates of 0.5 and 0.001 of the lowest scores: only non-members are told apart, from below."""
    low = generator.random(count) < 0.001, generator.random(count) < 0.5
    return Scores.of(*(-hits.astype(float) for hits in low))


def by_ranks(scores: Scores, _: Generator) -> EpsilonBound:
    return clopper_pearson_by_ranks(scores, DELTA, 0.95)


def by_split(scores: Scores, generator: Generator) -> EpsilonBound:
    return clopper_pearson_by_split(scores, DELTA, 0.95, generator)


def at_one_half(scores: Scores, _: Generator) -> EpsilonBound:
    return clopper_pearson(Outcomes.at(scores, 0.5), DELTA, 0.95)


def by_mu(scores: Scores, _: Generator) -> EpsilonBound:
    return gaussian(scores, DELTA, 0.95)


def in_one_run(scores: Scores, generator: Generator) -> EpsilonBound:
    """The members are canaries that were included; each canary has a coin of its own."""
    included = generator.random(scores.members.size) < 0.5
    return one_run(np.where(included, scores.members, scores.non_members), included, DELTA, 0.95)


METHODS = {
    "ranks": (by_ranks, Method.CLOPPER_PEARSON),
    "split": (by_split, Method.CLOPPER_PEARSON),
    "one half": (at_one_half, Method.CLOPPER_PEARSON),
    "one run": (in_one_run, Method.ONE_RUN),
    "mu": (by_mu, Method.GAUSSIAN),
}


WORLDS: dict[str, tuple[Draw, float]] = {
    "coins": (coins, TRUE_OF_COINS),
    "normal": (normal, gaussian_epsilon(DELTA, 1.0)),
}


@pytest.mark.parametrize(
    ("method", "world"), [pair for pair in product(METHODS, WORLDS) if pair != ("mu", "coins")]
)
def test_bounds_hold_in_simulation(method: str, world: str) -> None:
    bound, name = METHODS[method]
    draw, true = WORLDS[world]
    generator = np.random.default_rng(21)
    found = [bound(draw(generator, RECORDS), generator) for _ in range(DRAWS)]
    assert sum(each.epsilon <= true for each in found) >= AT_LEAST
    assert {(each.delta, each.confidence, each.method) for each in found} == {(DELTA, 0.95, name)}
    assert np.median([each.epsilon for each in found]) > 0.3 * LOSS  # it is not 0


def test_an_estimate_without_an_interval_fails_half_of_the_time() -> None:
    """So that the test above can see the difference. Outside 500 / 2 +- 83 with probability 1e-13."""
    generator = np.random.default_rng(22)
    held = 0
    for _ in range(500):
        outcomes = Outcomes.at(coins(generator, 2000), 0.5)
        found = math.log((outcomes.true_positives / 2000 - DELTA) / (outcomes.false_positives / 2000))
        held += found <= TRUE_OF_COINS
    assert 167 <= held <= 333


def test_the_gaussian_bound_does_not_hold_where_the_mechanism_is_not_gaussian() -> None:
    generator = np.random.default_rng(23)
    found = [gaussian(coins(generator, 2000), DELTA, 0.95).epsilon for _ in range(20)]
    assert min(found) > TRUE_OF_COINS


def test_bounds_by_ranks_are_those_by_hand() -> None:
    """Forty non-members have ten ranks, so each of twenty limits has a twentieth of the error."""
    scores = Scores.of(np.r_[np.full(95, 30.5), np.zeros(5)], np.arange(1, 41))
    each = 1 - 0.05 / 20
    hits = stats.binomtest(95, 100).proportion_ci(2 * each - 1).low
    # The best rank is the 20th largest: it is 21, which 19 non-members and 95 members exceed.
    wrong = stats.binomtest(19, 40).proportion_ci(2 * each - 1).high
    expected = stats.norm.ppf(hits) - stats.norm.ppf(wrong)
    assert gaussian_mu(scores, 0.95) == pytest.approx(expected)
    assert gaussian(scores, 0.01, 0.95).epsilon == pytest.approx(gaussian_epsilon(0.01, expected))
    found = clopper_pearson_by_ranks(scores, 0.01, 0.95).epsilon
    assert found == pytest.approx(math.log((1 - wrong - 0.01) / (1 - hits)))


@pytest.mark.slow
def test_power_with_ten_thousand_canaries() -> None:
    generator = np.random.default_rng(25)
    draws = [normal(generator, 10_000) for _ in range(60)]
    assert np.median([by_ranks(scores, generator).epsilon for scores in draws]) >= 1.8
    assert np.median([by_split(scores, generator).epsilon for scores in draws]) >= 1.6
    assert np.median([by_mu(scores, generator).epsilon for scores in draws]) >= 3.9


def test_power_of_a_few_draws_with_ten_thousand_canaries() -> None:
    generator = np.random.default_rng(26)
    draws = [normal(generator, 10_000) for _ in range(5)]
    assert np.median([by_ranks(scores, generator).epsilon for scores in draws]) >= 1.8
    assert np.median([by_mu(scores, generator).epsilon for scores in draws]) >= 3.9


def test_bound_of_one_decision_is_that_by_hand() -> None:
    hits, wrong = (
        stats.binomtest(700, 1000).proportion_ci(0.95),
        stats.binomtest(30, 500).proportion_ci(0.95),
    )
    expected = math.log((hits.low - 0.01) / wrong.high)
    found = clopper_pearson(Outcomes(700, 1000, 30, 500), 0.01, 0.95)
    assert found == EpsilonBound(pytest.approx(expected), 0.01, 0.95, Method.CLOPPER_PEARSON)
    # The other direction: few members are missed, and half of the non-members are known as such.
    missed = stats.binomtest(2, 1000).proportion_ci(0.95).high
    known = stats.binomtest(250, 500).proportion_ci(0.95).low
    found = clopper_pearson(Outcomes(998, 1000, 250, 500), 0.01, 0.95)
    assert found.epsilon == pytest.approx(math.log((known - 0.01) / missed))


def test_a_split_judges_on_the_half_that_did_not_choose() -> None:
    scores = normal(np.random.default_rng(29), 400)
    first, rest = scores.halves(np.random.default_rng(30))
    found = by_split(scores, np.random.default_rng(30))
    thresholds = np.concatenate((first.members, first.non_members))
    judged = {clopper_pearson(Outcomes.at(rest, t), DELTA, 0.95) for t in thresholds}
    chosen = {clopper_pearson(Outcomes.at(first, t), DELTA, 0.95) for t in thresholds}
    assert found in judged - chosen


def test_both_directions_are_tried() -> None:
    generator = np.random.default_rng(27)
    scores = flipped(generator, 4000)
    for bound in (by_ranks, by_split):
        assert bound(scores, generator).epsilon > 3.5  # the truth is ln 500 = 6.2


def test_no_attack_gives_no_bound() -> None:
    scores = Scores.of(np.arange(100), np.arange(100))
    generator = np.random.default_rng(28)
    for bound in (by_ranks, by_split, by_mu):
        assert bound(scores, generator).epsilon == 0
    assert by_ranks(Scores.of([1.0], [0.0]), generator).epsilon == 0
    worse = Scores.of(np.zeros(100), np.ones(100))
    assert by_ranks(worse, generator).epsilon == by_mu(worse, generator).epsilon == 0


def test_a_perfect_attack_is_bounded_by_the_number_of_records() -> None:
    scores = Scores.of(np.full(1000, math.inf), np.zeros(1000))
    found = clopper_pearson(Outcomes.at(scores, 1.0), 0.0, 0.95).epsilon
    assert found == pytest.approx(math.log(0.025 ** (1 / 1000) / (1 - 0.025 ** (1 / 1000))))
    assert 4 < by_ranks(scores, np.random.default_rng(1)).epsilon < found


# --- One run ----------------------------------------------------------------------------------


def printed(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """The procedure printed in appendix D of arXiv 2305.08846, retold."""
    right = 1 / (1 + math.exp(-epsilon))
    largest = total = 0.0
    for i in range(1, correct + 1):
        total += stats.binom.pmf(correct - i, guesses, right)
        largest = max(largest, total / i)
    return min(1.0, stats.binom.sf(correct - 1, guesses, right) + largest * delta * 2 * canaries)


@pytest.mark.parametrize(
    ("canaries", "guesses", "correct"), [(100, 40, 33), (1000, 64, 60), (9, 9, 0), (5, 5, 5)]
)
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.5])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 4e-4])
def test_p_value_is_the_printed_one(
    canaries: int, guesses: int, correct: int, epsilon: float, delta: float
) -> None:
    """For 2 canaries delta up to 1."""
    expected = printed(canaries, guesses, correct, epsilon, delta)
    assert p_value(canaries, guesses, correct, epsilon, delta) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=examples(60))
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 40), st.floats(0, 0.4), st.floats(0, 4))
def test_p_value_is_no_less_than_the_printed_one_and_rises(
    canaries: int, guesses: int, correct: int, delta: float, epsilon: float
) -> None:
    guesses = min(guesses, canaries)
    correct = min(correct, guesses)
    found = p_value(canaries, guesses, correct, epsilon, delta)
    assert found >= printed(canaries, guesses, correct, epsilon, delta) - 1e-9
    assert p_value(canaries, guesses, correct, epsilon + 0.1, delta) >= found - 1e-9


def test_bound_is_where_the_p_value_is_the_error() -> None:
    found = epsilon_of_guesses(1000, 200, 170, DELTA, 0.95)
    assert found == pytest.approx(1.3, abs=0.2)
    assert p_value(1000, 200, 170, found, DELTA) <= 0.05
    assert p_value(1000, 200, 170, found + 1e-6, DELTA) > 0.05
    assert epsilon_of_guesses(1000, 200, 100, DELTA, 0.95) == 0.0
    assert epsilon_of_guesses(1000, 200, 200, 0.0, 0.95) == pytest.approx(
        -math.log(0.05 ** (-1 / 200) - 1), abs=1e-6
    )


def test_no_delta_is_refuted_that_can_leak_every_tenth_canary() -> None:
    assert epsilon_of_guesses(1000, 100, 100, 0.1, 0.95) == 0.0
    assert epsilon_of_guesses(1000, 100, 100, 1e-6, 0.95) > 3


def test_guesses_are_made_from_both_ends_and_the_error_is_divided() -> None:
    included = np.arange(64) >= 32
    scores = np.arange(64.0)
    assert one_run(scores, included, 0.0, 0.95).epsilon == pytest.approx(
        epsilon_of_guesses(64, 64, 64, 0.0, 1 - 0.05 / 4)
    )
    assert one_run(-scores, included, 0.0, 0.95).epsilon == 0.0
    ends = np.where(np.abs(np.arange(64) - 31.5) < 24, np.arange(64) % 2 == 0, included)
    assert one_run(scores, ends, 0.0, 0.95).epsilon == pytest.approx(
        epsilon_of_guesses(64, 16, 16, 0.0, 1 - 0.05 / 4)
    )


def test_what_is_no_run_is_refused() -> None:
    for scores, included in (([0.0], [True]), ([0.0, math.nan], [True, False]), ([0.0, 1.0], [True])):
        with pytest.raises(ValueError, match="canaries"):
            one_run(np.array(scores), np.array(included), DELTA, 0.95)
    for arguments in ((1, 2, 1, 1.0, 0.0), (2, 2, 3, 1.0, 0.0), (2, 2, 1, -1.0, 0.0), (2, 2, 1, 1.0, 1.0)):
        with pytest.raises(ValueError, match="correct <= guesses"):
            p_value(*arguments)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan])
def test_a_delta_is_a_probability_below_one(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        clopper_pearson(Outcomes(1, 1, 0, 1), delta, 0.95)
