"""Figures from noisy amounts: a number, and an interval from the noise alone, as exact decimals."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final

from smalti.engine.plan.reads import Measure

_MORE_PLACES: Final = 3
"""That a quotient has, beyond the leading place of its unit."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """A noisy whole number of units, and how far it is from the exact one, but for a stated probability."""

    value: int
    margin: int

    @property
    def ends(self) -> tuple[int, int]:
        return self.value - self.margin, self.value + self.margin


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its interval."""

    value: Fraction | int
    lower: Fraction | int
    upper: Fraction | int


def sum_from_zero(total: Noisy, measure: Measure) -> Figure:
    """A sum of units that are counted from 0; unbiased, and not pulled back into what is possible."""
    unit = Fraction(measure.unit)
    low, high = total.ends
    return Figure(total.value * unit, low * unit, high * unit)


def number(rows: Noisy) -> Figure:
    """A number of rows or values. It may be below 0: it is unbiased, so sums of such numbers are, too."""
    return Figure(rows.value, *rows.ends)


def sum_from_origin(total: Noisy, rows: Noisy, measure: Measure) -> Figure:
    """A sum of units that are counted from elsewhere: the origin is added as often as there are rows."""
    unit, origin = Fraction(measure.unit), Fraction(measure.origin)
    value = total.value * unit + rows.value * origin
    margin = total.margin * unit + rows.margin * abs(origin)
    return Figure(value, value - margin, value + margin)


def mean(total: Noisy, rows: Noisy, measure: Measure) -> Figure:
    """A mean as a quotient; the number of rows counts as 1 at least, and the mean is within the bounds.

    The interval holds the mean of at least one row wherever those of the sum and the number hold theirs: a
    quotient of numbers in two intervals, of which the second is positive, is between those of their ends.
    """
    unit, origin = Fraction(measure.unit), Fraction(measure.origin)
    fewest, most = (max(end, 1) for end in rows.ends)
    low, high = total.ends
    in_units = (
        Fraction(total.value, max(rows.value, 1)),
        min(Fraction(low, fewest), Fraction(low, most)),
        max(Fraction(high, fewest), Fraction(high, most)),
    )
    value, lower, upper = (
        min(max(origin + unit * number, Fraction(measure.lower)), Fraction(measure.upper))
        for number in in_units
    )
    return Figure(value, lower, upper)


def variance(squares: Noisy, total: Noisy, rows: Noisy, measure: Measure) -> Figure:
    """A population variance, mean of squares less square of the mean; from 0 to (upper - lower)^2 / 4.

    The interval holds the variance of at least one row wherever those of all three hold theirs. For a
    number n of rows it is squares x - total^2 x^2 with x = 1/n: it grows with the squares, falls with the
    distance of the total from 0, and is concave in x, so it is least at an end of x, and greatest there
    or at squares / (2 total^2).
    """
    fewest, most = (Fraction(1, max(end, 1)) for end in rows.ends[::-1])
    low, high = total.ends
    nearest = 0 if low <= 0 <= high else min(abs(low), abs(high))
    furthest = max(abs(low), abs(high))
    least, greatest = squares.ends
    least = max(least, 0)

    def at(amount: int, distance: int, x: Fraction) -> Fraction:
        return amount * x - (distance * x) ** 2

    top = [fewest, most]
    if nearest and fewest < (peak := Fraction(greatest, 2 * nearest**2)) < most:
        top.append(peak)
    in_units = (
        at(squares.value, total.value, Fraction(1, max(rows.value, 1))),
        min(at(least, furthest, x) for x in (fewest, most)),
        max(at(greatest, nearest, x) for x in top),
    )
    largest = ((Fraction(measure.upper) - Fraction(measure.lower)) / 2) ** 2
    value, lower, upper = (
        min(max(number * Fraction(measure.unit) ** 2, Fraction(0)), largest) for number in in_units
    )
    return Figure(value, lower, upper)


def mean_places(measure: Measure) -> int:
    """How many decimal places a mean has: three beyond its unit's first, and all that the bounds have."""
    ends = max(places(Fraction(measure.lower)), places(Fraction(measure.upper)))
    return max(_MORE_PLACES - measure.unit.adjusted(), ends, 0)


def variance_places(measure: Measure) -> int:
    """How many decimal places a variance has: three beyond the first of its unit squared."""
    return max(_MORE_PLACES - 2 * measure.unit.adjusted(), 0)


def written(figure: Figure, digits: int) -> tuple[str, str, str]:
    """Value, lower and upper end with some decimal places, the ends rounded outwards.

    >>> written(Figure(Fraction(2, 3), Fraction(-1, 3), Fraction(3, 2)), 2)
    ('0.67', '-0.34', '1.5')
    """
    scale = 10**digits
    return (
        _text(round(figure.value * scale), digits),
        _text(floor(figure.lower * scale), digits),
        _text(ceil(figure.upper * scale), digits),
    )


def exact_text(value: Fraction | int) -> str:
    """A number that is a decimal one, with as many places as it needs.

    >>> exact_text(Fraction(-5, 4)), exact_text(Fraction(300))
    ('-1.25', '300')
    """
    needed = places(value)
    return _text(int(value * 10**needed), needed)


def places(value: Fraction | int) -> int:
    """How many decimal places a decimal number needs."""
    needed = 0
    while (value * 10**needed).denominator != 1:
        needed += 1
    return needed


def _text(units: int, digits: int) -> str:
    text = str(abs(units)).rjust(digits + 1, "0")
    whole, rest = text[: len(text) - digits], text[len(text) - digits :].rstrip("0")
    sign = "-" if units < 0 else ""
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"
