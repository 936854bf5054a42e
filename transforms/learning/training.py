"""Training many networks of one architecture at once, each on its own members of one pool of records."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.learning._jax import check_version, jax, jnp
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer
from smalti.transforms.learning.models import Description, TrainedModels
from smalti.transforms.learning.networks import Floats, Parameters, finite_features
from smalti.transforms.learning.objectives import Batch, Classification, Objective
from smalti.transforms.learning.optimizers import Progress, started, stepped
from smalti.transforms.learning.private_training import Pool, key_of_objective, noisy_sum
from smalti.transforms.learning.randomness import Keys, Randomness
from smalti.transforms.problem import Flags, Integers

_TOGETHER_ON_ACCELERATORS: Final = 16
"""Models that are trained in one computation, where there is a device for it."""


_Numbers = NDArray[np.int32]


def train(
    architecture: Architecture,
    hyperparameters: Hyperparameters,
    features: Floats,
    labels: Integers,
    members: Flags,
    randomness: Randomness,
) -> TrainedModels:
    """Train one network for each set of members, from its own start and with its own randomness.

    Contract:
        Guarantee  where training is private, each network is a release of the mechanism that
                   `accounting.account` states, on its members, of ideal noise (`private_training` says what
                   real noise lacks); under a seed, nothing. Networks with common members add up. A network
                   depends on its number and members and not on the others.
        Not given  privacy of what is not noisy: the sets of members, and everything else given here.

    Args:
        architecture: of all networks.
        hyperparameters: of all networks; public.
        features: shape (records, features); what is no finite number counts as 0, so no record can make
            training fail.
        labels: shape (records,), from 0 to below the classes.
        members: shape (models, records), true for the records that a model is trained on.
        randomness: the operating system's for what is released.

    Returns:
        One network for each set of members.

    Raises:
        ValueError: shapes do not fit, a label is none, or a model without privacy has no members.
    """
    stacked = train_networks(
        Classification(architecture), hyperparameters, (features, labels), members, randomness
    )
    return TrainedModels(Description(architecture, hyperparameters, randomness.origin), stacked)


def train_networks(
    objective: Objective,
    hyperparameters: Hyperparameters,
    records: tuple[Floats, Integers],
    members: Flags,
    randomness: Randomness,
) -> Parameters:
    """The parameters of networks of any objective; all that `train` says holds of them, too.

    Args:
        objective: of all networks; public.
        hyperparameters: of all networks; public.
        records: features and labels, as of `train`.
        members: shape (models, records).
        randomness: the operating system's for what is released.

    Returns:
        Arrays of NumPy, with an axis of models in front.
    """
    check_version()
    features, labels = records
    _check(objective, hyperparameters, (features, labels, members))
    pool = jnp.asarray(finite_features(features)), jnp.asarray(labels, jnp.int32)
    trained = [
        _trained_together(objective, hyperparameters, pool, members[numbers], keys)
        for numbers, keys in _chunks(hyperparameters, len(members), randomness)
    ]
    stacked: Parameters = jax.tree.map(lambda *parts: np.concatenate(parts)[: len(members)], *trained)
    return stacked


def _check(
    objective: Objective, hyperparameters: Hyperparameters, data: tuple[Floats, Integers, Flags]
) -> None:
    features, labels, members = data
    records = len(labels)
    if np.shape(features) != (records, objective.features) or np.shape(labels) != (records,):
        raise ValueError("a row of features and a label are expected for each record")
    if np.ndim(members) != 2 or members.shape[1] != records or members.dtype != np.bool_:
        raise ValueError("a flag is expected for each model and record")
    if not records or not len(members):
        raise ValueError("there is no record, or no model")
    if labels.dtype.kind not in "iu" or not 0 <= labels.min() <= labels.max() < objective.classes:
        raise ValueError("labels are whole numbers from 0 to below the number of classes")
    if hyperparameters.private is None and not members.any(axis=1).all():
        raise ValueError("a model has no record to be trained on")


def _chunks(
    hyperparameters: Hyperparameters, models: int, randomness: Randomness
) -> Iterator[tuple[_Numbers, list[Keys]]]:
    """The numbers of models that are trained together, and the keys of each.

    The last is there more than once where it fills up: all computations have one form, so that company
    changes no result, and one is compiled.
    """
    together = _together()
    keys = 1 + (hyperparameters.private_steps if hyperparameters.private else hyperparameters.epochs)
    for start in range(0, models, together):
        numbers = np.minimum(np.arange(start, start + together, dtype=np.int32), models - 1)
        yield numbers, [randomness.keys(number, keys) for number in numbers.tolist()]


def _together() -> int:
    """How many models one computation trains.

    One thread takes as long for models one by one: 0.05 s of CPU for an epoch of 10,000 records on
    600-128-100, against 0.06 s for each of 17 models at once; and it needs the memory of one.
    """
    return 1 if jax.default_backend() == "cpu" else _TOGETHER_ON_ACCELERATORS


def _trained_together(
    objective: Objective,
    hyperparameters: Hyperparameters,
    pool: tuple[jax.Array, jax.Array],
    members: Flags,
    keys: list[Keys],
) -> Parameters:
    """The stacked parameters of a few networks."""
    first, *epochs = _by_epoch(hyperparameters, np.stack(keys))
    # Whatever is the same in all epochs is compiled once, for any number of them.
    one_epoch = replace(hyperparameters, epochs=1)
    progress = _start(objective, hyperparameters.optimizer, first)
    data = *pool, jnp.asarray(members)
    # Noise alone is of 64 bits; loops refuse to carry anything that has become wider than it was.
    with jax.enable_x64(hyperparameters.private is not None):
        for epoch in epochs:
            progress = _epoch(objective, one_epoch, progress, data, epoch)
    parameters: Parameters = jax.tree.map(np.asarray, progress.parameters)
    return parameters


def _by_epoch(hyperparameters: Hyperparameters, keys: Keys) -> list[Keys]:
    """The keys of the start, of shape (models, 2), and of each epoch, (models, keys, 2)."""
    return [keys[:, 0], *np.split(keys[:, 1:], hyperparameters.epochs, axis=1)]


@partial(jax.jit, static_argnums=(0, 1))
def _start(objective: Objective, optimizer: Optimizer, keys: Keys) -> Progress:
    def start(key: jax.Array) -> Progress:
        return started(optimizer, objective.initial(key))

    return jax.vmap(start)(_wrapped(keys))


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def _epoch(
    objective: Objective,
    hyperparameters: Hyperparameters,
    progress: Progress,
    data: tuple[jax.Array, jax.Array, jax.Array],
    keys: Keys,
) -> Progress:
    if hyperparameters.private is None:
        return _plain_epoch(objective, hyperparameters, progress, data, _wrapped(keys[:, 0]))
    return _private_epoch(objective, hyperparameters, progress, data, _wrapped(keys))


def _wrapped(keys: Keys) -> jax.Array:
    """Keys of one named generator, whatever JAX is told to use elsewhere."""
    wrapped: jax.Array = jax.random.wrap_key_data(jnp.asarray(keys), impl="threefry2x32")
    return wrapped


def _private_epoch(
    objective: Objective,
    hyperparameters: Hyperparameters,
    progress: Progress,
    data: tuple[jax.Array, jax.Array, jax.Array],
    keys: jax.Array,
) -> Progress:
    """Steps on batches that are sampled anew each time."""
    features, labels, members = data
    private = hyperparameters.private
    assert private is not None  # noqa: S101 (for the type checker)

    def step(state: Progress, flags: jax.Array, key: jax.Array) -> Progress:
        total = noisy_sum(objective, private, state.parameters, Pool(features, labels, flags), key)
        mean = jax.tree.map(lambda array: array / hyperparameters.batch_size, total)
        gradient = objective.completed(state.parameters, mean, key_of_objective(key))
        return stepped(hyperparameters.optimizer, hyperparameters.learning_rate, state, gradient)

    def all_models(place: int, progress: Progress) -> Progress:
        after: Progress = jax.vmap(step)(progress, members, keys[:, place])
        return after

    trained: Progress = jax.lax.fori_loop(0, keys.shape[1], all_models, progress)
    return trained


def _plain_epoch(
    objective: Objective,
    hyperparameters: Hyperparameters,
    progress: Progress,
    data: tuple[jax.Array, jax.Array, jax.Array],
    keys: jax.Array,
) -> Progress:
    """Steps on the members in random order, each once; a model that is through waits for the others."""
    features, labels, members = data
    size = min(hyperparameters.batch_size, len(labels))
    counts = members.sum(axis=1, dtype=jnp.int32)
    # Batches start inside of this, so that the last is not moved.
    orders = jnp.pad(jax.vmap(_shuffled)(keys, members), ((0, 0), (0, size)))

    def step(
        state: Progress, order: jax.Array, count: jax.Array, key: jax.Array, start: jax.Array
    ) -> Progress:
        own = key_of_objective(jax.random.fold_in(key, start))
        places = jax.lax.dynamic_slice(order, (start,), (size,))
        mask = (start + jnp.arange(size) < count).astype(features.dtype)
        batch = Batch(features[places], labels[places], mask, places)
        total = objective.gradient_sum(state.parameters, batch, own)
        mean = jax.tree.map(lambda array: array / jnp.maximum(mask.sum(), 1), total)
        gradient = objective.completed(state.parameters, mean, own)
        after = stepped(hyperparameters.optimizer, hyperparameters.learning_rate, state, gradient)
        kept: Progress = jax.tree.map(lambda new, old: jnp.where(start < count, new, old), after, state)
        return kept

    def all_models(place: jax.Array, progress: Progress) -> Progress:
        after: Progress = jax.vmap(step, in_axes=(0, 0, 0, 0, None))(
            progress, orders, counts, keys, place * size
        )
        return after

    trained: Progress = jax.lax.fori_loop(0, -(-counts.max() // size), all_models, progress)
    return trained


def _shuffled(key: jax.Array, members: jax.Array) -> jax.Array:
    """The places of the members in random order, and then all others."""
    ranks = jax.random.bits(key, members.shape, jnp.uint32) >> 1
    return jnp.argsort(jnp.where(members, ranks, jnp.uint32(2**32 - 1)))
