"""Randomised response from a seed: repeatable, and far from all releases.

Comparisons of draws with probabilities fail by chance with probability 1e-9 each. Under 1 s.
"""

import math

import numpy as np
import pytest
from evidence import share_within
from test_architecture import every_import

from smalti.errors import InternalError
from smalti.studies.comparison.local_response import LocalResponse
from smalti.studies.comparison.seeded_response import SeededBits
from smalti.transforms.noise.randomized_response import RandomizedResponse

FEATURES = np.zeros((500, 40), np.float32)


def test_a_seed_repeats_and_another_does_not() -> None:
    response = LocalResponse.calibrated(40, 1.0)
    one, same, other = (response.perturbed(FEATURES, SeededBits(seed)) for seed in ((1, 2), (1, 2), (1, 3)))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_bits_change_with_their_probability(epsilon: float) -> None:
    response = LocalResponse.calibrated(40, epsilon)
    for bit in (0.0, 1.0):
        changed = response.perturbed(FEATURES + np.float32(bit), SeededBits(5)) != bit
        low, high = share_within(int(changed.sum()), changed.size)
        assert low <= 1 / (1 + math.exp(epsilon)) <= high


def test_other_categories_are_equally_likely() -> None:
    reported = RandomizedResponse.calibrated(4, 1.0).perturbed(np.full(20_000, 2), SeededBits(6))
    for category in (0, 1, 3):
        low, high = share_within(int((reported == category).sum()), len(reported))
        assert low <= 1 / (math.e + 3) <= high


def test_noise_of_releases_is_refused() -> None:
    values = np.zeros(1, np.int64)
    for drawn in (SeededBits(0).laplace, SeededBits(0).gaussian, SeededBits(0).choose):
        with pytest.raises(InternalError, match="no noise of releases"):
            drawn(values, 1.0)


def test_nothing_but_the_study_takes_noise_from_a_seed() -> None:
    module = "smalti.studies.comparison.seeded_response"
    using = {
        path
        for path, name in every_import("policy", "engine", "transforms", "studies", "vocab", "src")
        if name == module or name.startswith(f"{module}.")
    }
    assert using == {"studies/comparison/models.py"}
