"""Groups around tuples that are far from each other: maximum distance to average vector (MDAV).

Domingo-Ferrer, Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure control",
IEEE TKDE 14(1), 2002; in the form of Domingo-Ferrer, Torra, "Ordinal, continuous and heterogeneous
k-anonymity through microaggregation", Data Mining and Knowledge Discovery 11(2), 2005, Algorithm 1.

Blocks do not look at each other. Several are searched side by side, since each step is one operation on
arrays then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.microaggregation.places import Places
from smalti.transforms.problem import Incidence, Integers

_CELLS: Final = 1 << 16
"""Of blocks that are searched together, so that they fit a processor's cache."""
_COMPACT_AT: Final = 8
"""A search goes on without the tuples that are gone once they are one in so many."""
_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Groups:
    """How rows are divided between groups; those of one block have numbers beside each other."""

    items: Integers
    """Tuples."""
    groups: Integers
    """Of these, numbered from 0."""
    rows: Integers
    """How many are in the group."""
    blocks: Integers
    """By group, ascending."""


class Crowd(Protocol):
    """The respondents of blocks side by side that are in no group yet."""

    people: Integers
    """By block: who is left."""

    def take(self, blocks: Integers, places: Integers, keys: Integers, k: int) -> Integers:
        """Take the nearest rows that hold k respondents.

        Args:
            blocks: which have k respondents or more.
            places: shape (blocks, tuples): of the tuples in the blocks; -1 where there is none.
            keys: of the same shape: the smaller, the nearer; no two are alike but for tuples that are gone.
            k: respondents.

        Returns:
            Of the same shape, how many rows of each tuple are taken.
        """


class Rows:
    """Each row is about another person, and rows of one tuple may be in different groups."""

    def __init__(self, rows: Integers) -> None:
        """Begin with all rows, by block and tuple; 0 where a block has no more tuples."""
        self._left = rows.copy()
        self.people: Integers = rows.sum(axis=1)

    def take(self, blocks: Integers, places: Integers, keys: Integers, k: int) -> Integers:
        near = np.broadcast_to(np.arange(keys.shape[1]), keys.shape)
        if keys.shape[1] > k:
            near = np.argpartition(keys, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(keys, near, axis=1), axis=1)
        near = np.take_along_axis(near, order, axis=1)
        names = np.take_along_axis(places, near, axis=1)
        rows = np.where(names < 0, 0, self._left[blocks[:, np.newaxis], names])
        before = np.cumsum(rows, axis=1) - rows
        taken = np.clip(k - before, 0, rows)
        # Places that do not occur stand for the last tuple, from which nothing is taken.
        np.subtract.at(self._left, (blocks[:, np.newaxis], names), taken)
        self.people[blocks] -= k
        of_tuple = np.zeros_like(keys)
        np.put_along_axis(of_tuple, near, taken, axis=1)
        return of_tuple


class People:
    """Rows of a tuple stay together, since respondents would have to be told apart by their names."""

    def __init__(self, rows: Integers, held: Sequence[Incidence]) -> None:
        """Begin with all rows.

        Args:
            rows: by block and tuple; 0 where a block has no more tuples.
            held: by block which tuples hold which respondents, ascending.
        """
        self._rows = rows
        self._starts = [np.searchsorted(each.tuples, np.arange(rows.shape[1] + 1)) for each in held]
        self._respondents = [each.items for each in held]
        self._tuples_of = [np.bincount(each.items) for each in held]
        self.people = np.array([np.count_nonzero(each) for each in self._tuples_of])

    def take(self, blocks: Integers, places: Integers, keys: Integers, k: int) -> Integers:
        of_tuple = np.zeros_like(keys)
        for number, block in enumerate(blocks.tolist()):
            seen: set[int] = set()
            for place in np.argsort(keys[number], kind="stable").tolist():
                name = int(places[number, place])
                held = self._of(block, name)
                seen.update(held.tolist())
                of_tuple[number, place] = self._rows[block, name]
                self._tuples_of[block][held] -= 1
                self.people[block] -= np.count_nonzero(self._tuples_of[block][held] == 0)
                if len(seen) >= k:
                    break
        return of_tuple

    def _of(self, block: int, name: int) -> Integers:
        return self._respondents[block][self._starts[block][name] : self._starts[block][name + 1]]


def distant_groups(
    places: Places, rows: Integers, blocks: Sequence[Integers], people: Incidence | None, k: int
) -> Groups:
    """Groups of k respondents each; of each block the last one has what is left.

    In each block, while 3k respondents are left: a group of the tuple that is farthest from the centre of
    all rows that are left, and of those nearest to it; then one of the tuple that is farthest from that
    one. With 2k left, one more. The last group has up to 2k - 1. Of equal distances the first tuple counts.
    Where respondents have several rows a group takes whole tuples, and may have more than k, so that too
    few may be left for the last one.

    Args:
        places: of the tuples (`coordinates`).
        rows: of each tuple.
        blocks: the tuples of each, ascending.
        people: who is in which tuples; None: each row is another person.
        k: at least 1.
    """
    pieces: list[tuple[Integers, ...]] = []
    for first, some in _side_by_side(blocks):
        search = _Search(places, rows, some, people)
        pieces += [(first + block, turn, items, taken) for block, turn, items, taken in search.groups(k)]
    block, turn, items, taken = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((items, turn, block))
    block, turn, items, taken = (column[order] for column in (block, turn, items, taken))
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (np.diff(block) != 0) | (np.diff(turn) != 0)
    return Groups(items, np.cumsum(is_new) - 1, taken, block[is_new])


def _side_by_side(blocks: Sequence[Integers]) -> Iterator[tuple[int, Sequence[Integers]]]:
    """Blocks in turns, each with the number of its first one."""
    first = 0
    while first < len(blocks):
        end, longest = first, 0
        while end < len(blocks):
            longest = max(longest, len(blocks[end]))
            if end > first and (end + 1 - first) * longest > _CELLS:
                break
            end += 1
        yield first, blocks[first:end]
        first = end


class _Search:
    """The tuples of some blocks that are left, beside each other; some that are gone may be among them."""

    def __init__(
        self, places: Places, rows: Integers, blocks: Sequence[Integers], people: Incidence | None
    ) -> None:
        self._names = np.full((len(blocks), max(map(len, blocks))), -1)
        """By block: its tuples; -1 where there are no more."""
        for number, items in enumerate(blocks):
            self._names[number, : len(items)] = items
        self._left = np.where(self._names < 0, 0, rows[self._names])
        self._points = places.lines[:, self._names]
        self._steps = places.squared_steps
        self._nodes = _numbered_by_block(places.levels, blocks, self._names)
        """Of each level of trees, by block and tuple."""
        self._places = np.where(self._names < 0, -1, np.arange(self._names.shape[1]))
        self._crowd: Crowd = (
            Rows(self._left) if people is None else People(self._left, in_blocks(people, blocks, len(rows)))
        )
        self._totals = (self._points * self._left).sum(axis=2)
        self._below = np.zeros(self._nodes.shape, np.int64)
        """How many rows are left below each node."""
        here = np.arange(len(blocks))[:, np.newaxis]
        for nodes, below in zip(self._nodes, self._below, strict=True):
            np.add.at(below, (here, nodes), self._left)
        self._counts = self._left.sum(axis=1)
        self._turn = 0
        self._found: list[tuple[Integers, Integers, Integers, Integers]] = []

    def groups(self, k: int) -> list[tuple[Integers, Integers, Integers, Integers]]:
        """All groups, in pieces: for each tuple in one its block, the group's turn, the tuple, its rows."""
        while len(blocks := np.flatnonzero(self._crowd.people >= 3 * k)):
            distances = self._distances(blocks, self._farthest(blocks, self._from_centre(blocks)))
            self._around(blocks, distances, k)
            still = np.flatnonzero(self._crowd.people[blocks] >= k)
            far = self._farthest(blocks[still], distances[still])
            self._around(blocks[still], self._distances(blocks[still], far), k)
            self._compact()
        blocks = np.flatnonzero(self._crowd.people >= 2 * k)
        far = self._farthest(blocks, self._from_centre(blocks))
        self._around(blocks, self._distances(blocks, far), k)
        self._note(np.arange(len(self._left)), self._left)
        return self._found

    def _from_centre(self, blocks: Integers) -> Integers:
        """Rows times the squared distance from the centre, but for a part that all tuples have."""
        scores = np.zeros((len(blocks), self._names.shape[1]), np.int64)
        counts = self._counts[blocks, np.newaxis]
        for points, totals in zip(self._points, self._totals, strict=True):
            held = points[blocks]
            scores += (counts * held - 2 * totals[blocks, np.newaxis]) * held
        # The centre lies on the axis of each node as far as the share of the rows that are below it.
        for steps, nodes, below in zip(self._steps, self._nodes, self._below, strict=True):
            scores -= steps * np.take_along_axis(below[blocks], nodes[blocks], axis=1)
        return scores

    def _distances(self, blocks: Integers, from_: Integers) -> Integers:
        """By block and tuple the squared distance from one of them in each block."""
        distances = np.zeros((len(blocks), self._names.shape[1]), np.int64)
        for points in self._points:
            apart = points[blocks] - points[blocks, from_][:, np.newaxis]
            apart *= apart
            distances += apart
        for steps, nodes in zip(self._steps, self._nodes, strict=True):
            distances += steps * (nodes[blocks] != nodes[blocks, from_][:, np.newaxis])
        return distances

    def _farthest(self, blocks: Integers, distances: Integers) -> Integers:
        """The tuple of each block that is farthest, of those that are left."""
        far: Integers = np.where(self._left[blocks] > 0, distances, -_NONE).argmax(axis=1)
        return far

    def _around(self, blocks: Integers, distances: Integers, k: int) -> None:
        if not len(blocks):
            return
        size = distances.shape[1]
        keys = np.where(self._left[blocks] > 0, distances * size + np.arange(size), _NONE)
        taken = self._crowd.take(blocks, self._places[blocks], keys, k)
        self._left[blocks] -= taken
        self._counts[blocks] -= taken.sum(axis=1)
        which, places = np.nonzero(taken)
        for points, totals in zip(self._points, self._totals, strict=True):
            np.subtract.at(totals, blocks[which], points[blocks[which], places] * taken[which, places])
        for nodes, below in zip(self._nodes, self._below, strict=True):
            np.subtract.at(below, (blocks[which], nodes[blocks[which], places]), taken[which, places])
        self._note(blocks, taken)

    def _note(self, blocks: Integers, taken: Integers) -> None:
        which, places = np.nonzero(taken)
        of = blocks[which]
        turns = np.full(len(of), self._turn)
        self._found.append((of, turns, self._names[of, places], taken[which, places]))
        self._turn += 1

    def _compact(self) -> None:
        """Go on without tuples that are gone from all blocks, where there are enough of them."""
        size = max(1, int(np.count_nonzero(self._left, axis=1).max()))  # the last one stays, though gone
        if (self._names.shape[1] - size) * _COMPACT_AT < self._names.shape[1]:
            return
        kept = np.argsort(self._left == 0, axis=1, kind="stable")[:, :size]
        self._names, self._left, self._places = (
            np.take_along_axis(each, kept, axis=1) for each in (self._names, self._left, self._places)
        )
        self._points = np.take_along_axis(self._points, kept[np.newaxis], axis=2)
        self._nodes = np.take_along_axis(self._nodes, kept[np.newaxis], axis=2)


def _numbered_by_block(levels: Integers, blocks: Sequence[Integers], names: Integers) -> NDArray[np.int32]:
    """Of each level, by block and tuple, the node; numbered from 0 in each block."""
    numbered = np.zeros((len(levels), *names.shape), np.int32)
    for nodes, level in zip(numbered, levels, strict=True):
        for number, items in enumerate(blocks):
            nodes[number, : len(items)] = np.unique(level[items], return_inverse=True)[1].reshape(-1)
    return numbered


def in_blocks(people: Incidence, blocks: Sequence[Integers], tuples: int) -> list[Incidence]:
    """By block, who is in which of its tuples, by their places; people are numbered from 0 in each."""
    block_of, place_of = np.full(tuples, -1), np.zeros(tuples, np.int64)
    for number, items in enumerate(blocks):
        block_of[items], place_of[items] = number, np.arange(len(items))
    of_pair = block_of[people.tuples]
    held = []
    for number in range(len(blocks)):
        here = of_pair == number
        _, who = np.unique(people.items[here], return_inverse=True)
        held.append(Incidence(place_of[people.tuples[here]], who.reshape(-1).astype(np.int64)))
    return held
