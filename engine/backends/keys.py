"""Combinations of codes packed into keys of 64 bits, which are quick to group and join by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_LARGEST: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Packing:
    """How columns of numbers are packed into as few 64-bit keys as they fit.

    The last column of a key changes fastest. Each number is at least 0 and below its column's size.
    """

    groups: tuple[tuple[tuple[str, int], ...], ...]
    """For each key its columns, in SQL, with their sizes."""

    @classmethod
    def of(cls, columns: Sequence[tuple[str, int]]) -> "Packing":
        """Pack columns, in their order."""
        groups: list[tuple[tuple[str, int], ...]] = []
        width = _LARGEST
        for column, size in columns:
            if not groups or width * size > _LARGEST:
                groups.append(())
                width = 1
            groups[-1] = (*groups[-1], (column, size))
            width *= size
        return cls(tuple(groups))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"k{i}" for i in range(len(self.groups)))

    @property
    def select(self) -> str:
        """The keys as columns `k0`, `k1`, ... of a query."""
        return ", ".join(
            f"{_packed(group)} AS {k}" for group, k in zip(self.groups, self.names, strict=True)
        )

    @property
    def expressions(self) -> str:
        """The keys, for `GROUP BY`."""
        return ", ".join(_packed(group) for group in self.groups)

    def joined(self, relation: str) -> str:
        """A condition: the keys are those of a relation that has them as `k0`, `k1`, ..."""
        return " AND ".join(
            f"{_packed(group)} = {relation}.{k}" for group, k in zip(self.groups, self.names, strict=True)
        )

    def packed(self, codes: Sequence[Integers]) -> pa.Table:
        """The keys of columns of numbers."""
        keys, position = [], 0
        for group in self.groups:
            key = np.zeros(len(codes[0]), np.int64)
            for _, size in group:
                key = key * size + codes[position]
                position += 1
            keys.append(pa.array(key))
        return pa.table(keys, names=list(self.names))


def _packed(group: tuple[tuple[str, int], ...]) -> str:
    (column, _), *others = group
    expression = f"CAST({column} AS BIGINT)"
    for column, size in others:
        expression = f"({expression} * {size} + {column})"
    return expression


@dataclass(frozen=True, slots=True)
class Keys:
    """Distinct keys, each with its place in the order in which they were given."""

    packing: Packing
    keys: tuple[Integers, ...]

    @classmethod
    def of(cls, packing: Packing, table: pa.Table) -> "Keys":
        """The keys of a table that has them as `k0`, `k1`, ..., each combination once."""
        return cls(packing, tuple(table.column(k).to_numpy().astype(np.int64) for k in packing.names))

    def unpacked(self) -> list[Integers]:
        """The packed columns, in their order."""
        columns: list[Integers] = []
        for key, group in zip(self.keys, self.packing.groups, strict=True):
            rest, numbers = key, []
            for _, size in reversed(group[1:]):
                rest, number = np.divmod(rest, size)
                numbers.append(number)
            columns += [rest, *reversed(numbers)]
        return columns

    def places_of(self, table: pa.Table) -> Integers:
        """For each row of a table in which all of these keys occur, the place of its keys."""
        here, there = self.keys, Keys.of(self.packing, table).keys
        if len(here) > 1:
            numbers = [
                np.unique(np.concatenate(both), return_inverse=True)[1]
                for both in zip(here, there, strict=True)
            ]
            packed = Packing.of([("", int(number.max(initial=0)) + 1) for number in numbers])
            if len(packed.groups) > 1:
                raise OverflowError("too many keys to hold in memory")
            joined = packed.packed(numbers).column("k0").to_numpy()
            here, there = (joined[: len(here[0])],), (joined[len(here[0]) :],)
        order = np.argsort(here[0])
        places: Integers = order[np.unique(there[0], return_inverse=True)[1]]
        return places
