"""How wrong answers are that are worked out from a generalised table: random counts of rows.

A query counts the rows that satisfy a condition on one or two quasi-identifiers. It is answered from labels
as LeFevre, DeWitt and Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006, section 5.2, do it:
the values that a label may stand for are taken to be equally frequent, and columns to be independent
within a class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.measures.covered import CoveredCodes
from smalti.transforms.measures.loss import LabelledColumn
from smalti.transforms.problem import MISSING, Integers, OrderedAttribute

QUERIES: Final = 500
"""Of each kind."""
SHARE: Final = 0.3
"""The share of a column's different values that a condition takes, rounded up."""
_DIGITS: Final = 9
"""Of errors; sums of floats differ in further ones, by the order of tuples."""
SANITY: Final = 0.001
"""The share of all rows that an error is divided by at least, so that rare answers do not outweigh all."""


class QueryKind(StrEnum):
    """What a condition on a column is."""

    COUNT = "one value of each column"
    """The values of a row that is drawn at random."""
    RANGE = "a range of each column"
    """Neighbouring values, drawn at random; of a column without an order, any so many values."""


@dataclass(frozen=True, slots=True)
class QueryErrors:
    """Relative errors: the distance to the true count, divided by it or by `SANITY` of all rows."""

    kind: QueryKind
    queries: int
    columns: int
    """That each query is about."""
    mean: float
    median: float
    ninth_tenth: float
    """Nine of ten queries have no larger one."""


def query_errors(columns: Sequence[LabelledColumn], kind: QueryKind, seed: int) -> QueryErrors:
    """The errors of `QUERIES` random queries.

    Args:
        columns: the quasi-identifiers, of the same tuples.
        kind: of the conditions.
        seed: of the queries.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    answers = [_Answers.of(column) for column in columns]
    together = min(2, len(columns))
    rows = columns[0].rows
    total = float(rows.sum())
    order = np.lexsort(
        [column.codes for column in columns]
    )  # so that draws do not depend on that of tuples
    errors = np.empty(QUERIES)
    for number in range(QUERIES):
        chosen = random.choice(len(columns), together, replace=False)
        drawn = int(order[random.choice(len(rows), p=rows[order] / total)])
        truth, estimate = rows.astype(np.float64), rows * columns[0].kept.astype(np.float64)
        for place in chosen.tolist():
            wanted = _condition(columns[place], kind, drawn, random)
            truth *= wanted[columns[place].codes]
            estimate *= answers[place].shares(wanted)
        count = truth.sum()
        errors[number] = abs(estimate.sum() - count) / max(count, SANITY * total)
    figures = [errors.mean(), *np.quantile(errors, [0.5, 0.9])]
    mean, middle, high = (round(float(figure), _DIGITS) for figure in figures)
    return QueryErrors(kind, QUERIES, together, mean, middle, high)


@dataclass(frozen=True, slots=True)
class _Answers:
    """Works out by tuple the share of what its label may stand for that satisfies a condition."""

    covered: CoveredCodes
    values: NDArray[np.float64]
    """By part, how many values of the table its label may stand for."""
    parts: Integers

    @classmethod
    def of(cls, column: LabelledColumn) -> "_Answers":
        occurs = np.zeros(column.size)
        occurs[np.unique(column.codes)] = 1
        covered = column.covered
        values = np.maximum(covered.sums(occurs), 1).astype(np.float64)
        return cls(covered, values, np.where(column.kept, column.parts, 0))

    def shares(self, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = (self.covered.sums(wanted) / self.values)[self.parts]
        return shares


def _condition(
    column: LabelledColumn, kind: QueryKind, drawn: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """By code, 1 where it satisfies a condition."""
    wanted = np.zeros(column.size)
    if kind is QueryKind.COUNT:
        wanted[column.codes[drawn]] = 1
        return wanted
    present = np.unique(column.codes)
    present = present[present != MISSING] if len(present) > 1 else present
    count = -int(-SHARE * len(present) // 1)
    if isinstance(column.attribute, OrderedAttribute):
        first = int(random.integers(len(present) - count + 1))
        wanted[present[first : first + count]] = 1
    else:
        wanted[random.choice(present, count, replace=False)] = 1
    return wanted
