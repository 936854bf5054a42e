"""The bounded range of noise of 64 bits, and what its ends add to delta; needs no library."""

import math
from typing import Final

REACH: Final = 8.1
"""Standard deviations within which the noise of private training ends at the earliest."""


def added_by_ends(coordinates: int, shift: float) -> float:
    """What the ends of the noise add to delta in one step, at most; proof: `private_training`.

    Args:
        coordinates: how many numbers get noise.
        shift: how far one respondent moves them, in standard deviations (l2); at most `REACH` - 1.
    """
    if not 0 < shift <= REACH - 1:
        raise ValueError(f"a shift above 0 and of at most {REACH - 1} standard deviations is expected")
    return math.sqrt(coordinates) * shift * _density(REACH) + shift * _density(REACH - shift) / 2


def spread(coordinates: int, steps: int) -> float:
    """By which share every probability may be too large, as what is cut off is spread over the rest."""
    return math.expm1(-coordinates * steps * math.log1p(-math.erfc(REACH / math.sqrt(2))))


def _density(place: float) -> float:
    return math.exp(-place * place / 2) / math.sqrt(2 * math.pi)
