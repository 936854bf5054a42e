"""Adapters: models of other libraries as classifiers, the two that are not here by stand-ins."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from smalti.errors import DataError
from smalti.transforms.learning._jax import jax, jnp
from smalti.transforms.membership.confidences import softmax
from smalti.transforms.membership.models import (
    EstimatorTrainer,
    FromCallable,
    FromEstimator,
    FromKeras,
    FromTorch,
    OneOf,
)

FEATURES = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
LOGITS = FEATURES @ np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 0.0]])


def logits(features: np.ndarray) -> np.ndarray:
    return features @ np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 0.0]])


@pytest.mark.parametrize(("dtype", "within"), [("float32", 1e-6), ("bfloat16", 2e-2)])
def test_a_function_of_jax(dtype: str, within: float) -> None:
    def jitted(features: np.ndarray) -> jax.Array:
        return jax.jit(logits)(jnp.asarray(features, dtype))

    found = FromCallable(jitted, 3, gives_logits=True).confidences(FEATURES)
    assert found.dtype == np.float32
    assert found == pytest.approx(softmax(LOGITS), abs=within)
    with pytest.raises(DataError, match="gives logits"):
        FromCallable(jitted, 3).confidences(FEATURES)


def test_a_callable_that_gives_logits_or_confidences() -> None:
    assert FromCallable(logits, 3, gives_logits=True).confidences(FEATURES) == pytest.approx(
        softmax(LOGITS)
    )
    direct = FromCallable(lambda features: softmax(logits(features)), 3)
    assert direct.confidences(FEATURES) == pytest.approx(softmax(LOGITS))
    with pytest.raises(DataError, match="say so if the model gives logits"):
        FromCallable(logits, 3).confidences(FEATURES)
    with pytest.raises(DataError, match="3 records x 4 classes"):
        FromCallable(logits, 4, gives_logits=True).confidences(FEATURES)
    with pytest.raises(DataError, match="have the shape 3;"):
        FromCallable(lambda features: features[:, 0], 3, gives_logits=True).confidences(FEATURES)


def test_many_records_are_asked_in_batches_and_none_at_all() -> None:
    asked: list[int] = []

    def counting(features: np.ndarray) -> np.ndarray:
        asked.append(len(features))
        return softmax(logits(features))

    many = np.tile(FEATURES, (3000, 1))
    found = FromCallable(counting, 3).confidences(many)
    assert asked == [4096, 4096, 808]
    assert found[-3:] == pytest.approx(softmax(LOGITS))
    assert FromCallable(counting, 3).confidences(many[:0]).shape == (0, 3)


@dataclass
class KerasStandIn:
    """Has `predict` as Keras models do, which prints unless it is told not to."""

    said: list[str] = field(default_factory=list)

    def predict(
        self, features: np.ndarray, batch_size: int | None = None, verbose: Any = "auto"
    ) -> np.ndarray:
        if verbose:
            self.said.append("1/1 [====]")
        return softmax(logits(features)).astype(np.float32)


def test_keras_models() -> None:
    model = KerasStandIn()
    assert FromKeras(model, 3).confidences(FEATURES) == pytest.approx(softmax(LOGITS), abs=1e-6)
    assert model.said == []


@dataclass
class TensorStandIn:
    """Refuses what PyTorch refuses: NumPy from a tensor with a gradient, or on another device."""

    values: np.ndarray
    device: str
    has_gradient: bool = False

    def new_tensor(self, values: np.ndarray) -> "TensorStandIn":
        return TensorStandIn(np.asarray(values, self.values.dtype), self.device)

    def detach(self) -> "TensorStandIn":
        return TensorStandIn(self.values, self.device)

    def cpu(self) -> "TensorStandIn":
        return TensorStandIn(self.values, "cpu", self.has_gradient)

    def element_size(self) -> int:
        return self.values.itemsize

    def float(self) -> "TensorStandIn":
        return TensorStandIn(self.values.astype(np.float32), self.device, self.has_gradient)

    def numpy(self) -> np.ndarray:
        assert self.device == "cpu"
        assert not self.has_gradient
        return self.values


@dataclass
class ModuleStandIn:
    training: bool = True
    part: "ModuleStandIn | None" = None

    def parameters(self) -> Any:
        return iter([TensorStandIn(np.zeros(1, np.float32), "cuda", has_gradient=True)])

    def modules(self) -> Any:
        return iter([self, *([self.part] if self.part else [])])

    def train(self, mode: bool = True) -> "ModuleStandIn":
        for module in self.modules():
            module.training = mode
        return self

    def __call__(self, features: TensorStandIn) -> TensorStandIn:
        assert features.device == "cuda"
        assert features.values.dtype == np.float32
        noise = np.array([10.0, 0.0, 0.0]) * self.training  # as dropout would
        return TensorStandIn(logits(features.values) + noise, "cuda", has_gradient=True)


@pytest.mark.parametrize("was_training", [True, False])
def test_torch_modules_are_asked_in_evaluation_mode_on_their_device(was_training: bool) -> None:
    frozen = ModuleStandIn(training=False)
    module = ModuleStandIn(was_training, frozen)
    assert FromTorch(module, 3).confidences(FEATURES) == pytest.approx(softmax(LOGITS), abs=1e-6)
    assert module.training == was_training
    assert not frozen.training


def test_estimators_have_their_columns_put_in_order() -> None:
    """Trained on the classes 2 and 0 only, so that column 1 stands for class 2."""
    estimator = DummyClassifier(strategy="prior").fit(FEATURES, np.array([2, 0, 2]))
    found = FromEstimator(estimator, 4).confidences(FEATURES)
    assert found == pytest.approx(np.tile([1 / 3, 0, 2 / 3, 0], (3, 1)))


@pytest.mark.parametrize("labels", [["a", "b", "a"], [0, 7, 0], [-1, 1, 1]])
def test_estimators_with_other_labels_are_refused(labels: list[Any]) -> None:
    estimator = DummyClassifier(strategy="prior").fit(FEATURES, labels)
    with pytest.raises(DataError, match="whole numbers from 0 to 2"):
        FromEstimator(estimator, 3).confidences(FEATURES)


def test_an_estimator_trainer_trains_each_model_on_its_members() -> None:
    labels = np.array([0, 1, 1])
    seeds: list[int] = []

    def make(seed: int) -> LogisticRegression:
        seeds.append(seed)
        return LogisticRegression(random_state=seed)

    members = np.array([[True, True, False], [True, False, True]])
    group = EstimatorTrainer(make, 2, "logistic regression").train(FEATURES, labels, members)
    for number, own in enumerate(members):
        alone = LogisticRegression().fit(FEATURES[own], labels[own]).predict_proba(FEATURES)
        assert group.confidences(FEATURES)[number] == pytest.approx(alone)
        assert OneOf(group, number).confidences(FEATURES) == pytest.approx(alone)
    assert seeds == [0, 1]
