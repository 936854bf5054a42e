"""Classifiers that give confidences, which can be attacked, and trainers of such classifiers.

Adapters turn the models of other libraries into a `Classifier`. None of these libraries is imported here:
an adapter uses the methods that their models have.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from smalti.errors import DataError
from smalti.transforms.membership.confidences import Floats, checked_confidences, softmax
from smalti.transforms.membership.data import DataSet
from smalti.transforms.problem import Flags, Integers

_BATCH: Final = 4096
"""Records that a model is asked about at once."""
_TORCH: Final = "the PyTorch module"
_SINGLE: Final = 4
"""Bytes of a number in single precision."""


class Classifier(Protocol):
    """A model that gives a confidence for each class."""

    def confidences(self, features: Floats) -> Floats:
        """Class confidences of records.

        Args:
            features: float[records, features].

        Returns:
            float[records, classes]; each row sums to one.
        """


class ModelGroup(Protocol):
    """Several models that are asked together (`ShadowGroup` of D5.1, section 3.3)."""

    def confidences(self, features: Floats) -> Floats:
        """Class confidences that each of the models gives.

        Args:
            features: float[records, features].

        Returns:
            float[models, records, classes].
        """


class Trainer(Protocol):
    """Trains models of one architecture with the same hyper-parameters, each on its part of the records."""

    @property
    def recipe(self) -> str:
        """Names architecture and hyper-parameters; equal only where both are equal."""

    def train(self, features: Floats, labels: Integers, members: Flags) -> ModelGroup:
        """Train one model for each row of a membership mask.

        Args:
            features: float[records, features].
            labels: int[records]: classes numbered from 0.
            members: bool[models, records]: which records each model is trained on.
        """


@dataclass(frozen=True, slots=True)
class OneOf:
    """One model of a group."""

    group: ModelGroup
    number: int = 0

    def confidences(self, features: Floats) -> Floats:
        own: Floats = self.group.confidences(features)[self.number]
        return own


@dataclass(frozen=True, slots=True, eq=False)
class TargetModel:
    """The model under audit, with the records that it was and was not trained on."""

    classifier: Classifier
    recipe: str
    """That of the `Trainer` whose hyper-parameters it was trained with."""
    training: DataSet
    """What it was trained on: the members."""
    test: DataSet
    """Records of the same distribution that it was not trained on."""

    @classmethod
    def trained(cls, trainer: Trainer, training: DataSet, test: DataSet) -> Self:
        """A target that the trainer of the shadow models trains, too."""
        all_of_them = np.ones((1, len(training)), np.bool_)
        group = trainer.train(training.features, training.labels, all_of_them)
        return cls(OneOf(group), trainer.recipe, training, test)


@dataclass(frozen=True, slots=True)
class FromCallable:
    """Anything that maps a table of features to one of confidences: a JAX function, an ONNX session, ..."""

    function: Callable[[Floats], object]
    """float[records, features] to float[records, classes]."""
    classes: int
    gives_logits: bool = False
    """Whether a softmax turns what it gives into confidences."""

    def confidences(self, features: Floats) -> Floats:
        return _confidences_of("the model", self.function, features, self.classes, self.gives_logits)


class KerasModel(Protocol):
    """What is used of a Keras model."""

    def predict(self, features: Floats, *, verbose: int) -> object: ...


@dataclass(frozen=True, slots=True)
class FromKeras:
    """A Keras model, of version 2 or 3."""

    model: KerasModel
    classes: int
    gives_logits: bool = False

    def confidences(self, features: Floats) -> Floats:
        def predict(batch: Floats) -> object:
            return self.model.predict(batch, verbose=0)

        return _confidences_of("the Keras model", predict, features, self.classes, self.gives_logits)


class Tensor(Protocol):
    """What is used of a PyTorch tensor."""

    def new_tensor(self, values: Floats) -> "Tensor": ...
    def detach(self) -> "Tensor": ...
    def cpu(self) -> "Tensor": ...
    def element_size(self) -> int: ...
    def float(self) -> "Tensor": ...
    def numpy(self) -> NDArray[np.floating]: ...


class TorchModule(Protocol):
    """What is used of a PyTorch module."""

    training: bool

    def parameters(self) -> Iterable[Tensor]: ...
    def modules(self) -> Iterable["TorchModule"]: ...
    def train(self, mode: bool) -> object: ...
    def __call__(self, features: Tensor) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class FromTorch:
    """A PyTorch module that gives one tensor.

    It is asked in evaluation mode, on the device and in the type of its first parameter; afterwards each
    part of it is in the mode that it was in. Half-precision answers are turned into confidences in 32 bits.
    """

    module: TorchModule
    classes: int
    gives_logits: bool = True

    def confidences(self, features: Floats) -> Floats:
        first = next(iter(self.module.parameters()), None)
        if first is None:
            raise _no_tensors("it has no parameters, so its device and type are unknown")

        def predict(batch: Floats) -> object:
            # PyTorch takes no array that runs backwards, and none of another byte order.
            laid_out = np.ascontiguousarray(batch, batch.dtype.newbyteorder("="))
            return _numbers(self.module(first.new_tensor(laid_out)))

        modes = [(part, part.training) for part in self.module.modules()]
        self.module.train(False)
        try:
            return _confidences_of(_TORCH, predict, features, self.classes, self.gives_logits)
        finally:
            for part, was_training in modes:
                part.training = was_training


def _numbers(answer: Tensor) -> NDArray[np.floating]:
    if not hasattr(answer, "detach"):
        raise _no_tensors("it does not return one tensor")
    on_cpu = answer.detach().cpu()
    # NumPy has no bfloat16, and a softmax in 16 bits would not sum to one.
    return (on_cpu.float() if on_cpu.element_size() < _SINGLE else on_cpu).numpy()


def _no_tensors(problem: str) -> DataError:
    return DataError(
        _TORCH,
        problem,
        "a module with parameters that returns one tensor",
        "wrap it, or use `FromCallable`",
    )


class Estimator(Protocol):
    """What is used of a scikit-learn classifier."""

    classes_: NDArray[np.generic]

    def fit(self, features: Floats, labels: Integers) -> object: ...
    def predict_proba(self, features: Floats) -> Floats: ...


@dataclass(frozen=True, slots=True)
class FromEstimator:
    """A fitted scikit-learn classifier whose labels are classes numbered from 0.

    Its columns are put in the order of the classes. A class that it was not trained on gets confidence 0.
    """

    estimator: Estimator
    classes: int

    def confidences(self, features: Floats) -> Floats:
        labels = np.asarray(self.estimator.classes_)
        if labels.dtype.kind not in "iu" or ((labels < 0) | (labels >= self.classes)).any():
            raise DataError(
                "the estimator",
                "its labels are not the classes of the audit",
                f"whole numbers from 0 to {self.classes - 1}",
                "number the classes before training",
            )

        def predict(batch: Floats) -> object:
            confidences = np.asarray(self.estimator.predict_proba(batch))
            placed = np.zeros((len(batch), self.classes), confidences.dtype)
            placed[:, labels] = confidences
            return placed

        return _confidences_of("the estimator", predict, features, self.classes, False)


@dataclass(frozen=True, slots=True)
class ClassifierGroup:
    """Separate models as one group."""

    classifiers: tuple[Classifier, ...]

    def confidences(self, features: Floats) -> Floats:
        return np.stack([classifier.confidences(features) for classifier in self.classifiers])


@dataclass(frozen=True, slots=True)
class EstimatorTrainer:
    """Trains scikit-learn classifiers, one after the other."""

    make: Callable[[int], Estimator]
    """Makes an unfitted estimator; the argument is the model's number, for its `random_state`."""
    classes: int
    recipe: str

    def train(self, features: Floats, labels: Integers, members: Flags) -> ClassifierGroup:
        return ClassifierGroup(
            tuple(self._fitted(number, features[own], labels[own]) for number, own in enumerate(members))
        )

    def _fitted(self, number: int, features: Floats, labels: Integers) -> FromEstimator:
        estimator = self.make(number)
        estimator.fit(features, labels)
        return FromEstimator(estimator, self.classes)


def _confidences_of(
    where: str, predict: Callable[[Floats], object], features: Floats, classes: int, gives_logits: bool
) -> Floats:
    """What a model says of all records, asked in batches, as checked confidences."""
    parts = []
    for start in range(0, max(1, len(features)), _BATCH):
        batch = features[start : start + _BATCH]
        answer = np.asarray(predict(batch))
        if answer.dtype.name == "bfloat16":  # of JAX; no float to NumPy, and too coarse for a sum of one
            answer = answer.astype(np.float32)
        if gives_logits and answer.ndim == 2 and answer.dtype.kind == "f" and answer.shape[1]:
            answer = softmax(answer)
        parts.append(checked_confidences(where, answer, len(batch), classes))
    return np.concatenate(parts)
