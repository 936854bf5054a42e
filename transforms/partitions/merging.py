"""Tuples of a problem put together: of the same rows, with fewer and coarser tuples."""

from dataclasses import replace

import numpy as np

from smalti.transforms.partitions.layout import order_by
from smalti.transforms.problem import Incidence, Integers, Problem, SensitiveIncidence


def merged(problem: Problem, codes: Integers, tuple_of: Integers) -> Problem:
    """The problem with several of its tuples as one.

    Args:
        problem: whose rows these are.
        codes: shape (new tuples, attributes).
        tuple_of: by tuple of the problem its new one; each occurs.
    """
    weights = np.zeros(len(codes), np.int64)
    np.add.at(weights, tuple_of, problem.weights)
    people = problem.respondents
    return replace(
        problem,
        codes=codes,
        weights=weights,
        respondents=people and Incidence(*distinct(tuple_of[people.tuples], people.items)),
        sensitive=tuple(
            held(tuple_of[column.tuples], column.values, column.respondents, column.rows, column.totals)
            for column in problem.sensitive
        ),
    )


def held(
    tuples: Integers,
    values: Integers,
    respondents: Integers | None,
    rows: Integers | None = None,
    totals: Integers | None = None,
) -> SensitiveIncidence:
    """Which values occur with which tuples, of columns that may say so several times."""
    keys = (tuples, values) if respondents is None else (tuples, values, respondents)
    order, is_new = order_by(*keys)
    first = order[is_new]
    return SensitiveIncidence(
        tuples[first],
        values[first],
        None if respondents is None else respondents[first],
        None if rows is None else np.add.reduceat(rows[order], np.flatnonzero(is_new)),
        None if totals is None else totals[first],
    )


def distinct(*columns: Integers) -> tuple[Integers, ...]:
    """The distinct rows of some columns of numbers from 0, in ascending order."""
    order, is_new = order_by(*columns)
    return tuple(column[order[is_new]] for column in columns)
