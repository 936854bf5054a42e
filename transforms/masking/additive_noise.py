"""Noise that is added to the numbers of a column. It is not differential privacy, and no privacy model.

Numbers are rounded to whole units first, and noise is a whole number of units, from the samplers of
`transforms.noise`: so the low bits of a float betray nothing, and a result is exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

import numpy as np

from smalti.transforms.noise.samplers import LARGEST_SCALE, SAMPLER, GaussianNoise, Sampler
from smalti.transforms.problem import Integers
from smalti.transforms.values.decimal_digits import with_places

LARGEST_UNITS: Final = 1 << 60
"""Of a number; what is larger becomes this before noise is drawn, where no bounds are declared."""
LARGEST_WIDTH: Final = 1 << 31
"""Of uniform noise, in units: half of what the sampler draws from."""


class Distribution(StrEnum):
    """Of noise; the words are those of `smalti:noiseDistribution`."""

    NORMAL = "normal"
    UNIFORM = "uniform"


@dataclass(frozen=True, slots=True)
class AdditiveNoise:
    """Independent noise on each number; results stay between bounds, where there are some."""

    distribution: Distribution
    scale: Fraction
    """Above 0: the standard deviation of normal noise; uniform noise is at most this far from 0."""
    unit: Fraction
    """Above 0; numbers are rounded to it."""
    lower: Fraction | None = None
    upper: Fraction | None = None

    def __post_init__(self) -> None:
        most = LARGEST_SCALE if self.distribution is Distribution.NORMAL else LARGEST_WIDTH - 1
        if not 0 < self.scale / self.unit <= most:
            raise ValueError("noise is above 0, and of at most 2^50 units (uniform: below 2^31)")
        if not -LARGEST_UNITS <= self.least <= self.most <= LARGEST_UNITS:
            raise ValueError(
                "no multiple of the unit lies between the bounds, or they are beyond 2^60 units"
            )

    @property
    def least(self) -> int:
        """The least result, in units."""
        return -LARGEST_UNITS if self.lower is None else math.ceil(self.lower / self.unit)

    @property
    def most(self) -> int:
        """The greatest result, in units."""
        return LARGEST_UNITS if self.upper is None else math.floor(self.upper / self.unit)

    @property
    def width(self) -> int:
        """Of uniform noise: how many units it is from 0 at most."""
        return math.ceil(self.scale / self.unit)

    def in_units(self, numbers: Sequence[str]) -> Integers:
        """Numbers of the dialect's forms as the nearest units between the bounds; half to even."""
        low, high = max(self.least, -LARGEST_UNITS), min(self.most, LARGEST_UNITS)
        units = (round(Fraction(Decimal(number)) / self.unit) for number in numbers)
        return np.array([min(max(each, low), high) for each in units], np.int64)

    def drawn(self, units: Integers, sampler: Sampler = SAMPLER) -> Integers:
        """Each number with a fresh draw; called once for each output."""
        if self.distribution is Distribution.UNIFORM:
            noisy = units + sampler.uniform(len(units), 2 * self.width + 1) - self.width
        else:
            noisy = GaussianNoise(self._sigma).drawn(units, sampler)
        bounded: Integers = np.clip(noisy, self.least, self.most)
        return bounded

    @property
    def _sigma(self) -> Fraction:
        """In units: the least double that is not below what is stated."""
        nearest = float(self.scale / self.unit)
        is_enough = Fraction(nearest) >= self.scale / self.unit
        return Fraction(nearest if is_enough else math.nextafter(nearest, math.inf))


def written(units: Sequence[int], unit: Decimal) -> list[str]:
    """Numbers as they are published: exact, with as many places as the unit has.

    >>> written([-5, 12], Decimal("0.1"))
    ['-0.5', '1.2']
    """
    exponent = unit.as_tuple().exponent
    places = max(-exponent, 0) if isinstance(exponent, int) else 0
    step = int(Fraction(unit) * 10**places)
    return [with_places(each * step, places) for each in units]
