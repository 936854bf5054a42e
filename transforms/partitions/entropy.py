"""An exact comparison of the entropies of distributions over the same rows.

The entropy of W rows of which w share each value is log W - (1 / W) * sum of w log w (Shannon 1948), so of
distributions over the same rows the one with the smaller sum has the larger entropy. Logarithms of
floats differ between machines; these are whole numbers.
"""

from typing import Final

import numpy as np

from smalti.transforms.problem import Integers

FRACTION_BITS: Final = 16
_MANTISSA_BITS: Final = 30


def binary_logarithm(numbers: Integers) -> Integers:
    """Base-2 logarithms in units of 2^-16, rounded down; exact for powers of two.

    By squaring a number between 1 and 2: its logarithm's next binary digit is 1 if the square is 2 or
    more (Knuth, The Art of Computer Programming, 1.2.2).

    Args:
        numbers: from 1.

    >>> binary_logarithm(np.array([1, 2, 3, 1 << 40])).tolist()
    [0, 65536, 103872, 2621440]
    """
    exponents, rest = np.zeros_like(numbers), numbers.copy()
    for bits in (32, 16, 8, 4, 2, 1):
        shift = bits * (rest >> bits > 0)
        exponents += shift
        rest >>= shift
    mantissa = np.where(
        exponents <= _MANTISSA_BITS,
        numbers << np.maximum(_MANTISSA_BITS - exponents, 0),
        numbers >> np.maximum(exponents - _MANTISSA_BITS, 0),
    )
    logarithms = exponents
    for _ in range(FRACTION_BITS):
        mantissa = mantissa * mantissa >> _MANTISSA_BITS
        digit = mantissa >> (_MANTISSA_BITS + 1)
        mantissa >>= digit
        logarithms = 2 * logarithms + digit
    return logarithms


def concentration(weights: Integers) -> Integers:
    """What values contribute to the sum of w log w, in units of 2^-16; it fits up to 2^40 rows.

    Args:
        weights: the rows of each value, at least 1.
    """
    return weights * binary_logarithm(weights)
