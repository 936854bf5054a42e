"""The kernel's problem of a population table, in which the rows to publish are.

Classes are made of the population's combinations of quasi-identifiers, among which those of the target
are. So whatever algorithm makes them, each person of the population is in one class, and the labels of a
class cover all of its persons; classes without a row of the target are not published.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.backends.staged import Coded, Frequencies
from smalti.engine.plan.plan import Plan
from smalti.errors import PlanError
from smalti.transforms.partitions.merging import distinct, merged
from smalti.transforms.problem import (
    Flags,
    Incidence,
    Integers,
    Problem,
    Reference,
    RowWeights,
    SensitiveIncidence,
)
from smalti.transforms.requirements.registry import weighs_values
from smalti.transforms.values.texts import Codebook

MakeProblem: TypeAlias = Callable[[Frequencies], tuple[Problem, list[Codebook]]]


@dataclass(frozen=True, slots=True)
class PopulationProblem:
    """What classes are made from."""

    problem: Problem
    """Of the population."""
    books: list[Codebook]
    tuple_of: Integers
    """By tuple of the target: which one of the population's it is."""
    published: Integers
    """By tuple of the population: rows of the target."""
    row_weights: RowWeights | None = None
    """How much rows weigh in figures, where there are some."""


def population_problem(
    plan: Plan, target: Frequencies, population: Frequencies, problem_of: MakeProblem
) -> PopulationProblem:
    """The problem of a population table.

    Args:
        plan: what is promised.
        target: the frequencies of the rows to publish.
        population: those of the table of all persons.
        problem_of: makes the kernel's problem of frequencies.

    Raises:
        PlanError: a respondent of the target is not in the population with the same quasi-identifiers, or,
            for delta-presence, a person of the population has several combinations of them.
    """
    both, books = problem_of(_together(target, population))
    codes, tuple_of = np.unique(both.codes, axis=0, return_inverse=True)
    tuple_of = tuple_of.reshape(-1)
    count = len(target.rows)
    is_of_target = np.arange(len(tuple_of)) < count
    published = _rows_by(tuple_of[:count], both.weights[:count], len(codes))
    whole = merged(replace(both, weights=both.weights * ~is_of_target), codes, tuple_of)
    people = None
    if both.respondents is not None:
        people = _of_population(plan, both.respondents, tuple_of, is_of_target)
        whole = replace(whole, respondents=people)
    elif (published > whole.weights).any():
        raise _lacking(plan)
    if weighs_values(plan.apply.transform.guarantee.requirements):
        present = published
        if both.respondents is not None and people is not None:
            of_target = is_of_target[both.respondents.tuples]
            pairs = distinct(
                tuple_of[both.respondents.tuples[of_target]], both.respondents.items[of_target]
            )
            present = np.bincount(pairs[0], minlength=len(codes))
        whole = _of_presence(plan, whole, present)
    return PopulationProblem(whole, books, tuple_of[:count], published)


def _of_population(plan: Plan, both: Incidence, tuple_of: Integers, is_of_target: Flags) -> Incidence:
    """The persons of the population in each tuple; each respondent of the target is one of them."""
    of_target = is_of_target[both.tuples]
    tuples = tuple_of[both.tuples]
    people = distinct(tuples[~of_target], both.items[~of_target])
    everybody = distinct(tuples, both.items)
    if len(everybody[0]) > len(people[0]):
        raise _lacking(plan)
    return Incidence(*people)


def _of_presence(plan: Plan, whole: Problem, present: Integers) -> Problem:
    """The same as a problem of persons, each with one value: 1 for those who are in the table, else 0."""
    persons = whole.weights
    if whole.respondents is not None:
        people = whole.respondents
        if len(np.unique(people.items)) < len(people.items):
            raise PlanError(
                f"population `{plan.read.population}`",
                "a person has several combinations of quasi-identifiers, so that delta-presence is not"
                " defined",
                "one combination for each person",
                "leave out columns that change, or take k-map",
            )
        persons = np.bincount(people.tuples, minlength=len(whole.weights))
    tuples = np.arange(len(persons))
    rows = np.concatenate((persons - present, present))
    held = rows > 0
    values = np.repeat([0, 1], len(persons))[held]
    column = SensitiveIncidence(np.concatenate((tuples, tuples))[held], values, None, rows[held])
    return replace(
        whole,
        weights=persons,
        respondents=None,
        sensitive=(column,),
        references=(Reference.of(values, None, rows[held]),),
    )


def _lacking(plan: Plan) -> PlanError:
    return PlanError(
        f"population `{plan.read.population}`",
        "it lacks a respondent of the target, or has one with other quasi-identifiers",
        "all persons that the respondents come from, with the same values",
        "complete it, or bind the table that the respondents were taken from",
    )


def _rows_by(tuples: Integers, rows: Integers, count: int) -> Integers:
    summed = np.zeros(count, np.int64)
    np.add.at(summed, tuples, rows)
    return summed


def _together(target: Frequencies, population: Frequencies) -> Frequencies:
    """The tuples of both, those of the target first; some may occur twice."""
    tuples = tuple(
        _joined(mine, theirs) for mine, theirs in zip(target.tuples, population.tuples, strict=True)
    )
    rows = np.concatenate((target.rows, population.rows))
    respondents = None
    if target.respondents is not None and population.respondents is not None:
        mine, theirs = target.respondents, population.respondents
        places = np.concatenate((mine[0], theirs[0] + len(target.rows)))
        respondents = places, _joined(mine[1], theirs[1])
    return Frequencies(tuples, rows, respondents, None, ())


def _joined(mine: Coded, theirs: Coded) -> Coded:
    """Two columns one behind the other, with numbers of their texts together."""
    texts = pc.unique(
        pa.concat_arrays([mine.texts.cast(pa.large_string()), theirs.texts.cast(pa.large_string())])
    )
    codes = [
        np.concatenate(([0], pc.index_in(part.texts.cast(pa.large_string()), texts).to_numpy() + 1))[
            part.codes
        ]
        for part in (mine, theirs)
    ]
    return Coded(np.concatenate(codes).astype(np.int64), texts)
