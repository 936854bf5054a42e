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

from smalti.transforms._cuts import Candidate, Choice, Cuts, Scene, Table, least_penalty, median
from smalti.transforms._layout import Batch, Links
from smalti.transforms.problem import Flags, Incidence, Integers, Problem, SensitiveIncidence

_PAIRS_FOR_EACH = 16


def partition(problem: Problem) -> Integers | None:
    """The class of each tuple, numbered from 0; None if even the whole table misses k or l.

    Contract:
        Each class meets, by respondents: at least k of them; for each sensitive column no value is
        held by all of them; and, where l exceeds 1, l different values can be matched to l
        different respondents. No further allowable cut exists in any class.
        The result depends on the set of tuples only, not on their order or on respondents' numbers.
    """
    order = np.lexsort(problem.codes.T[::-1])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    search = _Search(_reordered(problem, order, rank))
    if not search.whole_table_is_allowed():
        return None
    classes = np.empty(len(order), np.int64)
    classes[order] = search.classes()
    return classes


def _reordered(problem: Problem, order: Integers, rank: Integers) -> Problem:
    respondents = problem.respondents
    return Problem(
        np.ascontiguousarray(problem.codes[order]),
        problem.weights[order],
        problem.attributes,
        respondents and Incidence(rank[respondents.tuples], respondents.items),
        tuple(SensitiveIncidence(rank[s.tuples], s.values, s.respondents) for s in problem.sensitive),
        problem.k,
        problem.l,
        problem.cut_threshold,
    )


class _Search:
    """The way from one partition to the final ones."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.table = Table.of(problem)

    def whole_table_is_allowed(self) -> bool:
        count = len(self.problem.weights)
        if count == 0:
            return False
        batch = Batch(np.arange(count), np.array([0, count]))
        scene = Scene(self.table, batch, frozenset())
        return scene.whole_is_allowed() and self.can_match(batch.tuples)

    def classes(self) -> Integers:
        """Split until no partition has an allowable cut."""
        count = len(self.problem.weights)
        result = np.empty(count, np.int64)
        done = 0
        stack = [Batch(np.arange(count), np.array([0, count]))]
        while stack:
            batch = stack.pop()
            cuts = self.cuts(batch)
            final = cuts.attribute[batch.node] < 0
            numbers = np.cumsum(cuts.attribute < 0) - 1 + done
            result[batch.tuples[final]] = numbers[batch.node[final]]
            done += int(np.count_nonzero(cuts.attribute < 0))
            if not final.all():
                stack.extend(_children(batch, cuts, ~final).pieces())
        return result

    def cuts(self, batch: Batch) -> Cuts:
        """The best allowable cut of each partition."""
        chosen = Cuts(
            np.full(batch.size, -1), np.zeros(batch.size, np.int64), np.zeros(len(batch.tuples), np.bool_)
        )
        small = np.diff(batch.starts) <= self.problem.cut_threshold
        for nodes, choose in ((np.flatnonzero(small), least_penalty), (np.flatnonzero(~small), median)):
            if len(nodes):
                part = batch if len(nodes) == batch.size else batch.subset(nodes)
                found = self._matched_cuts(part, choose)
                chosen.attribute[nodes], chosen.index[nodes] = found.attribute, found.index
                slots = np.isin(batch.node, nodes) if part is not batch else slice(None)
                chosen.left[slots] = found.left
        return chosen

    def _matched_cuts(self, batch: Batch, choose: Choice) -> Cuts:
        """As `cuts`, with candidates struck out until both children also pass the matching test."""
        cuts = choose(Scene(self.table, batch, frozenset()))
        if self.problem.respondents is None or self.problem.l <= 2:
            # With two respondents and two values, neither held by all, a matching of two exists.
            return cuts
        struck: set[Candidate] = set()
        unchecked = np.flatnonzero(cuts.attribute >= 0)
        while len(unchecked):
            failed = [node for node in unchecked.tolist() if not self._children_match(batch, cuts, node)]
            struck.update((node, int(cuts.attribute[node]), int(cuts.index[node])) for node in failed)
            self._choose_again(batch, cuts, failed, struck, choose)
            unchecked = np.array([node for node in failed if cuts.attribute[node] >= 0], np.int64)
        return cuts

    def _choose_again(
        self, batch: Batch, cuts: Cuts, failed: list[int], struck: set[Candidate], choose: Choice
    ) -> None:
        if not failed:
            return
        nodes = np.array(failed, np.int64)
        number = {node: i for i, node in enumerate(failed)}
        out = frozenset((number[n], a, i) for n, a, i in struck if n in number)
        again = choose(Scene(self.table, batch.subset(nodes), out))
        cuts.attribute[nodes], cuts.index[nodes] = again.attribute, again.index
        cuts.left[np.isin(batch.node, nodes)] = again.left

    def _children_match(self, batch: Batch, cuts: Cuts, node: int) -> bool:
        span = slice(batch.starts[node], batch.starts[node + 1])
        tuples, left = batch.tuples[span], cuts.left[span]
        return self.can_match(tuples[left]) and self.can_match(tuples[~left])

    def can_match(self, tuples: Integers) -> bool:
        """Whether in each sensitive column l values can be matched to l respondents of these tuples."""
        if self.problem.respondents is None or self.problem.l <= 1:
            return True
        return all(_matches(links, tuples, self.problem.l) for links in self.table.sensitive)


def _children(batch: Batch, cuts: Cuts, going_on: Flags) -> Batch:
    node = batch.node[going_on] * 2 + ~cuts.left[going_on]
    order = np.argsort(node, kind="stable")
    sizes = np.bincount(node, minlength=2 * batch.size)
    return Batch(batch.tuples[going_on][order], np.concatenate(([0], np.cumsum(sizes[sizes > 0]))))


def _matches(links: Links, tuples: Integers, wanted: int) -> bool:
    """Whether `wanted` values can be matched to different respondents."""
    _, (values, respondents) = links.take(tuples)
    return _greedily(values, respondents, wanted) or _by_augmenting(values, respondents, wanted)


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


def _by_augmenting(values: Integers, respondents: Integers, wanted: int) -> bool:
    """The same, exactly: by augmenting paths, breadth first (Hopcroft, Karp 1973, without phases)."""
    holders: dict[int, list[int]] = {}
    for value, respondent in zip(values.tolist(), respondents.tolist(), strict=True):
        holders.setdefault(value, []).append(respondent)
    value_of: dict[int, int] = {}
    for value in holders:
        _augment(value, holders, value_of)
        if len(value_of) >= wanted:
            return True
    return False


def _augment(start: int, holders: dict[int, list[int]], value_of: dict[int, int]) -> None:
    """Match one more value, moving earlier ones to other respondents where that helps."""
    reached_from: dict[int, int] = {}
    queue = [start]
    for value in queue:
        for respondent in holders[value]:
            if respondent in reached_from:
                continue
            reached_from[respondent] = value
            if respondent not in value_of:
                _turn(start, respondent, reached_from, value_of)
                return
            queue.append(value_of[respondent])


def _turn(start: int, respondent: int, reached_from: dict[int, int], value_of: dict[int, int]) -> None:
    """Give each respondent on the path back to `start` the value that reached it."""
    respondent_of = {value: holder for holder, value in value_of.items()}
    while True:
        value = reached_from[respondent]
        value_of[respondent] = value
        if value == start:
            return
        respondent = respondent_of[value]
