"""The best that a table can meet: what it is with everything in one class. For its owner alone."""

from collections.abc import Iterator, Sequence

import numpy as np

from smalti.transforms.base import OF_POPULATION
from smalti.transforms.partitions.matching import can_match
from smalti.transforms.partitions.weights import ValueScale
from smalti.transforms.problem import Integers, Problem, SensitiveIncidence


def attainable(problem: Problem, sensitive: Sequence[str]) -> tuple[str, ...]:
    """What the whole table reaches as one class, as sentences for people.

    No division into classes has more respondents, or more matched values, in its smallest class; and since
    shares of the table are means of those of its classes, none has a smaller largest share or a larger
    entropy in its worst class.

    Args:
        problem: a frequency table.
        sensitive: its sensitive columns, by name.
    """
    people = problem.respondents
    count = int(problem.weights.sum()) if people is None else len(np.unique(people.items))
    if any(requirement.name in OF_POPULATION for requirement in problem.requirements):
        present = [
            int(column.rows[column.values == 1].sum())
            for column in problem.sensitive
            if column.rows is not None
        ]
        share = [f"presence {here / count:.4g} as one class" for here in present if count]
        return (f"{count} persons in the population table", *share)
    return (f"{count} respondents", *_of_columns(problem, sensitive, count))


def _of_columns(problem: Problem, sensitive: Sequence[str], respondents: int) -> Iterator[str]:
    for place, (name, column) in enumerate(zip(sensitive, problem.sensitive, strict=True)):
        yield f"{name}: l = {_most_matched(column, respondents)}"
        if problem.references and respondents:  # of nobody, such as an empty sample, there are no shares
            shares = ValueScale(problem.references[place]).shares_of_table
            present = shares[shares > 0]
            entropy = float(np.exp(-(present * np.log(present)).sum()))
            yield f"{name}: alpha = {float(shares.max()):.4g}, entropy l = {entropy:.4g}"


def _most_matched(column: SensitiveIncidence, respondents: int) -> int:
    """How many different values can be matched to different respondents."""
    values = len(np.unique(column.values))
    if column.respondents is None:
        return min(values, respondents)
    pairs: tuple[Integers, Integers] = column.values, column.respondents
    low, high = 0, min(values, respondents)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if can_match(*pairs, middle) else (low, middle - 1)
    return low
