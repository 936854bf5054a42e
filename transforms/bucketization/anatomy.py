"""Groups with l different sensitive values: Anatomy (Xiao and Tao, VLDB 2006, Figure 3).

The paper takes an arbitrary record from each bucket. A rule that a reader knows would tell which record of
a group has which value: where buckets are read in the order of the quasi-identifiers, a record that comes
earlier must be of an earlier group. So the order inside buckets is an argument, and must be secret.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smalti.errors import InternalError
from smalti.transforms.problem import Integers

LEFT_OUT = -1


@dataclass(frozen=True, slots=True)
class Buckets:
    """The records of a table by their sensitive value."""

    records: tuple[Integers, ...]
    """By value, from 0: its records, in the order in which they are taken."""

    @classmethod
    def of(cls, values: Integers, precedence: NDArray[np.uint64]) -> "Buckets":
        """Records by value.

        Args:
            values: by record, a number of its value, from 0, without gaps.
            precedence: by record; what has the least is taken first, and equal ones in any order.
        """
        ordered = np.lexsort((precedence, values))
        ends = np.cumsum(np.bincount(values))[:-1]
        return cls(tuple(np.split(ordered, ends)) if len(values) else ())

    @property
    def sizes(self) -> Integers:
        return np.array([len(records) for records in self.records], np.int64)

    def most_kept(self, least: int) -> int:
        """The most records of one value that groups can take; 0 where there is no group.

        The largest c for which the records of all values, at most c of each, are at least c times as many
        as a group has values: then no value is held by more than one in `least` of them.
        """
        sizes = self.sizes
        most = int(sizes.sum()) // least
        while most != (fitting := int(np.minimum(sizes, most).sum()) // least):
            most = fitting
        return most


def groups_of(values: Integers, precedence: NDArray[np.uint64], least: int) -> Integers:
    """Groups in which each value occurs once.

    Contract:
        Input      records with their values, at least one.
        Output     by record its group, from 0, or `LEFT_OUT`.
        Guarantee  each group has at least `least` records, all with different values. As few records as
                   possible are left out; none, where no value is held by more than one in `least` of all.
                   Which values are together depends on how often each occurs, and on nothing else.
        Not given  that somebody who knows the precedence cannot tell which record has which value.
        Cost       the records times the logarithm of the values.

    Args:
        values: by record, a number of its value, from 0, without gaps.
        precedence: as for `Buckets.of`; must tell nothing of the records to whoever reads the groups.
        least: values of a group, at least 2.
    """
    buckets = Buckets.of(values, precedence)
    most = buckets.most_kept(least)
    groups: Integers = np.full(len(values), LEFT_OUT, np.int64)
    if not most:
        return groups
    waiting = [list(reversed(records[:most].tolist())) for records in buckets.records]
    members = _filled(waiting, least)
    _place_residues(waiting, members, values)
    for number, records in enumerate(members):
        groups[records] = number
    return groups


def _filled(waiting: list[list[int]], least: int) -> list[list[int]]:
    """Groups of one record from each of the largest buckets, as long as there are enough buckets."""
    heap = [(-len(records), value) for value, records in enumerate(waiting) if records]
    heapq.heapify(heap)
    groups = []
    while len(heap) >= least:
        largest = [heapq.heappop(heap) for _ in range(least)]
        groups.append([waiting[value].pop() for _, value in largest])
        for size, value in largest:
            if size < -1:
                heapq.heappush(heap, (size + 1, value))
    return groups


def _place_residues(waiting: list[list[int]], groups: list[list[int]], values: Integers) -> None:
    """Put what is left, at most one record of each value, into the first group that lacks its value."""
    for value, records in enumerate(waiting):
        if len(records) > 1:
            raise InternalError("a bucket has more than one record left")
        for record in records:
            lacking = (group for group in groups if value not in values[group])
            groups_without = next(lacking, None)
            if groups_without is None:
                raise InternalError("no group lacks the value of a record that is left")
            groups_without.append(record)
