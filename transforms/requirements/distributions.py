"""Models of how evenly, or how nearly to the whole table, the values of a class are distributed.

Each model is decided exactly. For many classes at once `margins` says by how much they meet it, in floats
whose error is below `tolerance`; `holds` decides classes whose margin is smaller than that, in whole
numbers.

A class is given by the weights of its values (semantics of smalti: a respondent weighs 1, spread evenly
over all its rows in the table), so that a class is a convex mixture of its rows.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_UNIT_ROUNDOFF: Final = 2.0**-53
_SAFETY: Final = 16
"""How many times larger than the bound of its errors a margin is, at least, before floats decide."""
_FIRST_DIGITS: Final = 50


def tolerance(error: float, values: int) -> float:
    """Floats decide nothing while a margin is smaller.

    Where weights have a relative error of e, shares have at most 2 e and a few roundings u; sums over the
    values add as many u. Margins change by at most log(values) + 1 times that (Higham, *Accuracy and
    Stability of Numerical Algorithms*, 2002, 4.2).

    Args:
        error: of weights.
        values: how many there are.
    """
    slope = math.log(max(values, 1)) + 2
    return _SAFETY * slope * (error + (values + 4) * _UNIT_ROUNDOFF)


@dataclass(frozen=True, slots=True)
class DistributionModel(ABC):
    """What is required of the distribution of a class's values."""

    @abstractmethod
    def margins(self, shares: Floats, reference: Floats) -> Floats:
        """By class: positive where it meets the model, negative where it does not; in error by `tolerance`.

        Args:
            shares: shape (classes, values); the share of each value in each class.
            reference: the share of each value in the table.
        """

    @abstractmethod
    def holds(self, weights: Sequence[int], reference: Sequence[int]) -> bool:
        """Whether a class meets the model.

        Args:
            weights: of each value in the class, all in one unit; some are positive.
            reference: of each value in the table, in a unit of their own.
        """


@dataclass(frozen=True, slots=True)
class EntropyDiversity(DistributionModel):
    """The entropy of the values is at least log l (Machanavajjhala et al., TKDD 2007, Definition 4.1)."""

    l: int  # noqa: E741 (the literature's name)

    def margins(self, shares: Floats, reference: Floats) -> Floats:
        logarithms = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        entropy: Floats = -(shares * logarithms).sum(axis=1)
        return entropy - math.log(self.l)

    def holds(self, weights: Sequence[int], reference: Sequence[int]) -> bool:
        # With total A: A log A - sum of a log a >= A log l, or A^A >= l^A * product of a^a.
        present = _reduced(weights)
        total = sum(present)
        powers = Counter({self.l: total})
        for weight in present:
            powers[weight] += weight
        return compare_powers({total: total}, powers) >= 0


@dataclass(frozen=True, slots=True)
class RecursiveDiversity(DistributionModel):
    """Recursive (c, l)-diversity: r1 < c (r_l + ... + r_m), by falling weight (ibid., Definition 4.2)."""

    c: Fraction
    l: int  # noqa: E741 (the literature's name)

    def margins(self, shares: Floats, reference: Floats) -> Floats:
        falling = -np.sort(-shares, axis=1)
        tail: Floats = falling[:, self.l - 1 :].sum(axis=1)
        return (float(self.c) * tail - falling[:, 0]) / (1 + float(self.c))

    def holds(self, weights: Sequence[int], reference: Sequence[int]) -> bool:
        falling = sorted(weights, reverse=True)
        return falling[0] * self.c.denominator < self.c.numerator * sum(falling[self.l - 1 :])


@dataclass(frozen=True, slots=True)
class LargestShare(DistributionModel):
    """No value has a larger share than alpha: (alpha, k)-anonymity (Wong et al., KDD 2006, Def. 2)."""

    alpha: Fraction

    def margins(self, shares: Floats, reference: Floats) -> Floats:
        margins: Floats = float(self.alpha) - shares.max(axis=1)
        return margins

    def holds(self, weights: Sequence[int], reference: Sequence[int]) -> bool:
        return max(weights) * self.alpha.denominator <= self.alpha.numerator * sum(weights)


@dataclass(frozen=True, slots=True)
class Closeness(DistributionModel):
    """The earth mover's distance to the table is at most t (Li, Li, Venkatasubramanian, ICDE 2007)."""

    t: Fraction

    def margins(self, shares: Floats, reference: Floats) -> Floats:
        return float(self.t) - self._distances(shares - reference)

    def holds(self, weights: Sequence[int], reference: Sequence[int]) -> bool:
        mine, whole = sum(weights), sum(reference)
        gaps = [a * whole - q * mine for a, q in zip(weights, reference, strict=True)]
        return self._distance(gaps) * self.t.denominator <= self.t.numerator * mine * whole

    @abstractmethod
    def _distances(self, gaps: Floats) -> Floats:
        """By class: the distance of which these are the differences of shares."""

    @abstractmethod
    def _distance(self, gaps: Sequence[int]) -> Fraction:
        """The same of one class, exactly and in the unit of its differences."""


@dataclass(frozen=True, slots=True)
class EqualDistance(Closeness):
    """Each two values are equally far from each other: variational distance (ibid., 5.2)."""

    def _distances(self, gaps: Floats) -> Floats:
        distances: Floats = np.abs(gaps).sum(axis=1) / 2
        return distances

    def _distance(self, gaps: Sequence[int]) -> Fraction:
        return Fraction(sum(map(abs, gaps)), 2)


@dataclass(frozen=True, slots=True)
class OrderedDistance(Closeness):
    """Values are as far apart as their places in the order, the first and the last by 1 (ibid., 5.1)."""

    def _distances(self, gaps: Floats) -> Floats:
        steps = gaps.shape[1] - 1
        if steps < 1:
            return np.zeros(len(gaps))
        distances: Floats = np.abs(np.cumsum(gaps, axis=1))[:, :-1].sum(axis=1) / steps
        return distances

    def _distance(self, gaps: Sequence[int]) -> Fraction:
        moved = total = 0
        for gap in gaps[:-1]:
            moved += gap
            total += abs(moved)
        return Fraction(total, max(len(gaps) - 1, 1))


@dataclass(frozen=True)
class HierarchicalDistance(Closeness):
    """Values are as far apart as the lowest node that has both is high, the root by 1 (ibid., 5.3).

    On a tree whose leaves are all equally deep, what must be moved through the edge above a node is the
    difference of the shares below it. An edge is 1/(2 H) long, where H is the height of the tree: the way
    from a leaf to another goes up and down.
    """

    tree: NDArray[np.int64]
    """Shape (levels, values): the number of each value's node; the last level has one root."""

    def _distances(self, gaps: Floats) -> Floats:
        moved = np.zeros(len(gaps))
        for nodes in self.tree[:-1]:
            starts = np.flatnonzero(np.diff(nodes, prepend=-1))
            moved += np.abs(np.add.reduceat(gaps, starts, axis=1)).sum(axis=1)
        distances: Floats = moved / (2 * (len(self.tree) - 1))
        return distances

    def _distance(self, gaps: Sequence[int]) -> Fraction:
        moved = 0
        for nodes in self.tree[:-1].tolist():
            below: Counter[int] = Counter()
            for node, gap in zip(nodes, gaps, strict=True):
                below[node] += gap
            moved += sum(map(abs, below.values()))
        return Fraction(moved, 2 * (len(self.tree) - 1))


# --- Comparing products of powers


def _reduced(weights: Sequence[int]) -> list[int]:
    """The positive weights in the largest unit: a factor of all changes no entropy."""
    present = [weight for weight in weights if weight]
    unit = math.gcd(*present)
    return [weight // unit for weight in present]


def compare_powers(left: Mapping[int, int], right: Mapping[int, int]) -> int:
    """Compare products of powers: 1 if the left one is larger, 0 if they are equal, -1 otherwise.

    They are equal only where each factor of a coprime base has the same exponent (Bach, Driscoll, Shallit,
    "Factor Refinement", J. Algorithms 1993). Otherwise their logarithms differ, and are computed with more
    digits until the difference exceeds its error.

    Args:
        left: by base, from 1, its exponent, from 0.
        right: likewise.

    >>> compare_powers({4: 2}, {2: 4}), compare_powers({10: 2}, {3: 4}), compare_powers({2: 3}, {3: 2})
    (0, 1, -1)
    """
    base = _coprime_base([*left, *right])
    if all(_exponent(left, factor) == _exponent(right, factor) for factor in base):
        return 0
    digits = _FIRST_DIGITS
    while (sign := _sign(left, right, digits)) == 0:
        digits *= 2
    return sign


def _sign(left: Mapping[int, int], right: Mapping[int, int], digits: int) -> int:
    """The sign of the difference of two logarithms; 0 if so many digits do not tell."""
    with localcontext() as context:
        context.prec = digits
        terms = [exponent * Decimal(base).ln() for base, exponent in left.items() if base > 1]
        terms += [-exponent * Decimal(base).ln() for base, exponent in right.items() if base > 1]
        # Each term is rounded twice, and each sum once; none is larger than the sum of all sizes.
        size = sum(map(abs, terms), Decimal(0))
        error = size * (3 * len(terms) + 1) * Decimal(10) ** (1 - digits)
        difference = sum(terms, Decimal(0))
        return 0 if abs(difference) <= error else 1 if difference > 0 else -1


def _coprime_base(numbers: Iterable[int]) -> list[int]:
    """Factors above 1, no two of which have a common one, of whose powers each number is a product."""
    base: list[int] = []
    waiting = [number for number in set(numbers) if number > 1]
    while waiting:
        number = waiting.pop()
        for place, other in enumerate(base):
            common = math.gcd(number, other)
            if common > 1:
                del base[place]
                waiting += [n for n in (common, number // common, other // common) if n > 1]
                break
        else:
            base.append(number)
    return base


def _exponent(powers: Mapping[int, int], factor: int) -> int:
    """How often a factor of a coprime base stands in a product of powers."""
    total = 0
    for base, exponent in powers.items():
        rest = base
        while rest % factor == 0:
            rest //= factor
            total += exponent
    return total
