"""Distances between images (D5.2, 4.4.2): Euclidean ones of features; and Gower's, of rows of tables.

Features are principal components, oriented gradients, or histograms of colours. A distance turns records
into features once; the attacks compare features. What a distance learns, such as principal components, it
learns from records that are neither members nor audited: D5.2 takes test data.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, Self, assert_never

import numpy as np
from numpy.typing import NDArray

from smalti.errors import DataError
from smalti.transforms.generative.sampler import Floats
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.gower import MixedColumns

COMPONENTS: Final = 40
"""Principal components that are kept (D5.2)."""
CELL: Final = 8
"""Pixels of a side of a cell, of oriented gradients."""
CELLS: Final = 3
"""Cells of a side of a block."""
ORIENTATIONS: Final = 9
BINS: Final = 16
"""Of the intensities of one colour."""
_LEAST: Final = 1e-5
"""Of norms of blocks, which are divided by: as in scikit-image."""
_CLIPPED: Final = 0.2


class Distance(Protocol):
    """Features, and distances between them."""

    @property
    def name(self) -> str:
        """As options and reports name it."""

    def features(self, records: Floats) -> Floats:
        """The features.

        Args:
            records: shape (records, numbers of a record).

        Returns:
            Shape (records, features).
        """

    def squares(self, records: Doubles, samples: Doubles) -> Doubles:
        """The squares of all distances of some records to samples.

        Args:
            records: features, of shape (records, features).
            samples: likewise.

        Returns:
            Shape (records, samples).
        """


class _Euclidean:
    """The Euclidean distance of features."""

    __slots__ = ()

    def squares(self, records: Doubles, samples: Doubles) -> Doubles:
        """As `Distance.squares`."""
        sums = (records**2).sum(axis=1)[:, None] + (samples**2).sum(axis=1)
        squares: Doubles = np.maximum(sums - 2 * records @ samples.T, 0)
        return squares


@dataclass(frozen=True, slots=True, eq=False)
class Gower:
    """Gower's distance of rows whose columns are numbers or categories (`membership.gower`)."""

    columns: MixedColumns
    name: str = "gower"

    def features(self, records: Floats) -> Floats:
        """Its values as they are."""
        return records

    def squares(self, records: Doubles, samples: Doubles) -> Doubles:
        """As `Distance.squares`."""
        squares: Doubles = self.columns.distances(records, samples) ** 2
        return squares


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalComponents(_Euclidean):
    """The Euclidean distance of the first principal components of reference records."""

    mean: Floats
    axes: Floats
    """Shape (numbers of a record, components)."""
    name: str = "pca"

    @classmethod
    def of(cls, reference: Floats, components: int = COMPONENTS) -> Self:
        """The components of records that are not audited.

        Args:
            reference: shape (records, numbers of a record).
            components: how many are kept, or as many as there are.

        Raises:
            DataError: there are fewer than two records.
        """
        if len(reference) < 2:
            raise DataError("the distance pca", "fewer than two reference records", "some hundred others")
        mean = reference.mean(axis=0)
        centred = (reference - mean).astype(np.float64)
        # The eigenvectors of the smaller of the two products of the table with itself.
        if len(centred) < centred.shape[1]:
            values, vectors = np.linalg.eigh(centred @ centred.T)
            kept = vectors[:, ::-1][:, :components]
            scale = np.sqrt(np.maximum(values[::-1][:components], np.finfo(np.float64).tiny))
            axes = centred.T @ (kept / scale)
        else:
            axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :components]
        return cls(mean, np.ascontiguousarray(axes, np.float32))

    def features(self, records: Floats) -> Floats:
        features: Floats = ((records - self.mean) @ self.axes).astype(np.float32, copy=False)
        return features


@dataclass(frozen=True, slots=True)
class Plain(_Euclidean):
    """The Euclidean distance of the numbers themselves."""

    name: str = "plain"

    def features(self, records: Floats) -> Floats:
        return records


@dataclass(frozen=True, slots=True)
class OrientedGradients(_Euclidean):
    """The Euclidean distance of histograms of oriented gradients of grey images.

    Dalal, Triggs, "Histograms of Oriented Gradients for Human Detection", CVPR 2005, with the parameters
    and the arithmetic of `skimage.feature.hog`: 9 unsigned orientations, cells of 8 x 8 pixels, blocks of
    3 x 3 cells, normed by L2, clipped at 0.2, and normed again. Written here for many images at
    once, which that function does not take. It was compared once with scikit-image 0.26 on three random
    images of 28 x 28: equal to 3e-8.
    """

    height: int
    width: int
    cell: int = CELL
    cells: int = CELLS
    name: str = "hog"

    def __post_init__(self) -> None:
        if min(self._grid) < self.cells:
            side = self.cell * self.cells
            raise DataError("the distance hog", "images are too small", f"{side} x {side} pixels or more")

    @property
    def _grid(self) -> tuple[int, int]:
        return self.height // self.cell, self.width // self.cell

    def features(self, records: Floats) -> Floats:
        images = records.reshape(len(records), self.height, self.width).astype(np.float64)
        histograms = self._histograms(*_gradients(images))
        down, across = (count - self.cells + 1 for count in self._grid)
        blocks = [
            histograms[:, row : row + self.cells, column : column + self.cells].reshape(len(records), -1)
            for row in range(down)
            for column in range(across)
        ]
        features: Floats = np.concatenate([_normed(block) for block in blocks], axis=1).astype(np.float32)
        return features

    def _histograms(self, down: NDArray[np.float64], across: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shape (images, rows, columns, orientations): the mean magnitude by orientation, of each cell."""
        rows, columns = self._grid
        magnitudes = np.hypot(down, across)
        angles = np.rad2deg(np.arctan2(down, across)) % 180
        sizes = len(down), rows, self.cell, columns, self.cell
        histograms = np.empty((len(down), rows, columns, ORIENTATIONS))
        step = 180 / ORIENTATIONS
        for number in range(ORIENTATIONS):
            is_here = (angles >= step * number) & (angles < step * (number + 1))
            inside = np.where(is_here, magnitudes, 0)[:, : rows * self.cell, : columns * self.cell]
            histograms[..., number] = inside.reshape(sizes).mean(axis=(2, 4))
        return histograms


def _gradients(images: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Differences of the pixels before and behind, down and across; 0 at the borders."""
    down, across = np.zeros_like(images), np.zeros_like(images)
    down[:, 1:-1] = images[:, 2:] - images[:, :-2]
    across[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
    return down, across


def _normed(block: NDArray[np.float64]) -> NDArray[np.float64]:
    def by_norm(values: NDArray[np.float64]) -> NDArray[np.float64]:
        squares = (values * values).sum(axis=1, keepdims=True)
        scaled: NDArray[np.float64] = values / np.sqrt(squares + _LEAST**2)
        return scaled

    return by_norm(np.minimum(by_norm(block), _CLIPPED))


@dataclass(frozen=True, slots=True)
class ColourHistogram(_Euclidean):
    """The Euclidean distance of histograms of the intensities of each colour.

    Grey images are images of one colour. Intensities lie between public ends; those outside count to the
    nearest bin.
    """

    colours: int
    """Of a pixel: the last axis of an image."""
    darkest: float = 0.0
    brightest: float = 1.0
    bins: int = BINS
    name: str = "colours"

    def __post_init__(self) -> None:
        if self.colours < 1 or self.bins < 2 or not self.darkest < self.brightest:
            raise ValueError("a colour, two bins, and a range of intensities are expected")

    def features(self, records: Floats) -> Floats:
        """Shares of pixels: by colour, then by bin."""
        pixels = records.reshape(len(records), -1, self.colours)
        places = (pixels - self.darkest) / (self.brightest - self.darkest) * self.bins
        bins = np.clip(places.astype(np.int64), 0, self.bins - 1)
        own = np.arange(len(records))[:, None, None] * self.colours + np.arange(self.colours)
        flat = (own * self.bins + bins).ravel()
        counts = np.bincount(flat, minlength=len(records) * self.colours * self.bins)
        return (counts.reshape(len(records), -1) / pixels.shape[1]).astype(np.float32)


class DistanceName(StrEnum):
    """The distances, as options name them."""

    PLAIN = "plain"
    PCA = "pca"
    HOG = "hog"
    """Of grey images of at least 24 x 24 pixels."""
    COLOURS = "colours"
    """Of images with intensities from 0 to 1."""
    GOWER = "gower"
    """Of rows of tables, which may have categories."""


def distance_of(
    name: DistanceName,
    shape: tuple[int, ...] | None,
    reference: Floats,
    columns: MixedColumns | None = None,
) -> Distance:
    """The distance of a name.

    Args:
        name: which.
        shape: of a record that is an array; None: records are rows of numbers.
        reference: records that are not audited, of shape (records, numbers of a record).
        columns: what Gower's distance is measured by; None where records are no rows of a table.

    Raises:
        DataError: records are no images, or no rows of a table, these are too small, or there are too few
            reference records.
    """
    match name:
        case DistanceName.PLAIN:
            return Plain()
        case DistanceName.PCA:
            return PrincipalComponents.of(reference)
        case DistanceName.HOG:
            height, width, colours = _image(name, shape)
            if colours > 1:
                raise DataError("the distance hog", "images have colours", "grey images")
            return OrientedGradients(height, width)
        case DistanceName.COLOURS:
            return ColourHistogram(_image(name, shape)[2])
        case DistanceName.GOWER:
            if columns is None:
                raise DataError("the distance gower", "records are no rows of a table", "a table")
            return Gower(columns)
    assert_never(name)


def _image(name: DistanceName, shape: tuple[int, ...] | None) -> tuple[int, int, int]:
    """Height, width and colours."""
    if shape is None or len(shape) not in {2, 3}:
        raise DataError(
            f"the distance {name}",
            "records are no images",
            "an array of height x width, or of height x width x colours, for each record",
            "take the distance plain or pca",
        )
    height, width = shape[:2]
    return height, width, shape[2] if len(shape) == 3 else 1
