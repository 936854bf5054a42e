"""The quantities that each kind of statistic measures, and their sensitivities."""

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Final, assert_never

from smalti.engine.plan.reads import BoundContributions, Measure
from smalti.engine.releases.plan import Quantity, Statistic, StatisticKind
from smalti.errors import InternalError
from smalti.transforms.noise.samplers import LARGEST_VALUE
from smalti.transforms.sensitivity import (
    Bounds,
    Contribution,
    Query,
    Sensitivity,
    count,
    distinct_count,
    mode_utility,
    quantile_utility,
    variance,
)

LARGEST_AMOUNT: Final = LARGEST_VALUE >> 30
"""Of one row, in units: the sums of 2^30 such rows are measured as they are, larger ones are cut off."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One quantity in all groups of a statistic, or a choice in each of them; without noise yet."""

    quantity: Quantity
    sensitivity: Sensitivity
    """In units of the quantity; of a choice, of utility."""
    level: Decimal | None = None
    """Of a quantile."""
    is_grouped: bool = False

    @property
    def is_choice(self) -> bool:
        return self.quantity in {Quantity.RANKS, Quantity.FREQUENCIES}

    @property
    def reach(self) -> Fraction:
        """What choices are calibrated on: the greatest changes of a utility, added up over all groups.

        Each group has a choice of its own, and loses by its own greatest change. What a respondent changes
        in all of them together is at most the l1-sensitivity.
        """
        return self.sensitivity.l1 if self.is_grouped else self.sensitivity.linf


def groups_of(bound: BoundContributions) -> int:
    """How many groups a respondent is in at most."""
    return min(bound.groups, bound.rows)


def counted_from_zero(statistic: Statistic) -> Statistic:
    """A sum with its units counted from 0, if 0 is a whole number of units from the bounds.

    Units that are counted from elsewhere would need a number of rows beside them, with noise of its own.
    """
    measure = statistic.measure
    if statistic.kind is not StatisticKind.SUM or measure is None:
        return statistic
    if (Fraction(measure.lower) / Fraction(measure.unit)).denominator != 1:
        return statistic
    return replace(statistic, measure=replace(measure, origin=Decimal(0)))


def measurements(
    statistic: Statistic, levels: tuple[Decimal, ...], bound: BoundContributions, *, is_filtered: bool
) -> tuple[Measurement, ...]:
    """What a statistic is made from, in the order in which it is drawn.

    Where nobody may be outside of a count and respondents with one row each replace each other, the count
    is public (`sensitivity.count`). Nobody has declared it, though, so it gets noise as if rows were
    filtered.

    Args:
        statistic: without parts.
        levels: of quantiles.
        bound: what of a respondent takes part.
        is_filtered: whether rows may be outside of every answer.
    """
    groups = statistic.keys[: len(statistic.keys) - statistic.choices]
    contribution = Contribution(bound.rows, bound.groups)
    query = Query(bound.neighbors, contribution, bool(groups), is_filtered)
    if not count(query).l1:
        query = replace(query, filtered=True)
    return tuple(
        Measurement(quantity, sensitivity, level, bool(groups))
        for quantity, sensitivity, level in _of_kind(statistic, levels, query)
    )


def largest_amounts(statistic: Statistic) -> tuple[int, ...]:
    """What one row adds at most to the sums that a statistic is made from, in units."""
    match statistic.kind:
        case StatisticKind.SUM | StatisticKind.MEAN:
            return (int(_bounds(statistic).magnitude),)
        case StatisticKind.VARIANCE:
            return (int(_bounds(statistic).magnitude) ** 2,)
    return ()


_Row = tuple[Quantity, Sensitivity, Decimal | None]


def _of_kind(statistic: Statistic, levels: tuple[Decimal, ...], query: Query) -> list[_Row]:
    match statistic.kind:
        case StatisticKind.COUNT | StatisticKind.HISTOGRAM | StatisticKind.CONTINGENCY:
            return [(Quantity.ROWS, count(query), None)]
        case StatisticKind.DISTINCT_COUNT:
            return [(Quantity.DISTINCT, distinct_count(query), None)]
        case StatisticKind.SUM | StatisticKind.MEAN | StatisticKind.VARIANCE:
            return _of_numbers(statistic, query)
        case StatisticKind.QUANTILE:
            return [(Quantity.RANKS, quantile_utility(query), level) for level in levels]
        case StatisticKind.MODE:
            return [(Quantity.FREQUENCIES, mode_utility(query), None)]
    assert_never(statistic.kind)


def _of_numbers(statistic: Statistic, query: Query) -> list[_Row]:
    """Sums of units; beside them the number of rows, except for a sum of units from 0."""
    squares, total, number = variance(_bounds(statistic), query)
    sums: list[_Row] = [(Quantity.SUM, total, None), (Quantity.ROWS, number, None)]
    if statistic.kind is StatisticKind.VARIANCE:
        return [(Quantity.SQUARES, squares, None), *sums]
    counts_from_zero = statistic.kind is StatisticKind.SUM and not _measure(statistic).origin
    return sums[:1] if counts_from_zero else sums


def _bounds(statistic: Statistic) -> Bounds:
    """The least and the greatest number of units of a row."""
    measure = _measure(statistic)
    return Bounds(Fraction(measure.least), Fraction(measure.most))


def _measure(statistic: Statistic) -> Measure:
    if statistic.measure is None:
        raise InternalError("a statistic of numbers without bounds")
    return statistic.measure
