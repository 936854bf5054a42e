"""A quick acceptance: a few tuples of a partition often show that it may meet its requirements.

A yes is certain and a no decides nothing, so whoever asks here first gets the same answer sooner.
"""

from collections.abc import Iterable

import numpy as np

from smalti.transforms.partitions.held import Sampled, SampledColumn
from smalti.transforms.partitions.incidence import Holdings, Links
from smalti.transforms.partitions.layout import Batch, Numbers, order_by, ranges
from smalti.transforms.problem import Flags, Integers
from smalti.transforms.requirements.judge import ClassJudge

_TUPLES_FOR_EACH = 4
"""Tuples looked at for each respondent that is needed."""


def surely_allowed(
    batch: Batch,
    respondents: Links,
    sensitive: tuple[Holdings, ...],
    judges: Iterable[ClassJudge],
    fewest: int,
) -> Flags:
    """By partition: yes if each of its judges surely says that it may meet its requirement.

    Args:
        batch: the partitions.
        respondents: tuples with their respondents.
        sensitive: the sensitive columns.
        judges: of what is promised.
        fewest: the least number of respondents that all of them ask for.
    """
    sizes = np.diff(batch.starts)
    few = np.minimum(sizes, _TUPLES_FOR_EACH * fewest)
    node = np.repeat(np.arange(batch.size), few)
    spread = ranges(np.zeros_like(few), few) * sizes[node] // few[node]
    tuples = batch.tuples[batch.starts[node] + spread]
    of_people, people = _distinct(node, *respondents.any_of(tuples))
    columns = tuple(
        SampledColumn(holdings, _distinct(node, *_any_values(holdings, tuples))[0])
        for holdings in sensitive
    )
    sampled = Sampled(batch.size, of_people, people, columns)
    surely = np.ones(batch.size, np.bool_)
    for judge in judges:
        surely &= judge.surely_may_meet(sampled)
    return surely


def _any_values(holdings: Holdings, tuples: Integers) -> tuple[Integers, Numbers]:
    slots, items = holdings.links.any_of(tuples)
    return slots, items if holdings.pairs is None else holdings.pairs.values[items]


def _distinct(node: Integers, slots: Integers, items: Numbers) -> tuple[Integers, Numbers]:
    """The different (partition, item) pairs."""
    node = node[slots]
    order, new = order_by(node, items)
    first = order[new]
    return node[first], items[first]
