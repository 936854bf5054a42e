"""How much a generalisation loses; figures for the owner, computed from exact data."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.problem import SCALE, Attribute, OrderedAttribute, Problem


def certainty_penalties(problem: Problem, classes: NDArray[np.int64]) -> tuple[Fraction, ...]:
    """The normalised certainty penalty of each attribute, averaged over rows; from 0 to 1.

    Xu et al., "Utility-Based Anonymization Using Local Recoding", KDD 2006, Definition 2: a range is
    charged its share of the domain, a set its share of the distinct values, a single value nothing.
    A range that may also be missing is charged the whole domain. The mean over attributes is the
    global certainty penalty (GCP, Ghinita et al., VLDB 2007).
    """
    rows = np.zeros(int(classes.max()) + 1, np.int64)
    np.add.at(rows, classes, problem.weights)
    total = int(rows.sum()) * SCALE
    return tuple(
        Fraction(int(np.dot(rows, _class_penalties(attribute, problem.codes[:, i], classes))), total)
        for i, attribute in enumerate(problem.attributes)
    )


def _class_penalties(
    attribute: Attribute, codes: NDArray[np.int64], classes: NDArray[np.int64]
) -> NDArray[np.int64]:
    count = int(classes.max()) + 1
    if isinstance(attribute, OrderedAttribute):
        positions = attribute.positions[codes]
        low = np.full(count, SCALE)
        high = np.full(count, -SCALE)
        np.minimum.at(low, classes, positions)
        np.maximum.at(high, classes, positions)
        return np.asarray(np.minimum(high - low, SCALE), np.int64)
    held = np.bincount(np.unique(np.stack([classes, codes]), axis=1)[0], minlength=count)
    return (held * SCALE // attribute.size) * (held > 1)
