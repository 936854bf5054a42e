"""The certainty penalty against figures worked out by hand."""

from fractions import Fraction

import numpy as np

from smalti.transforms.base import class_requirements
from smalti.transforms.problem import SCALE, OrderedAttribute, Problem, UnorderedAttribute
from smalti.transforms.values.metrics import certainty_penalties


def test_penalties_by_hand() -> None:
    """Ages 0 (missing), 10, 20, 50 and four cities; rows 1, 2, 3, 4."""
    ages = OrderedAttribute(np.array([-SCALE, 0, SCALE // 4, SCALE]))
    problem = Problem(
        codes=np.array([[1, 1], [2, 1], [3, 2], [0, 3]]),
        weights=np.array([1, 2, 3, 4]),
        attributes=(ages, UnorderedAttribute(4)),
        respondents=None,
        sensitive=(),
        requirements=class_requirements(2),
        cut_threshold=256,
    )
    # Classes {10, 20} and {50, missing}: a quarter of the domain for 3 rows, all of it for 7.
    age, city = certainty_penalties(problem, np.array([0, 0, 1, 1]))
    assert age == Fraction(3, 10) * Fraction(1, 4) + Fraction(7, 10)
    # One city costs nothing, two of four cost a half.
    assert city == Fraction(7, 10) * Fraction(1, 2)
    assert certainty_penalties(problem, np.array([0, 1, 2, 3])) == (0, 0)
