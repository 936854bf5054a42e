"""Large whole numbers as digits of 24 bits, which an engine adds up without overflow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

_BITS: Final = 24
"""Of a digit: sums over 2^39 rows stay within 63."""
_MASK: Final = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class Digits:
    """A column of numbers between public bounds, taken apart into columns of less than 2^24 each.

    How many columns there are comes from the bounds alone. Each number is counted from the least one.
    """

    name: str
    least: int
    most: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, the lowest bits first; at least one."""
        count = -(-max((self.most - self.least).bit_length(), 1) // _BITS)
        return tuple(f"{self.name}{i}" for i in range(count))

    def split(self, numbers: Sequence[int]) -> dict[str, pa.Array]:
        """The columns of some numbers, within the bounds."""
        above = [number - self.least for number in numbers]
        return {
            name: pa.array([number >> _BITS * i & _MASK for number in above], pa.int64())
            for i, name in enumerate(self.columns)
        }

    def total(self, sums: Mapping[str, int], rows: int) -> int:
        """The sum of numbers from the sums of their columns.

        >>> digits = Digits("s", -5, 1 << 40)
        >>> columns = digits.split([-5, 1 << 40, 7])
        >>> digits.total({name: sum(column.to_pylist()) for name, column in columns.items()}, rows=3)
        1099511627778
        """
        return sum(sums[name] << _BITS * i for i, name in enumerate(self.columns)) + rows * self.least
