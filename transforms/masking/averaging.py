"""Microaggregation of one column: values are published as what stands for a group of respondents.

Equal values are in one group. Those on a line, numbers and the places of a list, have the groups with the
least sum of squared errors of all (Hansen, Mukherjee, IEEE TKDE 15(4), 2003). Other categories are grouped
by MDAV, which is no best partition.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from smalti.transforms.base import RESPONDENTS, GroupingTerms, Requirement, Standardization
from smalti.transforms.microaggregation.algorithm import microaggregated
from smalti.transforms.microaggregation.coordinates import exact_numbers, is_on_a_line
from smalti.transforms.microaggregation.line import best_groups, latest_begins
from smalti.transforms.problem import (
    MISSING,
    CategoricalAttribute,
    FigureAttribute,
    Incidence,
    Integers,
    NominalAttribute,
    Problem,
    RowWeights,
)
from smalti.transforms.values.figures import figure_labels
from smalti.transforms.values.representatives import representative_labels

Grouped = FigureAttribute | NominalAttribute | CategoricalAttribute


def averaged(
    attribute: Grouped, texts: pa.Array, codes: Integers, people: Integers | None, rows: Integers, k: int
) -> pa.Array | None:
    """The label of the group of each value.

    Args:
        attribute: of the column.
        texts: by code, from 1; each occurs.
        codes: by pair of value and respondent: the value's, from 1; `MISSING` where it is none.
        people: by pair, from 0 without gaps; None where each row is another respondent.
        rows: by pair, how many rows it has.
        k: the least number of respondents in a group.

    Returns:
        By code, from 1; None where fewer than k respondents have a value.
    """
    count, is_there = len(texts), codes != MISSING
    if not count:
        return pa.array([], pa.string())
    weights = np.bincount(codes[is_there] - 1, rows[is_there], count).astype(np.int64)
    held = None
    if people is not None:
        pairs = np.unique(np.stack([codes[is_there] - 1, people[is_there]]), axis=1)
        held = Incidence(pairs[0], pairs[1])
    group = _side_by_side if is_on_a_line(attribute) else _near
    groups = group(attribute, weights, held, k)
    return None if groups is None else _labels(attribute, texts, groups, codes, people, rows)


def _side_by_side(
    attribute: Grouped, weights: Integers, people: Incidence | None, k: int
) -> Integers | None:
    """The group of each value on a line, in the best way; None where there are too few respondents."""
    count = len(weights)
    numbers = np.array(exact_numbers(attribute, np.arange(1, count + 1)), object)
    order = np.argsort(numbers, kind="stable")
    if people is None:
        latest = _latest_by_rows(weights[order].tolist(), k)
    else:
        place_of = np.empty(count, np.int64)
        place_of[order] = np.arange(count)
        places = place_of[people.tuples]
        in_order = np.argsort(places, kind="stable")
        latest = latest_begins(Incidence(places[in_order], people.items[in_order]), count, k)
    if latest[count] < 0:
        return None
    groups = np.zeros(count, np.int64)
    ends = best_groups(numbers[order].tolist(), weights[order].tolist(), latest)
    for number, (begin, end) in enumerate(pairwise(ends)):
        groups[order[begin:end]] = number
    return groups


def _near(attribute: Grouped, weights: Integers, people: Incidence | None, k: int) -> Integers | None:
    """The group of each category by MDAV; None where there are too few respondents.

    Of nominal values, which are all as far apart, those with fewer rows count as nearer: so rare values are
    put together, and frequent ones stay by themselves.
    """
    count = len(weights)
    if people is None:
        people = Incidence(np.repeat(np.arange(count), weights), np.arange(int(weights.sum())))
    order = np.arange(count)
    if isinstance(attribute, NominalAttribute):
        order = np.argsort(weights, kind="stable")
        attribute = NominalAttribute(attribute.size, attribute.order[order])
    place_of = np.empty(count, np.int64)
    place_of[order] = np.arange(count)
    portions = microaggregated(
        Problem(
            codes=np.arange(1, count + 1)[:, np.newaxis],
            weights=weights[order],
            attributes=(attribute,),
            respondents=Incidence(place_of[people.tuples], people.items),
            sensitive=(),
            requirements=(Requirement(RESPONDENTS, (k,)),),
            cut_threshold=0,
            grouping_terms=GroupingTerms(Standardization.NONE),
        )
    )
    if portions is None:
        return None
    groups = np.zeros(count, np.int64)
    groups[order[portions.atoms]] = portions.classes
    return groups


def _labels(
    attribute: Grouped,
    texts: pa.Array,
    groups: Integers,
    codes: Integers,
    people: Integers | None,
    rows: Integers,
) -> pa.Array:
    # Respondents weigh over all their rows, those without a value too.
    pairs = RowWeights.one_each(rows)
    if people is not None:
        pairs = RowWeights.by_respondent(np.arange(len(codes)), people, rows)
    nothing = int(groups.max()) + 1
    of_pair = np.where(codes == MISSING, nothing, groups[codes - 1])
    if isinstance(attribute, FigureAttribute):
        labels = figure_labels(attribute, codes, of_pair, pairs)
    else:
        labels = representative_labels(attribute, texts, codes, of_pair, pairs)
    return labels.cast(pa.string()).take(pa.array(groups))


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
