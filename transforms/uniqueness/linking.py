"""Risks that a person in a table is found again, as El Emam defines them.

El Emam, "Guide to the De-Identification of Personal Health Information" (2013), and Dankar and El Emam,
"A method for evaluating marketer re-identification risk" (2010). With f respondents of the table, and F
persons of the population, who share a combination:

- *prosecutor*: somebody knows that the person is in the table. The risk of a respondent is 1/f.
- *journalist*: somebody looks for anybody of the population. The risk is 1/F.
- *marketer*: somebody links as many as possible; the expected share that is linked correctly.

A respondent with several combinations has the highest risk of them, so figures about such a table are
upper bounds of the average.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smalti.transforms.uniqueness.column_sets import Integers, People, combined, first_accepted


@dataclass(frozen=True, slots=True)
class LinkedRisks:
    """Risks beside a population table."""

    at_risk: int
    """Respondents whose journalist risk is above the threshold."""
    fewest: int
    """Persons of the population who share the rarest combination of the table."""
    average_risk: float
    """The mean journalist risk of respondents, which is the marketer risk."""


@dataclass(frozen=True, slots=True)
class NotWithin:
    """The table is no part of the population: so many combinations have fewer persons there."""

    combinations: int


def linked_risks(people: People, population: People, threshold: Fraction) -> LinkedRisks | NotWithin:
    """The risks of respondents by all columns, beside the population that they come from.

    Args:
        people: at least one row.
        population: with the same columns, numbered in the same way.
        threshold: the risk that is still accepted.
    """
    both = People(
        tuple(np.concatenate(columns) for columns in zip(people.columns, population.columns, strict=True)),
        people.sizes,
        None,
        people.rows + population.rows,
    )
    group = combined(both, range(len(both.columns)))
    mine, who = _facts(people, group.numbers[: people.rows])
    theirs, _ = _facts(population, group.numbers[people.rows :])
    here, there = np.bincount(mine, minlength=group.size), np.bincount(theirs, minlength=group.size)
    lacking = int((here > there).sum())
    if lacking:
        return NotWithin(lacking)
    rarest = np.full(people.respondent_count, people.rows + population.rows, np.int64)
    np.minimum.at(rarest, who, there[mine])
    return LinkedRisks(
        int((rarest < first_accepted(threshold)).sum()),
        int(rarest.min()),
        float((1 / rarest).mean()),
    )


def _facts(people: People, numbers: Integers) -> tuple[Integers, Integers]:
    """The combination and the respondent of each fact."""
    if people.respondents is None:
        return numbers, np.arange(people.rows)
    each = np.unique(numbers * people.respondent_count + people.respondents)
    return each // people.respondent_count, each % people.respondent_count
