"""Exact aggregates of a release on either engine: contributions are bounded first, then rows are added up.

Of rows an engine adds up whole numbers only, and small ones; what is made of the sums is made here. No
group, no number of digits and no error depends on values, but for the groups of private keys.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product
from math import prod
from typing import assert_never

from smalti.engine.backends.staged import StagedTable
from smalti.engine.releases.digits import Digits
from smalti.engine.releases.participation import DISTINCT, ROWS, Cell, Keys, Participation, summed
from smalti.engine.releases.plan import Part, Quantity, ReleasePlan, Statistic
from smalti.errors import InternalError
from smalti.transforms.sensitivity import rank_utilities

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aggregates:
    """What a statistic is made from, before noise. Private: it never leaves the engine."""

    groups: tuple[tuple[str, ...], ...]
    """By group, the label of each key (without those of a choice): all combinations of public keys, in the
    order of the plan, whether or not a row has them; of private keys those that occur, sorted."""
    amounts: tuple[tuple[Sequence[int], ...], ...]
    """By part of the statistic, by group: one number, or one for each candidate of a choice."""
    respondents: tuple[int, ...] = ()
    """By group, where keys are selected privately: its respondents."""


def aggregate(plan: ReleasePlan, statistic: Statistic, table: StagedTable) -> Aggregates:
    """Compute the exact aggregates of one statistic.

    What rows take part says `Participation`; keys with public values are compared as texts.

    Args:
        plan: says who respondents are, what of them takes part, and what columns hold.
        statistic: of the plan.
        table: without rows that are not granted, or are about people who withdrew.

    Raises:
        BackendError: the machine. Nothing about the values is ever raised.
    """
    with closing(Participation(plan, statistic, table)) as rows:
        cells = list(rows.cells())
        people = rows.respondents() if _needs_respondents(statistic) else {}
    groups = _groups(Keys.of(statistic), cells)
    by_group: dict[Labels, dict[int, Mapping[str, int]]] = {labels: {} for labels in groups}
    for cell in cells:
        by_group[cell.labels][cell.inner] = cell.sums
    amounts = _Amounts(statistic, people)
    return Aggregates(
        groups,
        tuple(
            tuple(amounts.of(part, labels, by_group[labels]) for labels in groups)
            for part in statistic.parts
        ),
        tuple(people.get(labels, 0) for labels in groups) if statistic.selection else (),
    )


def _needs_respondents(statistic: Statistic) -> bool:
    quantities = {part.quantity for part in statistic.parts}
    return statistic.selection is not None or Quantity.RESPONDENTS in quantities


def _groups(keys: Keys, cells: Sequence[Cell]) -> tuple[Labels, ...]:
    if keys.has_private:
        # By code points, which is the order of the bytes of UTF-8.
        return tuple(sorted({cell.labels for cell in cells}))
    return tuple(product(*keys.public_labels))


class _Amounts:
    """From the sums of a group to what a part of the statistic is about."""

    def __init__(self, statistic: Statistic, respondents: Mapping[Labels, int]) -> None:
        self._digits = summed(statistic)
        self._respondents = respondents
        self._choices = prod(key.size for key in Keys.of(statistic).choice)
        self._candidates = len(statistic.candidates)

    def of(self, part: Part, labels: Labels, sums: Mapping[int, Mapping[str, int]]) -> tuple[int, ...]:
        """One number, or one for each candidate.

        Args:
            part: of the statistic.
            labels: of the group.
            sums: by what tells its rows apart; what no row has may be missing.
        """
        match part.quantity:
            case Quantity.ROWS:
                return (sum(cell_sums[ROWS] for cell_sums in sums.values()),)
            case Quantity.SUM | Quantity.SQUARES:
                return (self._total(self._digits[part.quantity], sums),)
            case Quantity.DISTINCT:
                return (sum(cell_sums[DISTINCT] for cell_sums in sums.values()),)
            case Quantity.RESPONDENTS:
                return (self._respondents.get(labels, 0),)
            case Quantity.FREQUENCIES:
                return _rows(sums, self._choices)
            case Quantity.RANKS:
                return self._utilities(part, _rows(sums, 2 * self._candidates + 1))
        assert_never(part.quantity)

    def _total(self, digits: Digits, sums: Mapping[int, Mapping[str, int]]) -> int:
        return sum(digits.total(cell_sums, cell_sums[ROWS]) for cell_sums in sums.values())

    def _utilities(self, part: Part, rows: Sequence[int]) -> tuple[int, ...]:
        """By candidate, from the rows by their place among the candidates (`readings.positions`)."""
        if part.level is None:
            raise InternalError("ranks without a level")
        upto = list(accumulate(rows))
        level = Fraction(part.level)
        return tuple(rank_utilities(upto[0:-1:2], upto[1::2], upto[-1], level))


def _rows(sums: Mapping[int, Mapping[str, int]], size: int) -> tuple[int, ...]:
    return tuple(sums[place][ROWS] if place in sums else 0 for place in range(size))
