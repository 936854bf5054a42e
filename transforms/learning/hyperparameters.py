"""How a network is trained; needs no library."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LARGEST_NOISE: Final = 1e6
"""As a noise multiplier; more is never of use, and floats would lose the gradients in it."""
LEAST_NORM: Final = 1e-10
"""Of clipping, as the largest one: far from both ends of floats of 32 bits, also with noise."""
LARGEST_NORM: Final = 1e10
LEAST_RATE: Final = 2.0**-32
"""Of sampling, for which 32 bits are drawn."""
LARGEST_LEARNING_RATE: Final = 3.4e38
"""Just below the end of floats of 32 bits, in which networks are trained."""


class Optimizer(StrEnum):
    """How a gradient changes the parameters."""

    SGD = "sgd"
    """A step against the gradient."""
    ADAM = "adam"
    """Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, Algorithm 1; its constants."""


@dataclass(frozen=True, slots=True)
class PrivateTraining:
    """What makes training private: the same numbers that an accountant takes.

    All of it is public, as is everything in `Hyperparameters`. None may be computed from the data, not even
    from the exact number of its records.
    """

    noise_multiplier: float
    """z: the standard deviation of the noise in clipping norms, above 0."""
    clipping_norm: float
    """C: the greatest l2-norm of one record's gradient, from `LEAST_NORM` to `LARGEST_NORM`."""
    sampling_rate: float
    """q: the probability of each record to be in a batch, from `LEAST_RATE` to 1."""

    def __post_init__(self) -> None:
        if not 0 < self.noise_multiplier <= LARGEST_NOISE:
            raise ValueError(f"a noise multiplier lies above 0, up to {LARGEST_NOISE:g}")
        if not LEAST_NORM <= self.clipping_norm <= LARGEST_NORM:
            raise ValueError(f"a clipping norm lies between {LEAST_NORM:g} and {LARGEST_NORM:g}")
        if not LEAST_RATE <= self.sampling_rate <= 1:
            raise ValueError("a sampling rate lies between 2^-32 and 1")


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """All parameters of training beside the architecture and the data."""

    epochs: int
    """Passes over the data, at least 1; private training takes 1 / sampling rate steps for each."""
    batch_size: int
    """Records of a step, at least 1. In private training it is public and only what noisy sums are divided
    by; it should be near the sampling rate times a public idea of the number of records."""
    learning_rate: float
    """Above 0, at most `LARGEST_LEARNING_RATE`."""
    optimizer: Optimizer = Optimizer.ADAM
    private: PrivateTraining | None = None
    """None: no privacy."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError("training takes an epoch, and batches of a record")
        if not 0 < self.learning_rate <= LARGEST_LEARNING_RATE:
            raise ValueError(f"a learning rate lies above 0, up to {LARGEST_LEARNING_RATE:g}")

    @property
    def private_steps_of_epoch(self) -> int:
        """Steps in which a record is expected once, at least 1; where training is private."""
        if self.private is None:
            raise ValueError("only private training has a number of steps that does not depend on the data")
        return max(1, round(1 / self.private.sampling_rate))

    @property
    def private_steps(self) -> int:
        """Steps of the whole training, each of which adds noise; where training is private."""
        return self.epochs * self.private_steps_of_epoch
