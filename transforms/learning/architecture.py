"""The architectures of networks that classify; needs no library."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import prod
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


@dataclass(frozen=True, slots=True)
class ConvolutionalArchitecture:
    """Convolutions on grey images, each followed by ReLU and max pooling, and a softmax of what is left.

    Convolutions have stride 1 and no padding; pooling takes squares that do not overlap, and leaves out
    what is not filled at the right and lower edges. By default it is the network that arXiv 2103.02913
    trains on MNIST (section 6), without its batch normalisation: that makes the gradient of one record
    depend on all others, so that clipping bounds nothing.
    """

    height: int
    """Of an image, in pixels; a record is the image's rows of pixels, one after the other."""
    width: int
    classes: int
    """At least 2; labels are whole numbers from 0 to below it."""
    filters: tuple[int, ...] = (16, 16)
    """Channels after each convolution, each at least 1; at least one convolution."""
    kernel: int = 3
    """Height and width of each convolution, at least 1."""
    pool: int = 2
    """Height and width of pooling, at least 1."""

    def __post_init__(self) -> None:
        if self.classes < 2 or not self.filters or min(*self.filters, self.kernel, self.pool) < 1:
            raise ValueError("a convolutional network has a convolution, and two classes at least")
        if min(self.height, self.width) < 1 or min(self.images[-1][:2]) < 1:
            raise ValueError("an image is too small for the convolutions and for pooling")
        if self.size > LARGEST_SIZE:
            raise ValueError(f"a network has at most {LARGEST_SIZE} parameters")

    @property
    def features(self) -> int:
        """Numbers of a record."""
        return self.height * self.width

    @property
    def images(self) -> tuple[tuple[int, int, int], ...]:
        """Height, width and channels of what each convolution is given, and last of what is left."""
        sizes = [(self.height, self.width, 1)]
        for channels in self.filters:
            height, width, _ = sizes[-1]
            sizes.append((self._shrunk(height), self._shrunk(width), channels))
        return tuple(sizes)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of all weights: (kernel, kernel, channels before, channels after), and the softmax."""
        convolutions = [
            (self.kernel, self.kernel, before[2], after[2]) for before, after in pairwise(self.images)
        ]
        return (*convolutions, (prod(self.images[-1]), self.classes))

    @property
    def size(self) -> int:
        """The number of parameters.

        >>> ConvolutionalArchitecture(28, 28, 10).size
        6490
        """
        return sum(prod(shape) + shape[-1] for shape in self.shapes)

    def _shrunk(self, length: int) -> int:
        return max(0, length - self.kernel + 1) // self.pool
