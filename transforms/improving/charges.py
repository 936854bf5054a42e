"""What groups of a few tuples are charged for: as they are, with each other tuple, without each of theirs.

A penalty here is what `smalti.transforms.values.metrics` charges a class for each of its rows, added up
over all attributes: a whole number, so that it decides the same on each machine.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from smalti.transforms.problem import (
    SCALE,
    Attribute,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    UnorderedAttribute,
)
from smalti.transforms.values.metrics import attribute_penalties


class Charges:
    """The penalties of groups of tuples, each group the ascending or unordered numbers of its tuples."""

    def __init__(self, codes: Integers, attributes: tuple[Attribute, ...]) -> None:
        """Prepare a few tuples.

        Args:
            codes: shape (tuples, attributes).
            attributes: in the order of the columns of `codes`.
        """
        self._columns = tuple(_column(attribute, codes[:, i]) for i, attribute in enumerate(attributes))

    def of(self, group: Integers) -> int:
        """The penalty of a group, which is not empty."""
        return int(self.with_each(group)[group[0]])

    def with_each(self, group: Integers) -> Integers:
        """By tuple: the penalty of a group together with it; of a member, that of the group."""
        penalties: Integers = np.sum([column.with_each(group) for column in self._columns], axis=0)
        return penalties

    def without_each(self, group: Integers) -> Integers:
        """By member: the penalty of a group without it; 0 where nothing is left."""
        if len(group) == 1:
            return np.zeros(1, np.int64)
        penalties: Integers = np.sum([column.without_each(group) for column in self._columns], axis=0)
        return penalties


class _Column(ABC):
    """The same of one attribute."""

    @abstractmethod
    def with_each(self, group: Integers) -> Integers: ...

    @abstractmethod
    def without_each(self, group: Integers) -> Integers:
        """Of a group of two members at least."""


@dataclass(frozen=True, slots=True)
class _OnALine(_Column):
    positions: Integers

    def with_each(self, group: Integers) -> Integers:
        own = self.positions[group]
        reach = np.maximum(self.positions, own.max()) - np.minimum(self.positions, own.min())
        penalties: Integers = np.minimum(reach, SCALE)
        return penalties

    def without_each(self, group: Integers) -> Integers:
        own = self.positions[group]
        in_order = np.sort(own)
        low = np.where(own == in_order[0], in_order[1], in_order[0])
        high = np.where(own == in_order[-1], in_order[-2], in_order[-1])
        penalties: Integers = np.minimum(high - low, SCALE)
        return penalties


@dataclass(frozen=True, slots=True)
class _InSets(_Column):
    attribute: UnorderedAttribute
    codes: Integers
    """Numbered without gaps."""
    count: int

    def with_each(self, group: Integers) -> Integers:
        is_held = np.zeros(self.count, np.bool_)
        is_held[self.codes[group]] = True
        return self.attribute.penalty(np.count_nonzero(is_held) + ~is_held[self.codes])

    def without_each(self, group: Integers) -> Integers:
        own = self.codes[group]
        holders = np.bincount(own, minlength=self.count)
        return self.attribute.penalty(np.count_nonzero(holders) - (holders[own] == 1))


@dataclass(frozen=True, slots=True)
class _InATree(_Column):
    attribute: HierarchicalAttribute
    codes: Integers

    def with_each(self, group: Integers) -> Integers:
        count = len(self.codes)
        codes = np.concatenate((np.tile(self.codes[group], count), self.codes))
        classes = np.concatenate((np.repeat(np.arange(count), len(group)), np.arange(count)))
        return attribute_penalties(self.attribute, codes, classes)

    def without_each(self, group: Integers) -> Integers:
        count = len(group)
        is_left = ~np.eye(count, dtype=np.bool_)
        codes = np.broadcast_to(self.codes[group], (count, count))[is_left]
        return attribute_penalties(self.attribute, codes, np.repeat(np.arange(count), count - 1))


def _column(attribute: Attribute, codes: Integers) -> _Column:
    if isinstance(attribute, OrderedAttribute):
        return _OnALine(attribute.positions[codes])
    if isinstance(attribute, HierarchicalAttribute):
        return _InATree(attribute, codes)
    present, numbers = np.unique(codes, return_inverse=True)
    return _InSets(attribute, numbers.reshape(-1), len(present))
