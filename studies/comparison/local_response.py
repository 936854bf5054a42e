"""Local differential privacy of binary features: randomised response on each bit of each record.

D5.2, 4.3: it is applied to training data before anybody sees them, so that any training on them, and
whatever is made from a model, loses no more. Bits are answered independently of each other, so their losses
add up over a record (D5.2, Definition 7).
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.noise.randomized_response import RandomizedResponse
from smalti.transforms.noise.samplers import SAMPLER, Sampler

_BLOCK: Final = 1 << 20
"""Bits that are answered at once."""


@dataclass(frozen=True, slots=True)
class LocalResponse:
    """Answers of records with binary features.

    Contract:
        Guarantee  `record_epsilon` between any two records; `epsilon` between two that differ in one bit.
        Not given  privacy of the labels, which are left as they are.
    """

    features: int
    """Bits of a record, at least 1."""
    response: RandomizedResponse
    """Of one bit: with two categories."""

    def __post_init__(self) -> None:
        if self.features < 1 or self.response.categories != 2:
            raise ValueError("each of one feature or more is answered with one of two categories")

    @classmethod
    def calibrated(cls, features: int, epsilon: float) -> Self:
        """The least changes of a loss within epsilon of each bit."""
        return cls(features, RandomizedResponse.calibrated(2, epsilon))

    @property
    def epsilon(self) -> float:
        """The loss of one bit, in nats."""
        return self.response.epsilon

    @property
    def record_epsilon(self) -> float:
        """The loss of a whole record, in nats: that of one bit for each feature."""
        return self.features * self.response.epsilon

    def perturbed(self, features: NDArray[np.float32], sampler: Sampler = SAMPLER) -> NDArray[np.float32]:
        """The reported bits.

        Args:
            features: shape (records, features), each 0 or 1; what is neither counts as 0.
            sampler: where the randomness comes from.

        Returns:
            The same shape, each 0 or 1.
        """
        if features.ndim != 2 or features.shape[1] != self.features:
            raise ValueError(f"records of {self.features} features are expected")
        bits = (features == 1).ravel()
        reported = np.empty(bits.shape, np.float32)
        for start in range(0, len(bits), _BLOCK):
            block = slice(start, start + _BLOCK)
            reported[block] = self.response.perturbed(bits[block].astype(np.int64), sampler)
        return reported.reshape(features.shape)
