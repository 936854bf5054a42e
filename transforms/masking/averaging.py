"""Microaggregation of one column: values are published as the figure of groups of respondents.

The groups have the least sum of squared errors of all whose values are side by side, where equal values are
in one group (Hansen, Mukherjee, IEEE TKDE 15(4), 2003).
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from smalti.transforms.microaggregation.line import best_groups, latest_begins
from smalti.transforms.problem import MISSING, FigureAttribute, Incidence, Integers, RowWeights
from smalti.transforms.values.figures import figure_labels


def averaged(
    attribute: FigureAttribute, codes: Integers, people: Integers | None, rows: Integers, k: int
) -> pa.Array | None:
    """The label of the group of each value.

    Args:
        attribute: of the column.
        codes: by pair of value and respondent: the value's, from 1; `MISSING` where it is none.
        people: by pair, from 0 without gaps; None where each row is another respondent.
        rows: by pair, how many rows it has.
        k: the least number of respondents in a group.

    Returns:
        By code, from 1; None where fewer than k respondents have a value.
    """
    count = len(attribute.numbers)
    is_there = codes != MISSING
    weights = np.bincount(codes[is_there] - 1, rows[is_there], count).astype(np.int64)
    if people is None:
        latest = _latest_by_rows(weights.tolist(), k)
    else:
        pairs = np.unique(np.stack([codes[is_there] - 1, people[is_there]]), axis=1)
        latest = latest_begins(Incidence(pairs[0], pairs[1]), count, k)
    if count and latest[count] < 0:
        return None
    groups = np.zeros(count, np.int64)
    ends = best_groups([int(number) for number in attribute.numbers], weights.tolist(), latest)
    for number, (begin, end) in enumerate(pairwise(ends)):
        groups[begin:end] = number
    return _labels(attribute, groups, codes, people, rows)


def _labels(
    attribute: FigureAttribute, groups: Integers, codes: Integers, people: Integers | None, rows: Integers
) -> pa.Array:
    if not len(groups):
        return pa.array([], pa.string())
    # Respondents weigh over all their rows, those without a value too.
    pairs = RowWeights.one_each(rows)
    if people is not None:
        pairs = RowWeights.by_respondent(np.arange(len(codes)), people, rows)
    nothing = int(groups[-1]) + 1
    of_pair = np.where(codes == MISSING, nothing, groups[codes - 1])
    labels = figure_labels(attribute, codes, of_pair, pairs).cast(pa.string())
    return labels.take(pa.array(groups))


def _latest_by_rows(rows: list[int], k: int) -> list[int]:
    """As `latest_begins`, where each row is another respondent."""
    latest, begin, held = [-1], 0, 0
    for number in rows:
        held += number
        while held - rows[begin] >= k:
            held -= rows[begin]
            begin += 1
        latest.append(begin if held >= k else -1)
    return latest
