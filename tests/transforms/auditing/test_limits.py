"""Limits hold with their confidence: exactly, by adding up probabilities, or in simulation.

A simulation of 500 draws (100 in the normal run) passes with 455 (85) that hold; if they hold with
probability 0.95, fewer come up with probability 1e-4. Its seed is fixed.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from effort import examples, is_full
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.auditing.limits import (
    Figure,
    Outcomes,
    advantage,
    lower_limit,
    quantile_ranks,
    share,
    true_positive_rate,
    upper_limit,
)
from smalti.transforms.auditing.scores import Floats, Scores

DRAWS = 500 if is_full() else 100
AT_LEAST = int(stats.binom.ppf(1e-4, DRAWS, 0.95))


@settings(max_examples=examples(30))
@given(st.integers(1, 60), st.floats(0.5, 0.999), st.data())
def test_limits_of_a_share_are_those_of_scipy(trials: int, confidence: float, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, trials))
    both = stats.binomtest(hits, trials).proportion_ci(2 * confidence - 1 or 1e-12)
    assert float(lower_limit(hits, trials, confidence)) == pytest.approx(both.low, abs=1e-9)
    assert float(upper_limit(hits, trials, confidence)) == pytest.approx(both.high, abs=1e-9)
    found = share(hits, trials, confidence)
    assert found.lower <= hits / trials <= found.upper


@pytest.mark.parametrize("confidence", [0.6, 0.95])
@pytest.mark.parametrize("trials", [1, 5, 40])
def test_limits_of_a_share_hold_for_every_probability(trials: int, confidence: float) -> None:
    """The probability that they do, added up exactly."""
    counts = np.arange(trials + 1)
    for probability in np.linspace(0, 1, 101):
        weights = stats.binom.pmf(counts, trials, probability)
        assert weights[upper_limit(counts, trials, confidence) >= probability].sum() >= confidence - 1e-12
        assert weights[lower_limit(counts, trials, confidence) <= probability].sum() >= confidence - 1e-12


@pytest.mark.parametrize("draws", [1, 7, 100])
@pytest.mark.parametrize("confidence", [0.3, 0.95])
def test_ranks_lie_on_either_side_of_a_quantile(draws: int, confidence: float) -> None:
    """Exactly, for uniform numbers: the k-th smallest is Beta(k, n - k + 1); and no nearer rank does."""
    for probability in (0.01, 0.3, 0.5, 0.99):
        few, many = quantile_ranks(draws, probability, confidence)

        def reached(rank: int, probability: float = probability) -> float:
            """P[the draw of this rank is at most the quantile]."""
            return float(stats.beta.cdf(probability, rank, draws - rank + 1))

        assert few == 0 or reached(few) >= confidence - 1e-12
        assert few == draws or reached(few + 1) < confidence + 1e-12
        assert many > draws or 1 - reached(many) >= confidence - 1e-12
        assert many == 1 or 1 - reached(many - 1) < confidence + 1e-12


def test_limits_of_precision_and_advantage_hold_for_every_pair_of_rates() -> None:
    """The probability that they do, added up exactly over all outcomes of 8 members and 6 non-members."""
    confidence, members, non_members = 0.8, 8, 6
    outcomes = [
        Outcomes(found, members, wrong, non_members)
        for found in range(members + 1)
        for wrong in range(non_members + 1)
    ]
    precisions = [outcome.precision(confidence) for outcome in outcomes]
    advantages = [outcome.advantage(confidence) for outcome in outcomes]
    for found in np.linspace(0.05, 1, 12):
        for wrong in np.linspace(0, 1, 12):
            weights = np.outer(
                stats.binom.pmf(range(members + 1), members, found),
                stats.binom.pmf(range(non_members + 1), non_members, wrong),
            ).ravel()
            for figures, truth in ((precisions, found / (found + wrong)), (advantages, found - wrong)):
                for holds in ([f.upper >= truth for f in figures], [f.lower <= truth for f in figures]):
                    assert weights[np.array(holds)].sum() >= confidence - 1e-12


def test_figures_of_a_decision_are_those_by_hand() -> None:
    outcomes = Outcomes(90, 100, 30, 100)
    sides = stats.binomtest(90, 100).proportion_ci(0.95), stats.binomtest(30, 100).proportion_ci(0.95)
    found = outcomes.precision(0.95)
    assert found.value == 0.75 == 90 / (90 + 30)
    assert found.upper == pytest.approx(sides[0].high / (sides[0].high + sides[1].low))
    assert found.lower == pytest.approx(sides[0].low / (sides[0].low + sides[1].high))
    found = outcomes.advantage(0.95)
    assert found.value == pytest.approx(0.6)
    assert found.upper == pytest.approx(sides[0].high - sides[1].low)
    assert found.lower == pytest.approx(sides[0].low - sides[1].high)
    assert outcomes.recall(0.975).upper == pytest.approx(sides[0].high)
    assert outcomes.false_positive_rate(0.975).lower == pytest.approx(sides[1].low)


def test_precision_is_that_of_equal_groups() -> None:
    assert Outcomes(50, 100, 100, 1000).precision(0.9).value == pytest.approx(5 / 6)
    nobody = Outcomes(0, 5, 0, 5).precision(0.9)
    assert (nobody.value, nobody.lower, nobody.upper) == (None, 0.0, 1.0)


def test_a_decision_takes_all_equal_scores() -> None:
    assert Outcomes.at(Scores.of([1, 1, 0], [1, 0]), 1.0) == Outcomes(2, 3, 1, 2)


def uniform(generator: np.random.Generator, shape: int) -> Floats:
    return generator.random(shape)


def coarse(generator: np.random.Generator, shape: int) -> Floats:
    return generator.integers(0, 4, shape) / 4


def saturated(generator: np.random.Generator, shape: int, share: float) -> Floats:
    return np.where(generator.random(shape) < share, 1.0, 0.9 * generator.random(shape))


def coins() -> np.random.Generator:
    return np.random.default_rng(5)


WORLDS: dict[str, tuple[Callable[[np.random.Generator, int], Scores], float, dict[float, float]]] = {
    # Members are the square roots of uniform numbers, so P[member >= t] = 1 - t^2.
    "continuous": (
        lambda generator, n: Scores(np.sqrt(uniform(generator, n)), uniform(generator, 2 * n)),
        0.25,
        {0.1: 1 - 0.9**2, 0.01: 1 - 0.99**2},
    ),
    # A quarter of non-members has each value, and half of the members the largest.
    "tied": (
        lambda generator, n: Scores(
            np.maximum(coarse(generator, n), 0.75 * (generator.random(n) < 1 / 3)), coarse(generator, n)
        ),
        0.25,
        {0.3: 0.5 + 0.05 / 0.25 / 6, 0.2: 0.4, 0.25: 0.5},
    ),
    # Two in five members and three in twenty others are all alike, above the rest.
    "top": (
        lambda generator, n: Scores(saturated(generator, n, 0.4), saturated(generator, n, 0.15)),
        0.25,
        {0.1: 0.4 * 0.1 / 0.15, 0.02: 0.4 * 0.02 / 0.15, 0.2: 0.4 + 0.6 * 0.05 / 0.85},
    ),
    # Decisions: many others are called members.
    "decisions": (
        lambda generator, n: Scores.of(generator.random(n) < 0.9, generator.random(n) < 0.5),
        0.4,
        {0.1: 0.18, 0.6: 0.92},
    ),
    "constant": (lambda _, n: Scores(np.zeros(n), np.zeros(n)), 0.0, {0.1: 0.1, 0.02: 0.02}),
    # No attack at all: the greatest measured difference is never 0.
    "alike": (lambda generator, n: Scores(uniform(generator, n), uniform(generator, n)), 0.0, {0.05: 0.05}),
}


@pytest.mark.parametrize("world", WORLDS)
def test_limits_over_all_thresholds_hold_in_simulation(world: str) -> None:
    draw, truth, rates = WORLDS[world]
    generator = np.random.default_rng(11)
    held = np.zeros((1 + len(rates), 2), np.int64)
    for _ in range(DRAWS):
        scores = draw(generator, 120)
        figures = [(advantage(scores, 0.95), truth)]
        figures += [
            (true_positive_rate(scores, bound, 0.95, generator), rate) for bound, rate in rates.items()
        ]
        held += [(figure.lower <= true, figure.upper >= true) for figure, true in figures]
    assert (held >= AT_LEAST).all()


def test_the_band_of_the_advantage_is_that_by_hand() -> None:
    """At 95 %, a fortieth of the error is left for each band: sqrt(ln 40 / 2n)."""
    scores = Scores.of(np.r_[np.ones(60), np.zeros(40)], np.r_[np.ones(100), np.zeros(300)])
    band = math.sqrt(math.log(40) / 200) + math.sqrt(math.log(40) / 800)
    found = advantage(scores, 0.95)
    assert (found.value, found.confidence) == (pytest.approx(0.35), 0.95)
    assert (found.lower, found.upper) == (pytest.approx(0.35 - band), pytest.approx(0.35 + band))


def test_plain_figures_do_not_hold() -> None:
    """So that the test above can see the difference: the plain greatest advantage is mostly too large."""
    generator = np.random.default_rng(11)
    draw, truth, _ = WORLDS["alike"]
    assert sum(RocCurve.of(draw(generator, 120)).advantage > truth for _ in range(100)) > 90


def test_a_clear_attack_is_seen_and_a_useless_one_is_bounded() -> None:
    generator = np.random.default_rng(2)
    clear = Scores(generator.normal(3, 1, 2000), generator.normal(0, 1, 2000))
    useless = Scores(generator.normal(0, 1, 2000), generator.normal(0, 1, 2000))
    assert advantage(clear, 0.95).lower > 0.75  # the truth is 0.866
    assert advantage(useless, 0.95).upper < 0.1
    assert true_positive_rate(clear, 0.01, 0.95, generator).lower > 0.6  # the truth is 0.75
    assert true_positive_rate(useless, 0.01, 0.95, generator).upper < 0.04


def test_a_rate_within_equal_scores_is_that_of_a_coin() -> None:
    """Two in five members and three in twenty others share the highest score: no threshold parts them."""
    members, others = np.r_[np.ones(400), np.zeros(600)], np.r_[np.ones(150), np.zeros(850)]
    for rate in (0.1, 0.01):
        found = true_positive_rate(Scores(members, others), rate, 0.95, coins())
        truth = 0.4 * rate / 0.15
        assert found.value == pytest.approx(truth)
        assert found.lower <= truth <= found.upper


def test_equal_scores_alone_are_ordered_by_coins() -> None:
    generator = np.random.default_rng(4)
    scores = Scores(generator.normal(1, 1, 200), generator.normal(0, 1, 300))
    found = {true_positive_rate(scores, 0.1, 0.95, np.random.default_rng(n)).upper for n in range(5)}
    assert len(found) == 1
    tied = Scores(scores.members.round(), scores.non_members.round())
    places = tied.untied(generator)
    assert len(np.unique(np.r_[places.members, places.non_members])) == 500
    above = tied.members[:, None] > tied.non_members
    assert (places.members[:, None] > places.non_members)[above].all()


def test_no_limit_is_below_what_a_coin_finds() -> None:
    scores = Scores(np.zeros(5000), np.ones(5000))
    assert true_positive_rate(scores, 0.01, 0.95, coins()).upper == 0.01


def test_limits_exist_where_the_figure_does_not() -> None:
    found = true_positive_rate(Scores.of(np.arange(50), np.arange(50)), 0.001, 0.95, coins())
    assert found == Figure(None, 0.0, found.upper, 0.95)
    assert 0 < found.upper < 1
    alone = true_positive_rate(Scores.of([1.0], [0.0]), 0.9, 0.95, coins())
    assert (alone.value, alone.lower, alone.upper) == (None, 0.0, 1.0)


def test_infinite_scores_are_scores() -> None:
    scores = Scores.of([math.inf, math.inf, 0.0], [math.inf, -math.inf])
    assert advantage(scores, 0.5).value == pytest.approx(1 / 2)
    assert true_positive_rate(scores, 0.5, 0.5, coins()).value == 1.0
    assert Outcomes.at(scores, math.inf) == Outcomes(2, 3, 1, 2)


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_a_confidence_lies_between_0_and_1(confidence: float) -> None:
    scores = Scores.of([1.0], [0.0])
    for call in (
        lambda: advantage(scores, confidence),
        lambda: share(1, 2, confidence),
        lambda: quantile_ranks(3, 0.5, confidence),
        lambda: Outcomes(1, 2, 0, 1).precision(confidence),
    ):
        with pytest.raises(ValueError, match="confidence"):
            call()


def test_impossible_counts_are_refused() -> None:
    for counts in ((3, 2, 0, 1), (-1, 2, 0, 1), (0, 2, 2, 1), (0, 0, 0, 1), (0, 1, 0, 0)):
        with pytest.raises(ValueError, match="expected"):
            Outcomes(*counts)
    for hits, trials in ((1, 0), (3, 2), (-1, 2)):
        with pytest.raises(ValueError, match="successes"):
            share(hits, trials, 0.9)
