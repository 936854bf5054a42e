"""The mechanisms that a plan states: as they draw noise, lose privacy and are read again."""

from decimal import Decimal
from fractions import Fraction
from typing import Final, assert_never

from smalti.engine.perturbation.plan import (
    GAUSSIAN,
    PerturbedCategory,
    PerturbedColumn,
    PerturbedImage,
    PerturbedNumber,
)
from smalti.engine.perturbation.shares import float_below
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.numeric_perturbation import Grid, NumericPerturbation
from smalti.transforms.noise.pixelation import Pixelation
from smalti.transforms.noise.randomized_response import RandomizedResponse
from smalti.transforms.noise.samplers import GaussianNoise, LaplaceNoise
from smalti.transforms.sensitivity import Bounds

ROUNDING: Final = 1e-12
"""Of what comes from an exponential: other machines may compute its last digits otherwise."""

_CONFIDENCE: Final = 0.95
_LEAST_SIGMA: Final = Fraction(1, 64)
"""In units; below it, any other draw than 0 is less likely than 1e-800."""


def response_of(column: PerturbedCategory) -> RandomizedResponse:
    """How categories are reported; ValueError where nothing could have drawn so."""
    return RandomizedResponse(len(column.domain), Fraction(column.changed))


def perturbation_of(column: PerturbedNumber) -> NumericPerturbation:
    """How numbers are reported; ValueError where nothing could have drawn so."""
    grid = Grid(Bounds(Fraction(column.lower), Fraction(column.upper)), Fraction(column.unit))
    scale = Fraction(column.scale)
    if column.mechanism != GAUSSIAN:
        return NumericPerturbation(grid, LaplaceNoise(scale))
    if scale < _LEAST_SIGMA:
        raise ValueError("Gaussian noise that is always 0 loses everything")
    return NumericPerturbation(grid, GaussianNoise(scale))


def pixelation_of(column: PerturbedImage) -> Pixelation:
    """How images are reported; ValueError where nothing could have drawn so."""
    noise = LaplaceNoise(Fraction(column.scale))
    return Pixelation(column.height, column.width, column.cell, column.neighborhood, noise)


def loss_of(column: PerturbedColumn) -> PrivacyLoss:
    """What one value loses, whatever another one in its place would be, by the noise that is used."""
    match column:
        case PerturbedCategory():
            return response_of(column).loss
        case PerturbedNumber():
            return perturbation_of(column).loss
        case PerturbedImage():
            return pixelation_of(column).loss
        case _:
            assert_never(column)


def expected_error(column: PerturbedColumn) -> str:
    """How far noise takes a single value of a column from what it was, by the plan alone; for people."""
    match column:
        case PerturbedCategory():
            return (
                f"{column.column}: another category with probability {float(Fraction(column.changed)):.4g}"
            )
        case PerturbedNumber():
            units = perturbation_of(column).noise.margin(_CONFIDENCE)
            error = float(units * Fraction(column.unit))
            return (
                f"{column.column}: each value within {error:g} of the reported one, at a confidence of 0.95"
            )
        case PerturbedImage():
            shades = LaplaceNoise(Fraction(column.scale)).margin(_CONFIDENCE) / column.cell**2
            return f"{column.column}: each cell within {shades:.4g} shades, at a confidence of 0.95"
        case _:
            assert_never(column)


def keeps_to_its_share(column: PerturbedColumn) -> bool:
    """Whether the noise of a column loses no more than is stated of that column."""
    lost = loss_of(column)
    if isinstance(column, PerturbedImage):
        keeps_to_neighborhood = pixelation_of(column).epsilon <= Fraction(column.epsilon)
        return keeps_to_neighborhood and lost.pure <= Fraction(column.whole_epsilon)
    delta = column.delta if isinstance(column, PerturbedNumber) else None
    return is_within(lost, column.epsilon, delta or Decimal(0))


def is_within(lost: PrivacyLoss, epsilon: Decimal, delta: Decimal) -> bool:
    """Whether a loss is (epsilon, delta)-private; exact without Gaussian noise, else up to `ROUNDING`."""
    if not lost.mu_squared:
        return lost.pure <= Fraction(epsilon)
    return 0 < delta < 1 and lost.epsilon(float_below(delta)) <= float(epsilon) * (1 + ROUNDING)
