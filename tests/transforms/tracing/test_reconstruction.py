"""Reconstruction: the share of bits that are right against the noise, and both reductions; seeds are fixed.

Where figures are held against intervals, a right implementation leaves each with a probability of at most
1e-4.
"""

import math

import numpy as np
import pytest
from scipy import sparse

from smalti.transforms.auditing.limits import share
from smalti.transforms.tracing.experiments import (
    BitsByMembership,
    ReconstructionExperiment,
    TracingExperiment,
)
from smalti.transforms.tracing.membership import Tracing
from smalti.transforms.tracing.reconstruction import (
    ESTIMATES,
    Reconstruction,
    SubsetSums,
    bits,
    expected_share,
    least_sums,
    one_person,
    share_right_by_one_person,
)
from smalti.transforms.tracing.reductions import membership_by_reconstruction, reconstruction_by_membership

CONFIDENCE = 1 - 1e-4
PEOPLE = 48


def right(attack: Reconstruction, deviation: float, repetitions: int = 4) -> float:
    """The share of bits that are right, over some repetitions."""
    generator = np.random.default_rng(round(deviation * 10))
    experiment = ReconstructionExperiment(PEOPLE, 3 * PEOPLE, deviation)
    shares = []
    for _ in range(repetitions):
        secret, sums = experiment.draw(generator)
        shares.append(float((bits(ESTIMATES[attack](sums)) == secret).mean()))
    return float(np.mean(shares))


@pytest.mark.parametrize("attack", Reconstruction)
def test_bits_are_right_below_the_threshold_and_not_above(attack: Reconstruction) -> None:
    """Noise of sqrt(n)/10, sqrt(n) and 10 sqrt(n): nearly all, some, and hardly more than by guessing."""
    root = math.sqrt(PEOPLE)
    low, middle, high = (right(attack, root * factor) for factor in (0.1, 1, 10))
    assert low > 0.97
    assert 0.6 < middle < 0.9
    assert high < 0.65


def test_without_noise_all_bits_are_right_from_few_more_sums_than_needed() -> None:
    secret, sums = ReconstructionExperiment(30, 30, 0.0).draw(np.random.default_rng(1))
    assert (bits(ESTIMATES[Reconstruction.LINEAR_PROGRAM](sums)) == secret).all()
    assert least_sums(30) == 7


def test_the_calculated_share_is_that_of_least_squares_without_limits() -> None:
    """Bits of one draw depend on each other, so one is taken of each."""
    generator = np.random.default_rng(2)
    experiment = ReconstructionExperiment(12, 24, 1.5)
    hits, expected, draws = 0, 0.0, 1_500
    for draw in range(draws):
        secret, sums = experiment.draw(generator)
        solved, *_ = np.linalg.lstsq(sums.subsets.toarray(), sums.values, rcond=None)
        hits += int(bits(solved)[0] == secret[0])
        expected += (expected_share(sums) or 0.0) / 30 if draw < 30 else 0.0
    limits = share(hits, draws, CONFIDENCE)
    assert limits.lower <= expected <= limits.upper
    assert expected_share(ReconstructionExperiment(12, 11, 1.5).draw(generator)[1]) is None


def test_one_person_is_reconstructed_by_the_own_identifier() -> None:
    generator = np.random.default_rng(3)
    hits, draws, sums, people, deviation = 0, 400, 150, 41, 2.0
    for _ in range(draws):
        secret = np.r_[generator.random() < 0.5, np.arange(people - 1) % 2].astype(bool)
        subsets = generator.random((sums, people)) < 0.5
        values = subsets @ secret.astype(float) + deviation * generator.standard_normal(sums)
        hits += int((one_person(subsets[:, 0], values) > 0.5) == secret[0])
    limits = share(hits, draws, CONFIDENCE)
    assert limits.lower <= share_right_by_one_person(sums, 20, deviation) <= limits.upper


def test_membership_follows_from_reconstruction() -> None:
    """Candidates are members where the reconstructed bit is 1; its failures are the false positives."""
    generator = np.random.default_rng(4)
    candidates, members = 40, np.arange(40) < 15
    predicates = generator.random((90, candidates)) < 0.5
    rates = []
    for deviation in (0.2, 30.0):
        values = predicates @ members.astype(float) + deviation * generator.standard_normal(90)
        subsets = sparse.csr_matrix(predicates, dtype=np.float64)
        called = membership_by_reconstruction(SubsetSums(subsets, values, np.full(90, deviation)))
        rates.append(((called & members).sum() / 15, (called & ~members).sum() / 25))
    assert rates[0] == (1.0, 0.0)
    assert abs(rates[1][0] - rates[1][1]) < 0.5


def test_reconstruction_follows_from_membership() -> None:
    """A bit is right about as often as a member is found, and wrong about as often as another one is."""
    generator = np.random.default_rng(5)
    setting = TracingExperiment(40, 160, 0.02)
    decided = BitsByMembership(setting).run(Tracing.LIKELIHOOD_RATIO, 0.05, 250, generator)
    found = setting.expected(Tracing.LIKELIHOOD_RATIO, 0.05, generator)
    assert decided.right(CONFIDENCE).lower <= found + 0.05
    assert decided.right(CONFIDENCE).upper >= found * 0.95
    assert decided.wrong(CONFIDENCE).lower <= 0.05
    assert decided.undecided > 0


def test_bits_are_undecided_where_both_tests_say_out() -> None:
    zeros, ones = np.array([True, False, False, True]), np.array([False, True, False, True])
    scores = np.array([1.0, 0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0, 2.0])
    decided = reconstruction_by_membership(zeros, ones, scores, np.array([False, False, True, True]))
    assert (decided.correct, decided.incorrect, decided.undecided) == (2, 1, 1)
