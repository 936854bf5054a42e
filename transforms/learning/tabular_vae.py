"""A variational autoencoder of records of categories, and its samples.

Kingma, Welling, "Auto-Encoding Variational Bayes", ICLR 2014, with dense layers of tanh. The encoder sees a
record as marks, one for each category of each column; the decoder gives each column a distribution over its
categories, so whatever is drawn lies in the public domain. The loss of a record is the cross-entropy of all
columns, plus the divergence of its latent distribution from the standard normal one, by a weight.

The latent noise of a record is drawn for it alone, so for each draw of all of it one record changes a sum
of clipped gradients by the clipping norm at most; a mixture over draws loses no more (joint convexity of
the divergences behind the accounts). What is sampled from a private model is made from the model alone,
and costs nothing more (Dwork, Roth, "The Algorithmic Foundations of Differential Privacy", 2014,
Proposition 2.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.architecture import LARGEST_SIZE
from smalti.transforms.learning.autoencoders import uniform_layers
from smalti.transforms.learning.gradients import clipped_sum, weighted_sum
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.networks import Floats, Layer, Parameters
from smalti.transforms.learning.objectives import Batch, keys_of_records
from smalti.transforms.learning.randomness import Origin, Randomness
from smalti.transforms.learning.training import train_networks
from smalti.transforms.problem import Integers

_LARGEST_SPREAD: Final = 8.0
"""Of the logarithm of a latent variance, either way: its exponential is far from both ends of floats."""
_BATCH: Final = 4096
"""Records that are drawn at once; memory does not grow with their number."""


@dataclass(frozen=True, slots=True)
class TabularArchitecture:
    """The form of an autoencoder; needs no library."""

    sizes: tuple[int, ...]
    """The categories of each column, at least 1; at least one column."""
    hidden: int
    """Units of the one hidden layer of the encoder, and of that of the decoder."""
    latent: int
    """Numbers that stand for a record."""
    divergence_weight: float = 1.0
    """Of the divergence in the loss, above 0: below 1 records are kept more closely (beta of Higgins and
    others, "beta-VAE", ICLR 2017)."""

    def __post_init__(self) -> None:
        if not self.sizes or min(*self.sizes, self.hidden, self.latent) < 1:
            raise ValueError("a column, a category in each, a hidden and a latent unit are expected")
        if not 0 < self.divergence_weight < float("inf"):
            raise ValueError("the weight of the divergence is above 0")
        if self.size > LARGEST_SIZE:
            raise ValueError(f"a network has at most {LARGEST_SIZE} parameters")

    @property
    def width(self) -> int:
        """The categories of all columns together."""
        return sum(self.sizes)

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Units before and after each layer of weights: two of the encoder, two of the decoder."""
        return (
            (self.width, self.hidden),
            (self.hidden, 2 * self.latent),
            (self.latent, self.hidden),
            (self.hidden, self.width),
        )

    @property
    def size(self) -> int:
        """The number of parameters.

        >>> TabularArchitecture((3, 2), 4, 2).size
        81
        """
        return sum((before + 1) * after for before, after in self.shapes)

    # --- As an objective of the trainer (`objectives.Objective`)

    @property
    def features(self) -> int:
        """Numbers of a record, as the trainer sees it: one mark for each category."""
        return self.width

    @property
    def classes(self) -> int:
        """Records have no label."""
        return 1

    def initial(self, key: jax.Array) -> Parameters:
        return uniform_layers(self.shapes, key)

    def gradient_sum(self, parameters: Parameters, batch: Batch, key: jax.Array) -> Parameters:
        inputs, given_back = self._propagated(parameters, batch, key)
        return weighted_sum(inputs, given_back, jnp.asarray(batch.mask, given_back[-1].dtype))

    def clipped_gradient_sum(
        self, parameters: Parameters, batch: Batch, key: jax.Array, clipping_norm: float
    ) -> Parameters:
        inputs, given_back = self._propagated(parameters, batch, key)
        return clipped_sum(inputs, given_back, batch.mask, clipping_norm)

    def completed(self, parameters: Parameters, gradient: Parameters, key: jax.Array) -> Parameters:
        del parameters, key
        return gradient

    def losses(self, parameters: Parameters, batch: Batch, key: jax.Array) -> jax.Array:
        """The loss of each record in training, in nats, from one draw of its latent noise."""
        nothing = [jnp.zeros((1, layer.biases.shape[0]), jnp.float32) for layer in parameters]
        return self._losses(parameters, nothing, batch, key)[0]

    def _propagated(
        self, parameters: Parameters, batch: Batch, key: jax.Array
    ) -> tuple[list[jax.Array], list[jax.Array]]:
        """What each layer is given, and the slope of each record's loss at each layer's sums.

        Each layer's sums get an addend of 0; the slope at the sums is that at the addend.
        """
        records = len(batch.labels)
        addends = [jnp.zeros((records, layer.biases.shape[0]), jnp.float32) for layer in parameters]

        def total(added: list[jax.Array]) -> tuple[jax.Array, list[jax.Array]]:
            losses, inputs = self._losses(parameters, added, batch, key)
            return losses.sum(), inputs

        given_back, inputs = jax.grad(total, has_aux=True)(addends)
        return inputs, given_back

    def _losses(
        self, parameters: Parameters, addends: list[jax.Array], batch: Batch, key: jax.Array
    ) -> tuple[jax.Array, list[jax.Array]]:
        normal = jax.vmap(lambda own: jax.random.normal(own, (self.latent,), jnp.float32))(
            keys_of_records(key, batch.places)
        )
        inputs = [jnp.asarray(batch.features)]

        def sums(number: int) -> jax.Array:
            layer = parameters[number]
            return inputs[number] @ layer.weights + layer.biases + addends[number]

        inputs.append(jnp.tanh(sums(0)))
        middle, logarithm = jnp.split(sums(1), 2, axis=1)
        logarithm = jnp.clip(logarithm, -_LARGEST_SPREAD, _LARGEST_SPREAD)
        inputs.append(middle + jnp.exp(logarithm / 2) * normal)
        inputs.append(jnp.tanh(sums(2)))
        divergence = -0.5 * (1 + logarithm - middle**2 - jnp.exp(logarithm)).sum(axis=1)
        return self._unlikely(inputs[0], sums(3)) + self.divergence_weight * divergence, inputs

    def _unlikely(self, marks: jax.Array, logits: jax.Array) -> jax.Array:
        """The cross-entropy of all columns of each record."""
        columns = np.repeat(np.arange(len(self.sizes)), self.sizes)
        largest = jax.ops.segment_max(jax.lax.stop_gradient(logits.T), columns, len(self.sizes)).T
        exponentials = jnp.exp(logits - largest[:, columns])
        sums = exponentials @ (columns[:, None] == np.arange(len(self.sizes))).astype(np.float32)
        return (jnp.log(sums) + largest).sum(axis=1) - (marks * logits).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class TabularModel:
    """A trained autoencoder."""

    architecture: TabularArchitecture
    parameters: Parameters
    """Arrays of NumPy, layer by layer as in `TabularArchitecture.shapes`."""
    randomness: Origin

    @property
    def has_diverged(self) -> bool:
        """Whether nothing can be drawn: a weight is no finite number. A function of the weights alone.

        Elsewhere all sums of a decoder are finite: they are computed in 64 bits, from weights of 32 bits
        and units between -1 and 1, or normal numbers.
        """
        return not all(np.isfinite(array).all() for layer in self.parameters for array in layer)

    def samples(self, number: int, generator: np.random.Generator) -> Iterator[Integers]:
        """Records that are drawn from the model, in parts; memory does not grow with their number.

        Args:
            number: of records, at least 0.
            generator: fresh from the operating system, but for tests.

        Yields:
            Shape (records, columns): categories from 0.

        Raises:
            ValueError: the model has diverged.
        """
        if self.has_diverged:
            raise ValueError("a model whose weights are not finite gives no samples")
        for start in range(0, number, _BATCH):
            yield self._drawn(min(_BATCH, number - start), generator)

    def _drawn(self, number: int, generator: np.random.Generator) -> Integers:
        (weights, biases), (last, offsets) = (
            (np.asarray(layer.weights, np.float64), np.asarray(layer.biases, np.float64))
            for layer in self.parameters[2:]
        )
        latent = generator.standard_normal((number, self.architecture.latent))
        logits = np.tanh(latent @ weights + biases) @ last + offsets
        codes, start = np.empty((number, len(self.architecture.sizes)), np.int64), 0
        for place, size in enumerate(self.architecture.sizes):
            # The largest of logits with Gumbel noise has the distribution of their softmax.
            noise = generator.gumbel(size=(number, size))
            codes[:, place] = (logits[:, start : start + size] + noise).argmax(axis=1)
            start += size
        return codes


def train(
    architecture: TabularArchitecture,
    hyperparameters: Hyperparameters,
    codes: Integers,
    randomness: Randomness,
) -> TabularModel:
    """Train one autoencoder; all that `training.train` says of private training holds of it, too.

    Args:
        architecture: of the network.
        hyperparameters: public.
        codes: shape (records, columns): categories from 0 to below the sizes. Private training may have no
            record at all.
        randomness: the operating system's for what is released.

    Raises:
        ValueError: shapes do not fit, a category is none, or a training without privacy has no record.
    """
    if codes.ndim != 2 or codes.shape[1] != len(architecture.sizes):
        raise ValueError("a category is expected for each record and column")
    if codes.size and not (codes.min() >= 0 and (codes < np.array(architecture.sizes)).all()):
        raise ValueError("categories are whole numbers from 0 to below the sizes")
    marks = _marks(architecture, codes)
    # Of nobody a private training learns from one record that is never drawn.
    members = np.full((1, len(marks)), bool(len(codes)))
    labels = np.zeros(len(marks), np.int64)
    stacked = train_networks(architecture, hyperparameters, (marks, labels), members, randomness)
    layers = tuple(Layer(layer.weights[0], layer.biases[0]) for layer in stacked)
    return TabularModel(architecture, layers, randomness.origin)


def _marks(architecture: TabularArchitecture, codes: Integers) -> Floats:
    """What the encoder sees of records; of none, one that has no category at all."""
    marks = np.zeros((max(len(codes), 1), architecture.width), np.float32)
    starts = np.cumsum((0, *architecture.sizes[:-1]))
    np.put_along_axis(marks[: len(codes)], codes + starts, 1, axis=1)
    return marks
