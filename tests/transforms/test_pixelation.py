"""Pixelation: cells and their noise, by hand and by runs.

Comparisons of draws with distributions fail by chance with probability 1e-9 each (`evidence.FALSE_ALARM`).
"""

from fractions import Fraction

import numpy as np
import pytest
from evidence import loss_shown
from stub_sampler import StubSampler

from smalti.transforms.noise.pixelation import Pixelation
from smalti.transforms.noise.samplers import LaplaceNoise, Sampler
from smalti.transforms.problem import Flags, Integers


class NoNoise(Sampler):
    """Shows what the noise is added to, and remembers its scale."""

    def __init__(self) -> None:
        self.scale = 0.0

    def laplace(self, values: Integers, scale: float) -> Integers:
        self.scale = scale
        return values

    def gaussian(self, values: Integers, scale: float) -> Integers:
        raise AssertionError

    def choose(self, utilities: Integers, scale: float) -> int:
        raise AssertionError

    def bits(self, number: int, probability: float) -> Flags:
        raise AssertionError

    def uniform(self, number: int, bound: int) -> Integers:
        raise AssertionError


def test_the_scale_is_the_printed_one() -> None:
    """D5.2, 4.1: 255 m / (b^2 epsilon) for the average of a cell."""
    pixelation = Pixelation.calibrated(4, 4, cell=4, neighborhood=16, epsilon=Fraction(1, 2))
    assert pixelation.scale_of_averages == Fraction(255 * 16, 4**2) / Fraction(1, 2)
    assert pixelation.epsilon == pixelation.loss.pure == Fraction(1, 2)
    sampler = NoNoise()
    pixelation.perturbed(np.zeros((1, 4, 4), np.uint8), sampler)
    assert sampler.scale == 255 * 16 * 2


def test_cells_are_averages_also_at_the_edges() -> None:
    image = np.array([[[0, 10, 200], [20, 31, 100], [7, 8, 250]]], np.uint8)
    pixelation = Pixelation.calibrated(3, 3, 2, 1, Fraction(1))
    cells = pixelation.perturbed(image, NoNoise())
    assert cells.tolist() == [[[15, 150], [8, 250]]]
    assert pixelation.enlarged(cells).tolist() == [[[15, 15, 150], [15, 15, 150], [8, 8, 250]]]


def test_white_and_black_stay_within_8_bits() -> None:
    images = np.stack([np.zeros((5, 7)), np.full((5, 7), 255)]).astype(np.uint8)
    pixelation = Pixelation.calibrated(5, 7, 3, 2, Fraction(1))
    assert pixelation.perturbed(images, NoNoise()).tolist() == [[[0] * 3] * 2, [[255] * 3] * 2]
    noisy = pixelation.perturbed(images)
    assert noisy.dtype == np.uint8
    assert noisy.shape == (2, 2, 3)
    assert pixelation.perturbed(images[:0]).shape[0] == 0


def test_a_changed_pixel_changes_one_sum_by_255_at_most() -> None:
    """By brute force over the changed pixels of an image whose cells do not fit."""
    sums = []

    class Remembering(NoNoise):
        def laplace(self, values: Integers, scale: float) -> Integers:
            sums.append(values.copy())
            return values

    base = np.zeros((1, 5, 4), np.uint8)
    pixelation = Pixelation.calibrated(5, 4, 2, 2, Fraction(1))
    pixelation.perturbed(base, Remembering())
    for first in range(20):
        for second in range(first, 20):
            changed = base.copy()
            changed.reshape(-1)[[first, second]] = 255
            pixelation.perturbed(changed, Remembering())
            assert np.abs(sums[-1] - sums[0]).sum() <= 2 * 255
    assert max(np.abs(one - sums[0]).sum() for one in sums) == 2 * 255


def shown(pixelation: Pixelation, runs: int) -> float:
    """The loss that shows between an image that is half white and one with m pixels more of it."""
    hits = []
    for white in (pixelation.neighborhood, 0):
        image = np.zeros(pixelation.cell**2, np.uint8)
        image[:white] = 255
        images = np.tile(image.reshape(1, pixelation.cell, pixelation.cell), (runs, 1, 1))
        shades = pixelation.perturbed(images)
        hits.append(int((shades >= white_shade(pixelation)).sum()))
    return loss_shown(hits[0], hits[1], runs)


def white_shade(pixelation: Pixelation) -> int:
    return 255 * pixelation.neighborhood // pixelation.cell**2


def test_runs_show_a_loss_just_below_the_promise() -> None:
    assert 1.6 <= shown(Pixelation.calibrated(2, 2, 2, 2, Fraction(2)), 30_000) <= 2


def test_half_of_the_noise_is_caught() -> None:
    right = Pixelation.calibrated(2, 2, 2, 2, Fraction(2))
    assert shown(Pixelation(2, 2, 2, 2, LaplaceNoise(right.noise.scale / 2)), 30_000) > 2


def test_a_stub_makes_images_repeatable() -> None:
    images = np.arange(2 * 6 * 6, dtype=np.uint8).reshape(2, 6, 6)
    pixelation = Pixelation.calibrated(6, 6, 2, 1, Fraction(10))
    first, again, other = (pixelation.perturbed(images, StubSampler(seed)).tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(("cell", "neighborhood"), [(0, 1), (1, 0), (1 << 17, 1)])
def test_sizes_are_checked(cell: int, neighborhood: int) -> None:
    with pytest.raises(ValueError, match="from 1"):
        Pixelation.calibrated(4, 4, cell, neighborhood, Fraction(1))


@pytest.mark.parametrize(
    "images", [np.zeros((2, 2), np.uint8), np.zeros((1, 2, 2), np.float64), np.zeros((1, 2, 3), np.uint8)]
)
def test_only_grey_images_of_8_bits(images: np.ndarray) -> None:
    with pytest.raises(TypeError, match="8 bits"):
        Pixelation.calibrated(2, 2, 2, 1, Fraction(1)).perturbed(images)


@pytest.mark.parametrize("sides", [(0, 2), (2, 0), (4097, 2)])
def test_sides_of_images_are_checked(sides: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="from 1"):
        Pixelation.calibrated(*sides, 2, 1, Fraction(1))


def test_any_two_images_differ_in_all_pixels_at_most() -> None:
    """A black and a white image: the sums change by 255 for each pixel, and no more is possible."""
    black, white = np.zeros((1, 5, 7), np.uint8), np.full((1, 5, 7), 255, np.uint8)
    pixelation = Pixelation.calibrated(5, 7, 3, 4, Fraction(2))
    change = np.abs(pixelation.sums(white) - pixelation.sums(black)).sum()
    assert change == 255 * 35
    assert (
        pixelation.whole_epsilon == pixelation.loss.pure == Fraction(int(change)) / pixelation.noise.scale
    )
    assert pixelation.whole_epsilon == pixelation.epsilon * 35 / 4
    assert pixelation.shape == pixelation.sums(black).shape[1:] == (2, 3)
