"""Numbers in whole steps between public bounds: which steps, and how they are written."""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Final

from smalti.transforms.base import Datatype
from smalti.transforms.values.decimal_digits import with_places

DEFAULT_UNITS: Final = 10_000
"""Between the bounds of a measure without a declared unit."""


def default_unit(datatype: Datatype | None, lower: Decimal, upper: Decimal) -> Decimal:
    """The unit of numbers without a declared unit: see `public_measure`."""
    is_whole = lower == lower.to_integral_value() and upper == upper.to_integral_value()
    if datatype is Datatype.INTEGER and is_whole:
        return Decimal(1)
    return (upper - lower) / DEFAULT_UNITS


def texts_of_units(lower: Decimal, unit: Decimal, units: Iterable[int]) -> list[str]:
    """Numbers as they are published: exact, with as many places as the lower bound or the unit has.

    Args:
        lower: bound.
        unit: above 0.
        units: above the lower bound, or below it.
    """
    places = _places(lower, unit)
    origin, step = (int(Fraction(number) * 10**places) for number in (lower, unit))
    return [with_places(origin + step * number, places) for number in units]


def _places(lower: Decimal, unit: Decimal) -> int:
    exponents = (lower.as_tuple().exponent, unit.as_tuple().exponent)
    return max(0, *(-exponent for exponent in exponents if isinstance(exponent, int)))
