"""The planted leak: models that memorise a known share, and whether attacks on as much data notice."""

import numpy as np
import pytest

from smalti.transforms.membership.planted_leak import MemorisingTrainer, detection, least_records
from smalti.transforms.membership.scored import Scored

RECORDS = np.random.default_rng(0).normal(size=(2000, 3))
LABELS = np.arange(2000) % 4


def scored(members: np.ndarray, others: np.ndarray) -> Scored:
    return Scored(np.concatenate([members, others]), np.arange(len(members) + len(others)) < len(members))


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_a_share_of_the_members_is_memorised_and_nothing_else(share: float) -> None:
    """The share of digests below a bound is binomial: within 0.06 but for less than one seed in 10^7."""
    members = np.stack([np.arange(2000) < 1000, np.arange(2000) >= 1000])
    group = MemorisingTrainer(4, share).train(RECORDS, LABELS, members)
    found = group.confidences(RECORDS)
    assert found.sum(axis=-1) == pytest.approx(1)
    memorised = np.take_along_axis(found, LABELS[None, :, None], axis=-1)[..., 0] > 0.9
    assert not memorised[~members].any()
    assert memorised[members].mean() == pytest.approx(share, abs=0.06)
    assert found[0][1000:] == pytest.approx(np.full((1000, 4), 0.25)), "nothing else leaks"


def test_the_same_records_are_memorable_for_all_models() -> None:
    both = np.ones((2, 2000), np.bool_)
    first, second = MemorisingTrainer(4, 0.3).train(RECORDS, LABELS, both).confidences(RECORDS)
    assert (first == second).all()


def test_a_clear_leak_is_detected_and_guessing_is_not() -> None:
    draw = np.random.default_rng(1)
    assert detection(scored(draw.normal(3, 1, 100), draw.normal(0, 1, 100)), 0.95).is_detected
    guessed = [
        detection(scored(draw.normal(size=100), draw.normal(size=100)), 0.95).is_detected
        for _ in range(200)
    ]
    assert sum(guessed) <= 24, "10 of 200 are expected at most; 25 have a chance below 1e-4"


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_least_number_of_records_is_exact(confidence: float) -> None:
    least = least_records(1.0, confidence)
    for records, is_enough in ((least - 1, False), (least, True)):
        perfect = scored(np.ones(records), np.zeros(records))
        assert detection(perfect, confidence).is_detected == is_enough


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1])
def test_bad_shares_are_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        MemorisingTrainer(4, share)
    with pytest.raises(ValueError, match="share"):
        least_records(share, 0.95)
