"""Training and attacking the models of one case of a comparison: a target, and its shadow models.

Each model has a training set of its own, so shadow training sets are disjoint from the target's (D5.2,
4.3.1). With local differential privacy what a model learns from is perturbed, and it is asked about the
true records: they are what an adversary wants to know of.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from smalti.errors import DataError
from smalti.studies.comparison.seeded_response import SeededBits
from smalti.studies.comparison.settings import Case, Comparison, Local
from smalti.studies.comparison.skewed_purchases import SkewedPurchases
from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.auditing.mitigation import GUESS
from smalti.transforms.learning.models import TrainedModel
from smalti.transforms.learning.networks import Floats
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.learning.training import train
from smalti.transforms.membership.attack_sets import AttackSet, AttackTrainSetGenerator
from smalti.transforms.membership.observation import ShadowAnswers
from smalti.transforms.membership.scored import Scored
from smalti.transforms.membership.shadow_attack import (
    DECISION,
    Attacker,
    AttackModel,
    logistic_regression,
)
from smalti.transforms.problem import Integers


class Others(StrEnum):
    """Which records, that a model was not trained on, are held against those that it was trained on."""

    TEST = "test records"
    """The document's: of another distribution, so that telling it from that of training is enough."""
    UNSEEN = "unseen training records"
    """Of the distribution of training: then only membership distinguishes them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The accuracy of one target, and what the attack achieved on it."""

    case: Case
    test_accuracy: float
    train_accuracy: float
    """On the true training records."""
    against_test: Outcomes
    against_unseen: Outcomes
    unadapted: Outcomes | None = None
    """Against test records, of the attack that shadow models without privacy make on a target with central
    privacy; None of other targets, and where there was no such attack."""

    def outcomes(self, others: Others) -> Outcomes:
        """The attack's decisions, with one kind of others."""
        return self.against_test if others is Others.TEST else self.against_unseen


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Records of one kind, and what their model says of them."""

    labels: Integers
    confidences: Floats
    """Shape (records, classes)."""

    @property
    def accuracy(self) -> float:
        return float((self.confidences.argmax(axis=1) == self.labels).mean())


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """What one model says of its training records, and of both kinds of others."""

    training: _Part
    test: _Part
    unseen: _Part

    def against(self, others: Others) -> ShadowAnswers:
        """Training records with one kind of others."""
        held = self.test if others is Others.TEST else self.unseen
        counts = len(self.training.labels), len(held.labels)
        return ShadowAnswers(
            np.concatenate([self.training.labels, held.labels]),
            np.concatenate([self.training.confidences, held.confidences])[None],
            np.repeat([True, False], counts)[None],
        )


def measured(
    comparison: Comparison,
    case: Case,
    trained: Callable[[], None] = lambda: None,
    plain: Attacker | None = None,
) -> tuple[Measured, Attacker]:
    """Train the models of a case, and attack the first of them by the others.

    Args:
        comparison: its sizes and its seed.
        case: one of `comparison.cases`.
        trained: called after each model.
        plain: of the shadow models without privacy, if they are to attack this target, too.

    Returns:
        What was measured; and the attack by these shadow models that test records are held against.

    Raises:
        DataError: some class has no records, which `Comparison` makes unlikely.
    """
    answers = []
    for number in range(1 + comparison.shadow_models):
        answers.append(_answers(comparison, case, number))
        trained()
    target, *shadows = answers
    with _one_thread():
        by_test, by_unseen = (_attacker(shadows, others) for others in (Others.TEST, Others.UNSEEN))
        figures = Measured(
            case,
            target.test.accuracy,
            target.training.accuracy,
            _outcomes(target.against(Others.TEST), by_test),
            _outcomes(target.against(Others.UNSEEN), by_unseen),
            None if plain is None else _outcomes(target.against(Others.TEST), plain),
        )
    return figures, by_test


def attacker_of(comparison: Comparison, case: Case) -> Attacker:
    """The attack of a case that test records are held against, made anew: the target is not trained."""
    numbers = range(1, 1 + comparison.shadow_models)
    shadows = [_answers(comparison, case, number) for number in numbers]
    with _one_thread():
        return _attacker(shadows, Others.TEST)


def precision(outcomes: Outcomes) -> float:
    """The plain precision; 0.5 where nobody was called a member."""
    value = outcomes.plain_precision
    return GUESS if value is None else value


def recall(outcomes: Outcomes) -> float:
    """The plain recall."""
    return outcomes.true_positives / outcomes.members


def _answers(comparison: Comparison, case: Case, number: int) -> _Answers:
    """Train one model; equal numbers have equal records in all settings."""
    data = SkewedPurchases(case.classes, noise_in_training=case.noise_in_training)
    key = (comparison.seed, case.classes, round(case.noise_in_training * 1e9), case.repetition, number)
    draw = np.random.default_rng(key)
    drawn = [part(comparison.records, draw) for part in (data.training, data.test, data.training)]
    model = _trained(comparison, case, *drawn[0], key)
    return _Answers(*(_Part(labels, model.confidences(features)) for features, labels in drawn))


def _trained(
    comparison: Comparison, case: Case, features: Floats, labels: Integers, key: tuple[int, ...]
) -> TrainedModel:
    own = (*key, comparison.settings.index(case.setting))
    if isinstance(case.setting, Local):
        features = comparison.response(case.setting).perturbed(features, SeededBits((*own, 0)))
    seed = int(np.random.default_rng((*own, 1)).integers(1 << 62))
    everybody = np.ones((1, len(labels)), np.bool_)
    architecture = comparison.architecture(case.classes)
    hyperparameters = comparison.hyperparameters(case.setting)
    return train(architecture, hyperparameters, features, labels, everybody, Seeded(seed))[0]


def _one_thread() -> AbstractContextManager[object]:
    """So small fits take 3.5 ms with one thread, and 50 ms with two that wait for each other."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 (an extra)

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def _outcomes(target: ShadowAnswers, attacker: Attacker) -> Outcomes:
    """Take for members whom the attack model of their true class takes for one."""
    scores = attacker.membership(target.confidences[0], target.labels)
    return Outcomes.at(Scored(scores, target.members[0]).split(), DECISION)


def _attacker(shadows: list[_Answers], others: Others) -> Attacker:
    """An attack model for each class, of what all shadow models say of their own records."""
    generators = [AttackTrainSetGenerator(answers.against(others), seed=0) for answers in shadows]
    models = []
    for label in range(shadows[0].training.confidences.shape[1]):
        parts = [generator.of_class(label) for generator in generators]
        joined = AttackSet(
            np.concatenate([part.confidences for part in parts]),
            np.concatenate([part.is_member for part in parts]),
        )
        if not len(joined.is_member):
            raise DataError(
                "the comparison",
                "a class has no records in any shadow training set, or none held against them",
                "records of every class",
                "take more records or shadow models",
            )
        models.append(AttackModel.trained(logistic_regression, joined, label, seed=label))
    return Attacker(tuple(models))
