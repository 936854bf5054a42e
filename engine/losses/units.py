"""In which steps noise is added to numbers of a datatype."""

from decimal import Decimal
from typing import Final

from smalti.transforms.base import Datatype

DEFAULT_UNITS: Final = 10_000
"""Between the bounds of a measure without a declared unit."""


def default_unit(datatype: Datatype | None, lower: Decimal, upper: Decimal) -> Decimal:
    """The unit of numbers without a declared unit: see `public_measure`."""
    is_whole = lower == lower.to_integral_value() and upper == upper.to_integral_value()
    if datatype is Datatype.INTEGER and is_whole:
        return Decimal(1)
    return (upper - lower) / DEFAULT_UNITS
