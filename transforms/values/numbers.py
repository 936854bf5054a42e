"""Decimal texts as whole numbers of one unit: exact, in 64 bits where they fit.

Texts are of the lexical form of an integer, a decimal or a double (`values.texts`). A unit
is given by its decimal places: 10 ** -places, so that -2 stands for hundreds.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.transforms.problem import Integers

_MOST_DIGITS: Final = 18
_SAMPLE: Final = 1 << 12
_FEW_DIGITS: Final = 15
_SMALL_POWER: Final = 290
_POWERS: Final = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Written:
    """Numbers as they are written: each is its digits, with their sign, times 10 ** exponent."""

    mantissas: pa.Array
    """What stands before the exponent."""
    lengths: Integers
    """Of the mantissas without their points."""
    exponents: Integers

    @property
    def digits(self) -> pa.Array:
        return pc.replace_substring(self.mantissas, ".", "")


def decimal_places(texts: pa.Array) -> int:
    """Those of the greatest unit that all of these numbers are written in whole multiples of.

    >>> decimal_places(pa.array(["1.50", "7"])), decimal_places(pa.array(["2e3", "5e2"]))
    (2, -2)
    """
    return _places(_written(texts))


def narrow_numbers(texts: pa.Array, places: int | None) -> Integers | None:
    """The numbers in units of 10 ** -places; None where some has more than 18 digits in this unit.

    Args:
        texts: the numbers.
        places: at least those of `decimal_places`, which are taken where it is None.
    """
    if len(texts) > _SAMPLE and narrow_numbers(texts.slice(0, _SAMPLE), places) is None:
        return None
    written = _written(texts)
    shifts = written.exponents + (_places(written) if places is None else places)
    if np.max(written.lengths + shifts, initial=0) > _MOST_DIGITS:
        return None
    digits: Integers = written.digits.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return digits * _POWERS[shifts]


def wide_numbers(texts: pa.Array, places: int | None) -> list[int]:
    """As `narrow_numbers`, of any length."""
    written = _written(texts)
    shifts = written.exponents + (_places(written) if places is None else places)
    digits = map(int, written.digits.to_pylist())
    return [number * 10**shift for number, shift in zip(digits, shifts.tolist(), strict=True)]


def nearest_doubles(texts: pa.Array) -> NDArray[np.float64]:
    """The double next to each number, infinite beyond the last; in the order of the numbers, with ties."""
    doubles: NDArray[np.float64] = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return doubles


def shortest_doubles(texts: pa.Array) -> pa.Array:
    """The same text for all numbers that have one nearest double (IEEE 754), minus zero and zero too.

    Exact comparison of these compares doubles. A number of at most 15 digits, not near the ends of the
    doubles, is the shortest one next to its double, and stays as it is; of the others the shortest is
    taken. So numbers are equal exactly where their doubles are, and in the same order.
    """
    written = _written(texts)
    is_other = (written.lengths > _FEW_DIGITS) | (np.abs(_powers(texts)) > _SMALL_POWER)
    if not is_other.any():
        return texts
    others = [repr(float(text)) for text in texts.filter(pa.array(is_other)).to_pylist()]
    return pc.replace_with_mask(texts, pa.array(is_other), pa.array(others, texts.type))


def _written(texts: pa.Array) -> _Written:
    mantissas, exponents = texts, _powers(texts)
    if _has_powers(texts):
        mantissas = pc.replace_substring_regex(texts, "[eE].*", "")
    lengths = pc.binary_length(mantissas).to_numpy(zero_copy_only=False).astype(np.int64)
    points = _find(mantissas, ".")
    fractions = np.where(points < 0, 0, lengths - points - 1)
    return _Written(mantissas, lengths - (points >= 0), exponents - fractions)


def _has_powers(texts: pa.Array) -> bool:
    return any(bool(np.any(_find(texts, letter) >= 0)) for letter in "eE")


def _powers(texts: pa.Array) -> Integers:
    """What is written behind `e`; 0 where nothing is."""
    if not _has_powers(texts):
        return np.zeros(len(texts), np.int64)
    powers = pc.replace_substring_regex(texts, r"^[^eE]*[eE]?\+?", "")
    powers = pc.if_else(pc.equal(powers, ""), pa.scalar("0", powers.type), powers)
    exponents: Integers = powers.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return exponents


def _places(written: _Written) -> int:
    return -int(written.exponents.min()) if len(written.exponents) else 0


def _find(texts: pa.Array, mark: str) -> Integers:
    """The index at which a mark stands, or -1."""
    places: Integers = pc.find_substring(texts, mark).to_numpy(zero_copy_only=False).astype(np.int64)
    return places
