"""Audits from the target to the scores: who wins, and what is refused before any training.

Data and seeds are fixed, so results are the same each time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from smalti.errors import ProblemsError, SmaltiError
from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.membership.application import MembershipInference, with_planted_leak
from smalti.transforms.membership.attack import Attack
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.likelihood_ratio import OfflineLikelihoodRatio, OnlineLikelihoodRatio
from smalti.transforms.membership.loss_threshold import LossThreshold
from smalti.transforms.membership.models import (
    ClassifierGroup,
    EstimatorTrainer,
    FromCallable,
    ModelGroup,
    TargetModel,
    Trainer,
)
from smalti.transforms.membership.planted_leak import MemorisingTrainer, detection
from smalti.transforms.membership.relative_membership import RelativeMembership
from smalti.transforms.membership.shadow_attack import ShadowModelAttack

Draw = Callable[..., DataSet]
ALL: tuple[Attack, ...] = (
    ShadowModelAttack(),
    LossThreshold(),
    OnlineLikelihoodRatio(),
    OfflineLikelihoodRatio(),
    RelativeMembership(),
)
RECORDS = 150
CONFIDENCE = 0.95


@pytest.fixture(scope="session")
def audit(draw_records: Draw) -> Callable[..., MembershipInference]:
    def made(
        trainer: Trainer, attacks: tuple[Attack, ...] = ALL, test: int = RECORDS
    ) -> MembershipInference:
        target = TargetModel.trained(
            trainer, draw_records("the training set", RECORDS, 1), draw_records("the test set", test, 2)
        )
        pool = draw_records("the shadow pool", 2 * RECORDS, 3)
        return MembershipInference(target, trainer, attacks, pool, shadow_models=8, seed=5)

    return made


@dataclass
class Recording:
    """Trains as another trainer does, and remembers on what."""

    trainer: Trainer
    calls: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    @property
    def recipe(self) -> str:
        return self.trainer.recipe

    def train(self, features: np.ndarray, labels: np.ndarray, members: np.ndarray) -> ModelGroup:
        self.calls.append((features, members))
        return self.trainer.train(features, labels, members)


@dataclass
class Never:
    """A trainer that must not be asked."""

    recipe: str

    def train(self, features: np.ndarray, labels: np.ndarray, members: np.ndarray) -> ModelGroup:
        raise AssertionError("a model was trained")


def test_every_attack_wins_against_an_overfitted_model(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    areas = {
        name: RocCurve.of(scored.split()).area for name, scored in audit(overfitted).run(CONFIDENCE).scored
    }
    assert list(areas) == [attack.name for attack in ALL]
    assert min(areas.values()) > 0.65, areas
    assert areas["lira-online"] > 0.8, areas


def test_no_attack_wins_against_a_model_to_which_no_record_matters(
    audit: Callable[..., MembershipInference], general: EstimatorTrainer
) -> None:
    """The lower limits of five advantages at 99 % are 0, though all of them see the same records."""
    for name, scored in audit(general).run(CONFIDENCE).scored:
        assert not detection(scored, 0.99).is_detected, name


def test_every_attack_detects_a_planted_leak_and_none_on_too_few_records(
    audit: Callable[..., MembershipInference], general: EstimatorTrainer, draw_records: Draw
) -> None:
    planted = with_planted_leak(audit(general), MemorisingTrainer(3))
    for name, scored in planted.run(CONFIDENCE).scored:
        assert detection(scored, CONFIDENCE).is_detected, name
    few = replace(
        planted.target, training=draw_records("training", 30, 1), test=draw_records("test", 30, 2)
    )
    small = with_planted_leak(replace(planted, target=few), MemorisingTrainer(3, share=0.1))
    for name, scored in small.run(CONFIDENCE).scored:
        assert not detection(scored, CONFIDENCE).is_detected, name


def test_the_same_seed_gives_the_same_scores(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    first, again, other = (
        replace(audit(overfitted, test=100), seed=seed, shadow_models=2).run(CONFIDENCE)
        for seed in (1, 1, 2)
    )
    for one, two, three in zip(first.scored, again.scored, other.scored, strict=True):
        assert (one[1].scores == two[1].scores).all()
        assert (one[1].scores != three[1].scores).any()


def test_shadow_models_are_trained_on_as_many_records_as_the_target(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    """Of 150 members 100 are audited; the other 50 are in the training set of each halved model."""
    recording = Recording(overfitted)
    made = replace(audit(overfitted, test=100), trainer=recording)
    attacked = made.run(CONFIDENCE)
    (pool, disjoint), (everything, halved) = recording.calls
    assert (disjoint.sum(axis=1) == RECORDS).all()
    assert (halved.sum(axis=1) == RECORDS).all()
    assert pool.shape[0] == 2 * RECORDS
    assert everything.shape[0] == 100 + 100 + 50
    assert halved[:, 200:].all()
    assert (halved[:, :200].sum(axis=0) == 4).all()
    own = {row.tobytes() for row in made.target.training.features}
    assert [row.tobytes() in own for row in everything] == [True] * 100 + [False] * 100 + [True] * 50
    for _, scored in attacked.scored:
        assert scored.is_member.tolist() == [True] * 100 + [False] * 100
    assert len(attacked.labels) == 200


def test_more_test_than_training_records(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    recording = Recording(overfitted)
    replace(audit(overfitted, (RelativeMembership(),), test=200), trainer=recording).run(CONFIDENCE)
    ((everything, halved),) = recording.calls
    assert everything.shape[0] == 2 * RECORDS
    assert (halved.sum(axis=1) == RECORDS).all()


def test_one_group_of_disjoint_models_serves_offline_attacks_too(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    recording = Recording(overfitted)
    offline = (ShadowModelAttack(), OfflineLikelihoodRatio(), RelativeMembership(offline_factor=0.3))
    attacked = replace(audit(overfitted, offline), trainer=recording).run(CONFIDENCE)
    assert len(recording.calls) == 1
    for name, scored in attacked.scored:
        assert RocCurve.of(scored.split()).area > 0.65, name


def test_the_loss_needs_no_shadow_models(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    made = replace(audit(overfitted, (LossThreshold(),)), trainer=Never("another recipe"), pool=None)
    assert len(made.run(CONFIDENCE).scored) == 1


def test_a_population_apart_is_compared_with(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer, draw_records: Draw
) -> None:
    made = audit(overfitted, (RelativeMembership(),))
    made = replace(made, population=draw_records("the population", 40, 4))
    ((_, scored),) = made.run(CONFIDENCE).scored
    assert set((scored.scores * 40).round(9) % 1) == {0.0}
    assert RocCurve.of(scored.split()).area > 0.65


# --- What is refused before any training ------------------------------------------------------


def problems(made: MembershipInference, rate: float | None = None, confidence: float = CONFIDENCE) -> str:
    with pytest.raises(SmaltiError) as raised:
        replace(made, trainer=Never(made.trainer.recipe)).run(confidence, rate)
    return str(raised.value)


def test_shared_records_are_refused(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    made = audit(overfitted)
    training, test, pool = made.target.training, made.target.test, made.pool
    assert pool is not None
    stolen = training.take(np.array([3, 4]))
    leaky_test = replace(made, target=replace(made.target, test=test.joined("the test set", stolen)))
    assert "the test set: 2 records are also in the training set" in problems(leaky_test)
    leaky_pool = replace(made, pool=pool.joined("the shadow pool", stolen))
    assert "the shadow pool: 2 records are also in the training set" in problems(leaky_pool)
    for population, others in ((training, "the training set"), (test, "the test set")):
        shared = replace(made, population=replace(population, name="the population"))
        assert f"the population: 150 records are also in {others}" in problems(shared)


def test_missing_classes_are_refused(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    made = audit(overfitted)
    pool = made.pool
    assert pool is not None
    poor = replace(made, pool=pool.take(np.flatnonzero(pool.labels != 1)))
    assert "the shadow pool: 1 classes have too few records" in problems(poor)


def test_classes_that_are_missing_from_a_half_are_refused(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    made = audit(overfitted, (OnlineLikelihoodRatio(),))
    training, test = made.target.training, made.target.test
    lonely = training.take(np.flatnonzero((training.labels != 1) | (np.arange(RECORDS) == 1)))
    others = test.take(np.flatnonzero(test.labels != 1))
    poor = replace(made, target=replace(made.target, training=lonely, test=others))
    assert "1 classes have no record inside of a shadow training set" in problems(poor)


def test_other_hyperparameters_are_refused(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    made = audit(overfitted)
    other = replace(made, target=replace(made.target, recipe="quadratic discriminants"))
    assert "hyperparameters differ from the target's" in problems(other)


def test_a_pool_is_asked_for(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    assert "there is no shadow pool" in problems(replace(audit(overfitted), pool=None))
    assert "no attack; expected at least one" in problems(replace(audit(overfitted), attacks=()))
    assert "7 models; expected an even number" in problems(replace(audit(overfitted), shadow_models=7))
    assert "0 models" in problems(replace(audit(overfitted, (ShadowModelAttack(),)), shadow_models=0))


def test_too_few_records_for_the_confidence_are_refused(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    made = audit(overfitted, (LossThreshold(),))
    assert "enough for a false positive rate of 0.001" in problems(made, rate=0.001)
    made.check(CONFIDENCE, 0.1)
    tiny = replace(made, target=replace(made.target, test=made.target.test.take(np.arange(26))))
    assert "26 members and as many others can be audited; expected 30 of each" in problems(tiny)
    tiny.check(0.9)


def test_other_features_or_classes_are_refused(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    made = audit(overfitted)
    pool = made.pool
    assert pool is not None
    narrow = replace(made, pool=replace(pool, features=pool.features[:, 1:]))
    assert "the shadow pool: features or classes differ" in problems(narrow)
    assert "features or classes differ" in problems(replace(made, pool=replace(pool, classes=4)))


@pytest.mark.parametrize(
    ("given", "message"),
    [(0.5, "the model: the confidences of 1 record do not sum to one"), (np.nan, "are not finite")],
)
def test_a_target_without_confidences_is_refused(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer, given: float, message: str
) -> None:
    made = audit(overfitted)
    broken = FromCallable(lambda features: np.full((len(features), 3), given), 3)
    assert message in problems(replace(made, target=replace(made.target, classifier=broken)))


def test_a_classifier_of_ones_own_is_checked_too(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    class Broken:
        def confidences(self, features: np.ndarray) -> np.ndarray:
            return np.full((len(features), 3), 0.5)

    made = audit(overfitted, (OnlineLikelihoodRatio(),))
    assert "the target: the confidences" in problems(
        replace(made, target=replace(made.target, classifier=Broken()))
    )

    @dataclass
    class BrokenTrainer:
        recipe: str

        def train(self, features: np.ndarray, labels: np.ndarray, members: np.ndarray) -> ModelGroup:
            return ClassifierGroup((Broken(),) * len(members))

    with pytest.raises(SmaltiError, match="the shadow models: the confidences of 2400 records do not sum"):
        replace(made, trainer=BrokenTrainer(made.trainer.recipe)).run(CONFIDENCE)


def test_all_problems_are_told_at_once(
    audit: Callable[..., MembershipInference], overfitted: EstimatorTrainer
) -> None:
    made = replace(audit(overfitted), shadow_models=7, population=None)
    tiny = replace(
        made, target=replace(made.target, test=made.target.test.take(np.arange(3)), recipe="other")
    )
    with pytest.raises(ProblemsError) as raised:
        tiny.check(CONFIDENCE)
    assert len(raised.value.problems) == 3
