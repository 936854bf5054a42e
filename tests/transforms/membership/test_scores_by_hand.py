"""Attacks on cases that are small enough to be worked out by hand."""

import math

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.errors import DataError, UsageError
from smalti.transforms.membership.attack import Attack, Needs
from smalti.transforms.membership.likelihood_ratio import OfflineLikelihoodRatio, OnlineLikelihoodRatio
from smalti.transforms.membership.loss_threshold import LossThreshold
from smalti.transforms.membership.observation import Observation, Population, ShadowAnswers
from smalti.transforms.membership.relative_membership import RelativeMembership

IN, OUT = True, False


def of_logits(values: list[float]) -> np.ndarray:
    """Confidences in two classes of records of class 1 that have these logits."""
    high = 1 / (1 + np.exp(-np.asarray(values, float)))
    return np.stack([1 - high, high], axis=-1)


def of_confidences(values: list[float]) -> np.ndarray:
    high = np.asarray(values, float)
    return np.stack([1 - high, high], axis=-1)


def answers(by_model: list[np.ndarray], members: list[list[bool]]) -> ShadowAnswers:
    confidences = np.stack(by_model)
    return ShadowAnswers(np.ones(confidences.shape[1], np.int64), confidences, np.array(members))


def observation(
    target: np.ndarray, shadows: ShadowAnswers, population: Population | None = None
) -> Observation:
    return Observation(np.ones(len(target), np.int64), target, shadows, population)


TWO_RECORDS = answers(
    [of_logits([2, 1]), of_logits([4, 1]), of_logits([0, -3]), of_logits([2, 1])],
    [[IN, IN], [IN, IN], [OUT, OUT], [OUT, OUT]],
)
"""First record: in {2, 4}, out {0, 2}. Second: in {1, 1}, out {-3, 1}."""


def test_online_likelihood_ratio_with_shared_variances() -> None:
    """Means in 3 and 1, out 1 and -1; variances in (2 + 0) / 2 = 1, out (2 + 8) / 2 = 5."""
    scores = OnlineLikelihoodRatio().scores(observation(of_logits([3, 0]), TWO_RECORDS))
    first = 0 + 4 / (2 * 5) + math.log(5) / 2
    second = -1 / 2 + 1 / (2 * 5) + math.log(5) / 2
    assert scores == pytest.approx([first, second])


def test_online_likelihood_ratio_with_variances_of_each_record() -> None:
    one = answers(
        [of_logits([value]) for value in (2, 4, 0, 4)], [[IN], [IN], [OUT], [OUT]]
    )  # in: mean 3, variance 1; out: mean 2, variance 4
    scores = OnlineLikelihoodRatio(own_variance_from=4).scores(observation(of_logits([4]), one))
    assert scores == pytest.approx([-1 / 2 + 4 / (2 * 4) + math.log(4) / 2])


def test_each_record_is_compared_with_its_own_models() -> None:
    """The second record's members are the first one's others."""
    shadows = answers(
        [of_logits([2, -3]), of_logits([4, 1]), of_logits([0, 1]), of_logits([2, 1])],
        [[IN, OUT], [IN, OUT], [OUT, IN], [OUT, IN]],
    )
    expected = OnlineLikelihoodRatio().scores(observation(of_logits([3, 0]), TWO_RECORDS))
    assert OnlineLikelihoodRatio().scores(observation(of_logits([3, 0]), shadows)) == pytest.approx(
        expected
    )


def test_offline_likelihood_ratio_is_one_sided_and_ignores_models_of_members() -> None:
    expected = [(3 - 1) / math.sqrt(5), (0 + 1) / math.sqrt(5)]
    target = of_logits([3, 0])
    assert OfflineLikelihoodRatio().scores(observation(target, TWO_RECORDS)) == pytest.approx(expected)
    outside = ShadowAnswers(TWO_RECORDS.labels, TWO_RECORDS.confidences[2:], np.zeros((2, 2), np.bool_))
    assert OfflineLikelihoodRatio().scores(observation(target, outside)) == pytest.approx(expected)


@settings(max_examples=examples(50))
@given(st.floats(-30, 30), st.floats(0.01, 30))
def test_offline_score_rises_with_the_confidence(logit: float, more: float) -> None:
    """A two-sided test falls again above the mean."""
    first, second = (
        OfflineLikelihoodRatio().scores(observation(of_logits([value, 0]), TWO_RECORDS))[0]
        for value in (logit, logit + more)
    )
    assert first < second


def test_models_that_all_agree_give_finite_scores() -> None:
    same = answers([of_confidences([0.9]), of_confidences([0.5])], [[IN], [OUT]])
    for attack in (OnlineLikelihoodRatio(), OfflineLikelihoodRatio()):
        assert attack.scores(observation(of_confidences([0.9]), same))[0] > 0
        assert np.isfinite(attack.scores(observation(of_confidences([1.0]), same))).all()


X_SHADOWS = answers([of_confidences([value]) for value in (0.9, 0.7, 0.5, 0.3)], [[IN], [IN], [OUT], [OUT]])
"""Pr(x) is (0.8 + 0.4) / 2 = 0.6."""
POPULATION = Population(
    of_confidences([0.5, 0.2, 0.8]),
    answers(
        [
            of_confidences(row)
            for row in ([0.4, 0.6, 0.5], [0.8, 0.4, 0.5], [0.3, 0.3, 0.6], [0.5, 0.3, 0.4])
        ],
        [[IN, IN, IN], [IN, IN, IN], [OUT, OUT, OUT], [OUT, OUT, OUT]],
    ),
)
"""Pr(z) is 0.5, 0.4 and 0.5, so the target's ratios are 1, 0.5 and 1.6."""


@pytest.mark.parametrize(("gamma", "expected"), [(1.0, 2 / 3), (2.0, 1 / 3), (0.9, 1.0), (3.1, 0.0)])
def test_relative_membership_with_a_population(gamma: float, expected: float) -> None:
    """The ratio of x is 0.9 / 0.6 = 1.5; divided by those of z: 1.5, 3 and 0.94."""
    seen = observation(of_confidences([0.9]), X_SHADOWS, POPULATION)
    assert RelativeMembership(gamma=gamma).scores(seen) == pytest.approx([expected])


@pytest.mark.parametrize(("factor", "expected"), [(0.5, 1.0), (0.0, 2 / 3), (1.0, 1.0)])
def test_relative_membership_offline(factor: float, expected: float) -> None:
    """Pr(x) is ((1 + a) 0.4 + 1 - a) / 2: 0.55, 0.7 or 0.4, and the ratio 1.64, 1.29 or 2.25."""
    seen = observation(of_confidences([0.9]), X_SHADOWS, POPULATION)
    attack = RelativeMembership(gamma=1.0, offline_factor=factor)
    assert attack.scores(seen) == pytest.approx([expected])
    assert attack.needs == Needs.SHADOWS_OUT


def test_population_records_outside_of_all_models_are_treated_as_audited_ones_offline() -> None:
    """Pr(z) is (1.5 x 0.4 + 0.5) / 2 = 0.55, that of x."""
    outside = answers([of_confidences([0.4])] * 4, [[OUT]] * 4)
    attack = RelativeMembership(gamma=1.0, offline_factor=0.5)
    for confidence, expected in ((0.89, 1.0), (0.91, 0.0)):
        population = Population(of_confidences([confidence]), outside)
        seen = observation(of_confidences([0.9]), X_SHADOWS, population)
        assert attack.scores(seen) == pytest.approx([expected])


def test_audited_records_are_compared_with_one_another_without_a_population() -> None:
    seen = observation(POPULATION.target, POPULATION.shadows)
    assert RelativeMembership(gamma=1.1).scores(seen) == pytest.approx([1 / 3, 0, 2 / 3])
    equal = RelativeMembership(gamma=1.0).scores(seen)
    assert equal == pytest.approx([2 / 3, 1 / 3, 1]), "a ratio of gamma itself counts"


def test_loss_threshold() -> None:
    seen = Observation(np.array([1, 0]), of_confidences([0.75, 0.75]))
    assert LossThreshold().scores(seen) == pytest.approx([math.log(0.75), math.log(0.25)])


@pytest.mark.parametrize(
    "attack", [OnlineLikelihoodRatio(), OfflineLikelihoodRatio(), RelativeMembership()]
)
def test_what_is_needed_and_missing_is_named(attack: Attack) -> None:
    with pytest.raises(UsageError, match=f"the attack {attack.name}: .*shadow models"):
        attack.scores(Observation(np.array([1]), of_confidences([0.5])))


@pytest.mark.parametrize(
    ("attack", "members"),
    [
        (OnlineLikelihoodRatio(), [[IN], [IN], [IN], [IN]]),
        (OnlineLikelihoodRatio(), [[OUT], [OUT], [OUT], [OUT]]),
        (OnlineLikelihoodRatio(own_variance_from=2), [[IN], [OUT], [OUT], [OUT]]),
        (OfflineLikelihoodRatio(), [[IN], [IN], [IN], [IN]]),
        (RelativeMembership(), [[IN], [IN], [IN], [IN]]),
        (RelativeMembership(), [[OUT], [OUT], [OUT], [OUT]]),
        (RelativeMembership(offline_factor=0.3), [[IN], [IN], [IN], [IN]]),
    ],
)
def test_records_without_the_models_that_are_needed_are_refused(
    attack: Attack, members: list[list[bool]]
) -> None:
    shadows = ShadowAnswers(X_SHADOWS.labels, X_SHADOWS.confidences, np.array(members))
    with pytest.raises(DataError, match="more shadow models"):
        attack.scores(observation(of_confidences([0.9]), shadows))


@pytest.mark.parametrize(("gamma", "factor"), [(0.0, None), (-1.0, None), (2.0, -0.1), (2.0, 1.1)])
def test_relative_membership_refuses_bad_parameters(gamma: float, factor: float | None) -> None:
    with pytest.raises(ValueError, match=r"from 0|above 0"):
        RelativeMembership(gamma, factor)


def test_observations_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="other records than the target"):
        Observation(np.array([0]), of_confidences([0.5]), X_SHADOWS)
    three = ShadowAnswers(np.array([1]), np.full((1, 1, 3), 1 / 3), np.array([[IN]]))
    with pytest.raises(DataError, match="3 classes; expected the 2 classes"):
        Observation(np.array([1]), of_confidences([0.5]), shadow_pool=three)
    with pytest.raises(DataError, match="membership"):
        ShadowAnswers(np.array([1]), np.full((1, 1, 2), 1 / 2), np.array([IN]))
