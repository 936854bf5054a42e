"""The attacks of D5.2, 4.4: by hand, on a model that repeats its records, and on one that cannot."""

from collections.abc import Callable

import numpy as np
import pytest

from smalti.errors import DataError, UsageError
from smalti.transforms.generative.attack_names import GenerativeAttack
from smalti.transforms.generative.audit import Audited, Settings, attacked
from smalti.transforms.generative.distances import (
    ColourHistogram,
    OrientedGradients,
    Plain,
    PrincipalComponents,
)
from smalti.transforms.generative.monte_carlo import KernelDensity, MonteCarlo, Weighing
from smalti.transforms.generative.protocol import Groups
from smalti.transforms.generative.sampler import Form, FromCallable, Numbers
from smalti.transforms.learning.randomness import Seeded

WIDTH = 6
FORM = Form.of_arrays((WIDTH,))
BY_SAMPLES = (GenerativeAttack.MONTE_CARLO, GenerativeAttack.MC_DISTANCE, GenerativeAttack.MC_PERCENTILE)


def unlabelled(features: np.ndarray) -> Numbers:
    return Numbers(np.asarray(features, np.float32), np.zeros(len(features), np.int64))


def test_monte_carlo_by_hand() -> None:
    """Nearest samples at 1, 3, 2 and 9: epsilon is 2.5, so records 0 and 2 have samples within it."""
    records = unlabelled(np.array([[0.0], [103.0], [202.0], [309.0]]))
    group = np.arange(4)
    attack = MonteCarlo(Plain(), records, [group, group[:2]])
    for samples in ([[1.0], [2.0]], [[100.0], [200.0]], [[300.0], [3.0]]):
        attack.add(unlabelled(np.array(samples)))
    counted, of_two = attack.scores(Weighing.COUNT)
    assert counted.tolist() == [2 / 6, 0, 1 / 6, 0]
    assert of_two.tolist() == [2 / 6, 0], "epsilon of the first two is 2"
    (weighed, _) = attack.scores(Weighing.DISTANCE)
    assert weighed == pytest.approx([np.log(2.5 * 2.5 / 2) / 6, 0, np.log(2.5 / 2) / 6, 0])


def test_samples_are_compared_with_records_of_their_label() -> None:
    records = Numbers(np.array([[0.0], [0.0]], np.float32), np.array([0, 1]))
    attack = MonteCarlo(Plain(), records, [np.arange(2)])
    attack.add(Numbers(np.array([[1.0], [0.1]], np.float32), np.array([0, -1])))
    with pytest.raises(DataError, match="no sample of their label"):
        attack.scores(Weighing.COUNT)


def test_components_and_colours_by_hand() -> None:
    line = np.outer(np.arange(9.0), [3.0, 4.0]).astype(np.float32)
    features = PrincipalComponents.of(line, 1).features(line)
    assert np.abs(np.diff(features[:, 0])) == pytest.approx([5.0] * 8, rel=1e-4)
    image = np.array([[0.0, 1.0, 0.49, 0.51]], np.float32)
    assert ColourHistogram(2, bins=2).features(image).tolist() == [[1.0, 0.0, 0.0, 1.0]]


def test_oriented_gradients_by_hand_and_as_scikit_image_has_them() -> None:
    """Brighter to the right: the orientation of 0 degrees alone; brighter downwards: that of 90."""
    ramp = np.tile(np.arange(6, dtype=np.float32), (6, 1))
    across, down = OrientedGradients(6, 6, 2, 1).features(np.stack([ramp, ramp.T])).reshape(2, 9, 9)
    assert across[:, 0] == pytest.approx(1, abs=1e-6)
    assert down[:, 4] == pytest.approx(1, abs=1e-6)
    assert across.sum() == pytest.approx(down.sum(), abs=1e-5) == pytest.approx(9, abs=1e-5)
    rows, columns = np.mgrid[0:6, 0:7]
    image = ((3 * rows * rows + 5 * columns + 2 * rows * columns) % 11 / 10).astype(np.float32)
    (features,) = OrientedGradients(6, 7, 2, 2).features(image.reshape(1, -1))
    # skimage.feature.hog (0.26) with the same cells and blocks.
    assert features.shape == (144,)
    assert features[[0, 2, 4, 9, 10]] == pytest.approx(
        [0.342563, 0.342563, 0.079346, 0.342563, 0.286086], abs=1e-6
    )
    assert features[-9:-7] == pytest.approx([0.344592, 0.309186], abs=1e-6)
    assert features.sum() == pytest.approx(12.510564, abs=1e-4)
    with pytest.raises(DataError, match="too small"):
        OrientedGradients(23, 40)


def test_kernel_density_by_hand() -> None:
    """Scott's bandwidth for two samples in one dimension, of the deviation 1, is 2 to the power of -1/5."""
    attack = KernelDensity(Plain(), unlabelled(np.array([[0.0], [3.0]])))
    attack.add(unlabelled(np.array([[-1.0], [1.0]])))
    attack.add(unlabelled(np.array([[3.0]])))
    double = 2 * 2 ** (-2 / 5)
    assert attack.scores() == pytest.approx(
        np.log([
            2 * np.exp(-1 / double) + np.exp(-9 / double),
            np.exp(-16 / double) + np.exp(-4 / double) + 1,
        ])
    )  # fmt: skip


def results(
    draw: Callable[[int], tuple[np.ndarray, None]], members: np.ndarray, others: np.ndarray
) -> dict[str, float]:
    size = len(members)
    groups = Groups.drawn(np.repeat([True, False], size), np.random.default_rng(3), 10)
    reference = unlabelled(np.random.default_rng(4).normal(size=(50, WIDTH)))
    audited = Audited(FORM, (), unlabelled(np.concatenate([members, others])), reference, groups)
    settings = Settings(BY_SAMPLES, (Plain(),), 4000, percentile=0.01)
    achieved = attacked(
        audited, settings, FromCallable(FORM, draw), None, (np.random.default_rng(5), Seeded(0))
    )
    return {name: one.single_accuracy().value or 0.0 for name, one in achieved.membership}


def test_a_model_that_repeats_its_records_is_seen_and_one_of_others_is_not() -> None:
    draw = np.random.default_rng(1)
    members, others, elsewhere = draw.normal(size=(3, 100, WIDTH))

    def repeating(records: np.ndarray) -> Callable[[int], tuple[np.ndarray, None]]:
        def samples(number: int) -> tuple[np.ndarray, None]:
            near = draw.normal(scale=0.05, size=(number, WIDTH))
            return records[draw.integers(0, len(records), number)] + near, None

        return samples

    by_median, by_distance, by_percentile = results(repeating(members), members, others).values()
    assert min(by_median, by_distance) > 0.95
    assert by_percentile > 0.65, "with a wider epsilon, others are near some samples, too"
    accuracies = results(repeating(elsewhere), members, others)
    assert all(abs(value - 0.5) < 0.2 for value in accuracies.values()), "200 records, 5 deviations"


def test_what_reads_the_model_is_refused_where_there_are_samples_alone() -> None:
    groups = Groups.drawn(np.repeat([True, False], 2), np.random.default_rng(3), 2)
    records = unlabelled(np.zeros((4, WIDTH)))
    settings = Settings((GenerativeAttack.RECONSTRUCTION,), (), 1)
    sampler = FromCallable(FORM, lambda number: (np.zeros((number, WIDTH)), None))
    with pytest.raises(UsageError, match="samples alone"):
        attacked(
            Audited(FORM, (), records, records, groups), settings, sampler, None,
            (np.random.default_rng(0), Seeded(0)),
        )  # fmt: skip
