"""Predicates on records of a table, many at once: who satisfies which, and which single a record out."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Self

import numpy as np

from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.problem import Flags, Integers

_CELLS: Final = 1 << 22
"""Comparisons that are held at once."""


class Operator(IntEnum):
    """How a value is compared; categories know the first two alone."""

    EQUAL = 0
    UNEQUAL = 1
    BELOW = 2
    AT_MOST = 3
    AT_LEAST = 4
    ABOVE = 5


OF_CATEGORIES: Final = 2
_COMPARED: Final = (np.equal, np.not_equal, np.less, np.less_equal, np.greater_equal, np.greater)


@dataclass(frozen=True, slots=True, eq=False)
class Predicates:
    """Conjunctions of comparisons, one comparison for each of some columns."""

    places: Integers
    """Shape (predicates, comparisons): columns."""
    operators: Integers
    values: Doubles
    """Infinite where a value is missing."""
    sources: Doubles
    """Shape (predicates, columns): the synthetic record that each was made of."""

    def __len__(self) -> int:
        return len(self.places)

    def take(self, kept: Flags | Integers | slice) -> "Predicates":
        """Some of them."""
        return Predicates(self.places[kept], self.operators[kept], self.values[kept], self.sources[kept])

    @classmethod
    def joined(cls, several: Sequence[Self]) -> Self:
        """All of some, with as many comparisons each; at least one of them."""
        return cls(
            *(
                np.concatenate([getattr(each, name) for each in several])
                for name in ("places", "operators", "values", "sources")
            )
        )

    def distinct(self) -> "Predicates":
        """The first of equal ones, in their order."""
        keys = np.concatenate([self.places, self.operators, self.values], axis=1)
        return self.take(np.sort(np.unique(keys, axis=0, return_index=True)[1]))

    def counts(self, records: Doubles) -> Integers:
        """How many records satisfy each.

        Args:
            records: shape (records, columns), infinite where a value is missing.
        """
        counts = np.zeros(len(self), np.int64)
        at_once = max(1, _CELLS // max(1, len(records)))
        for start in range(0, len(self), at_once):
            part = slice(start, start + at_once)
            counts[part] = self.take(part).matches(records).sum(axis=1)
        return counts

    def matches(self, records: Doubles) -> Flags:
        """Shape (predicates, records): who satisfies which. A missing value is equal to itself alone."""
        are_met = np.ones((len(self), len(records)), np.bool_)
        kinds = self.places * len(Operator) + self.operators
        for slot in range(kinds.shape[1]):
            for kind in np.unique(kinds[:, slot]).tolist():
                place, number = divmod(kind, len(Operator))
                rows = np.flatnonzero(kinds[:, slot] == kind)
                met = _COMPARED[number](records[:, place], self.values[rows, slot, None])
                if number >= OF_CATEGORIES:
                    met &= np.isfinite(records[:, place])
                are_met[rows] &= met
        return are_met

    def isolating(self, synthetic: Doubles) -> "Predicates":
        """Those that none of some synthetic records satisfies, but those that are equal to their source."""
        left, start = self, 0
        while start < len(synthetic):
            # Most are struck out by the first records, so ever more records are taken at once.
            rows = synthetic[start : start + max(1, _CELLS // max(1, len(left)))]
            start += len(rows)
            predicates, records = np.nonzero(left.matches(rows))
            others = (rows[records] != left.sources[predicates]).any(axis=1)
            is_left = np.ones(len(left), np.bool_)
            is_left[predicates[others]] = False
            left = left.take(is_left)
        return left


def filled(records: Doubles) -> Doubles:
    """Records with an infinite number in the place of a missing one, which is equal to itself."""
    return np.where(np.isnan(records), np.inf, records)
