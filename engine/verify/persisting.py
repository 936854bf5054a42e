"""Values that respondents keep from one release to another, while others of their group change theirs.

Who knows that somebody's sensitive value is still the same knows that it is one of the values that the
person's group has in each of these releases; where that is one value, it is told. Releases whose classes
have the same values each time (their signature) tell nothing so: m-invariance (Xiao and Tao, "m-invariance:
towards privacy preserving re-publication of dynamic datasets", SIGMOD 2007, section 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from smalti.engine.verify.classes import group
from smalti.engine.verify.columns import ArrowArray, Codes

_SIDES: Final[tuple[Literal["left"], Literal["right"]]] = ("left", "right")


@dataclass(frozen=True, slots=True)
class Occurring:
    """The published rows of one release, in groups of respondents who have the same classes everywhere."""

    rows: Codes
    """Of its data; a row is in several groups where its respondent is."""
    groups: Codes
    """By row, numbered alike in all releases."""
    people: ArrowArray
    """By row a text, the same for the same person in all releases."""
    values: ArrowArray
    """By row the sensitive value as a text, the same for the same value; null where it is missing."""


def narrowed(releases: Sequence[Occurring]) -> list[tuple[Codes, Codes]]:
    """What is left where values are intersected.

    For each group, and each set of at least two releases in which a respondent of it has one value: the
    rows with the values that the group has in all of these releases. Groups that have the same values in
    all releases that they are in are passed over, for there is nothing to intersect.

    Returns:
        By release: rows, and the number of what is left that they belong to.
    """
    if not releases:
        return []
    which = np.repeat(np.arange(len(releases)), [len(each.rows) for each in releases])
    groups = np.concatenate([each.groups for each in releases])
    people = _numbers([each.people for each in releases])
    held = group([groups, _numbers([each.values for each in releases])])
    occurs = _present(held.ids, which, held.count, len(releases))
    group_of = groups[held.first_rows()] if held.count else held.ids
    holders = group([held.ids, people])
    stays = _present(holders.ids, which, holders.count, len(releases))
    groups_of_holders = groups[holders.first_rows()] if holders.count else holders.ids
    is_told = (stays.sum(axis=1) > 1) & np.isin(groups_of_holders, _of_changing(group_of, occurs))
    groups_of_holders, stays = groups_of_holders[is_told], stays[is_told]
    firsts = group([groups_of_holders, *stays.T.astype(np.int64)]).first_rows()
    asked, releases_of = groups_of_holders[firsts], stays[firsts]
    places, values = _pairs(asked, group_of)
    is_left = (occurs[values] | ~releases_of[places]).all(axis=1)
    places, values = places[is_left], values[is_left]
    entries, pairs = _pairs(held.ids, values)
    is_inside = releases_of[places[pairs], which[entries]]
    entries, numbers = entries[is_inside], places[pairs[is_inside]]
    rows = np.concatenate([each.rows for each in releases])
    return [
        (rows[entries[which[entries] == each]], numbers[which[entries] == each])
        for each in range(len(releases))
    ]


def _numbers(texts: Sequence[ArrowArray]) -> Codes:
    """A number for each different text; a null is one of them."""
    encoded = pa.concat_arrays(texts).dictionary_encode(null_encoding="encode")
    numbers: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _present(ids: Codes, releases: Codes, count: int, of: int) -> NDArray[np.bool_]:
    """By id and release: whether it is there."""
    present = np.zeros((count, of), np.bool_)
    present[ids, releases] = True
    return present


def _of_changing(groups: Codes, occurs: NDArray[np.bool_]) -> Codes:
    """The groups that lack, in a release that they are in, a value that they have in another."""
    whole = np.zeros((int(groups.max(initial=-1)) + 1, occurs.shape[1]), np.bool_)
    np.logical_or.at(whole, groups, occurs)
    changing: Codes = np.unique(groups[(occurs != whole[groups]).any(axis=1)])
    return changing


def _pairs(left: Codes, right: Codes) -> tuple[Codes, Codes]:
    """The places of all equal pairs, in the first and in the second."""
    order = np.argsort(right, kind="stable")
    start, end = (np.searchsorted(right[order], left, side) for side in _SIDES)
    times = end - start
    again = np.repeat(np.arange(len(left)), times)
    nth = np.arange(len(again)) - np.repeat(np.cumsum(times) - times, times)
    return again, order[start[again] + nth]
