"""How much one respondent can change a statistic, exactly, with the reason.

The global sensitivity of a query is the greatest distance of its answers on two neighbouring data sets
(Dwork, McSherry, Nissim, Smith, TCC 2006). Neighbours differ in one *respondent* with all its rows, so it
depends on how many rows and groups of a respondent count (`Contribution`, enforced before aggregation) and
on public bounds of the values (clamped before aggregation).

Everything is a rational number. A grouped query is one vector with an answer for each group, and groups are
public or were selected privately. No function looks at data, and none takes the number of rows from it:
what needs the number of respondents n takes a declared one, which is then public.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Final


class NeighboringRelation(StrEnum):
    """Which data sets a release must not tell apart; the words are those of `s:neighbors`."""

    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    """One has all rows of one more respondent. The number of respondents is private."""
    CHANGE_ONE = "change-one"
    """All rows of one respondent are replaced. The number of respondents is public."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What of a respondent counts at most; the engine leaves out the rest before it aggregates."""

    rows: int = 1
    """In all groups together: `s:rowsPerRespondent`. With 1, each respondent has exactly one row."""
    groups: int = 1
    """`s:groupsPerRespondent`."""
    rows_in_group: int | None = None
    """In one group; None if only `rows` bounds them."""

    def __post_init__(self) -> None:
        if min(self.rows, self.groups, self.most_in_group) < 1:
            raise ValueError("contribution bounds are whole numbers from 1")

    @property
    def most_in_group(self) -> int:
        return self.rows if self.rows_in_group is None else min(self.rows, self.rows_in_group)

    @property
    def profile(self) -> tuple[int, ...]:
        """Rows by group, in the way that maximises the sum and the sum of squares at once.

        As many groups as possible are filled one after the other: of vectors with bounded entries, sum and
        number of entries it is the one that majorises all others (Marshall, Olkin, Arnold, "Inequalities").
        """
        full, rest = divmod(self.rows, self.most_in_group)
        filled = min(full, self.groups)
        profile = (self.most_in_group,) * filled
        return (*profile, rest) if filled < self.groups and rest else profile


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far the answers on neighbouring data sets are apart at most, by three norms, and why."""

    l1: Fraction
    """What Laplace noise is calibrated on."""
    l2_squared: Fraction
    """What Gaussian noise is calibrated on."""
    linf: Fraction
    """What a choice among candidates is calibrated on."""
    proof: str
    """Why no pair of neighbours is further apart."""

    @property
    def l2(self) -> float:
        """The root of `l2_squared`, not below it."""
        root = math.sqrt(self.l2_squared)
        return root if Fraction(root) ** 2 >= self.l2_squared else math.nextafter(root, math.inf)


_ONE_ROW: Final = Contribution()


@dataclass(frozen=True, slots=True)
class Query:
    """What the sensitivity of every statistic depends on."""

    neighbors: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
    contribution: Contribution = _ONE_ROW
    grouped: bool = False
    """Whether there is an answer for each of several groups of rows."""
    filtered: bool = False
    """Whether rows may be outside of every answer, also for a missing group or value."""

    @property
    def replaces_one_row(self) -> bool:
        """Whether of neighbours one has another row in the same answer, and no row more or less."""
        changes = self.neighbors is NeighboringRelation.CHANGE_ONE and self.contribution.rows == 1
        return changes and not (self.grouped or self.filtered)

    @property
    def profile(self) -> tuple[int, ...]:
        """Rows of one respondent by answer, where they matter most."""
        return self.contribution.profile if self.grouped else (self.contribution.rows,)

    @property
    def moves_rows(self) -> bool:
        """Whether of neighbours one has other rows in other groups instead."""
        return self.neighbors is NeighboringRelation.CHANGE_ONE and self.grouped


@dataclass(frozen=True, slots=True)
class Bounds:
    """Public bounds of values, declared and never taken from the data; values are clamped into them."""

    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError("a lower bound is not above its upper bound")

    @property
    def width(self) -> Fraction:
        return self.upper - self.lower

    @property
    def magnitude(self) -> Fraction:
        """The greatest absolute value."""
        return max(abs(self.lower), abs(self.upper))


_ONE: Final = Bounds(Fraction(1), Fraction(1))
_UNIT: Final = Bounds(Fraction(0), Fraction(1))
_ADDED: Final = (
    "A respondent adds to each answer at most its rows there times the greatest absolute value, and no"
    " allowed numbers of rows exceed those that fill group after group."
)
_REPLACED: Final = (
    "Some rows are taken away and others added. In one answer this makes the greatest difference where rows"
    " at one bound are replaced by rows at the other, or by none."
)
_MOVED: Final = " Over several groups, rows may also leave some and enter others, where both count in full."


def clipped_sum(bounds: Bounds, query: Query) -> Sensitivity:
    """A sum of values within public bounds.

    A sum over all real numbers has no finite sensitivity (CS208, exercise 2), so there is no sum without
    bounds.
    """
    if query.replaces_one_row:
        return _scalar(bounds.width, "One value is replaced by another, and both lie within the bounds.")
    largest, swing = bounds.magnitude, max(bounds.magnitude, bounds.width)
    if query.neighbors is NeighboringRelation.ADD_OR_REMOVE_ONE:
        return _weighted(query, largest, largest**2, largest, _ADDED)
    if not query.grouped:
        return _weighted(query, swing, swing**2, swing, _REPLACED)
    return _weighted(query, 2 * largest, max(2 * largest**2, swing**2), swing, _REPLACED + _MOVED)


def _weighted(query: Query, l1: Fraction, l2_squared: Fraction, linf: Fraction, proof: str) -> Sensitivity:
    """The sensitivity of an answer whose one row has these norms."""
    profile = query.profile
    squares = sum(rows * rows for rows in profile)
    return Sensitivity(sum(profile) * l1, squares * l2_squared, max(profile) * linf, proof)


def count(query: Query) -> Sensitivity:
    """A number of rows; with one row each, of respondents.

    Without groups and filters, where one respondent with one row is replaced by another, it is public: 0.
    """
    return clipped_sum(_ONE, query)


def binary_sum(query: Query) -> Sensitivity:
    """A number of rows with a property: the sum of zeros and ones (CS208, exercise 1)."""
    return clipped_sum(_UNIT, query)


def histogram(query: Query) -> Sensitivity:
    """Numbers of rows by category, in a contingency table by combinations of categories."""
    return count(replace(query, grouped=True))


def distinct_count(query: Query) -> Sensitivity:
    """A number of different values in the rows of a group.

    Args:
        query: whose respondents may hold values that nobody else holds.
    """
    return _by_rows(
        query,
        "Each row that is added makes at most one value more be present, each that is left out one less.",
    )


def _by_rows(query: Query, proof: str) -> Sensitivity:
    """That of answers which rows that are added or left out, or pairs of both, change by one each."""
    times = Fraction(2 if query.moves_rows else 1)
    proof += " Rows may leave some groups and enter others." if query.moves_rows else ""
    return _weighted(query, times, times, Fraction(1), proof)


def mean_of_known_number(bounds: Bounds, respondents: int) -> Sensitivity:
    """A mean over a public number of respondents with one row each, of which one is replaced.

    (upper - lower) / n. Under add-or-remove-one n is private, and this would not hold: see `mean`.

    Args:
        bounds: of the values.
        respondents: the declared number n, at least 1; never one that was counted for this purpose.
    """
    return _scalar(
        bounds.width / _at_least_one(respondents),
        "One of n values is replaced by another within the bounds, and n stays the same (CS208, exercise"
        " 3).",
    )


def variance_of_known_number(bounds: Bounds, respondents: int) -> Sensitivity:
    """A population variance over a public number of respondents with one row each, one of them replaced.

    (upper - lower)^2 (n - 1) / n^2.

    Args:
        bounds: of the values.
        respondents: the declared number n, at least 1.
    """
    number = _at_least_one(respondents)
    return _scalar(
        bounds.width**2 * Fraction(number - 1, number**2),
        "With n - 1 values fixed, of mean m and variance v, the variance is (n - 1)/n v + (n - 1)/n^2"
        " (x - m)^2 in the remaining value x, and (x - m)^2 lies between 0 and (upper - lower)^2 (CS208,"
        " exercise 5).",
    )


def median_of_known_number(bounds: Bounds) -> Sensitivity:
    """A lower median as a number, which noise would destroy; see `quantile_utility` for what is released.

    upper - lower, whatever the number of respondents.
    """
    return _scalar(
        bounds.width,
        "With as many values at the lower bound as at the upper one, or one more, a replaced value moves"
        " the lower median from one bound to the other (CS208, exercise 4).",
    )


def mean(bounds: Bounds, query: Query) -> tuple[Sensitivity, Sensitivity]:
    """A mean over a private number of rows, as the quotient of a sum and a count (D5.2, 3.2.4).

    The sum of values less the middle of the bounds has less, (upper - lower) / 2: take `bounds` around 0.

    Returns:
        Those of the sum and of the count. Both are released, with a share of the budget each.
    """
    return clipped_sum(bounds, query), count(query)


def variance(bounds: Bounds, query: Query) -> tuple[Sensitivity, Sensitivity, Sensitivity]:
    """A population variance over a private number of rows, as mean of squares minus square of mean.

    Returns:
        Those of the sum of squares, of the sum and of the count, with a share of the budget each.
    """
    ends = bounds.lower**2, bounds.upper**2
    least = Fraction(0) if bounds.lower <= 0 <= bounds.upper else min(ends)
    return clipped_sum(Bounds(least, max(ends)), query), *mean(bounds, query)


def quantile_utility(query: Query) -> Sensitivity:
    """The utility of candidates for a quantile, of which one is chosen in each group.

    It is minus the distance in ranks between a candidate and the wanted rank: `rank_utilities`.

    Returns:
        `linf` is about the utilities in one group, `l1` adds up the greatest change of each group.
    """
    return _by_rows(
        query,
        "A row moves the ranks of a candidate and the wanted rank by 0 or 1, all in one direction, so their"
        " distance by at most 1; a row that replaces another one leaves the wanted rank where it is.",
    )


def mode_utility(query: Query) -> Sensitivity:
    """The utility of each category for the most frequent one, its number of rows."""
    return histogram(query)


def rank_utilities(below: Sequence[int], upto: Sequence[int], rows: int, level: Fraction) -> list[int]:
    """What `quantile_utility` is about: minus the distance of candidates from the wanted rank.

    On the different values of D5.2's Figure 3.6 it is the quality function printed there.

    Args:
        below: by candidate, the number of rows whose value is smaller.
        upto: by candidate, the number of rows whose value is not greater.
        rows: the number of rows, n.
        level: in (0, 1]; the wanted rank is ceil(level n) - 1, counted from 0: the lower median for 1/2.

    >>> values = [1, 3, 5, 7, 8, 11, 12, 13, 17, 22]
    >>> rank_utilities(range(10), range(1, 11), 10, Fraction(1, 2))
    [-4, -3, -2, -1, 0, -1, -2, -3, -4, -5]
    """
    wanted = max(math.ceil(level * rows) - 1, 0)
    return [
        min(0, wanted - first, max(first, last - 1) - wanted)
        for first, last in zip(below, upto, strict=True)
    ]


def split_budget(total: Fraction, weights: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """A budget divided in proportion to weights; the parts add up to it exactly.

    Sequential composition (D5.2, Theorem 2), and for the columns of a record local algorithms (D5.2,
    Definition 7): what is spent on the parts is their sum.

    Args:
        total: above 0.
        weights: above 0 each.

    >>> split_budget(Fraction(2), [Fraction(1), Fraction(1)])
    (Fraction(1, 1), Fraction(1, 1))
    """
    if total <= 0 or not weights or min(weights) <= 0:
        raise ValueError("a budget and the weights of its parts are above 0")
    return tuple(total * weight / sum(weights) for weight in weights)


def _scalar(value: Fraction, proof: str) -> Sensitivity:
    return Sensitivity(value, value**2, value, proof)


def _at_least_one(number: int) -> int:
    if number < 1:
        raise ValueError("a number of respondents is at least 1")
    return number
