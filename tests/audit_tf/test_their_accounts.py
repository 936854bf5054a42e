"""Epsilons of tensorflow-privacy against ours.

Both rest on dp-accounting, here in the version 0.4.3 that tensorflow-privacy takes. What is compared is
which mechanism is accounted, with how many steps, and how their figure relates to what smalti tells.
"""

import numpy as np
import pytest
from tensorflow_privacy.privacy.analysis.compute_dp_sgd_privacy_lib import compute_dp_sgd_privacy

from smalti.studies.tensorflow.libraries import Libraries
from smalti.transforms.learning.accounting import SampledGaussian
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining

TRAININGS = [
    # records, batch, noise multiplier, epochs
    (60_000, 250, 1.3, 15),
    (10_000, 100, 2.0, 20),
    (10_000, 100, 8.0, 200),
    (1_000, 200, 4.0, 10),
    (500, 100, 1.0, 3),
]
DELTA = 1e-5


def mechanism(records: int, batch: int, noise_multiplier: float, epochs: int) -> SampledGaussian:
    private = PrivateTraining(noise_multiplier, 1.0, batch / records)
    return SampledGaussian.of(Hyperparameters(epochs, batch, 0.1, private=private))


@pytest.mark.parametrize("training", TRAININGS)
def test_their_epsilon_is_ours_by_renyi_and_ours_by_distributions_is_less(
    training: tuple[int, int, float, int],
) -> None:
    """Theirs tries a coarser grid of orders (up to 512), so it may be a little above ours, never below.

    Loss distributions are tighter; how much is not promised, and less than half of it was never seen.
    """
    records, batch, noise_multiplier, epochs = training
    theirs, _ = compute_dp_sgd_privacy(records, batch, noise_multiplier, epochs, DELTA)
    ours = mechanism(*training)
    by_renyi, by_distributions = ours.epsilon_by_renyi(DELTA), ours.epsilon(DELTA)
    assert theirs * 0.98 <= by_renyi <= theirs * (1 + 1e-9)
    assert theirs / 2 <= by_distributions <= theirs


def said(both: Libraries, used_microbatching: bool) -> list[float]:
    """The epsilons of their statement: each record once in an epoch, and Poisson sampling."""
    text = both.privacy.compute_dp_sgd_privacy_statement(
        10_000, 100, 20, 2.0, DELTA, used_microbatching=used_microbatching
    )
    lines = [line for line in text.splitlines() if line.strip().startswith("Epsilon ")]
    return [float(line.rsplit(maxsplit=1)[-1]) for line in lines]


def test_their_statement_says_the_same_for_microbatches_of_one_record(both: Libraries) -> None:
    """The first figure is for epochs that have each record once; it is larger.

    By default they take it that microbatches have several records: then noise counts half.
    """
    once, sampled = said(both, used_microbatching=False)
    assert sampled == pytest.approx(mechanism(10_000, 100, 2.0, 20).epsilon_by_renyi(DELTA), abs=1e-3)
    assert once == pytest.approx(SampledGaussian(2.0, 1.0, 20).epsilon_by_renyi(DELTA), abs=1e-3)
    assert once > 2 * sampled
    halved = said(both, used_microbatching=True)[1]
    assert halved == pytest.approx(mechanism(10_000, 100, 1.0, 20).epsilon_by_renyi(DELTA), abs=1e-3)


def test_an_account_without_sampling_is_exact_here() -> None:
    """Rate 1: ours is the formula of a Gaussian mechanism, below every account by Renyi divergences."""
    ours = SampledGaussian(4.0, 1.0, 10)
    assert 0.8 * ours.epsilon_by_renyi(DELTA) < ours.epsilon(DELTA) < ours.epsilon_by_renyi(DELTA)
    assert np.isfinite(ours.epsilon(DELTA))
