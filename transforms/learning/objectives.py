"""What the trainer minimises: for a classifier, an autoencoder, or two networks that are adversaries.

An objective is public and hashable: one compiled computation serves all trainings that share it. In private
training the accounts rest on `Objective.clipped_gradient_sum` alone, whatever else an objective does.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.gradients import clipped_gradient_sum, gradient_sum
from smalti.transforms.learning.networks import Array, Parameters, initial_parameters


class Batch(NamedTuple):
    """Records of one step."""

    features: Array
    """Shape (records, features)."""
    labels: Array
    """Shape (records,)."""
    mask: Array
    """Shape (records,): 1 for records that count, 0 for padding."""
    places: Array
    """Shape (records,): where the records stand among all, so that each has randomness of its own."""


class Objective(Protocol):
    """Networks that are trained together, with the loss of each record."""

    @property
    def features(self) -> int:
        """Numbers of a record."""

    @property
    def classes(self) -> int:
        """Labels lie from 0 to below it."""

    def initial(self, key: jax.Array) -> Parameters:
        """Where training starts."""

    def gradient_sum(self, parameters: Parameters, batch: Batch, key: jax.Array) -> Parameters:
        """The sum of the records' gradients, with regard to the parameters that records are shown to.

        Args:
            parameters: all of them.
            batch: the records.
            key: of this step; what is drawn for a record depends on it and the record's place alone.
        """

    def clipped_gradient_sum(
        self, parameters: Parameters, batch: Batch, key: jax.Array, clipping_norm: float
    ) -> Parameters:
        """The same, with the gradient of each record scaled down to the clipping norm at most.

        Contract:
            Guarantee  adding or removing one record changes the sum by the clipping norm at most in l2, up
                       to the rounding of the sum itself, for every key.
        """

    def completed(self, parameters: Parameters, gradient: Parameters, key: jax.Array) -> Parameters:
        """The gradient of all parameters, from that of those that records are shown to.

        It sees no record, so it costs no privacy.
        """


@dataclass(frozen=True, slots=True)
class Classification:
    """The cross-entropy of a classifier."""

    architecture: Architecture

    @property
    def features(self) -> int:
        return self.architecture.features

    @property
    def classes(self) -> int:
        return self.architecture.classes

    def initial(self, key: jax.Array) -> Parameters:
        return initial_parameters(self.architecture, key)

    def gradient_sum(self, parameters: Parameters, batch: Batch, key: jax.Array) -> Parameters:
        del key  # nothing is drawn
        return gradient_sum(self.architecture, parameters, batch[:3])

    def clipped_gradient_sum(
        self, parameters: Parameters, batch: Batch, key: jax.Array, clipping_norm: float
    ) -> Parameters:
        del key
        return clipped_gradient_sum(self.architecture, parameters, batch[:3], clipping_norm)

    def completed(self, parameters: Parameters, gradient: Parameters, key: jax.Array) -> Parameters:
        del parameters, key
        return gradient


def keys_of_records(key: jax.Array, places: Array) -> jax.Array:
    """A key for each record, by its place."""
    keys: jax.Array = jax.vmap(lambda place: jax.random.fold_in(key, place))(jnp.asarray(places))
    return keys
