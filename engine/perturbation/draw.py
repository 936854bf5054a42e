"""Draw noisy reports from exact ones: nothing else in a perturbation draws noise."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np

from smalti.engine.losses.coded_reports import ExactReports, Sums
from smalti.engine.perturbation.images import different
from smalti.engine.perturbation.mechanisms import perturbation_of, pixelation_of, response_of
from smalti.engine.perturbation.plan import (
    PerturbationPlan,
    PerturbedCategory,
    PerturbedImage,
    PerturbedNumber,
)
from smalti.transforms.noise.pixelation import Images
from smalti.transforms.noise.samplers import SAMPLER, Sampler
from smalti.transforms.problem import Integers

_AT_ONCE: Final = 1 << 20
"""Values whose noise is drawn at a time; memory is needed for so many only."""
_ROOM: Final = 1 << 62

NoisyColumn: TypeAlias = Integers | Images
"""By record the noisy code of a category or number, or the noisy shades of cells."""


def draw(
    plan: PerturbationPlan, exact: ExactReports, sampler: Sampler = SAMPLER
) -> tuple[NoisyColumn, ...]:
    """Randomise each value of each report independently; call it once for each charge.

    Args:
        plan: says how.
        exact: of that plan.
        sampler: where the noise comes from.

    Returns:
        By column, the noisy values of all records, in the order of these values: that order tells nothing
        beside what the values tell. Records that are equal in all columns cannot be told apart.
    """
    noisy: list[Integers] = []
    images: list[Images | None] = []
    for column, codes in zip(plan.perturbed, exact.codes, strict=True):
        records = np.repeat(codes, exact.respondents)
        if isinstance(column, PerturbedImage):
            shades, numbers = different(_shades(column, records, exact.sums[column.column], sampler))
            images.append(shades)
            noisy.append(numbers)
        else:
            parts = [_perturbed(column, some, sampler) for some in _parts(records, _AT_ONCE)]
            images.append(None)
            noisy.append(np.concatenate(parts))
    return tuple(
        codes if shades is None else shades[codes]
        for codes, shades in zip(_ordered(noisy), images, strict=True)
    )


def _parts(records: Integers, at_once: int) -> Iterator[Integers]:
    """At least one part."""
    for start in range(0, max(len(records), 1), at_once):
        yield records[start : start + at_once]


def _shades(column: PerturbedImage, records: Integers, sums: Sums, sampler: Sampler) -> Images:
    """The noisy cells of each record's image."""
    pixelation = pixelation_of(column)
    rows, columns = pixelation.shape
    at_once = max(_AT_ONCE // (rows * columns), 1)
    return np.concatenate([
        pixelation.shades(sums[some].astype(np.int64), sampler) for some in _parts(records, at_once)
    ])  # fmt: skip


def _perturbed(column: PerturbedCategory | PerturbedNumber, codes: Integers, sampler: Sampler) -> Integers:
    if isinstance(column, PerturbedCategory):
        return response_of(column).perturbed(codes, sampler)
    return perturbation_of(column).perturbed(codes, sampler=sampler)


def _ordered(columns: Sequence[Integers]) -> tuple[Integers, ...]:
    """Records in the order of their codes, the first column first."""
    if not len(columns[0]):
        return tuple(columns)
    least = [int(column.min()) for column in columns]
    sizes = [int(column.max()) - low + 1 for column, low in zip(columns, least, strict=True)]
    packed = np.zeros(len(columns[0]), np.int64)
    room = 1
    for size in sizes:
        room *= size
    if room > _ROOM:
        order = np.lexsort(columns[::-1])
        return tuple(column[order] for column in columns)
    for column, low, size in zip(columns, least, sizes, strict=True):
        packed = packed * size + (column - low)
    packed.sort()
    ordered: list[Integers] = []
    for low, size in zip(reversed(least), reversed(sizes), strict=True):
        packed, rest = np.divmod(packed, size)
        ordered.append(rest + low)
    return tuple(reversed(ordered))
