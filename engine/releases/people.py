"""What each respondent contributes to the statistics of a release, for attacks by their owner.

It is read by the same queries as the exact aggregates, so contributions are bounded as there.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.reads import Mechanism
from smalti.engine.releases.digits import Digits
from smalti.engine.releases.participation import GROUP, PERSON, ROWS, Keys, Participation, summed
from smalti.engine.releases.plan import Part, Quantity, ReleasePlan, Statistic, StatisticKind
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.problem import Integers

Labels = tuple[str, ...]
_EVERYBODY = Statistic("", StatisticKind.COUNT, (), (Part(Quantity.ROWS, Mechanism.LAPLACE, 1.0),))


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """What respondents contribute to one statistic: each pair of respondent and group at most once."""

    people: Integers
    """Numbers of respondents, from 0."""
    groups: Integers
    """Numbers of groups, from 0."""
    rows: Floats
    sums: Floats
    """Of the measure, in units from its origin; 0 where there is none."""
    squares: Floats
    """Likewise of the squares."""
    count: int
    """How many groups there are."""

    def of(self, people: Integers) -> "Contributions":
        """Those of some people alone."""
        chosen = np.isin(self.people, people)
        return replace(
            self,
            people=self.people[chosen],
            groups=self.groups[chosen],
            rows=self.rows[chosen],
            sums=self.sums[chosen],
            squares=self.squares[chosen],
        )

    def totals(self, amounts: Floats) -> Floats:
        """By group the sum over respondents."""
        return np.bincount(self.groups, amounts, minlength=self.count).astype(np.float64)


class People:
    """The respondents of a table, in an order of their own."""

    def __init__(self, plan: ReleasePlan, table: StagedTable) -> None:
        self._plan, self._table = plan, table
        with closing(Participation(plan, _EVERYBODY, table)) as rows:
            people = rows.of_people().column(PERSON).combine_chunks()
        self._people = people.take(pc.array_sort_indices(people))

    def __len__(self) -> int:
        return len(self._people)

    def contributions(self, statistic: Statistic, released: Sequence[Labels] | None) -> Contributions:
        """What they contribute to a statistic of numbers, without private selection of groups.

        Args:
            statistic: of the plan, and no choice.
            released: the labels of groups, where a key is private: others are left out; None: all
                combinations of public keys, in the order of the plan.
        """
        with closing(Participation(self._plan, statistic, self._table)) as rows:
            table = rows.of_people()
        keys = Keys.of(statistic)
        groups, count = _groups(table, keys, released)
        inside = groups >= 0
        people = pc.index_in(table.column(PERSON), self._people).to_numpy().astype(np.int64)
        rows_of = _floats(table, ROWS)
        digits = {quantity: _total(table, split, rows_of) for quantity, split in summed(statistic).items()}
        nothing = np.zeros(len(rows_of))
        return Contributions(
            people[inside],
            groups[inside],
            rows_of[inside],
            digits.get(Quantity.SUM, nothing)[inside],
            digits.get(Quantity.SQUARES, nothing)[inside],
            count,
        )


def _groups(table: pa.Table, keys: Keys, released: Sequence[Labels] | None) -> tuple[Integers, int]:
    """By row the number of its group, -1 where it is not released; and how many groups there are."""
    public = table.column(GROUP).to_numpy().astype(np.int64)
    if not keys.has_private:
        return public, prod(len(labels) for labels in keys.public_labels)
    places = {labels: number for number, labels in enumerate(released or ())}
    labels = _labels(table, keys, public)
    return np.array([places.get(each, -1) for each in labels], np.int64), len(places)


def _labels(table: pa.Table, keys: Keys, public: Integers) -> list[Labels]:
    columns: list[Sequence[str]] = []
    rest = public.copy()
    for place, key in reversed([*enumerate(keys.groups)]):
        if key.is_private:
            columns.append(table.column(f"p{place}").to_pylist())
        else:
            rest, numbers = np.divmod(rest, key.size)
            names = _public(keys, place)
            columns.append([names[number] for number in numbers.tolist()])
    return list(zip(*reversed(columns), strict=True))


def _public(keys: Keys, place: int) -> Labels:
    """The labels of the public key at a place among all keys of groups."""
    before = sum(not key.is_private for key in keys.groups[:place])
    return keys.public_labels[before]


def _floats(table: pa.Table, name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), np.float64)


def _total(table: pa.Table, digits: Digits, rows: Floats) -> Floats:
    """By row the sum behind its digits, rounded: an attack needs no exact one."""
    columns = {name: table.column(name).to_pylist() for name in digits.columns}
    totals = (
        digits.total({name: column[place] for name, column in columns.items()}, int(number))
        for place, number in enumerate(rows.tolist())
    )
    return np.fromiter(map(float, totals), np.float64, len(rows))
