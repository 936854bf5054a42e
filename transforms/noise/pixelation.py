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

from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.samplers import SAMPLER, LaplaceNoise, Sampler, measure
from smalti.transforms.problem import Integers

WHITE: Final = 255
LARGEST_SIDE: Final = 1 << 12
"""Pixels of an image's side, at most: so no sum of pixels is too large for 64 bits."""

Images = NDArray[np.uint8]
"""Grey images of one size: image, row, column."""


@dataclass(frozen=True, slots=True)
class Pixelation:
    """Averages of cells with noise, of images of one public size.

    Contract:
        Output     one pixel for each cell.
        Guarantee  `epsilon` between any two images that differ in at most `neighborhood` pixels, and
                   `whole_epsilon` between any two.
        Not given  protection by `epsilon` of anything that more pixels show; many images of one respondent
                   add up.
    """

    height: int
    width: int
    """Of each image, in pixels."""
    cell: int
    """b, the pixels of a cell's side: `s:pixelSize`."""
    neighborhood: int
    """m, the pixels in which neighbouring images may differ: `s:pixelNeighborhood`."""
    noise: LaplaceNoise
    """Of the sum of a cell's pixels."""

    def __post_init__(self) -> None:
        _check(self.cell, self.neighborhood)
        if not (1 <= self.height <= LARGEST_SIDE and 1 <= self.width <= LARGEST_SIDE):
            raise ValueError("the sides of images are whole numbers of pixels, from 1")

    @classmethod
    def calibrated(cls, height: int, width: int, cell: int, neighborhood: int, epsilon: Fraction) -> Self:
        """The least noise of a loss within epsilon for images that differ in a neighbourhood."""
        _check(cell, neighborhood)
        noise = LaplaceNoise.calibrated(_sensitivity(neighborhood), epsilon)
        return cls(height, width, cell, neighborhood, noise)

    @property
    def epsilon(self) -> Fraction:
        """The exact privacy loss between images that differ in at most m pixels.

        Each of m pixels changes the sum of one cell by at most 255, so all sums together by 255 m.
        """
        return self.noise.epsilon(_sensitivity(self.neighborhood))

    @property
    def whole_epsilon(self) -> Fraction:
        """The exact privacy loss between any two images: all pixels may differ."""
        return self.noise.epsilon(_sensitivity(self.height * self.width))

    @property
    def loss(self) -> PrivacyLoss:
        """What one image loses, whatever another one in its place would be."""
        return PrivacyLoss.of_pure(self.whole_epsilon)

    @property
    def scale_of_averages(self) -> Fraction:
        """That of the noise of a whole cell's average, as printed: 255 m / (b^2 epsilon)."""
        return self.noise.scale / self.cell**2

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return -(-self.height // self.cell), -(-self.width // self.cell)

    def sums(self, images: Images) -> Integers:
        """The sum of each cell's pixels: image, row, column. Exact, and private.

        Cells at the right and lower edges may be smaller.
        """
        if images.dtype != np.uint8 or images.shape[1:] != (self.height, self.width):
            raise TypeError("grey images of 8 bits and of one size are expected: image, row, column")
        if not len(images):
            return np.zeros((0, *self.shape), np.int64)
        by_row = np.add.reduceat(images.astype(np.int64), _starts(self.height, self.cell), axis=1)
        sums: Integers = np.add.reduceat(by_row, _starts(self.width, self.cell), axis=2)
        return sums

    def shades(self, sums: Integers, sampler: Sampler = SAMPLER) -> Images:
        """Averages of the noisy sums, rounded and pulled back to 0 to 255; one pixel for each cell."""
        pixels = _lengths(self.height, self.cell)[:, None] * _lengths(self.width, self.cell)[None, :]
        noisy = measure(sums.ravel(), self.noise, 0, WHITE * self.cell**2, sampler).reshape(sums.shape)
        noisy = np.clip(noisy, 0, WHITE * pixels)
        shades: Images = ((2 * noisy + pixels) // (2 * pixels)).astype(np.uint8)
        return shades

    def perturbed(self, images: Images, sampler: Sampler = SAMPLER) -> Images:
        """The shades of each image's own sums."""
        return self.shades(self.sums(images), sampler)

    def enlarged(self, cells: Images) -> Images:
        """The result of `perturbed` in the images' own size, each cell in one shade."""
        tall = np.repeat(cells, self.cell, axis=1)[:, : self.height]
        return np.repeat(tall, self.cell, axis=2)[:, :, : self.width]


def _starts(length: int, cell: int) -> Integers:
    return np.arange(0, length, cell)


def _lengths(length: int, cell: int) -> Integers:
    return np.diff(_starts(length, cell), append=length)


def _sensitivity(pixels: int) -> Fraction:
    return Fraction(WHITE * pixels)


def _check(cell: int, neighborhood: int) -> None:
    if not (1 <= cell <= 1 << 16 and 1 <= neighborhood <= 1 << 32):
        raise ValueError("the side of a cell and the pixels of a neighbourhood are whole numbers from 1")
