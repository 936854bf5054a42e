"""Noise on each number of a column: local differential privacy between any two values within public bounds.

Values are whole units above the lower bound, so the noise is exact (`noise.samplers`). They are
clamped into the bounds first, and what is no number becomes the middle between them, so no record can make
a run fail or show that it is an exception. Noisy values are left where they fall: pulled back into the
bounds they would give biased means.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.samplers import (
    LARGEST_VALUE,
    SAMPLER,
    Estimate,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    Sampler,
    measure,
)
from smalti.transforms.problem import Flags, Integers
from smalti.transforms.sensitivity import Bounds, NeighboringRelation, Query, Sensitivity, clipped_sum

_NEARLY_NORMAL: Final = 30
"""Records from which on the mean of their noise is taken for normal."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The whole units between public bounds."""

    bounds: Bounds
    unit: Fraction
    """Above 0; it divides the width of the bounds. Finer units cost nothing, coarser ones round values."""

    def __post_init__(self) -> None:
        if self.unit <= 0 or self.bounds.width <= 0 or self.bounds.width % self.unit:
            raise ValueError("a unit above 0 is expected that divides the distance of two different bounds")
        if self.width > LARGEST_VALUE:
            raise ValueError("bounds are at most 2^62 units apart; take a larger unit")

    @property
    def width(self) -> int:
        """The number of units between the bounds: how far any two values are apart at most."""
        return int(self.bounds.width / self.unit)

    @property
    def sensitivity(self) -> Sensitivity:
        """That of one number in units, of which another one takes the place."""
        bounds = Bounds(Fraction(0), Fraction(self.width))
        return clipped_sum(bounds, Query(NeighboringRelation.CHANGE_ONE))

    @property
    def middle(self) -> int:
        """Where everything stands that is no number."""
        return self.width // 2

    def in_units(self, values: NDArray[np.float64]) -> Integers:
        """Numbers as units above the lower bound, from 0 to `width`; NaN and infinities become `middle`.

        Args:
            values: of any size; missing and unreadable ones are NaN.
        """
        finite = np.isfinite(values)
        with np.errstate(over="ignore"):
            above = (np.where(finite, values, 0.0) - float(self.bounds.lower)) / float(self.unit)
        units = np.rint(np.clip(above, 0.0, math.nextafter(float(self.width), 0.0))).astype(np.int64)
        return np.where(finite, np.minimum(units, self.width), self.middle)

    def value(self, units: float) -> float:
        """The number that stands some units above the lower bound."""
        return float(self.bounds.lower) + float(self.unit) * units


@dataclass(frozen=True, slots=True)
class NumericPerturbation:
    """Independent noise on each number of a column."""

    grid: Grid
    noise: Noise

    @classmethod
    def laplace(cls, grid: Grid, epsilon: Fraction) -> Self:
        """Laplace noise of a loss within epsilon between any two values."""
        return cls(grid, LaplaceNoise.calibrated(grid.sensitivity.l1, epsilon))

    @classmethod
    def gaussian(cls, grid: Grid, mu: float) -> Self:
        """Gaussian noise within a mu between any two values; see `smalti.transforms.identifiability`."""
        return cls(grid, GaussianNoise.calibrated(grid.sensitivity.l2_squared, mu))

    @property
    def loss(self) -> PrivacyLoss:
        """What one number loses."""
        return self.noise.loss(self.grid.sensitivity)

    def perturbed(
        self, units: Integers, present: Flags | None = None, sampler: Sampler = SAMPLER
    ) -> Integers:
        """Noisy numbers, in units above the lower bound.

        Args:
            units: from `Grid.in_units`, or as exact units; clamped into the bounds.
            present: by record, whether there is a number; the others become the middle. None if all are.
            sampler: where the noise comes from.
        """
        if present is not None:
            units = np.where(present, units, self.grid.middle)
        return measure(units, self.noise, 0, self.grid.width, sampler)

    def mean(self, noisy: Integers, confidence: float) -> Estimate:
        """The mean of the clamped values, unbiased, with an interval from the noise alone.

        Args:
            noisy: from `perturbed`, in units.
            confidence: of the interval, in (0, 1). From 30 records on it is a normal approximation; below,
                it holds all of their noises together.
        """
        if not 0 < confidence < 1:
            raise ValueError("a confidence lies between 0 and 1, both excluded")
        records = len(noisy)
        if not records:
            return Estimate(self.grid.value(self.grid.middle), math.inf)
        margin = float(self.noise.margin(1 - (1 - confidence) / records))
        if records >= _NEARLY_NORMAL:
            deviation = math.sqrt(self.noise.variance / records)
            margin = NormalDist().inv_cdf((1 + confidence) / 2) * deviation
        value = self.grid.value(float(noisy.mean(dtype=np.float64)))
        return Estimate(value, margin * float(self.grid.unit))
