"""Membership by distance to synthetic records: whoever has one near their own was learned from.

The distance is Gower's ("A General Coefficient of Similarity and Some of Its Properties", Biometrics 27,
1971): the mean over columns of how far two values are apart, as a share of the range where a column is
ordered, and 0 or 1 elsewhere. The score of a record is minus its distance to the nearest synthetic one, the
usual figure of such tables (distance to the closest record). The attack has seen nothing but the table.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.planted_leak import SHARE
from smalti.transforms.problem import Flags, Integers

_CELLS: Final = 1 << 22
"""Distances that are held at once: memory does not grow with the number of synthetic records."""


@dataclass(frozen=True, slots=True, eq=False)
class MixedColumns:
    """What distances are measured by; public."""

    sizes: Integers
    """int[columns]: the values of each column, at least 1."""
    ordered: Flags
    """bool[columns]: whether they are numbers."""

    def nearest(self, records: Integers, synthetic: Integers) -> Doubles:
        """The distance of each record to the nearest synthetic one.

        Args:
            records: shape (records, columns), values from 0 to below the sizes.
            synthetic: likewise, at least one.

        Returns:
            float[records], from 0 to 1.
        """
        if not len(synthetic):
            raise ValueError("there is no synthetic record")
        distinct = np.unique(synthetic, axis=0)
        nearest = np.full(len(records), np.inf)
        at_once = max(1, _CELLS // max(1, len(records)))
        for start in range(0, len(distinct), at_once):
            part = self._distances(records, distinct[start : start + at_once])
            nearest = np.minimum(nearest, part.min(axis=1))
        return nearest

    def _distances(self, records: Integers, synthetic: Integers) -> Doubles:
        total = np.zeros((len(records), len(synthetic)))
        for place, size in enumerate(self.sizes.tolist()):
            apart = records[:, None, place] - synthetic[None, :, place]
            total += np.abs(apart) / max(size - 1, 1) if self.ordered[place] else apart != 0
        distances: Doubles = total / len(self.sizes)
        return distances


def nearest_record_scores(columns: MixedColumns, records: Integers, synthetic: Integers) -> Doubles:
    """One score for each record; higher where membership is likelier.

    Args:
        columns: what distances are measured by.
        records: that are audited.
        synthetic: that were published, at least one.
    """
    return -columns.nearest(records, synthetic)


def leaking_records(members: Integers, number: int, generator: np.random.Generator) -> Integers:
    """A table that is known to leak: the records of half of the members, or of as many as it has room for.

    Args:
        members: shape (members, columns), at least one.
        number: of records that are published, at least 1.
        generator: draws whose records they are.
    """
    copied = max(1, min(number, round(SHARE * len(members))))
    return members[generator.permutation(len(members))[:copied]]


def share_of_leak(members: int, number: int) -> float:
    """The share of members whose records are in `leaking_records`, and so the advantage of the attack."""
    return max(1, min(number, round(SHARE * members))) / members
