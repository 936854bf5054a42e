r"""The verifier's own reading of labels that say how texts begin: which originals does each of them cover?

A missing value is an empty field. `[p*]` covers the originals that begin with p, `[p*|]` these and
missing ones: what stands between the first character and the last `*]` or `*|]` is p as it is. Any other
label covers the text that it is, with one backslash put before a first character `[`, `{` or a backslash.
"""

import numpy as np
import pyarrow as pa

from smalti.engine.plan.plan import Column
from smalti.engine.verify.columns import Coded, broken, pc
from smalti.engine.verify.labels import RangeCoverage, UnreadableError, read_text_label

_AFTER_ALL = b"\xff"
"""Greater than every byte of a text in UTF-8."""


def prefix_coverage(column: Column, original: Coded, published: Coded) -> RangeCoverage:
    """Read all labels of a column; in bytewise order, the originals that one covers stand side by side.

    Raises:
        GuaranteeError: a label is not of the grammar.
    """
    try:
        read = [_read(label) for label in published.values.to_pylist()]
    except UnreadableError:
        raise broken(
            f"column `{column.name}`",
            "a published value is not a label",
            "a text, or what texts begin with, as the documented grammar writes them",
        ) from None
    texts = original.values.cast(pa.large_binary())
    order = pc.array_sort_indices(texts).to_numpy()
    ordered = texts.take(pa.array(order)).to_numpy(zero_copy_only=False)
    keys = np.empty(len(order) + 1, np.int64)
    keys[order] = np.arange(len(order))
    keys[-1] = -1  # the missing value
    starts, ends = np.empty(len(read), object), np.empty(len(read), object)
    starts[:] = [text.encode() for text, _, _ in read]
    ends[:] = [text.encode() + (b"" if is_whole else _AFTER_ALL) for text, is_whole, _ in read]
    low = np.searchsorted(ordered, starts, "left").astype(np.int64)
    high = np.searchsorted(ordered, ends, "right").astype(np.int64) - 1
    with_missing = np.array([*(missing for _, _, missing in read), True], np.bool_)
    return RangeCoverage(keys, np.append(low, 0), np.append(high, -1), with_missing)


def _read(label: str) -> tuple[str, bool, bool]:
    """The text, whether it is all of the value, and whether the value may be missing."""
    if label[0] == "{":
        raise UnreadableError
    if label[0] != "[":
        (text,), _ = read_text_label(label)
        return text, True, False
    for end, missing in (("*|]", True), ("*]", False)):
        if label.endswith(end):
            return label[1 : -len(end)], False, missing
    raise UnreadableError
