"""Training by tensorflow-privacy: by which steps, on whom, and what is said about the networks."""

from dataclasses import replace
from itertools import combinations

import jax
import numpy as np
import pytest
from keras_steps import NO_NOISE, VARIANTS, Gradient

from smalti.studies.tensorflow.libraries import Libraries
from smalti.studies.tensorflow.training import KerasNetworks, Variant, keras_network, train
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.gradients import clipped_gradient_sum
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.networks import Layer, Parameters
from smalti.transforms.learning.optimizers import Progress, started, stepped
from smalti.transforms.learning.randomness import Origin, Seeded
from smalti.transforms.learning.recipes import recipe

ARCHITECTURE = Architecture(4, (8,), 3)
RECORDS = 60
PRIVATE = Hyperparameters(5, 12, 0.03, Optimizer.ADAM, PrivateTraining(1.0, 1.0, 0.2))
ALL = np.ones((1, RECORDS), bool)


def records(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three clouds that are far apart."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, RECORDS)
    return (random.normal(size=(RECORDS, 4)) + 3 * np.eye(4)[labels]).astype(np.float32), labels


def weights_of(networks: KerasNetworks, number: int = 0) -> Gradient:
    return networks.models[number].get_weights()


def same(one: Gradient, other: Gradient) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def stepped_as_keras_does(settings: Hyperparameters, before: Progress, gradient: Parameters) -> Progress:
    """As `stepped`; Keras adds Adam's 1e-8 before the second moment is corrected, and `stepped` afterwards.

    Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015: end of section 2, and Algorithm 1.
    """
    if settings.optimizer is Optimizer.SGD:
        return stepped(settings.optimizer, settings.learning_rate, before, gradient)
    after = stepped(settings.optimizer, 0.0, before, gradient)
    count = float(after.steps)
    rate = settings.learning_rate * (1 - 0.999**count) ** 0.5 / (1 - 0.9**count)
    moved = jax.tree.map(
        lambda number, first, second: number - rate * first / (second**0.5 + 1e-8),
        before.parameters,
        after.first_moments,
        after.second_moments,
    )
    return after._replace(parameters=moved)


@pytest.mark.parametrize(("variant", "optimizer"), VARIANTS)
def test_steps_are_those_of_our_formulas_on_poisson_batches(
    both: Libraries, variant: Variant, optimizer: Optimizer
) -> None:
    """Sixteen steps, each on a fresh draw; the second model has two records, and often none in a batch."""
    settings = Hyperparameters(4, 7, 0.05, optimizer, PrivateTraining(NO_NOISE, 0.5, 0.25))
    members = np.stack([np.arange(RECORDS) % 3 > 0, np.arange(RECORDS) < 2])
    features, labels = records()
    found = train(ARCHITECTURE, settings, (features, labels), members, Seeded(3), variant)
    for number, own in enumerate(members):
        start, sampling, _ = Seeded(3).keys(number, 3)
        arrays = keras_network(both, ARCHITECTURE, start).get_weights()
        progress = started(optimizer, tuple(map(Layer, arrays[::2], arrays[1::2])))
        draws = np.random.default_rng(sampling).random((settings.private_steps, RECORDS))
        masks = own & (draws < 0.25)
        sizes = masks.sum(axis=1)
        assert len(set(sizes.tolist())) > 1
        assert number == 0 or not sizes.all()
        for mask in masks:
            total = clipped_gradient_sum(ARCHITECTURE, progress.parameters, (features, labels, mask), 0.5)
            mean = jax.tree.map(lambda array: array / settings.batch_size, total)
            progress = stepped_as_keras_does(settings, progress, mean)
        pairs = zip(weights_of(found, number), jax.tree.leaves(progress.parameters), strict=True)
        for theirs, ours in pairs:
            np.testing.assert_allclose(theirs, ours, atol=5e-5)


def test_networks_start_as_ours_do(both: Libraries) -> None:
    """Uniform weights within sqrt(6 / (before + after)), biases of 0; others for other keys."""
    wide = Architecture(300, (200,), 100)
    start, other = (
        keras_network(both, wide, np.array([number, 1], np.uint32)).get_weights() for number in (0, 1)
    )
    for array, shape in zip(start[::2], wide.shapes, strict=True):
        limit = np.sqrt(6 / sum(shape))
        assert array.shape == shape
        assert 0.999 * limit < np.abs(array).max() <= limit
        assert np.square(array).mean() == pytest.approx(limit**2 / 3, rel=0.05)
    assert not any(array.any() for array in start[1::2])
    assert not same(start[::2], other[::2])
    assert not np.allclose(start[0][:100, :100], start[2][:100])


@pytest.mark.parametrize("variant", Variant)
def test_networks_learn_and_depend_on_seed_and_members_alone(variant: Variant) -> None:
    """Not on company, on who is no member, or on TensorFlow's own state."""
    features, labels = records()
    members = np.random.default_rng(1).random((2, RECORDS)) < 0.7
    longer = replace(PRIVATE, epochs=20)
    whole = train(ARCHITECTURE, longer, (features, labels), members, Seeded(0), variant)
    changed = features.copy()
    changed[~members[1]] = 1e6
    alone = train(ARCHITECTURE, longer, (changed, labels), members[1:], Seeded(0, first=1), variant)
    assert same(weights_of(whole, 1), weights_of(alone))
    other = train(ARCHITECTURE, longer, (features, labels), members[:1], Seeded(1), variant)
    assert not same(weights_of(whole), weights_of(other))
    features, labels = records(seed=7)
    found = whole.models[0].predict(features, verbose=0).argmax(axis=1)
    assert (found == labels).mean() > 0.8


def test_each_model_and_seed_has_noise_of_its_own(both: Libraries) -> None:
    """Nobody is a member, so that networks move by noise alone; TensorFlow's own state has no part."""
    settings = replace(PRIVATE, epochs=1, optimizer=Optimizer.SGD)
    nobody = np.zeros((2, RECORDS), bool)
    moved = []
    for seed in (0, 0, 1):
        both.tensorflow.random.set_seed(len(moved))
        found = train(ARCHITECTURE, settings, records(), nobody, Seeded(seed))
        for number in range(2):
            start = keras_network(both, ARCHITECTURE, Seeded(seed).keys(number, 3)[0]).get_weights()[0]
            moved.append(weights_of(found, number)[0] - start)
    np.testing.assert_array_equal(moved[:2], moved[2:4])
    first, second, _, _, other, another = moved
    for one, two in combinations((first, second, other, another), 2):
        assert not np.isclose(one, two).any()


def test_all_members_are_in_each_batch_at_rate_one() -> None:
    """One step of SGD without noise from all records: the noise of another seed changes nothing."""
    settings = Hyperparameters(1, RECORDS, 0.1, Optimizer.SGD, PrivateTraining(NO_NOISE, 1.0, 1.0))
    start = replace(settings, learning_rate=1e-20)
    found, none = (train(ARCHITECTURE, made, records(), ALL, Seeded(0)) for made in (settings, start))
    moved = [before - after for before, after in zip(weights_of(none), weights_of(found), strict=True)]
    arrays = weights_of(none)
    parameters = tuple(map(Layer, arrays[::2], arrays[1::2]))
    total = clipped_gradient_sum(ARCHITECTURE, parameters, (*records(), ALL[0]), 1.0)
    for theirs, ours in zip(moved, jax.tree.leaves(total), strict=True):
        np.testing.assert_allclose(theirs, np.asarray(ours) * 0.1 / RECORDS, atol=1e-6)


def test_recipes_train_and_their_networks_say_test_only() -> None:
    """As `TrainedModels`, which need JAX and no TensorFlow; they give the same confidences."""
    named = recipe("mlp-256-256")
    architecture = named.architecture(4, 3)
    assert architecture.activation is Activation.RELU
    settings = replace(named.defaults, epochs=1, private=PrivateTraining(1.0, 1.0, 0.5))
    features, labels = records()
    found = train(architecture, settings, (features, labels), ALL.repeat(2, axis=0), Seeded(0))
    models = found.trained_models()
    assert (len(models), found.origin, models.description.randomness) == (2, Origin.SEED, Origin.SEED)
    assert models[0].description.is_test_only
    for model, keras_model in zip(models, found.models, strict=True):
        logits = keras_model.predict(features, verbose=0).astype(np.float64)
        wanted = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.confidences(features), wanted, atol=1e-5)
