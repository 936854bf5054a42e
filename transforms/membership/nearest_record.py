"""Membership by distance to synthetic records: whoever has one near their own was learned from.

The score of a record is minus its distance to the nearest synthetic one, by Gower's distance: the usual
figure of such tables (distance to the closest record). The attack has seen nothing but the table.
"""

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.gower import MixedColumns
from smalti.transforms.membership.planted_leak import SHARE
from smalti.transforms.problem import Integers


def nearest_record_scores(
    columns: MixedColumns, records: NDArray[np.generic], synthetic: NDArray[np.generic]
) -> Doubles:
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
