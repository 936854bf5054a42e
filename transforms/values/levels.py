"""The levels of one attribute: which values become one at each of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smalti.transforms.problem import Integers


class UnevenLevelsError(ValueError):
    """Two values that are one at some level are two at a higher one, or a level has gaps in its numbers."""


@dataclass(frozen=True)
class Levels:
    """The values of an attribute at each level of its hierarchy.

    Contract:
        Level 0 has each value by itself; each further level merges values of the one below, dividing none.
    """

    values: tuple[Integers, ...]
    """By level, by code: the number of the value that stands for it there, from 0 without gaps."""

    def __post_init__(self) -> None:
        """Raises UnevenLevelsError: the levels do not build on each other."""
        if not self.values or not np.array_equal(self.values[0], np.arange(len(self.values[0]))):
            raise UnevenLevelsError
        for lower, upper in zip(self.values, self.values[1:], strict=False):
            if len(upper) != len(lower) or len(np.unique(upper)) != int(upper.max(initial=-1)) + 1:
                raise UnevenLevelsError
            if not np.array_equal(between(lower, upper)[lower], upper):
                raise UnevenLevelsError

    @classmethod
    def all_or_nothing(cls, codes: int) -> "Levels":
        """Of an attribute without a hierarchy: each value by itself, or one for all.

        Args:
            codes: how many codes there are.
        """
        return cls((np.arange(codes), np.zeros(codes, np.int64)))

    @property
    def height(self) -> int:
        """How many levels there are."""
        return len(self.values)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """By level how many values there are."""
        return tuple(int(values.max(initial=-1)) + 1 for values in self.values)

    @cached_property
    def _steps(self) -> dict[tuple[int, int], Integers]:
        return {}

    def step(self, lower: int, upper: int) -> Integers:
        """By value of one level the value of a higher one."""
        if (lower, upper) not in self._steps:
            self._steps[lower, upper] = between(self.values[lower], self.values[upper])
        return self._steps[lower, upper]


def between(lower: Integers, upper: Integers) -> Integers:
    """By number of a level the number above it; both levels are given by value."""
    step = np.zeros(int(lower.max(initial=-1)) + 1, np.int64)
    step[lower] = upper
    return step
