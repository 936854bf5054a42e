"""The verifier's own measure of how the values of a sensitive column are distributed in each class.

A respondent weighs 1, spread evenly over all its rows in the table, which is the reference of t-closeness.
Floats decide where they are far from the bound, fractions elsewhere. This shares no code with
`smalti.transforms`.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from smalti.engine.verify.columns import Codes
from smalti.engine.verify.recount import Recount
from smalti.errors import InternalError
from smalti.transforms.base import ALPHA, CLOSENESS, ENTROPY_DIVERSITY, RECURSIVE_DIVERSITY

Shares = NDArray[np.float64]

_NEAR: Final = 1e-6
"""Shares are sums of fewer than 2^30 quotients, so that errors of floats are far below this."""
_CELLS: Final = 1 << 20
_DIGITS: Final = 120
_EQUAL: Final = Decimal(10) ** -60
"""Logarithms of products of whole numbers that differ by less are taken to be equal."""


@dataclass(frozen=True, slots=True)
class Held:
    """Rows of one sensitive column, by value and by the number of all rows of their respondents."""

    classes: Codes
    """Ascending; all rows of a class stand together."""
    values: Codes
    """Numbered from 0 in the order of the values, a missing one first."""
    totals: Codes
    """All rows of the respondents of these rows."""
    rows: Codes


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found of all classes."""

    is_met: bool
    reached: float
    """By the worst class, in floats and in the terms of the requirement: its distance, its largest share,
    the number of equally frequent values that have its entropy, or the c above which it would do."""


class DistributionRecount(Recount):
    """Judges each sensitive column by itself by the weights of its values."""

    __slots__ = ()

    weighs: ClassVar[bool] = True
    rows_refute: ClassVar[bool] = False

    def is_about(self, column: str | None) -> bool:
        """Whether it judges a sensitive column; None: nobody said which that is."""
        if column is None and self.requirement.column is not None:
            raise InternalError("a promise about one column was counted without its name")
        return self.requirement.column in (None, column)

    def is_met(self, held: Held, table: Held, tree: Codes | None = None) -> bool:
        """Whether all classes meet it (`judged`)."""
        return self.judged(held, table, tree).is_met

    def judged(self, held: Held, table: Held, tree: Codes | None = None) -> Judged:
        """Whether all classes meet it, and what the worst of them reaches.

        Args:
            held: what whole classes hold.
            table: what the table holds, as one class.
            tree: shape (levels, values), where the column has a hierarchy: the number of each value's node,
                the last level one root.
        """
        is_met, reached = True, self.best
        count = int(table.values.max(initial=-1)) + 1
        reference = _weights(table, 1, count)
        shares_of_table = reference / reference.sum()
        whole = _fractions(table, count)
        for part in _parts(held, count):
            classes, numbers = np.unique(part.classes, return_inverse=True)
            weights = _weights(
                Held(numbers.reshape(-1), part.values, part.totals, part.rows), len(classes), count
            )
            figures = self._figures(weights / weights.sum(axis=1, keepdims=True), shares_of_table[0], tree)
            reached = self.worse(reached, float(self._worst(figures)))
            margins = self._margins(figures)
            is_met = is_met and not (margins < -_NEAR).any()
            for number in np.flatnonzero(margins < _NEAR).tolist():
                mine = part.classes == classes[number]
                single = Held(part.classes[mine], part.values[mine], part.totals[mine], part.rows[mine])
                is_met = is_met and self._is_met_exactly(_fractions(single, count), whole, tree)
        return Judged(is_met, reached)

    best: ClassVar[float] = 0.0
    """What a class reaches at best."""

    def worse(self, first: float, second: float) -> float:
        """The worse of two figures that classes reach."""
        return max(first, second)

    def _worst(self, figures: Shares) -> np.float64:
        worst: np.float64 = figures.max(initial=self.best)
        return worst

    @abstractmethod
    def _figures(self, shares: Shares, reference: Shares, tree: Codes | None) -> Shares:
        """By class what it reaches, in the terms of the requirement."""

    def _margins(self, figures: Shares) -> Shares:
        """By class something positive where it is met, and negative where it is not."""
        margins: Shares = float(Fraction(self.requirement.parameters[0])) - figures
        return margins

    @abstractmethod
    def _is_met_exactly(
        self, weights: Sequence[Fraction], reference: Sequence[Fraction], tree: Codes | None
    ) -> bool:
        """Whether one class meets it."""


class RecountedEntropy(DistributionRecount):
    """The entropy of the values is that of l equally frequent ones, or more."""

    __slots__ = ()

    name: ClassVar[str] = ENTROPY_DIVERSITY

    best: ClassVar[float] = math.inf

    def worse(self, first: float, second: float) -> float:
        return min(first, second)

    def _worst(self, figures: Shares) -> np.float64:
        worst: np.float64 = figures.min(initial=self.best)
        return worst

    def _figures(self, shares: Shares, reference: Shares, tree: Codes | None) -> Shares:
        safe = np.where(shares > 0, shares, 1)
        figures: Shares = np.exp(-(shares * np.log(safe)).sum(axis=1))
        return figures

    def _margins(self, figures: Shares) -> Shares:
        margins: Shares = np.log(figures) - math.log(int(self.requirement.parameters[0]))
        return margins

    def _is_met_exactly(
        self, weights: Sequence[Fraction], reference: Sequence[Fraction], tree: Codes | None
    ) -> bool:
        total = sum(weights)
        with localcontext() as context:
            context.prec = _DIGITS
            entropy = -sum(
                (_decimal(weight / total) * _decimal(weight / total).ln() for weight in weights if weight),
                Decimal(0),
            )
            return entropy - Decimal(int(self.requirement.parameters[0])).ln() > -_EQUAL


class RecountedRecursive(DistributionRecount):
    """The most frequent value is less frequent than c times the l-th and all rarer ones together."""

    __slots__ = ()

    name: ClassVar[str] = RECURSIVE_DIVERSITY

    def _figures(self, shares: Shares, reference: Shares, tree: Codes | None) -> Shares:
        ranked = np.sort(shares, axis=1)[:, ::-1]
        rarer = ranked[:, int(self.requirement.parameters[1]) - 1 :].sum(axis=1)
        figures: Shares = np.divide(
            ranked[:, 0], rarer, out=np.full(len(ranked), math.inf), where=rarer > 0
        )
        return figures

    def _margins(self, figures: Shares) -> Shares:
        c = float(Fraction(self.requirement.parameters[0]))
        margins: Shares = (c - figures) / (1 + c)
        return margins

    def _is_met_exactly(
        self, weights: Sequence[Fraction], reference: Sequence[Fraction], tree: Codes | None
    ) -> bool:
        c, l = self.requirement.parameters  # noqa: E741 (the literature's name)
        ranked = sorted(weights, reverse=True)
        return ranked[0] < Fraction(c) * sum(ranked[int(l) - 1 :])


class RecountedShare(DistributionRecount):
    """No value has a larger share than alpha."""

    __slots__ = ()

    name: ClassVar[str] = ALPHA

    def _figures(self, shares: Shares, reference: Shares, tree: Codes | None) -> Shares:
        figures: Shares = shares.max(axis=1)
        return figures

    def _is_met_exactly(
        self, weights: Sequence[Fraction], reference: Sequence[Fraction], tree: Codes | None
    ) -> bool:
        return max(weights) <= Fraction(self.requirement.parameters[0]) * sum(weights)


class RecountedCloseness(DistributionRecount):
    """The earth mover's distance to the table is at most t."""

    __slots__ = ()

    name: ClassVar[str] = CLOSENESS

    def _figures(self, shares: Shares, reference: Shares, tree: Codes | None) -> Shares:
        surplus = np.maximum(shares - reference, 0)
        distances: Shares = surplus.sum(axis=1)
        if self._is_ordered:
            steps = max(shares.shape[1] - 1, 1)
            ahead = np.cumsum(shares, axis=1) - np.cumsum(reference)
            distances = np.abs(ahead[:, :-1]).sum(axis=1) / steps
        if self._is_hierarchical:
            rows = [_along(gaps, _checked(tree)) for gaps in (shares - reference).tolist()]
            distances = np.array(rows, np.float64)
        return distances

    @property
    def _is_ordered(self) -> bool:
        return self.requirement.parameters[1] == "ordered"

    @property
    def _is_hierarchical(self) -> bool:
        return self.requirement.parameters[1] == "hierarchical"

    def _is_met_exactly(
        self, weights: Sequence[Fraction], reference: Sequence[Fraction], tree: Codes | None
    ) -> bool:
        mine, whole = sum(weights), sum(reference)
        gaps = [w / mine - r / whole for w, r in zip(weights, reference, strict=True)]
        distance = sum((gap for gap in gaps if gap > 0), Fraction(0))
        if self._is_ordered:
            ahead = [sum(gaps[: place + 1], Fraction(0)) for place in range(len(gaps) - 1)]
            distance = sum(map(abs, ahead), Fraction(0)) / max(len(gaps) - 1, 1)
        if self._is_hierarchical:
            distance = _along(gaps, _checked(tree))
        return distance <= Fraction(self.requirement.parameters[0])


Number = TypeVar("Number", float, Fraction)


def _along(gaps: Sequence[Number], tree: Codes) -> Number:
    """What it costs to move shares so that no gap is left, where a way costs the height of its top.

    At each node what is too much below it meets what is too little there, and the rest goes on upwards
    (Li, Li, Venkatasubramanian, ICDE 2007, 5.3).
    """
    zero = gaps[0] - gaps[0]
    height, cost = len(tree) - 1, zero
    waiting = dict(enumerate(gaps))
    for level in range(1, height + 1):
        too_much: dict[int, Number] = {}
        too_little: dict[int, Number] = {}
        parent = dict(zip(tree[level - 1].tolist(), tree[level].tolist(), strict=True))
        for child, gap in waiting.items():
            side = too_much if gap > 0 else too_little
            side[parent[child]] = side.get(parent[child], zero) + abs(gap)
        waiting = {}
        for node in {*too_much, *too_little}:
            more, less = too_much.get(node, zero), too_little.get(node, zero)
            cost += min(more, less) * level
            waiting[node] = more - less
    return cost / height


def _checked(tree: Codes | None) -> Codes:
    if tree is None:
        raise InternalError("a distance along a hierarchy was counted without one")
    return tree


def _weights(held: Held, classes: int, values: int) -> Shares:
    """By class and value its weight."""
    cells = held.classes * values + held.values
    weights: Shares = held.rows / held.totals
    sums = np.bincount(cells, weights, classes * values).astype(np.float64)
    return sums.reshape(classes, values)


def _fractions(held: Held, values: int) -> list[Fraction]:
    """By value the exact weight in one class."""
    weights = [Fraction(0)] * values
    for value, total, rows in zip(
        held.values.tolist(), held.totals.tolist(), held.rows.tolist(), strict=True
    ):
        weights[value] += Fraction(rows, total)
    return weights


def _parts(held: Held, values: int) -> Iterator[Held]:
    """Whole classes, of which few enough at a time for a table of all their values."""
    starts = np.flatnonzero(np.diff(held.classes, prepend=-1))
    step = max(_CELLS // max(values, 1), 1)
    ends = [*starts[step::step].tolist(), len(held.classes)]
    first = 0
    for last in ends:
        within = slice(first, last)
        yield Held(held.classes[within], held.values[within], held.totals[within], held.rows[within])
        first = last


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
