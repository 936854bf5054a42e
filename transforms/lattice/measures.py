"""What a full-domain generalisation costs: measures by which one node is preferred to another.

All are exact whole numbers or fractions, so that every machine prefers the same node.
"""

from enum import StrEnum
from fractions import Fraction

import numpy as np

from smalti.errors import InternalError
from smalti.transforms.lattice.rolled_up import RolledUp
from smalti.transforms.measures.loss import average_class, discernibility
from smalti.transforms.measures.loss import open_bits as bits_of_labels
from smalti.transforms.problem import SCALE, Flags, Integers, Problem
from smalti.transforms.values.levels import Levels


class Measure(StrEnum):
    """By which measure a node is preferred; the smaller, the better."""

    NON_UNIFORM_ENTROPY = "non-uniform-entropy"
    """Bits that generalised values leave open (Gionis, Tassa, TKDE 2009); suppressed rows count, too."""
    CERTAINTY_PENALTY = "certainty-penalty"
    """GCP: a value is charged its share of the column's distinct values, a suppressed record the whole."""
    DISCERNIBILITY = "discernibility"
    """A row is charged its class's size, or the table's if suppressed (Bayardo, Agrawal, ICDE 2005)."""
    AVERAGE_CLASS = "average-class"
    """Rows kept for each class (LeFevre et al., ICDE 2006)."""

    @property
    def is_kept_by_refining(self) -> bool:
        """Whether a finer node never costs more: then one of the minimal nodes is the best."""
        return self is Measure.NON_UNIFORM_ENTROPY


def open_bits(problem: Problem, levels: tuple[Levels, ...]) -> list[list[int]]:
    """The non-uniform entropy by attribute and level, in units of 2^-40; that of a node is their sum."""
    return [
        [_open_bits(problem.weights, codes, values) for values in attribute.values]
        for attribute, codes in zip(levels, problem.codes.T, strict=True)
    ]


class Costs:
    """The costs of nodes by a measure that depends on what is suppressed."""

    def __init__(self, measure: Measure, problem: Problem, levels: tuple[Levels, ...]) -> None:
        self._measure = measure
        self._charges = [
            [_charges(np.unique(codes), values) for values in attribute.values]
            for attribute, codes in zip(levels, problem.codes.T, strict=True)
        ]

    def of(self, classes: RolledUp, kept: Flags) -> Fraction:
        """What a node costs.

        Args:
            classes: its frequency table.
            kept: by class: whether it is published; one class at least is.
        """
        rows = classes.rows
        total, published = int(rows.sum()), int(rows[kept].sum())
        match self._measure:
            case Measure.CERTAINTY_PENALTY:
                whole = total * len(classes.codes) * SCALE
                suppressed = (total - published) * len(classes.codes) * SCALE
                return Fraction(self._charged(classes, kept) + suppressed, whole)
            case Measure.DISCERNIBILITY:
                return Fraction(discernibility(rows[kept].tolist(), total - published))
            case Measure.AVERAGE_CLASS:
                return average_class(published, int(np.count_nonzero(kept)))
            case Measure.NON_UNIFORM_ENTROPY:
                raise InternalError("this measure is a sum over levels")

    def _charged(self, classes: RolledUp, kept: Flags) -> int:
        rows = classes.rows[kept]
        columns = zip(self._charges, classes.node, classes.codes, strict=True)
        return sum(int(np.dot(charges[level][codes[kept]], rows)) for charges, level, codes in columns)


def _charges(occurring: Integers, values: Integers) -> Integers:
    """By value of a level: the share of the distinct values that it stands for, in units of 1 / SCALE."""
    held = np.bincount(values[occurring], minlength=int(values.max()) + 1)
    charges: Integers = (held * SCALE // len(occurring)) * (held > 1)
    return charges


def _open_bits(weights: Integers, codes: Integers, values: Integers) -> int:
    """The sum over rows of log2(rows of the generalised value / rows of the value), in units of 2^-40."""
    rows = np.zeros(len(values), np.int64)
    np.add.at(rows, codes, weights)
    of_value = np.zeros(int(values.max()) + 1, np.int64)
    np.add.at(of_value, values, rows)
    return bits_of_labels(of_value, of_value, rows)
