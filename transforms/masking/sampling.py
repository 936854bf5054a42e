"""Sampling of respondents: each by itself is in the sample with one probability (Poisson sampling)."""

from fractions import Fraction
from typing import Final

from smalti.transforms.noise.samplers import SAMPLER, Sampler
from smalti.transforms.problem import Flags

FINEST: Final = Fraction(1, 10**9)
"""Rates are multiples of it."""


def sampled(respondents: int, rate: Fraction, sampler: Sampler = SAMPLER) -> Flags:
    """Whether each respondent is in the sample; exact, from the operating system's generator.

    Args:
        respondents: how many there are.
        rate: in (0, 1], a multiple of `FINEST`.
        sampler: where the draws come from.
    """
    drawn: Flags = sampler.uniform(respondents, rate.denominator) < rate.numerator
    return drawn
