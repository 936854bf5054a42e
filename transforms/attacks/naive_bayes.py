"""The deFinetti attack: what quasi-identifiers tell of values is learnt from the published table itself.

Kifer, "Attacks on Privacy and deFinetti's Theorem", SIGMOD 2009, with a naive Bayes model as there. Instead
of sampling permutations of the values of a class, the shares of each row are estimated and the model is
fitted to them in turns (expectation maximisation): another and simpler attack than Kifer's sampler.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.partitions.layout import ranges
from smalti.transforms.problem import Integers

ROUNDS: Final = 12
"""Of estimating shares and fitting the model."""
TURNS: Final = 8
"""Of Sinkhorn's scaling in each round."""
_LEAST: Final = -500.0
"""Logarithms of chances below that of the likeliest by more are taken for this."""
MOST_CELLS: Final = 1 << 24
"""Pairs of a tuple and a value of its class, times columns, that are worked on."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published table, and the tuples that the attacker knows to be in its classes."""

    codes: Integers
    """Shape (tuples, columns): the exact quasi-identifiers."""
    rows: Integers
    """By tuple."""
    classes: Integers
    """By tuple, from 0 without gaps."""
    held_classes: Integers
    """Of each value that a class holds: the class; ascending."""
    held_values: Integers
    """Likewise the value, from 0."""
    held_rows: Integers
    """Likewise in how many rows of the class."""


def guessed_values(table: Published) -> Integers | None:
    """By tuple: the value that the attacker believes in most; of equal ones the least.

    Returns:
        None where there are too many values (`MOST_CELLS`).
    """
    values = np.bincount(table.held_classes, minlength=int(table.classes.max()) + 1)
    counts = values[table.classes]
    if int(counts.sum()) * table.codes.shape[1] > MOST_CELLS:
        return None
    cells = _Cells(
        table,
        np.repeat(np.arange(len(counts)), counts),
        ranges((np.cumsum(values) - values)[table.classes], counts),
        counts,
    )
    shares = cells.fitted(np.zeros(len(cells.tuples)))
    for _ in range(ROUNDS):
        shares = cells.fitted(_log_likelihood(table, cells, shares))
    return cells.largest(shares)


def most_frequent_values(table: Published) -> Integers:
    """By tuple: the most frequent value of its class, which needs no attack; of equal ones the least."""
    order = np.lexsort((table.held_values, -table.held_rows, table.held_classes))
    owners, first = np.unique(table.held_classes[order], return_index=True)
    of_class = np.zeros(int(owners.max()) + 1, np.int64)
    of_class[owners] = table.held_values[order][first]
    return of_class[table.classes]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Each tuple with each value that its class holds."""

    table: Published
    tuples: Integers
    held: Integers
    """The place of class and value in the table."""
    counts: Integers
    """By tuple, its cells, which stand together."""

    @property
    def values(self) -> Integers:
        values: Integers = self.table.held_values[self.held]
        return values

    @property
    def starts(self) -> Integers:
        starts: Integers = np.cumsum(self.counts) - self.counts
        return starts

    def fitted(self, logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The shares of each tuple's cells: they add up to 1, and in each class to the rows of each value.

        Sinkhorn's scaling, in turns; the first is exact.
        """
        rows = self.table.rows[self.tuples]
        most = np.repeat(np.maximum.reduceat(logarithms, self.starts), self.counts)
        shares: NDArray[np.float64] = np.exp(np.maximum(logarithms - most, _LEAST))
        for _ in range(TURNS):
            of_value = np.bincount(self.held, shares * rows, minlength=len(self.table.held_rows))
            shares = shares * (self.table.held_rows / of_value)[self.held]
            shares = shares / np.repeat(np.add.reduceat(shares, self.starts), self.counts)
        return shares

    def largest(self, shares: NDArray[np.float64]) -> Integers:
        """By tuple the value with the largest share, as far as six digits tell; of equal ones the least."""
        rounded, values = np.round(shares, 6), self.values
        most = np.repeat(np.maximum.reduceat(rounded, self.starts), self.counts)
        largest = np.where(rounded == most, values, int(values.max()) + 1)
        guessed: Integers = np.minimum.reduceat(largest, self.starts)
        return guessed


def _log_likelihood(table: Published, cells: _Cells, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """By cell the logarithm of the chance of the tuple's codes, given the value; with one row added."""
    tuples, values = cells.tuples, cells.values
    weights = shares * table.rows[tuples]
    count = int(values.max()) + 1
    of_value = np.bincount(values, weights, minlength=count)
    belief = np.zeros(len(values))
    for codes in table.codes.T:
        size = int(codes.max()) + 1
        pairs = values * size + codes[tuples]
        held = np.bincount(pairs, weights, minlength=count * size)
        belief += np.log(held[pairs] + 1) - np.log(of_value[values] + len(np.unique(codes)))
    return belief
