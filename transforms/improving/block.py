"""A few tuples that a search puts into groups, and what groups must meet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smalti.transforms.improving.charges import Charges
from smalti.transforms.problem import Flags, Integers

Groups = list[Integers]
"""Groups of tuples, by their numbers; each tuple is in one of them."""


@dataclass(frozen=True)
class Block:
    """Tuples in their canonical order: what is decided by a tie depends on nothing else."""

    charges: Charges
    rows: Integers
    """Of each tuple."""
    fewest: int
    """No group with fewer rows meets what it must."""
    meets: Callable[[Sequence[Integers]], Flags]
    """By group: whether it meets what it must. Groups of one question may have tuples in common."""

    @property
    def size(self) -> int:
        """How many tuples there are."""
        return len(self.rows)

    @cached_property
    def are_enough(self) -> Flags:
        """By tuple: whether it meets what groups must, by itself."""
        enough = self.rows >= self.fewest
        some = np.flatnonzero(enough)
        if len(some):
            enough[some] = self.meets(list(some.reshape(-1, 1)))
        return enough

    def loss(self, groups: Groups) -> int:
        """Rows times penalty, of all groups together."""
        return sum(int(self.rows[group].sum()) * self.charges.of(group) for group in groups)
