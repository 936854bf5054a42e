"""How well sets of columns tell respondents apart, counted exactly.

A *combination* is what a row holds in the columns of a set; a missing value is a value of its own. A
*fact* is a pair of a combination and a respondent that has it, each pair once. Where each row is about
another person, facts are rows, and all measures are those of Motwani and Xu, "Efficient algorithms for
masking and finding quasi-identifiers" (2007), section 1.1:

- *distinction* (their distinct ratio): the share of combinations among facts. So many facts can stay if
  of each combination one stays, and then the set is a key.
- *separation* (their separation ratio): of the pairs of facts about different respondents, the share
  whose combinations differ.

A set is *unique* where no two respondents share a combination, and *minimal* if no part of it is unique.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, fsum
from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_TABLE_PER_ROW: Final = 16
"""Keys are numbered by a table of all possible ones where it has at most so many entries for each row."""


@dataclass(frozen=True, slots=True)
class People:
    """Rows of people: columns as numbers from 0, each below `sizes`, and the respondent of each row."""

    columns: tuple[Integers, ...]
    sizes: tuple[int, ...]
    respondents: Integers | None
    """By row, from 0, without gaps, best in ascending order; None where each row is another respondent."""
    rows: int

    @property
    def respondent_count(self) -> int:
        if self.respondents is None:
            return self.rows
        return int(self.respondents.max()) + 1 if self.rows else 0


@dataclass(frozen=True, slots=True)
class SetFigures:
    """What a set of columns tells of respondents."""

    columns: tuple[int, ...]
    """Ascending."""
    facts: int
    combinations: int
    respondents: int
    unique: int
    """Respondents with a combination that no other respondent has."""
    at_risk: int
    """Respondents with a combination that fewer respondents have than the threshold permits."""
    fewest: int
    """Respondents who share the rarest combination."""
    alike: int
    """Pairs of facts about different respondents with the same combination."""
    pairs: int
    """Pairs of facts about different respondents."""
    average_risk: float
    """The mean over respondents of 1 / (those who share the rarest combination that this one has)."""
    by_size: tuple[tuple[int, int], ...] = ()
    """How many combinations so many respondents share; empty where nobody asked."""

    @property
    def is_unique(self) -> bool:
        return self.alike == 0

    @property
    def unique_share(self) -> float:
        return self.unique / self.respondents

    @property
    def distinction(self) -> float:
        return self.combinations / self.facts

    @property
    def separation(self) -> float:
        """1 where there are no two respondents."""
        return 1 - self.alike / self.pairs if self.pairs else 1.0


def number_of_sets(columns: int, size: int) -> int:
    """How many sets of at most so many columns there are."""
    return sum(comb(columns, count) for count in range(1, min(size, columns) + 1))


def every_set(people: People, size: int, threshold: Fraction) -> Iterator[SetFigures]:
    """The figures of each set of at most `size` columns, in the order of their columns.

    Args:
        people: at least one row.
        size: at least 1.
        threshold: the risk that is still accepted, above 0 and below 1.
    """
    yield from _below(people, _Group(np.zeros(people.rows, np.int64), 1), (), size, threshold)


def set_figures(people: People, columns: Sequence[int], threshold: Fraction) -> SetFigures:
    """The figures of a set of columns, with the sizes of its combinations."""
    group = combined(people, columns)
    return _figures(people, tuple(sorted(columns)), group.numbers, group.size, threshold, by_size=True)


def minimal_unique(figures: Sequence[SetFigures]) -> tuple[SetFigures, ...]:
    """The unique sets of which no part is unique; the smallest first."""
    smallest: list[SetFigures] = []
    unique = {figure.columns for figure in figures if figure.is_unique}
    for figure in sorted(figures, key=lambda figure: (len(figure.columns), figure.columns)):
        parts = combinations(figure.columns, len(figure.columns) - 1)
        # What contains a unique set is unique: to look at the largest parts is enough.
        if figure.is_unique and not any(part in unique for part in parts):
            smallest.append(figure)
    return tuple(smallest)


@dataclass(frozen=True, slots=True)
class _Group:
    """The combination of each row as a number below `size`."""

    numbers: Integers
    size: int


def combined(people: People, columns: Sequence[int]) -> _Group:
    """The combination of each row, numbered without gaps."""
    group = _Group(np.zeros(people.rows, np.int64), 1)
    for column in columns:
        group = _dense(_with(people, group, column), people.rows)
    return group


def _below(
    people: People, group: _Group, columns: tuple[int, ...], size: int, threshold: Fraction
) -> Iterator[SetFigures]:
    first = columns[-1] + 1 if columns else 0
    for column in range(first, len(people.columns)):
        larger, chosen = _with(people, group, column), (*columns, column)
        goes_on = size > 1 and column + 1 < len(people.columns)
        if goes_on or people.respondents is not None:
            larger = _dense(larger, people.rows)
        yield _figures(people, chosen, larger.numbers, larger.size, threshold)
        if goes_on:
            yield from _below(people, larger, chosen, size - 1, threshold)


def _with(people: People, group: _Group, column: int) -> _Group:
    return _Group(
        group.numbers * people.sizes[column] + people.columns[column], group.size * people.sizes[column]
    )


def _dense(group: _Group, rows: int) -> _Group:
    """The same rows together, numbered without gaps."""
    if group.size > _TABLE_PER_ROW * rows:
        numbers, inverse = np.unique(group.numbers, return_inverse=True)
        return _Group(inverse.reshape(-1).astype(np.int64), len(numbers))
    occurs = np.zeros(group.size, np.bool_)
    occurs[group.numbers] = True
    return _Group((np.cumsum(occurs) - 1)[group.numbers], int(occurs.sum()))


def _counted(numbers: Integers, size: int) -> Integers:
    """How often each number occurs that does."""
    if size > _TABLE_PER_ROW * len(numbers):
        return np.unique(numbers, return_counts=True)[1].astype(np.int64)
    counts = np.bincount(numbers, minlength=size)
    return counts[counts > 0].astype(np.int64)


def _figures(
    people: People,
    columns: tuple[int, ...],
    numbers: Integers,
    size: int,
    threshold: Fraction,
    by_size: bool = False,
) -> SetFigures:
    count = people.respondent_count
    if people.respondents is None:
        held = _counted(numbers, size)
        facts, pairs = people.rows, comb(people.rows, 2)
        by_rarest = np.bincount(held)
        by_rarest = by_rarest * np.arange(len(by_rarest))
    else:
        # Quick where rows are in the order of respondents; `np.unique` takes many times as long.
        each = np.sort(people.respondents * size + numbers, kind="stable")
        each = each[np.diff(each, prepend=-1) > 0]
        who, held_by = each // size, each % size
        counts = np.bincount(held_by)
        held = counts[counts > 0].astype(np.int64)
        facts = len(each)
        pairs = comb(facts, 2) - _pairs(np.bincount(who))
        rarest = np.full(count, count)
        np.minimum.at(rarest, who, counts[held_by])
        by_rarest = np.bincount(rarest)
    sizes = np.bincount(held) if by_size else np.zeros(0, np.int64)
    return SetFigures(
        columns,
        facts,
        len(held),
        count,
        int(by_rarest[1]),
        int(by_rarest[: first_accepted(threshold)].sum()),
        int(held.min()),
        _pairs(held),
        pairs,
        fsum(int(by_rarest[shared]) / int(shared) for shared in np.nonzero(by_rarest)[0]) / count,
        tuple((int(shared), int(sizes[shared])) for shared in np.nonzero(sizes)[0]),
    )


def first_accepted(threshold: Fraction) -> int:
    """The smallest number of people who share a risk that is not above a threshold."""
    return -(-threshold.denominator // threshold.numerator)


def _pairs(counts: Integers) -> int:
    return int((counts * (counts - 1) // 2).sum())
