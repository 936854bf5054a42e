"""The settings of a comparison of central and local differential privacy, their sizes, and the cases.

MOSAICrOWN D5.2, section 4.3: networks on Skewed Purchases, once without privacy, with central differential
privacy (noise in training) and with local differential privacy (randomised response on each bit of the
training data), each attacked by shadow models that are made as it was.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from smalti.errors import SmaltiError, UsageError, raise_all
from smalti.studies.comparison.local_response import LocalResponse
from smalti.studies.comparison.skewed_purchases import FEATURES, NOISE_OF_FIGURE
from smalti.transforms.learning.accounting import LEAST_NOISE, SampledGaussian
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import (
    LARGEST_NOISE,
    Hyperparameters,
    Optimizer,
    PrivateTraining,
)
from smalti.transforms.noise.randomized_response import LARGEST_EPSILON, LEAST_EPSILON

NOISE_IN_TRAINING: Final = 0.2
"""Of Skewed Purchases, where nothing else is said."""
HIDDEN: Final = (128,)
"""Units. The document does not say; this is the network of Shokri et al. 2017 for such data."""
CLIPPING_NORM: Final = 1.0
"""The document does not say."""
_BATCH: Final = 100
_LEARNING_RATE: Final = 1e-3
_LEAST_OF_A_CLASS: Final = 20
"""Records that are expected of each class in all shadow training sets; then one of 100 classes is missing
there, or in what is held against them, with probability 200 e^-20 = 4e-7 for each target."""


@lru_cache
def _by_renyi(mechanism: SampledGaussian, delta: float) -> float:
    # The library warns of each order of the divergence that it leaves out; by the others the bound holds.
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        return mechanism.epsilon_by_renyi(delta)
    finally:
        logging.disable(before)


@dataclass(frozen=True, slots=True)
class Original:
    """No privacy."""


@dataclass(frozen=True, slots=True)
class Central:
    """DP-Adam: noise in training."""

    noise_multiplier: float
    """z: the standard deviation of the noise in clipping norms."""


@dataclass(frozen=True, slots=True)
class Local:
    """Randomised response on each bit of the training data; labels are left as they are."""

    epsilon: float
    """Of each bit."""


Setting: TypeAlias = Original | Central | Local


@dataclass(frozen=True, slots=True)
class Case:
    """One target model with its shadow models."""

    classes: int
    noise_in_training: float
    """The probability of 1 of a noise bit in training data; 0.5 in test data."""
    setting: Setting
    repetition: int
    """From 0. Cases of one repetition, number of classes and noise have the same records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A study on generated data: no privacy is at stake, and none is promised.

    Everything follows from the seed, the noise of training too, up to the versions of NumPy and JAX and the
    kind of processor.

    Raises:
        UsageError, ProblemsError: sizes that do not fit each other, or settings that no model has.
    """

    classes: tuple[int, ...]
    """Each a divisor of 600, from 2."""
    records: int
    """Of each training set. As many of each kind are held against them."""
    epochs: int
    shadow_models: int
    """Of each target."""
    repetitions: int
    """Each draws records and trains models anew."""
    noise_multipliers: tuple[float, ...] = (2.0, 4.0, 6.0, 8.0, 16.0)
    """Of central differential privacy, as the document has them."""
    local_epsilons: tuple[float, ...] = (8.0, 5.0, 3.0, 1.0, 0.1)
    """Of each bit, as the document has them."""
    noises: tuple[float, ...] = NOISE_OF_FIGURE
    """Of training data, for the skew without privacy (figure 4.4); each from 0 to 0.5."""
    seed: int = 0

    def __post_init__(self) -> None:
        raise_all(list(self._problems()))

    @property
    def delta(self) -> float:
        """Of central differential privacy: one by the number of records, as in the document."""
        return 1 / self.records

    @property
    def settings(self) -> tuple[Setting, ...]:
        """In the order of the figures: without privacy first."""
        return (Original(), *map(Central, self.noise_multipliers), *map(Local, self.local_epsilons))

    @property
    def cases(self) -> tuple[Case, ...]:
        """All targets; those of one number of classes and one repetition together, the original first."""
        return tuple(
            Case(classes, noise, setting, repetition)
            for classes in self.classes
            for repetition in range(self.repetitions)
            for noise, setting in self.cases_of_classes
        )

    @property
    def cases_of_classes(self) -> tuple[tuple[float, Setting], ...]:
        """Noise and setting of each target that one number of classes has: settings, then skews."""
        others = (noise for noise in self.noises if noise != NOISE_IN_TRAINING)
        return (
            *((NOISE_IN_TRAINING, setting) for setting in self.settings),
            *((noise, Original()) for noise in others),
        )

    @property
    def models(self) -> int:
        """All models that are trained, targets and shadows."""
        return len(self.cases) * (1 + self.shadow_models)

    def architecture(self, classes: int) -> Architecture:
        """Of every model."""
        return Architecture(FEATURES, HIDDEN, classes)

    def hyperparameters(self, setting: Setting) -> Hyperparameters:
        """The document's, but for the epochs; of target and shadow models alike."""
        private, batch = None, min(_BATCH, self.records)
        if isinstance(setting, Central):
            private = PrivateTraining(setting.noise_multiplier, CLIPPING_NORM, batch / self.records)
        return Hyperparameters(self.epochs, batch, _LEARNING_RATE, Optimizer.ADAM, private)

    def epsilon(self, setting: Central) -> float:
        """What the noise of training would promise of ideal noise without a seed, by loss distributions."""
        return SampledGaussian.of(self.hyperparameters(setting)).epsilon(self.delta)

    def epsilon_by_renyi(self, setting: Central) -> float:
        """The same by Renyi composition, as in the document; looser."""
        return _by_renyi(SampledGaussian.of(self.hyperparameters(setting)), self.delta)

    def response(self, setting: Local) -> LocalResponse:
        """What changes training data."""
        return LocalResponse.calibrated(FEATURES, setting.epsilon)

    def _problems(self) -> Iterator[SmaltiError]:
        least = max(
            (-(-_LEAST_OF_A_CLASS * c // max(1, self.shadow_models)) for c in self.classes), default=1
        )
        several = (self.classes, self.noise_multipliers, self.local_epsilons, self.noises)
        for wrong, problem, expected in (
            (
                not self.classes or any(c < 2 or FEATURES % c for c in self.classes),
                "a number of classes that does not divide the features",
                f"one or more divisors of {FEATURES}, each from 2",
            ),
            (
                min(self.epochs, self.shadow_models, self.repetitions) < 1 or self.seed < 0,
                "there is no epoch, shadow model or repetition, or the seed is below 0",
                "one of each at least, and a seed from 0",
            ),
            (
                self.records < least,
                f"{self.records} records are too few for an attack on each class",
                f"{least} records at least, with so many classes and shadow models",
            ),
            (
                not all(LEAST_NOISE <= z <= LARGEST_NOISE for z in self.noise_multipliers),
                "a noise multiplier without an account",
                f"numbers from {LEAST_NOISE:g} to {LARGEST_NOISE:g}",
            ),
            (
                not all(LEAST_EPSILON <= e <= LARGEST_EPSILON for e in self.local_epsilons),
                "an epsilon outside the range of randomised response",
                f"numbers from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g}",
            ),
            (
                not all(0 <= noise <= 0.5 for noise in self.noises),
                "noise of training data out of range",
                "probabilities from 0 to 0.5",
            ),
            (
                any(len(set(values)) < len(values) for values in several),
                "a number of classes, a setting or a skew is repeated",
                "each once",
            ),
        ):
            if wrong:
                yield UsageError("the comparison", problem, expected)
