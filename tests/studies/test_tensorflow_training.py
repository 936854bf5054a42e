"""The second back end as far as it goes without its libraries: messages, batches, what is refused.

What it trains is tested by `make test-tf`, in an environment that has them.
"""

import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from evidence import share_within

from smalti.errors import BackendError
from smalti.studies.tensorflow import libraries, training
from smalti.studies.tensorflow.trainer import TensorFlowTrainer
from smalti.studies.tensorflow.training import train
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.randomness import Seeded

ARCHITECTURE = Architecture(2, (), 2)
PRIVATE = Hyperparameters(1, 2, 0.1, Optimizer.SGD, PrivateTraining(1.0, 1.0, 0.5))
FEATURES = np.zeros((3, 2), np.float32)
LABELS = np.array([0, 1, 1])
MEMBERS = np.ones((1, 3), np.bool_)


def use_of(python: tuple[int, int], version: str | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said on this Python, where TensorFlow of this version is installed and nothing else."""
    module: Any = ModuleType("tensorflow")
    module.__version__ = version
    monkeypatch.setattr(libraries.sys, "version_info", (*python, 0, "final", 0))
    monkeypatch.setitem(sys.modules, "tensorflow", module if version else None)
    monkeypatch.setitem(sys.modules, "tensorflow_privacy", None)
    with pytest.raises(BackendError) as caught:
        TensorFlowTrainer(ARCHITECTURE, PRIVATE, Seeded(0)).train(FEATURES, LABELS, MEMBERS)
    return str(caught.value)


@pytest.mark.parametrize(
    ("python", "version", "problem"),
    [
        ((3, 12), "2.15.1", "it does not run on this version of Python; expected Python 3.11"),
        (
            (3, 11),
            "2.16.0",
            "TensorFlow 2.16 is installed, but .* does not run in it; expected TensorFlow 2.15",
        ),
        ((3, 11), "3.0.0-rc1", "TensorFlow 3.0 is installed"),
        ((3, 11), None, "TensorFlow is not installed; expected the package tensorflow"),
        ((3, 11), "2.15.1", "private optimizers is not installed; expected the package tensorflow-privacy"),
    ],
)
def test_libraries_that_are_missing_or_do_not_fit_are_named_with_the_way_out(
    python: tuple[int, int], version: str | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        said = use_of(python, version, changed)
    assert said.startswith("training with tensorflow-privacy: ")
    assert re.search(problem, said)
    assert "pip install '.[audit-tf]'" in said


def test_records_are_in_a_batch_with_the_rate_and_independently() -> None:
    members = np.arange(4000) % 2 > 0
    found = training._batches(members, 0.3, 50, np.array([1, 2], np.uint32))
    chosen = np.zeros((50, 4000), bool)
    for step, places in enumerate(found.chosen):
        chosen[step, places] = True
    assert not chosen[:, ~members].any()
    inside = chosen[:, members]
    low, high = share_within(int(inside.sum()), inside.size)
    assert low <= 0.3 <= high
    for pairs in (inside[:, 1::2] & inside[:, ::2], inside[1::2] & inside[::2]):
        low, high = share_within(int(pairs.sum()), pairs.size)
        assert low <= 0.09 <= high


def test_batches_are_filled_up_to_the_largest_with_weight_zero() -> None:
    found = training._Batches([np.array([4, 7, 9]), np.array([], np.int64), np.array([5])])
    assert found.size == 3
    padded = list(found.padded())
    assert [(places[weights > 0].tolist(), weights.tolist()) for places, weights in padded] == [
        ([4, 7, 9], [1, 1, 1]),
        ([], [0, 0, 0]),
        ([5], [1, 0, 0]),
    ]
    assert training._Batches([np.array([], np.int64)]).size == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hyperparameters": Hyperparameters(1, 2, 0.1)}, "trains with privacy only"),
        ({"data": (FEATURES[:, :1], LABELS)}, "a row of features"),
        ({"data": (FEATURES[:0], LABELS[:0])}, "a row of features"),
        ({"members": np.ones((1, 2), np.bool_)}, "a flag is expected"),
        ({"members": np.ones((1, 3))}, "a flag is expected"),
        ({"data": (FEATURES, np.array([0, 1, 2]))}, "labels are whole numbers"),
        ({"data": (FEATURES, np.array([0.0, 1.0, 1.0]))}, "labels are whole numbers"),
        ({"data": (FEATURES + np.nan, LABELS)}, "finite numbers"),
        ({"data": (np.full((3, 2), 1e300), LABELS)}, "finite numbers"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is_imported(
    wrong: dict[str, Any], message: str
) -> None:
    right: dict[str, Any] = {
        "architecture": ARCHITECTURE,
        "hyperparameters": PRIVATE,
        "data": (FEATURES, LABELS),
        "members": MEMBERS,
        "randomness": Seeded(0),
    }
    with pytest.raises(ValueError, match=message):
        train(**right | wrong)
