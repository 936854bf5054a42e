"""Groups that grow from tuples which are far from each other.

Byun, Kamra, Bertino, Li, "Efficient k-Anonymization Using Clustering Techniques", DASFAA 2007, Figure 4
(greedy k-member), with three differences: a tuple that meets what groups must is a group by itself first;
tuples have weights; and a group grows until it meets what it must, whatever that is.
"""

from typing import Final

import numpy as np

from smalti.transforms.improving.block import Block, Groups
from smalti.transforms.problem import Flags, Integers

_ASKED: Final = 8
"""Into how many groups a tuple that is left over may be tried, at most."""
_NEVER: Final = np.iinfo(np.int64).max


def clusters(block: Block, *, by_rows: bool) -> Groups | None:
    """Groups that meet what they must; None where this way leads to none.

    Each group begins with the tuple that is farthest from where the last one began, and takes whichever
    tuple adds the least loss (rows times penalty) until it meets what it must. What is left over then joins
    the group where it adds the least. Of equals the first tuple, or group, is taken.

    Args:
        block: the tuples.
        by_rows: otherwise a group takes whichever tuple has the least penalty with it, of equals the one
            with most rows.
    """
    left = ~block.are_enough
    groups: Groups = list(np.flatnonzero(block.are_enough).reshape(-1, 1))
    beginning = np.array([0])
    while int(block.rows[left].sum()) >= block.fewest:
        distances = np.where(left, block.charges.with_each(beginning), -1)
        beginning = np.array([int(np.argmax(distances))])
        group = _grown(block, beginning, left, by_rows=by_rows)
        if group is None:
            break
        left[group] = False
        groups.append(group)
    return _with_rest(block, groups, np.flatnonzero(left)) if groups else None


def _grown(block: Block, group: Integers, left: Flags, *, by_rows: bool) -> Integers | None:
    """The group with what it takes until it meets what it must; None if all that is left does not."""
    is_open = left.copy()
    is_open[group] = False
    rows, penalty = int(block.rows[group].sum()), 0
    while rows < block.fewest or not block.meets([group])[0]:
        if not is_open.any():
            return None
        penalties = block.charges.with_each(group)
        added = (rows + block.rows) * penalties - rows * penalty if by_rows else penalties
        added = np.where(is_open, added, _NEVER)
        nearest = np.flatnonzero(added == added.min())
        tuple_ = int(nearest[0 if by_rows else np.argmax(block.rows[nearest])])
        is_open[tuple_] = False
        group = np.append(group, tuple_)
        rows, penalty = rows + int(block.rows[tuple_]), int(penalties[tuple_])
    return group


def _with_rest(block: Block, groups: Groups, rest: Integers) -> Groups | None:
    """The groups with what is left over; None if some of it fits into none of them."""
    rows = np.array([block.rows[group].sum() for group in groups])
    penalties = np.array([block.charges.of(group) for group in groups])
    joined = np.stack([block.charges.with_each(group) for group in groups]) if len(rest) else None
    for tuple_ in rest.tolist():
        if joined is None:
            break
        added = (rows + block.rows[tuple_]) * joined[:, tuple_] - rows * penalties
        nearest = np.argsort(added, kind="stable")[:_ASKED].tolist()
        candidates = [np.append(groups[number], tuple_) for number in nearest]
        met = np.flatnonzero(block.meets(candidates))
        if not len(met):
            return None
        number = nearest[met[0]]
        groups[number] = candidates[met[0]]
        rows[number] += block.rows[tuple_]
        joined[number] = block.charges.with_each(groups[number])
        penalties[number] = joined[number, tuple_]
    return groups
