"""The interface of a requirement for cuts in SQL: which cuts leave two sides that meet it."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smalti.engine.anonymization.cut_queries import Layout
from smalti.engine.anonymization.sides import Columns, Extents, LineCounts
from smalti.engine.backends.relations import Relations
from smalti.errors import InternalError
from smalti.transforms.partitions.weights import ValueScale
from smalti.transforms.problem import Flags
from smalti.transforms.requirements.judge import ClassJudge


@dataclass(frozen=True, slots=True)
class Cuts:
    """One cut of each of some lines, to be examined more closely."""

    relations: Relations
    layout: Layout
    places: Mapping[int, int]
    """By line: the last place on the left."""
    values: Sequence[str]
    """The sensitive columns of the facts."""
    scales: Sequence[ValueScale] = ()
    """Of each of them, where a requirement weighs values."""


@dataclass(frozen=True, slots=True)
class SideJudge(ABC):
    """Judges both sides of cuts by one requirement, as the kernel's judge of it does.

    No query brings more here than counts, or than so many rows as the requirement's parameters tell.
    """

    judge: ClassJudge
    """The kernel's."""

    name: ClassVar[str]
    """That of the kernel's."""

    def is_decided_by_counts(self, *, has_respondents: bool) -> bool:
        """Whether both sides meet it wherever `allowed` says yes."""
        return self.judge.is_decided_by_counts(has_respondents=has_respondents)

    def allowed(self, counts: LineCounts) -> Flags:
        """After each place: no where counts tell that one of the sides does not meet it.

        Where a side has fewer than `counts.fewest` respondents, any answer will do.
        """
        return counts.everywhere

    def surely_met(self, holders: Sequence[Extents], place: int) -> bool:
        """Yes where both sides of an allowed cut are quickly seen to meet it."""
        return False

    def failing(self, cuts: Cuts) -> set[int]:
        """The lines whose cut has a side that does not meet it; asked only where counts do not decide."""
        raise InternalError("a requirement that counts do not decide has no query of its own")

    def whole_meets(self, relations: Relations, *, has_respondents: bool, sensitive: int) -> bool:
        """Whether all facts together meet it; no cut is made where they do not.

        A requirement that is kept by merging need not look: where both sides of a cut meet it, so does
        the whole, and where none is allowed, the kernel is asked.
        """
        if self.judge.is_kept_by_merging(has_respondents=has_respondents, sensitive=sensitive):
            return True
        raise InternalError("a requirement that merging may break has no query for the whole table")


def columns_of(relations: Relations, query: str, *order: str) -> Columns:
    """The columns of a query, its rows ordered by some of them."""
    table = relations.take(query)
    columns = {name: table.column(name).to_numpy().astype(np.int64) for name in table.column_names}
    if order:
        rows = np.lexsort([columns[name] for name in reversed(order)])
        columns = {name: column[rows] for name, column in columns.items()}
    return columns
