"""The second control, a network that is overfitted on purpose; and what a target gives is looked at first.

Seeds are fixed, but for those of networks. About 3 s of CPU in all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from smalti.errors import DataError
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.membership.application import MembershipInference, with_planted_leak
from smalti.transforms.membership.attack import Attack
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.loss_threshold import LossThreshold
from smalti.transforms.membership.models import FromCallable, ModelGroup, TargetModel
from smalti.transforms.membership.network_trainer import NetworkTrainer
from smalti.transforms.membership.overfitted import STEPS, overfitted
from smalti.transforms.membership.planted_leak import MemorisingTrainer, detection
from smalti.transforms.membership.relative_membership import RelativeMembership

Draw = Callable[..., DataSet]
RECORDS, CONFIDENCE = 150, 0.95
PRIVATE = Hyperparameters(1, 50, 0.01, Optimizer.ADAM, PrivateTraining(20.0, 1.0, 0.5))


@dataclass(frozen=True)
class ByMemory:
    """Trains memorisers in the name of another recipe."""

    recipe: str

    def train(self, features: np.ndarray, labels: np.ndarray, members: np.ndarray) -> ModelGroup:
        return MemorisingTrainer(3).train(features, labels, members)


@dataclass(frozen=True)
class Never:
    """A trainer that must not be asked."""

    recipe: str = "none"

    def train(self, features: np.ndarray, labels: np.ndarray, members: np.ndarray) -> ModelGroup:
        raise AssertionError("a model was trained")


def network(*hidden: int, hyperparameters: Hyperparameters = PRIVATE) -> NetworkTrainer:
    return NetworkTrainer(Architecture(100, hidden, 3), hyperparameters, Seeded(3))


@pytest.fixture
def audit(draw_records: Draw) -> Callable[..., MembershipInference]:
    def made(trainer: NetworkTrainer, *attacks: Attack) -> MembershipInference:
        training, test = draw_records("training", RECORDS, 1), draw_records("test", RECORDS, 2)
        target = TargetModel(FromCallable(_knows_nothing, 3), trainer.recipe, training, test)
        return MembershipInference(target, ByMemory(trainer.recipe), attacks, shadow_models=4, seed=5)

    return made


def _knows_nothing(features: np.ndarray) -> np.ndarray:
    return np.full((len(features), 3), 1 / 3)


def test_the_control_of_a_private_network_gives_away_what_the_network_does_not(
    audit: Callable[..., MembershipInference],
) -> None:
    private = network(16)
    asked = audit(private, LossThreshold())
    control = overfitted(private, asked.target.training)
    assert control.description.hyperparameters.private is None
    assert control.description.architecture == private.architecture
    found = replace(asked, control=control).run(CONFIDENCE)
    ((name, scored),), ((_, on_control),) = found.scored, found.on_control
    assert name == "loss"
    assert not detection(scored, CONFIDENCE).is_detected
    assert detection(on_control, CONFIDENCE).is_detected
    assert asked.run(CONFIDENCE).on_control == ()


def test_the_control_is_attacked_with_the_shadow_models_of_the_target(
    audit: Callable[..., MembershipInference], draw_records: Draw
) -> None:
    """Also where the records are compared with a population, about which it is asked as well."""
    asked = audit(network(16), RelativeMembership())
    seen: list[int] = []

    def told(features: np.ndarray) -> np.ndarray:
        seen.append(len(features))
        return _knows_nothing(features)

    population = draw_records("the population", 40, 9)
    found = replace(asked, population=population, control=FromCallable(told, 3)).run(CONFIDENCE)
    assert [name for name, _ in found.on_control] == ["rmia"]
    assert sorted(seen) == [40, 2 * RECORDS]


@pytest.mark.parametrize(
    ("records", "hyperparameters", "longer"),
    [
        (10, Hyperparameters(1, 50, 0.01), Hyperparameters(STEPS, 200, 0.02)),
        (1000, Hyperparameters(1, 1, 0.5, Optimizer.SGD), Hyperparameters(1000, 200, 0.02)),
        (1000, Hyperparameters(1007, 1, 0.01), Hyperparameters(1007, 200, 0.02)),
        (100_000, Hyperparameters(1, 1000, 0.5), Hyperparameters(50, 1000, 0.5)),
        (3000, PRIVATE, Hyperparameters(334, 200, 0.02)),
    ],
)
def test_the_control_is_trained_for_so_many_steps(
    draw_records: Draw, monkeypatch: pytest.MonkeyPatch, records: int, hyperparameters: Hyperparameters,
    longer: Hyperparameters,
) -> None:  # fmt: skip
    asked: list[Hyperparameters] = []

    def trained(
        trainer: NetworkTrainer, features: np.ndarray, labels: np.ndarray, members: np.ndarray
    ) -> list[None]:
        asked.append(trainer.hyperparameters)
        assert members.shape == (1, len(features)) == (1, len(labels))
        assert np.flatnonzero(members[0]).tolist() == list(range(records))
        assert len(features) % 256 == 0
        return [None]

    monkeypatch.setattr(NetworkTrainer, "train", trained)
    overfitted(network(hyperparameters=hyperparameters), draw_records("some", records, 1))
    assert asked == [longer]


def test_a_planted_leak_has_no_control(audit: Callable[..., MembershipInference]) -> None:
    asked = replace(audit(network(), LossThreshold()), control=FromCallable(_knows_nothing, 3))
    assert with_planted_leak(asked, MemorisingTrainer(3)).run(CONFIDENCE).on_control == ()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (np.nan, "not finite"),
        (np.inf, "not finite"),
        (-1.0, "not probabilities"),
        (0.9, "do not sum to one"),
    ],
)
@pytest.mark.parametrize("of_population", [False, True])
def test_no_shadow_model_is_trained_for_a_target_that_gives_no_confidences(
    audit: Callable[..., MembershipInference],
    draw_records: Draw,
    given: float,
    problem: str,
    of_population: bool,
) -> None:
    """Not even where it gives them for the first record, which is all that `check` asks about."""
    population = draw_records("the population", 40, 9)
    wrong = population if of_population else audit(network()).target.training
    marked = wrong.features[7]

    def told(features: np.ndarray) -> np.ndarray:
        found = _knows_nothing(features)
        found[(features == marked).all(axis=1), 0] = given
        return found

    asked = audit(network(), RelativeMembership())
    target = replace(asked.target, classifier=FromCallable(told, 3), recipe="none")
    with pytest.raises(DataError, match=f"confidences of 1 record (are )?{problem}"):
        replace(asked, target=target, trainer=Never(), population=population).run(CONFIDENCE)
