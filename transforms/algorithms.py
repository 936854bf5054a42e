"""Algorithms that make classes, by the names that transforms have for them."""

from typing import Final

from smalti.errors import InternalError
from smalti.transforms.algorithm import Algorithm
from smalti.transforms.base import Transform
from smalti.transforms.global_recoding import SingleDimensionalMondrian
from smalti.transforms.kernel import StrictMondrian
from smalti.transforms.relaxed import RelaxedMondrian

ALGORITHMS: Final[tuple[Algorithm, ...]] = (
    StrictMondrian(),
    RelaxedMondrian(),
    SingleDimensionalMondrian(),
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
    raise InternalError("a transform asked for an algorithm that is not listed")
