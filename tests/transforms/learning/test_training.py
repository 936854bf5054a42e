"""Training: what is learnt, from whom, by which steps, and that company changes nothing."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from effort import every

from smalti.transforms.learning import training
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.gradients import gradient_sum
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.models import TrainedModels
from smalti.transforms.learning.networks import arrays_of, initial_parameters
from smalti.transforms.learning.randomness import FromSystem, Origin, Randomness, Seeded
from smalti.transforms.learning.training import train

ARCHITECTURE = Architecture(4, (8,), 3)
RECORDS = 60
PLAIN = Hyperparameters(epochs=20, batch_size=8, learning_rate=0.03)
PRIVATE = replace(PLAIN, epochs=5, private=PrivateTraining(1.0, 1.0, 0.2))
jitted_start = jax.jit(initial_parameters, static_argnums=0)
jitted_sum = jax.jit(gradient_sum, static_argnums=0)


def records(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three clouds that are far apart."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, RECORDS)
    return (random.normal(size=(RECORDS, 4)) + 3 * np.eye(4)[labels]).astype(np.float32), labels


def halves(models: int) -> np.ndarray:
    return np.random.default_rng(1).random((models, RECORDS)) < 0.5


def trained(
    hyperparameters: Hyperparameters,
    members: np.ndarray,
    randomness: Randomness | None = None,
    seed: int = 0,
) -> TrainedModels:
    return train(ARCHITECTURE, hyperparameters, *records(seed), members, randomness or Seeded(0))


def same(one: TrainedModels, other: TrainedModels) -> bool:
    pairs = zip(jax.tree.leaves(one.stacked), jax.tree.leaves(other.stacked), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def accuracy(models: TrainedModels) -> float:
    features, labels = records(seed=7)
    return float((models.confidences(features).argmax(axis=2) == labels).mean())


@pytest.mark.parametrize("hyperparameters", every(2, [PLAIN, PRIVATE]))
def test_networks_learn(hyperparameters: Hyperparameters) -> None:
    found = trained(replace(hyperparameters, epochs=20), halves(2))
    assert len(found) == 2
    assert accuracy(found) > 0.8


@pytest.mark.slow
def test_much_noise_leaves_nothing_to_learn() -> None:
    private = PrivateTraining(1000.0, 1.0, 0.2)
    found = trained(replace(PRIVATE, private=private, optimizer=Optimizer.SGD), halves(8))
    assert accuracy(found) < 0.7


@pytest.mark.parametrize("hyperparameters", [PLAIN, PRIVATE])
@pytest.mark.parametrize("together", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_company_changes_nothing(
    hyperparameters: Hyperparameters, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_together", lambda: together)
    members = halves(3)
    members[1, :30] = False  # fewer members, and so fewer steps
    whole = trained(hyperparameters, members)
    for number in range(3):
        alone = trained(hyperparameters, members[number : number + 1], Seeded(0, first=number))
        assert same(TrainedModels(whole.description, alone.stacked), alone)
        for layer, other in zip(whole[number].parameters, alone[0].parameters, strict=True):
            np.testing.assert_array_equal(layer.weights, other.weights)
            np.testing.assert_array_equal(layer.biases, other.biases)


def test_who_is_through_waits_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments of Adam move a network also where there is nothing to learn."""
    monkeypatch.setattr(training, "_together", lambda: 2)
    regression = Architecture(4, (), 3)
    few, all_of_them = np.arange(RECORDS) < 5, np.ones(RECORDS, bool)
    alike, company = (
        train(regression, replace(PLAIN, epochs=1), *records(), np.stack([few, other]), Seeded(0))[0]
        for other in (few, all_of_them)
    )
    np.testing.assert_array_equal(alike.parameters[0].weights, company.parameters[0].weights)


@pytest.mark.parametrize("hyperparameters", [PLAIN, PRIVATE])
def test_a_seed_repeats_and_the_system_does_not(hyperparameters: Hyperparameters) -> None:
    members = halves(1)
    assert same(trained(hyperparameters, members), trained(hyperparameters, members))
    assert not same(trained(hyperparameters, members), trained(hyperparameters, members, Seeded(1)))
    one, other = (trained(hyperparameters, members, FromSystem()) for _ in range(2))
    assert not same(one, other)
    assert (one.description.randomness, one[0].description.is_test_only) == (Origin.SYSTEM, False)
    assert trained(hyperparameters, members)[0].description.is_test_only


@pytest.mark.parametrize("hyperparameters", [PLAIN, PRIVATE])
def test_who_is_no_member_has_no_influence(hyperparameters: Hyperparameters) -> None:
    members = halves(1)
    features, labels = records()
    wanted = train(ARCHITECTURE, hyperparameters, features, labels, members, Seeded(0))
    features[~members[0]] = 3e38
    labels[~members[0]] = 2
    assert same(train(ARCHITECTURE, hyperparameters, features, labels, members, Seeded(0)), wanted)
    features[members[0].argmax()] += 1
    assert not same(train(ARCHITECTURE, hyperparameters, features, labels, members, Seeded(0)), wanted)


def test_what_is_no_number_counts_as_zero() -> None:
    members = np.ones((1, RECORDS), bool)
    features, labels = records()
    results = []
    features = features.astype(np.float64)
    for value in (0.0, np.nan, np.inf, -np.inf, 1e300):
        features[3, 1] = value
        results.append(train(ARCHITECTURE, PRIVATE, features, labels, members, Seeded(0)))
    assert all(same(results[0], other) for other in results[1:])


@pytest.mark.parametrize("optimizer", [pytest.param(Optimizer.SGD, marks=pytest.mark.slow), Optimizer.ADAM])
def test_steps_are_those_of_the_formulas(optimizer: Optimizer) -> None:
    """Three epochs of one batch each, against steps in doubles."""
    rate = 0.1
    members = np.arange(RECORDS)[None] % 2 > 0
    hyperparameters = Hyperparameters(3, RECORDS, rate, optimizer)
    found = trained(hyperparameters, members)[0]
    key = jax.random.wrap_key_data(Seeded(0).keys(0, 1)[0], impl="threefry2x32")
    weights = arrays_of(jitted_start(ARCHITECTURE, key))
    first, second = (dict.fromkeys(weights, 0.0) for _ in range(2))
    for step in (1, 2, 3):
        layers = tuple(
            type(found.parameters[0])(weights[f"layers.{i}.weights"], weights[f"layers.{i}.biases"])
            for i in range(2)
        )
        total = arrays_of(jitted_sum(ARCHITECTURE, layers, (*records(), members[0].astype(np.float32))))
        for name, array in total.items():
            mean = array / members.sum()
            first[name] = 0.9 * first[name] + 0.1 * mean
            second[name] = 0.999 * second[name] + 0.001 * mean**2
            adam = first[name] / (1 - 0.9**step) / (np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8)
            weights[name] = weights[name] - rate * (mean if optimizer is Optimizer.SGD else adam)
    for name, array in arrays_of(found.parameters).items():
        np.testing.assert_allclose(array, weights[name], rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize(
    "batch_size", [7, *(pytest.param(size, marks=pytest.mark.slow) for size in (1, 1000))]
)
def test_an_epoch_takes_each_member_once(batch_size: int) -> None:
    """The biases of softmax regression on features of 0 move by what the labels say."""
    members = halves(2)
    labels = np.zeros(RECORDS, np.int64)
    tiny = Hyperparameters(1, batch_size, 1e-6, Optimizer.SGD)
    regression = Architecture(4, (), 2)
    found = train(regression, tiny, np.zeros((RECORDS, 4), np.float32), labels, members, Seeded(0))
    for model, member in zip(found, members, strict=True):
        # Each batch has a mean slope of one half, so the batches can be counted.
        batches = -(-member.sum() // min(batch_size, RECORDS))
        np.testing.assert_allclose(
            model.parameters[0].biases, 1e-6 * batches * np.array([0.5, -0.5]), rtol=1e-3
        )


def test_indexing() -> None:
    models = trained(PLAIN, halves(2))
    features, _ = records()
    np.testing.assert_allclose(models[1].confidences(features), models.confidences(features)[1], rtol=1e-6)
    np.testing.assert_array_equal(models[-1].parameters[0].weights, models[1].parameters[0].weights)
    assert len(list(models)) == 2
    with pytest.raises(IndexError):
        models[2]
    with pytest.raises(ValueError, match="records of 4 features"):
        models.confidences(features[:, :3])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": np.zeros((RECORDS, 5), np.float32)}, "a row of features"),
        ({"labels": np.zeros(RECORDS - 1, np.int64)}, "a row of features"),
        ({"labels": np.full(RECORDS, 3)}, "labels are"),
        ({"labels": np.full(RECORDS, -1)}, "labels are"),
        ({"labels": np.zeros(RECORDS)}, "labels are"),
        ({"members": np.ones((2, RECORDS - 1), bool)}, "a flag"),
        ({"members": np.ones((2, RECORDS))}, "a flag"),
        ({"members": np.zeros((0, RECORDS), bool)}, "no model"),
        ({"members": np.zeros((1, RECORDS), bool)}, "no record to be trained on"),
    ],
)
def test_data_that_does_not_fit_is_refused(change: dict, said: str) -> None:
    features, labels = records()
    given = {"features": features, "labels": labels, "members": halves(2), **change}
    with pytest.raises(ValueError, match=said):
        train(ARCHITECTURE, PLAIN, randomness=Seeded(0), **given)


def test_private_training_without_members_gives_a_network() -> None:
    """Whether there is anybody must not be seen."""
    found = trained(replace(PRIVATE, epochs=1), np.zeros((1, RECORDS), bool))
    assert np.isfinite(found.stacked[0].weights).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: PrivateTraining(0.0, 1.0, 0.1),
        lambda: PrivateTraining(1.0, 0.0, 0.1),
        lambda: PrivateTraining(1.0, float("inf"), 0.1),
        lambda: PrivateTraining(1.0, 0.9e-10, 0.1),
        lambda: PrivateTraining(1.0, 1.1e10, 0.1),
        lambda: PrivateTraining(1.0, 1.0, 0.0),
        lambda: PrivateTraining(1.0, 1.0, 1.1),
        lambda: PrivateTraining(float("nan"), 1.0, 0.1),
        lambda: Hyperparameters(0, 1, 0.1),
        lambda: Hyperparameters(1, 0, 0.1),
        lambda: Hyperparameters(1, 1, 0.0),
        lambda: Seeded(-1),
    ],
)
def test_bad_numbers_are_refused(wrong) -> None:
    with pytest.raises(ValueError, match=r"."):
        wrong()


def test_private_steps() -> None:
    assert (PRIVATE.private_steps_of_epoch, PRIVATE.private_steps) == (5, 25)
    assert replace(PRIVATE, private=PrivateTraining(1.0, 1.0, 1.0)).private_steps == PRIVATE.epochs
    with pytest.raises(ValueError, match="only private training"):
        _ = PLAIN.private_steps


def test_keys_are_used_once() -> None:
    for randomness in (Seeded(3), FromSystem()):
        keys = [tuple(key) for model in range(4) for key in randomness.keys(model, 50).tolist()]
        assert len(set(keys)) == 200
    np.testing.assert_array_equal(Seeded(3).keys(2, 9), Seeded(3, first=2).keys(0, 9))
    np.testing.assert_array_equal(Seeded(3).keys(2, 9)[:4], Seeded(3).keys(2, 4))


@pytest.mark.slow
def test_relu_networks_train() -> None:
    rectified = replace(ARCHITECTURE, activation=Activation.RELU)
    found = train(rectified, PLAIN, *records(), halves(1), Seeded(0))
    assert accuracy(found) > 0.8
