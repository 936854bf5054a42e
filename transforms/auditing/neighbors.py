"""Two neighbouring data sets, and the choice of the pair that is likely to be distinguished best.

Dataset sensitivity is a heuristic (arXiv 2103.02913, section 5.1, Definition 6): records that are unlike
the others are expected to have gradients unlike theirs. It is for the study of local sensitivity. Noise
that is scaled by it gives no differential privacy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

import numpy as np
from scipy.ndimage import uniform_filter
from scipy.spatial.distance import cdist

from smalti.transforms.auditing.scores import Floats
from smalti.transforms.problem import Integers
from smalti.transforms.sensitivity import NeighboringRelation

Data = TypeVar("Data")

Dissimilarity = Callable[[Floats, Floats], Floats]
"""From records of shape (n, features) and (m, features) to how unlike each pair is, of shape (n, m)."""


class Distance(StrEnum):
    """The paper's dissimilarity measures of records (section 6.1), but for that of images."""

    HAMMING = "hamming"
    """The share of features that differ."""
    EUCLIDEAN = "euclidean"
    MANHATTAN = "cityblock"
    COSINE = "cosine"
    """1 minus the cosine of the angle; not a number for a record of zeros."""

    def __call__(self, records: Floats, others: Floats) -> Floats:
        """Each record's distance from each of the others."""
        return np.asarray(cdist(records, others, metric=self.value), np.float64)


_STRUCTURAL_WINDOW: Final = 7
_STRUCTURAL_CONSTANTS: Final = (0.01**2, 0.03**2)


@dataclass(frozen=True, slots=True)
class StructuralDissimilarity:
    """1 minus the structural similarity of grey images; from 0 to 2.

    Wang, Bovik, Sheikh, Simoncelli, "Image Quality Assessment: From Error Visibility to Structural
    Similarity", IEEE Transactions on Image Processing 13, 2004, equation 13 with the constants printed
    there, averaged over all windows of 7 times 7 pixels that lie within the image.
    """

    height: int
    """In pixels, at least 7."""
    width: int
    """In pixels, at least 7."""
    span: float
    """The distance of black and white, above 0."""

    def __post_init__(self) -> None:
        if min(self.height, self.width) < _STRUCTURAL_WINDOW or not self.span > 0:
            raise ValueError("images of at least 7 times 7 pixels and a span above 0 are expected")

    def __call__(self, records: Floats, others: Floats) -> Floats:
        """That of each pair of images, given as rows of pixels."""
        compared = self._images(others)
        return np.stack([1 - self._similarity(image, compared) for image in self._images(records)])

    def _similarity(self, image: Floats, others: Floats) -> Floats:
        left, right = _window_means(image), _window_means(others)
        variance = _window_means(image**2) - left**2, _window_means(others**2) - right**2
        covariance = _window_means(image * others) - left * right
        bright, contrast = (constant * self.span**2 for constant in _STRUCTURAL_CONSTANTS)
        similar = (2 * left * right + bright) * (2 * covariance + contrast)
        scale = (left**2 + right**2 + bright) * (variance[0] + variance[1] + contrast)
        return np.asarray((similar / scale).mean(axis=(-2, -1)), np.float64)

    def _images(self, records: Floats) -> Floats:
        return records.reshape(len(records), self.height, self.width)


@dataclass(frozen=True, slots=True, eq=False)
class NeighboringPair(Generic[Data]):
    """Two data sets that differ in one record: what they share, and what only one of them has."""

    shared: Data
    first_only: Data
    """The record that only the first data set has."""
    second_only: Data | None = None
    """The record in its place in the second one (bounded); None where there is none (unbounded)."""

    @property
    def relation(self) -> NeighboringRelation:
        """Unbounded neighbours add or remove a record, bounded ones change one."""
        if self.second_only is None:
            return NeighboringRelation.ADD_OR_REMOVE_ONE
        return NeighboringRelation.CHANGE_ONE


def most_dissimilar_record(records: Floats, dissimilarity: Dissimilarity) -> int:
    """Which record is farthest from all others, by the sum over them; the one to remove (equation 18).

    Args:
        records: of the data set, shape (n, features).
        dissimilarity: of two records.
    """
    return int(ranked_records(records, dissimilarity)[0])


def ranked_records(records: Floats, dissimilarity: Dissimilarity) -> Integers:
    """All records, from the one that is farthest from all others on; of equal ones the first comes first.

    Args:
        records: of the data set, shape (n, features).
        dissimilarity: of two records.
    """
    apart = _finite(dissimilarity(records, records)).sum(axis=1)
    return np.argsort(-apart, kind="stable")


def most_dissimilar_replacement(
    records: Floats, candidates: Floats, dissimilarity: Dissimilarity
) -> tuple[int, int]:
    """Which record and which candidate to put in its place are farthest apart (equation 20).

    Args:
        records: of the data set, shape (n, features).
        candidates: records outside it, shape (m, features).
        dissimilarity: of two records.
    """
    return ranked_replacements(records, candidates, dissimilarity)[0]


def ranked_replacements(
    records: Floats, candidates: Floats, dissimilarity: Dissimilarity
) -> list[tuple[int, int]]:
    """All records, each with a candidate in its place, from the pair that is farthest apart on.

    Args:
        records: of the data set, shape (n, features).
        candidates: records outside it, shape (m, features).
        dissimilarity: of two records.
    """
    apart = _finite(dissimilarity(records, candidates))
    order = np.argsort(-apart, axis=None, kind="stable")
    pairs = np.column_stack(np.unravel_index(order, apart.shape))
    return [(int(record), int(candidate)) for record, candidate in pairs]


def _finite(apart: Floats) -> Floats:
    if not np.isfinite(apart).all():
        raise ValueError("a dissimilarity is not a number; the cosine needs records that are not all zeros")
    return apart


def _window_means(images: Floats) -> Floats:
    """The mean of each window within the image; the two last axes are those of the image."""
    sizes = (1,) * (images.ndim - 2) + (_STRUCTURAL_WINDOW, _STRUCTURAL_WINDOW)
    inside = slice(_STRUCTURAL_WINDOW // 2, -(_STRUCTURAL_WINDOW // 2))
    return np.asarray(uniform_filter(images, sizes)[..., inside, inside], np.float64)
