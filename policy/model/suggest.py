"""Suggestions for misspelt words."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 80
_LIKELY = 0.7
_COMPARED = 50


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A `help` text that suggests the nearest known word; empty when none is near.

    >>> did_you_mean("k-anonimity", ["k-anonymity", "l-diversity"])
    'did you mean `k-anonymity`?'
    """
    near = nearest(word, candidates)
    return "" if near is None else f"did you mean `{near}`?"


def nearest(word: str, candidates: Iterable[str], likely: float = _LIKELY) -> str | None:
    """The candidate that takes the fewest changes of a letter, whatever its case; None: none is near.

    Args:
        word: as it was written.
        candidates: the words that it may mean.
        likely: how like it one must be, from 0 to 1 (`difflib`).

    >>> nearest("brith_date", ["death_date", "birth_rate", "birth_date"])
    'birth_date'
    """
    folded = {name.casefold(): name for name in sorted(set(candidates))}
    typed = word[:_LONGEST].casefold()
    if typed in folded:
        return folded[typed]
    # Likeness finds what is near at all, and quickly; by it alone, long words seem nearer than they are.
    near = get_close_matches(typed, folded, n=_COMPARED, cutoff=likely)
    return folded[min(near, key=lambda name: _changes(typed, name[:_LONGEST]))] if near else None


def _changes(left: str, right: str) -> int:
    """The letters to add, remove, replace or swap with their neighbour (optimal string alignment).

    An ending that one has and the other has not counts once.
    """
    if left.startswith(right) or right.startswith(left):
        return int(left != right)
    before, row = [0] * (len(right) + 1), list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        above, before, row = before, row, [i]
        for j, other in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and (letter, left[i - 2]) == (right[j - 2], other):
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]
