"""Base-2 logarithms as whole numbers, the same on every machine."""

from collections.abc import Collection
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

LOGARITHM_UNIT: Final = 1 << 40
"""Logarithms are whole multiples of 2^-40."""
_CONTEXT: Final = Context(prec=40)
_SCALE: Final = _CONTEXT.divide(LOGARITHM_UNIT, _CONTEXT.ln(Decimal(2)))


def logarithms(numbers: Collection[int]) -> dict[int, int]:
    """Base-2 logarithms in units of 2^-40; 0 for 0. `decimal` rounds correctly on every machine."""
    return {n: _logarithm(n) for n in numbers}


@lru_cache(1 << 18)
def _logarithm(n: int) -> int:
    if n == 0:
        return 0
    scaled = _CONTEXT.multiply(_CONTEXT.ln(Decimal(n)), _SCALE)
    return int(_CONTEXT.to_integral_value(scaled))
