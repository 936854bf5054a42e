"""Pixelation of grey images: averages of cells, with noise.

Fan, "Image Pixelization with Differential Privacy", DBSec 2018 (D5.2, 4.1): an image is divided into cells
of b by b pixels, and the average of each gets Laplace noise of scale 255 m / (b^2 epsilon). Neighbouring
images differ in at most m pixels. Here the noise is added to the sums of cells, in whole numbers and with
scale 255 m / epsilon, which is the same and exact.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.noise import SAMPLER, LaplaceNoise, Sampler, measure
from smalti.transforms.privacy_loss import PrivacyLoss

WHITE: Final = 255

Images = NDArray[np.uint8]
"""Grey images of one size: image, row, column."""


@dataclass(frozen=True, slots=True)
class Pixelation:
    """Averages of cells with noise.

    Contract:
        Output     one pixel for each cell; sizes of images are public, and the same for all.
        Guarantee  `epsilon` between any two images that differ in at most `neighborhood` pixels.
        Not given  protection of anything that more pixels show; many images of one respondent add up.
    """

    cell: int
    """b, the pixels of a cell's side: `s:pixelSize`."""
    neighborhood: int
    """m, the pixels in which neighbouring images may differ: `s:pixelNeighborhood`."""
    noise: LaplaceNoise
    """Of the sum of a cell's pixels."""

    def __post_init__(self) -> None:
        _check(self.cell, self.neighborhood)

    @classmethod
    def calibrated(cls, cell: int, neighborhood: int, epsilon: Fraction) -> Self:
        """The least noise of a loss within epsilon for each image."""
        _check(cell, neighborhood)
        return cls(cell, neighborhood, LaplaceNoise.calibrated(_sensitivity(neighborhood), epsilon))

    @property
    def epsilon(self) -> Fraction:
        """The exact privacy loss of one image.

        Each of m pixels changes the sum of one cell by at most 255, so all sums together by 255 m.
        """
        return self.noise.epsilon(_sensitivity(self.neighborhood))

    @property
    def loss(self) -> PrivacyLoss:
        """What one image loses."""
        return PrivacyLoss.of_pure(self.epsilon)

    @property
    def scale_of_averages(self) -> Fraction:
        """That of the noise of a whole cell's average, as printed: 255 m / (b^2 epsilon)."""
        return self.noise.scale / self.cell**2

    def perturbed(self, images: Images, sampler: Sampler = SAMPLER) -> Images:
        """One pixel for each cell, rounded and pulled back to 0 to 255.

        Cells at the right and lower edges may be smaller; they are averages of the pixels that they have.
        """
        if images.dtype != np.uint8 or images.ndim != 3:
            raise TypeError("grey images of 8 bits are expected: image, row, column")
        if not images.size:
            return images
        rows, columns = (np.arange(0, length, self.cell) for length in images.shape[1:])
        sums = np.add.reduceat(images.astype(np.int64), rows, axis=1)
        sums = np.add.reduceat(sums, columns, axis=2)
        heights, widths = np.diff(rows, append=images.shape[1]), np.diff(columns, append=images.shape[2])
        pixels = heights[:, None] * widths[None, :]
        noisy = measure(sums.ravel(), self.noise, 0, WHITE * self.cell**2, sampler).reshape(sums.shape)
        noisy = np.clip(noisy, 0, WHITE * pixels)
        shades: Images = ((2 * noisy + pixels) // (2 * pixels)).astype(np.uint8)
        return shades

    def enlarged(self, cells: Images, height: int, width: int) -> Images:
        """The result of `perturbed` in the images' own size, each cell in one shade."""
        tall = np.repeat(cells, self.cell, axis=1)[:, :height]
        return np.repeat(tall, self.cell, axis=2)[:, :, :width]


def _sensitivity(neighborhood: int) -> Fraction:
    return Fraction(WHITE * neighborhood)


def _check(cell: int, neighborhood: int) -> None:
    if not (1 <= cell <= 1 << 16 and 1 <= neighborhood <= 1 << 32):
        raise ValueError("the side of a cell and the pixels of a neighbourhood are whole numbers from 1")
