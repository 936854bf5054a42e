"""First cuts from a sample: few looks at a large table, for classes that depend on the number of fragments.

Some of the tuples come here and are cut at their medians, as the kernel cuts, until they are in enough
pieces; then all facts are divided at once. Which tuples these are depends on their codes alone, so the
same number of fragments gives the same result on every engine.

Nothing is promised on the strength of a sample: the kernel judges each fragment by all of its facts, and
where one does not keep the promise, the cut above it is taken back (`taken_back`), and another one is
looked for in the exact way.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.engine.anonymization import cut_queries as queries
from smalti.engine.anonymization.cut_queries import FACTS, HASHES, Division
from smalti.engine.anonymization.first_cuts import Terms, whole_is_allowed
from smalti.engine.backends.relations import Relations
from smalti.transforms.base import RESPONDENTS, Requirement
from smalti.transforms.mondrian.medians import MedianCut, median_cuts
from smalti.transforms.problem import OrderedAttribute, Problem

FOR_EACH_FRAGMENT: Final = 1024
"""Tuples of the sample."""
_FEWEST: Final = 4
"""A partition is cut while the sample has at least one of so many of these tuples in it."""
_LEFTS: Final = "lefts"


class SampledCuts:
    """Cuts the relation `facts` at the medians of a sample, once."""

    def __init__(self, relations: Relations, terms: Terms) -> None:
        """Begin with all of `facts` in node 0."""
        self._relations = relations
        self._terms = terms
        self._columns = [f"q{i}" for i in range(len(terms.attributes))]

    def cut(self, fragments: int) -> tuple[Division, ...]:
        """Cut into at most so many partitions, each of them above the threshold, as far as a sample tells.

        Returns:
            The cuts, each after that of the partition that it cuts. Partitions are numbered from 0 in the
            column `node`; a cut keeps the number on its left.
        """
        with self._relations.step("sampled first cuts"):
            if not whole_is_allowed(self._relations, self._terms):
                return ()
            cuts = self._cuts(fragments)
            return self._divide(cuts) if cuts else ()

    def _cuts(self, fragments: int) -> tuple[MedianCut, ...]:
        tuples = self._relations.take(queries.tuples(self._columns)).column("n")[0].as_py()
        wanted = fragments * FOR_EACH_FRAGMENT
        sample = self._sample(min(wanted * HASHES // max(tuples, 1), HASHES))
        size = len(sample.weights)
        if not size:
            return ()
        # As many of the sample as stand for more tuples than the threshold.
        least = self._terms.cut_threshold * size // tuples + 1
        return median_cuts(sample, fragments, max(least, FOR_EACH_FRAGMENT // _FEWEST))

    def _sample(self, limit: int) -> Problem:
        tuples = self._relations.take(queries.sampled(self._columns, limit))
        codes = np.column_stack([tuples.column(q).to_numpy() for q in self._columns]).astype(np.int64)
        order = np.lexsort(codes.T[::-1])
        return Problem(
            codes[order],
            tuples.column("n").to_numpy().astype(np.int64)[order],
            self._terms.attributes,
            None,
            (),
            (Requirement(RESPONDENTS, (self._terms.fewest_respondents,)),),
            0,
            self._terms.cut_score,
            self._terms.first_attribute,
        )

    def _divide(self, cuts: Sequence[MedianCut]) -> tuple[Division, ...]:
        """Give the right side of each cut a node of its own."""
        is_ordered = [isinstance(attribute, OrderedAttribute) for attribute in self._terms.attributes]
        lines = [-1 if is_ordered[cut.attribute] else i for i, cut in enumerate(cuts)]
        divisions = tuple(
            Division(cut.node, cut.attribute, line, int(cut.left[-1]), cut.new)
            for line, cut in zip(lines, cuts, strict=True)
        )
        unordered = [line for line in lines if line >= 0]
        if unordered:
            # What is in none of these lists goes to the right: the rare values that the sample lacks.
            sides = np.repeat(unordered, [len(cuts[i].left) for i in unordered])
            codes = np.concatenate([cuts[i].left for i in unordered])
            self._relations.give(_LEFTS, pa.table({"side_of": sides, "code": codes}))
        query = queries.divided_by_levels(
            self._terms.fact_columns,
            len(self._columns),
            levels_of(divisions),
            _LEFTS if unordered else None,
        )
        self._relations.make(FACTS, query)
        return divisions


def levels_of(divisions: Iterable[Division]) -> list[list[Division]]:
    """The same cuts in as few levels as may be: each after that of the partition that it cuts."""
    level: dict[int, int] = {}
    levels: list[list[Division]] = []
    for division in divisions:
        place = level.get(division.node, 0)
        if place == len(levels):
            levels.append([])
        levels[place].append(division)
        level[division.node] = level[division.new] = place + 1
    return levels


def taken_back(
    divisions: Sequence[Division], failed: Iterable[int]
) -> tuple[tuple[Division, ...], dict[int, int]]:
    """Take back the last cut above each partition that failed, with all cuts on its other side.

    Args:
        divisions: each after that of the partition that it cuts.
        failed: partitions that none of these divides further.

    Returns:
        The cuts that are left; and by partition that is whole again, or part of one, the number of that.

    >>> cuts = [Division(0, 0, -1, 5, 1), Division(1, 0, -1, 8, 2), Division(0, 0, -1, 2, 3)]
    >>> left, into = taken_back(cuts, [1])
    >>> [cut.new for cut in left], into
    ([1, 3], {1: 1, 2: 1})
    >>> left, into = taken_back(cuts, [1, 3])
    >>> [cut.new for cut in left], into
    ([1], {0: 0, 1: 1, 2: 1, 3: 0})
    """
    left, into = list(divisions), dict[int, int]()
    for node in sorted(failed):
        above = [i for i, division in enumerate(left) if node in (division.node, division.new)]
        if node in into or not above:
            continue
        place = above[-1]
        home, inside = left[place].node, {left[place].node, left[place].new}
        rest = left[:place]
        for division in left[place + 1 :]:
            if division.node in inside:
                inside.add(division.new)
            else:
                rest.append(division)
        left = rest
        into |= {old: home for old, new in into.items() if new in inside}
        into |= dict.fromkeys(inside, home)
    return tuple(left), dict(sorted(into.items()))
