"""The shadow attack against that of the Adversarial Robustness Toolbox, on the same shadow confidences.

Both are trained on the very same confidences of shadow models, with the same true classes and memberships,
and judged on the same records of the same target: half of them members, and a record is called a member
from a probability of one half. ART has one attack model for all classes, with the class as a feature; ours
has one for each class.
"""

import numpy as np
import pytest
import torch
from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
from art.estimators.classification import BlackBoxClassifier
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score

from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.membership.attack_sets import AttackTrainSetGenerator
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.models import EstimatorTrainer, TargetModel, Trainer
from smalti.transforms.membership.network_trainer import NetworkTrainer
from smalti.transforms.membership.observation import Observation, ShadowAnswers
from smalti.transforms.membership.shadow_attack import DECISION, ShadowModelAttack
from smalti.transforms.membership.shadow_sets import disjoint_sets

SHADOWS = 4


def gaussian_records(seed: int) -> tuple[DataSet, tuple[int, int]]:
    """Three classes that differ little, in 100 features: discriminants learn 250 of them by heart."""
    centres = np.random.default_rng(99).normal(size=(3, 100)) * 0.25
    draw, labels = np.random.default_rng(seed), np.arange(1500) % 3
    return DataSet("records", centres[labels] + draw.normal(size=(1500, 100)), labels, 3), (250, 500)


def flipped_bits(seed: int) -> tuple[DataSet, tuple[int, int]]:
    """A word of 60 bits for each of five classes, of which each record has two fifths flipped."""
    draw = np.random.default_rng(seed)
    words, labels = draw.random((5, 60)) < 0.5, draw.integers(0, 5, 2500)
    bits = words[labels] ^ (draw.random((2500, 60)) < 0.4)
    return DataSet("records", bits.astype(np.float32), labels, 5), (500, 1000)


def discriminants(_: int) -> Trainer:
    return EstimatorTrainer(lambda _: LinearDiscriminantAnalysis(), 3, "linear discriminants")


def networks(seed: int) -> Trainer:
    hyperparameters = Hyperparameters(epochs=30, batch_size=50, learning_rate=1e-2)
    return NetworkTrainer(Architecture(60, (64,), 5), hyperparameters, Seeded(seed))


WORLDS = {"discriminants": (gaussian_records, discriminants), "networks": (flipped_bits, networks)}
TARGETS = 8


def observed(world: str, seed: int) -> tuple[Observation, np.ndarray]:
    """A target with its disjoint shadow models, and who is a member of the target."""
    draw_records, trainer = WORLDS[world]
    data, cuts = draw_records(seed)
    training, test, pool = (data.take(part) for part in np.split(np.arange(len(data)), cuts))
    target = TargetModel.trained(trainer(2 * seed), training, test)
    members = disjoint_sets(training, pool, SHADOWS, np.random.default_rng(seed))
    group = trainer(2 * seed + 1).train(pool.features, pool.labels, members)
    answers = ShadowAnswers(pool.labels, group.confidences(pool.features), members)
    audited = training.joined("audited", test)
    confidences = target.classifier.confidences(audited.features)
    is_member = np.arange(len(audited)) < len(training)
    return Observation(audited.labels, confidences, shadow_pool=answers), is_member


def by_art(kind: str, seen: Observation, seed: int) -> np.ndarray:
    """What ART says of the audited records: 1 for members."""
    assert seen.shadow_pool is not None
    np.random.seed(seed)  # ART's forests take no other seed
    torch.manual_seed(seed)
    generator = AttackTrainSetGenerator(seen.shadow_pool, 0)
    sets = [generator.of_class(label) for label in range(seen.classes)]
    labels = np.concatenate([np.full(len(own.is_member), label) for label, own in enumerate(sets)])
    confidences = np.concatenate([own.confidences for own in sets])
    inside = np.concatenate([own.is_member for own in sets])
    target = BlackBoxClassifier(lambda features: features, (seen.classes,), seen.classes)
    attack = MembershipInferenceBlackBox(target, attack_model_type=kind)
    attack.fit(
        y=labels[inside],
        test_y=labels[~inside],
        pred=confidences[inside],
        test_pred=confidences[~inside],
    )
    return np.asarray(attack.infer(None, seen.labels, pred=seen.target)).ravel()


Seen = list[tuple[Observation, np.ndarray, float]]


@pytest.fixture(scope="module")
def worlds() -> dict[str, Seen]:
    """What the targets of each world show, who is a member, and our balanced accuracy."""
    return {world: [judged(*observed(world, seed)) for seed in range(TARGETS)] for world in WORLDS}


def judged(seen: Observation, is_member: np.ndarray) -> tuple[Observation, np.ndarray, float]:
    said = ShadowModelAttack().scores(seen) >= DECISION
    return seen, is_member, balanced_accuracy_score(is_member, said)


@pytest.mark.parametrize("kind", ["rf", "gb", "lr", "nn"])
def test_our_balanced_accuracy_is_at_least_as_high(kind: str, worlds: dict[str, Seen]) -> None:
    """ART's is by a random forest, boosted trees, a logistic regression, and a network.

    Over the targets of both worlds the mean of ours is at least as high: by 0.024 and more when this was
    written, which is 3 standard errors and more. In no world it is lower by more than chance explains: a
    t-test says so of equal attacks with probability 10^-3. Seeds are fixed.
    """
    differences = {
        world: [
            ours - balanced_accuracy_score(is_member, by_art(kind, seen, seed))
            for seed, (seen, is_member, ours) in enumerate(targets)
        ]
        for world, targets in worlds.items()
    }
    assert np.mean(list(differences.values())) >= 0, differences
    for world, apart in differences.items():
        assert stats.ttest_1samp(apart, 0, alternative="less").pvalue > 1e-3, (world, apart)
