"""A search that changes groups of tuples as long as that loses less: local search of limited effort.

Each change is one of three: a tuple moves to another group or becomes one, two tuples of different groups
change places, or a group is given up and its tuples join others (a merge, where all join the same one).
Changes of one kind that concern different groups are made together, those that gain most first, ties by the
numbers of tuples. What a change gains is a whole number, and the effort is limited by counts of rounds and
of questions, never by a clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from smalti.transforms.improving.block import Block, Groups
from smalti.transforms.problem import Integers

ROUNDS: Final = 256
"""Of changes, at most, for one block."""
_ASKED: Final = 64
"""Changes of one round that may be asked about."""
_GIVEN_UP: Final = 8
"""Groups of one round that are tried to be given up."""
_NEVER: Final = np.iinfo(np.int64).min


def improved(block: Block, groups: Groups) -> Groups:
    """Groups that lose no more than these, and that meet what groups must.

    Args:
        block: the tuples.
        groups: of all of them; each meets what groups must.
    """
    state = _State(block, groups)
    kinds: tuple[Callable[[], bool], ...] = (state.move, state.swap, state.give_up)
    for _ in range(ROUNDS):
        if not any(change() for change in kinds):
            break
    return state.groups


@dataclass(frozen=True, slots=True)
class _Change:
    """Some groups, and what becomes of each."""

    numbers: tuple[int, ...]
    groups: tuple[Integers, ...]
    """An empty one is none any more."""
    tuples: tuple[int, ...] = ()
    """What moves, or changes places; none where a group is given up."""


class _State:
    """Groups, and by tuple and group what a move would cost; all of it follows from the groups."""

    def __init__(self, block: Block, groups: Groups) -> None:
        self._block = block
        # The last place is for a tuple that becomes a group.
        count = len(groups) + 1
        self._groups = [*groups, np.empty(0, np.int64)]
        self._owner = np.zeros(block.size, np.int64)
        self._without = np.zeros(block.size, np.int64)
        """By tuple: the penalty of its group without it."""
        self._rows = np.zeros(count, np.int64)
        self._penalties = np.zeros(count, np.int64)
        self._joined = np.zeros((count, block.size), np.int64)
        """By group and tuple: the penalty of the group with it."""
        self._swapped: Integers | None = None
        """By tuple and other tuple: the penalty of the first one's group with the other in its place."""
        self._is_refused = np.zeros((count, block.size), np.bool_)
        """By group and tuple: the move was asked about, and not allowed."""
        self._are_refused = np.zeros((block.size, block.size), np.bool_)
        """By two tuples: the same of the swap."""
        self._look_at(range(count))

    @property
    def groups(self) -> Groups:
        """Those that are not empty."""
        return [group for group in self._groups if len(group)]

    # --- The three kinds of changes

    def move(self) -> bool:
        """Move tuples to other groups; says whether there may be more to gain."""
        gains = self._gains_of_moves()
        target = np.argmax(gains, axis=0)
        best = gains[target, np.arange(self._block.size)]
        changes = []
        for tuple_ in self._most(best):
            home, number = int(self._owner[tuple_]), int(target[tuple_])
            joined = np.append(self._groups[number], tuple_)
            changes.append(_Change((home, number), (self._without_one(tuple_), joined), (tuple_,)))
        return self._applied(changes)

    def swap(self) -> bool:
        """Let tuples change places; says whether there may be more to gain."""
        gains = self._gains_of_swaps()
        other = np.argmax(gains, axis=1)
        best = gains[np.arange(self._block.size), other]
        changes = []
        for tuple_ in self._most(best):
            pair = (tuple_, int(other[tuple_]))
            homes = (int(self._owner[pair[0]]), int(self._owner[pair[1]]))
            first, second = (self._without_one(tuple_) for tuple_ in pair)
            groups = np.append(first, pair[1]), np.append(second, pair[0])
            changes.append(_Change(homes, groups, pair))
        return self._applied(changes)

    def give_up(self) -> bool:
        """Divide a group between others; says whether any was."""
        gains = self._gains_of_moves(is_free=True)[:-1].max(axis=0, initial=_NEVER)
        is_open = gains > _NEVER
        cost = np.where(is_open, -gains, 0)
        # To each tuple what it adds elsewhere; what its group loses by it is counted once, for all.
        added = cost + self._gain_of_leaving()
        hopes = np.full(len(self._groups), _NEVER)
        for number, group in enumerate(self._groups):
            if len(group) and is_open[group].all():
                hopes[number] = self._rows[number] * self._penalties[number] - added[group].sum()
        order = np.argsort(-hopes, kind="stable")[:_GIVEN_UP]
        return any(self._applied([self._divided(number)]) for number in order[hopes[order] > 0].tolist())

    # --- What they gain

    def _gain_of_leaving(self) -> Integers:
        """By tuple: what its group loses less without it."""
        rows, home = self._block.rows, self._owner
        return self._rows[home] * self._penalties[home] - (self._rows[home] - rows) * self._without

    def _gains_of_moves(self, *, is_free: bool = False) -> Integers:
        """By group and tuple, where it may move there.

        Args:
            is_free: whatever becomes of the group that it leaves.
        """
        rows, home, block = self._block.rows, self._owner, self._block
        added = (self._rows[:, None] + rows) * self._joined - (self._rows * self._penalties)[:, None]
        gains = self._gain_of_leaving() - added
        gains[home, np.arange(block.size)] = _NEVER
        gains[:-1][self._rows[:-1] == 0] = _NEVER
        gains[-1][~block.are_enough] = _NEVER
        if not is_free:
            left = self._rows[home] - rows
            gains[:, (left > 0) & (left < block.fewest)] = _NEVER
            gains[self._is_refused] = _NEVER
        return gains

    def _gains_of_swaps(self) -> Integers:
        """By two tuples, where they may change places; the same for both orders."""
        block, home = self._block, self._owner
        swapped = self._swapped
        if swapped is None:
            swapped = self._swapped = np.zeros((block.size, block.size), np.int64)
            self._look_at_swaps(range(len(self._groups)))
        rows = self._rows[home]
        after = rows[:, None] - block.rows[:, None] + block.rows
        lost = after * swapped
        before = rows * self._penalties[home]
        gains: Integers = before[:, None] + before - lost - lost.T
        fits = after >= block.fewest
        gains[~(fits & fits.T) | (home[:, None] == home) | self._are_refused] = _NEVER
        return gains

    def _most(self, gains: Integers) -> list[int]:
        """The tuples whose change gains something, those that gain most first, of different groups."""
        some = np.flatnonzero(gains > 0)
        tuples: list[int] = some[np.argsort(-gains[some], kind="stable")].tolist()
        return tuples

    def _divided(self, number: int) -> _Change:
        """One group without tuples, and others that these join, one by one, where they add least."""
        block = self._block
        groups = {number: np.empty(0, np.int64)}
        rows, penalties = self._rows.copy(), self._penalties.copy()
        joined: dict[int, Integers] = {}
        for tuple_ in np.sort(self._groups[number]).tolist():
            column = self._joined[:, tuple_].copy()
            for changed, charged in joined.items():
                column[changed] = charged[tuple_]
            added = (rows + block.rows[tuple_]) * column - rows * penalties
            added[(rows == 0) | (np.arange(len(rows)) == number)] = np.iinfo(np.int64).max
            chosen = int(np.argmin(added))
            groups[chosen] = np.append(groups.get(chosen, self._groups[chosen]), tuple_)
            rows[chosen] += block.rows[tuple_]
            penalties[chosen] = column[chosen]
            joined[chosen] = block.charges.with_each(groups[chosen])
        return _Change(tuple(groups), tuple(groups.values()))

    # --- Making them

    def _applied(self, changes: Sequence[_Change]) -> bool:
        """Make those changes that gain something and are allowed; of several about one group the first.

        Returns:
            Whether any was made, or will not be asked about again before one of its groups changes.
        """
        taken: set[int] = set()
        chosen: list[_Change] = []
        for change in changes:
            if len(chosen) < _ASKED and taken.isdisjoint(change.numbers) and self._gains(change):
                chosen.append(change)
                taken.update(change.numbers)
        asked = [group for change in chosen for group in change.groups if len(group)]
        answers = self._block.meets(asked).tolist() if asked else []
        is_progress = False
        for change in chosen:
            count = sum(len(group) > 0 for group in change.groups)
            is_allowed = all(answers[:count])
            del answers[:count]
            if is_allowed:
                self._make(change)
            elif change.tuples:
                self._refuse(change)
            is_progress |= is_allowed or bool(change.tuples)
        return is_progress

    def _refuse(self, change: _Change) -> None:
        match change.tuples:
            case (tuple_,):
                self._is_refused[change.numbers[1], tuple_] = True
            case (one, other):
                self._are_refused[one, other] = self._are_refused[other, one] = True

    def _without_one(self, tuple_: int) -> Integers:
        """What is left of a tuple's group."""
        group = self._groups[int(self._owner[tuple_])]
        rest: Integers = group[group != tuple_]
        return rest

    def _gains(self, change: _Change) -> bool:
        block = self._block
        before = sum(int(self._rows[number]) * int(self._penalties[number]) for number in change.numbers)
        return block.loss([group for group in change.groups if len(group)]) < before

    def _make(self, change: _Change) -> None:
        for number, group in zip(change.numbers, change.groups, strict=True):
            self._groups[number] = group
        if len(self._groups[-1]):
            self._groups.append(np.empty(0, np.int64))
            self._rows, self._penalties = np.append(self._rows, 0), np.append(self._penalties, 0)
            self._joined = np.vstack((self._joined, np.zeros_like(self._joined[:1])))
            self._is_refused = np.vstack((self._is_refused, np.zeros_like(self._is_refused[:1])))
        self._look_at(change.numbers)
        if self._swapped is not None:
            self._look_at_swaps(change.numbers)

    def _look_at(self, numbers: Sequence[int]) -> None:
        """Find out about groups what moves need."""
        block = self._block
        for number in numbers:
            group = self._groups[number]
            self._is_refused[number] = False
            self._rows[number] = block.rows[group].sum()
            self._penalties[number] = 0
            if len(group):
                self._owner[group] = number
                self._joined[number] = block.charges.with_each(group)
                self._penalties[number] = self._joined[number, group[0]]
                self._without[group] = block.charges.without_each(group)
                self._is_refused[:, group] = False
                self._are_refused[group] = self._are_refused[:, group] = False

    def _look_at_swaps(self, numbers: Sequence[int]) -> None:
        if self._swapped is None:
            return
        for number in numbers:
            group = self._groups[number]
            for tuple_ in group.tolist():
                rest = group[group != tuple_]
                self._swapped[tuple_] = self._block.charges.with_each(rest) if len(rest) else 0
