"""Models of PyTorch as classifiers: the adapter on modules as they are, and an audit of them."""

import numpy as np
import pytest
import torch
from opacus import GradSampleModule
from torch import nn

from smalti.errors import DataError
from smalti.transforms.membership.application import MembershipInference
from smalti.transforms.membership.confidences import SUM_TOLERANCE
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.likelihood_ratio import OnlineLikelihoodRatio
from smalti.transforms.membership.loss_threshold import LossThreshold
from smalti.transforms.membership.models import ClassifierGroup, FromTorch, TargetModel
from smalti.transforms.membership.planted_leak import detection

FEATURES = np.random.default_rng(4).normal(size=(200, 6))
CLASSES = 3


def network() -> nn.Sequential:
    """With parts that behave otherwise in training: dropout, and the statistics of a batch."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, CLASSES)
    )


def wanted(module: nn.Module, features: np.ndarray = FEATURES) -> np.ndarray:
    """By PyTorch alone, in doubles."""
    copied = network()
    copied.load_state_dict(module.state_dict())
    with torch.no_grad():
        logits = copied.double().eval()(torch.tensor(np.ascontiguousarray(features)))
    return torch.softmax(logits, dim=1).numpy()


def test_modules_are_asked_in_evaluation_mode_and_left_as_they_were() -> None:
    module = network().train()
    module[1].eval()  # a part that its owner froze
    before = {name: value.clone() for name, value in module.state_dict().items()}
    modes = [part.training for part in module.modules()]
    found = FromTorch(module, CLASSES).confidences(FEATURES)
    assert found == pytest.approx(wanted(module), abs=1e-6)
    assert (FromTorch(module, CLASSES).confidences(FEATURES) == found).all()
    assert [part.training for part in module.modules()] == modes
    assert all((value == before[name]).all() for name, value in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())


def test_a_module_that_fails_is_left_as_it_was() -> None:
    module = network().train()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        FromTorch(module, CLASSES).confidences(FEATURES[:, :5])
    assert all(part.training for part in module.modules())


@pytest.mark.parametrize(
    ("dtype", "digits"),
    [(torch.float64, 1e-12), (torch.float32, 1e-6), (torch.float16, 1e-2), (torch.bfloat16, 1e-1)],
    ids=str,
)
def test_modules_are_asked_in_the_type_of_their_parameters(dtype: torch.dtype, digits: float) -> None:
    module = network().to(dtype)
    found = FromTorch(module, CLASSES).confidences(FEATURES)
    assert found.dtype == (np.float64 if dtype is torch.float64 else np.float32)
    assert found == pytest.approx(wanted(network()), abs=digits)
    assert found.sum(axis=1) == pytest.approx(np.ones(len(FEATURES)), abs=SUM_TOLERANCE / 100)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_modules_may_give_confidences_themselves(dtype: torch.dtype) -> None:
    """In bfloat16 they are too coarse to sum to one, and are refused as such."""
    module = nn.Sequential(network(), nn.Softmax(dim=1)).to(dtype)
    adapted = FromTorch(module, CLASSES, gives_logits=False)
    if dtype is torch.float32:
        assert adapted.confidences(FEATURES) == pytest.approx(wanted(network()), abs=1e-6)
    else:
        with pytest.raises(DataError, match="do not sum to one"):
            adapted.confidences(FEATURES)


def read_only(features: np.ndarray) -> np.ndarray:
    copied = features.copy()
    copied.flags.writeable = False
    return copied


@pytest.mark.parametrize(
    "features",
    [
        FEATURES.astype(np.float32),
        FEATURES[::-1],
        np.asfortranarray(FEATURES),
        np.repeat(FEATURES, 2, axis=1)[:, ::2],
        read_only(FEATURES),
        FEATURES.astype(">f8"),
    ],
    ids=["single", "backwards", "by columns", "with gaps", "read-only", "big-endian"],
)
def test_features_may_lie_in_memory_as_they_like(features: np.ndarray) -> None:
    module = network()
    expected = wanted(module, features.astype(np.float64))
    assert FromTorch(module, CLASSES).confidences(features) == pytest.approx(expected, abs=1e-6)


def test_many_records_and_none() -> None:
    module = network()
    many = np.tile(FEATURES, (30, 1))
    assert FromTorch(module, CLASSES).confidences(many) == pytest.approx(wanted(module, many), abs=1e-6)
    assert FromTorch(module, CLASSES).confidences(FEATURES[:0]).shape == (0, CLASSES)


def test_what_gives_no_tensor_is_refused() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(6, CLASSES)

        def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return self.inner(features), features

    module = Both().train()
    with pytest.raises(DataError, match="does not return one tensor"):
        FromTorch(module, CLASSES).confidences(FEATURES)
    assert module.inner.training
    with pytest.raises(DataError, match="it has no parameters"):
        FromTorch(nn.Softmax(dim=1), 6).confidences(FEATURES)


def test_modules_that_opacus_wrapped() -> None:
    """They are asked as they are; their hooks store gradients in training only."""
    plain = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, CLASSES))
    expected = FromTorch(plain, CLASSES).confidences(FEATURES)
    wrapped = GradSampleModule(plain)
    assert (FromTorch(wrapped, CLASSES).confidences(FEATURES) == expected).all()
    assert all(not hasattr(part, "activations") for part in wrapped.modules())


class TorchTrainer:
    """Trains small networks one after the other, on the whole batch, until they know it by heart."""

    recipe = "200 steps of Adam"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def train(self, features: np.ndarray, labels: np.ndarray, members: np.ndarray) -> ClassifierGroup:
        torch.manual_seed(self.seed)
        return ClassifierGroup(tuple(self._one(features[own], labels[own]) for own in members))

    def _one(self, features: np.ndarray, labels: np.ndarray) -> FromTorch:
        module = nn.Sequential(nn.Linear(features.shape[1], 32), nn.Tanh(), nn.Linear(32, CLASSES))
        optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
        given, classes = torch.tensor(features, dtype=torch.float32), torch.tensor(labels)
        for _ in range(200):
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(given), classes).backward()
            optimizer.step()
        return FromTorch(module, CLASSES)


def test_an_audit_of_modules() -> None:
    """A network that knows its records by heart is found out; the seeds are fixed."""
    draw = np.random.default_rng(9)
    labels = np.arange(300) % CLASSES
    centres = draw.normal(size=(CLASSES, 40)) * 0.3
    data = DataSet("records", centres[labels] + draw.normal(size=(300, 40)), labels, CLASSES)
    training, test = data.take(np.arange(150)), data.take(np.arange(150, 300))
    target = TargetModel.trained(TorchTrainer(1), training, test)
    attacks = LossThreshold(), OnlineLikelihoodRatio()
    audit = MembershipInference(target, TorchTrainer(2), attacks, shadow_models=8)
    for name, scored in audit.run(0.95).scored:
        assert detection(scored, 0.99).is_detected, name
