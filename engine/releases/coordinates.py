"""Statistics of a release as sums over people, to which attacks on sums apply.

Counts and sums are sums. A mean of a group is one to first order: of N rows with the mean m it is, beside
what the population has, N (m - mu), the sum of x - mu over its rows. A variance likewise is the sum of
(x - mu)^2 less that of the population. N is the number of rows that so many people of the population have.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smalti.engine.plan.reads import Measure, Mechanism
from smalti.engine.releases.people import Contributions
from smalti.engine.releases.plan import Quantity, Statistic, StatisticKind
from smalti.errors import InternalError
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.problem import Integers

_QUANTITIES = frozenset({Quantity.ROWS, Quantity.SUM, Quantity.SQUARES})


def is_sum(statistic: Statistic) -> bool:
    """Whether a statistic is a sum over people, or one to first order."""
    return all(part.quantity in _QUANTITIES for part in statistic.parts)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The unit and the origin of a measure, as floats."""

    unit: float
    origin: float
    width: float
    largest: float

    @classmethod
    def of(cls, measure: Measure | None) -> "_Scale":
        if measure is None:
            raise InternalError("a sum without a measure")
        lower, upper = float(measure.lower), float(measure.upper)
        largest = max(abs(lower), abs(upper))
        return cls(float(measure.unit), float(measure.origin), upper - lower, largest)


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """One statistic in all its released groups, as sums of what each person contributes."""

    statistic: Statistic
    centres: Floats
    """By group: of a mean or variance that of the population; else 0."""
    spreads: Floats
    """By group: of a variance the population's; else 0."""
    expected_rows: Floats
    """By group: the rows of one person of the population, on average."""
    largest: float
    """What a row contributes, as an order of magnitude."""

    @classmethod
    def of(cls, statistic: Statistic, reference: Contributions, people: int) -> "Linear":
        """Around what a population has.

        Args:
            statistic: of numbers.
            reference: the contributions of people of the population.
            people: how many these are.
        """
        nothing = np.zeros(reference.count)
        rows = reference.totals(reference.rows)
        # As if one of all had a row there: groups that the reference lacks are rare, not impossible.
        expected = np.maximum(rows, 0.5) / people
        if statistic.kind not in {StatisticKind.MEAN, StatisticKind.VARIANCE}:
            largest = 1.0 if statistic.measure is None else _Scale.of(statistic.measure).largest or 1.0
            return cls(statistic, nothing, nothing, expected, largest)
        scale = _Scale.of(statistic.measure)
        sums, squares = reference.totals(reference.sums), reference.totals(reference.squares)
        means = _quotients(sums, rows)
        centres = scale.origin + scale.unit * means
        if statistic.kind is StatisticKind.MEAN:
            return cls(statistic, centres, nothing, expected, scale.width)
        spreads = scale.unit**2 * np.maximum(_quotients(squares, rows) - means**2, 0.0)
        return cls(statistic, centres, spreads, expected, (scale.width / 2) ** 2)

    def amounts(self, contributions: Contributions) -> Floats:
        """By pair of respondent and group, what the respondent contributes."""
        statistic, groups, rows = self.statistic, contributions.groups, contributions.rows
        if statistic.measure is None:
            return rows
        scale = _Scale.of(statistic.measure)
        shift = scale.origin - self.centres[groups]
        if statistic.kind is not StatisticKind.VARIANCE:
            return scale.unit * contributions.sums + shift * rows
        squares = scale.unit**2 * contributions.squares + 2 * scale.unit * shift * contributions.sums
        return squares + (shift**2 - self.spreads[groups]) * rows

    def exact(self, contributions: Contributions) -> Floats:
        """By group the figure without noise; of means and variances a group has one row at least."""
        if self.statistic.kind not in {StatisticKind.MEAN, StatisticKind.VARIANCE}:
            return contributions.totals(self.amounts(contributions))
        scale, rows = (
            _Scale.of(self.statistic.measure),
            np.maximum(contributions.totals(contributions.rows), 1),
        )
        means = contributions.totals(contributions.sums) / rows
        if not self._is_variance:
            return scale.origin + scale.unit * means
        return scale.unit**2 * (contributions.totals(contributions.squares) / rows - means**2)

    def sums(self, released: Floats, people: int) -> Floats:
        """By group the released figure as a sum over so many people; of means less the population's."""
        if self.statistic.kind is StatisticKind.MEAN:
            return people * self.expected_rows * (released - self.centres)
        if self._is_variance:
            return people * self.expected_rows * (released - self.spreads)
        return released

    def deviations(self) -> Floats:
        """By group the standard deviation of the noise of that sum."""
        noise = {part.quantity: _deviation(part.mechanism, part.scale) for part in self.statistic.parts}
        of_rows = noise.get(Quantity.ROWS, 0.0)
        if self.statistic.measure is None:
            return np.full(len(self.centres), of_rows)
        scale = _Scale.of(self.statistic.measure)
        shift = scale.origin - self.centres
        of_sum = scale.unit * noise[Quantity.SUM]
        if not self._is_variance:
            return np.hypot(of_sum, shift * of_rows)
        of_squares = scale.unit**2 * noise[Quantity.SQUARES]
        return np.sqrt(
            of_squares**2 + (2 * shift * of_sum) ** 2 + ((shift**2 - self.spreads) * of_rows) ** 2
        )

    @property
    def _is_variance(self) -> bool:
        return self.statistic.kind is StatisticKind.VARIANCE


def matrix(parts: Sequence[tuple[Linear, Contributions]], chosen: Integers) -> Floats:
    """What some people contribute to all statistics: shape (people, statistics).

    Args:
        parts: each statistic, and what everybody contributes to it.
        chosen: the numbers of the people.
    """
    width = sum(contributions.count for _, contributions in parts)
    everybody = max((int(each.people.max(initial=-1)) for _, each in parts), default=-1) + 1
    places = np.full(max(everybody, int(chosen.max(initial=-1)) + 1), -1)
    places[chosen] = np.arange(len(chosen))
    table = np.zeros((len(chosen), width))
    start = 0
    for linear, contributions in parts:
        rows = places[contributions.people]
        inside = rows >= 0
        table[rows[inside], start + contributions.groups[inside]] = linear.amounts(contributions)[inside]
        start += contributions.count
    return table


def figures_of(published: Mapping[tuple[str, ...], str], labels: Sequence[tuple[str, ...]]) -> Floats:
    """The published figures of groups, in their order; KeyError where one is missing."""
    return np.array([float(Fraction(published[each])) for each in labels], np.float64)


def _deviation(mechanism: Mechanism, scale: float) -> float:
    """Of the discrete noise, to the accuracy of the continuous one."""
    return scale * math.sqrt(2) if mechanism is Mechanism.LAPLACE else scale


def _quotients(totals: Floats, rows: Floats) -> Floats:
    """By group; of a group without rows, over all groups; 0 where there are none at all."""
    overall = float(totals.sum() / rows.sum()) if rows.sum() else 0.0
    return np.where(rows > 0, totals / np.maximum(rows, 1.0), overall)
