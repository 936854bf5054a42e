"""The mechanisms that a plan states: as they draw noise, lose privacy and are read again."""

from fractions import Fraction
from typing import assert_never

from smalti.engine.perturbation.plan import (
    PerturbedCategory,
    PerturbedColumn,
    PerturbedImage,
    PerturbedNumber,
)
from smalti.transforms.noise import LaplaceNoise
from smalti.transforms.numeric_perturbation import Grid, NumericPerturbation
from smalti.transforms.pixelation import Pixelation
from smalti.transforms.privacy_loss import PrivacyLoss
from smalti.transforms.randomized_response import RandomizedResponse
from smalti.transforms.sensitivity import Bounds


def response_of(one: PerturbedCategory) -> RandomizedResponse:
    """How categories are reported; ValueError where nothing could have drawn so."""
    return RandomizedResponse(len(one.domain), Fraction(one.changed))


def perturbation_of(one: PerturbedNumber) -> NumericPerturbation:
    """How numbers are reported; ValueError where nothing could have drawn so."""
    grid = Grid(Bounds(Fraction(one.lower), Fraction(one.upper)), Fraction(one.unit))
    return NumericPerturbation(grid, LaplaceNoise(Fraction(one.scale)))


def pixelation_of(one: PerturbedImage) -> Pixelation:
    """How images are reported; ValueError where nothing could have drawn so."""
    noise = LaplaceNoise(Fraction(one.scale))
    return Pixelation(one.height, one.width, one.cell, one.neighborhood, noise)


def loss_of(one: PerturbedColumn) -> PrivacyLoss:
    """What one value loses, whatever another one in its place would be, by the noise that is used."""
    match one:
        case PerturbedCategory():
            return response_of(one).loss
        case PerturbedNumber():
            return perturbation_of(one).loss
        case PerturbedImage():
            return pixelation_of(one).loss
        case _:
            assert_never(one)


def keeps_to_its_share(one: PerturbedColumn) -> bool:
    """Whether the noise of a column loses no more than is stated of that column."""
    lost = loss_of(one).pure
    if isinstance(one, PerturbedImage):
        return pixelation_of(one).epsilon <= Fraction(one.epsilon) and lost <= Fraction(one.whole_epsilon)
    return lost <= Fraction(one.epsilon)
