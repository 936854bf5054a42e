r"""How a generalised value is written: one grammar, for every engine and output format.

====================  =======================================================================
``42``                a single value, as its own text
``[17..34]``          numbers, dates, date-times: from 17 to 34, both included
``[17..34|]``         the same, or missing
``{a|b}``             strings: one of these, in bytewise order
``{a|b|}``            one of these, or missing
(empty)               missing
====================  =======================================================================

Inside braces ``\``, ``|``, ``{`` and ``}`` are written with a backslash before them. A single string
that begins with ``[``, ``{`` or ``\`` is written with a backslash before it. So each published
text can be read in one way only.
"""

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.transforms.base import Datatype
from smalti.transforms.problem import MISSING
from smalti.transforms.values import Codebook

_SPECIAL = re.compile(r"[\\|{}]")


def range_label(low: str, high: str, or_missing: bool) -> str:
    """The label of the values from `low` to `high`.

    >>> range_label("17", "34", False), range_label("17", "17", False), range_label("17", "17", True)
    ('[17..34]', '17', '[17..17|]')
    """
    if low == high and not or_missing:
        return low
    return f"[{low}..{high}|]" if or_missing else f"[{low}..{high}]"


def set_label(values: list[str], or_missing: bool) -> str:
    r"""The label of a set of strings, given in bytewise order.

    >>> set_label(["a|b", "c"], True), set_label(["[x]"], False), set_label(["a"], True)
    ('{a\\|b|c|}', '\\[x]', '{a|}')
    """
    if len(values) == 1 and not or_missing:
        return "\\" + values[0] if values[0][:1] in ("[", "{", "\\") else values[0]
    items = [_SPECIAL.sub(r"\\\g<0>", value) for value in values]
    return "{" + "|".join(items + [""] * or_missing) + "}"


def class_labels(book: Codebook, codes: NDArray[np.int64], classes: NDArray[np.int64]) -> pa.Array:
    """The label of each class for one column; null where all its values are missing.

    Args:
        book: the column's values.
        codes: the code of each tuple.
        classes: the class of each tuple, numbered from 0 without gaps.
    """
    if book.datatype is Datatype.STRING:
        return pa.array(_set_labels(book, codes, classes), pa.string())
    return pa.array(_range_labels(book, codes, classes), pa.string())


def _range_labels(book: Codebook, codes: NDArray[np.int64], classes: NDArray[np.int64]) -> list[str | None]:
    count = int(classes.max()) + 1
    low = np.full(count, len(book.texts) + 1)
    high = np.zeros(count, np.int64)
    missing = np.zeros(count, np.bool_)
    present = codes != MISSING
    np.minimum.at(low, classes[present], codes[present])
    np.maximum.at(high, classes[present], codes[present])
    missing[classes[~present]] = True
    texts = ("", *book.texts)
    return [
        range_label(texts[a], texts[b], m) if b != MISSING else None
        for a, b, m in zip(low.tolist(), high.tolist(), missing.tolist(), strict=True)
    ]


def _set_labels(book: Codebook, codes: NDArray[np.int64], classes: NDArray[np.int64]) -> list[str | None]:
    pairs = np.unique(np.stack([classes, codes]), axis=1)
    ends = np.cumsum(np.bincount(pairs[0]))
    texts = ("", *book.texts)
    labels: list[str | None] = []
    for held in np.split(pairs[1], ends[:-1]):
        values = [texts[code] for code in held.tolist() if code != MISSING]
        labels.append(set_label(values, len(values) < len(held)) if values else None)
    return labels
