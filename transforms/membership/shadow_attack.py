"""The shadow-model attack: for each class, a model that distinguishes members by confidences.

Shokri, Stronati, Song, Shmatikov, "Membership Inference Attacks Against Machine Learning Models", IEEE S&P
2017, as in D5.1, sections 3.2 and 3.3. Attack models come from scikit-learn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from smalti.errors import DataError, not_installed
from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.membership.attack import Needs, shadow_pool_of
from smalti.transforms.membership.attack_sets import (
    AttackSet,
    AttackTestSetGenerator,
    AttackTrainSetGenerator,
)
from smalti.transforms.membership.confidences import Doubles, Floats, logit_scaled
from smalti.transforms.membership.models import Estimator
from smalti.transforms.membership.observation import Observation, ShadowAnswers
from smalti.transforms.membership.scored import Scored
from smalti.transforms.problem import Integers

_LEAST_SHOWN: Final = 1e-12
"""Attack models see logarithms of confidences; smaller ones tell them nothing more."""
DECISION: Final = 0.5
"""The probability of membership from which a record is called a member."""

MakeAttackModel = Callable[[int], Estimator]
"""Makes an unfitted binary scikit-learn classifier; the argument is its `random_state`."""


def boosted_trees(seed: int) -> Estimator:
    """Small trees, boosted on random halves of the records: the attack model, if no other is asked for.

    Friedman, "Stochastic Gradient Boosting", Computational Statistics & Data Analysis 38, 2002. What tells
    members from others is seldom a line: others are as sure as members, or much less so.
    """
    try:
        from sklearn.ensemble import GradientBoostingClassifier  # noqa: PLC0415
    except ImportError:
        raise _no_attack_models() from None
    model: Estimator = GradientBoostingClassifier(
        max_depth=3,
        learning_rate=0.05,
        subsample=0.5,
        max_features="sqrt",
        min_samples_leaf=10,
        random_state=seed,
    )
    return model


def logistic_regression(seed: int) -> Estimator:
    """Logistic regression on standardised inputs; faster, and weaker."""
    try:
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
    except ImportError:
        raise _no_attack_models() from None
    model: Estimator = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, random_state=seed))
    return model


def neural_network(seed: int) -> Estimator:
    """A network with one hidden layer, as in D5.1 and in the paper; slower."""
    try:
        from sklearn.neural_network import MLPClassifier  # noqa: PLC0415
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
    except ImportError:
        raise _no_attack_models() from None
    network = MLPClassifier(
        (64,), learning_rate_init=0.01, early_stopping=True, n_iter_no_change=30, random_state=seed
    )
    model: Estimator = make_pipeline(StandardScaler(), network)
    return model


@dataclass(frozen=True, slots=True)
class AttackModel:
    """Tells members from others among the records of one class."""

    estimator: Estimator
    label: int
    """The class."""

    @classmethod
    def trained(cls, make: MakeAttackModel, attack_set: AttackSet, label: int, seed: int) -> "AttackModel":
        estimator = make(seed)
        estimator.fit(_shown(attack_set.confidences, label), attack_set.is_member.astype(np.int64))
        return cls(estimator, label)

    def membership(self, confidences: Floats) -> Doubles:
        """float[records]: the probability of membership, as the attack model says."""
        member = int(np.flatnonzero(np.asarray(self.estimator.classes_) == 1)[0])
        return np.asarray(
            self.estimator.predict_proba(_shown(confidences, self.label))[:, member], np.float64
        )


@dataclass(frozen=True, slots=True)
class Attacker:
    """Holds the attack model of each class."""

    models: tuple[AttackModel, ...]

    def membership(self, confidences: Floats, deciding: Integers) -> Doubles:
        """The probability of membership, by the attack model of one class for each record.

        Args:
            confidences: float[records, classes]: the target's.
            deciding: int[records]: the class whose attack model decides.

        Returns:
            float[records].
        """
        probabilities = np.zeros(len(confidences))
        for label in np.unique(deciding):
            own = deciding == label
            probabilities[own] = self.models[label].membership(confidences[own])
        return probabilities


@dataclass(frozen=True, slots=True)
class ShadowModelAttack:
    """Scores a record by the attack model of its class.

    Of its true class, which is known in an audit (D5.2, section 4.3.1, evaluates on pairs of confidences
    and true class): attack models are trained on records of one true class, too (equations 3.2 and 3.3), so
    that a wrong prediction speaks against membership.
    """

    name: ClassVar[str] = "shokri"
    needs: ClassVar[Needs] = Needs.SHADOW_POOL
    make: MakeAttackModel = boosted_trees
    seed: int = 0
    """Of attack models and of the balancing of their training sets."""
    by_predicted_class: bool = False
    """Equation 3.1: the class that the target predicts decides, the first among equal confidences. For an
    adversary who does not know the true class; weaker, as a wrong prediction looks like a right one."""

    def attacker(self, pool: ShadowAnswers) -> Attacker:
        """Train an attack model for each class.

        Raises:
            DataError: a class lacks members or others in the pool.
        """
        generator = AttackTrainSetGenerator(pool, self.seed)
        return Attacker(tuple(self._model(generator, label) for label in range(pool.classes)))

    def _model(self, generator: AttackTrainSetGenerator, label: int) -> AttackModel:
        attack_set = generator.of_class(label)
        if not len(attack_set.is_member):
            raise DataError(
                "the shadow pool",
                "a class has no members, or no others, in any shadow model",
                "records of each class inside and outside of shadow training sets",
                "give the pool more records of each class",
            )
        return AttackModel.trained(self.make, attack_set, label, self.seed + label)

    def scores(self, observation: Observation) -> Doubles:
        deciding = observation.target.argmax(axis=1) if self.by_predicted_class else observation.labels
        return self.attacker(shadow_pool_of(self.name, observation)).membership(
            observation.target, deciding
        )


def judged_by_class(
    scored: Scored, labels: Integers, classes: int, seed: int, threshold: float = DECISION
) -> tuple[Outcomes | None, ...]:
    """The accuracy of a threshold on each class's attack test set (equations 3.5 and 3.6).

    Their precision and recall are the figures of D5.1's quality certificate.

    Args:
        scored: the scores; at or above the threshold a record is called a member.
        labels: int[records]: the true classes of the audited records.
        classes: how many classes there are.
        seed: chooses which of the records that are too many stay out.
        threshold: fixed before the scores are looked at; one half for probabilities.

    Returns:
        One for each class; None where a class has no members, or no others.
    """
    generator = AttackTestSetGenerator(labels, scored.is_member, seed)
    sets = (generator.of_class(label) for label in range(classes))
    return tuple(Outcomes.at(scored.take(own).split(), threshold) if len(own) else None for own in sets)


def _shown(confidences: Floats, label: int) -> Doubles:
    """What an attack model is shown: the logarithms of confidences, and log(p / (1 - p)) of its class's.

    The last tells apart confidences near one, where members and others differ most.
    """
    logarithms = np.log(np.maximum(confidences.astype(np.float64), _LEAST_SHOWN))
    own = logit_scaled(confidences, np.full(len(confidences), label))
    return np.column_stack((logarithms, own))


def _no_attack_models() -> Exception:
    return not_installed("the attack shokri", "the library of attack models", "scikit-learn", "audit")
