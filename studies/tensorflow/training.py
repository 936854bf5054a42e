"""Private training by tensorflow-privacy: a second back end, for studies and cross-checks only.

What its optimizers do was checked against `gradients` and `accounting` (`make test-tf`). What it trains is
never private in the sense of a certificate, for its noise cannot carry the promise:

- Noise is drawn in 32 bits, by TensorFlow. Box and Muller's method takes a uniform number of at least 1e-7
  there (`BoxMullerFloat` of tsl/lib/random/random_distributions_utils.h, TensorFlow 2.15.1), so noise ends
  at r = sqrt(-2 ln 1e-7) = 5.68 standard deviations. Let a record shift one coordinate by s of them: where
  noise is above r - s, the sum is beyond all that it can be without the record. At s = 1 this happens with
  probability 1.4e-6 in a step, and no epsilon is true with a delta below that.
- Without a seed, all noise of a process comes from one number of 32 bits of the operating system
  (`InitRngWithRandomSeed` of tsl/platform/random.cc), which can be guessed by trying.

So all of it comes from a seed here, and every model says so: `Origin.SEED`, test only.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from smalti.studies.tensorflow.libraries import Libraries, libraries
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.randomness import Keys, Origin, Seeded
from smalti.transforms.problem import Flags, Integers

if TYPE_CHECKING:
    from smalti.transforms.learning.models import TrainedModels

Floats = NDArray[np.floating]

END_OF_NOISE: Final = math.sqrt(-2 * math.log(1e-7))
"""Standard deviations beyond which TensorFlow draws no noise."""
_LEAST_ROOT: Final = 1e-8
"""Of Adam, as in `optimizers`; but Keras adds it before the second moment is corrected."""


class Variant(StrEnum):
    """A family of optimizers of tensorflow-privacy; both do the same, in other ways."""

    LOOP = "DPKeras"
    """`DPKerasSGDOptimizer`, `DPKerasAdamOptimizer`: gradients are clipped one after the other."""
    VECTORIZED = "VectorizedDPKeras"
    """`VectorizedDPKerasSGDOptimizer`, `VectorizedDPKerasAdamOptimizer`: all at once."""


@dataclass(frozen=True, slots=True, eq=False)
class KerasNetworks:
    """Networks of one architecture that tensorflow-privacy trained alike; for studies only."""

    architecture: Architecture
    hyperparameters: Hyperparameters
    models: tuple[Any, ...]
    """Keras models, which give logits."""

    @property
    def origin(self) -> Origin:
        return Origin.SEED

    def trained_models(self) -> "TrainedModels":
        """The same networks, to be used without TensorFlow; their description says "test only".

        Raises:
            BackendError: JAX is missing. It is no part of this extra, as today's JAX and TensorFlow 2.15
                need other versions of NumPy; the last JAX below 0.5 goes with both.
        """
        from smalti.transforms.learning.models import Description, TrainedModels  # noqa: PLC0415 (JAX)
        from smalti.transforms.learning.networks import Layer, stack  # noqa: PLC0415 (JAX)

        weights = [model.get_weights() for model in self.models]
        layers = [tuple(map(Layer, arrays[::2], arrays[1::2])) for arrays in weights]
        description = Description(self.architecture, self.hyperparameters, self.origin)
        return TrainedModels(description, stack(layers))


def train(
    architecture: Architecture,
    hyperparameters: Hyperparameters,
    data: tuple[Floats, Integers],
    members: Flags,
    randomness: Seeded,
    variant: Variant = Variant.VECTORIZED,
) -> KerasNetworks:
    """Train one network for each set of members, with DP-SGD or DP-Adam of tensorflow-privacy.

    Each record is in a batch with probability q, independently of all others. Their optimizers take
    batches of one size and divide by it; so each batch is filled up with records of weight 0 to the size of
    the largest, and what they give is brought to the public number that `training` divides by.

    Contract:
        Guarantee  none. Ideal noise would make each step one of the Poisson-sampled Gaussian mechanism, as
                   in `training.train`.
        Not given  privacy, see above; the same networks as `training.train`. A gradient without a finite
                   norm spoils the network: here it does not count as 0.
        Changed    TensorFlow's global seed.

    Args:
        architecture: of all networks.
        hyperparameters: of all networks; they must ask for privacy.
        data: finite features of shape (records, features), and labels of shape (records,), from 0 to below
            the classes.
        members: shape (models, records), true for the records that a model is trained on.
        randomness: of starts, batches and noise; the networks do not depend on one another.
        variant: which of their optimizers.

    Raises:
        BackendError: the libraries are missing, or do not fit.
        ValueError: shapes do not fit, a label is none, a feature is not finite, or no privacy is asked for.
    """
    private = _checked(architecture, hyperparameters, data, members)
    both = libraries()
    models = []
    for number, own in enumerate(members):
        start, sampling, noise = randomness.keys(number, 3)
        both.tensorflow.random.set_seed(int(noise[0]))
        model = keras_network(both, architecture, start)
        batches = _batches(own, private.sampling_rate, hyperparameters.private_steps, sampling)
        _train_one(both, model, hyperparameters, data, batches, variant)
        models.append(model)
    return KerasNetworks(architecture, hyperparameters, tuple(models))


def keras_network(both: Libraries, architecture: Architecture, key: Keys) -> Any:
    """A Keras model that gives logits, where training starts: distributed as `initial_parameters`.

    Args:
        both: the libraries.
        architecture: of the network.
        key: two numbers, from which the start follows.
    """
    keras = both.tensorflow.keras
    seeds = np.random.default_rng(key).integers(0, 1 << 31, len(architecture.shapes)).tolist()
    activations = [architecture.activation.value] * len(architecture.hidden) + [None]
    layers = [
        keras.layers.Dense(
            after, activation=activation, kernel_initializer=keras.initializers.GlorotUniform(seed=seed)
        )
        for (_, after), activation, seed in zip(architecture.shapes, activations, seeds, strict=True)
    ]
    return keras.Sequential([keras.Input((architecture.features,)), *layers])


def private_optimizer(
    both: Libraries, hyperparameters: Hyperparameters, records: int, variant: Variant
) -> Any:
    """An optimizer of tensorflow-privacy whose steps are those of `training`.

    Args:
        both: the libraries.
        hyperparameters: with privacy.
        records: of each batch, padding included; it takes the loss of each of them.
        variant: which of their optimizers.
    """
    private = hyperparameters.private
    assert private is not None  # noqa: S101 (for the type checker)
    is_adam = hyperparameters.optimizer is Optimizer.ADAM
    optimizer = getattr(both.privacy, f"{variant.value}{'Adam' if is_adam else 'SGD'}Optimizer")
    # Theirs is divided by the size of the batch, which depends on who is in it.
    times = records / hyperparameters.batch_size
    return optimizer(
        l2_norm_clip=private.clipping_norm,
        noise_multiplier=private.noise_multiplier,
        num_microbatches=records,
        learning_rate=hyperparameters.learning_rate,
        gradient_transformers=[lambda pairs: [(gradient * times, of) for gradient, of in pairs]],
        **({"epsilon": _LEAST_ROOT} if is_adam else {}),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Batches:
    """Of all steps; whom they have is drawn before the first, for it depends on no data."""

    chosen: list[Integers]
    """For each step the places of the records."""

    @property
    def size(self) -> int:
        """Of the largest, and at least 1."""
        return max(1, *map(len, self.chosen))

    def padded(self) -> Iterator[tuple[Integers, NDArray[np.float32]]]:
        """For each step places and weights: 1 for records of the batch, 0 for padding."""
        ranks = np.arange(self.size)
        for places in self.chosen:
            filled = np.zeros(self.size, np.int64)
            filled[: len(places)] = places
            yield filled, (ranks < len(places)).astype(np.float32)


def _batches(members: Flags, rate: float, steps: int, key: Keys) -> _Batches:
    random = np.random.default_rng(key)
    return _Batches([np.flatnonzero(members & (random.random(len(members)) < rate)) for _ in range(steps)])


def _train_one(
    both: Libraries,
    model: Any,
    hyperparameters: Hyperparameters,
    data: tuple[Floats, Integers],
    batches: _Batches,
    variant: Variant,
) -> None:
    tensorflow = both.tensorflow
    features = tensorflow.constant(data[0], tensorflow.float32)
    labels = tensorflow.constant(data[1], tensorflow.int32)
    optimizer = private_optimizer(both, hyperparameters, batches.size, variant)

    @tensorflow.function  # type: ignore[untyped-decorator]
    def step(places: Any, weights: Any) -> None:
        with tensorflow.GradientTape() as tape:
            logits = model(tensorflow.gather(features, places), training=True)
            losses = weights * tensorflow.nn.sparse_softmax_cross_entropy_with_logits(
                tensorflow.gather(labels, places), logits
            )
        optimizer.minimize(losses, model.trainable_variables, tape=tape)

    for places, weights in batches.padded():
        step(tensorflow.constant(places), tensorflow.constant(weights))


def _checked(
    architecture: Architecture,
    hyperparameters: Hyperparameters,
    data: tuple[Floats, Integers],
    members: Flags,
) -> PrivateTraining:
    features, labels = data
    if hyperparameters.private is None:
        raise ValueError("this back end trains with privacy only")
    if np.shape(features) != (len(labels), architecture.features) or not len(labels):
        raise ValueError("a row of features and a label are expected for each record")
    if np.ndim(members) != 2 or members.shape[1] != len(labels) or members.dtype != np.bool_:
        raise ValueError("a flag is expected for each model and record")
    if labels.dtype.kind not in "iu" or not 0 <= labels.min() <= labels.max() < architecture.classes:
        raise ValueError("labels are whole numbers from 0 to below the number of classes")
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(np.asarray(features, np.float32)).all()
    if not is_finite:
        raise ValueError("features are finite numbers of 32 bits")
    return hyperparameters.private
