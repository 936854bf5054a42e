"""Strict multidimensional Mondrian on a frequency table.

LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006; the choice among
allowable cuts follows MOSAICrOWN D5.1, 2.2 (evaluate all available generalisations, take the one
with the least loss).

The kernel sees tuples, not rows: one tuple for each distinct combination of quasi-identifier codes,
with the number of its rows. Partitions are split level by level, many at a time; a cut depends on
nothing but its own partition, so how partitions are grouped or ordered never changes the result.

# INVARIANT: everything that decides a cut is an integer. Sums of floats differ between machines.
"""

import numpy as np

from smalti.errors import InternalError
from smalti.transforms._cuts import Candidate, Choice, Cuts, Scene, Table, least_penalty, median
from smalti.transforms._incidence import Holdings
from smalti.transforms._layout import Batch
from smalti.transforms._sampling import surely_match
from smalti.transforms.base import CutScore
from smalti.transforms.matching import can_match
from smalti.transforms.problem import Flags, Integers, Problem

_PAIRS_FOR_EACH = 16
_WORTH_A_COPY = 2
"""How many times larger than a batch its table is, at least, before the batch gets a table of its own."""


def partition(problem: Problem) -> Integers | None:
    """The class of each tuple, numbered from 0; None if even the whole table misses k or l.

    Contract:
        Each class meets, by respondents: at least k of them; for each sensitive column no value is
        held by all of them; and, where l exceeds 1, l different values can be matched to l
        different respondents. No further allowable cut exists in any class.
        The result depends on the set of tuples only, not on their order or on respondents' numbers.
    """
    if not len(problem.weights):
        return None
    table = Table.of(problem)
    if not Search(table).whole_table_is_allowed():
        return None
    classes = np.empty(len(problem.weights), np.int64)
    done = 0
    stack = [(table, Batch.whole(len(problem.weights)))]
    while stack:
        search, batch = _search_in(*stack.pop())
        cuts = search.cuts(batch)
        is_final = cuts.attribute < 0
        final = np.flatnonzero(is_final[batch.node])
        numbers = np.cumsum(is_final) - 1 + done
        classes[search.table.origin[batch.tuples[final]]] = numbers[batch.node[final]]
        done += int(np.count_nonzero(is_final))
        children = batch.children(~is_final, cuts.left)
        stack.extend((search.table, piece) for piece in children.pieces())
    return classes


class Search:
    """The choice of cuts, which also pass the matching test, in partitions of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.problem = table.problem

    def whole_table_is_allowed(self) -> bool:
        batch = Batch.whole(len(self.table.weights))
        return bool(Scene(self.table, batch).allowed.all()) and self.can_match(batch.tuples)

    def sizes(self, batch: Batch) -> Integers:
        """By partition its distinct tuples of codes, which the threshold is about."""
        return np.diff(batch.starts)

    def cuts(self, batch: Batch) -> Cuts:
        """The best allowable cut of each partition."""
        chosen = Cuts.none(batch)
        scene = Scene(self.table, batch)
        may_be_cut = scene.may_be_cut()
        by_penalty = self.problem.cut_score is CutScore.CERTAINTY_PENALTY
        small = (self.sizes(batch) <= self.problem.cut_threshold) & by_penalty
        for wanted, choose in ((small, least_penalty), (~small, median)):
            nodes = np.flatnonzero(wanted & may_be_cut)
            if len(nodes):
                part, slots = scene.part(nodes)
                chosen.put(nodes, slots, self._matched_cuts(part, choose))
        return chosen

    @property
    def matching_decides(self) -> bool:
        """Whether the matching test can fail where the others do not."""
        # With two respondents and two values, neither held by all, a matching of two exists.
        return self.problem.respondents is not None and self.problem.l > 2

    def _matched_cuts(self, scene: Scene, choose: Choice) -> Cuts:
        """As `cuts`, with candidates struck out until both children also pass the matching test."""
        cuts = choose(scene)
        if not self.matching_decides:
            return cuts
        struck: set[Candidate] = set()
        unchecked = cuts.attribute >= 0
        while unchecked.any():
            failed = self.without_match(scene.batch, cuts, unchecked)
            if not len(failed):
                break
            struck.update(
                (node, int(cuts.attribute[node]), int(cuts.index[node])) for node in failed.tolist()
            )
            part, slots = Scene(self.table, scene.batch, frozenset(struck)).part(failed)
            cuts.put(failed, slots, choose(part))
            unchecked[:] = False
            unchecked[failed] = cuts.attribute[failed] >= 0
        return cuts

    def without_match(self, batch: Batch, cuts: Cuts, unchecked: Flags) -> Integers:
        """The partitions, of those unchecked, whose cut has a child that fails the matching test.

        Args:
            batch: the partitions.
            cuts: of these.
            unchecked: by partition; it has a cut.
        """
        matched = self.matched(batch.children(unchecked, cuts.left))
        return np.flatnonzero(unchecked)[~matched.reshape(-1, 2).all(axis=1)]

    def matched(self, batch: Batch) -> Flags:
        """By partition: whether in each sensitive column l values can be matched to l respondents."""
        matched = [surely_match(holdings, batch, self.problem.l) for holdings in self.table.sensitive]
        found: Flags = np.all(matched, axis=0)
        for node in np.flatnonzero(~found).tolist():
            found[node] = self.can_match(batch.tuples[batch.starts[node] : batch.starts[node + 1]])
        return found

    def can_match(self, tuples: Integers) -> bool:
        """Whether in each sensitive column l values can be matched to l respondents of these tuples."""
        if self.problem.respondents is None or self.problem.l <= 1:
            return True
        return all(_matches(holdings, tuples, self.problem.l) for holdings in self.table.sensitive)


def _search_in(table: Table, batch: Batch) -> tuple[Search, Batch]:
    """A batch that fits a processor's cache is searched in a table of its own."""
    if batch.fits_a_cache and len(table.origin) > _WORTH_A_COPY * len(batch.tuples):
        table, batch = table.subset(batch.tuples), Batch(np.arange(len(batch.tuples)), batch.starts)
    return Search(table), batch


def _matches(holdings: Holdings, tuples: Integers, wanted: int) -> bool:
    """Whether `wanted` values can be matched to different respondents."""
    if holdings.pairs is None:
        raise InternalError("a matching was asked of values without respondents")
    _, pairs = holdings.links.take(tuples)
    values = holdings.pairs.values[pairs].astype(np.int64)
    respondents = holdings.pairs.respondents[pairs].astype(np.int64)
    return _greedily(values, respondents, wanted) or can_match(values, respondents, wanted)


def _greedily(values: Integers, respondents: Integers, wanted: int) -> bool:
    """Whether the first pairs that do not meet already make a matching; a no decides nothing."""
    taken: set[int] = set()
    used: set[int] = set()
    few = slice(_PAIRS_FOR_EACH * wanted)
    for value, respondent in zip(values[few].tolist(), respondents[few].tolist(), strict=True):
        if value not in taken and respondent not in used:
            taken.add(value)
            used.add(respondent)
            if len(taken) == wanted:
                return True
    return False
