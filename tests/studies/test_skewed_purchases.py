"""Skewed Purchases and its answers by randomised response.

Comparisons of draws with probabilities fail by chance with probability 1e-9 each (`evidence.FALSE_ALARM`).
"""

import math

import numpy as np
import pytest
from evidence import share_within
from stub_sampler import StubSampler

from smalti.studies.comparison.local_response import LocalResponse
from smalti.studies.comparison.skewed_purchases import FEATURES, NOISE_OF_FIGURE, SkewedPurchases
from smalti.transforms.noise.randomized_response import RandomizedResponse

RECORDS = 2000


def holds(flags: np.ndarray, probability: float) -> bool:
    low, high = share_within(int(flags.sum()), flags.size)
    return low <= probability <= high


@pytest.mark.parametrize("classes", [10, 20, 50, 100])
def test_bits_have_their_probabilities(classes: int) -> None:
    data, generator = SkewedPurchases(classes), np.random.default_rng(classes)
    width = FEATURES // classes
    for (features, labels), noise in (
        (data.training(RECORDS, generator), 0.2),
        (data.test(RECORDS, generator), 0.5),
    ):
        assert features.shape == (RECORDS, 600)
        assert set(np.unique(features)) == {0.0, 1.0}
        assert set(labels.tolist()) == set(range(classes))
        indicates = np.zeros((RECORDS, FEATURES), bool)
        for record, label in enumerate(labels):
            indicates[record, label * width : (label + 1) * width] = True
        assert holds(features[indicates] == 1, 0.8)
        assert holds(features[~indicates] == 1, noise)
        assert holds(labels == 3, 1 / classes)


def test_a_seed_repeats() -> None:
    one, other = (SkewedPurchases(10).training(5000, np.random.default_rng(seed)) for seed in (1, 1))
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


def test_entropy_differences_are_those_of_the_figure() -> None:
    found = [SkewedPurchases(10, noise_in_training=noise).entropy_difference for noise in NOISE_OF_FIGURE]
    assert found == pytest.approx([0, 0.03, 0.12, 0.28, 0.53], abs=0.005)
    assert SkewedPurchases(10, noise_in_training=0.0).entropy_difference == 1.0


@pytest.mark.parametrize("wrong", [{"classes": 7}, {"classes": 1}, {"classes": 10, "noise_in_test": 1.1}])
def test_bad_parameters(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"classes|probability"):
        SkewedPurchases(**wrong)


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_bits_change_as_randomised_response_says(epsilon: float) -> None:
    response = LocalResponse.calibrated(600, epsilon)
    features, _ = SkewedPurchases(10).training(50, np.random.default_rng(0))
    changed = response.perturbed(features) != features
    for value in (0, 1):
        assert holds(changed[features == value], 1 / (1 + math.exp(epsilon)))
    # Bits of one record change independently of each other.
    assert holds(changed[:, ::2] & changed[:, 1::2], (1 / (1 + math.exp(epsilon))) ** 2)
    assert response.epsilon == pytest.approx(epsilon)
    assert response.record_epsilon == pytest.approx(600 * epsilon)


def test_losses_of_the_document() -> None:
    found = [LocalResponse.calibrated(600, epsilon).record_epsilon for epsilon in (0.1, 8)]
    assert found == pytest.approx([60, 4800])


def test_blocks_and_bad_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smalti.studies.comparison.local_response._BLOCK", 7)
    hardly = LocalResponse.calibrated(3, 30.0)
    features = np.array([[0, 1, np.nan], [1, 5, 0], [1, 1, 1], [-1, 0, 1]], np.float32)
    found = hardly.perturbed(features, StubSampler(0))
    np.testing.assert_array_equal(found, [[0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]])
    with pytest.raises(ValueError, match="records of 3"):
        hardly.perturbed(features[:, :2])
    with pytest.raises(ValueError, match="two categories"):
        LocalResponse(3, RandomizedResponse.calibrated(3, 1.0))
