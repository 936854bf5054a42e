"""The results of a comparison of central and local differential privacy, over its repetitions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from smalti.studies.comparison.checkpoint import Checkpoint
from smalti.studies.comparison.findings import Findings, findings
from smalti.studies.comparison.models import Measured, Others, precision, recall
from smalti.studies.comparison.running import targets
from smalti.studies.comparison.settings import (
    NOISE_IN_TRAINING,
    Comparison,
    Original,
    Setting,
)
from smalti.studies.comparison.skewed_purchases import SkewedPurchases
from smalti.transforms.auditing.mitigation import Standing, mitigation_efficiency

_Figure: TypeAlias = Callable[[Measured, Others], float]


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over repetitions."""

    mean: float
    standard_deviation: float | None
    """Of single repetitions, with one degree of freedom less than repetitions; None for a single one. It
    describes how results vary, and is no confidence limit."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        mean = math.fsum(values) / len(values)
        if len(values) < 2:
            return cls(mean, None)
        squares = math.fsum((value - mean) ** 2 for value in values)
        return cls(mean, math.sqrt(squares / (len(values) - 1)))


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The mitigation efficiency phi of a setting (`auditing.mitigation`); None where it has none."""

    of_means: float | None
    """Of the mean accuracy, and the attack's mean precision or recall."""
    lowest: float | None
    """Of single repetitions, each against the original of the same repetition."""
    highest: float | None
    """Of single repetitions."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """What the attack achieved on one setting with one kind of others, over repetitions."""

    precision: Spread
    """The share of members among those that are called so, where members are half of all records. A
    repetition in which nobody is called a member counts as a guess, 0.5."""
    recall: Spread
    """The share of members that are called so."""
    efficiency_of_precision: Efficiency | None
    """None for the original, which mitigates nothing."""
    efficiency_of_recall: Efficiency | None


@dataclass(frozen=True, slots=True)
class Row:
    """One setting with one number of classes, over repetitions."""

    classes: int
    setting: Setting
    test_accuracy: Spread
    train_accuracy: Spread
    against_test: Attacked
    against_unseen: Attacked

    def attacked(self, others: Others) -> Attacked:
        """The attack, with one kind of others."""
        return self.against_test if others is Others.TEST else self.against_unseen


@dataclass(frozen=True, slots=True)
class Skew:
    """The attack without privacy, by how much training data differ from test data (figure 4.4)."""

    classes: int
    noise_in_training: float
    entropy_difference: float
    """In bits, of a noise bit: of test data less that of training data."""
    precision: Spread
    """With test records for others."""
    precision_of_unseen: Spread
    """With unseen training records for others."""


@dataclass(frozen=True, slots=True)
class Compared:
    """All results of a comparison."""

    comparison: Comparison
    rows: tuple[Row, ...]
    """By classes, then in the order of `Comparison.settings`."""
    skews: tuple[Skew, ...]
    """By classes, then by entropy difference, falling."""
    findings: Findings
    """What the results say of the document's statements."""


def compare(
    comparison: Comparison,
    trained: Callable[[int], None] = lambda models: None,
    checkpoint: Checkpoint | None = None,
) -> Compared:
    """Train and attack all models.

    Args:
        comparison: what is compared, and how large.
        trained: called with a number of models, of all `comparison.models`, as they are trained.
        checkpoint: where the measured targets are kept, so that a comparison which ended early goes on.

    Raises:
        UsageError: the checkpoint is of other settings.
        BackendError: the extra `audit` is not installed; the disk of the checkpoint.
    """
    return summary(comparison, targets(comparison, trained, checkpoint))


def summary(comparison: Comparison, measured: Sequence[Measured]) -> Compared:
    """The summary of the results of single targets.

    Args:
        comparison: what was compared.
        measured: one for each of `comparison.cases`, in any order.
    """
    rows, skews = [], []
    for classes in comparison.classes:
        own = [target for target in measured if target.case.classes == classes]
        unskewed = [target for target in own if target.case.noise_in_training == NOISE_IN_TRAINING]
        original = [target for target in unskewed if target.case.setting == Original()]
        for setting in comparison.settings:
            rows.append(_row(original, [target for target in unskewed if target.case.setting == setting]))
        plain = [target for target in own if target.case.setting == Original()]
        for noise in sorted({NOISE_IN_TRAINING, *comparison.noises}):
            skews.append(_skew([target for target in plain if target.case.noise_in_training == noise]))
    return Compared(comparison, tuple(rows), tuple(skews), findings(comparison, measured))


def precision_of(target: Measured, others: Others) -> float:
    """The plain precision; 0.5 where nobody was called a member."""
    return precision(target.outcomes(others))


def recall_of(target: Measured, others: Others) -> float:
    """The plain recall."""
    return recall(target.outcomes(others))


def _row(original: Sequence[Measured], own: Sequence[Measured]) -> Row:
    case = own[0].case
    return Row(
        case.classes,
        case.setting,
        Spread.of([target.test_accuracy for target in own]),
        Spread.of([target.train_accuracy for target in own]),
        _attacked(original, own, Others.TEST),
        _attacked(original, own, Others.UNSEEN),
    )


def _attacked(original: Sequence[Measured], own: Sequence[Measured], others: Others) -> Attacked:
    def efficiency(figure: _Figure) -> Efficiency | None:
        is_original = own[0].case.setting == Original()
        return None if is_original else _efficiency(original, own, lambda target: figure(target, others))

    return Attacked(
        Spread.of([precision_of(target, others) for target in own]),
        Spread.of([recall_of(target, others) for target in own]),
        efficiency(precision_of),
        efficiency(recall_of),
    )


def _efficiency(
    original: Sequence[Measured], own: Sequence[Measured], figure: Callable[[Measured], float]
) -> Efficiency:
    def of_some(before: Sequence[Measured], after: Sequence[Measured]) -> float | None:
        old, new = (
            Standing(
                Spread.of([target.test_accuracy for target in some]).mean,
                Spread.of([figure(target) for target in some]).mean,
            )
            for some in (before, after)
        )
        return mitigation_efficiency(old, new, own[0].case.classes)

    pairs = zip(
        *(sorted(some, key=lambda target: target.case.repetition) for some in (original, own)), strict=True
    )
    single = [
        efficiency
        for target, perturbed in pairs
        if (efficiency := of_some([target], [perturbed])) is not None
    ]
    return Efficiency(of_some(original, own), min(single, default=None), max(single, default=None))


def _skew(own: Sequence[Measured]) -> Skew:
    case = own[0].case
    return Skew(
        case.classes,
        case.noise_in_training,
        SkewedPurchases(case.classes, noise_in_training=case.noise_in_training).entropy_difference,
        Spread.of([precision_of(target, Others.TEST) for target in own]),
        Spread.of([precision_of(target, Others.UNSEEN) for target in own]),
    )
