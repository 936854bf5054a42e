"""Codebooks of columns with a hierarchy."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from smalti.transforms.problem import HierarchicalAttribute, Integers
from smalti.transforms.values.hierarchy import Ladders, bind_hierarchy
from smalti.transforms.values.texts import Codebook


def with_hierarchy(
    book: Codebook, ladders: Ladders, *, has_missing: bool, ranks: Integers | None = None
) -> Codebook:
    """A codebook whose codes stand in the order of a hierarchy.

    Args:
        book: of a column.
        ladders: by code, from 1, of a checked hierarchy.
        has_missing: whether the column misses values.
        ranks: by code, from 1, its place where the hierarchy orders values otherwise than they are.
    """
    bound = bind_hierarchy(ladders, ranks)
    code = np.empty(len(bound.order), np.int64)
    code[bound.order] = np.arange(1, len(bound.order) + 1)
    attribute = HierarchicalAttribute(bound.hierarchy.nodes, max(len(code) + has_missing, 1))
    return replace(
        book,
        codes=code[book.codes - 1],
        texts=book.texts.take(pa.array(bound.order)),
        attribute=attribute,
        hierarchy=bound.hierarchy,
    )
