"""Top- and bottom-coding: values at and beyond a threshold are published as the threshold.

Hundepool et al., "Statistical Disclosure Control", Wiley 2012, section 3.3.
"""

import pyarrow as pa
import pyarrow.compute as pc

from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import keys


def coded(
    texts: pa.Array, datatype: Datatype, time_zone: str | None, top: str | None, bottom: str | None
) -> pa.Array:
    """The published texts: those between the thresholds as they are, all others as the nearer threshold.

    >>> ages = pa.array(["17", "18", "44", "90", "90.0"])
    >>> coded(ages, Datatype.DECIMAL, None, "90", "18").to_pylist()
    ['18', '18', '44', '90', '90']

    Args:
        texts: distinct present texts of the datatype, which is an ordered one.
        datatype: theirs.
        time_zone: of date-times that state none.
        top: a text of the datatype; values equal to it, in whatever spelling, and above are published so.
        bottom: the same of values equal to it and below; below `top`.

    Raises:
        ValueFormError: a text is no value of the datatype.
    """
    thresholds = [threshold for threshold in (top, bottom) if threshold is not None]
    whole = pa.concat_arrays([texts.cast(pa.large_string()), pa.array(thresholds, pa.large_string())])
    places = keys(whole, datatype, time_zone)
    values, ends = places[: len(texts)], dict(zip(thresholds, places[len(texts) :], strict=True))
    published = texts.cast(pa.large_string())
    for threshold, is_beyond in (
        (top, None if top is None else values >= ends[top]),
        (bottom, None if bottom is None else values <= ends[bottom]),
    ):
        if is_beyond is not None:
            published = pc.if_else(pa.array(is_beyond.astype(bool)), threshold, published)
    return published


def are_apart(top: str, bottom: str, datatype: Datatype, time_zone: str | None) -> bool:
    """Whether the bottom code is below the top code.

    Raises:
        ValueFormError: one of them is no value of the datatype.
    """
    low, high = keys(pa.array([bottom, top], pa.large_string()), datatype, time_zone)
    return bool(low < high)
