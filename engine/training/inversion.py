"""Model inversion as a part of an audit: what only those lose who took part, attribute by attribute.

Each category that the model learns from is hidden in turn, and guessed from the rest of the record and its
class. All values are taken for equally frequent, as nothing public says otherwise; so a rare one is guessed
as soon as the model is surer of it. What follows from correlations alone is guessed as well about people
whom the model never saw: that is shown, and is no leak of training data.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from smalti.engine.training.duties import guessable
from smalti.engine.training.figures import AttackResult, Detail, Figure
from smalti.engine.training.plan import CategoryFeature, TrainingPlan
from smalti.errors import DataError
from smalti.transforms.attacks.model_inversion import Attribute, Inverted, inverted
from smalti.transforms.auditing.limits import Figure as Limits
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.models import Classifier

NAME = "model-inversion"


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """The attributes that are guessed, and of whom. Private."""

    attributes: tuple[tuple[str, Attribute], ...]
    """By the names of their columns; at least one."""
    training: DataSet
    """What the model was trained on."""
    others: DataSet
    """Records of the same kind that it was not trained on."""

    @classmethod
    def of(cls, plan: TrainingPlan, training: DataSet, others: DataSet) -> Self:
        """All attributes of a plan."""
        return cls(
            tuple(_attribute(plan, feature) for feature in guessable(plan.train.features)), training, others
        )

    def check(self) -> None:
        """Refuse an audit without members or without others.

        Raises:
            DataError: there is nobody to guess about.
        """
        if not len(self.training) or not len(self.others):
            raise DataError(NAME, "there are no members, or no others", "at least one of each")

    def result(self, target: Classifier, leak: Classifier, confidence: float) -> AttackResult:
        """The greatest advantage of all attributes, at its greatest limit; and each of them.

        A bound is met only where each attribute keeps to it, so each limit needs no more than its own
        confidence (an intersection-union test, `attempts`). The leak counts as found only where it is for
        each attribute.

        Args:
            target: the model.
            leak: one that memorises.
            confidence: of each limit alone.
        """
        results = [self._inverted(target, attribute, confidence) for _, attribute in self.attributes]
        leaks = [
            self._inverted(leak, attribute, confidence).advantage.lower for _, attribute in self.attributes
        ]
        return AttackResult(
            attack=NAME,
            members=len(self.training),
            non_members=len(self.others),
            area=None,
            curve=(),
            figures=(
                Figure(
                    figure="attackAdvantage",
                    value=max(result.advantage.value or 0.0 for result in results),
                    limit=max(result.advantage.upper for result in results),
                ),
            ),
            finds_leak=min(leaks) > 0,
            leak_advantage=min(leaks),
            details=tuple(
                detail
                for (name, attribute), result in zip(self.attributes, results, strict=True)
                for detail in _details(name, result, self._most_frequent(attribute))
            ),
        )

    def _inverted(self, model: Classifier, attribute: Attribute, confidence: float) -> Inverted:
        members, others = ((records.features, records.labels) for records in (self.training, self.others))
        return inverted(model, members, others, attribute, confidence)

    def _most_frequent(self, attribute: Attribute) -> float:
        """The share of the most frequent value among those whom the model never saw."""
        counts = np.bincount(attribute.values_of(self.others.features))
        return float(counts.max() / counts.sum())


def _attribute(plan: TrainingPlan, hidden: CategoryFeature) -> tuple[str, Attribute]:
    start = 0
    for feature in plan.train.features:
        if feature == hidden:
            break
        start += feature.size
    columns = tuple(range(start, start + hidden.size))
    return hidden.column, Attribute.of_categories(columns, np.full(hidden.size, 1 / hidden.size))


def _details(name: str, result: Inverted, most_frequent: float) -> tuple[Detail, ...]:
    return (
        _detail(f"{name}: guessed rightly of members", result.members),
        _detail(f"{name}: guessed rightly of others", result.others),
        Detail(name=f"{name}: its most frequent value, of others", value=most_frequent),
        _detail(f"{name}: advantage", result.advantage),
    )


def _detail(name: str, limits: Limits) -> Detail:
    return Detail(name=name, value=limits.value, lower=limits.lower, upper=limits.upper)
