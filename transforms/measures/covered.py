"""Which values the labels of a generalised column may stand for."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.transforms.problem import (
    MISSING,
    Attribute,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    PrefixedAttribute,
)
from smalti.transforms.values.by_class import class_ends, distinct_codes, extremes
from smalti.transforms.values.prefixes import common_prefixes, places_below

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, slots=True)
class CoveredCodes:
    """By part the codes that its label may stand for, as ranges that do not overlap."""

    size: int
    """How many parts there are."""
    owners: Integers
    """By range, its part."""
    first: Integers
    """Likewise its first code."""
    last: Integers
    """Likewise one past its last code."""

    def sums(self, weights: NDArray[Number]) -> NDArray[Number]:
        """By part: the weights of the codes that its label may stand for, added up.

        Args:
            weights: by code.
        """
        below = np.zeros(len(weights) + 1, weights.dtype)
        np.cumsum(weights, out=below[1:])
        added = np.zeros(self.size, weights.dtype)
        np.add.at(added, self.owners, below[self.last] - below[self.first])
        return added


def covered_codes(
    attribute: Attribute, codes: Integers, parts: Integers, level: int | None = None
) -> CoveredCodes:
    """What the labels of parts may stand for.

    Args:
        attribute: what the codes are of.
        codes: by tuple.
        parts: by tuple: its part, from 0 without gaps.
        level: that of the hierarchy's nodes that labels say; None: they say what each part holds.
    """
    if isinstance(attribute, OrderedAttribute):
        return _on_a_line(attribute, codes, parts)
    if isinstance(attribute, HierarchicalAttribute):
        return _below_nodes(attribute, codes, parts, level)
    owners, held = distinct_codes(codes, parts)
    return CoveredCodes(int(parts.max()) + 1, owners, held, held + 1)


def _on_a_line(attribute: OrderedAttribute, codes: Integers, parts: Integers) -> CoveredCodes:
    count = int(parts.max()) + 1
    with_missing = np.flatnonzero(extremes(codes, parts, count)[0] == MISSING)
    if isinstance(attribute, PrefixedAttribute):
        ends = class_ends(codes, parts, attribute.texts)
        first, last = places_below(attribute.texts, common_prefixes(ends.low_texts, ends.high_texts))
        is_single = ends.low == ends.high
        first, last = np.where(is_single, ends.low, first + 1), np.where(is_single, ends.low + 1, last + 1)
    else:
        ends = class_ends(codes, parts, pa.nulls(int(codes.max()), pa.string()))
        first, last = ends.low, ends.high + 1
    present = np.flatnonzero(ends.high != MISSING)
    return CoveredCodes(
        count,
        np.concatenate((present, with_missing)),
        np.concatenate((first[present], np.full(len(with_missing), MISSING))),
        np.concatenate((last[present], np.full(len(with_missing), MISSING + 1))),
    )


def _below_nodes(
    attribute: HierarchicalAttribute, codes: Integers, parts: Integers, level: int | None
) -> CoveredCodes:
    count = int(parts.max()) + 1
    low, high = extremes(codes, parts, count)
    levels = np.full(count, level, np.int64) if level else attribute.below(low, high)
    owners, nodes = distinct_codes(attribute.nodes[levels[parts], codes], parts)
    first, last = np.zeros(len(owners), np.int64), np.zeros(len(owners), np.int64)
    for at in np.unique(levels).tolist():
        mine = levels[owners] == at
        first[mine] = np.searchsorted(attribute.nodes[at], nodes[mine], "left")
        last[mine] = np.searchsorted(attribute.nodes[at], nodes[mine], "right")
    covered = CoveredCodes(count, owners, first, last)
    if level:
        return covered
    # Values of all children of the root are labelled as the root, which stands for missing ones, too.
    present = np.ones(attribute.nodes.shape[1], np.int64)
    present[MISSING] = 0
    is_whole = (levels == len(attribute.nodes) - 2) & (low != high) & (low != MISSING)
    more = np.flatnonzero(is_whole & (covered.sums(present) == present.sum()))
    return CoveredCodes(
        count,
        np.concatenate((owners, more)),
        np.concatenate((first, np.full(len(more), MISSING))),
        np.concatenate((last, np.full(len(more), MISSING + 1))),
    )
