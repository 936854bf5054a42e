"""Draw noisy values with their intervals from exact aggregates: nothing else in a release draws noise.

Aggregates are clamped into public limits of 2^62 units before noise, and nothing here fails for what they
are. Each part of a statistic is drawn once, for all of its groups; whatever else is told comes from the
noisy amounts and from the plan alone.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Final

from smalti.engine.losses.readings import key_labels
from smalti.engine.plan.reads import Measure, Mechanism
from smalti.engine.plan.values import NoisyValue
from smalti.engine.releases.aggregate import Aggregates
from smalti.engine.releases.figures import (
    Figure,
    Noisy,
    exact_text,
    mean,
    mean_places,
    number,
    sum_from_origin,
    sum_from_zero,
    variance,
    variance_places,
    written,
)
from smalti.engine.releases.plan import Part, Quantity, ReleasePlan, Statistic, StatisticKind
from smalti.errors import InternalError
from smalti.transforms.noise.partition_selection import PartitionSelection
from smalti.transforms.noise.samplers import (
    LARGEST_VALUE,
    SAMPLER,
    ExponentialChoice,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    Sampler,
    measure,
)

_ALMOST_CERTAIN: Final = math.nextafter(1.0, 0.0)


def draw(
    plan: ReleasePlan, statistic: Statistic, aggregates: Aggregates, sampler: Sampler = SAMPLER
) -> tuple[NoisyValue, ...]:
    """Add noise to the aggregates of one statistic; call it once for each charge.

    Numbers are unbiased, and may be outside of what is possible, such as a count below 0; means and
    variances, which are quotients, are within it. Private groups that are released are sorted by their
    labels.

    Args:
        plan: says the confidence.
        statistic: of the plan.
        aggregates: of that statistic.
        sampler: where the noise comes from.
    """
    places = _released(statistic, aggregates, sampler)
    groups = [aggregates.groups[place] for place in places]
    amounts = [[of_part[place] for place in places] for of_part in aggregates.amounts]
    if any(part.mechanism is Mechanism.EXPONENTIAL for part in statistic.parts):
        return tuple(_choices(statistic, groups, amounts, sampler))
    return tuple(_numbers(plan, statistic, groups, amounts, sampler))


def _released(statistic: Statistic, aggregates: Aggregates, sampler: Sampler) -> list[int]:
    """The places of the groups that are released, in their order."""
    if statistic.selection is None:
        return list(range(len(aggregates.groups)))
    noise = LaplaceNoise(Fraction(statistic.selection.scale))
    selection = PartitionSelection(noise, statistic.selection.threshold)
    selected = selection.selected(aggregates.respondents, sampler).tolist()
    return sorted(selected, key=aggregates.groups.__getitem__)


_Groups = Sequence[tuple[str, ...]]
_Amounts = Sequence[Sequence[Sequence[int]]]
"""By part, by group."""


def _numbers(
    plan: ReleasePlan, statistic: Statistic, groups: _Groups, amounts: _Amounts, sampler: Sampler
) -> Iterator[NoisyValue]:
    """The rows of a statistic of numbers.

    Its parts miss their intervals together with at most the sum of their probabilities.
    """
    missed = (1 - plan.write.confidence) / len(statistic.parts)
    confidence = min(float(1 - missed), _ALMOST_CERTAIN)
    drawn = [
        _drawn(part, [amount for (amount,) in of_part], confidence, sampler)
        for part, of_part in zip(statistic.parts, amounts, strict=True)
    ]
    scale = ";".join(_scale(part, statistic) for part in statistic.parts)
    for place, labels in enumerate(groups):
        noisy = {part.quantity: of[place] for part, of in zip(statistic.parts, drawn, strict=True)}
        value, lower, upper = _figure(statistic, noisy)
        yield NoisyValue(statistic.name, _keys(statistic, labels), "", value, lower, upper, scale)


def expected_errors(plan: ReleasePlan) -> Iterator[str]:
    """How far noise takes each measured quantity from what it is, by the plan alone; for people."""
    for statistic in plan.statistics:
        missed = (1 - plan.write.confidence) / len(statistic.parts)
        for part in statistic.parts:
            if part.mechanism is Mechanism.EXPONENTIAL:
                yield f"{statistic.name}: a choice at random, better ones likelier; no error is bounded"
                continue
            confidence = min(float(1 - missed), _ALMOST_CERTAIN)
            units = Fraction(_noise(part).margin(confidence))
            if part.quantity is Quantity.SUM and statistic.measure is not None:
                units *= Fraction(statistic.measure.unit)
            yield (
                f"{statistic.name}, {part.quantity}: within {float(units):g} of the measured value, at a"
                f" confidence of {confidence:g}"
            )


def _drawn(part: Part, amounts: Sequence[int], confidence: float, sampler: Sampler) -> list[Noisy]:
    noise = _noise(part)
    margin = noise.margin(confidence)
    values = measure(amounts, noise, -LARGEST_VALUE, LARGEST_VALUE, sampler)
    return [Noisy(value, margin) for value in values.tolist()]


def _noise(part: Part) -> Noise:
    match part.mechanism:
        case Mechanism.LAPLACE:
            return LaplaceNoise(Fraction(part.scale))
        case Mechanism.GAUSSIAN:
            return GaussianNoise(Fraction(part.scale))
    raise InternalError("a number with the noise of a choice")


def _figure(statistic: Statistic, noisy: Mapping[Quantity, Noisy]) -> tuple[str, str, str]:
    """Value, lower and upper end."""
    if Quantity.SUM not in noisy:
        return _exact(number(next(iter(noisy.values()))))
    measured, total, rows = _measure(statistic), noisy[Quantity.SUM], noisy.get(Quantity.ROWS)
    if rows is None:
        return _exact(sum_from_zero(total, measured))
    if statistic.kind is StatisticKind.SUM:
        return _exact(sum_from_origin(total, rows, measured))
    if statistic.kind is StatisticKind.MEAN:
        return written(mean(total, rows, measured), mean_places(measured))
    return written(variance(noisy[Quantity.SQUARES], total, rows, measured), variance_places(measured))


def _exact(figure: Figure) -> tuple[str, str, str]:
    return exact_text(figure.value), exact_text(figure.lower), exact_text(figure.upper)


def _choices(
    statistic: Statistic, groups: _Groups, amounts: _Amounts, sampler: Sampler
) -> Iterator[NoisyValue]:
    """The rows of a statistic that is chosen: by group, in the order of its parts."""
    candidates = _candidates(statistic)
    choices = [ExponentialChoice(Fraction(part.scale)) for part in statistic.parts]
    levels = ["" if part.level is None else format(part.level, "f") for part in statistic.parts]
    scales = [_scale(part, statistic) for part in statistic.parts]
    for place, labels in enumerate(groups):
        for choice, of_part, level, scale in zip(choices, amounts, levels, scales, strict=True):
            value = candidates[choice.choose(of_part[place], sampler)]
            yield NoisyValue(statistic.name, _keys(statistic, labels), level, value, "", "", scale)


def _candidates(statistic: Statistic) -> Sequence[str]:
    if statistic.kind is StatisticKind.QUANTILE:
        return statistic.candidates
    keys = statistic.keys[len(statistic.keys) - statistic.choices :]
    return ["; ".join(labels) for labels in product(*map(key_labels, keys))]


def _keys(statistic: Statistic, labels: tuple[str, ...]) -> dict[str, str]:
    groups = statistic.keys[: len(statistic.keys) - statistic.choices]
    return {key.column: label for key, label in zip(groups, labels, strict=True)}


_POWERS: Final = {Quantity.SUM: 1, Quantity.SQUARES: 2}
"""Of the measure's unit, in what a quantity is told in."""


def _scale(part: Part, statistic: Statistic) -> str:
    """As the shortest decimal that stands for the double, times the unit."""
    power = _POWERS.get(part.quantity, 0)
    unit = Fraction(_measure(statistic).unit) ** power if power else 1
    return exact_text(Fraction(repr(part.scale)) * unit)


def _measure(statistic: Statistic) -> Measure:
    if statistic.measure is None:
        raise InternalError("a sum without a measure")
    return statistic.measure
