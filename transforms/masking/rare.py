"""Rare values of a column: those that fewer respondents have than a stated number."""

import numpy as np

from smalti.transforms.problem import Flags, Integers


def are_rare(values: Integers, respondents: Integers | None, rows: Integers, minimum: int) -> Flags:
    """By value whether fewer respondents than a minimum have it.

    Respondents are counted by set union, whatever spellings of the value they have.

    Args:
        values: by pair of value and respondent: the value, from 0; pairs may repeat.
        respondents: by pair; None where each row is another respondent.
        rows: by pair, how many rows it has; looked at where each row is another respondent.
        minimum: of respondents.
    """
    count = int(values.max(initial=-1)) + 1
    if respondents is None:
        held = np.bincount(values, rows, count).astype(np.int64)
    else:
        pairs = np.unique(np.stack([values, respondents]), axis=1)
        held = np.bincount(pairs[0], minlength=count)
    few: Flags = held < minimum
    return few
