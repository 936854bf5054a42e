"""Frequency tables of nodes, each rolled up from the smallest one below it: no pass over rows."""

from dataclasses import dataclass, field, replace

import numpy as np

from smalti.transforms.lattice.grid import Node
from smalti.transforms.partitions.layout import order_by
from smalti.transforms.partitions.merging import distinct, held
from smalti.transforms.problem import Flags, Incidence, Integers, Problem, SensitiveIncidence
from smalti.transforms.values.levels import Levels

_WORTH_KEEPING = 2
"""How many times smaller than its source a table is, at least, before it is kept."""
_KEPT_TUPLES = 1 << 22
"""How many tuples are kept altogether; later tables are rolled up from what is there."""
_DENSE = 8
"""Keys are counted in place while there are at most so many possible ones for each tuple."""
_LARGEST_KEY = 1 << 62


@dataclass(frozen=True, slots=True)
class RolledUp:
    """The frequency table of one node: each of its tuples is one class, in ascending order of codes."""

    node: Node
    codes: tuple[Integers, ...]
    """By attribute, by class: the value of the node's level."""
    rows: Integers
    respondents: Incidence | None
    sensitive: tuple[SensitiveIncidence, ...]

    @property
    def people(self) -> Integers:
        """By class its respondents."""
        if self.respondents is None:
            return self.rows
        return np.bincount(self.respondents.tuples, minlength=len(self.rows))

    def people_outside(self, kept: Flags) -> int:
        """How many respondents have a row in a class that is not kept."""
        if self.respondents is None:
            return int(self.rows[~kept].sum())
        return len(np.unique(self.respondents.items[~kept[self.respondents.tuples]]))

    def within(self, problem: Problem) -> Problem:
        """The table as a problem with the parameters of another."""
        codes = np.column_stack(self.codes)
        return replace(
            problem, codes=codes, weights=self.rows, respondents=self.respondents, sensitive=self.sensitive
        )


@dataclass(slots=True)
class Tables:
    """The frequency tables of a lattice's nodes."""

    levels: tuple[Levels, ...]
    bottom: RolledUp
    _kept: list[RolledUp] = field(init=False)
    _nodes: Integers = field(init=False)
    _sizes: Integers = field(init=False)

    def __post_init__(self) -> None:
        self._kept = [self.bottom]
        self._nodes = np.array([self.bottom.node])
        self._sizes = np.array([len(self.bottom.rows)])

    @classmethod
    def of_problem(cls, problem: Problem, levels: tuple[Levels, ...]) -> "Tables":
        """Those of a problem."""
        codes = tuple(np.ascontiguousarray(column) for column in problem.codes.T)
        node = (0,) * len(levels)
        return cls(levels, RolledUp(node, codes, problem.weights, problem.respondents, problem.sensitive))

    def of(self, node: Node) -> RolledUp:
        """The table of a node."""
        source = self._smallest_below(node)
        if source.node == node and source is not self.bottom:  # whose tuples stand in the problem's order
            return source
        table = self._rolled_up(source, node)
        count = len(table.rows)
        if count * _WORTH_KEEPING <= len(source.rows) and self._sizes.sum() + count <= _KEPT_TUPLES:
            self._kept.append(table)
            self._nodes = np.vstack([self._nodes, node])
            self._sizes = np.append(self._sizes, count)
        return table

    def classes(self, node: Node) -> Integers:
        """By tuple of the lowest node: its class in the table of a node."""
        keys = self._keys(self.bottom, node)
        return np.unique(keys, return_inverse=True)[1].reshape(-1)

    def _smallest_below(self, node: Node) -> RolledUp:
        below = np.flatnonzero((self._nodes <= np.array(node)).all(axis=1))
        return self._kept[int(below[np.argmin(self._sizes[below])])]

    def _rolled_up(self, source: RolledUp, node: Node) -> RolledUp:
        keys = self._keys(source, node)
        first, rows = _grouped(keys, source.rows)
        codes = tuple(
            column[first] if lower == upper else levels.step(lower, upper)[column[first]]
            for levels, lower, upper, column in zip(
                self.levels, source.node, node, source.codes, strict=True
            )
        )
        if source.respondents is None and not source.sensitive:
            return RolledUp(node, codes, rows, None, ())
        class_of = np.searchsorted(keys[first], keys)
        people = source.respondents
        return RolledUp(
            node,
            codes,
            rows,
            people and Incidence(*distinct(class_of[people.tuples], people.items)),
            tuple(
                held(class_of[column.tuples], column.values, column.respondents, column.rows, column.totals)
                for column in source.sensitive
            ),
        )

    def _keys(self, source: RolledUp, node: Node) -> Integers:
        """By tuple a number of its class, ascending with the codes of the node."""
        keys, space = np.zeros(len(source.rows), np.int64), 1
        for levels, lower, upper, column in zip(self.levels, source.node, node, source.codes, strict=True):
            size = levels.sizes[upper]
            if size == 1:
                continue
            if space > _LARGEST_KEY // size:
                distinct_keys, keys = np.unique(keys, return_inverse=True)
                keys, space = keys.reshape(-1), len(distinct_keys)
            keys *= size
            keys += column if lower == upper else levels.step(lower, upper)[column]
            space *= size
        return keys


def _grouped(keys: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """By different key, ascending: some tuple that has it, and the rows of all that have it."""
    space = int(keys.max(initial=0)) + 1
    if space <= _DENSE * len(keys):
        some = np.full(space, -1, np.int64)
        some[keys] = np.arange(len(keys))
        sums = np.zeros(space, np.int64)
        np.add.at(sums, keys, rows)
        occurs = some >= 0
        return some[occurs], sums[occurs]
    order, new = order_by(keys)
    starts = np.flatnonzero(new)
    return order[starts], np.add.reduceat(rows[order], starts)
