"""Models of tensorflow-privacy, and plain ones of Keras, under our attacks. Data and seeds are fixed."""

from dataclasses import replace

import numpy as np
import pytest

from smalti.studies.tensorflow.libraries import Libraries
from smalti.studies.tensorflow.trainer import TensorFlowTrainer
from smalti.studies.tensorflow.training import Variant, keras_network
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.membership.application import MembershipInference
from smalti.transforms.membership.attack import Attack
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.likelihood_ratio import OnlineLikelihoodRatio
from smalti.transforms.membership.loss_threshold import LossThreshold
from smalti.transforms.membership.models import FromKeras, TargetModel
from smalti.transforms.membership.planted_leak import detection

CLASSES = 4
FEATURES = 60
LOSS = (LossThreshold(),)
LITTLE = PrivateTraining(noise_multiplier=1e-3, clipping_norm=10.0, sampling_rate=0.1)
"""Privacy by name only."""
STRONG = PrivateTraining(noise_multiplier=10.0, clipping_norm=1.0, sampling_rate=0.1)
ARCHITECTURE = Architecture(FEATURES, (64,), CLASSES)
OVERFITTED = Hyperparameters(40, 30, 0.01, Optimizer.ADAM, LITTLE)


@pytest.fixture(scope="module")
def parts() -> tuple[DataSet, DataSet]:
    """Training and test records: a random word of bits for each class, with 40 % of the bits flipped."""
    draw = np.random.default_rng(0)
    words = draw.random((CLASSES, FEATURES)) < 0.5
    labels = draw.integers(0, CLASSES, 600)
    bits = words[labels] ^ (draw.random((600, FEATURES)) < 0.4)
    data = DataSet("flipped bits", bits.astype(np.float32), labels, CLASSES)
    return data.take(np.arange(300)), data.take(np.arange(300, 600))


def detected(
    parts: tuple[DataSet, DataSet], trainer: TensorFlowTrainer, attacks: tuple[Attack, ...]
) -> list[bool]:
    target = TargetModel.trained(replace(trainer, randomness=Seeded(2)), *parts)
    audit = MembershipInference(target, trainer, attacks, shadow_models=4)
    return [detection(scored, 0.99).is_detected for _, scored in audit.run(0.95).scored]


def test_the_loss_tells_members_of_an_overfitted_model(parts: tuple[DataSet, DataSet]) -> None:
    assert detected(parts, TensorFlowTrainer(ARCHITECTURE, OVERFITTED, Seeded(1)), LOSS) == [True]


def test_and_not_of_one_with_strong_privacy(parts: tuple[DataSet, DataSet]) -> None:
    settings = replace(OVERFITTED, epochs=10, private=STRONG)
    assert detected(parts, TensorFlowTrainer(ARCHITECTURE, settings, Seeded(1)), LOSS) == [False]


def test_their_models_are_shadow_models_too(parts: tuple[DataSet, DataSet]) -> None:
    trainer = TensorFlowTrainer(ARCHITECTURE, OVERFITTED, Seeded(1))
    assert detected(parts, trainer, (OnlineLikelihoodRatio(),)) == [True]


@pytest.mark.parametrize("gives_logits", [True, False])
def test_a_plain_model_of_keras_is_attacked(
    both: Libraries, parts: tuple[DataSet, DataSet], gives_logits: bool
) -> None:
    """Trained by `fit`, as its users do; with a softmax of its own or without."""
    keras = both.tensorflow.keras
    both.tensorflow.random.set_seed(0)
    model = keras_network(both, ARCHITECTURE, np.zeros(2, np.uint32))
    if not gives_logits:
        model.add(keras.layers.Softmax())
    training, test = parts
    model.compile(
        keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=gives_logits)
    )
    model.fit(training.features, training.labels, batch_size=30, epochs=60, verbose=0)
    classifier = FromKeras(model, CLASSES, gives_logits)
    confidences = classifier.confidences(training.features)
    assert confidences.shape == (300, CLASSES)
    assert confidences.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (confidences.argmax(axis=1) == training.labels).mean() > 0.95
    trainer = TensorFlowTrainer(ARCHITECTURE, OVERFITTED, Seeded(1))
    target = TargetModel(classifier, "plain Keras", training, test)
    ((_, scored),) = MembershipInference(target, trainer, LOSS).run(0.95).scored
    assert detection(scored, 0.99).is_detected


def test_recipes_are_equal_where_all_but_the_seed_is() -> None:
    made = TensorFlowTrainer(ARCHITECTURE, OVERFITTED, Seeded(1))
    assert made.recipe == replace(made, randomness=Seeded(2)).recipe
    assert "test only" in made.recipe
    for other in (
        replace(made, variant=Variant.LOOP),
        replace(made, architecture=Architecture(FEATURES, (), CLASSES)),
        replace(made, hyperparameters=replace(OVERFITTED, private=STRONG)),
    ):
        assert made.recipe != other.recipe
