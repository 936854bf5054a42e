"""The minimality attack: a class that was not divided has a half that would have broken a promise.

Wong, Fu, Wang, Pei, "Minimality Attack in Privacy Preserving Data Publishing", VLDB 2007. The attacker
knows the algorithm and what it promises. Strict Mondrian divides a class wherever the promise allows; so
where the number of respondents alone would have allowed a cut, one of its sides breaks what else is
promised. Among all ways in which the values of the class may belong to its rows, only those remain in
which that is so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from smalti.transforms.attacks.disclosure import LIKELY
from smalti.transforms.problem import Flags, Integers

LEAST_DRAWS: Final = 200
"""Ways in which the values may belong to the rows, drawn at random."""
MOST_DRAWS: Final = 1000
_ROWS_DRAWN: Final = 2_000_000
"""In all draws together, where that lies between both."""
FEWEST: Final = 20
"""Of the draws that remain for a class; where fewer do, nothing is believed."""
Allowed: TypeAlias = Callable[[Integers], Flags]
"""Says of values by row whether each side, two for each class, keeps what is promised."""


@dataclass(frozen=True, slots=True)
class UncutClasses:
    """Rows of classes that the number of respondents alone would have allowed to be cut."""

    classes: Integers
    """By row, from 0 without gaps, ascending."""
    sides: Integers
    """By row: 2 * its class, and 1 more on the upper side of the cut."""
    values: Integers
    """By row, from 0."""


def minimality(table: UncutClasses, allowed: Allowed, seed: int) -> Flags:
    """By row: whether the attack makes the attacker believe in the row's value, who did not before.

    Believed is what has a chance of at least one half, and had less in the class as a whole.

    Args:
        table: the rows; each is about another person.
        allowed: by side, as `UncutClasses.sides` numbers them.
        seed: of the draws; the attack's result is an estimate.
    """
    if not len(table.values):
        return np.zeros(0, np.bool_)
    random = np.random.Generator(np.random.PCG64(seed))
    count, size = int(table.values.max()) + 1, int(table.classes.max()) + 1
    remaining, held = np.zeros(size, np.int64), np.zeros(2 * size * count, np.int64)
    for _ in range(min(max(_ROWS_DRAWN // len(table.values), LEAST_DRAWS), MOST_DRAWS)):
        order = np.lexsort((random.random(len(table.values)), table.classes))
        drawn = table.values[order]  # rows stand class by class, so values stay in their classes
        is_left: Flags = np.logical_not(allowed(drawn).reshape(-1, 2).all(axis=1))
        remaining += is_left
        kept = is_left[table.classes]
        held += np.bincount(table.sides[kept] * count + drawn[kept], minlength=len(held))
    rows = np.bincount(table.sides, minlength=2 * size)
    seen = held[table.sides * count + table.values]
    of_class = np.bincount(table.classes * count + table.values, minlength=size * count)
    before = of_class[table.classes * count + table.values], np.bincount(table.classes)[table.classes]
    total = remaining[table.classes] * rows[table.sides]
    is_believed = seen * LIKELY.denominator >= total * LIKELY.numerator
    was_believed = before[0] * LIKELY.denominator >= before[1] * LIKELY.numerator
    believed: Flags = is_believed & ~was_believed & (remaining[table.classes] >= FEWEST)
    return believed
