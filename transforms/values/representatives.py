r"""The mode or the medoid of each class of a column of categories, and its label.

====================  =======================================================================
``[~text]``           the value that stands for the class; nobody in it needs to have it
``[~text|]``          the same, for the values that are present; others are missing
====================  =======================================================================

Inside, ``\``, ``|``, ``[`` and ``]`` are written with a backslash before them.
"""

from math import lcm
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.transforms.base import Figure
from smalti.transforms.problem import (
    MISSING,
    CategoricalAttribute,
    Integers,
    NominalAttribute,
    RowWeights,
)

_MOST: Final = 1 << 62
_TEXT: Final = pa.large_string()

Shares = NDArray[Any]
"""Whole numbers that are as the weights are, of any size."""


def representative_labels(
    attribute: NominalAttribute | CategoricalAttribute,
    texts: pa.Array,
    codes: Integers,
    classes: Integers,
    weights: RowWeights,
) -> pa.Array:
    """The label of each class; null where all its values are missing. Missing values weigh nothing.

    Args:
        attribute: of the column.
        texts: by code, from 1.
        codes: by tuple.
        classes: the class of each tuple, numbered from 0 without gaps.
        weights: of the rows of tuples.
    """
    owners, held = classes[weights.tuples], codes[weights.tuples]
    or_missing = np.zeros(int(classes.max()) + 1, np.bool_)
    or_missing[owners[held == MISSING]] = True
    present = held != MISSING
    shares = _shares(weights.totals[present], weights.rows[present])
    chosen = np.zeros(len(or_missing), np.int64)
    _choose(attribute, owners[present], held[present], shares, chosen)
    inside = pc.replace_substring_regex(texts.cast(_TEXT), r"([\\|\[\]])", r"\\\1")
    ends = pc.if_else(pa.array(or_missing), pa.scalar("|]", _TEXT), pa.scalar("]", _TEXT))
    shown = inside.take(pa.array(chosen - 1, mask=chosen == MISSING))
    return pc.binary_join_element_wise(pa.scalar("[~", _TEXT), shown, ends, pa.scalar("", _TEXT))


def _shares(totals: Integers, rows: Integers) -> Shares:
    """The weights of rows of respondents with so many of them, as parts of one whole."""
    different = np.unique(totals)
    whole = lcm(*different.tolist())
    parts = np.array([whole // total for total in different.tolist()], object)
    shares: Shares
    if whole * max(int(rows.sum()), 1) < _MOST:
        shares = parts.astype(np.int64)[np.searchsorted(different, totals)] * rows
        return shares
    shares = parts[np.searchsorted(different, totals)] * rows.astype(object)
    return shares


def _choose(
    attribute: NominalAttribute | CategoricalAttribute,
    owners: Integers,
    codes: Integers,
    shares: Shares,
    chosen: Integers,
) -> None:
    """Write by class the code that stands for it; of a class without values nothing is written."""
    if isinstance(attribute, CategoricalAttribute) and attribute.figure is Figure.MEDOID:
        if attribute.places is not None:
            _write_middles(attribute.places[codes - 1], owners, codes, shares, chosen)
            return
        levels = [attribute.nodes[level][codes] for level in range(len(attribute.nodes) - 1)]
    else:
        levels = [codes]
    # The sum of all distances is the least where most rows are below the nodes of a value.
    near = np.zeros_like(shares)
    for nodes in levels:
        _, place = np.unique(owners * (int(nodes.max(initial=0)) + 1) + nodes, return_inverse=True)
        place = place.reshape(-1)
        below = np.zeros(int(place.max(initial=-1)) + 1, shares.dtype)
        np.add.at(below, place, shares)
        near += below[place]
    rank = np.unique(near, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((attribute.order[codes - 1], -rank, owners))
    present, first = np.unique(owners[order], return_index=True)
    chosen[present] = codes[order[first]]


def _write_middles(
    places: Integers, owners: Integers, codes: Integers, shares: Shares, chosen: Integers
) -> None:
    """The first value with half of the weight, or more, at its place or before it."""
    order = np.lexsort((places, owners))
    owners, codes, shares = owners[order], codes[order], shares[order]
    present, first = np.unique(owners, return_index=True)
    upto = np.cumsum(shares)
    before = (upto - shares)[first]
    sums = np.add.reduceat(shares, first) if len(first) else shares
    number = np.searchsorted(present, owners)
    reached = np.flatnonzero((2 * (upto - before[number]) >= sums[number]).astype(np.bool_))
    classes, place = np.unique(owners[reached], return_index=True)
    chosen[classes] = codes[reached[place]]
