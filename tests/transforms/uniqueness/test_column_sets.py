"""Sets of columns and risks, against an oracle that tries everything."""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smalti.transforms.uniqueness.column_sets import (
    People,
    every_set,
    minimal_unique,
    number_of_sets,
    set_figures,
)
from smalti.transforms.uniqueness.linking import LinkedRisks, NotWithin, linked_risks

Rows = list[tuple[int, ...]]
"""In front the respondent, then the values."""
THRESHOLDS = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50))


@st.composite
def rows(draw: st.DrawFn, columns: int = 3) -> Rows:
    value = st.integers(0, 2)
    return draw(st.lists(st.tuples(st.integers(0, 5), *[value] * columns), min_size=1, max_size=12))


def people(table: Rows, *, each: bool) -> People:
    columns = tuple(np.array(column, np.int64) for column in list(zip(*table, strict=True))[1:])
    who = np.unique([row[0] for row in table], return_inverse=True)[1].astype(np.int64)
    return People(columns, (3,) * len(columns), None if each else who, len(table))


def facts(table: Rows, columns: tuple[int, ...], *, each: bool) -> set[tuple[tuple[int, ...], int]]:
    return {
        (tuple(row[1 + place] for place in columns), number if each else row[0])
        for number, row in enumerate(table)
    }


@given(rows(), st.booleans(), THRESHOLDS)
def test_figures_are_what_the_definitions_say(table: Rows, each: bool, threshold: Fraction) -> None:
    found = list(every_set(people(table, each=each), 3, threshold))
    assert len(found) == number_of_sets(3, 3) == 7
    for figures in found:
        pairs = facts(table, figures.columns, each=each)
        holders = defaultdict(set)
        for combination, person in pairs:
            holders[combination].add(person)
        persons = {person for _, person in pairs}
        risks = {
            who: max(Fraction(1, len(holders[c])) for c, person in pairs if person == who)
            for who in persons
        }
        couples = [(a, b) for a, b in combinations(pairs, 2) if a[1] != b[1]]
        assert figures.respondents == len(persons)
        assert figures.unique == sum(risk == 1 for risk in risks.values())
        assert figures.at_risk == sum(risk > threshold for risk in risks.values())
        assert Fraction(1, figures.fewest) == max(risks.values())
        assert figures.average_risk == pytest.approx(float(sum(risks.values()) / len(risks)))
        assert figures.distinction == len(holders) / len(pairs)
        assert figures.pairs == len(couples)
        assert figures.alike == sum(a[0] == b[0] for a, b in couples)
        assert figures.is_unique == all(len(group) == 1 for group in holders.values())


@given(rows(), st.booleans())
def test_minimal_sets_are_unique_and_no_part_of_them_is(table: Rows, each: bool) -> None:
    found = list(every_set(people(table, each=each), 3, Fraction(1, 5)))
    unique = {figures.columns for figures in found if figures.is_unique}
    smallest = {columns for columns in unique if not any(set(other) < set(columns) for other in unique)}
    assert {figures.columns for figures in minimal_unique(found)} == smallest


@given(rows(), st.booleans())
def test_a_set_by_itself_has_the_same_figures_and_its_sizes(table: Rows, each: bool) -> None:
    data = people(table, each=each)
    for figures in every_set(data, 3, Fraction(1, 3)):
        alone = set_figures(data, figures.columns, Fraction(1, 3))
        assert sum(count for _, count in alone.by_size) == figures.combinations
        assert sum(size * count for size, count in alone.by_size) == figures.facts
        assert {**_fields(alone), "by_size": ()} == _fields(figures)


def _fields(figures: object) -> dict[str, object]:
    return {name: getattr(figures, name) for name in type(figures).__slots__}


@given(rows(), rows(), st.booleans(), THRESHOLDS)
def test_journalist_risks_are_by_the_population(
    table: Rows, others: Rows, each: bool, threshold: Fraction
) -> None:
    """A population holds the table's people: those, and others."""
    population = table + [(row[0] + 10, *row[1:]) for row in others]
    found = linked_risks(people(table, each=each), people(population, each=each), threshold)
    assert isinstance(found, LinkedRisks)
    columns = (0, 1, 2)
    there = defaultdict(set)
    for combination, person in facts(population, columns, each=each):
        there[combination].add(person)
    risks: dict[int, Fraction] = {}
    for combination, person in facts(table, columns, each=each):
        risks[person] = max(risks.get(person, Fraction(0)), Fraction(1, len(there[combination])))
    assert found.at_risk == sum(risk > threshold for risk in risks.values())
    assert Fraction(1, found.fewest) == max(risks.values())
    assert found.average_risk == pytest.approx(float(sum(risks.values()) / len(risks)))


def test_a_table_that_is_no_part_of_the_population_has_no_risks() -> None:
    table, population = [(0, 1, 1), (1, 1, 1), (2, 0, 0)], [(0, 1, 1), (2, 0, 0), (3, 2, 2)]
    found = linked_risks(people(table, each=True), people(population, each=True), Fraction(1, 5))
    assert found == NotWithin(1)


def test_ten_rows_of_a_person_are_one_person() -> None:
    table = [(0, 1, 1)] * 10 + [(1, 2, 2)] * 10
    (figures, *_) = every_set(people(table, each=False), 1, Fraction(1, 5))
    assert (figures.respondents, figures.unique, figures.at_risk, figures.is_unique) == (2, 2, 2, True)
