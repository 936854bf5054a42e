"""A quick yes: a few tuples of a partition often show already that it keeps what is promised.

A yes is certain and a no decides nothing, so whoever asks here first gets the same answer sooner.
"""

import numpy as np

from smalti.transforms._incidence import Holdings, Links
from smalti.transforms._layout import Batch, Numbers, order_by, ranges, ranks
from smalti.transforms.problem import Flags, Integers

_TUPLES_FOR_EACH = 4
"""Tuples looked at for each respondent or value that is needed."""
_FEW_VALUES = 64


def surely_allowed(
    batch: Batch, respondents: Links, sensitive: tuple[Holdings, ...], k: int, wanted: int
) -> Flags:
    """By partition: yes if it surely has k respondents and enough values, none of them held by all.

    Args:
        batch: the partitions.
        respondents: tuples with their respondents.
        sensitive: the sensitive columns.
        k: the least number of respondents.
        wanted: the least number of values of each sensitive column.
    """
    sizes = np.diff(batch.starts)
    few = np.minimum(sizes, _TUPLES_FOR_EACH * k)
    node = np.repeat(np.arange(batch.size), few)
    spread = ranges(np.zeros_like(few), few) * sizes[node] // few[node]
    tuples = batch.tuples[batch.starts[node] + spread]
    of_people, people = _distinct(node, *respondents.any_of(tuples))
    surely: Flags = np.bincount(of_people, minlength=batch.size) >= k
    for holdings in sensitive:
        of_values, _ = _distinct(node, *_any_values(holdings, tuples))
        surely &= np.bincount(of_values, minlength=batch.size) >= wanted
        surely &= _surely_not_shared(holdings, of_people, people, batch.size)
    return surely


def _any_values(holdings: Holdings, tuples: Integers) -> tuple[Integers, Numbers]:
    slots, items = holdings.links.any_of(tuples)
    return slots, items if holdings.pairs is None else holdings.pairs.values[items]


def _surely_not_shared(holdings: Holdings, node: Integers, people: Numbers, count: int) -> Flags:
    """By partition: whether some of its respondents, anywhere in the table, have no value in common.

    What a respondent holds in a partition is part of what it holds in the table. Respondents with
    many values are passed over, for they are slow and show little.
    """
    held = holdings.by_respondent
    if held is None:
        return np.ones(count, np.bool_)
    wanted = people.astype(held.respondents.dtype)  # or all respondents would be converted
    starts = np.searchsorted(held.respondents, wanted)
    counts = np.searchsorted(held.respondents, wanted, "right") - starts
    ordinary = np.flatnonzero(counts <= _FEW_VALUES)
    node, starts, counts = node[ordinary], starts[ordinary], counts[ordinary]
    holder = np.repeat(node, counts)
    order, new = order_by(holder, held.values[ranges(starts, counts)])
    most = np.zeros(count, np.int64)
    begins = np.flatnonzero(new)
    np.maximum.at(most, holder[order[begins]], np.diff(begins, append=len(order)))
    return np.asarray(most < np.bincount(node, minlength=count), np.bool_)


def _distinct(node: Integers, slots: Integers, items: Numbers) -> tuple[Integers, Numbers]:
    """The different (partition, item) pairs."""
    node = node[slots]
    order, new = order_by(node, items)
    first = order[new]
    return node[first], items[first]


def surely_match(holdings: Holdings, batch: Batch, wanted: int) -> Flags:
    """By partition: yes if `wanted` values can surely be matched to different respondents.

    More than l (l - 1) pairs are enough when no value and no respondent occurs in more than l of them.

    Proof:
        Take the pairs as edges of a bipartite graph. By König's theorem (1931) a graph without a
        matching of size l has a vertex cover of at most l - 1 vertices. Each of them covers at most
        l edges, so the graph has at most l (l - 1). Pairs are left out until no value or respondent
        occurs more often; that takes matchings away and adds none, so a yes holds for all pairs.

    Args:
        holdings: the values of one sensitive column, with their respondents.
        batch: the partitions.
        wanted: the size of the matching, l.
    """
    few = np.minimum(np.diff(batch.starts), _TUPLES_FOR_EACH * wanted)
    slots = ranges(batch.starts[:-1], few)
    surely = _have_enough_pairs(holdings, batch.tuples[slots], batch.node[slots], batch.size, wanted)
    if not surely.all():
        part, _ = batch.subset(np.flatnonzero(~surely))
        surely[~surely] = _have_enough_pairs(holdings, part.tuples, part.node, part.size, wanted)
    return surely


def _have_enough_pairs(
    holdings: Holdings, tuples: Integers, node: Integers, count: int, wanted: int
) -> Flags:
    """By partition: whether these of its tuples have more than l (l - 1) pairs, at most l with each end."""
    if holdings.pairs is None:
        return np.zeros(count, np.bool_)
    slots, pairs = holdings.links.take(tuples)
    node = node[slots]
    order, new = order_by(node, pairs)
    distinct = order[new]
    node, pairs = node[distinct], pairs[distinct]
    for ends in (holdings.pairs.values, holdings.pairs.respondents):
        order, new = order_by(node, ends[pairs])
        kept = order[ranks(new) < wanted]
        node, pairs = node[kept], pairs[kept]
    return np.bincount(node, minlength=count) > wanted * (wanted - 1)
