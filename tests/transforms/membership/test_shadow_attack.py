"""The shadow-model attack: its balanced sets, and which attack model decides about a record."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.errors import DataError, UsageError
from smalti.transforms.membership.attack_sets import (
    AttackTestSetGenerator,
    AttackTrainSetGenerator,
    balanced,
)
from smalti.transforms.membership.observation import Observation, ShadowAnswers
from smalti.transforms.membership.scored import Scored
from smalti.transforms.membership.shadow_attack import (
    Attacker,
    AttackModel,
    ShadowModelAttack,
    boosted_trees,
    judged_by_class,
    logistic_regression,
    neural_network,
)

LABELS = np.array([0, 0, 0, 1, 1])
POOL = ShadowAnswers(
    LABELS,
    np.array([[[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.4, 0.6]],
              [[0.7, 0.3], [0.5, 0.5], [0.55, 0.45], [0.1, 0.9], [0.45, 0.55]]]),
    np.array([[True, True, False, True, False],
              [True, False, False, True, False]]),
)  # fmt: skip
"""Class 0: two in and one out of the first model, one in and two out of the second."""


@settings(max_examples=examples(50))
@given(st.lists(st.booleans(), max_size=30), st.integers(0, 9))
def test_balancing_keeps_all_of_the_rarer_kind(flags: list[bool], seed: int) -> None:
    is_member = np.array(flags, np.bool_)
    kept = balanced(is_member, np.random.default_rng(seed))
    rarer = min(is_member.sum(), (~is_member).sum())
    assert len(set(kept.tolist())) == len(kept) == 2 * rarer
    assert is_member[kept].sum() == rarer


def test_attack_training_sets_by_hand() -> None:
    """Equations 3.2 to 3.4, two records of each model for class 0, of which one is in."""
    generator = AttackTrainSetGenerator(POOL, seed=3)
    first, second = generator.of_class(0), generator.of_class(1)
    assert first.is_member.reshape(2, 2).sum(axis=1).tolist() == [1, 1]
    inside, outside = first.confidences[first.is_member, 0], first.confidences[~first.is_member, 0]
    assert inside[0] in (0.9, 0.8)
    assert inside[1] == 0.7
    assert outside[0] == 0.6
    assert outside[1] in (0.5, 0.55)
    assert second.is_member.tolist() == [True, False, True, False]
    assert second.confidences[:, 1].tolist() == [0.7, 0.6, 0.9, 0.55]


def test_attack_test_sets_are_balanced_by_class() -> None:
    generator = AttackTestSetGenerator(LABELS, np.array([True, True, False, True, True]), seed=0)
    assert len(generator.of_class(0)) == 2
    assert 2 in generator.of_class(0)
    assert len(generator.of_class(1)) == 0


@dataclass
class Constant:
    """An attack model that always says the same."""

    membership: float
    classes_: np.ndarray

    def fit(self, features: np.ndarray, labels: np.ndarray) -> "Constant":
        return self

    def predict_proba(self, features: np.ndarray) -> np.ndarray:
        both = np.array([1 - self.membership, self.membership])[self.classes_]
        return np.tile(both, (len(features), 1))


def test_one_attack_model_decides_about_each_record() -> None:
    """And the column of members is found by its name."""
    makes = Constant(0.2, np.array([0, 1])), Constant(0.7, np.array([1, 0]))
    models = [AttackModel(made, label) for label, made in enumerate(makes)]
    target = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    found = Attacker(tuple(models)).membership(target, np.array([0, 1, 1]))
    assert found == pytest.approx([0.2, 0.7, 0.7])


@dataclass
class ByClass:
    """An attack model that says which class it was trained for, as a probability.

    Each class has records that share their first confidence, in `NAMED_POOL`.
    """

    classes_: np.ndarray = field(default_factory=lambda: np.array([0, 1]))
    own: float = 0.0

    def fit(self, features: np.ndarray, labels: np.ndarray) -> "ByClass":
        self.own = float(np.exp(features[0, 0]))
        return self

    def predict_proba(self, features: np.ndarray) -> np.ndarray:
        return np.tile([1 - self.own, self.own], (len(features), 1))


def test_the_true_class_decides_or_the_predicted_one_if_asked_for() -> None:
    """The records are of classes 0, 1 and 0; the target takes the first and the last for class 1."""
    labels = np.array([0, 0, 1, 1])
    answers = np.array([[[0.25, 0.75], [0.25, 0.75], [0.5, 0.5], [0.5, 0.5]]])
    pool = ShadowAnswers(labels, answers, np.array([[True, False, True, False]]))
    target = np.array([[0.1, 0.9], [0.2, 0.8], [0.4, 0.6]])
    seen = Observation(np.array([0, 1, 0]), target, shadow_pool=pool)
    by_true = ShadowModelAttack(make=lambda _: ByClass())
    assert by_true.scores(seen) == pytest.approx([0.25, 0.5, 0.25])
    by_predicted = ShadowModelAttack(make=lambda _: ByClass(), by_predicted_class=True)
    assert by_predicted.scores(seen) == pytest.approx([0.5, 0.5, 0.5])


def shadow_pool(draw: np.random.Generator, leak: float, records: int = 300) -> ShadowAnswers:
    """Two classes, three models; members get a logit of their class that is higher by the leak."""
    labels = np.arange(records) % 2
    members = draw.random((3, records)) < 0.5
    return ShadowAnswers(labels, answered(draw, labels, members, leak), members)


def answered(draw: np.random.Generator, labels: np.ndarray, members: np.ndarray, leak: float) -> np.ndarray:
    high = 1 / (1 + np.exp(-(2 + draw.normal(size=members.shape) + leak * members)))
    return np.where(labels[:, None] == np.arange(2), high[..., None], 1 - high[..., None])


@pytest.mark.parametrize("make", [boosted_trees, logistic_regression, neural_network])
def test_members_that_leak_are_found_and_others_are_not(make: object) -> None:
    for leak, low, high in ((3.0, 0.85, 1.0), (0.0, 0.4, 0.6)):
        draw = np.random.default_rng(5)
        pool = shadow_pool(draw, leak)
        labels, is_member = np.arange(400) % 2, np.arange(400) < 200
        target = answered(draw, labels, is_member[None], leak)[0]
        attack = ShadowModelAttack(make=make)  # type: ignore[arg-type]
        scores = attack.scores(Observation(labels, target, shadow_pool=pool))
        for outcome in judged_by_class(Scored(scores, is_member), labels, 2, seed=0):
            assert outcome is not None
            right = outcome.true_positives + outcome.non_members - outcome.false_positives
            assert low <= right / 200 <= high


def test_the_same_input_gives_the_same_scores() -> None:
    draw = np.random.default_rng(1)
    pool = shadow_pool(draw, 1.0, records=61)  # odd, so that balancing draws
    seen = Observation(pool.labels, pool.confidences[0], shadow_pool=pool)
    first, again, other = (ShadowModelAttack(seed=seed).scores(seen) for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()


def test_classes_without_members_or_others_are_refused() -> None:
    members = POOL.members & (LABELS == 0)
    pool = ShadowAnswers(LABELS, POOL.confidences, members)
    with pytest.raises(DataError, match="a class has no members"):
        ShadowModelAttack().attacker(pool)


def test_a_pool_is_needed() -> None:
    with pytest.raises(UsageError, match=r"the attack shokri: .*disjoint"):
        ShadowModelAttack().scores(Observation(LABELS, POOL.confidences[0]))


def test_judging_by_class_counts_at_the_threshold() -> None:
    scored = Scored(np.array([0.5, 0.4, 0.6, 0.9]), np.array([True, True, False, False]))
    first, second, third = judged_by_class(scored, np.zeros(4, np.int64), 3, seed=0)
    assert first is not None
    assert (first.true_positives, first.false_positives) == (1, 2)
    assert second is third is None
