"""The privacy loss of a release, recomputed from the scales of its noise and from bounds alone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, assert_never

from smalti.engine.plan.reads import BoundContributions, Mechanism
from smalti.engine.releases.guarantee import LossGuarantee, Noise
from smalti.engine.releases.measurements import Measurement, groups_of, measurements
from smalti.engine.releases.plan import Part, Quantity, ReleasePlan, Selection, Statistic
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.partition_selection import PartitionSelection, respondents_by_group
from smalti.transforms.noise.samplers import ExponentialChoice, GaussianNoise, LaplaceNoise
from smalti.transforms.sensitivity import (
    Contribution,
    Query,
    Sensitivity,
    count,
    distinct_count,
    mode_utility,
    quantile_utility,
)

_CHOICES: Final = frozenset({Quantity.RANKS, Quantity.FREQUENCIES})


@dataclass(frozen=True, slots=True)
class NoiseLoss:
    """What all noise of a release loses."""

    loss: PrivacyLoss
    """But for the chance that a private selection shows a group of one respondent alone."""
    selection_delta: Fraction
    """That chance, at most; 0 where nothing is selected privately."""


def lost_by(plan: ReleasePlan) -> NoiseLoss:
    """The loss of the noise in a plan, independently of its stated `loss`.

    Rows may be outside of every answer, except in a count without groups; there it changes nothing
    (`measurements`).

    Raises:
        ValueError: it has noise that cannot be drawn, or none for something that is measured.
    """
    loss, chance = PrivacyLoss(), Fraction(0)
    for statistic in plan.statistics:
        if (statistic.selection is not None) is not any(key.is_private for key in statistic.keys):
            raise ValueError("groups are selected exactly where they are private")
        loss = sum((_of_part(part, of) for part, of in _measured(statistic, plan.bound)), loss)
        if statistic.selection is not None:
            selection, groups = _selection(statistic.selection), groups_of(plan.bound)
            loss += selection.loss(plan.bound.neighbors, groups)
            chance += Fraction(selection.delta(groups))
    return NoiseLoss(loss, chance)


def least_loss(guarantee: LossGuarantee) -> PrivacyLoss:
    """A lower bound on the loss of the noise in a certificate.

    A certificate does not say in which units numbers were summed up, nor which answers are for groups: so
    sums count as nothing here, and everything else as if it had the smaller sensitivity.

    Raises:
        ValueError: it has noise that cannot be drawn.
    """
    return sum((_least(noise, guarantee) for noise in guarantee.noise), PrivacyLoss())


def _measured(statistic: Statistic, bound: BoundContributions) -> Iterator[tuple[Part, Measurement]]:
    levels = tuple(part.level for part in statistic.parts if part.level is not None)
    expected = measurements(statistic, levels, bound, is_filtered=True)
    planned = [(part.quantity, part.level) for part in statistic.parts]
    if planned != [(measurement.quantity, measurement.level) for measurement in expected]:
        raise ValueError("noise is added to exactly what is measured")
    return zip(statistic.parts, expected, strict=True)


def _of_part(part: Part, of: Measurement) -> PrivacyLoss:
    return _of_noise(part.mechanism, part.scale, of.quantity, of.sensitivity, of.reach)


def _of_noise(
    mechanism: Mechanism, scale: float, quantity: Quantity, sensitivity: Sensitivity, reach: Fraction
) -> PrivacyLoss:
    if (mechanism is Mechanism.EXPONENTIAL) is not (quantity in _CHOICES):
        raise ValueError("choices are made by the exponential mechanism, and numbers are not")
    exact = Fraction(scale)
    match mechanism:
        case Mechanism.LAPLACE:
            return LaplaceNoise(exact).loss(sensitivity)
        case Mechanism.GAUSSIAN:
            return GaussianNoise(exact).loss(sensitivity)
        case Mechanism.EXPONENTIAL:
            return PrivacyLoss.of_pure(ExponentialChoice(exact).epsilon(reach))
        case _:
            assert_never(mechanism)


def _selection(stated: Selection) -> PartitionSelection:
    return PartitionSelection(LaplaceNoise(Fraction(stated.scale)), stated.threshold)


def _least(noise: Noise, guarantee: LossGuarantee) -> PrivacyLoss:
    possible = tuple(_sensitivities(noise.quantity, guarantee))
    if not possible:
        _of_noise(noise.mechanism, noise.scale, noise.quantity, _NOTHING, Fraction(0))
        return PrivacyLoss()
    return min(
        (
            _of_noise(noise.mechanism, noise.scale, noise.quantity, sensitivity, sensitivity.linf)
            for sensitivity in possible
        ),
        key=lambda loss: (loss.pure, loss.mu_squared),
    )


_NOTHING: Final = Sensitivity(Fraction(0), Fraction(0), Fraction(0), "")


def _sensitivities(quantity: Quantity, guarantee: LossGuarantee) -> Iterable[Sensitivity]:
    """Those that a quantity may have; none: the units that it is counted in are not known."""
    contribution = Contribution(guarantee.rows, guarantee.groups)
    whole, grouped = (
        Query(guarantee.neighbors, contribution, is_grouped, filtered=True) for is_grouped in (False, True)
    )
    match quantity:
        case Quantity.ROWS:
            return count(whole), count(grouped)
        case Quantity.DISTINCT:
            return distinct_count(whole), distinct_count(grouped)
        case Quantity.RANKS:
            return (quantile_utility(whole),)
        case Quantity.FREQUENCIES:
            return (mode_utility(whole),)
        case Quantity.RESPONDENTS:
            bound = BoundContributions(guarantee.neighbors, guarantee.rows, guarantee.groups)
            return (respondents_by_group(guarantee.neighbors, groups_of(bound)),)
        case Quantity.SUM | Quantity.SQUARES:
            return ()
        case _:
            assert_never(quantity)
