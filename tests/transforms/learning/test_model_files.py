"""Files of networks: what comes back, and what is refused."""

import json
import pickle
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy

from smalti.errors import DataError
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.model_files import load, save
from smalti.transforms.learning.models import Description, TrainedModel
from smalti.transforms.learning.networks import Layer
from smalti.transforms.learning.randomness import Origin

ENTRY = "smalti.network.1"
SMALL = Architecture(5, (4,), 3, Activation.RELU)


def model(architecture: Architecture = SMALL) -> TrainedModel:
    random = np.random.default_rng(0)
    parameters = tuple(
        Layer(random.normal(size=shape).astype(np.float32), random.normal(size=shape[1]).astype(np.float32))
        for shape in architecture.shapes
    )
    private = PrivateTraining(1.5, 0.1, 0.01)
    training = Hyperparameters(2, 100, 1e-3, Optimizer.SGD, private)
    return TrainedModel(Description(architecture, training, Origin.SEED), parameters)


@pytest.mark.parametrize("architecture", [Architecture(2, (), 2), Architecture(5, (4, 3), 3)])
def test_a_network_comes_back_with_its_description(architecture: Architecture, tmp_path: Path) -> None:
    one, path = model(architecture), tmp_path / "network.safetensors"
    save(one, path)
    back = load(path)
    assert back.description == one.description
    assert back.description.is_test_only
    for a, b in zip(jax.tree.leaves(one.parameters), jax.tree.leaves(back.parameters), strict=True):
        np.testing.assert_array_equal(a, b)
    features = np.eye(architecture.features, dtype=np.float32)
    np.testing.assert_array_equal(back.confidences(features), one.confidences(features))


def test_no_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "there"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        save(model(), path)
    assert path.read_text() == "mine"


def written(path: Path, change: str) -> None:
    """A file that is none, in some way."""
    save(model(), path)
    content = path.read_bytes()
    with safetensors.safe_open(path, framework="np") as file:
        text = file.metadata()[ENTRY]
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    description = json.loads(text)
    match change:
        case "cut":
            path.write_bytes(content[:-5])
        case "pickle":
            path.write_bytes(pickle.dumps(arrays))
        case "empty":
            path.write_bytes(b"")
        case "undescribed":
            path.write_bytes(safetensors.numpy.save(arrays))
        case "no json":
            path.write_bytes(safetensors.numpy.save(arrays, {ENTRY: "{"}))
        case "other network":
            description["architecture"]["features"] = 6
        case "huge":
            description["architecture"]["hidden"] = [10**9]
        case "unknown word":
            description["hyperparameters"]["optimizer"] = "other"
        case "huge rate":
            description["hyperparameters"]["learning_rate"] = 1e300  # no float of 32 bits
        case "not a number":
            arrays["layers.0.biases"][0] = np.nan
    if change in {"other network", "huge", "unknown word", "huge rate", "not a number"}:
        path.write_bytes(safetensors.numpy.save(arrays, {ENTRY: json.dumps(description)}))


@pytest.mark.parametrize(
    "change",
    [
        "cut", "pickle", "empty", "undescribed", "no json", "other network", "huge", "unknown word",
        "huge rate", "not a number",
    ],
)  # fmt: skip
def test_files_that_are_none_are_refused_without_their_content(change: str, tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    written(path, change)
    with pytest.raises(DataError, match="not a network that smalti can read") as caught:
        load(path)
    assert caught.value.__cause__ is None
    assert "pickle" in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a network"):
        load(tmp_path / "nothing")
