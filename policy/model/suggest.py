"""Suggestions for misspelt words."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A `help` text that suggests the nearest known word; empty when none is near.

    >>> did_you_mean("k-anonimity", ["k-anonymity", "l-diversity"])
    'did you mean `k-anonymity`?'
    """
    names = sorted(set(candidates))
    folded = {name.casefold(): name for name in names}
    near = get_close_matches(word[:80].casefold(), folded, n=1, cutoff=0.7)
    return f"did you mean `{folded[near[0]]}`?" if near else ""
