"""Calibrate the noise of each statistic, so that all of a release lose together what is allowed.

A release is pure (Laplace noise and choices, whose epsilons add up) or Gaussian (numbers have Gaussian
noise, whose squares of mus add up; choices and selections keep their share of epsilon). Where both are
permitted, the one with less noise on numbers is taken, by the sum of the logarithms of their standard
deviations.

Statistics divide what is allowed in proportion to their shares; Gaussian ones divide the square of mu. What
is measured of one statistic has equal shares: the sum and the count of a mean, as in D5.2, 3.2.4; the three
sums of a variance, each of which may move it by about as much; a private selection of groups beside what is
told of them; the levels of quantiles. Of delta, private selections take all of a pure release and half of a
Gaussian one: noise depends on its logarithm alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import inf, log, sqrt

from smalti.engine.losses.allowed import AllowedLoss, Split, allowed_noise, stated
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.reads import BoundContributions, Mechanism
from smalti.engine.releases.measurements import (
    LARGEST_AMOUNT,
    Measurement,
    counted_from_zero,
    groups_of,
    largest_amounts,
    measurements,
)
from smalti.engine.releases.plan import Part, Selection, Statistic
from smalti.errors import PlanError, SmaltiError, raise_all
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.partition_selection import PartitionSelection
from smalti.transforms.noise.samplers import ExponentialChoice, GaussianNoise, LaplaceNoise

__all__ = ["AllowedLoss", "Wish", "calibrate"]


@dataclass(frozen=True, slots=True)
class Wish:
    """A statistic that is bound to columns, and not calibrated yet."""

    statistic: Statistic
    """Without parts and selection."""
    share: Fraction
    """Of the release's loss, in proportion to those of the others; above 0."""
    levels: tuple[Decimal, ...] = ()
    """Of quantiles, in (0, 1): one choice each."""
    is_filtered: bool = True
    """Whether rows may be outside of every answer: by a filter, a key, or a value that may be missing."""


def calibrate(
    wishes: tuple[Wish, ...], bound: BoundContributions, allowed: AllowedLoss, where: str
) -> tuple[tuple[Statistic, ...], PlannedLoss]:
    """Give each wish its noise.

    Epsilon is charged as it is allowed; where belief or advantage is, the epsilon of the noise, rounded up.
    Delta is charged as it is allowed where something needs it, and not at all in a pure release without a
    private selection. Sums are counted from 0 where the unit lets them.

    Args:
        wishes: at least one.
        bound: what of a respondent takes part.
        allowed: the loss of all of them together.
        where: the policy's place, for messages.

    Raises:
        PlanError: no noise meets what is allowed; all problems at once.
    """
    needs = [_Needs.of(wish, bound) for wish in wishes]
    problems = [
        *allowed.problems(where),
        *(problem for need in needs for problem in _problems(need, allowed, where)),
    ]
    raise_all(problems)
    ways = [_Way(needs, bound, allowed, is_gaussian) for is_gaussian in _modes(needs, allowed)]
    if not (met := [way for way in ways if not way.too_much]):
        raise_all([_too_much(name, where) for name in ways[0].too_much])
    best = min(met, key=lambda way: way.spread)
    return tuple(best.statistics), stated(allowed, best.within, best.loss)


@dataclass(frozen=True, slots=True)
class _Needs:
    """A wish, and what is measured for it."""

    statistic: Statistic
    share: Fraction
    measured: tuple[Measurement, ...]

    @classmethod
    def of(cls, wish: Wish, bound: BoundContributions) -> "_Needs":
        statistic = counted_from_zero(wish.statistic)
        measured = measurements(statistic, wish.levels, bound, is_filtered=wish.is_filtered)
        return cls(statistic, wish.share, measured)

    @property
    def has_numbers(self) -> bool:
        return any(not measurement.is_choice for measurement in self.measured)

    @property
    def has_choices(self) -> bool:
        return any(measurement.is_choice for measurement in self.measured)

    @property
    def is_selected(self) -> bool:
        return any(key.is_private for key in self.statistic.keys)

    @property
    def each(self) -> Fraction:
        """The share of each measurement, and of the selection."""
        return self.share / (len(self.measured) + self.is_selected)

    @property
    def numbers(self) -> Fraction:
        """The share of its numbers."""
        return self.each * sum(not measurement.is_choice for measurement in self.measured)


def _problems(need: _Needs, allowed: AllowedLoss, where: str) -> list[SmaltiError]:
    """What stands against any noise for a statistic, within the permitted mechanisms and delta."""
    permitted, delta, choices = allowed.mechanisms, allowed.delta, need.statistic.choices
    numeric = {Mechanism.LAPLACE, Mechanism.GAUSSIAN} & permitted
    is_selected, advantage = need.is_selected, allowed.advantage
    rules = (
        (
            need.has_numbers and not numeric,
            "is a number, but no noise for numbers is permitted",
            "the mechanism laplace or gaussian",
            "permit one of them, or request a choice",
        ),
        (
            need.has_numbers and numeric == {Mechanism.GAUSSIAN} and not delta,
            "may have gaussian noise only, which requires a delta",
            "a delta above 0",
            "state one, or permit laplace",
        ),
        (
            need.has_choices and Mechanism.EXPONENTIAL not in permitted,
            "is chosen from candidates",
            "the mechanism exponential",
            "permit it, or request a number",
        ),
        (
            is_selected and Mechanism.LAPLACE not in permitted,
            "has private groups, which are selected with laplace noise",
            "the mechanism laplace",
            _NAME_VALUES,
        ),
        (
            is_selected and not delta,
            "has private groups, which are selected within a delta",
            "a delta above 0",
            _NAME_VALUES,
        ),
        (
            is_selected and advantage is not None and advantage <= delta,
            "has private groups, which alone may have the advantage delta",
            "a delta below the allowed advantage",
            _NAME_VALUES,
        ),
        (
            choices and any(key.is_private for key in need.statistic.keys[-choices:]),
            "is chosen from candidates that only the data has",
            "public candidates",
            _NAME_VALUES,
        ),
        (
            any(amount > LARGEST_AMOUNT for amount in largest_amounts(need.statistic)),
            "is counted in units that are too small for its bounds",
            "2^30 rows at a bound to be less than 2^62 units, or units squared for a variance",
            "take a larger unit",
        ),
    )
    name = f"statistic `{need.statistic.name}`"
    return [
        PlanError(where, f"{name} {problem}", expected, way_out)
        for is_broken, problem, expected, way_out in rules
        if is_broken
    ]


_NAME_VALUES = "give the public values of the columns, in the query or in the description"


def _modes(needs: Sequence[_Needs], allowed: AllowedLoss) -> list[bool]:
    """Whether to be Gaussian; pure first, which is taken where there is no difference."""
    has_numbers = any(need.has_numbers for need in needs)
    modes = [False] if not has_numbers or Mechanism.LAPLACE in allowed.mechanisms else []
    may_be_gaussian = has_numbers and allowed.delta and Mechanism.GAUSSIAN in allowed.mechanisms
    return [*modes, True] if may_be_gaussian else modes


def _too_much(name: str, where: str) -> SmaltiError:
    return PlanError(
        where,
        f"statistic `{name}` would have too much noise",
        "a noise scale of at most 2^50 units",
        "take a larger unit, fewer statistics, or allow a larger loss",
    )


class _Way:
    """All noise of a release of one mode."""

    def __init__(
        self, needs: Sequence[_Needs], bound: BoundContributions, allowed: AllowedLoss, is_gaussian: bool
    ) -> None:
        self._bound = bound
        self._all = sum((need.share for need in needs), Fraction(0))
        self._selected = sum((need.share for need in needs if need.is_selected), Fraction(0))
        numbers = sum((need.numbers for need in needs), Fraction(0))
        self._gaussian = numbers if is_gaussian else Fraction(0)
        self.within = allowed_noise(
            allowed, Split(self._gaussian / self._all, selects=bool(self._selected))
        )
        self.loss = PrivacyLoss()
        self.spread = 0.0
        """The sum of the logarithms of the standard deviations of numbers, in units."""
        self.too_much: list[str] = []
        """The statistics whose noise would be beyond what can be drawn."""
        self.statistics = [self._calibrated(need) for need in needs]

    def _calibrated(self, need: _Needs) -> Statistic:
        try:
            selection = self._selection(need) if need.is_selected else None
            parts = tuple(self._part(measurement, need.each) for measurement in need.measured)
        except ValueError:  # a scale beyond what can be drawn
            self.too_much.append(need.statistic.name)
            return need.statistic
        return replace(need.statistic, parts=parts, selection=selection)

    def _selection(self, need: _Needs) -> Selection:
        groups, neighbors = groups_of(self._bound), self._bound.neighbors
        delta = Fraction(self.within.selection_delta) * need.share / self._selected
        selection = PartitionSelection.calibrated(neighbors, groups, self._pure(need.each), delta)
        self.loss += selection.loss(neighbors, groups)
        return Selection(float(selection.noise.scale), selection.threshold)

    def _part(self, measurement: Measurement, share: Fraction) -> Part:
        if measurement.is_choice:
            choice = ExponentialChoice.calibrated(measurement.reach, self._pure(share))
            self.loss += PrivacyLoss.of_pure(choice.epsilon(measurement.reach))
            return Part(measurement.quantity, Mechanism.EXPONENTIAL, float(choice.scale), measurement.level)
        noise, mechanism = self._noise(measurement, share)
        self.loss += noise.loss(measurement.sensitivity)
        self.spread += log(noise.variance) / 2 if noise.variance else -inf
        return Part(measurement.quantity, mechanism, float(noise.scale))

    def _noise(
        self, measurement: Measurement, share: Fraction
    ) -> tuple[LaplaceNoise | GaussianNoise, Mechanism]:
        if not self._gaussian:
            return LaplaceNoise.calibrated(measurement.sensitivity.l1, self._pure(share)), Mechanism.LAPLACE
        mu = self.within.mu * sqrt(share / self._gaussian)
        return GaussianNoise.calibrated(measurement.sensitivity.l2_squared, mu), Mechanism.GAUSSIAN

    def _pure(self, share: Fraction) -> Fraction:
        """The epsilon of something that is not Gaussian."""
        return self.within.pure * share / (self._all - self._gaussian)
