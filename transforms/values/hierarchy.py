"""A hierarchy of one column's values: by level the number of each value and the label of each number.

A hierarchy is stated by *ladders*: columns of texts, the values first, then their labels of level 1, 2 and
so on. What they must be is checked for all values that are stated, before any of a table is looked up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.transforms.problem import Integers
from smalti.transforms.values.levels import Levels, between

Ladders = tuple[pa.Array, ...]
"""By level the label of each value, as large strings without nulls; level 0 has the values."""

_TEXT: Final = pa.large_string()


@dataclass(frozen=True, slots=True)
class HierarchyProblem:
    """What is wrong with a hierarchy; counts of values, and never a value."""

    problem: str
    expected: str
    way_out: str


class HierarchyError(ValueError):
    """Ladders that are no hierarchy; all problems at once."""

    def __init__(self, problems: Sequence[HierarchyProblem]) -> None:
        super().__init__("no hierarchy")
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The values of one column in the order of the tree, and what stands for them at each level.

    Contract:
        Codes are numbered so that values of a node stand side by side. Code 0 is the missing value: a
        node of its own at each level below the last, whose label above level 0 is the root's.
    """

    levels: Levels
    labels: tuple[pa.Array, ...]
    """By level, by number: its label, as large strings; null for the missing value at level 0."""

    @property
    def nodes(self) -> Integers:
        """Shape (levels, codes): the number of each code at each level."""
        return np.stack(self.levels.values)

    @property
    def root(self) -> str:
        """The label of the last level, which stands for every value and a missing one."""
        return str(self.labels[-1][0].as_py())


def ladders_of(rows: Sequence[Sequence[str]]) -> Ladders:
    """Ladders from a row for each value, all of one length."""
    return tuple(pa.array(column, _TEXT) for column in zip(*rows, strict=True))


def check_ladders(ladders: Ladders) -> None:
    """Check that ladders are a hierarchy: one root, consistent levels, and labels that say their set.

    Raises:
        HierarchyError: they are none.
    """
    problems = list(_problems(ladders)) if ladders and len(ladders[0]) else [_EMPTY]
    if problems:
        raise HierarchyError(problems)


_EMPTY: Final = HierarchyProblem(
    "it states no value", "each value with its labels", "list the values of the column"
)


def _problems(ladders: Ladders) -> list[HierarchyProblem]:
    problems: list[HierarchyProblem] = []
    encoded = [column.dictionary_encode() for column in ladders]
    numbers = [column.indices.to_numpy().astype(np.int64) for column in encoded]
    blank = sum(int(pc.sum(pc.equal(column, "")).as_py() or 0) for column in ladders)
    if blank:
        problems.append(
            HierarchyProblem(
                f"{blank} values or labels are empty",
                "a text for each; missing values belong to the root without being listed",
                "complete or remove them",
            )
        )
    repeated = len(numbers[0]) - len(encoded[0].dictionary)
    if repeated:
        problems.append(
            HierarchyProblem(f"{repeated} values are repeated", "each value once", "remove the repetitions")
        )
    roots = len(encoded[-1].dictionary)
    if roots > 1 or len(ladders) < 2:
        problems.append(
            HierarchyProblem(
                f"its last level has {roots} labels"
                if len(ladders) > 1
                else "it has no level above its values",
                "one root, such as `*`",
                "add a level with one label for all values",
            )
        )
    divided = [_divided(lower, upper) for lower, upper in pairwise(numbers)]
    problems.extend(
        HierarchyProblem(
            f"{count} labels of level {level} belong to several labels of level {level + 1}",
            "values that are one at a level to stay one above it",
            "give them other labels, or correct the level above",
        )
        for level, count in enumerate(divided)
        if count and level
    )
    if not repeated and not any(divided):
        ambiguous = _ambiguous(encoded, numbers)
        if ambiguous:
            problems.append(
                HierarchyProblem(
                    f"{ambiguous} labels stand for several different sets of values",
                    "labels that say which values they stand for",
                    "give each set a label of its own",
                )
            )
    return problems


def _divided(lower: Integers, upper: Integers) -> int:
    """How many numbers of a level have several numbers above."""
    pairs = np.unique(np.stack((lower, upper)), axis=1)
    return int(np.count_nonzero(np.bincount(pairs[0]) > 1))


def _ambiguous(encoded: Sequence[pa.DictionaryArray], numbers: Sequence[Integers]) -> int:
    """How many labels stand for different sets of values at different levels."""
    sizes = [np.bincount(level) for level in numbers]
    places: dict[str, tuple[int, int]] = {}
    ambiguous = set()
    for level, column in enumerate(encoded):
        for number, label in enumerate(column.dictionary.to_pylist()):
            if label in places:
                below, lower = places[label]
                above = between(numbers[below], numbers[level])[lower] if below < level else lower
                if above != number or sizes[below][lower] != sizes[level][number]:
                    ambiguous.add(label)
            else:
                places[label] = level, number
    return len(ambiguous)


def uncovered(count: int) -> HierarchyProblem:
    """The problem that so many values of the column have no place."""
    counted = "1 value of the column has" if count == 1 else f"{count} values of the column have"
    return HierarchyProblem(
        f"{counted} no place in it",
        "a place for each value of the column",
        "add them to the hierarchy, or correct the data",
    )


@dataclass(frozen=True, slots=True)
class Bound:
    """A hierarchy of a column's values, and the code of each."""

    hierarchy: Hierarchy
    order: Integers
    """By code, from 1: the index of its value among those that were bound."""


def bind_hierarchy(ladders: Ladders, ranks: Integers | None = None) -> Bound:
    """The hierarchy of a table's values.

    Children stand in the order of their least value.

    Args:
        ladders: of each distinct value, of a checked hierarchy; values in their order.
        ranks: by value its place in the order of values; None: as they stand.
    """
    count = len(ladders[0])
    ranks = np.arange(count) if ranks is None else ranks
    keys = [ranks]
    inverse = []
    for column in ladders[1:-1]:
        numbers = column.dictionary_encode().indices.to_numpy().astype(np.int64)
        least = np.full(int(numbers.max(initial=-1)) + 1, count, np.int64)
        np.minimum.at(least, numbers, ranks)
        keys.append(least[numbers])
        inverse.append(numbers)
    order = np.lexsort(keys)
    values: list[Integers] = [np.arange(count + 1)]
    labels = [pa.concat_arrays([pa.nulls(1, _TEXT), ladders[0].take(pa.array(order))])]
    root = ladders[-1][:1] if count else pa.array(["*"], _TEXT)
    for column, numbers in zip(ladders[1:-1], inverse, strict=True):
        ordered = numbers[order]
        is_new = np.diff(ordered, prepend=-1) != 0
        values.append(np.concatenate(([0], np.cumsum(is_new))))
        labels.append(pa.concat_arrays([root, column.take(pa.array(order[is_new]))]))
    values.append(np.zeros(count + 1, np.int64))
    labels.append(root)
    return Bound(Hierarchy(Levels(tuple(values)), tuple(labels)), order)


def looked_up(ladders: Ladders, places: Integers) -> Ladders:
    """The ladders of some of the values.

    Args:
        ladders: of all values.
        places: of the wanted ones.
    """
    wanted = pa.array(places)
    return tuple(column.take(wanted) for column in ladders)


def label_sets(ladders: Ladders) -> Mapping[str, frozenset[str]]:
    """By label the values that it stands for; for small hierarchies and tests."""
    sets: dict[str, set[str]] = {}
    values = ladders[0].to_pylist()
    for column in ladders:
        for value, label in zip(values, column.to_pylist(), strict=True):
            sets.setdefault(label, set()).add(value)
    return {label: frozenset(members) for label, members in sets.items()}
