"""The cuts around each class: between which values of a column it was cut off from its neighbours.

What lies between the cuts is the region of a class (LeFevre, DeWitt, Ramakrishnan 2006, section 2: a strict
partitioning divides the domain into regions that do not overlap); what its values are, it does not show.
"""

import numpy as np

from smalti.transforms.mondrian.cuts import Cuts, Table
from smalti.transforms.partitions.layout import Batch
from smalti.transforms.problem import MISSING, Flags, Integers, Problem, RegionAttribute

NO_CUT = 0
"""In place of the two codes: the class reaches to the public bound."""


class CutsAround:
    """Follows the cuts of columns that are published as regions, from the whole table to its classes.

    By partition, column and end (low, high) it holds a pair of codes: the largest value on the lower side
    of the cut and the smallest one on its upper side, or `NO_CUT` twice.
    """

    def __init__(self, problem: Problem) -> None:
        self._attributes = [
            number for number, kind in enumerate(problem.attributes) if isinstance(kind, RegionAttribute)
        ]
        self._count = len(problem.attributes)
        self._of_classes: list[Integers] = []

    def of_whole_table(self) -> Integers:
        """Of one partition: no cuts."""
        return np.full((1, len(self._attributes), 2, 2), NO_CUT, np.int64)

    def of_children(
        self, around: Integers, table: Table, cuts: Cuts, is_cut: Flags, children: Batch
    ) -> Integers:
        """Of both sides of each partition that is cut, side by side.

        Args:
            around: of all partitions.
            table: of the tuples.
            cuts: by partition.
            is_cut: by partition.
            children: the sides.
        """
        sides = np.repeat(around[is_cut], 2, axis=0)
        for place, attribute in enumerate(self._attributes):
            left = 2 * np.flatnonzero(cuts.attribute[is_cut] == attribute)
            if not len(left):
                continue
            codes, starts = table.codes[attribute][children.tuples], children.starts[:-1]
            last = np.maximum.reduceat(codes, starts)[left]
            first = np.minimum.reduceat(codes, starts)[left + 1]
            between = np.column_stack((last, first))
            sides[left, place, 1] = between
            # A cut between missing values and the others leaves these all that lies above the bound.
            sides[left + 1, place, 0] = np.where((last == MISSING)[:, np.newaxis], NO_CUT, between)
        return sides

    def keep(self, of_classes: Integers) -> None:
        """Take the cuts around the next classes, in the order of their numbers."""
        self._of_classes.append(of_classes)

    @property
    def by_attribute(self) -> tuple[Integers | None, ...]:
        """For each quasi-identifier the cuts around each class, of shape (classes, 2, 2), or None."""
        together = np.concatenate(self._of_classes) if self._of_classes else self.of_whole_table()
        places = {attribute: place for place, attribute in enumerate(self._attributes)}
        return tuple(
            together[:, places[number]] if number in places else None for number in range(self._count)
        )
