"""The source of randomness for training: the operating system, or a seed in tests and studies.

A seed that is known lets its holder subtract the noise, so what is made from one promises no privacy. The
kind of randomness travels with each model that is trained, into its file and its description.
"""

import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint32]
"""Shape (number, 2): keys of JAX's threefry generator, of 64 bits each."""


class Origin(StrEnum):
    """Where the randomness of a model came from."""

    SYSTEM = "operating system"
    SEED = "seed, test only"


class Randomness(ABC):
    """A source of keys for models that are trained together."""

    __slots__ = ()

    @property
    @abstractmethod
    def origin(self) -> Origin:
        """What is noted in all that is made from it."""

    @abstractmethod
    def keys(self, model: int, number: int) -> Keys:
        """Keys for one model, each used once.

        Args:
            model: its number among all that this randomness is for, from 0.
            number: how many.
        """


@dataclass(frozen=True, slots=True)
class FromSystem(Randomness):
    """The operating system's generator: each key is drawn from it anew, and none is recorded.

    A key has 64 bits, so each step of training has one of its own: whoever guessed one would know the noise
    of one step of one model.
    """

    @property
    def origin(self) -> Origin:
        return Origin.SYSTEM

    def keys(self, model: int, number: int) -> Keys:
        return np.frombuffer(secrets.token_bytes(8 * number), np.uint32).reshape(number, 2)


@dataclass(frozen=True, slots=True)
class Seeded(Randomness):
    """Test only: equal seeds give equal models, whatever they are trained together with.

    Equal up to the versions of NumPy and JAX, and the kind of processor.
    """

    seed: int
    """At least 0."""
    first: int = 0
    """Numbers of models count from here, so that models can be trained in several calls."""

    def __post_init__(self) -> None:
        if self.seed < 0 or self.first < 0:
            raise ValueError("a seed and the number of a model are not negative")

    @property
    def origin(self) -> Origin:
        return Origin.SEED

    def keys(self, model: int, number: int) -> Keys:
        random = np.random.default_rng((self.seed, self.first + model))
        return random.integers(0, 1 << 32, (number, 2), np.uint32)
