"""The verifier's own count of equivalence classes: respondents, and values that tell them apart.

k is the least number of respondents in an equivalence class (Sweeney 2002; classes of rows become
sets of respondents). Distinct l-diversity (Machanavajjhala et al. 2007, section 4) asks for l
different values in each class. With several rows for one respondent this reads: l values can be
matched to l different respondents, and no value is held by all respondents of the class. With one
row each, it is the textbook definition, and for l = 2 both conditions are one.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from smalti.engine.verify.columns import Codes
from smalti.transforms.base import Requirement

_LARGEST_KEY = 1 << 62
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows that agree in some columns."""

    ids: Codes
    """For each row: the number of its group, in the order of first appearance."""
    count: int

    def first_rows(self) -> Codes:
        """For each group: its first row."""
        rows = np.empty(self.count, np.int64)
        rows[self.ids[::-1]] = np.arange(len(self.ids) - 1, -1, -1)
        return rows


@dataclass(frozen=True, slots=True)
class Diversity:
    """How a sensitive column tells the respondents of each class apart."""

    least_values: int
    """The least number, over the classes, of values that can be matched to different respondents."""
    is_homogeneous: bool
    """True when all respondents of some class hold the same value."""
    unmet: frozenset[Requirement] = frozenset()
    """Other requirements that some class does not meet."""
    reached: tuple[tuple[Requirement, float], ...] = ()
    """What the worst class reaches of those that say how values are distributed."""


def group(columns: Sequence[Codes]) -> Groups:
    """Group rows by codes (-1 is a code like any other); without columns, all rows are one group."""
    if not columns:
        raise ValueError
    ids, width = np.zeros(len(columns[0]), np.int64), 1
    for codes in columns:
        size = int(codes.max(initial=-1)) + 2
        if width * size > _LARGEST_KEY:
            ids, width = _renumbered(ids)
        ids, width = ids * size + codes + 1, width * size
    return Groups(*_renumbered(ids))


def _renumbered(ids: Codes) -> tuple[Codes, int]:
    encoded = pa.array(ids).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)


def least_respondents(classes: Groups, respondents: Codes) -> int:
    """The number of different respondents in the smallest class; 0 if there is no row."""
    pairs = group([classes.ids, respondents]).first_rows()
    return int(np.bincount(classes.ids[pairs], minlength=classes.count).min(initial=len(pairs)))


def diversity(classes: Groups, respondents: Codes, values: Codes) -> Diversity:
    """Judge one sensitive column, in every class.

    Args:
        classes: the equivalence classes of the rows.
        respondents: whom each row is about.
        values: the sensitive value of each row; a missing one is a value of its own.
    """
    holders = group([classes.ids, respondents])
    held = group([classes.ids, values])
    edges = group([holders.ids, held.ids]).first_rows()
    if len(edges) == 0:
        return Diversity(0, False)
    graph = _Graph(classes.count, classes.ids[edges], holders.ids[edges], held.ids[edges])
    sizes = np.bincount(classes.ids[holders.first_rows()], minlength=classes.count)
    holding = np.bincount(graph.value, minlength=held.count)
    is_homogeneous = bool((holding == sizes[classes.ids[held.first_rows()]]).any())
    distinct = np.bincount(classes.ids[held.first_rows()], minlength=classes.count)
    return Diversity(_least_matching(graph, np.minimum(sizes, distinct)), is_homogeneous)


@dataclass(frozen=True, slots=True)
class _Graph:
    """Who holds which value: an edge for each pair; nodes belong to one class each."""

    classes: int
    of_class: Codes
    respondent: Codes
    value: Codes

    def restricted_to(self, keep: Codes) -> "_Graph":
        return _Graph(self.classes, self.of_class[keep], self.respondent[keep], self.value[keep])


def _least_matching(graph: _Graph, most: Codes) -> int:
    """The least, over the classes, of the largest matching; exact.

    A greedy matching bounds it from below and `most` from above. Only classes where the two differ,
    and whose lower bound could still be the least, are solved.
    """
    least = _greedy_matching(graph)
    open_classes = np.flatnonzero(least < most)
    best = int(most[least == most].min(initial=int(most.max())))
    open_classes = open_classes[np.argsort(least[open_classes], kind="stable")]
    solvable = open_classes[least[open_classes] < best]
    for number, holders in _holders(graph, solvable):
        if least[number] >= best:
            break
        best = min(best, largest_matching(holders))
    return best


def _greedy_matching(graph: _Graph) -> Codes:
    """The size of some matching in each class: all respondents propose, each value takes one."""
    rarity = np.bincount(graph.value)[graph.value]
    free = graph.restricted_to(np.argsort(rarity, kind="stable"))
    size = np.zeros(graph.classes, np.int64)
    for _ in range(_ROUNDS):
        if len(free.value) == 0:
            break
        proposals = np.unique(free.respondent, return_index=True)[1]
        accepted = proposals[np.unique(free.value[proposals], return_index=True)[1]]
        size += np.bincount(free.of_class[accepted], minlength=graph.classes)
        taken = np.isin(free.respondent, free.respondent[accepted])
        taken |= np.isin(free.value, free.value[accepted])
        free = free.restricted_to(np.flatnonzero(~taken))
    return size


def _holders(graph: _Graph, wanted: Codes) -> Iterator[tuple[int, list[list[int]]]]:
    """For each wanted class, in that order: the respondents that hold each of its values."""
    if len(wanted) == 0:
        return
    order = np.lexsort((graph.value, graph.of_class))
    sorted_graph = graph.restricted_to(order)
    starts = np.searchsorted(sorted_graph.of_class, np.arange(graph.classes + 1))
    for number in wanted.tolist():
        part = slice(starts[number], starts[number + 1])
        cuts = np.flatnonzero(np.diff(sorted_graph.value[part])) + 1
        yield number, [piece.tolist() for piece in np.split(sorted_graph.respondent[part], cuts)]


def largest_matching(holders: Sequence[Iterable[int]]) -> int:
    """The most values that can be matched to different respondents.

    Augmenting paths, shortest first (Berge 1957). What a failed search reached can be on no later
    path, so it is never visited again.

    Args:
        holders: for each value, the respondents that hold it.

    Example:
        >>> largest_matching([[1], [1], [1, 2, 3]])  # respondent 1 can stand for one value only
        2
    """
    matching = _Matching(holders, {}, {}, set())
    for value in range(len(holders)):
        matching.augment(value)
    return len(matching.value_of)


@dataclass(frozen=True, slots=True)
class _Matching:
    holders: Sequence[Iterable[int]]
    value_of: dict[int, int]
    respondent_of: dict[int, int]
    spent: set[int]
    """Respondents that a failed search reached."""

    def augment(self, root: int) -> None:
        """Match one more value, if a path from it to a free respondent exists."""
        reached_by: dict[int, int] = {}
        queue = deque([root])
        while queue:
            value = queue.popleft()
            for respondent in self.holders[value]:
                if respondent in reached_by or respondent in self.spent:
                    continue
                reached_by[respondent] = value
                if respondent not in self.value_of:
                    self._flip(respondent, reached_by)
                    return
                queue.append(self.value_of[respondent])
        self.spent.update(reached_by)

    def _flip(self, free: int, reached_by: dict[int, int]) -> None:
        """Match along the path that ends in a free respondent."""
        respondent: int | None = free
        while respondent is not None:
            value = reached_by[respondent]
            self.value_of[respondent] = value
            left = self.respondent_of.get(value)
            self.respondent_of[value] = respondent
            respondent = left
