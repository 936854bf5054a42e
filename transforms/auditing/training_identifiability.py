"""The adversary that differential privacy assumes, run against private training as it is carried out.

As `differential_identifiability` (arXiv 2103.02913, Experiment 2 and Algorithm 1), with the very steps of
`learning.private_training`: their sampling of records, their noise, their optimiser. So it looks at the
code that trains, and at more than the paper, whose steps take all records.

The adversary knows both data sets, the weights before each step, who of the records that both share is in
its batch, and the noisy sum; not the coin, and not whether the record in question is in the batch.

Beliefs with sampling, proof:
    Take what is shared off the noisy sum: r. Let g be the clipped gradient of the record that only the
    first data set has, s the standard deviation of the noise, and q the probability of a record to be in a
    batch, independent of all others. Then r has the density (1 - q) phi(r) + q phi(r - g), with phi that of
    normal noise, and the logarithm of its quotient by phi(r) is

        ln(1 - q + q exp((g . r - |g|^2 / 2) / s^2)).

    For the second data set it is the same with its own record, or 0 where it has none. The difference of
    both is what a step adds to the logarithm of the odds. Given the weights and the batches, steps are
    independent, and who is shared in a batch is as likely under both, so these sums are the posterior odds
    at prior one half (Lemma 1). With q = 1 this is `differential_identifiability.log_odds_of_step`.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from smalti.transforms.auditing.differential_identifiability import Beliefs
from smalti.transforms.auditing.neighbors import NeighboringPair
from smalti.transforms.auditing.network_gradients import LabelledRecords
from smalti.transforms.learning._jax import jax, jnp, ravel_pytree
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.gradients import clipped_gradient_sum
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining
from smalti.transforms.learning.networks import Parameters, finite_features, initial_parameters
from smalti.transforms.learning.optimizers import Progress, started, stepped
from smalti.transforms.learning.private_training import Pool, noisy_gradient_sum, sampled
from smalti.transforms.learning.randomness import Keys, Randomness


@dataclass(frozen=True, slots=True, eq=False)
class TrainingExperiment:
    """The pair to distinguish, and the training; repeated. No model of it is released."""

    architecture: Architecture
    hyperparameters: Hyperparameters
    """With private training."""
    pair: NeighboringPair[LabelledRecords]
    """What both share, and the one record of either; the shared records are one at least."""

    def __post_init__(self) -> None:
        if self.hyperparameters.private is None or not len(self.pair.shared.labels):
            raise ValueError("private training, and a record that both data sets share, are expected")

    @property
    def private(self) -> PrivateTraining:
        """The noise."""
        assert self.hyperparameters.private is not None  # noqa: S101 (for the type checker)
        return self.hyperparameters.private

    def run(self, repetitions: int, coins: np.random.Generator, randomness: Randomness) -> Beliefs:
        """Both sides of all repetitions.

        `Beliefs.mu` is as if the record in question were in every batch; so with sampling it is more than
        what the steps lost. No weights are kept: they have shape (repetitions, 0).

        Args:
            repetitions: how often; at least 1. Each starts from weights of its own.
            coins: throws the challenger's coins.
            randomness: of starts, batches and noise.
        """
        if repetitions < 1:
            raise ValueError("at least one repetition is expected")
        used = coins.integers(0, 2, repetitions).astype(np.bool_)
        number = 1 + self.hyperparameters.private_steps
        keys = np.stack([randomness.keys(repetition, number) for repetition in range(repetitions)])
        parts = [self.pair.shared, self.pair.first_only]
        parts += [] if self.pair.second_only is None else [self.pair.second_only]
        features = finite_features(np.concatenate([repetition.features for repetition in parts]))
        labels = np.concatenate([repetition.labels for repetition in parts]).astype(np.int32)
        records = jnp.asarray(features), jnp.asarray(labels)
        with jax.enable_x64(True):
            odds, mu_squared = _all(
                self.architecture, self.hyperparameters, len(self.pair.shared.labels), records, used, keys
            )
        # A training whose weights became infinite tells nothing more that could be added up.
        log_odds = np.nan_to_num(np.asarray(odds, np.float64), nan=0.0)
        mu = np.sqrt(np.nan_to_num(np.asarray(mu_squared, np.float64), nan=0.0))
        return Beliefs(log_odds, used, mu, np.zeros((repetitions, 0)))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _all(
    architecture: Architecture,
    hyperparameters: Hyperparameters,
    shared: int,
    records: tuple[jax.Array, jax.Array],
    used: jax.Array,
    keys: Keys,
) -> tuple[jax.Array, jax.Array]:
    """The log-odds and the squared mu of each repetition."""

    def repetition(drawn: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        first_used, numbers = drawn
        start, *_ = wrapped = jax.random.wrap_key_data(numbers, impl="threefry2x32")
        progress = started(hyperparameters.optimizer, initial_parameters(architecture, start))
        members = _members(shared, len(records[1]), first_used)

        data = (*records, members)

        def step(place: jax.Array, state: _State) -> _State:
            return _stepped(architecture, hyperparameters, shared, data, state, wrapped[place])

        nothing = jnp.zeros((), jnp.float64)
        _, odds, mu_squared = jax.lax.fori_loop(1, len(numbers), step, (progress, nothing, nothing))
        return odds, mu_squared

    results: tuple[jax.Array, jax.Array] = jax.lax.map(repetition, (jnp.asarray(used), jnp.asarray(keys)))
    return results


_State = tuple[Progress, jax.Array, jax.Array]


def _members(shared: int, records: int, first_used: jax.Array) -> jax.Array:
    """Which records are trained on: the shared ones, and the one of the data set that is used."""
    places = jnp.arange(records)
    return (places < shared) | jnp.where(first_used, places == shared, places == shared + 1)


def _stepped(
    architecture: Architecture,
    hyperparameters: Hyperparameters,
    shared: int,
    data: tuple[jax.Array, jax.Array, jax.Array],
    state: _State,
    key: jax.Array,
) -> _State:
    """One step of training, and what it says to the adversary."""
    (progress, odds, mu_squared), (features, labels, members) = state, data
    private = hyperparameters.private
    assert private is not None  # noqa: S101 (for the type checker)
    total = noisy_gradient_sum(
        architecture, private, progress.parameters, Pool(features, labels, members), key
    )
    # As in `noisy_gradient_sum`: the first half of the key is that of the batch.
    batch = sampled(jax.random.split(key)[0], len(labels), private.sampling_rate)

    def clipped(places: slice, flags: jax.Array) -> jax.Array:
        part = features[places], labels[places], flags[places]
        return _flat(clipped_gradient_sum(architecture, progress.parameters, part, private.clipping_norm))

    everybody = jnp.ones(len(labels), bool)
    rest = _flat(total) - clipped(slice(shared), batch)
    first = clipped(slice(shared, shared + 1), everybody)
    second = clipped(slice(shared + 1, None), everybody) if len(labels) > shared + 1 else 0 * first
    deviation = private.noise_multiplier * private.clipping_norm
    moved = _log_odds_of(rest, first, deviation, private.sampling_rate)
    moved -= _log_odds_of(rest, second, deviation, private.sampling_rate)
    gradient = jax.tree.map(lambda array: array / hyperparameters.batch_size, total)
    after = stepped(hyperparameters.optimizer, hyperparameters.learning_rate, progress, gradient)
    return after, odds + moved, mu_squared + jnp.sum((first - second) ** 2) / deviation**2


def _log_odds_of(rest: jax.Array, gradient: jax.Array, deviation: float, rate: float) -> jax.Array:
    """The logarithm by which a record in the data makes the rest likelier than noise alone."""
    loss = (gradient @ rest - gradient @ gradient / 2) / deviation**2
    return loss if rate >= 1 else jnp.logaddexp(jnp.log1p(-rate), jnp.log(rate) + loss)


def _flat(parameters: Parameters) -> jax.Array:
    flat: jax.Array = ravel_pytree(parameters)[0].astype(jnp.float64)
    return flat
