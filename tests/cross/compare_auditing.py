"""Bounds on epsilon against the auditor of jax-privacy, on the same scores; and where both differ, and why.

At a decision that is fixed in advance both say the same. They choose among decisions differently. Ours are
a grid that is fixed before the scores are looked at, and the error is divided by its size: all of them hold
together. jax-privacy takes all corners of the convex hull of the measured curve, and divides by their
number, which is known only afterwards; that this keeps the error is not proven. So between both choices
there is no order, and none is tested.
"""

import numpy as np
import pytest
from jax_privacy.auditing import CanaryScoreAuditor, Explicit
from scipy import stats

from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.auditing.epsilon_bounds import clopper_pearson, clopper_pearson_by_ranks, gaussian
from smalti.transforms.auditing.limits import Outcomes, lower_limit, upper_limit
from smalti.transforms.auditing.one_run import epsilon_of_guesses, p_value
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.identifiability import gaussian_epsilon

ERROR = 0.05
DELTAS = [1e-5, 0.01, 0.1]
ROOT = 3e-6
"""Both look for a root; theirs is good to 10^-6."""


def normal(members: int, non_members: int, seed: int, mu: float = 1.0) -> Scores:
    draw = np.random.default_rng(seed)
    return Scores(draw.normal(mu, 1, members), draw.normal(0, 1, non_members))


def decisions(found: int, members: int, wrong: int, non_members: int) -> Scores:
    """Scores of 1 where an attack says "member"."""
    return Scores.of(np.arange(members) < found, np.arange(non_members) < wrong)


def auditor(scores: Scores) -> CanaryScoreAuditor:
    return CanaryScoreAuditor(scores.members, scores.non_members)


@pytest.mark.parametrize("delta", [0.0, *DELTAS])
@pytest.mark.parametrize("threshold", [-2.0, 0.0, 0.5, 2.0, 9.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_fixed_decision_has_the_same_bound(seed: int, threshold: float, delta: float) -> None:
    scores = normal(300, 200, seed, mu=2.0)
    found = clopper_pearson(Outcomes.at(scores, threshold), delta, 1 - ERROR).epsilon
    theirs = auditor(scores)
    fixed = Explicit(threshold)
    both = theirs.epsilon_clopper_pearson(ERROR, delta, one_sided=False, threshold_strategy=fixed)
    assert found == pytest.approx(both, rel=1e-9, abs=1e-12)
    forth = theirs.epsilon_clopper_pearson(ERROR, delta, one_sided=True, threshold_strategy=fixed)
    assert found >= forth - 1e-12


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("members", "non_members"), [(1, 1), (50, 31), (1000, 1000)])
def test_a_grid_of_ranks_is_as_many_fixed_decisions(members: int, non_members: int, delta: float) -> None:
    """Each with the error divided by their number; the halves of the ranks, from either end."""
    halves = {max(1, non_members >> times) for times in range(1, max(2, non_members.bit_length()))}
    ranks = sorted(halves | {non_members - rank + 1 for rank in halves})
    for seed in range(5):
        scores = normal(members, non_members, seed, mu=2.0)
        beyond = np.nextafter(np.sort(scores.non_members)[[-rank for rank in ranks]], np.inf)
        each = [
            auditor(scores).epsilon_clopper_pearson(
                ERROR / len(ranks), delta, one_sided=False, threshold_strategy=Explicit(float(threshold))
            )
            for threshold in beyond
        ]
        found = clopper_pearson_by_ranks(scores, delta, 1 - ERROR).epsilon
        assert found == pytest.approx(max(each), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("counts", [(600, 1000, 200, 1000), (90, 100, 5, 80), (1000, 1000, 1, 1000)])
def test_a_gaussian_bound_on_decisions_is_the_same(counts: tuple[int, int, int, int], delta: float) -> None:
    """The hull has three corners, two of which say nothing; the error is divided by twice their number."""
    found, members, wrong, non_members = counts
    each = 1 - ERROR / 6
    rates = lower_limit(found, members, each), upper_limit(wrong, non_members, each)
    mu = float(stats.norm.ppf(rates[0]) - stats.norm.ppf(rates[1]))
    theirs = auditor(decisions(*counts)).epsilon_from_gdp(ERROR, delta)
    assert gaussian_epsilon(delta, mu) == pytest.approx(theirs, abs=ROOT)
    assert theirs > 0


def test_limits_that_cross_tell_nothing() -> None:
    """Scores that are the same coins for members and others: the true epsilon is 0.

    With few records the limits of the rates cross, and mu has a limit below 0, which says nothing.
    jax-privacy takes its absolute value, and so claims an epsilon far above 0, more often than its error
    allows. Of bounds that keep it, fewer hold than is asked for here with probability 10^-4.
    """
    six = decisions(2, 3, 1, 3)
    assert auditor(six).epsilon_from_gdp(ERROR, 1e-5) > 5
    assert gaussian(six, 1e-5, 1 - ERROR).epsilon == 0
    draw = np.random.default_rng(5)
    coins = draw.integers(0, 2, (2000, 2, 3)).astype(float)
    holds = [gaussian(Scores(*each), 1e-5, 1 - ERROR).epsilon == 0 for each in coins]
    assert sum(holds) >= stats.binom.ppf(1e-4, len(holds), 1 - ERROR)
    theirs = [auditor(Scores(*each)).epsilon_from_gdp(ERROR, 1e-5) == 0 for each in coins]
    assert sum(theirs) < stats.binom.ppf(1e-4, len(theirs), 1 - ERROR)


GUESSES = [(100, 20, 20), (1000, 100, 90), (1000, 1000, 700), (5000, 300, 220), (200, 50, 25)]
"""Canaries, guesses, correct guesses."""


def theirs_of_guesses(canaries: int, guesses: int, correct: int, delta: float) -> float:
    """All guesses are "included"; as many canaries were left out as could be."""
    members = max(correct, canaries // 2)
    others = canaries - members
    scores = decisions(correct, members, guesses - correct, others)
    return float(auditor(scores).epsilon_one_run(ERROR, delta, threshold_strategy=Explicit(0.5)))


@pytest.mark.parametrize("numbers", GUESSES)
def test_one_run_has_the_same_bound_where_twice_delta_times_the_canaries_is_one_at_most(
    numbers: tuple[int, int, int],
) -> None:
    """There the weights of theorem 5.2 are at most 1, and its probability rises with epsilon as it is."""
    for delta in (1e-9, 1e-5, 1 / (2 * numbers[0])):
        found = epsilon_of_guesses(*numbers, delta, 1 - ERROR)
        assert found == pytest.approx(theirs_of_guesses(*numbers, delta), abs=ROOT)


@pytest.mark.parametrize("numbers", GUESSES)
def test_one_run_is_not_above_theirs_for_a_greater_delta(numbers: tuple[int, int, int]) -> None:
    """There ours replaces a term that might fall with epsilon by one that is no less, and rises.

    So its probability is no less than the theorem's, and it refutes no epsilon that the theorem does not.
    """
    for delta in (1e-3, 1e-2, 0.05):
        found = epsilon_of_guesses(*numbers, delta, 1 - ERROR)
        theirs = theirs_of_guesses(*numbers, delta)
        assert found <= theirs + ROOT
        assert p_value(*numbers, theirs, delta) >= ERROR - 1e-6 or theirs == 0


@pytest.mark.parametrize("seed", range(5))
def test_curves_are_below_their_convex_hull(seed: int) -> None:
    """jax-privacy's curves allow for thresholds that are drawn: the convex hull, which is never below."""
    scores = normal(200, 150, seed)
    curve, theirs = RocCurve.of(scores), auditor(scores)
    assert theirs.attack_auroc() >= curve.area - 1e-12
    for rate in (0.1, 0.02):
        found = curve.true_positive_rate_at(rate)
        assert found is not None
        assert theirs.tpr_at_given_fpr(rate) >= found - 1e-12
    assert theirs.max_accuracy(prevalence=0.5) == pytest.approx((1 + curve.advantage) / 2, rel=1e-12)


def test_a_curve_that_is_its_own_hull_is_the_same() -> None:
    scores = decisions(60, 100, 10, 50)
    assert auditor(scores).attack_auroc() == pytest.approx(RocCurve.of(scores).area, rel=1e-12)
    assert auditor(scores).tpr_at_given_fpr(0.2) == RocCurve.of(scores).true_positive_rate_at(0.2) == 0.6
