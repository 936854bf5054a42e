r"""The labels of generalised values: one grammar, for every engine and output format.

====================  =======================================================================
``42``                a single value, as its own text
``[17..34]``          numbers, dates, date-times: from 17 to 34, both included
``[17..34|]``         the same, or missing
``[34..]``            of a top-coded column: 34 or more; ``[..17]`` of a bottom-coded one: 17 or less
``{a|b}``             strings: one of these, in bytewise order
``{a|b|}``            one of these, or missing
(empty)               missing
``[a*]``              strings, where the policy asks for prefixes (`prefixes`): one that begins with this
``[a*|]``             the same, or missing
``[~37.5]``           numbers, dates, where the policy asks for a mean or a median (`figures`): the class's
``[~37.5|]``          the same; some values are missing
``[~a]``              categories, where the policy asks for a mode or a medoid (`representatives`)
``[~a|]``             the same; some values are missing
``node``              of a column with a hierarchy: any value of this node; the root also covers missing
``{node|node|}``      any value of one of these nodes, or missing
====================  =======================================================================

Inside braces ``\``, ``|``, ``{`` and ``}`` are written with a backslash before them. A single string
that begins with ``[``, ``{`` or ``\`` is written with a backslash before it. In a category after ``~``
they are ``\``, ``|``, ``[`` and ``]`` that have one. So each published text can be read in one way only.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.errors import InternalError
from smalti.transforms.base import Datatype
from smalti.transforms.problem import (
    MISSING,
    CategoricalAttribute,
    FigureAttribute,
    Flags,
    HierarchicalAttribute,
    Integers,
    NominalAttribute,
    PrefixedAttribute,
    RowWeights,
)
from smalti.transforms.values.by_class import ClassEnds, class_ends, distinct_codes, extremes
from smalti.transforms.values.figures import figure_labels
from smalti.transforms.values.hierarchy import Hierarchy
from smalti.transforms.values.prefixes import common_prefixes, prefix_labels
from smalti.transforms.values.representatives import representative_labels
from smalti.transforms.values.texts import Codebook

_TEXT = pa.large_string()


def range_labels(low: pa.Array, high: pa.Array, or_missing: Flags) -> pa.Array:
    """The labels of the values from `low` to `high`.

    Args:
        low: large strings; null where no value is present.
        high: the same.
        or_missing: whether the value may also be missing.

    >>> low, high = pa.array(["17", "17", "17"], _TEXT), pa.array(["34", "17", "17"], _TEXT)
    >>> range_labels(low, high, np.array([False, False, True])).to_pylist()
    ['[17..34]', '17', '[17..17|]']
    """
    end = pc.if_else(pa.array(or_missing), _constant("|]"), _constant("]"))
    ranges = _concatenated(_constant("["), low, _constant(".."), high, end)
    return pc.if_else(pc.and_(pc.equal(low, high), pa.array(~or_missing)), low, ranges)


def set_labels(texts: pa.Array, sets: pa.LargeListArray, or_missing: Flags) -> pa.Array:
    r"""The labels of sets of strings.

    Args:
        texts: large strings, in bytewise order.
        sets: indexes of some of them, ascending; at least one in each set.
        or_missing: by set: whether the value may also be missing.

    >>> texts = pa.array(["[x]", "a", "a|b", "c"], _TEXT)
    >>> sets = pa.array([[2, 3], [0], [1]], pa.large_list(pa.int64()))
    >>> set_labels(texts, sets, np.array([True, False, True])).to_pylist()
    ['{a\\|b|c|}', '\\[x]', '{a|}']
    """
    sizes = pc.list_value_length(sets).to_numpy(zero_copy_only=False)
    is_braced = (sizes > 1) | or_missing
    labels = single_labels(texts).take(pc.list_element(sets, 0))
    inside = pc.replace_substring_regex(texts, r"([\\|{}])", r"\\\1")
    starts = np.concatenate(([0], np.cumsum(sizes[is_braced])))
    items = inside.take(sets.filter(pa.array(is_braced)).flatten())
    joined = pc.binary_join(
        pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), items), _constant("|")
    )
    end = pc.if_else(pa.array(or_missing[is_braced]), _constant("|}"), _constant("}"))
    return pc.replace_with_mask(labels, pa.array(is_braced), _concatenated(_constant("{"), joined, end))


def single_labels(texts: pa.Array) -> pa.Array:
    """The labels of single strings."""
    marked = pc.match_substring_regex(texts, r"^[\[{\\]")
    return pc.if_else(marked, _concatenated(_constant("\\"), texts), texts)


def _concatenated(*texts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*texts, _constant(""))


def _constant(text: str) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


def class_labels(
    book: Codebook, codes: Integers, classes: Integers, weights: RowWeights | None = None
) -> pa.Array:
    """The label of each class for one column; null where all its values are missing.

    Args:
        book: the column's values.
        codes: the code of each tuple.
        classes: the class of each tuple, numbered from 0 without gaps.
        weights: of the rows of tuples; needed for figures.
    """
    if isinstance(book.attribute, FigureAttribute | NominalAttribute | CategoricalAttribute):
        if weights is None:
            raise InternalError("figures of classes were asked for without the weights of their rows")
        if isinstance(book.attribute, FigureAttribute):
            return figure_labels(book.attribute, codes, classes, weights).cast(pa.string())
        labels = representative_labels(book.attribute, book.texts, codes, classes, weights)
        return labels.cast(pa.string())
    if book.hierarchy is not None:
        return node_labels(book, codes, classes).cast(pa.string())
    if isinstance(book.attribute, PrefixedAttribute):
        return _class_prefixes(book.texts, codes, classes).cast(pa.string())
    if book.datatype is Datatype.STRING:
        return _class_sets(book.texts, codes, classes).cast(pa.string())
    ends = class_ends(codes, classes, book.texts)
    labels = range_labels(ends.low_texts, ends.high_texts, ends.with_missing)
    if book.top is not None or book.bottom is not None:
        labels = _opened(labels, ends, book.top, book.bottom)
    return labels.cast(pa.string())


def _opened(labels: pa.Array, ends: ClassEnds, top: str | None, bottom: str | None) -> pa.Array:
    """The labels without their ends that are thresholds, since these stand for all values beyond, too."""
    nothing = _constant("")
    at_top, at_bottom = (
        pa.array(np.zeros(len(labels), np.bool_)) if code is None else pc.equal(texts, code)
        for texts, code in ((ends.high_texts, top), (ends.low_texts, bottom))
    )
    low = pc.if_else(at_bottom, nothing, ends.low_texts)
    high = pc.if_else(at_top, nothing, ends.high_texts)
    end = pc.if_else(pa.array(ends.with_missing), _constant("|]"), _constant("]"))
    opened = _concatenated(_constant("["), low, _constant(".."), high, end)
    return pc.if_else(pc.fill_null(pc.or_(at_top, at_bottom), False), opened, labels)


def _class_prefixes(texts: pa.Array, codes: Integers, classes: Integers) -> pa.Array:
    ends = class_ends(codes, classes, texts)
    labels = prefix_labels(common_prefixes(ends.low_texts, ends.high_texts), ends.with_missing)
    is_single = pa.array((ends.low == ends.high) & ~ends.with_missing)
    return pc.if_else(is_single, single_labels(ends.low_texts), labels)


def _class_sets(texts: pa.Array, codes: Integers, classes: Integers) -> pa.Array:
    owners, held = distinct_codes(codes, classes)
    count = int(owners[-1]) + 1
    is_present = held != MISSING
    sizes = np.bincount(owners[is_present], minlength=count)
    with_missing = np.bincount(owners[~is_present], minlength=count) > 0
    some = sizes > 0
    starts = np.concatenate(([0], np.cumsum(sizes[some])))
    sets = pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), pa.array(held[is_present] - 1))
    labels = set_labels(texts, sets, with_missing[some])
    return labels.take(pa.array(np.cumsum(some) - 1, mask=~some))


def level_labels(book: Codebook, level: int) -> pa.Array:
    """The label of each node of one level, by its number; null where it is the missing value alone.

    Args:
        book: of a column with a hierarchy.
        level: 0 is that of the values.
    """
    if book.hierarchy is None:
        raise InternalError("labels of a level were asked for where there is no hierarchy")
    labels = book.hierarchy.labels[level].cast(_TEXT)
    if level < len(book.hierarchy.labels) - 1:  # node 0 is the missing value below the root
        labels = pc.if_else(pa.array(np.arange(len(labels)) == 0), pa.scalar(None, _TEXT), labels)
    return single_labels(labels).cast(pa.string())


def node_labels(book: Codebook, codes: Integers, classes: Integers) -> pa.Array:
    r"""The label of each class: the children of the lowest node over its values that hold some of them.

    A class that holds a value of each child has the label of the node itself; the root's stands for missing
    values, too. Labels are those of sets of texts, with nodes in place of values.

    Args:
        book: of a column with a hierarchy.
        codes: the code of each tuple.
        classes: the class of each tuple, numbered from 0 without gaps.

    Returns:
        Null where all values of a class are missing.
    """
    if book.hierarchy is None or not isinstance(book.attribute, HierarchicalAttribute):
        raise InternalError("labels of nodes were asked for where there is no hierarchy")
    attribute, count = book.attribute, int(classes.max()) + 1
    low, high = extremes(codes, classes, count)
    below = attribute.below(low, high)
    owners, nodes = distinct_codes(attribute.nodes[below[classes], codes], classes)
    above = np.where(low == high, 0, below + 1)
    with_missing = (low == MISSING)[owners] & (nodes == 0)
    texts, places = _numbered(book.hierarchy)
    is_whole = (low != high) & _holds_each_child(attribute, below, above, low, high, owners, with_missing)
    kept = ~with_missing & ~is_whole[owners]
    owners = np.concatenate((owners[kept], np.flatnonzero(is_whole)))
    levels = np.concatenate((below[owners[: kept.sum()]], above[is_whole]))
    nodes = np.concatenate((nodes[kept], attribute.nodes[above[is_whole], low[is_whole]]))
    items = places[levels, nodes]
    order = np.lexsort((items, owners))
    sizes = np.bincount(owners, minlength=count)
    some = sizes > 0
    starts = np.concatenate(([0], np.cumsum(sizes[some])))
    sets = pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), pa.array(items[order]))
    or_missing = (low == MISSING) & ~(is_whole & (above == len(attribute.nodes) - 1))
    labels = set_labels(texts, sets, or_missing[some])
    return labels.take(pa.array(np.cumsum(some) - 1, mask=~some))


def _holds_each_child(  # noqa: PLR0913, PLR0917 (of this module)
    attribute: HierarchicalAttribute,
    below: Integers,
    above: Integers,
    low: Integers,
    high: Integers,
    owners: Integers,
    is_missing: Integers,
) -> Integers:
    """By class: whether it holds a value of each child of its lowest node; a missing value is no child."""
    held = np.bincount(owners[~is_missing], minlength=len(low))
    first, last = attribute.first(above, low), attribute.last(above, high)
    most = attribute.nodes.shape[1] - 1  # 0 where all values are missing
    first = np.minimum(np.maximum(first, 1), most)  # the missing value, at the root
    children = attribute.nodes[below, last] - attribute.nodes[below, first] + 1
    whole: Integers = held == children
    return whole


def _numbered(hierarchy: Hierarchy) -> tuple[pa.Array, Integers]:
    """All labels, each once, in bytewise order; and by level and number the place of its label."""
    labels = [pc.fill_null(column, "").cast(_TEXT) for column in hierarchy.labels]
    every = pc.unique(pa.concat_arrays(labels))
    texts = every.take(pc.array_sort_indices(every))
    places = np.zeros((len(labels), max(map(len, labels))), np.int64)
    for level, column in enumerate(labels):
        places[level, : len(column)] = pc.index_in(column, texts).to_numpy()
    return texts, places
