"""From exact reports to noisy ones: the one place of a perturbation that draws noise."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from smalti.engine.perturbation.mechanisms import perturbation_of, response_of
from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedCategory, PerturbedColumn
from smalti.engine.perturbation.reports import ExactReports
from smalti.transforms.noise import SAMPLER, Sampler
from smalti.transforms.problem import Integers

_AT_ONCE: Final = 1 << 20
"""Records whose noise is drawn at a time; memory is needed for so many only."""
_ROOM: Final = 1 << 62


def draw(plan: PerturbationPlan, exact: ExactReports, sampler: Sampler = SAMPLER) -> tuple[Integers, ...]:
    """Randomise each value of each report by itself; to be called once for each charge.

    Args:
        plan: says how.
        exact: of that plan.
        sampler: where the noise comes from.

    Returns:
        By column, the noisy codes of all records, in the order of these codes: that order tells nothing
        beside what the codes tell. Records that are equal in all columns cannot be told apart.
    """
    noisy = [
        np.concatenate([_perturbed(one, some, sampler) for some in _records(codes, exact.respondents)])
        for one, codes in zip(plan.perturbed, exact.codes, strict=True)
    ]
    return _ordered(noisy)


def _records(codes: Integers, respondents: Integers) -> Iterator[Integers]:
    """The code of each record, in parts; at least one part."""
    records = np.repeat(codes, respondents)
    for start in range(0, max(len(records), 1), _AT_ONCE):
        yield records[start : start + _AT_ONCE]


def _perturbed(one: PerturbedColumn, codes: Integers, sampler: Sampler) -> Integers:
    if isinstance(one, PerturbedCategory):
        return response_of(one).perturbed(codes, sampler)
    return perturbation_of(one).perturbed(codes, sampler=sampler)


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
    found: list[Integers] = []
    for low, size in zip(reversed(least), reversed(sizes), strict=True):
        packed, rest = np.divmod(packed, size)
        found.append(rest + low)
    return tuple(reversed(found))
