"""Skewed Purchases: made-up shopping carts, whose training and test data are distributed differently.

MOSAICrOWN D5.2, 4.3.2. A record has 600 bits and one of C classes. Of its bits, 600 / C are indicator bits
of its class, which are 1 with probability 0.8; all others are noise bits, which are 1 with probability 0.2
in training data and 0.5 in test data. The document does not say which bits indicate a class: here it is a
block of its own for each. All classes are equally likely.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.problem import Integers

FEATURES: Final = 600
RECORDS: Final = 200_000
"""Of the whole data set in the document."""
NOISE_OF_FIGURE: Final = (0.5, 0.4, 0.3, 0.2, 0.1)
"""The noise of training data behind D5.2, figure 4.4: its entropy differences are 0 to 0.53 with these."""
_BLOCK: Final = 4096


@dataclass(frozen=True, slots=True)
class SkewedPurchases:
    """The distributions of training and test data; a generator of NumPy draws from them."""

    classes: int
    """C: a divisor of 600, at least 2; the document has 10, 20, 50 and 100."""
    indicator: float = 0.8
    """The probability of 1 of an indicator bit."""
    noise_in_training: float = 0.2
    """The probability of 1 of a noise bit in training data."""
    noise_in_test: float = 0.5
    """The probability of 1 of a noise bit in test data."""

    def __post_init__(self) -> None:
        if self.classes < 2 or FEATURES % self.classes:
            raise ValueError(f"the number of classes is a divisor of {FEATURES}, from 2")
        if not all(0 <= p <= 1 for p in (self.indicator, self.noise_in_training, self.noise_in_test)):
            raise ValueError("a probability lies between 0 and 1")

    @property
    def entropy_difference(self) -> float:
        """The entropy of a noise bit in test data less that in training data, in bits.

        >>> round(SkewedPurchases(10).entropy_difference, 2)
        0.28
        """
        return _entropy(self.noise_in_test) - _entropy(self.noise_in_training)

    def training(
        self, records: int, generator: np.random.Generator
    ) -> tuple[NDArray[np.float32], Integers]:
        """Draw training data: features of shape (records, 600), each 0 or 1, and labels below C."""
        return self._drawn(records, self.noise_in_training, generator)

    def test(self, records: int, generator: np.random.Generator) -> tuple[NDArray[np.float32], Integers]:
        """Draw test data of the same form."""
        return self._drawn(records, self.noise_in_test, generator)

    def _drawn(
        self, records: int, noise: float, generator: np.random.Generator
    ) -> tuple[NDArray[np.float32], Integers]:
        labels = generator.integers(0, self.classes, records)
        features = np.empty((records, FEATURES), np.float32)
        class_of_bit = np.arange(FEATURES) // (FEATURES // self.classes)
        for start in range(0, records, _BLOCK):
            block = slice(start, start + _BLOCK)
            indicates = class_of_bit == labels[block, None]
            chances = np.where(indicates, np.float32(self.indicator), np.float32(noise))
            features[block] = generator.random(chances.shape, np.float32) < chances
        return features, labels


def _entropy(probability: float) -> float:
    """Of one bit, in bits."""
    parts = (probability, 1 - probability)
    return -sum(part * math.log2(part) for part in parts if part)
