"""Dissimilarities against their definitions, and the pairs that they choose."""

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.auditing.neighbors import (
    Distance,
    NeighboringPair,
    StructuralDissimilarity,
    most_dissimilar_record,
    most_dissimilar_replacement,
)
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.sensitivity import NeighboringRelation


def test_distances_are_those_of_their_names() -> None:
    one, other = np.array([[1.0, 0.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 0.0, 1.0]])
    assert Distance.HAMMING(one, other).item() == 0.5
    assert Distance.EUCLIDEAN(one, other).item() == pytest.approx(2**0.5)
    assert Distance.MANHATTAN(one, other).item() == 2
    assert Distance.COSINE(one, other).item() == pytest.approx(1 / 3)


def similarity(one: Floats, other: Floats, span: float) -> float:
    """The structural similarity by its definition, window by window."""
    found = []
    for row in range(one.shape[0] - 6):
        for column in range(one.shape[1] - 6):
            x, y = (image[row : row + 7, column : column + 7].ravel() for image in (one, other))
            (vx, cov), (_, vy) = np.cov(x, y, bias=True)
            c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
            means = (2 * x.mean() * y.mean() + c1) / (x.mean() ** 2 + y.mean() ** 2 + c1)
            found.append(means * (2 * cov + c2) / (vx + vy + c2))
    return float(np.mean(found))


@settings(max_examples=examples(10))
@given(st.integers(7, 10), st.integers(7, 10), st.integers(0, 2**32 - 1))
def test_structural_dissimilarity_is_its_definition(height: int, width: int, seed: int) -> None:
    images = np.random.default_rng(seed).uniform(0, 16, (4, height * width))
    found = StructuralDissimilarity(height, width, 16.0)(images[:2], images[1:])
    for i in range(2):
        for j in range(3):
            pair = (image.reshape(height, width) for image in (images[i], images[1 + j]))
            assert found[i, j] == pytest.approx(1 - similarity(*pair, 16.0))
    assert found[1, 0] == pytest.approx(0, abs=1e-12)


def test_images_that_are_too_small_are_refused() -> None:
    with pytest.raises(ValueError, match="7 times 7"):
        StructuralDissimilarity(6, 8, 1.0)


RECORDS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])


def test_the_outlier_is_removed_and_the_farthest_pair_exchanged() -> None:
    assert most_dissimilar_record(RECORDS, Distance.EUCLIDEAN) == 3
    others = np.array([[4.0, 4.0], [-9.0, 0.0]])
    assert most_dissimilar_replacement(RECORDS, others, Distance.MANHATTAN) == (3, 1)


def test_a_record_of_zeros_has_no_cosine() -> None:
    with pytest.raises(ValueError, match="cosine"):
        most_dissimilar_record(RECORDS, Distance.COSINE)


def test_the_relation_is_that_of_the_pair() -> None:
    assert NeighboringPair(RECORDS, RECORDS[:1]).relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    assert NeighboringPair(RECORDS, RECORDS[:1], RECORDS[1:2]).relation is NeighboringRelation.CHANGE_ONE
