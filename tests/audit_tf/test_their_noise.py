"""The noise of tensorflow-privacy's optimizers: how much of it, how it is spread, and where it ends.

Each comparison of draws with a distribution fails by chance with probability 1e-9 (`evidence.FALSE_ALARM`).
"""

from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from evidence import FALSE_ALARM, furthest_allowed
from keras_steps import KEY, VARIANTS, Gradient, hyperparameters, step_of_dp_model, stepper
from scipy.stats import chi2, norm

from smalti.studies.tensorflow.libraries import Libraries
from smalti.studies.tensorflow.training import END_OF_NOISE, Variant, keras_network
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Optimizer

WIDE = Architecture(2000, (), 20)
"""40,020 parameters."""
STEPS = 8
"""So many have 320,160 draws; their deviation is told from another one that is 2 % more."""
RECORDS = 3
NOBODY = np.zeros(RECORDS)
STANDARD = NormalDist()


def data(architecture: Architecture) -> tuple[np.ndarray, np.ndarray]:
    return np.ones((RECORDS, architecture.features), np.float32), np.zeros(RECORDS, np.int32)


def noisy_step(
    both: Libraries, architecture: Architecture, variant: Variant, optimizer: Optimizer, settings: Any
) -> Callable[[], Gradient]:
    """Noise alone: no record of the batch counts."""
    model = keras_network(both, architecture, KEY)
    batch_size, clipping_norm, multiplier = settings
    made = hyperparameters(optimizer, batch_size, clipping_norm, multiplier)
    step = stepper(both, model, made, data(architecture), variant)
    return lambda: step(NOBODY)


def check_standard(noise: np.ndarray) -> None:
    """That these are draws of the standard normal distribution; variance and distribution function."""
    numbers = np.sort(noise.ravel().astype(np.float64))
    low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(numbers)) / len(numbers)
    assert low <= np.square(numbers).mean() <= high
    shares = np.arange(1, len(numbers) + 1) / len(numbers)
    assert np.abs(shares - norm.cdf(numbers)).max() <= furthest_allowed(len(numbers))


@pytest.mark.parametrize(("variant", "optimizer"), VARIANTS)
@pytest.mark.parametrize(
    ("batch_size", "clipping_norm", "multiplier"), [(RECORDS, 2.0, 0.5), (40, 0.7, 3.0)]
)
def test_the_noise_is_multiplier_times_norm_through_batch(
    both: Libraries,
    variant: Variant,
    optimizer: Optimizer,
    batch_size: int,
    clipping_norm: float,
    multiplier: float,
) -> None:
    """Also where the batch that is divided by is another number than the records that are given."""
    both.tensorflow.random.set_seed(0)
    step = noisy_step(both, WIDE, variant, optimizer, (batch_size, clipping_norm, multiplier))
    noise = np.concatenate([array.ravel() for _ in range(STEPS) for array in step()])
    check_standard(noise / (multiplier * clipping_norm / batch_size))


@pytest.mark.parametrize("is_fast", [False, True])
def test_so_it_is_with_their_model_class(both: Libraries, is_fast: bool) -> None:
    both.tensorflow.random.set_seed(0)
    # Certain of the label already, so that there is hardly a gradient beside the noise.
    certain = [np.zeros((2000, 20)), np.array([100.0] + [0.0] * 19)]
    found = step_of_dp_model(both, WIDE, certain, data(WIDE), (0.7, 3.0), is_fast)
    check_standard(np.concatenate([array.ravel() for array in found]) / (3.0 * 0.7 / RECORDS))


@pytest.mark.parametrize("variant", Variant)
def test_layers_and_steps_have_noise_of_their_own(both: Libraries, variant: Variant) -> None:
    """Layers of one shape, whose noise could be the same numbers again; likewise steps of one graph."""
    both.tensorflow.random.set_seed(0)
    alike = Architecture(40, (40, 40), 40)
    step = noisy_step(both, alike, variant, Optimizer.SGD, (1, 1.0, 1.0))
    noise = [array.ravel() for gradient in (step(), step()) for array in gradient if array.ndim == 2]
    assert len(noise) == 6
    # Products of independent standard normal numbers have mean 0 and variance 1; the sum is nearly normal.
    furthest = -STANDARD.inv_cdf(FALSE_ALARM / 2) / np.sqrt(len(noise[0]))
    products = np.cov(np.array(noise))
    assert np.abs(products - np.diag(np.diag(products))).max() <= furthest


def test_noise_ends_where_it_is_said_to(both: Libraries) -> None:
    """As the source that TensorFlow ships says; and ten million draws are within it."""
    tensorflow = both.tensorflow
    source = Path(tensorflow.sysconfig.get_include()) / "tsl/lib/random/random_distributions_utils.h"
    text = source.read_text(encoding="utf-8")
    body = text[text.index("void BoxMullerFloat") :][:1000]
    assert "const float epsilon = 1.0e-7f;" in body
    assert "if (u1 < epsilon)" in body
    assert "u2 = sqrt(-2.0f * log(u1));" in body
    assert pytest.approx(5.678, abs=1e-3) == END_OF_NOISE
    tensorflow.random.set_seed(0)
    assert float(tensorflow.reduce_max(tensorflow.abs(tensorflow.random.normal([10**7])))) <= END_OF_NOISE


def test_what_that_end_shows_of_a_record() -> None:
    """A sum that is shifted by one clipping norm in one coordinate can be beyond the end of the other."""
    shown = 1 - STANDARD.cdf(END_OF_NOISE - 1)
    assert shown == pytest.approx(1.4e-6, rel=0.05)
    assert 1 - (1 - shown) ** 1000 == pytest.approx(0.0014, rel=0.05)
