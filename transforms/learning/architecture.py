"""The architecture of a dense network; needs no library."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

LARGEST_SIZE: Final = 1 << 26
"""Parameters of one network, at most: 256 MB of them."""


class Activation(StrEnum):
    """What a hidden unit does with its sum."""

    TANH = "tanh"
    RELU = "relu"


@dataclass(frozen=True, slots=True)
class Architecture:
    """A dense network whose last layer is a softmax; without hidden layers it is softmax regression."""

    features: int
    """Numbers of a record, at least 1."""
    hidden: tuple[int, ...]
    """Units of each hidden layer, each at least 1."""
    classes: int
    """At least 2; labels are whole numbers from 0 to below it."""
    activation: Activation = Activation.TANH
    """Of all hidden layers."""

    def __post_init__(self) -> None:
        if self.features < 1 or self.classes < 2 or any(units < 1 for units in self.hidden):
            raise ValueError(
                "a network has a feature, a unit in each hidden layer, and two classes at least"
            )
        if self.size > LARGEST_SIZE:
            raise ValueError(f"a network has at most {LARGEST_SIZE} parameters")

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Units before and after each layer of weights, from the features to the classes."""
        widths = (self.features, *self.hidden, self.classes)
        return tuple(pairwise(widths))

    @property
    def size(self) -> int:
        """The number of parameters.

        >>> Architecture(600, (128,), 100).size
        89828
        """
        return sum((before + 1) * after for before, after in self.shapes)
