"""Tracing: what is measured beside what is calculated, above and below the thresholds; seeds are fixed.

Each figure is held against an interval of Clopper and Pearson that a right implementation leaves with a
probability of at most 1e-4, over the seeds that might have been chosen; there are 16 of them in the file.
"""

import math

import numpy as np
import pytest

from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.tracing.experiments import TracingExperiment, threshold
from smalti.transforms.tracing.membership import (
    SCORES,
    Tracing,
    inner_product,
    likelihood_ratio,
    likelihood_ratio_of_shares,
)
from smalti.transforms.tracing.power import mean_error, power, sampling_error, signal, tracing_error
from smalti.transforms.tracing.statistics import Background, ReleasedSums

CONFIDENCE = 1 - 1e-4
RATE = 0.05
PEOPLE, STATISTICS = 50, 400
AT_THRESHOLD = tracing_error(STATISTICS, PEOPLE)


@pytest.mark.parametrize("attack", Tracing)
@pytest.mark.parametrize("error", [0, AT_THRESHOLD / 4, AT_THRESHOLD, 8 * AT_THRESHOLD])
def test_the_measured_power_is_the_calculated_one(attack: Tracing, error: float) -> None:
    """And false positives are as many as were accepted, whatever the noise."""
    generator = np.random.default_rng(round(error * 1000))
    experiment = TracingExperiment(PEOPLE, STATISTICS, error)
    expected = experiment.expected(attack, RATE, generator)
    measured = experiment.run(attack, RATE, 250, generator)
    recall, wrong = measured.recall(CONFIDENCE), measured.false_positive_rate(CONFIDENCE)
    assert recall.lower <= expected <= recall.upper
    assert wrong.lower <= RATE <= wrong.upper
    if error <= AT_THRESHOLD / 4:
        assert recall.lower > 0.4, "well below the threshold members are found"
    if error == 8 * AT_THRESHOLD:
        assert recall.upper < 0.25, "well above it nobody is"


def test_thresholds_are_those_of_the_literature() -> None:
    """At sqrt(d)/n the signal is one deviation, for d far above n; without noise it is sqrt(d/n)."""
    people, count = 100, 100_000
    background = Background(np.full(count, 0.5), np.full(count, 0.25))
    for error, expected in ((0.0, math.sqrt(count / people)), (tracing_error(count, people), 1.0)):
        released = ReleasedSums(np.zeros(count), np.full(count, error * people * 0.5), people)
        assert mean_error(released, background) == pytest.approx(error)
        for attack in Tracing:
            assert signal(attack, released, background) == pytest.approx(expected, rel=2e-3)
    assert sampling_error(people) == 0.1


def test_scores_by_hand() -> None:
    """Two people, bits with shares 1/2 and 1/4: sums (2, 0), noise of deviation 1 on the second."""
    background = Background(np.array([0.5, 0.25]), np.array([0.25, 0.1875]))
    released = ReleasedSums(np.array([2.0, 0.0]), np.array([0.0, 1.0]), 2)
    people = np.array([[1.0, 0.0], [0.0, 1.0]])
    distance = np.array([1.0, -0.5])
    away = people - background.means
    assert inner_product(released, background, people) == pytest.approx(
        (away * distance / background.variances).sum(axis=1)
    )
    variances = 2 * background.variances + [0, 1]
    expected = (away * (distance - away / 2) / variances).sum(axis=1)
    assert likelihood_ratio(released, background, people) == pytest.approx(expected)
    shares = likelihood_ratio_of_shares(np.array([0.75, 0.25]), background.means, people)
    assert shares == pytest.approx([math.log(1.5), math.log(0.5)])


def test_shares_without_noise_trace_as_sums_do() -> None:
    """The exact ratio of likelihoods and its normal approximation order people nearly alike."""
    generator = np.random.default_rng(3)
    background = TracingExperiment(200, 500, 0).background(generator)
    people = (generator.random((400, 500)) < background.means).astype(np.float64)
    sums = people[:200].sum(axis=0)
    exact = likelihood_ratio_of_shares(sums / 200, background.means, people)
    normal = likelihood_ratio(ReleasedSums(sums, np.zeros(500), 200), background, people)
    assert np.corrcoef(exact, normal)[0, 1] > 0.98
    members, others = exact[:200], exact[200:]
    assert (
        Outcomes(int((members > 0).sum()), 200, int((others > 0).sum()), 200).advantage(0.999).lower > 0.3
    )


def test_correlated_statistics_count_as_fewer() -> None:
    """Each of 20 statistics is released five times: the signal is that of 20, and so is the ratio's."""
    generator = np.random.default_rng(4)
    reference = generator.random((4_000, 20)) < 0.5
    once, often = (
        Background.of(table.astype(np.float64), np.ones(table.shape[1]))
        for table in (reference, np.repeat(reference, 5, axis=1))
    )
    assert once.effective_count == pytest.approx(20, rel=0.1)
    assert often.effective_count == pytest.approx(20, rel=0.1)
    wide = (generator.random((100, 2_000)) < 0.5).astype(np.float64)
    assert Background.of(wide, np.ones(2_000)).effective_count == pytest.approx(2_000, rel=0.2)
    few, many = (ReleasedSums(np.zeros(width), np.zeros(width), 50) for width in (20, 100))
    for attack in Tracing:
        assert signal(attack, many, often) == pytest.approx(signal(attack, few, once), rel=0.1)


def test_a_threshold_does_not_depend_on_the_values() -> None:
    background = Background(np.full(3, 0.5), np.full(3, 0.25))
    people = np.eye(3)
    for attack in SCORES:
        first, second = (
            threshold(attack, RATE, ReleasedSums(np.full(3, value), np.ones(3), 9), background, people)
            for value in (0.0, 9.0)
        )
        assert (first == second).all()
    assert power(0.0, RATE) == pytest.approx(RATE)
