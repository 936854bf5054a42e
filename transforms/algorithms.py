"""Algorithms that make classes, by their names in transforms."""

from typing import Final

from smalti.errors import InternalError
from smalti.transforms.base import Transform
from smalti.transforms.lattice.algorithm import FullDomainGeneralisation
from smalti.transforms.microaggregation.algorithm import Microaggregation
from smalti.transforms.mondrian.algorithm import Algorithm
from smalti.transforms.mondrian.improved import ImprovedMondrian
from smalti.transforms.mondrian.kernel import StrictMondrian
from smalti.transforms.mondrian.relaxed import RelaxedMondrian
from smalti.transforms.mondrian.single_dimensional import SingleDimensionalMondrian

ALGORITHMS: Final[tuple[Algorithm, ...]] = (
    StrictMondrian(),
    RelaxedMondrian(),
    ImprovedMondrian(),
    SingleDimensionalMondrian(),
    FullDomainGeneralisation(),
    Microaggregation(),
)
"""Every algorithm that a transform can ask for."""


def algorithm_of(transform: Transform) -> Algorithm:
    """The algorithm that makes a transform's classes.

    Raises:
        InternalError: there is none of its name.
    """
    for algorithm in ALGORITHMS:
        if algorithm.name == transform.class_maker:
            return algorithm
    raise InternalError("a transform names an algorithm that is not listed")
