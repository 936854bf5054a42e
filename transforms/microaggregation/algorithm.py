"""Microaggregation as an algorithm that makes classes."""

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

import numpy as np

from smalti.transforms.base import MICROAGGREGATION
from smalti.transforms.microaggregation.blocks import block_of_each
from smalti.transforms.microaggregation.coordinates import coordinates, exact_numbers, is_on_a_line
from smalti.transforms.microaggregation.distant import Groups, distant_groups, in_blocks
from smalti.transforms.microaggregation.joining import Held, added, joined
from smalti.transforms.microaggregation.line import best_groups, earliest_ends, latest_begins
from smalti.transforms.mondrian.algorithm import Algorithm, Generalised, Portions
from smalti.transforms.mondrian.cuts import Table
from smalti.transforms.mondrian.kernel import Search, meets_requirements
from smalti.transforms.partitions.layout import order_by
from smalti.transforms.partitions.merging import distinct
from smalti.transforms.problem import Flags, Incidence, Integers, Problem


class Microaggregation(Algorithm):
    """Groups of at least k respondents whose values are near to each other."""

    __slots__ = ()

    name: ClassVar[str] = MICROAGGREGATION
    divides_tuples: ClassVar[bool] = True

    def generalised(self, problem: Problem) -> Generalised | None:
        portions = microaggregated(problem)
        return None if portions is None else Generalised.by_class(portions, len(problem.attributes))


def microaggregated(problem: Problem) -> Portions | None:
    """Groups of near rows; None if even the whole table misses a requirement.

    One column on a line is grouped in the best way (`line`), all others by MDAV (`distant`); in each block
    by itself where the policy asks for several. Groups that miss a requirement beside k are put together
    (`joining`). Columns are as far apart as their standardised values are (`coordinates`). Centres and
    errors are by rows, sizes by respondents.

    Args:
        problem: its tuples are atoms, in their canonical order; several may have the same codes, and stand
            together in their groups in that order.

    Contract:
        Each class meets the problem's requirements. The result does not depend on respondents' numbers.
        With one row each, rows with equal codes may be in different groups; with respondents they stay
        together.
    """
    if not len(problem.weights):
        return None
    table = Table.of(problem)
    if not Search(table).whole_table_is_allowed():
        return None
    return _Grouping(problem, table.fewest_respondents).portions()


class _Grouping:
    """The groups of one problem."""

    def __init__(self, problem: Problem, k: int) -> None:
        self._problem, self._k = problem, k
        order, new = order_by(*problem.codes.T)
        self._item_of = np.empty(len(order), np.int64)
        self._item_of[order] = np.cumsum(new) - 1
        self._codes = problem.codes[order[new]]
        self._rows = added(problem.weights, self._item_of, len(self._codes))
        self._places = coordinates(
            problem.attributes, self._codes, self._rows, problem.grouping_terms.standardization
        )
        self._people = problem.respondents and Incidence(
            *distinct(self._item_of[problem.respondents.tuples], problem.respondents.items)
        )

    def portions(self) -> Portions:
        blocks, most = np.zeros(len(self._codes), np.int64), self._problem.grouping_terms.blocks
        if most > 1:
            blocks = block_of_each(self._places, most, self._whole_items_meet)
        groups = self._groups(blocks)
        count = len(groups.blocks)
        counts = added(groups.rows, groups.groups, count)
        totals = added(self._places.lines[:, groups.items] * groups.rows, groups.groups, count)
        held = Held(
            self._places.levels[:, groups.items], self._places.squared_steps, groups.rows, groups.groups
        )
        portions = self._of_atoms(groups)

        def meets(classes: Integers) -> Flags:
            return meets_requirements(self._problem, _renamed(portions, classes))

        return _renamed(portions, joined(totals, counts, groups.blocks, meets, held))

    def _whole_items_meet(self, blocks: Integers) -> Flags:
        whole = np.arange(len(self._item_of))
        portions = Portions(whole, blocks[self._item_of], self._problem.weights)
        return meets_requirements(self._problem, portions)

    def _groups(self, block_of: Integers) -> Groups:
        """The groups of all blocks."""
        order = np.argsort(block_of, kind="stable")
        blocks = np.split(order, np.flatnonzero(np.diff(block_of[order])) + 1)
        if len(self._problem.attributes) > 1 or not is_on_a_line(self._problem.attributes[0]):
            return distant_groups(self._places, self._rows, blocks, self._people, self._k)
        parts = [(number, group) for number, items in enumerate(blocks) for group in self._on_a_line(items)]
        items, rows = (np.concatenate(column) for column in zip(*(g for _, g in parts), strict=True))
        groups = np.repeat(np.arange(len(parts)), [len(items) for _, (items, _) in parts])
        return Groups(items, groups, rows, np.array([number for number, _ in parts]))

    def _on_a_line(self, items: Integers) -> Iterator[tuple[Integers, Integers]]:
        """The groups of some items: which they have, and how many rows of each."""
        numbers = exact_numbers(self._problem.attributes[0], self._codes[:, 0])
        values = np.array([numbers[item] for item in items.tolist()], object)
        order = np.argsort(values, kind="stable")
        items, values, rows = items[order], values[order].tolist(), self._rows[items][order]
        if self._people is not None:
            (people,) = in_blocks(self._people, [items], len(self._codes))
            latest = latest_begins(people, len(items), self._k)
            for begin, end in pairwise(best_groups(values, rows.tolist(), latest)):
                yield items[begin:end], rows[begin:end]
            return
        of_row = np.repeat(np.arange(len(items)), rows)
        each = [values[place] for place in of_row.tolist()]
        ends = best_groups(each, [1] * len(each), earliest_ends(len(each), self._k))
        for begin, end in pairwise(ends):
            places, taken = np.unique(of_row[begin:end], return_counts=True)
            yield items[places], taken

    def _of_atoms(self, groups: Groups) -> Portions:
        """The rows of atoms by group: those of one code in the order of atoms, and of groups."""
        order = np.argsort(self._item_of, kind="stable")
        upto_atom = np.cumsum(self._problem.weights[order])
        parts, _ = order_by(groups.items, groups.groups)
        upto_part = np.cumsum(groups.rows[parts])
        ends = np.sort(np.concatenate((upto_atom, upto_part)), kind="stable")
        upto = ends[np.diff(ends, append=-1) != 0]
        atoms = order[np.searchsorted(upto_atom, upto)]
        owners = groups.groups[parts[np.searchsorted(upto_part, upto)]]
        rows = np.diff(upto, prepend=0)
        final, _ = order_by(atoms, owners)
        return Portions(atoms[final], owners[final], rows[final])


def _renamed(portions: Portions, classes: Integers) -> Portions:
    """Portions of groups as those of classes; those of one atom in one class are together."""
    owners = classes[portions.classes]
    order, new = order_by(portions.atoms, owners)
    rows = np.add.reduceat(portions.rows[order], np.flatnonzero(new))
    first = order[new]
    return Portions(portions.atoms[first], owners[first], rows)
