"""The mechanisms that a plan states: as they draw noise, lose privacy and are read again."""

from fractions import Fraction

from smalti.engine.perturbation.plan import PerturbedCategory, PerturbedColumn, PerturbedNumber
from smalti.transforms.noise import LaplaceNoise
from smalti.transforms.numeric_perturbation import Grid, NumericPerturbation
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


def loss_of(one: PerturbedColumn) -> PrivacyLoss:
    """What one value loses, by the noise that is used."""
    if isinstance(one, PerturbedCategory):
        return response_of(one).loss
    return perturbation_of(one).loss
