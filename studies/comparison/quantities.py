"""Quantities that statements about a comparison are made of, and their intervals over repetitions."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from smalti.studies.comparison.models import Measured, precision, recall
from smalti.studies.comparison.settings import NOISE_IN_TRAINING, Comparison, Original, Setting
from smalti.studies.comparison.verdicts import (
    Box,
    Interval,
    efficiency_interval,
    mean_interval,
    product_interval,
)
from smalti.transforms.auditing.limits import Outcomes
from smalti.transforms.auditing.mitigation import Standing, mitigation_efficiency


class FigureKind(StrEnum):
    """A figure of one target; attacks hold members against test records, as in the document."""

    TEST_ACCURACY = "test accuracy"
    GAP = "training accuracy less test accuracy"
    PRECISION = "precision"
    RECALL = "recall"
    UNADAPTED_PRECISION = "precision by shadow models without privacy"
    UNADAPTED_RECALL = "recall by shadow models without privacy"


@dataclass(frozen=True, slots=True)
class Place:
    """Targets that differ in their repetition alone."""

    classes: int
    setting: Setting
    noise_in_training: float = NOISE_IN_TRAINING

    @property
    def original(self) -> "Place":
        """The same without privacy."""
        return Place(self.classes, Original(), self.noise_in_training)


@dataclass(frozen=True, slots=True)
class Term:
    """One figure, with its weight in a sum."""

    weight: float
    figure: FigureKind
    place: Place


@dataclass(frozen=True, slots=True)
class Contrast:
    """A weighted sum of means over repetitions; of one term, a mean."""

    terms: tuple[Term, ...]

    @classmethod
    def mean(cls, figure: FigureKind, place: Place) -> "Contrast":
        return cls((Term(1, figure, place),))

    @classmethod
    def change(cls, figure: FigureKind, place: Place, before: Place | None = None) -> "Contrast":
        """By how much a figure is above that of another place, by default the original."""
        return cls((Term(1, figure, place), Term(-1, figure, before or place.original)))


@dataclass(frozen=True, slots=True)
class Phi:
    """The mitigation efficiency of a setting; by precision or by recall."""

    attack: FigureKind
    place: Place


@dataclass(frozen=True, slots=True)
class KeptProduct:
    """The share of accuracy that is kept, times that of the attack."""

    attack: FigureKind
    place: Place


@dataclass(frozen=True, slots=True)
class LargestPhi:
    """The largest of some mitigation efficiencies."""

    of: tuple[Phi, ...]


Quantity: TypeAlias = Contrast | Phi | KeptProduct | LargestPhi


def contrasts(quantity: Quantity) -> frozenset[Contrast]:
    """Those whose intervals together give the quantity's."""
    match quantity:
        case Contrast():
            return frozenset({quantity})
        case Phi(attack, place) | KeptProduct(attack, place):
            return frozenset(
                Contrast.mean(figure, where)
                for figure in (FigureKind.TEST_ACCURACY, attack)
                for where in (place, place.original)
            )
        case LargestPhi(of):
            return frozenset[Contrast]().union(*map(contrasts, of))


class Repetitions:
    """The figures of all targets, by repetition."""

    def __init__(self, comparison: Comparison, measured: Iterable[Measured]) -> None:
        self.comparison = comparison
        self._targets: dict[Place, list[Measured]] = {}
        for target in sorted(measured, key=lambda target: target.case.repetition):
            case = target.case
            place = Place(case.classes, case.setting, case.noise_in_training)
            self._targets.setdefault(place, []).append(target)

    def value(self, quantity: Quantity) -> float | None:
        """What was measured; None where it was not, or is not defined."""
        match quantity:
            case Contrast():
                values = self._values(quantity)
                return None if values is None else math.fsum(values) / len(values)
            case LargestPhi(of):
                values = [value for phi in of if (value := self.value(phi)) is not None]
                return max(values, default=None)
            case Phi(attack, place) | KeptProduct(attack, place):
                figures = FigureKind.TEST_ACCURACY, attack
                means = [
                    self.value(Contrast.mean(figure, where))
                    for where in (place.original, place)
                    for figure in figures
                ]
                return _of_means(quantity, [mean for mean in means if mean is not None])

    def interval(self, quantity: Quantity, error: float) -> Interval | None:
        """Where the quantity of further repetitions' means lies.

        Args:
            quantity: any.
            error: the probability that the interval of one of `contrasts` misses.

        Returns:
            None where there are fewer than two repetitions, or something was not measured.
        """
        match quantity:
            case Contrast(terms):
                values = self._values(quantity)
                weights = math.sqrt(math.fsum(term.weight**2 for term in terms))
                resolution = weights / self.comparison.records
                return None if values is None else mean_interval(values, error, resolution)
            case LargestPhi(of):
                intervals = [interval for phi in of if (interval := self.interval(phi, error)) is not None]
                if len(intervals) < len(of):
                    return None
                return Interval(
                    max(interval.low for interval in intervals),
                    max(interval.high for interval in intervals),
                )
            case Phi():
                box = self._box(quantity, error)
                return None if box is None else efficiency_interval(box)
            case KeptProduct():
                box = self._box(quantity, error)
                return None if box is None else product_interval(box)

    def _box(self, quantity: Phi | KeptProduct, error: float) -> Box | None:
        place = quantity.place
        means = [
            self.interval(Contrast.mean(figure, where), error)
            for figure in (FigureKind.TEST_ACCURACY, quantity.attack)
            for where in (place.original, place)
        ]
        match [mean for mean in means if mean is not None]:
            case [original_accuracy, accuracy, original_attack, attack]:
                return Box(original_accuracy, accuracy, original_attack, attack, place.classes)
            case _:
                return None

    def _values(self, contrast: Contrast) -> list[float] | None:
        """Of each repetition; None where something was not measured."""
        columns = []
        for term in contrast.terms:
            figures = [_figure(target, term.figure) for target in self._targets.get(term.place, ())]
            columns.append([term.weight * figure for figure in figures if figure is not None])
        lengths = {len(column) for column in columns}
        if lengths != {self.comparison.repetitions}:
            return None
        return [math.fsum(values) for values in zip(*columns, strict=True)]


def _of_means(quantity: Phi | KeptProduct, means: Sequence[float]) -> float | None:
    """Of the original's accuracy and attack, and the setting's."""
    if len(means) < 4:
        return None
    old_accuracy, old_attack, accuracy, attack = means
    classes = quantity.place.classes
    if isinstance(quantity, Phi):
        original, private = Standing(old_accuracy, old_attack), Standing(accuracy, attack)
        return mitigation_efficiency(original, private, classes)
    kept = Box(_point(old_accuracy), _point(accuracy), _point(old_attack), _point(attack), classes).kept
    return None if kept is None else kept[0].low * kept[1].low


def _point(value: float) -> Interval:
    return Interval(value, value)


def _figure(target: Measured, figure: FigureKind) -> float | None:
    return _FIGURES[figure](target)


def _unadapted(target: Measured, rate: Callable[[Outcomes], float]) -> float | None:
    return None if target.unadapted is None else rate(target.unadapted)


_FIGURES: dict[FigureKind, Callable[[Measured], float | None]] = {
    FigureKind.TEST_ACCURACY: lambda target: target.test_accuracy,
    FigureKind.GAP: lambda target: target.train_accuracy - target.test_accuracy,
    FigureKind.PRECISION: lambda target: precision(target.against_test),
    FigureKind.RECALL: lambda target: recall(target.against_test),
    FigureKind.UNADAPTED_PRECISION: lambda target: _unadapted(target, precision),
    FigureKind.UNADAPTED_RECALL: lambda target: _unadapted(target, recall),
}
