r"""Common prefixes of texts, in characters (Unicode code points), and their labels.

====================  =======================================================================
``[10*]``             a text that begins with ``10``, or is ``10``
``[10*|]``            the same, or missing
``[*]``               any text
====================  =======================================================================

Nothing inside is escaped: a label ends with ``*]``, or with ``*|]`` where the value may be missing, and all
before that is the prefix.
"""

from bisect import bisect_left, bisect_right
from os.path import commonprefix

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.transforms.problem import Flags, Integers

_TEXT = pa.large_string()


def common_prefixes(first: pa.Array, last: pa.Array) -> pa.Array:
    """The longest prefix that each two texts share; of the least and greatest of some texts, all share it.

    Args:
        first: texts; null where there is none.
        last: the same.

    >>> common_prefixes(pa.array(["1001", "é", None]), pa.array(["1004", "è", None])).to_pylist()
    ['100', '', None]
    """
    pairs = zip(first.to_pylist(), last.to_pylist(), strict=True)
    shared = (None if a is None else commonprefix((a, b)) for a, b in pairs)  # noqa: RUF071 (characters)
    return pa.array(list(shared), _TEXT)


def counts_below(texts: pa.Array, prefixes: pa.Array) -> Integers:
    """How many texts begin with each prefix.

    Args:
        texts: distinct, in bytewise order, which is that of code points.
        prefixes: null where there is none: none begins with it.

    >>> counts_below(pa.array(["a", "ab", "b"]), pa.array(["a", "ab", "", None])).tolist()
    [2, 1, 3, 0]
    """
    first, last = places_below(texts, prefixes)
    counts: Integers = last - first
    return counts


def places_below(texts: pa.Array, prefixes: pa.Array) -> tuple[Integers, Integers]:
    """The places of the texts that begin with each prefix: the first, and one past the last.

    Args:
        texts: as for `counts_below`.
        prefixes: the same.

    >>> [places.tolist() for places in places_below(pa.array(["a", "ab", "b"]), pa.array(["ab", "", None]))]
    [[1, 0, 0], [2, 3, 0]]
    """
    ordered = texts.to_pylist()
    places = {prefix: _places(ordered, prefix) for prefix in pc.unique(prefixes).to_pylist()}
    ends = np.array([places[prefix] for prefix in prefixes.to_pylist()], np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _places(ordered: list[str], prefix: str | None) -> tuple[int, int]:
    if prefix is None:
        return 0, 0
    first, length = bisect_left(ordered, prefix), len(prefix)

    def beginning(text: str) -> str:
        return text[:length]

    return first, bisect_right(ordered, prefix, first, key=beginning)


def prefix_labels(prefixes: pa.Array, or_missing: Flags) -> pa.Array:
    """The labels of texts that begin so.

    Args:
        prefixes: large strings; null where no value is present.
        or_missing: whether the value may also be missing.

    >>> prefix_labels(pa.array(["10", ""], _TEXT), np.array([False, True])).to_pylist()
    ['[10*]', '[*|]']
    """
    start, short, long, nothing = (pa.scalar(text, _TEXT) for text in ("[", "*]", "*|]", ""))
    end = pc.if_else(pa.array(or_missing), long, short)
    return pc.binary_join_element_wise(start, prefixes, end, nothing)
